"""Remote write with real engines, both ways, through restarts of either side: not one sample may be missing, and none be another.

    GOODPUT=build/goodput python3 tests/serve/test_remote_write.py
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
import unittest
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import Workshop, free_port, side_by_side  # noqa: E402

SCRAPE_MS = 250


def config(pages, more=""):
    return f"""global:
  scrape_interval: {SCRAPE_MS}ms
  scrape_timeout: {SCRAPE_MS}ms
  external_labels: {{site: here}}
scrape_configs:
- job_name: x
  static_configs:
  - targets: ['127.0.0.1:{pages.port}']
    labels: {{zone: "a b"}}
  metric_relabel_configs:
  - source_labels: [__name__]
    regex: noise_.*
    action: drop
{more}"""


class Moving:
    """Pages whose figures never stand still, and of which one series comes and goes."""

    def __init__(self, workshop):
        self.pages, self.stop, self.count = workshop.serve_pages(), False, 0
        self.step()
        threading.Thread(target=self.run, daemon=True).start()

    def step(self):
        self.count += 1
        lines = [f'work_total{{worker="{i}"}} {self.count * 100 + i / 4!r}' for i in range(40)] + [f"noise_{i} 1" for i in range(5)]
        if self.count // 20 % 2:
            lines.append(f"sometimes {self.count}")
        self.pages.pages["/metrics"] = "\n".join(lines) + "\n"

    def run(self):
        while not self.stop:
            time.sleep(0.05)
            self.step()


def samples(server, drop=("site",)):
    """{labels as text: {t: value as text}} of job x, stale markers left out (a range selector does not show them)."""
    out = {}
    answer = server.api("query", query='{job="x"}[1h]')
    for series in answer.json["data"]["result"]:
        labels = {k: v for k, v in series["metric"].items() if k not in drop}
        out.setdefault(json.dumps(labels, sort_keys=True), {}).update((round(t * 1000), float(v)) for t, v in series["values"])
    return out


def exported(server):
    """The same, of VictoriaMetrics."""
    out = {}
    answer = server.ask("/api/v1/export?" + urllib.parse.urlencode({"match[]": '{job="x"}', "reduce_mem_usage": "1"}))
    for line in answer.text.splitlines():
        series = json.loads(line)
        labels = {k: v for k, v in series["metric"].items() if k != "site"}
        pairs = ((t, v) for t, v in zip(series["timestamps"], series["values"]) if v is not None)
        out.setdefault(json.dumps(labels, sort_keys=True), {}).update((t, float(v)) for t, v in pairs)
    return out


def missing(have, want, until):
    """Samples of `want` up to a time that `have` lacks or has otherwise."""
    return [(labels, t, v, have.get(labels, {}).get(t)) for labels, values in want.items() for t, v in values.items()
            if t <= until and have.get(labels, {}).get(t) != v]


def count(data):
    return sum(map(len, data.values()))


class RemoteWrite(unittest.TestCase):
    def setUp(self):
        self.shop = Workshop()
        self.addCleanup(self.shop.close)
        self.moving = Moving(self.shop)
        self.addCleanup(setattr, self.moving, "stop", True)

    def prometheus(self, path, port, *flags):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed")
        server = self.shop.start(["prometheus", "--config.file=" + path, "--storage.tsdb.path=" + self.shop.path("tsdb"),
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn", *flags], port)
        server.wait(lambda: server.ask("/-/ready").status == 200, what="Prometheus")
        return server

    def victoria(self, port):
        if not shutil.which("victoria-metrics"):
            self.skipTest("victoria-metrics is not installed")
        server = self.shop.start(["victoria-metrics", f"-httpListenAddr=127.0.0.1:{port}", "-storageDataPath=" + self.shop.path("vm"),
            "-retentionPeriod=1", "-loggerLevel=ERROR"], port)
        server.wait(lambda: server.ask("/health").status == 200, what="VictoriaMetrics")
        return server

    def ours(self, path, *args, port=0):
        return self.shop.goodput("--config", path, "--store", self.shop.path("store.db"), *args, port=port)

    def arrived(self, have, want, at_least):
        """Waits until all that `want()` says now is in `have()`."""
        wanted = want()
        until = max(t for values in wanted.values() for t in values)
        self.assertGreater(count(wanted), at_least)
        end = time.time() + 60
        while missing(have(), wanted, until) and time.time() < end:
            time.sleep(0.3)
        lost = missing(have(), wanted, until)
        self.assertEqual(lost, [], f"{len(lost)} of {count(wanted)} samples")

    def sends(self, path_of, start_other, read_other):
        """We send to another engine: it is away, killed; we are killed, and end in order."""
        port = free_port()
        path = self.shop.path("goodput.yaml", config(self.moving.pages, f"""remote_write:
- url: http://127.0.0.1:{port}{path_of}
  queue_config: {{min_backoff: 30ms, max_backoff: 500ms, max_samples_per_send: 500}}
  write_relabel_configs:
  - source_labels: [worker]
    regex: '13'
    action: drop
"""))
        ours = self.ours(path)
        time.sleep(1.5)  # before anybody listens
        other = start_other(port)
        time.sleep(1.5)
        ours.end(signal.SIGKILL)
        ours = self.ours(path)
        time.sleep(1)
        other.end()
        time.sleep(1.5)
        ours.end(signal.SIGKILL)  # with samples that only the queue has
        time.sleep(0.5)
        other = start_other(port)
        ours = self.ours(path)
        time.sleep(1)
        ours.end(signal.SIGTERM)
        ours = self.ours(path)
        time.sleep(2)

        def sent():
            return {k: v for k, v in samples(ours).items() if '"worker": "13"' not in k}
        self.arrived(lambda: read_other(other), sent, 20 * 40)
        self.assertFalse([k for k in read_other(other) if '"worker": "13"' in k])
        page = ours.ask("/metrics").text
        self.assertIn("goodput_remote_write_sent_samples_total{url=", page)
        self.assertIn("goodput_remote_write_failed_samples_total", page)

    def test_to_prometheus(self):
        empty = self.shop.path("empty.yml", "global: {}\n")
        self.sends("/api/v1/write", lambda port: self.prometheus(empty, port, "--web.enable-remote-write-receiver"), samples)

    def test_to_victoria_metrics(self):
        def read(server):
            server.ask("/internal/force_flush")
            return exported(server)
        self.sends("/api/v1/write", self.victoria, read)

    def test_from_prometheus(self):
        port = free_port()
        empty = self.shop.path("goodput.yaml", "global: {}\n")
        path = self.shop.path("prometheus.yml", config(self.moving.pages, f"""remote_write:
- url: http://127.0.0.1:{port}/api/v1/write
  queue_config: {{min_backoff: 30ms, max_backoff: 500ms, batch_send_deadline: 200ms}}
"""))
        ours = self.ours(empty, "--remote-write-receiver", port=port)
        theirs_port = free_port()
        theirs = self.prometheus(path, theirs_port)
        theirs.wait(lambda: theirs.query("up"), what="its first scrape")  # 5 s after its start
        for _ in range(3):
            ours.end(signal.SIGKILL)
            time.sleep(0.7)
            ours = self.ours(empty, "--remote-write-receiver", port=port)
            time.sleep(1)
        time.sleep(1)
        theirs.end()
        theirs = self.prometheus(path, theirs_port)
        time.sleep(2.5)
        self.arrived(lambda: samples(ours), lambda: samples(theirs, drop=()), 20 * 40)
        names = ours.api("series", match="sometimes").json["data"]
        self.assertEqual([n["site"] for n in names], ["here"])

    def test_bad_bodies(self):
        ours = self.ours(self.shop.path("goodput.yaml", "global: {}\n"), "--remote-write-receiver")
        headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
        for body in (b"junk", b"", b"\x05\x10hello", b"\xff\xff\xff\xff\x0f"):
            answer = ours.ask("/api/v1/write", method="POST", headers=headers, body=body)
            self.assertEqual(answer.status, 400, body)
        self.assertEqual(ours.query('count({__name__!=""})'), [])


if __name__ == "__main__":
    side_by_side.main()
