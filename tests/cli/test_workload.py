"""workload: freeze from files, metrics and by hand; show; diff; what bad input gets."""

import json
import os
import re
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
from program import PROGRAM, CliTest, goodput, main
from simlib import Sim

SHARED = os.environ.get("GOODPUT_SHARED") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared")
TRACES = os.path.join(SHARED, "traces")

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:{i // 60:02}:{i % 60:02}.5000000,{100 + 37 * i % 900},{10 + 7 * i % 90}\n" for i in range(200))
HAND = """goodput_workload: 1
arrivals: {process: poisson, rate: 5}
mix:
  - {name: chat, share: 3, prompt: {mean: 400, cv: 0.8, most: 4000}, output: [20, 300]}
  - {name: code, share: 1, prompt: 2000, output: 40}
prefix: {groups: 2, tokens: 128}
"""


class Workload(CliTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def frozen(self, *args, name="w.yaml"):
        out = self.path(name)
        result = goodput("workload", "freeze", *args, "--output", out)
        self.assertEqual((result.status, result.err), (0, ""), result.err)
        return out

    def shown(self, path):
        result = goodput("workload", "show", path, "--json")
        self.assertEqual((result.status, result.err), (0, ""))
        return json.loads(result.out)


class Freeze(Workload):
    def test_turn_without_a_time(self):
        """Records need not say when a turn left: then nothing is known of its pause, and the file can be read again."""
        records = "".join(json.dumps(line) + "\n" for line in (
            {"schema": "goodput.records/1"},
            {"id": 0, "due": 0, "submitted": 1, "completed": 5, "outcome": "ok", "prompt_tokens": 10, "output_tokens": 5, "session": 0, "turn": 0},
            {"id": 0, "due": 20, "outcome": "ok", "prompt_tokens": 30, "output_tokens": 5, "session": 0, "turn": 1}))
        out = self.frozen(self.path("r.jsonl", records))
        with open(out, encoding="utf-8") as file:
            self.assertIn("\n    0 15 5 1\n", file.read())
        self.assertEqual(self.shown(out)["requests"], 2)

    def test_trace(self):
        out = self.frozen(self.path("a.csv", AZURE))
        facts = self.shown(out)
        self.assertEqual((facts["schema"], facts["requests"], facts["arrivals"]["process"]), ("goodput.workload/1", 200, "trace"))
        self.assertAlmostEqual(facts["arrivals"]["rate"], 1)
        self.assertTrue(facts["whole"])
        printed = goodput("workload", "freeze", self.path("a.csv"))
        with open(out, encoding="utf-8") as file:
            self.assertEqual(printed.out, file.read())

    def test_other_load_same_mix(self):
        out = self.frozen(self.path("a.csv", AZURE))
        fast = self.frozen(out, "--request-rate", "20", "--num-prompts", "5000", "--temperature", "0", name="fast.yaml")
        facts, before = self.shown(fast), self.shown(out)
        self.assertEqual(facts["arrivals"]["process"], "poisson")
        self.assertEqual(facts["arrivals"]["rate"], 20)
        self.assertEqual(facts["prompt_tokens"]["mean"], before["prompt_tokens"]["mean"])  # 5000 is 25 whole passes through 200 rows
        self.assertNotEqual(facts["hash"], before["hash"])
        gamma = self.shown(self.frozen(out, "--request-rate", "20", "--burstiness", "0.25", "--num-prompts", "5000", name="gamma.yaml"))
        self.assertAlmostEqual(gamma["arrivals"]["interval_cv"], 2)
        closed = self.shown(self.frozen(out, "--arrivals", "closed", "--max-concurrency", "16", name="closed.yaml"))
        self.assertEqual(closed["arrivals"], {"process": "closed", "concurrency": 16, "seconds": 0})

    def test_by_hand(self):
        hand = self.path("hand.yaml", HAND)
        out = self.frozen(hand)
        self.assertEqual(self.shown(out)["hash"], self.shown(hand)["hash"])
        with open(out, encoding="utf-8") as file:
            self.assertIn(f'hash: "{self.shown(hand)["hash"]}"', file.read())

    def test_page(self):
        buckets = lambda name, counts: "".join(
            f'{name}_bucket{{model_name="m",engine="0",le="{le}"}} {n}\n' for le, n in counts) + f'{name}_sum{{model_name="m",engine="0"}} 30000\n{name}_count{{model_name="m",engine="0"}} 100\n'
        page = ("# TYPE vllm:request_prompt_tokens histogram\n" +
                buckets("vllm:request_prompt_tokens", (("100.0", 10), ("200.0", 20), ("500.0", 100), ("+Inf", 100))) +
                "# TYPE vllm:request_generation_tokens histogram\n" +
                buckets("vllm:request_generation_tokens", (("50.0", 60), ("100.0", 100), ("+Inf", 100))) +
                '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m",engine="0"} 1\n')
        out = self.path("live.yaml")
        result = goodput("workload", "freeze", self.path("page.prom", page), "--request-rate", "3", "-o", out)
        self.assertEqual(result.status, 0, result.err)
        self.assertRegex(re.sub(r"\s+", " ", result.out), "metrics do not tell which prompts had long answers")
        facts = self.shown(out)
        self.assertLessEqual(facts["prompt_tokens"]["max"], 500)
        self.assertAlmostEqual(facts["prompt_tokens"]["mean"], 300, delta=5)  # _sum / _count: leaned to it
        self.assertAlmostEqual(facts["rank_correlation"], 0, delta=0.03)

    def test_live(self):
        with Sim("--self-traffic", "rate=40,prompt=600,output=20,prefix=0.5", program=PROGRAM) as sim:
            deadline = time.monotonic() + 120
            while (sim.value("vllm:request_success_total") or 0) < 60 and time.monotonic() < deadline:
                time.sleep(0.1)
            out = self.path("live.yaml")
            result = goodput("workload", "freeze", f"127.0.0.1:{sim.port}", "--window", "3s", "--request-rate", "7", "-o", out, timeout=120)
        self.assertEqual(result.status, 0, result.err)
        facts = self.shown(out)
        self.assertEqual((facts["source"], facts["arrivals"]["rate"]), ("metrics", 7))
        self.assertGreater(facts["prompt_tokens"]["mean"], 300)
        self.assertGreater(facts["shared"], 0.2)
        self.assertTrue(any("found in the prefix cache" in remark for remark in facts["remarks"]), facts["remarks"])

    @unittest.skipUnless(os.path.isdir(TRACES), "no shared traces")
    def test_public_traces(self):
        for name, requests, prompt, cv, shared in (("azure_llm_2023_conv.csv", 19366, (1154.7, 1020, 2734.5), 1.09, 0),
                                                   ("azure_llm_2023_code.csv", 8819, (2047.9, 1469, 5187.6), 13.15, 0),
                                                   ("mooncake_conversation.jsonl", 12031, (12035, 6909, 27367), None, 54098411 / 144793823),
                                                   ("mooncake_synthetic.jsonl", 3993, (15325, 11587, 38611.2), 1.01, 39852661 / 61194628)):
            facts = self.shown(self.frozen(os.path.join(TRACES, name)))
            self.assertEqual(facts["requests"], requests)
            for key, expected in zip(("mean", "p50", "p90"), prompt):
                self.assertAlmostEqual(facts["prompt_tokens"][key], expected, delta=0.0001 * expected + 0.06)
            self.assertAlmostEqual(facts["shared"], shared, places=9)
            if cv:
                self.assertAlmostEqual(facts["arrivals"]["interval_cv"], cv, delta=0.005)
        facts = self.shown(self.frozen(os.path.join(TRACES, "azure_llm_2023_conv.csv"), "--from", "600s", "--to", "660s"))
        self.assertEqual(facts["requests"], 301)
        self.assertAlmostEqual(facts["prompt_tokens"]["mean"] * 301, 390501, delta=0.01)
        self.assertAlmostEqual(facts["output_tokens"]["mean"] * 301, 76708, delta=0.01)


class Sent(Workload):
    def test_lengths_and_times_arrive(self):
        """What a server counts is what the workload says, in all forms of prompts, and is due when it says."""
        trace = self.path("a.csv", AZURE)
        with Sim(program=PROGRAM) as sim:
            for form, backend, options in (("chat", "openai-chat", ("--template-tokens", "7")), ("completion", "openai", ()), ("token-ids", "openai", ())):
                out = self.frozen(trace, "--limit", "40", "--max-output", "12", "--speed", "40", "--format", form, *options)
                records = self.path(form + ".jsonl")
                result = goodput("bench", f"http://127.0.0.1:{sim.port}", "--backend", backend, "--workload", out, "--records", records, "--quiet", timeout=200)
                self.assertIn(result.status, (0, 3), result.err + result.out)  # 3: this machine is busy
                with open(out, encoding="utf-8") as file:
                    rows = [line.split() for line in file.read().split("data: |\n")[1].splitlines()]
                with open(records, encoding="utf-8") as file:
                    sent = sorted((r for r in map(json.loads, file) if "id" in r), key=lambda r: r["id"])
                self.assertEqual([(int(row[1]), int(row[2])) for row in rows], [(r["prompt_tokens"], r["output_tokens"]) for r in sent])
                for row, request in zip(rows, sent):
                    self.assertAlmostEqual(int(row[0]) / 1000 / 40, request["due"], places=5)


class Diff(Workload):
    def test_verdicts(self):
        hand = self.path("hand.yaml", HAND)
        same = goodput("workload", "diff", hand, hand)
        self.assertEqual((same.status, same.err), (0, ""))
        self.assertIn("the same workload", same.out)
        other = goodput("workload", "diff", hand, self.frozen(hand, "--seed", "7"))
        self.assertEqual(other.status, 0, other.out)
        self.assertIn("comparable", other.out)
        rate = goodput("workload", "diff", hand, self.frozen(hand, "--request-rate", "6"))
        self.assertEqual(rate.status, 3, rate.out)
        self.assertIn("not comparable: arrivals a second", rate.out)
        mix = self.path("mix.yaml", HAND.replace("share: 3", "share: 2"))
        result = json.loads(goodput("workload", "diff", hand, mix, "--json").out)
        self.assertEqual((result["schema"], result["same"], result["comparable"]), ("goodput.workload-diff/1", False, False))
        apart = {d["aspect"]: d for d in result["distances"]}
        self.assertFalse(apart["prompt lengths"]["fair"])
        self.assertTrue(apart["burstiness"]["fair"])
        self.assertGreater(result["prompt_shift_tokens"], 50)


class BadInput(Workload):
    def test_changed_and_cut(self):
        out = self.frozen(self.path("a.csv", AZURE))
        with open(out, encoding="utf-8") as file:
            text = file.read()
        self.failed(goodput("workload", "show", self.path("changed.yaml", text.replace(" 100 10\n", " 101 10\n", 1))), 65, "changed.yaml:2:7", "does not match", "freeze")
        self.failed(goodput("workload", "show", self.path("cut.yaml", text[:len(text) // 2].rsplit("\n", 1)[0] + "\n")), 65, "changed or cut")
        self.failed(goodput("workload", "show", self.path("torn.yaml", text[:text.index("\n    1000000 ") + 13])), 65, "torn.yaml:", "three fields")
        self.frozen(self.path("changed.yaml"))  # meant: a new hash

    def test_messages(self):
        key = goodput("workload", "show", self.path("key.yaml", HAND.replace("prefix:", "prefxi:")))
        self.failed(key, 65, "key.yaml:6:1", "unknown key", 'did you mean "prefix"', "prefxi: {groups: 2, tokens: 128}\n  ^")
        self.failed(goodput("workload", "freeze", self.path("a.csv", AZURE.replace(",137,", ",x,"))), 65, "a.csv:3:", "ContextTokens")
        self.failed(goodput("workload", "freeze", self.path("b.csv", AZURE), "--request-rate", "0"), 65, "a rate of 0 is impossible")
        self.failed(goodput("workload", "freeze", self.path("b.csv"), "--request-rate", "fast"), 64, "--request-rate")
        self.failed(goodput("workload", "freeze", self.path("b.csv"), "--from", "2h"), 65, "no request of the trace is left")
        self.failed(goodput("workload", "show", self.path("none.yaml")), 65, "none.yaml")
        sharegpt = self.path("s.json", '[{"conversations":[{"from":"human","value":"hello"},{"from":"gpt","value":"hi"}]}]')
        self.failed(goodput("workload", "freeze", sharegpt), 65, "give --request-rate")

    def test_usage(self):
        trace = self.path("a.csv", AZURE)
        hand = self.path("hand.yaml", HAND)
        for args, word in (((), "freeze, show or diff"), (("show",), "One file"), (("diff", hand), "Two files"), (("freeze",), "from what"),
                           (("show", hand, "--seed", "3"), "common options"), (("freeze", hand, "--limit", "3"), "are of traces"),
                           (("freeze", trace, "--window", "5m"), "--window"), (("freeze", trace, "--over", "drop"), "--max-prompt"),
                           (("freeze", trace, "--burstiness", "2"), "gamma"), (("freeze", trace, "--json"), "--output"),
                           (("freeze", trace, "--ramp-up-strategy", "exponential"), "--ramp-up-time"), (("freeze", trace, hand), "one trace")):
            self.failed(goodput("workload", *args), 64, word)


if __name__ == "__main__":
    main()
