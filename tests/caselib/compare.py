"""Cases that ask for a comparison (a row with the key `compare`): asks `goodput compare` and shows its document as one of `check`.

The windows are what the keys name: `@before` is side A, `@after` side B; a key without a window is about the change."""

from .program import Answer, run_json

SCHEMA = "goodput.compare/1"


def is_compare_case(case):
    return any(row.metric == "compare" for row in case.rows)


def value(number):
    return {"kind": "unknown", "reason": "not told"} if number is None else {"kind": "value", "value": number}


def long_share(mix, side):
    """The share of prompts in the highest cell that either side fills."""
    filled = [c for c in mix["cells"] if c["a"] or c["b"]]
    total = sum(c[side] for c in filled)
    return filled[-1][side] / total if total else None


# A panel's name where the cases have another.
NAMES = {"prompt_tokens_mean": "prompt_len_mean", "output_tokens_mean": "output_len_mean"}


def readings_of(document, side):
    """Of one side, or (None) of the change."""
    readings = {}
    for panel in document["panels"]:
        name = NAMES.get(panel["id"], panel["id"])
        scale = 0.001 if panel["unit"] == "ms" else 1
        name += "_s" if panel["unit"] == "ms" else ""
        if side:
            got = panel[side]
            readings[name] = value(got["value"] * scale if got and "value" in got else None)
        else:
            got = panel["change"]
            readings[name.removesuffix("_s") + "_change"] = value(got.get("value") if got else None)
    mix = document.get("prompt_mix")
    if mix and side:
        readings["long_prompt_share"] = value(long_share(mix, side))
    elif mix:
        readings["prompt_mix_shift"] = value(mix.get("distance"))
    return readings


def findings_of(document):
    findings = [{"id": reason["id"], "severity": "warning", "scope": "fleet", "kind": "fleet"} for reason in document["reasons"]]
    if document["verdict"]["verdict"] == "fail":
        findings.append({"id": "regression", "severity": "critical", "scope": "fleet", "kind": "fleet"})
    return findings


def ask_compare(source, before, after, span, timeout_s=60):
    """`source`: the command and where its figures are; `before` and `after`: the windows as the command line has them."""
    words = [*source, "--before", before, "--after", after, "--json"]
    document, trouble = run_json(words, SCHEMA, timeout_s)
    if document is None:
        return Answer(trouble=trouble, command=words)
    side = None if span.kind == "whole" else "a" if span.first.startswith("before") else "b"
    scope = {"kind": "target", "scope": "svc", "target": "svc", "readings": readings_of(document, side)}
    return Answer({"scopes": [scope], "findings": findings_of(document), "verdict": {"severity": "warning"}}, command=words)


def windows(case):
    """The names of the first and last moment of the windows `before` and `after`."""
    names = list(case.whens())
    sides = [[name for name in names if name.startswith(side + ".")] for side in ("before", "after")]
    return [(side[0], side[-1]) for side in sides]
