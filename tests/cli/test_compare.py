"""bench report and compare: records and tables judged, sides compared, what bad input gets."""

import json
import math
import os
import random
import tempfile
import unittest

from program import CliTest, goodput, main

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "..", "..", "shared", "cases")
TABLE = """id\tstart_s\tttft_ms\te2e_ms\toutput_tokens\thttp_status\toutcome\tmodel\tcolour
1\t0\t200\t4160\t100\t200\tok\ta\tred
2\t1\t700\t3670\t100\t200\tok\tb\tred
3\t2\t100\t100\t1\t200\tok\tb\tred
4\t3\t\t\t\t503\terror\ta\tred
5\t4\t\t\t\t\ttimeout\ta\tred
6\t5\t900\t\t12\t200\tcancelled\ta\tred
"""


def run_line(**members):
    return json.dumps({"schema": "goodput.records/1", "window_start": 0, "window_end": 300000, "rate": 4, **members})


def records(seed, ttft_scale=1.0, prompt_scale=1.0, noise=1, output_scale=1.0, **run):
    """A run of 300 s: prompts and due times by the seed, a little noise by `noise`."""
    load, other = random.Random(seed), random.Random(noise)
    lines, due, number = [run_line(**run)], 0.0, 0
    while True:
        due += load.expovariate(4)
        if due >= 300:
            return "\n".join(lines) + "\n"
        prompt = int(min(8000, max(20, load.lognormvariate(6.5, 0.8))) * prompt_scale)
        output = max(2, int(load.lognormvariate(4.5, 0.5) * output_scale))
        ttft = (50 + 0.2 * prompt) * ttft_scale * other.uniform(0.97, 1.03)
        tpot = 20 * other.uniform(0.98, 1.02)
        at = round(due * 1000, 3)
        first = at + ttft
        last = first + tpot * (output - 1)
        lines.append(json.dumps({"id": number, "due": at, "submitted": at, "first_output": first, "last_output": last, "completed": last,
                                 "outcome": "ok", "status": 200, "finish": "stop", "prompt_tokens": prompt, "output_tokens": output,
                                 "basis": "usage", "pool": "canary" if number % 4 == 0 else "stable"}))
        number += 1


class Compare(CliTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def document(self, status, *args):
        result = goodput(*args, "--json")
        self.assertEqual(result.status, status, result.err + result.out[:2000])
        return json.loads(result.out)

    # ---- bench report ----

    def test_table(self):
        path = self.path("t.tsv", TABLE)
        d = self.document(0, "bench", "report", path, "--goodput", "ttft:500", "tpot:50", "e2el:5000", "--duration", "10s", "--each",
                          "--by", "model")
        self.assertEqual((d["requests"], d["judged"], d["good"], d["failed"], d["complete"]), (6, 5, 2, 2, 3))
        self.assertEqual(d["binding"], "ttft")
        self.assertAlmostEqual(d["goodput_rps"], 0.2)
        self.assertEqual({e["class"] for e in d["errors"]}, {"http_5xx", "timeout"})
        self.assertEqual(d["each"][2]["tpot_ms"], {"unknown": "fewer than two output tokens"})
        self.assertEqual([g["name"] for g in d["groups"]["model"]], ["a", "b"])
        text = goodput("bench", "report", path, "--goodput", "ttft:500")
        self.assertIn("columns left out: colour", text.err)
        self.assertIn("binding: ttft", text.out)

    def test_words_of_others(self):
        rows = ["ok\t200", "Success\t200", "rejected\t429", "timed_out\t", "cancelled_by_run\t200", "cancelled_by_user\t200", "ok\t503", "unsent\t"]
        path = self.path("w.tsv", "outcome\thttp_status\tttft_ms\n" + "".join(row + "\t100\n" for row in rows))
        d = self.document(0, "bench", "report", path, "--goodput", "ttft:500")
        self.assertEqual((d["judged"], d["good"], d["failed"], d["unsent"], d["left_out"]), (7, 2, 4, 1, 1))
        self.assertEqual({e["class"] for e in d["errors"]}, {"http_429", "timeout", "other", "http_5xx"})

    def test_results_of_vllm(self):
        result = {"model_id": "m", "duration": 10.0, "request_rate": "inf", "max_concurrency": 4, "completed": 3, "ttfts": [0.2, 0.9, 0.0, 0.0],
                  "itls": [[0.02] * 9, [0.02, 0.6], [], []], "input_lens": [10, 20, 30, 40], "output_lens": [10, 3, 0, 0],
                  "errors": ["", "", "boom \u00e9", ""], "start_times": [100.5, 101, 102, 103]}
        path = self.path("r.json", json.dumps(result))
        d = self.document(0, "bench", "report", path, "--goodput", "ttft:500", "stall:500")
        self.assertEqual((d["judged"], d["good"], d["failed"], d["window_s"]), (4, 1, 2, 10))
        self.assertEqual({e["class"]: e.get("example", "") for e in d["errors"]}, {"other": "boom \u00e9", "empty": ""})
        self.assertAlmostEqual(d["figures"]["tpot"]["mean"], (20 + 310) / 2, 1)
        self.assertEqual(d["missed"]["stall"], 1)
        result["ttfts"].pop()
        self.failed(goodput("bench", "report", self.path("r.json", json.dumps(result)), "-q"), 65, "one length", "--save-detailed")
        self.failed(goodput("bench", "report", self.path("r.json", json.dumps(result)[:-9]), "-q"), 65, ":1:")

    def test_commas_and_standard_input(self):
        table = TABLE.replace("\t", ",").encode()
        result = goodput("bench", "report", "-", "--goodput", "ttft:500", "--json", stdin=table)
        self.assertEqual(json.loads(result.out)["good"], 2)

    def test_report_statuses(self):
        path = self.path("t.tsv", TABLE)
        self.document(2, "bench", "report", path, "--goodput", "ttft:1")
        self.document(3, "bench", "report", self.path("c.tsv", "id\toutcome\n1\tcancelled\n"), "--goodput", "ttft:1")

    def test_what_cannot_be_judged_is_refused(self):
        path = self.path("t.tsv", "id\te2e_ms\n1\t500\n")
        self.failed(goodput("bench", "report", path, "--goodput", "ttft:500"), 65, "ttft")
        self.failed(goodput("bench", "report", self.path("u.tsv", TABLE), "--goodput", "stall:500"), 65, "stall")

    def test_bad_tables(self):
        for text, words in (("", ["no requests"]), ("a\tb\n1\t2\n", ["no column", ":1:1"]), ("ttft_ms\n-3\n", ["below 0", ":2:1"]),
                            ("id\tttft_ms\n1\tfast\n", ["no number", ":2:3"]), ("ttft_ms\tttft_s\n1\t1\n", ["second column"]),
                            ("id\tttft_ms\toutcome\n1\t5\tfine\n", ["no outcome", ":2:5"])):
            self.failed(goodput("bench", "report", self.path("bad.tsv", text)), 65, *words)

    def test_bad_objectives(self):
        path = self.path("t.tsv", TABLE)
        for word in ("ttft", "ttft:x", "ttft:0", "itl:5"):
            self.failed(goodput("bench", "report", path, "--goodput", word), 64, "objective", "hint")

    def test_cut_records(self):
        whole = records(1)
        path = self.path("cut.jsonl", whole[:-40])
        result = goodput("bench", "report", path, "--json")
        self.assertEqual(result.status, 0)
        self.assertIn("the last line is cut", result.err)
        self.assertEqual(json.loads(result.out)["partial"], True)
        self.failed(goodput("bench", "report", self.path("bad.jsonl", whole.replace('"status": 200', '"status": "x"', 1))), 65, ":2:", "number")

    # ---- compare ----

    def pair(self, status, first, second, *args):
        return self.document(status, "compare", self.path("a.jsonl", first), self.path("b.jsonl", second), "--goodput", "ttft:1000", "tpot:40",
                             *args)

    def test_equal_sides_pass(self):
        d = self.pair(0, records(1), records(1, noise=2))
        self.assertEqual(d["verdict"]["verdict"], "pass")
        self.assertTrue(d["matched"])
        panel = {p["id"]: p for p in d["panels"]}["ttft_p99"]
        self.assertLess(abs(panel["change"]["value"]), 0.05)
        self.assertLess(panel["a"]["low"], panel["a"]["value"])

    def test_worse_side_fails(self):
        d = self.pair(2, records(1), records(1, ttft_scale=1.12, noise=2, output_scale=1.2))
        self.assertEqual(d["verdict"]["verdict"], "fail")
        self.assertIn("TTFT P99", d["verdict"]["text"])
        self.assertIn("do not buy that back", d["verdict"]["text"])

    def test_longer_answers_are_judged(self):
        d = self.pair(0, records(1), records(1, noise=2, output_scale=1.3))
        self.assertEqual(d["reasons"], [])

    def test_other_mix_is_refused(self):
        d = self.pair(3, records(1), records(1, prompt_scale=1.6, noise=2))
        self.assertEqual(d["verdict"]["verdict"], "not-comparable")
        self.assertEqual(d["reasons"][0]["id"], "not-comparable-mix")
        self.assertEqual(d["rulings"], [])
        again = self.pair(2, records(1), records(1, prompt_scale=1.6, noise=2), "--anyway")
        self.assertEqual(again["verdict"]["verdict"], "fail")
        self.assertTrue(again["reasons"])

    def test_client_and_load_are_looked_at(self):
        bound = records(1, noise=2, client={"bound": True, "reason": "one core busy"})
        self.assertEqual(self.pair(3, records(1), bound)["reasons"][0]["id"], "not-comparable-client")
        self.assertEqual(self.pair(3, records(1), records(1, rate=8))["reasons"][0]["id"], "not-comparable-load")

    def test_too_few(self):
        few = "\n".join(records(1).split("\n")[:10]) + "\n"
        self.assertEqual(self.pair(3, few, few)["reasons"][0]["id"], "not-comparable-too-few")

    def test_odd_records(self):
        """Nothing due, nothing measured, ends of time: refused or judged, never a crash."""
        odd = {
            "none": [], "at_once": [{"due": 5, "submitted": 5, "first_output": 9, "last_output": 9, "completed": 9, "prompt_tokens": 0}] * 50,
            "errors": [{"due": i, "submitted": i, "outcome": "error", "error": "reset"} for i in range(50)],
            "no_times": [{"evaluation": True}] * 50,
            "years": [{"due": i * 5e10, "submitted": i * 5e10, "first_output": i * 5e10 + 1, "last_output": i * 5e10 + 2, "completed": i * 5e10 + 2,
                       "output_tokens": 4294967294, "prompt_tokens": 4294967294} for i in range(50)],
        }
        paths = [self.path(name + ".jsonl", json.dumps({"schema": "goodput.records/1"}) + "\n" + "".join(
            json.dumps({"id": i, "outcome": "ok", **members}) + "\n" for i, members in enumerate(requests))) for name, requests in odd.items()]
        for a in paths:
            for b in paths:
                result = goodput("compare", a, b, "--anyway", "--json", "--goodput", "ttft:5")
                self.assertIn(result.status, (0, 2, 3), (a, b, result.err))
                self.no_crash(result)
                self.assertTrue(json.loads(result.out)["verdict"]["text"])

    def test_several_runs_in_turn(self):
        files = [self.path(f"r{i}.jsonl", records(10 + i // 2, ttft_scale=1.15 if i % 2 else 1, noise=i)) for i in range(4)]
        d = self.document(2, "compare", *files)
        self.assertAlmostEqual(d["seconds_a"], 600)
        self.assertTrue(d["matched"])
        self.failed(goodput("compare", *files[:3]), 64, "pairs")

    def test_canary(self):
        path = self.path("r.jsonl", records(3))
        d = self.document(3, "compare", path, "--a", "pool=stable", "--b", "pool=canary")
        self.assertEqual(d["reasons"], [])
        panels = {p["id"]: p for p in d["panels"]}
        self.assertGreater(panels["ttft_p50"]["a"]["n"], 2 * panels["ttft_p50"]["b"]["n"])
        needed = [r["seconds_needed"] for r in d["rulings"] if "seconds_needed" in r]
        self.assertTrue(needed and all(n > 0 and math.isfinite(n) for n in needed))
        self.failed(goodput("compare", path, "--a", "colour=red", "--b", "pool=canary"), 64, "LABEL=VALUE")

    def test_policy(self):
        a, b = self.path("a.jsonl", records(1)), self.path("b.jsonl", records(1, ttft_scale=1.12, noise=2))
        lax = self.path("lax.yaml", "name: batch\nmust_not_regress:\n  throughput_rps: {margin: 0.2}\n")
        self.assertEqual(self.document(0, "compare", a, b, "--policy", lax)["verdict"]["policy"], "batch")
        none = self.path("none.yaml", "must_not_regress:\n  evaluation: {margin: 0.05, required: false}\n")
        d = self.document(3, "compare", a, b, "--policy", none)
        self.assertEqual(d["verdict"]["text"], "inconclusive: nothing is known of what must not regress")
        bad = self.path("bad.yaml", "must_not_regress:\n  ttft_p98: {margin: 0.2}\n")
        self.failed(goodput("compare", a, b, "--policy", bad), 65, "bad.yaml:2:13", "ttft_p99")

    def test_page_and_html(self):
        a, b = self.path("a.jsonl", records(1, label="old <b>", facts={"server.version": "0.10"})), self.path("b.jsonl", records(
            1, noise=2, label="new", facts={"server.version": "0.11"}))
        html = os.path.join(self.folder, "c.html")
        result = goodput("compare", a, b, "--goodput", "ttft:1000", "--html", html)
        self.assertEqual(result.status, 0, result.err + result.out)
        for word in ("pass", "TTFT P99", "not worse", "server.version", "0.10 | 0.11", "The same requests"):
            self.assertIn(word, result.out)
        with open(html, encoding="utf-8") as file:
            page = file.read()
        self.assertIn("<svg", page)
        self.assertIn("old &lt;b&gt;", page)
        self.assertNotIn("old <b>", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))

    def test_usage(self):
        self.failed(goodput("compare"), 64)
        self.failed(goodput("compare", self.path("a.jsonl", records(1))), 64, "two files")
        self.failed(goodput("compare", "/nowhere/a.jsonl", "/nowhere/b.jsonl"), 65, "nowhere")
        self.failed(goodput("compare", self.folder), 64, "--before")

    def test_event_usage(self):
        for args, words in ((["x.db", "--before", "a..b"], ["chooses the windows"]), ([], ["of which fleet"]), (["x.db", "--goodput", "ttft:5"], ["pools"])):
            self.failed(goodput("compare", *args, "--event", "last"), 64, *words)
        self.failed(goodput("compare", "x.db", "--event", "list", "--settle", "1m"), 64, "compares nothing")
        self.failed(goodput("compare", "a", "b", "--settle", "1m"), 64, "are of --event")
        self.failed(goodput("compare", "x.db", "--event", "last", "--settle", "soon"), 64, "--settle soon", "duration")
        self.failed(goodput("compare", self.path("page.txt", "# TYPE a gauge\na 1\n"), "--event", "last"), 64, "of the past", "store")
        self.failed(goodput("compare", "pod-a:1", "--event", "last"), 64, "of the past")

    @unittest.skipUnless(os.path.isdir(CASES), "the shared cases are not here")
    def test_event_of_a_recording(self):
        case = os.path.join(CASES, "s32-compare-mix-shift")
        self.failed(goodput("compare", case, "--event", "last"), 3, "no change of capacity", "--event list")
        self.failed(goodput("compare", case, "--event", "someday"), 64, "neither last nor list nor a time")
        self.failed(goodput("compare", case, "--event", "last", "--gpus", "-4"), 64, "--gpus -4", "above 0")
        self.assertEqual(self.document(0, "compare", case, "--event", "list")["events"], [])

    @unittest.skipUnless(os.path.isdir(CASES), "the shared cases are not here")
    def test_windows(self):
        case = os.path.join(CASES, "s32-compare-mix-shift")
        d = self.document(3, "compare", case, "--before", "before", "--after", "after")
        self.assertEqual(d["reasons"][0]["id"], "not-comparable-mix")
        self.assertAlmostEqual(d["prompt_mix"]["distance"], 0.4)
        cached = {p["id"]: p for p in d["panels"]}["cached_share"]
        self.assertNotIn("low", cached["a"])
        self.failed(goodput("compare", case, "--before", "never", "--after", "after"), 64, "never")


if __name__ == "__main__":
    main()
