"""Asks the program: one `check … --json` for each distinct window or moment; others' documents by their schema."""

import json
import os
import subprocess

SCHEMA = "goodput.check/1"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_program():
    path = os.environ.get("GOODPUT") or os.path.join(ROOT, "build", "goodput")
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None


def span_flags(span):
    """Options of `check` on a recording."""
    if span.kind == "whole":
        return []
    if span.kind == "moment":
        return ["--at", span.first]
    flags = ["--window", f"{span.first}..{span.last}"]
    if span.against:
        flags += ["--against", "..".join(span.against)]
    return flags


class Answer:
    """A document of the program, or the reason why there is none."""

    def __init__(self, document=None, trouble="", command=()):
        self.document, self.trouble, self.command = document, trouble, list(command)
        self.told = False

    def tell(self):
        """The trouble, in full the first time only."""
        text = "no report, as above" if self.told else self.trouble
        self.told = True
        return text


def run_json(command, schema, timeout_s=60):
    """(document, trouble): anything but a document of the schema with a verdict's exit status is trouble."""
    try:
        run = subprocess.run(command, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {timeout_s} s"
    stderr = run.stderr.decode("utf-8", "replace").strip()
    if run.returncode not in (0, 1, 2, 3):
        return None, f"exit status {run.returncode}: {stderr[-500:]}"
    try:
        document = json.loads(run.stdout.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as e:
        return None, f"no JSON: {e}; {stderr[-500:]}"
    if not isinstance(document, dict) or document.get("schema") != schema:
        return None, f"schema is {document.get('schema') if isinstance(document, dict) else None!r}, not {schema}"
    told = document["verdict"]["exit_status"] if "verdict" in document else run.returncode
    if told != run.returncode:
        return None, f"exit status {run.returncode}, but the document says {told}"
    return document, ""


def ask(command, timeout_s=60):
    """Runs `check`."""
    document, trouble = run_json(command, SCHEMA, timeout_s)
    return Answer(document, trouble, command)
