"""Cases directories: EXPECT.tsv, the scrapes of each case, and keys such as `pod-a.ttft_p99_s@t0..t1`."""

import csv
import fnmatch
import os
import re
from dataclasses import dataclass, field


class CaseError(Exception):
    """The cases directory is not as its format says; the message names file and line."""


@dataclass(frozen=True)
class Span:
    """What a key says after `@`: the whole recording, one moment, a window, or a window against another."""

    kind: str  # "whole", "moment", "window"
    first: str = ""
    last: str = ""
    against: tuple = ()  # (first, last) of the reference window; empty: none


@dataclass
class Row:
    """One line of EXPECT.tsv."""

    case: str
    key: str
    op: str
    value: str
    tol: str
    line: int
    scope: str = ""  # "", "fleet", "engine0", "gpu0" or a target's name
    metric: str = ""
    span: Span = Span("whole")


@dataclass
class Case:
    name: str
    folder: str
    scrapes: list = field(default_factory=list)  # rows of scrapes.tsv as dicts
    rows: list = field(default_factory=list)

    def whens(self):
        """Names of moments with the time of the newest scrape of each, in time order."""
        times = {}
        for s in self.scrapes:
            times[s["when"]] = max(times.get(s["when"], 0.0), float(s["time_unix"]))
        return dict(sorted(times.items(), key=lambda item: item[1]))

    def targets(self):
        return list(dict.fromkeys(s["target"] for s in self.scrapes))


def read_tsv(path):
    """Rows as dicts with their line numbers. A field that starts with a quote is no quoted field."""
    with open(path, encoding="utf-8", newline="") as f:
        reader = csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
        names = next(reader, None)
        if not names:
            raise CaseError(f"{path}: empty")
        for row in reader:
            if row and any(row):
                row += [""] * (len(names) - len(row))
                yield reader.line_num, dict(zip(names, row))


SCOPE_WORD = re.compile(r"(engine|gpu)[0-9]+$")


def split_scope(key, targets):
    """`pod-a.waiting` is waiting of pod-a; `slow_gaps_over_0.2s` has no scope: what stands before a dot must name one."""
    for target in sorted(targets, key=len, reverse=True):
        if key.startswith(target + "."):
            return target, key[len(target) + 1 :]
    head, dot, tail = key.partition(".")
    if dot and (head == "fleet" or SCOPE_WORD.match(head)):
        return head, tail
    return "", key


def parse_end(text, whens, where):
    """Both ends of `a..b`, or of `x` that names one scrape or several called x.*."""
    first, dots, last = text.partition("..")
    if dots:
        for name in (first, last):
            if name not in whens:
                raise CaseError(f"{where}: no scrape is called \"{name}\"")
        return first, last
    if text in whens:
        return text, text
    group = [name for name in whens if name.startswith(text + ".")]
    if not group:
        raise CaseError(f"{where}: no scrape is called \"{text}\" or \"{text}.…\"")
    return group[0], group[-1]


def parse_span(text, whens, where):
    if not text:
        return Span("whole")
    one, comma, two = text.partition(",")
    first, last = parse_end(two if comma else one, whens, where)
    against = parse_end(one, whens, where) if comma else ()
    return Span("moment" if first == last and not against else "window", first, last, against)


def read_case(folder):
    case = Case(os.path.basename(os.path.normpath(folder)), folder)
    path = os.path.join(folder, "scrapes.tsv")
    if os.path.exists(path):
        case.scrapes = [row for _, row in read_tsv(path)]
    return case


def is_case(folder):
    return not os.path.exists(os.path.join(folder, "EXPECT.tsv")) and any(
        os.path.exists(os.path.join(folder, name)) for name in ("scrapes.tsv", "requests.tsv")
    )


def read_cases(directory, pattern="*"):
    """Cases of a cases directory, or the one case of a case folder. A case that EXPECT.tsv names must exist, with its keys readable."""
    only = None
    if is_case(directory):
        only = os.path.basename(os.path.normpath(directory))
        directory = os.path.dirname(os.path.normpath(os.path.abspath(directory)))
    path = os.path.join(directory, "EXPECT.tsv")
    if not os.path.exists(path):
        raise CaseError(f"{path}: not there; a cases directory holds EXPECT.tsv and a folder per case")
    cases = {}
    for line, fields in read_tsv(path):
        name = fields["case"]
        if only not in (None, name) or not fnmatch.fnmatchcase(name, pattern):
            continue
        if name not in cases:
            folder = os.path.join(directory, name)
            if not os.path.isdir(folder):
                raise CaseError(f"{path}:{line}: no folder {folder}")
            cases[name] = read_case(folder)
        case = cases[name]
        row = Row(name, fields["key"], fields["op"], fields["value"], fields["tol"], line)
        head, _, when = row.key.partition("@")
        row.span = parse_span(when, case.whens(), f"{path}:{line}")
        row.scope, row.metric = split_scope(head, case.targets())
        case.rows.append(row)
    if only and not cases:
        raise CaseError(f"{path}: says nothing about {only}")
    return list(cases.values())
