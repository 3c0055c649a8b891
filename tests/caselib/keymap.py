"""The table from a case author's keys to signals: names and units only, no arithmetic but a scale.

Columns: key, signal, convert, note. `*` in a key stands for any text, and in the signal for that text. Rows are tried in order, those of later
files first, and the first whose signal the program knows is taken. `convert` is empty, a number (key = signal x number), `yesno` (1 and 0 as yes
and no), `cell` (the count of the histogram cell that `*` names as LOW,HIGH) or `change` (the signal's change against the reference window).
Signal `finding` marks the keys that findings answer, `severity` the severity of the case's findings, and `skip` rows CASE:KEY that are not
judged, with the reason in the note."""

import re
from dataclasses import dataclass

from .cases import CaseError, read_tsv

CONVERSIONS = ("", "yesno", "cell", "change")


def glob_to_regex(pattern):
    """Only `*` is special: keys hold brackets."""
    return re.compile("(.*)".join(re.escape(part) for part in pattern.split("*")) + r"\Z", re.S)


@dataclass
class Mapping:
    pattern: re.Pattern
    signal: str
    convert: str
    note: str

    def match(self, text):
        """The signal that `text` maps to and what `*` stood for, or None."""
        m = self.pattern.match(text)
        if not m:
            return None
        caught = m.group(1) if m.groups() else ""
        return self.signal.replace("*", caught), caught


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


class KeyMap:
    def __init__(self, paths):
        self.rows, self.skips = [], []
        for path in paths:
            rows = []
            for line, fields in read_tsv(path):
                if fields.get("key", "").startswith("#"):
                    continue
                row = self.read_row(path, line, fields)
                (self.skips if row.signal == "skip" else rows).append(row)
            self.rows = rows + self.rows

    @staticmethod
    def read_row(path, line, fields):
        key, signal, convert = fields.get("key"), fields.get("signal"), fields.get("convert", "")
        if not key or not signal:
            raise CaseError(f"{path}:{line}: a row has a key and a signal (columns key, signal, convert, note)")
        if convert not in CONVERSIONS and not is_number(convert):
            raise CaseError(f"{path}:{line}: conversion \"{convert}\" is none of a number, {', '.join(CONVERSIONS[1:])}")
        if signal == "skip" and not fields.get("note"):
            raise CaseError(f"{path}:{line}: what is skipped needs its reason in the note")
        return Mapping(glob_to_regex(key), signal, convert, fields.get("note", ""))

    def skipped(self, row):
        """Why this row is not judged, or None."""
        for skip in self.skips:
            if skip.match(f"{row.case}:{row.key}"):
                return skip.note
        return None

    def find(self, metric, signals):
        """(signal, conversion, what `*` caught) for a metric, or None. `signals` holds the ids that the program knows."""
        for row in self.rows:
            found = row.match(metric)
            if found and (found[0] in ("finding", "severity") or found[0] in signals):
                return found[0], row.convert, found[1]
        return None
