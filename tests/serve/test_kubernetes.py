#!/usr/bin/env python3
"""Discovery in Kubernetes by list and watch, on a stand-in API server: changes, ends of watches, versions that are gone, refusals."""

import json
import os
import sys
import time
import unittest

import daemon

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from servers.kubernetes import Cluster, pod  # noqa: E402


def config(*sds, more=""):
    return "global: {scrape_interval: 1h}\nscrape_configs:\n" + "".join(
        "- {job_name: %s-%d, kubernetes_sd_configs: [%s]%s}\n" % (sd["role"], i, json.dumps(sd), more) for i, sd in enumerate(sds))


class Case(unittest.TestCase):
    def setUp(self):
        self.shop = daemon.Workshop()
        self.addCleanup(self.shop.close)
        self.cluster = Cluster(page_size=100)
        self.addCleanup(self.cluster.close)

    def serve(self, **sd):
        return self.shop.goodput("--config", self.shop.path("goodput.yml", config({"role": "pod", "api_server": self.cluster.url, **sd})))

    def pods(self, s):
        targets = s.api("targets").json["data"]["activeTargets"]
        return sorted({t["discoveredLabels"]["__meta_kubernetes_pod_name"] for t in targets})

    def see(self, s, *names):
        s.wait(lambda: self.pods(s) == sorted(names), what="the pods " + " ".join(names))

    def await_watch(self, s, count=1):
        s.wait(lambda: len(self.cluster.watches()) >= count, what="a watch")


FIRST = ("bare", "six", "vllm-0", "vllm-1")


class Watches(Case):
    def test_changes(self):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.assertEqual(len(self.cluster.lists()), 1)
        self.assertIn("resourceVersion=7", self.cluster.watches()[0])
        self.assertIn("allowWatchBookmarks=true", self.cluster.watches()[0])
        self.cluster.put("pods", pod("new", "llm", "10.1.0.50", "gpu-1"))
        self.see(s, "new", *FIRST)
        self.cluster.delete("pods", "six")
        self.cluster.put("pods", pod("vllm-2", "llm", "10.1.0.3", "gpu-1"))  # it has its address now
        self.see(s, "bare", "new", "vllm-0", "vllm-1", "vllm-2")
        # A moved pod is another target.
        self.cluster.put("pods", pod("new", "llm", "10.1.0.51", "gpu-2"))
        s.wait(lambda: [t for t in s.api("targets").json["data"]["activeTargets"] if t["labels"]["instance"].startswith("10.1.0.51")], what="its new address")
        self.assertEqual(len(self.cluster.lists()), 1, self.cluster.requests)

    def test_many_changes_are_few_requests(self):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        before, begin = len(self.cluster.requests), time.monotonic()
        for i in range(200):
            self.cluster.put("pods", pod("p%d" % i, "llm", "10.2.0.%d" % i, "gpu-1"))
            time.sleep(0.01)
        self.see(s, *FIRST, *("p%d" % i for i in range(200)))
        self.assertLessEqual(len(self.cluster.requests) - before, time.monotonic() - begin + 2)
        self.assertEqual(len(self.cluster.lists()), 1)

    def ended(self, orderly):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.cluster.ends_in_order = orderly
        self.cluster.bookmark("pods")
        self.cluster.put("nodes", {"metadata": {"name": "else"}})
        self.cluster.drop_watches()
        self.cluster.put("pods", pod("meanwhile", "llm", "10.1.0.60", "gpu-1"))
        self.see(s, "meanwhile", *FIRST)
        self.assertEqual(len(self.cluster.lists()), 1)

    def test_ends_and_goes_on(self):
        self.ended(True)

    def test_is_cut_and_goes_on(self):
        self.ended(False)

    def gone(self, by_status):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.cluster.gone_by_status = by_status
        with self.cluster.lock:
            self.cluster.put("pods", pod("missed", "llm", "10.1.0.70", "gpu-1"))
            self.cluster.delete("pods", "bare")
            self.cluster.forget()  # before anybody was told
            self.cluster.drop_watches()
        self.see(s, "missed", "six", "vllm-0", "vllm-1")
        self.assertEqual(len(self.cluster.lists()), 2)

    def test_gone_by_status(self):
        self.gone(True)

    def test_gone_by_event(self):
        self.gone(False)

    def test_nonsense(self):
        """A line that cannot be read: everything is listed again."""
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.cluster.put("pods", pod("good", "llm", "10.1.0.80", "gpu-1"))
        self.cluster.event("pods", "NONSENSE", {"metadata": {"namespace": "llm", "name": "x"}})
        self.see(s, "good", *FIRST)
        s.wait(lambda: len(self.cluster.lists()) == 2, what="another list")

    def test_server_away(self):
        """Targets stay; what happened meanwhile is there afterwards."""
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.cluster.broken = True
        self.cluster.drop_watches()
        s.wait(lambda: "HTTP status 500" in s.log(), what="the failure told")
        self.assertEqual(self.pods(s), sorted(FIRST))
        self.cluster.put("pods", pod("meanwhile", "llm", "10.1.0.60", "gpu-1"))
        self.cluster.broken = False
        self.see(s, "meanwhile", *FIRST)

    def test_may_not_watch(self):
        self.cluster.refuses_watches = True
        s = self.serve()
        self.see(s, *FIRST)
        self.cluster.put("pods", pod("new", "llm", "10.1.0.50", "gpu-1"))
        self.see(s, "new", *FIRST)
        # When it may, it does.
        self.cluster.refuses_watches = False
        s.wait(lambda: len(self.cluster.watches()) >= 2, what="another try")

    def test_several_lists(self):
        """Endpoints need pods and services too, each in each namespace."""
        s = self.serve(role="endpoints", namespaces={"names": ["llm", "other"]})
        s.wait(lambda: len(s.api("targets").json["data"]["activeTargets"]) >= 4, what="its targets")
        self.await_watch(s, 6)
        self.cluster.put("pods", pod("vllm-0", "llm", "10.1.0.1", "gpu-1", (("http", 8000), ("late", 9500))))
        s.wait(lambda: [t for t in s.api("targets").json["data"]["activeTargets"] if t["labels"]["instance"] == "10.1.0.1:9500"], what="the pod's new port")
        self.assertEqual(len(self.cluster.lists()), 6)

    def test_end(self):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.assertEqual(s.end(), 0)

    def test_reload(self):
        s = self.serve()
        self.see(s, *FIRST)
        self.await_watch(s)
        self.assertEqual(s.ask("/-/reload", method="POST").status, 200)
        self.cluster.put("pods", pod("new", "llm", "10.1.0.50", "gpu-1"))
        self.see(s, "new", *FIRST)


if __name__ == "__main__":
    daemon.side_by_side.main()
