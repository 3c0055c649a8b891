"""Cases that hold request records (requests.tsv) instead of scrapes: asks `goodput bench report` and shows its document as one of `check`."""

import json
import os

from .cases import read_tsv
from .program import Answer, run_json

SCHEMA = "goodput.bench.report/1"


def is_records_case(case):
    return not case.scrapes and os.path.exists(os.path.join(case.folder, "requests.tsv"))


def command(program, case):
    words = [program, "bench", "report", os.path.join(case.folder, "requests.tsv"), "--json", "--each"]
    limits = os.path.join(case.folder, "slo.tsv")
    if os.path.exists(limits):
        words += ["--goodput"] + [f"{row['name']}:{row['limit_ms']}" for _, row in read_tsv(limits)]
    facts = os.path.join(case.folder, "run.tsv")
    if os.path.exists(facts):
        run = {row["key"]: row["value"] for _, row in read_tsv(facts)}
        if "duration_s" in run:
            words += ["--duration", f"{run['duration_s']}s"]
    return words


def value(number):
    return {"kind": "unknown", "reason": "not told"} if number is None else {"kind": "value", "value": number}


def readings_of(document):
    readings = {
        "requests_total": value(document["requests"]),
        "requests_judged": value(document["judged"]),
        "good_requests": value(document["good"]),
        "slo_attainment": value((document["attainment"] or {}).get("value")),
        "error_rate": value((document["error_share"] or {}).get("value")),
        "goodput_rps": value(document["goodput_rps"]),
        "throughput_rps": value(document["throughput_rps"]),
        "binding_slo": {"kind": "text", "text": document["binding"] or "none"},
    }
    for name, count in document["missed"].items():
        readings[f"slo_miss_{name}"] = value(count)
    for name, figure in document["figures"].items():
        for q in ("mean", "p50", "p90", "p95", "p99"):
            got = figure[q]
            readings[f"{name}_{q}_{figure['unit']}"] = value(got["value"] if isinstance(got, dict) else got)
    for request in document["each"]:
        for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
            got = request[name]
            readings[f"{name}[id={request['id']}]"] = (
                {"kind": "unknown", "reason": got["unknown"]} if "unknown" in got else value(got["value"])
            )
    return readings


def ask_records(program, case):
    words = command(program, case)
    document, trouble = run_json(words, SCHEMA)
    if document is None:
        return Answer(trouble=trouble, command=words)
    scope = {"kind": "target", "scope": "client", "target": "client", "readings": readings_of(document)}
    return Answer({"scopes": [scope], "findings": [], "verdict": {"severity": "fine"}}, command=words)
