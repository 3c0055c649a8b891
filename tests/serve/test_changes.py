#!/usr/bin/env python3
"""Changes of capacity of simulated servers: told and seen, and what was before and after them, from the API, over the network and from the
store's file."""

import json
import subprocess
import sys
import unittest

import daemon

INTERVAL_S = 0.5
LOOK = {"settle": "1s", "length": "8s"}


class Case(unittest.TestCase):
    def setUp(self):
        self.shop = daemon.Workshop()
        self.addCleanup(self.shop.close)

    def targets(self, *ports):
        self.shop.path("targets.json", json.dumps([{"targets": ["127.0.0.1:%d" % p for p in ports]}]))

    def serve(self, *args, pool="slo: {ttft: 1s, tpot: 100ms}, gpus: 2, gpu_price: 3"):
        path = self.shop.path("goodput.yml", """
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}
scrape_configs:
- job_name: vllm
  file_sd_configs: [{files: [targets.json]}]
pools:
- {name: chat, match: {job: vllm}, %s}
""" % pool)
        self.store = self.shop.path("store.db")
        return self.shop.goodput("--config", path, "--store", self.store, *args)

    def await_seconds(self, s, seconds, of="up"):
        """Until there are samples of that long a time."""
        s.wait(lambda: (s.value("max(timestamp(%s)) - min(min_over_time(timestamp(%s)[10m:500ms]))" % (of, of)) or 0) >= seconds,
               what="%g s of samples" % seconds)

    def tell(self, s, **annotation):
        a = s.ask("/api/goodput/v1/annotations", method="POST", headers={"Content-Type": "application/json"}, body=json.dumps(annotation))
        self.assertEqual(a.status, 204, a.text)

    def change(self, s, event="last", **params):
        a = s.ask("/api/goodput/v1/changes/" + event, {**LOOK, **params})
        return a.json["data"] if a.status == 200 else None

    def await_after(self, s):
        """As long as wanted; what comes later changes nothing then."""
        def look():
            c = self.change(s)
            return c and c["windows"]["after"]["seconds"] > 7.9 and c["windows"]["after"]["limit"] in ("length", "other-side") and c
        return s.wait(look, what="the time after the event")

    def compare(self, *args):
        done = subprocess.run([daemon.PROGRAM, "compare", *args], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotIn("Sanitizer", done.stderr)
        return done

    def document(self, *args):
        done = self.compare(*args, "--json")
        self.assertIn(done.returncode, (0, 2, 3), done.stderr)
        d = json.loads(done.stdout)
        self.assertEqual(done.returncode, d["verdict"]["exit_status"])
        return d


def panels(d):
    return {p["id"]: p for p in d["panels"]}


def figure(estimate, bound):
    """The value, or the bound where a scrape came too late for one."""
    return estimate["value"] if "value" in estimate else estimate[bound]


class Changes(Case):
    def test_replicas_added(self):
        first = self.shop.sim("--self-traffic", "rate=24,prompt=300,output=40", replicas=2)
        more = self.shop.sim("--self-traffic", "rate=60,prompt=300,output=40")
        self.targets(first.port, first.port + 1)
        s = self.serve()
        self.await_seconds(s, 9)
        self.targets(first.port, first.port + 1, more.port)
        self.tell(s, text="scaled to 3", tags=["capacity"], labels={"pool": "chat"})
        c = self.await_after(s)
        event, windows, p = c["event"], c["windows"], panels(c)
        self.assertEqual((event["told"], event["text"], event["came"]), (True, "scaled to 3", ["127.0.0.1:%d" % more.port]))
        self.assertEqual((event["up_before"], event["up_after"]), (2, 3))
        self.assertEqual(c["scope"], {"name": "chat", "why": "as told"})
        self.assertAlmostEqual(windows["before"]["seconds"], windows["after"]["seconds"], 3)
        self.assertLessEqual(windows["before"]["to"], event["from"])
        self.assertGreaterEqual(windows["after"]["from"], event["to"] + 1)
        for side, replicas in (("a", 2), ("b", 3)):
            self.assertAlmostEqual(p["replicas"][side]["value"], replicas, delta=0.4)
            self.assertAlmostEqual(p["gpus"][side]["value"], 2 * p["replicas"][side]["value"], 3)
            self.assertAlmostEqual(p["cost_per_hour"][side]["value"], 6 * p["replicas"][side]["value"], 3)
            hours = p["gpus"][side]["value"] / 3600 * 1e6 / figure(p["output_tokens_per_s"][side], "low")
            self.assertAlmostEqual(figure(p["gpu_hours_per_mtok"][side], "high"), hours, 3)
            self.assertAlmostEqual(figure(p["cost_per_mtok"][side], "high"), 3 * hours, 3)
            self.assertGreater(p["ttft_p50"][side]["n"], 20)
        # It came with its own load: that is not like for like, and it is said; judged all the same when that is asked for.
        self.assertEqual([r["id"] for r in c["reasons"]], ["not-comparable-load"])
        self.assertTrue([n for n in c["notes"] if n.startswith("The load moved")], c["notes"])
        self.assertTrue([n for n in c["notes"] if "not A against B" in n], c["notes"])
        self.assertTrue(self.change(s, anyway="1")["rulings"])
        self.assertEqual(self.change(s, scope="fleet")["scope"], {"name": "fleet", "why": "as asked"})
        nobody = s.ask("/api/goodput/v1/changes/last", {**LOOK, "scope": "nobody"})
        self.assertEqual(nobody.status, 422)
        self.assertIn('called "nobody"', nobody.json["error"])
        self.assertEqual({part["side"] for part in c["chart"]}, {"before", "after"})
        self.assertGreater(max(part.get("finished", 0) for part in c["chart"]), 5)
        told = s.ask("/api/goodput/v1/changes").json["data"]
        self.assertEqual([e["text"] for e in told], ["scaled to 3"])
        # The same over the network, and from the file when nobody serves it.
        args = ("--event", str(event["time"]), "--settle", "1s", "--length", "8s")
        over = self.document(s.url, *args)
        self.assertEqual(over["event"]["came"], event["came"])
        self.assertAlmostEqual(panels(over)["replicas"]["b"]["value"], 3, delta=0.4)
        self.assertIn("No pool is called chat here", " ".join(over["notes"]))
        s.end()
        kept = self.document(self.store, "--event", "last", *args[2:], "--config", self.shop.path("goodput.yml"))
        self.assertEqual(kept["windows"]["before"]["from"], windows["before"]["from"])
        self.assertEqual(panels(kept)["ttft_mean"], p["ttft_mean"])
        self.assertEqual(panels(kept)["cost_per_mtok"], p["cost_per_mtok"])
        html = self.shop.path("change.html")
        page = self.compare(self.store, *args, "--gpus", "8", "--gpu-price", "2", "--color", "never", "--html", html)
        with open(html, encoding="utf-8") as file:
            text = file.read()
        for words in ("Good requests, at least", "Replicas that answer", "scaled to 3", "The load moved"):
            self.assertIn(words, text)
        for words in ("Event", "scaled to 3", "over time", "GPU-h per M tokens", "cost of M tokens", "not-comparable-load"):
            self.assertIn(words, page.stdout)

    def test_seen_without_being_told(self):
        sim = self.shop.sim("--self-traffic", "rate=18,prompt=300,output=40", replicas=3)
        self.targets(*range(sim.port, sim.port + 3))
        s = self.serve(pool="slo: {ttft: 1s}")
        self.await_seconds(s, 7)
        self.targets(sim.port, sim.port + 1)
        c = s.wait(lambda: self.change(s), what="the change to be seen")
        self.assertEqual((c["event"]["told"], c["event"]["text"]), (False, "1 target fewer"))
        self.assertEqual(c["event"]["went"], ["127.0.0.1:%d" % (sim.port + 2)])
        self.assertEqual((c["event"]["up_before"], c["event"]["up_after"]), (3, 2))
        self.assertEqual(c["scope"]["why"], "the pool of the targets that came or went")
        p = panels(c)
        self.assertAlmostEqual(p["replicas"]["a"]["value"], 3, delta=0.4)
        self.assertAlmostEqual(p["replicas"]["b"]["value"], 2, delta=0.4)
        self.assertNotIn("gpus", p)
        self.assertGreater(figure(p["replica_hours_per_mtok"]["a"], "high"), 0)
        self.assertIn("How many GPUs a replica has is not known", " ".join(c["notes"]))
        self.assertIn("seen: 1 target fewer", " ".join(self.compare(s.url, "--event", "list").stdout.split()))

    def test_without_traffic(self):
        sim = self.shop.sim()
        self.targets(sim.port)
        s = self.serve()
        self.await_seconds(s, 6)
        self.assertEqual(s.ask("/api/goodput/v1/changes/last").status, 404)
        none = self.compare(s.url, "--event", "last")
        self.assertEqual(none.returncode, 3)
        self.assertIn("no change of capacity is known", none.stderr)
        self.tell(s, text="new release", tags=["deploy"])
        # Too early: no window after it, and when there will be one.
        early = s.wait(lambda: self.change(s), what="the event")
        self.assertFalse(early["windows"]["after"]["enough"])
        self.assertIn("ready", early["windows"])
        self.assertEqual(early["verdict"]["exit_status"], 3)
        c = s.wait(lambda: (self.change(s) or early)["windows"]["after"]["enough"] and self.change(s), what="the time after the event")
        self.assertEqual([r["id"] for r in c["reasons"]], ["not-comparable-too-few"])
        self.assertIn("no traffic", panels(c).get("ttft_p99", {"a": {"unknown": "no traffic"}})["a"]["unknown"])
        self.assertNotIn("cost_per_mtok", panels(c))
        # Any time will do.
        moment = self.document(s.url, "--event", "%.0f" % (c["event"]["time"] - 5), "--settle", "0s", "--length", "4s")
        self.assertEqual(moment["windows"]["events"], 0)
        # One that looks at this one says where the samples are.
        other = self.shop.goodput("--prometheus", s.url)
        refused = other.ask("/api/goodput/v1/changes")
        self.assertEqual(refused.status, 404)
        self.assertIn("--prometheus " + s.url, refused.json["error"])
        for path, words in (("changes/soon", "neither last nor a time"), ("changes/last?settle=x", "settle"), ("changes/last?gpus=-1", "gpus")):
            bad = s.ask("/api/goodput/v1/" + path)
            self.assertEqual(bad.status, 400, bad.text)
            self.assertIn(words, bad.json["error"])


if __name__ == "__main__":
    sys.path.insert(0, "..")
    daemon.side_by_side.main()
