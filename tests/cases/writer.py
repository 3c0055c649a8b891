"""What the cases' generators share: pages of an engine, and a case's folder with its expectations."""

import os
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))
T0 = 1790000000
TEXT = "text/plain; version=0.0.4; charset=utf-8"
EXPECT = []


class Page:
    """One /metrics body. Labels are a dict; a family's TYPE line comes with its first sample."""

    def __init__(self, prefix="", **labels):
        self.prefix, self.labels, self.lines, self.typed = prefix, labels, [], set()

    def type(self, name, kind):
        if name not in self.typed:
            self.typed.add(name)
            self.lines += [f"# HELP {self.prefix}{name} As the engine says.", f"# TYPE {self.prefix}{name} {kind}"]

    def sample(self, name, value, **labels):
        all_labels = {**self.labels, **labels}
        text = ",".join(f'{k}="{v}"' for k, v in all_labels.items())
        self.lines.append(f"{self.prefix}{name}{{{text}}} {value}" if text else f"{self.prefix}{name} {value}")

    def gauge(self, name, value, **labels):
        self.type(name, "gauge")
        self.sample(name, value, **labels)
        return self

    def counter(self, name, value, **labels):
        self.type(name, "counter")
        self.sample(name, value, **labels)
        return self

    def histogram(self, name, buckets, total, count, **labels):
        """Buckets are cumulative: {"0.1": 3, "+Inf": 5}."""
        self.type(name, "histogram")
        for le, value in buckets.items():
            self.sample(name + "_bucket", value, le=le, **labels)
        self.sample(name + "_sum", total, **labels)
        self.sample(name + "_count", count, **labels)
        return self

    def raw(self, line):
        self.lines.append(line)
        return self

    def body(self):
        return ("\n".join(self.lines) + "\n").encode()


def vllm(engine="0"):
    return Page("vllm:", engine=engine, model_name="acme/chat-8b")


def case(name, scrapes, expect, tables=None):
    """scrapes: (when, seconds after T0, target, body or Page or None, {columns that are not as usual})."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    rows = ["when\ttarget\ttime_unix\tfile\thttp_status\tcontent_type\tduration_s\terror"]
    for when, after, target, page, *more in scrapes:
        more = more[0] if more else {}
        body = page.body() if isinstance(page, Page) else page
        file = f"{target}.{when}.prom" if body is not None else "-"
        if body is not None:
            with open(os.path.join(folder, file), "wb") as f:
                f.write(body)
        status = more.get("status", 200)
        kind = more.get("type", TEXT if status else "-")
        rows.append(f"{when}\t{target}\t{T0 + after}.000\t{file}\t{status}\t{kind}\t{more.get('duration', '0.012')}\t{more.get('error', '')}")
    if all(row.endswith("\t") for row in rows[1:]):
        rows = [row.rsplit("\t", 1)[0] for row in rows]
    with open(os.path.join(folder, "scrapes.tsv"), "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + "\n")
    for line in expect.strip().splitlines():
        key, op, *rest = line.split(None, 2)
        value, _, note = (rest[0] if rest else "").partition("  ")
        tol = "1e-06" if op in ("near", "atleast", "atmost") else ""
        EXPECT.append("\t".join([name, key, op, value.strip() if value != "-" else "", tol, "", note.strip()]))


def load(running, waiting):
    return vllm().gauge("num_requests_running", running).gauge("num_requests_waiting", waiting)


def write_expectations():
    with open(os.path.join(HERE, "EXPECT.tsv"), "w", encoding="utf-8") as f:
        f.write("case\tkey\top\tvalue\ttol\tunit\tnote\n" + "\n".join(EXPECT) + "\n")
