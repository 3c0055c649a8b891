#!/usr/bin/env python3
"""check, query and signals on a real Prometheus that scrapes a small fleet, one target of which is down. Skipped without Prometheus."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

import pages
from program import CliTest, goodput, main, side_by_side

CONFIG = """global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs:
- job_name: vllm
  static_configs:
  - targets: ["{a}", "{b}", "127.0.0.1:1"]
    labels: {{namespace: prod, engine: outer}}
- job_name: other
  static_configs: [{{targets: ["{own}"]}}]
"""


@unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
class Prometheus(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.servers = [pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) for _ in range(2)]
        port = side_by_side.free_ports()
        cls.url = f"http://127.0.0.1:{port}"
        config = os.path.join(cls.folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            f.write(CONFIG.format(a=cls.servers[0].address, b=cls.servers[1].address, own=f"127.0.0.1:{port}"))
        cls.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                                        f"--storage.tsdb.path={cls.folder}/data"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline and cls.samples() < 6 * 3:
            time.sleep(0.5)

    @classmethod
    def samples(cls):
        try:
            query = f"{cls.url}/api/v1/query?query=sum(count_over_time(up%7Bjob%3D%22vllm%22%7D%5B1m%5D))"
            with urllib.request.urlopen(query, timeout=2) as answer:
                result = json.load(answer)["data"]["result"]
                return int(result[0]["value"][1]) if result else 0
        except OSError:
            return 0

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(timeout=60)
        for server in cls.servers:
            server.__exit__()
        subprocess.run(["rm", "-rf", cls.folder], check=True)

    def check_document(self, document):
        self.assertAlmostEqual(document["backend"]["scrape_interval_s"], 1, delta=0.2)  # as the scrapes came, on a busy machine
        self.assertGreater(document["backend"]["requests"], 3)
        self.assertIn("Prometheus", document["backend"]["server"])
        self.assertEqual(sorted(t["name"] for t in document["targets"]), sorted([s.address for s in self.servers] + ["127.0.0.1:1"]))
        down = next(t for t in document["targets"] if t["name"] == "127.0.0.1:1")
        self.assertEqual(down["outcome"], "failed")
        fleet = next(s for s in document["scopes"] if s["scope"] == "fleet")
        running = fleet["readings"]["running"]
        self.assertEqual((running["kind"], running["low"], running["targets"]), ("at_least", 8, [2, 3]))
        self.assertEqual(fleet["readings"]["ttft_p50"]["kind"], "value")

    def test_check(self):
        for flags in ((), ("--match", '{job="vllm"}'), ("--match", '{namespace="prod"}')):
            result = goodput("check", "--prometheus", self.url, "--json", *flags)
            self.assertEqual(result.status, 3, result.err)
            self.check_document(json.loads(result.out))

    def test_a_prometheus_is_recognised(self):
        for target in (self.url, self.url + "/metrics", self.url[7:]):
            result = goodput("check", target, "--json")
            self.assertIn("is a Prometheus", result.err)
            self.check_document(json.loads(result.out))

    def test_text(self):
        result = goodput("check", "--prometheus", self.url)
        self.assertIn("127.0.0.1:1", result.out)
        self.assertIn("scraped every 1s", result.out)
        self.assertTrue(all(len(line) <= 80 or line.lstrip().startswith("$") for line in result.out.splitlines()), result.out)

    def test_windows(self):
        for flags in (("--since", "3s"), ("--window", "3s"), ("--at", "-1s"), ("--at", "-1s", "--since", "3s"), ("--window", "2s", "--against", "-4s..-2s")):
            result = goodput("check", "--prometheus", self.url, "--json", *flags)
            self.assertIn(result.status, (2, 3), (flags, result.err))
            self.assertLessEqual(json.loads(result.out)["window"]["seconds"], 5 if "--at" not in flags else 40)

    def test_compare(self):
        sides = [f'{{instance="{server.address}"}}' for server in self.servers]
        result = goodput("compare", "--prometheus", self.url, "--before", "4s", "--a", sides[0], "--b", sides[1], "--json")
        self.assertEqual(result.status, 3, result.err + result.out)  # four seconds decide nothing
        d = json.loads(result.out)
        self.assertEqual(d["verdict"]["verdict"], "inconclusive" if not d["reasons"] else "not-comparable")
        self.assertIn("ttft_p50", [p["id"] for p in d["panels"]])
        result = goodput("compare", "--prometheus", self.url, "--before=-5s..-3s", "--after=-3s..-1s", "--json")
        self.assertIn(result.status, (2, 3), result.err)
        self.assertTrue(json.loads(result.out)["panels"])
        self.failed(goodput("compare", "--prometheus", self.url, "--before", "4s", "--a", "nobody", "--b", "fleet"), 64, "nobody")

    def test_nothing_there(self):
        self.failed(goodput("check", "--prometheus", self.url, "--at", "2020-01-01T00:00:00Z"), 3, "nothing of an LLM server")
        self.failed(goodput("check", "--prometheus", self.url, "--match", '{job="nosuch"}'), 3, "nosuch")
        self.failed(goodput("check", "--prometheus", self.url, "--match", '{job='), 65, "^")
        self.failed(goodput("check", "--prometheus", "http://127.0.0.1:1"), 69, "127.0.0.1:1")
        self.failed(goodput("check", "--prometheus", f"http://{self.servers[0].address}"), 69, "")

    def test_query(self):
        d = json.loads(goodput("query", "sum(vllm:num_requests_running)", "--prometheus", self.url, "--json").out)
        self.assertEqual(d["data"]["result"][0]["value"][1], "8")
        self.failed(goodput("query", "sum(", "--prometheus", self.url), 65, "parse error")

    def test_signals(self):
        result = goodput("signals", "--promql", "ttft_p99", "--prometheus", self.url)
        self.assertIn("vllm:time_to_first_token_seconds_bucket", result.out, result.err)


if __name__ == "__main__":
    main()
