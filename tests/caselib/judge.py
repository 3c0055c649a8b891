"""Compares a row of EXPECT.tsv with a document of the program, as the cases' FORMAT says."""

import re
from dataclasses import dataclass

DEFAULT_TOLERANCE = 1e-6
OPS = ("near", "atleast", "atmost", "unknown", "eq", "verdict", "not")


@dataclass
class Result:
    passed: bool
    got: str


def fail(got):
    return Result(False, got)


# --- scopes -------------------------------------------------------------------------------------------------------------------------


def of_kind(document, kind):
    return [s for s in document["scopes"] if s["kind"] == kind]


def one(scopes, what):
    """The only one of these scopes, or a text that says why not."""
    if len(scopes) == 1:
        return scopes[0], ""
    names = ", ".join(s["scope"] for s in scopes)
    return None, f"{len(scopes)} scopes are {what}: {names}" if scopes else f"no scope is {what}"


def find_scope(document, name):
    """(scope, trouble): the scope that a key's prefix means; a bare metric means the only target, else the fleet."""
    targets = of_kind(document, "target")
    if not name:
        if len(targets) == 1:
            return targets[0], ""
        return one(of_kind(document, "fleet"), "the fleet")
    if name == "fleet":
        return one(of_kind(document, "fleet"), "the fleet")
    part = re.fullmatch(r"(engine|gpu)([0-9]+)", name)
    if not part:
        return one([s for s in targets if s["scope"] == name], f"the target {name}")
    kind, key = part.groups()
    found = [s for s in of_kind(document, kind) if s.get("key") == key]
    if not found and kind == "engine" and len(targets) == 1 and len(of_kind(document, "engine")) <= 1:
        return targets[0], ""  # one engine needs no scope of its own
    return one(found, f"{kind} {key}")


# --- findings -----------------------------------------------------------------------------------------------------------------------


def places(finding, document):
    """Scopes that the finding names, each with the target that it is part of: [(name, target or "")]."""
    targets = {s["scope"]: s.get("target", "") for s in document["scopes"]}
    names = [finding.get("scope", ""), *finding.get("where", [])]
    return [(name, targets.get(name, "")) for name in names]


def finding_concerns(finding, scope, document):
    """Was it raised at this scope or at a part of it, or does it name one? `verdict` needs that; nothing or the fleet means anywhere."""
    if scope in ("", "fleet"):
        return True
    if re.fullmatch(r"(engine|gpu)[0-9]+", scope):
        return any(name.rpartition("/")[2] == scope for name, _ in places(finding, document))
    return any(scope in (name, target) or name.startswith(scope + "/") for name, target in places(finding, document))


def finding_covers(finding, scope, document):
    """The stricter question of `not`: a finding about the whole fleet that names nobody concerns everybody."""
    return finding_concerns(finding, scope, document) or (finding.get("kind") in ("fleet", "pool") and not finding.get("where"))


def describe_findings(document):
    texts = []
    for f in document["findings"]:
        text = f"{f['id']} ({f['severity']}, {f.get('scope', '?')}"
        if f.get("undecided"):
            text += ", undecided"
        if f.get("suppressed_by"):
            text += f", under {f['suppressed_by']}"
        texts.append(text + ")")
    return "findings: " + (", ".join(texts) or "none")


def judge_finding(row, document):
    same = [f for f in document["findings"] if f["id"] == row.value and not f.get("undecided")]
    if row.op == "verdict":
        return Result(any(finding_concerns(f, row.scope, document) for f in same), describe_findings(document))
    raised = [f for f in same if finding_covers(f, row.scope, document)]
    return Result(not raised, describe_findings(document) if raised else "not raised")


ORDER = ("none", "ok", "fine", "info", "notice", "warning", "critical")


def judge_severity(row, document, verdicts):
    """The worst severity of the findings that the case says must be raised; without any, of the verdict."""
    severities = [f["severity"] for f in document["findings"] if f["id"] in verdicts and not f.get("undecided")]
    if not verdicts:
        severities = [document["verdict"]["severity"]]
    worst = max(severities, key=lambda s: ORDER.index(s) if s in ORDER else -1, default="none")
    return Result(row.op == "eq" and worst == row.value, f"{worst}; {describe_findings(document)}")


# --- readings -----------------------------------------------------------------------------------------------------------------------


def number_text(x):
    return f"{x:.17g}" if isinstance(x, (int, float)) else repr(x)


def describe(reading):
    kind = reading.get("kind")
    if kind == "value":
        text = number_text(reading.get("value"))
    elif kind == "between":
        text = f"between {number_text(reading.get('low'))} and {number_text(reading.get('high'))}"
    elif kind == "unknown":
        text = f"unknown ({reading.get('reason') or 'no reason'})"
    elif kind == "text":
        text = f"\"{reading.get('text')}\""
    elif kind == "cells":
        text = f"cells {reading.get('cells')}"
    else:
        text = f"{kind} {number_text(reading.get('low', reading.get('high')))}"
    extra = [str(reading[k]) for k in ("why", "note") if reading.get(k)]
    return text + (f" [{'; '.join(extra)}]" if extra else "")


def convert_cell(reading, caught):
    """`LOW,HIGH` names a cell of a histogram."""
    low, _, high = (text.strip() for text in caught.partition(","))
    bound = lambda text: None if text.lower() in ("inf", "+inf", "-inf") else float(text)
    try:
        wanted = (bound(low), bound(high))
    except ValueError:
        return {"kind": "unknown", "reason": f"\"{caught}\" is no cell"}
    for cell_low, cell_high, count in reading.get("cells", []):
        if (cell_low, cell_high) == wanted or (wanted[0] == 0 and cell_low is None and cell_high == wanted[1]):
            return {"kind": "value", "value": count}
    return {"kind": "unknown", "reason": f"no cell ({caught}] among {reading.get('cells')}"}


def convert_reading(reading, convert, caught):
    """The reading in the key's own unit."""
    if convert == "change":
        if "change" not in reading:
            return {"kind": "unknown", "reason": "no change against the reference window"}
        return {"kind": "value", "value": reading["change"]}
    if convert == "cell" and reading.get("kind") == "cells":
        return convert_cell(reading, caught)
    if convert == "yesno" and reading.get("kind") == "value" and reading.get("value") in (0, 1):
        return {"kind": "text", "text": "yes" if reading["value"] else "no"}
    if convert in ("", "cell", "yesno", "change"):
        return reading
    scaled = dict(reading)
    for name in ("value", "low", "high"):
        if name in scaled:
            scaled[name] = scaled[name] * float(convert)
    return scaled


def close(x, row):
    if not isinstance(x, (int, float)) or isinstance(x, bool):
        return False
    wanted, tolerance = float(row.value), float(row.tol or DEFAULT_TOLERANCE)
    return abs(x - wanted) <= tolerance * (abs(wanted) or 1)


def text_of(reading):
    if reading.get("kind") == "text":
        return reading.get("text", "")
    if reading.get("kind") == "value":
        return f"{reading['value']:g}"
    return None


def judge_reading(row, reading, values=True):
    """`values` false: only the class counts (a number or a bound, which bound, unknown), for figures that a Prometheus extrapolates."""
    kind, got = reading.get("kind"), describe(reading)
    is_close = (lambda x: isinstance(x, (int, float))) if not values else (lambda x: close(x, row))
    if row.op == "near":
        numbers = {"value": ("value",), "at_least": ("low",), "at_most": ("high",), "between": ("low", "high")}.get(kind, ())
        return Result(any(is_close(reading.get(name)) for name in numbers), got)
    if row.op == "atleast":
        return Result(kind in ("at_least", "between") and is_close(reading.get("low")), got)
    if row.op == "atmost":
        return Result(kind in ("at_most", "between") and is_close(reading.get("high")), got)
    if row.op == "unknown":
        return Result(kind == "unknown" and bool(reading.get("reason")), got)
    return Result(row.op == "eq" and text_of(reading) == row.value, got)


def locate(row, document, keymap):
    """(reading in the key's unit, trouble)."""
    known = set()
    for s in document["scopes"]:
        known.update(s["readings"])
    found = keymap.find(row.metric, known)
    if not found:
        return None, f"no row of the map leads from \"{row.metric}\" to a signal"
    scope, trouble = find_scope(document, row.scope)
    if not scope:
        return None, trouble
    signal, convert, caught = found
    if signal not in scope["readings"]:
        return None, f"{scope['scope']} has no reading {signal}"
    return convert_reading(scope["readings"][signal], convert, caught), ""


def judge(row, document, keymap, verdicts=(), values=True):
    """One row against one document. `verdicts` are the findings that the row's case demands."""
    if row.op not in OPS:
        return fail(f"op \"{row.op}\" is none of {', '.join(OPS)}")
    meaning = keymap.find(row.metric, ())
    if row.op in ("verdict", "not"):
        if not meaning or meaning[0] != "finding":
            return fail(f"the map does not say that \"{row.metric}\" means findings")
        return judge_finding(row, document)
    if meaning and meaning[0] == "severity":
        return judge_severity(row, document, verdicts)
    reading, trouble = locate(row, document, keymap)
    return judge_reading(row, reading, values) if reading is not None else fail(trouble)
