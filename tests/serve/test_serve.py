"""goodput serve from outside: what clients of a Prometheus do, what bad clients do, and what its operators do to it."""

import base64
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

import daemon

PAGE = "# HELP load How much.\n# TYPE load gauge\nload{pool=\"a\"} %d\n# TYPE seen counter\nseen_total %d\n"


# Minutes of work on hardly any data: a day of windows of an hour, each sorted.
SLOW = "count_over_time((quantile_over_time(0.9, (time() * vector(1) % 97)[1h:1s]))[1d:1s])"


class Case(unittest.TestCase):
    def setUp(self):
        self.shop = daemon.Workshop()
        self.addCleanup(self.shop.close)
        self.pages = self.shop.serve_pages()
        self.pages.pages["/metrics"] = PAGE % (1, 1)
        self.target = "127.0.0.1:%d" % self.pages.port

    def serve(self, *args, targets=None, ready=True):
        s = self.shop.goodput("--scrape-interval", "200ms", "--evaluation-interval", "500ms", *args, *([self.target] if targets is None else targets))
        if ready:
            s.wait(lambda: s.query("load"), what="a scrape")
        return s

    def raw(self, server, data, timeout=60, wait=0.0):
        """Sends bytes as they are; what came back until the connection was closed or silent."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as c:
            c.sendall(data)
            time.sleep(wait)
            got = b""
            try:
                while True:
                    part = c.recv(65536)
                    if not part:
                        return got
                    got += part
                    if b"\r\n\r\n" in got and b"Content-Length: 0" not in got and wait == 0.0 and got.count(b"HTTP/1.1") >= 1 and len(part) < 65536:
                        c.settimeout(0.5)
            except (TimeoutError, ConnectionError):
                return got


class Clients(Case):
    def promtool(self, *args):
        run = subprocess.run(["promtool", *args], capture_output=True, text=True, timeout=60, check=False, cwd=self.shop.folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    @unittest.skipUnless(shutil.which("promtool"), "no promtool")
    def test_promtool(self):
        s = self.serve()
        now = time.time()
        self.assertRegex(self.promtool("query", "instant", s.url, "load"), r'load\{instance="%s", pool="a"\} => 1 @' % self.target)
        self.assertIn("=>", self.promtool("query", "range", "--start=%d" % (now - 5), "--end=%d" % (now + 1), "--step=1s", s.url, "load"))
        self.assertIn('__name__="load"', self.promtool("query", "series", "--match=load", s.url))
        self.assertEqual(self.promtool("query", "labels", s.url, "pool"), "a\n")
        self.assertIn("goodput_targets", self.promtool("debug", "metrics", s.url) and s.ask("/metrics").text)
        check = subprocess.run(["promtool", "check", "metrics"], input=s.ask("/metrics").text, capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("error", check.stderr, check.stderr)

    def test_grafana(self):
        """What its data source sends, in order."""
        s = self.serve()
        answer = s.api("query", "POST", query="1+1", time=4)
        self.assertEqual(answer.json["data"], {"resultType": "scalar", "result": [4, "2"]})
        self.assertNotIn("features", s.api("status/buildinfo").json["data"])
        end = int(time.time())
        answer = s.ask("/api/v1/query_range", {"query": "load", "start": end - 60, "end": end, "step": 15}, "POST",
                       {"Origin": "http://grafana:3000", "Accept-Encoding": "gzip"})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
        self.assertEqual(answer.json["data"]["resultType"], "matrix")
        self.assertEqual(s.api("labels", "POST").json["status"], "success")
        self.assertEqual(s.api("label/pool/values", match='load{pool=~"a|b"}').json["data"], ["a"])
        self.assertEqual(len(s.api("series", "POST", match="load").json["data"]), 1)
        self.assertEqual(s.api("metadata").json["data"]["load"], [{"type": "gauge", "help": "How much.", "unit": ""}])
        self.assertIn("groups", s.api("rules").json["data"])
        self.assertIn("alerts", s.api("alerts").json["data"])
        self.assertEqual(s.api("query_exemplars", query="load", start=0, end=9).json["data"], [])

    def test_gzip(self):
        s = self.serve()
        s.wait(lambda: len(s.api("metadata").body) > 100)
        plain = s.ask("/api/goodput/v1/coverage", headers={"Accept-Encoding": "identity"})
        s.wait(lambda: s.ask("/api/goodput/v1/coverage").status == 200)
        plain = s.ask("/metrics")
        packed = s.ask("/api/v1/status/tsdb", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(plain.headers["Content-Encoding"], None)
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertEqual(json.loads(gzip.decompress(packed.body))["status"], "success")
        self.assertIsNone(s.ask("/api/v1/status/tsdb", headers={"Accept-Encoding": "gzip;q=0"}).headers["Content-Encoding"])

    def test_own(self):
        s = self.shop.goodput("--scrape-interval", "200ms", "--evaluation-interval", "300ms", "127.0.0.1:%d" % self.shop.sim(
            "--self-traffic", "rate=5,prompt=100,output=20").port)
        s.wait(lambda: s.ask("/api/goodput/v1/readings").status == 200, what="a report")
        for what, key in (("readings", "scopes"), ("findings", "findings"), ("coverage", "targets")):
            data = s.ask("/api/goodput/v1/" + what).json["data"]
            self.assertIn("severity", data["verdict"])
            self.assertTrue(isinstance(data[key], list))
        readings = s.ask("/api/goodput/v1/readings").json["data"]["scopes"][0]["readings"]
        self.assertIn("running", readings)

    def test_annotations_and_events(self):
        s = self.serve()
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
            c.sendall(b"GET /api/goodput/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"text/event-stream", c.recv(4096))
            answer = s.ask("/api/goodput/v1/annotations", method="POST", headers={"Content-Type": "application/json"},
                           body=json.dumps({"text": "v2 out", "tags": ["deploy"], "labels": {"pool": "a"}}))
            self.assertEqual((answer.status, answer.body), (204, b""))
            got = b""
            while b"v2 out" not in got:
                got += c.recv(4096)
            self.assertIn(b"event: annotation", got)
            while b"event: report" not in got:
                got += c.recv(4096)
        listed = s.ask("/api/goodput/v1/annotations").json["data"]
        self.assertEqual([(a["text"], a["tags"], a["pool"]) for a in listed], [("v2 out", "deploy", "a")])
        self.assertEqual(len(s.query('goodput_annotation{tags="deploy"}')), 1)
        for body, word in (("{", "not JSON"), ("[]", "object"), ("{}", "text"), ('{"text":"x","time":1}', "hour"), ('{"text":"x","x":1}', "unknown"),
                           ('{"text":"x","labels":{"__name__":"up"}}', "__name__")):
            answer = s.ask("/api/goodput/v1/annotations", method="POST", headers={"Content-Type": "application/json"}, body=body)
            self.assertEqual(answer.status, 400)
            self.assertIn(word, answer.text)
        self.assertEqual(s.ask("/api/goodput/v1/annotations", method="POST", body='{"text":"x"}').status, 415)


class BadClients(Case):
    def test_slow_and_half_open(self):
        """Many that say nothing, or half of it, cost the others nothing."""
        s = self.serve()
        idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(200)]
        for i, c in enumerate(idle):
            if i % 2:
                c.sendall(b"GET /api/v1/query?query=up HTTP/1.1\r\nHo")
        for _ in range(20):
            self.assertEqual(s.api("query", query="load").status, 200)
        # Nobody waited for one of them to be given up: all are still there.
        self.assertGreaterEqual(float(re.search(r"goodput_connections (\d+)", s.ask("/metrics").text).group(1)), 200)
        for c in idle:
            c.close()
        s.wait(lambda: s.value("load") == 1)

    def test_too_large(self):
        s = self.serve()
        self.assertIn(b" 431 ", self.raw(s, b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200000 + b"\r\n\r\n"))
        self.assertIn(b" 413 ", self.raw(s, b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"))
        self.assertEqual(s.api("query", query="load").status, 200)

    def test_smuggling(self):
        s = self.serve()
        for head in (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                     b"Transfer-Encoding: chunked, identity\r\n", b"Content-Length: +5\r\n", b"Content-Length : 5\r\n", b"X: a\r\n b\r\n",
                     b"Transfer-Encoding: xchunked\r\n"):
            got = self.raw(s, b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\n" + head + b"\r\nquery=1GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertRegex(got, rb"^HTTP/1\.1 (400|501) ", head)
            self.assertEqual(got.count(b"HTTP/1.1 "), 1, got)
        self.assertGreater(s.wait(lambda: float(re.search(r"http_requests_refused_total (\d+)", s.ask("/metrics").text).group(1))), 5)

    def test_paths(self):
        s = self.serve()
        for path in ("/api/v1/../v1/query", "/api/v1//query", "/api/v1/query/", "/API/v1/query", "/api/v1/query%00", "/api/v1/%71uery", "/../etc/passwd",
                     "/api/v1/label//values", "/api/v1/label/a/b/values", "/api/v1/label/..%2f..%2fx/values", "/-/healthy/..", "//", "/static/../x", "/assets/../x"):
            got = self.raw(s, b"GET " + path.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertRegex(got, rb"^HTTP/1\.1 (404|400) ", path)

    def test_bad_forms(self):
        s = self.serve()
        self.assertEqual(s.ask("/api/v1/query?query=%zz").status, 400)
        self.assertEqual(s.ask("/api/v1/query?query=%ff%fe").status, 400)
        self.assertEqual(s.ask("/api/v1/query?query=" + "(" * 5000).status, 400)
        self.assertEqual(s.ask("/api/v1/query?query=load&query=up").json["data"]["result"][0]["metric"]["__name__"], "load")
        self.assertEqual(s.api("query", query="load", limit="-1").status, 400)
        self.assertEqual(s.api("query", query='{__name__=~".+"}', limit=1).json["warnings"], ["results truncated due to limit"])

    def test_client_goes_away(self):
        """Its query ends with it, and others go on."""
        s = self.serve("--query-timeout", "60s")
        with socket.create_connection(("127.0.0.1", s.port)) as c:
            c.sendall(b"GET /api/v1/query?query=" + urllib.parse.quote(SLOW).encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.3)
        s.wait(lambda: "goodput_queries_canceled_total 1" in s.ask("/metrics").text, what="the cancellation")
        s.wait(lambda: "goodput_queries_running 0" in s.ask("/metrics").text, timeout=60, what="the end of the query")
        self.assertEqual(s.api("query", query="load").status, 200)

    def test_gone_before_the_answer(self):
        """Whatever was asked: reloads, writes, events."""
        s = self.serve("--remote-write-receiver", "--store", self.shop.path("samples.goodput"))
        for head in (b"POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
                     b"POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Encoding: snappy\r\nContent-Length: 1\r\n\r\n\0",
                     b"GET /api/goodput/v1/events HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /api/v1/query?query=load HTTP/1.1\r\nHost: x\r\n\r\n"):
            for wait in (0, 0.001, 0.02):
                for _ in range(10):
                    with socket.create_connection(("127.0.0.1", s.port)) as c:
                        c.sendall(head)
                        time.sleep(wait)
        s.wait(lambda: "goodput_connections 1\n" in s.ask("/metrics").text, what="the end of the connections")
        self.assertEqual(s.api("query", query="load").status, 200)

    def test_limits(self):
        s = self.serve("--query-timeout", "200ms", "--query-max-samples", "1000")
        answer = s.api("query", query="sum_over_time(vector(1)[1h:1s])")
        self.assertEqual((answer.status, answer.json["errorType"]), (422, "execution"))
        self.assertEqual(answer.json["error"], "query processing would load too many samples into memory in query execution")
        s = self.serve("--query-timeout", "300ms", "--query-max-samples", "400000000")
        answer = s.api("query", query=SLOW)
        self.assertEqual((answer.status, answer.json["errorType"]), (503, "timeout"), answer.text)

    def test_foreign_page(self):
        """A web page elsewhere cannot make a browser change anything."""
        s = self.serve()
        evil = {"Origin": "http://evil.example"}
        self.assertEqual(s.ask("/-/reload", method="POST", headers=evil).status, 403)
        self.assertEqual(s.ask("/api/goodput/v1/annotations", method="POST", headers={**evil, "Content-Type": "application/json"}, body='{"text":"x"}').status, 415)
        self.assertIsNone(s.ask("/metrics", headers=evil).headers["Access-Control-Allow-Origin"])


class Operators(Case):
    def test_auth(self):
        token = self.shop.path("token", "s3cret-token\n")
        s = self.serve("--web-token-file", token, ready=False)
        basic = "Basic " + base64.b64encode(b"grafana:s3cret-token").decode()
        for header, status in ((None, 401), ("Bearer s3cret-token", 200), ("Bearer s3cret-tokenx", 401), ("bearer s3cret-token", 200), (basic, 200),
                               ("Basic " + base64.b64encode(b"a:wrong").decode(), 401), ("Basic !!", 401), ("Bearer ", 401),
                               ("Basic " + base64.b64encode(b"s3cret-token").decode(), 401), (basic.rstrip("="), 401),
                               ("Basic " + base64.b64encode(b"a" * 2000 + b":s3cret-token").decode(), 401)):
            headers = {"Authorization": header} if header else {}
            for path in ("/api/v1/query?query=1", "/metrics", "/federate", "/api/goodput/v1/annotations"):
                self.assertEqual(s.ask(path, headers=headers).status, status, "%s %s" % (path, header))
            self.assertEqual(s.ask("/-/reload", method="POST", headers=headers).status, status)
        self.assertEqual([s.ask("/-/" + p).status for p in ("healthy", "ready")], [200, 200])
        self.assertIn("Basic", s.ask("/metrics").headers["WWW-Authenticate"])

    def test_not_open_by_chance(self):
        run = subprocess.run([daemon.PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0", self.target], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 64)
        self.assertIn("--web-token-file", run.stderr)

    def test_port_taken(self):
        s = self.serve()
        run = subprocess.run([daemon.PROGRAM, "serve", "--port", str(s.port), self.target], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(str(s.port), run.stderr)

    def test_reload_keeps_samples(self):
        sd = self.shop.path("targets.json", '[{"targets": ["%s"]}]' % self.target)
        text = ("global: {scrape_interval: 1s, evaluation_interval: 200ms}\nscrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ['%s'], refresh_interval: 1s}]\n" % sd)
        config = self.shop.path("goodput.yml", text)
        s = self.shop.goodput("--config", config)
        s.wait(lambda: s.query("load"))
        reloads, end = 0, len(s.query("load[1m]")[0]["values"]) + 3
        while len(s.query("load[1m]")[0]["values"]) < end or reloads < 10:
            self.assertEqual(s.ask("/-/reload", method="POST").status, 200)
            s.process.send_signal(signal.SIGHUP)
            reloads += 1
            time.sleep(0.1)
        # No scrape was missed but those that the daemon says a slow machine cost it; no series ended.
        skipped = int(re.search(r"^goodput_scrapes_skipped_total (\d+)", s.ask("/metrics").text, re.M).group(1))
        values = s.query("load[1m]")
        self.assertEqual(len(values), 1)
        times = [t for t, _ in values[0]["values"]]
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), 1.9 + skipped, times)
        # An error leaves what is there.
        self.shop.path("goodput.yml", text + "  nonsense: 1\n")
        answer = s.ask("/-/reload", method="POST")
        self.assertEqual(answer.status, 500)
        self.assertIn("goodput.yml:5", answer.text)
        self.assertIs(s.api("status/runtimeinfo").json["data"]["reloadConfigSuccess"], False)
        before = len(s.query("load[1m]")[0]["values"])
        s.wait(lambda: len(s.query("load[1m]")[0]["values"]) > before + 2)
        # A new label is another series; the old one ends.
        self.shop.path("goodput.yml", text + "  relabel_configs: [{target_label: team, replacement: b}]\n")
        self.assertEqual(s.ask("/-/reload", method="POST").status, 200)
        s.wait(lambda: [r["metric"].get("team") for r in s.query("load")] == ["b"], what="the new series alone")
        self.assertEqual(s.api("status/config").json["data"]["yaml"].count("relabel_configs"), 1)

    def test_targets_change(self):
        sd = self.shop.path("targets.json", '[{"targets": ["%s"]}]' % self.target)
        config = self.shop.path("goodput.yml", "global: {scrape_interval: 200ms}\nscrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ['%s'], refresh_interval: 1s}]\n" % sd)
        s = self.shop.goodput("--config", config)
        s.wait(lambda: s.query("load"))
        other = self.shop.serve_pages()
        other.pages["/metrics"] = PAGE % (7, 7)
        self.shop.path("targets.json", '[{"targets": ["127.0.0.1:%d"]}]' % other.port)
        s.wait(lambda: [r["value"][1] for r in s.query("load")] == ["7"], what="the other target alone")
        self.assertEqual(len(s.api("targets").json["data"]["activeTargets"]), 1)

    def test_dead_targets(self):
        """They are down, and nobody else waits for them."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(64)
            dead = ["127.0.0.1:%d" % daemon.free_port(), "127.0.0.1:%d" % silent.getsockname()[1]]
            s = self.serve("--timeout", "200ms", targets=[self.target, *dead])
            s.wait(lambda: len(s.query("up == 0")) == 2)
            # One after another, with a time-out of 200 ms among them, there would be two or three in a second.
            s.wait(lambda: s.value('count_over_time(load[1s])') >= 4, what="four scrapes in a second")
            targets = {t["scrapeUrl"]: t for t in s.api("targets").json["data"]["activeTargets"]}
            self.assertEqual(sorted(t["health"] for t in targets.values()), ["down", "down", "up"])
            self.assertIn("refused", targets["http://%s/metrics" % dead[0]]["lastError"])
        self.pages.pages["/metrics"] = None
        s.wait(lambda: not s.query("load"), what="stale markers")
        self.pages.pages["/metrics"] = PAGE % (5, 5)
        s.wait(lambda: s.query("load"))

    def test_end(self):
        """SIGTERM: what is quick comes out, what is not is told that it ends; exit status 0."""
        s = self.serve()
        got = {}
        thread = threading.Thread(target=lambda: got.update(a=s.api("query", query=SLOW)))
        thread.start()
        s.wait(lambda: "goodput_queries_running 1" in s.ask("/metrics").text)
        quick = socket.create_connection(("127.0.0.1", s.port), timeout=60)
        quick.sendall(b"GET /api/v1/query?query=load HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(s.end(signal.SIGTERM), 0, s.log())
        thread.join(60)
        self.assertTrue(quick.recv(65536).startswith(b"HTTP/1.1 200 "))
        quick.close()
        self.assertEqual(got["a"].json["errorType"], "canceled")

    def test_kill(self):
        """What was to be asked for a moment ago is there again."""
        store = self.shop.path("samples.goodput")
        s = self.serve("--store", store)
        time.sleep(2.5)
        last = s.query("load[1m]")[0]["values"]
        s.end(signal.SIGKILL)
        s = self.serve("--store", store)
        kept = [v for r in s.query("load[1m]") for v in r["values"]]
        missing = [v for v in last if v not in kept]
        self.assertLessEqual(len(missing), 7, "what was not committed yet: about a second")
        self.assertTrue(kept[:5] == last[:5], (kept[:5], last[:5]))

    def check(self, *args):
        run = subprocess.run([daemon.PROGRAM, *args], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.stderr, "", args)
        return json.loads(run.stdout)

    def test_check_on_its_store(self):
        """While it writes, after it was killed, and at an earlier time: read only, and the figures are those that it shows itself."""
        store = self.shop.path("samples.goodput")
        sims = [self.shop.sim("--self-traffic", "rate=5,prompt=100,output=20") for _ in range(2)]
        targets = ["127.0.0.1:%d" % sim.port for sim in sims]
        s = self.shop.goodput("--scrape-interval", "200ms", "--store", store, *targets)
        s.wait(lambda: s.value('min(count_over_time(vllm:request_success_total{finished_reason="stop"}[1m]))') >= 25, what="five seconds of samples")
        d = self.check("check", store, "--json")
        self.assertEqual(sorted(t["name"] for t in d["targets"]), sorted(targets))
        self.assertEqual(d["scopes"][0]["readings"]["running"]["targets"], [2, 2])
        self.assertNotIn("backend", d)
        self.assertGreater(d["window"]["seconds"], 2)
        query = "sum(vllm:generation_tokens_total)"
        at = int(time.time() * 1000) / 1000 - 2
        self.assertEqual(self.check("query", query, store, "--json", "--at", str(at))["data"]["result"][0]["value"][1], s.query(query, at)[0]["value"][1])
        earlier = d["window"]["to"] - 2
        self.assertLessEqual(self.check("check", store, "--json", "--at", str(earlier))["window"]["to"], earlier)
        sims[0].process.kill()
        s.wait(lambda: len(s.query("up == 0")) == 1, what="the end of one")
        s.wait(lambda: self.check("check", store, "--json")["scopes"][0]["readings"]["running"]["targets"] == [1, 2], what="the commit of that")
        self.assertTrue(self.check("check", store, "--json")["findings"])
        s.end(signal.SIGKILL)
        self.assertEqual(len(self.check("check", store, "--json")["targets"]), 2)
        run = subprocess.run([daemon.PROGRAM, "check", store, store], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 64)
        self.assertIn("two stores at once", run.stderr)
        run = subprocess.run([daemon.PROGRAM, "check", store, "--at", "2020-01-01T00:00:00Z"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((run.returncode, "store stats" in run.stderr), (3, True), run.stderr)

    def test_foreign_store(self):
        store = self.shop.path("notes.txt", "these are my notes\n" * 100)
        run = subprocess.run([daemon.PROGRAM, "serve", "--store", store, "--port", "0", self.target], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("notes.txt", run.stderr)
        with open(store, encoding="utf-8") as file:
            self.assertEqual(file.read(), "these are my notes\n" * 100)

    @unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
    def test_remote_write(self):
        """A Prometheus writes here what it scrapes; both then have the same samples, through a restart of ours."""
        store, port = self.shop.path("samples.goodput"), daemon.free_port()
        args = ["--store", store, "--remote-write-receiver", "--scrape-interval", "1h", "--port", str(port)]
        s = self.shop.goodput(*args)
        config = self.shop.path("prometheus.yml", "global: {scrape_interval: 200ms}\nscrape_configs:\n- job_name: p\n  static_configs: [{targets: ['%s']}]\n"
                                "remote_write:\n- url: %s/api/v1/write\n  queue_config: {batch_send_deadline: 200ms, min_backoff: 30ms, max_backoff: 200ms}\n" % (self.target, s.url))
        p = self.shop.prometheus(config)
        s.wait(lambda: s.query("load"))
        for number in (signal.SIGTERM, signal.SIGKILL):
            s.end(number)
            time.sleep(0.5)
            s = self.shop.goodput(*args)
            time.sleep(1)
        self.pages.pages["/metrics"] = None
        time.sleep(1.5)
        end = time.time()
        theirs = p.query("load[2m]", end)[0]["values"]
        s.wait(lambda: s.query("load[2m]", end)[0]["values"] == theirs, timeout=60, what="the same samples")
        self.assertGreater(len(theirs), 10)
        for body, headers, status in ((b"nonsense", {"Content-Encoding": "snappy"}, 400), (b"", {}, 415),
                                      (b"x", {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415)):
            self.assertEqual(s.ask("/api/v1/write", method="POST", body=body, headers=headers).status, status)
        self.assertEqual(s.ask("/api/v1/write").status, 405)

    def test_receiver_is_off(self):
        s = self.serve()
        self.assertEqual(s.ask("/api/v1/write", method="POST", body=b"x", headers={"Content-Encoding": "snappy"}).status, 404)


class Receiver:
    """Takes POSTs of JSON at any path: got[path] lists them. Its port may be silent for a while."""

    def __init__(self, port=0):
        self.got, outer = {}, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.got.setdefault(self.path, []).append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Alerts(Case):
    def configure(self, more="", expr="load > 3"):
        self.shop.path("rules.yml", "groups:\n- name: g\n  rules:\n  - {alert: High, expr: '%s', labels: {severity: page}}\n  - {alert: Noise, expr: '%s'}\n" % (expr, expr))
        return self.shop.path("goodput.yml", "global: {scrape_interval: 200ms, evaluation_interval: 200ms, external_labels: {site: s1}}\nrule_files: [rules.yml]\n%s"
                              "scrape_configs: [{job_name: a, static_configs: [{targets: ['%s']}]}]\n" % (more, self.target))

    def receiver(self, port=0):
        receiver = Receiver(port)
        self.addCleanup(receiver.close)
        return receiver

    def load(self, s, value):
        self.pages.pages["/metrics"] = PAGE % (value, value)
        s.wait(lambda: s.value("load") == value, what="the scrape")

    def test_reach_a_webhook(self):
        hook = self.receiver()
        s = self.shop.goodput("--config", self.configure(), "--webhook", "http://127.0.0.1:%d/hook" % hook.port, "--no-finding-alerts")
        self.load(s, 1)
        self.assertEqual(hook.got, {})
        self.load(s, 9)
        s.wait(lambda: {a["labels"]["alertname"] for body in hook.got["/hook"] for a in body["alerts"]} == {"High", "Noise"}, what="the alerts")
        self.load(s, 1)
        s.wait(lambda: hook.got["/hook"][-1]["status"] == "resolved", what="their end")

    def test_relabelled(self):
        manager = self.receiver()
        s = self.shop.goodput("--no-finding-alerts", "--config", self.configure("""alerting:
  alertmanagers: [{static_configs: [{targets: ["127.0.0.1:%d"]}]}]
  alert_relabel_configs:
  - {source_labels: [alertname], regex: Noise, action: drop}
  - {source_labels: [site, severity], separator: "/", target_label: route}
  - {regex: site, action: labeldrop}
""" % manager.port))
        self.assertNotIn("left out", s.log())
        self.load(s, 9)
        s.wait(lambda: manager.got["/api/v2/alerts"], what="the alert")
        labels = [a["labels"] for body in manager.got["/api/v2/alerts"] for a in body]
        self.assertEqual({(a["alertname"], a["route"], a.get("site")) for a in labels}, {("High", "s1/page", None)})
        # What the API shows are the alerts as they are.
        self.assertEqual(len(s.api("alerts").json["data"]["alerts"]), 2)

    def restarts(self, number):
        """Nobody takes what began before the end; afterwards it is told once, and not again after another restart."""
        port, store = daemon.free_port(), self.shop.path("samples.goodput")
        # A scrape that fails on a busy machine ends neither.
        args = ("--config", self.configure(expr="max_over_time(load[1h]) > 3"), "--store", store, "--webhook", "http://user:s3cret@127.0.0.1:%d/hook" % port, "--no-finding-alerts")
        s = self.shop.goodput(*args)
        self.load(s, 9)
        s.wait(lambda: os.path.exists(store + ".outbox") and open(store + ".outbox", encoding="utf-8").read().count('"waiting":true') == 2, what="what waits in the file")
        with open(store + ".outbox", encoding="utf-8") as file:
            self.assertNotIn("s3cret", file.read())
        s.end(number)
        hook = self.receiver(port)
        s = self.shop.goodput(*args)

        def told():
            return [(a["labels"]["alertname"], a["status"]) for body in hook.got.get("/hook", []) for a in body["alerts"]]
        s.wait(lambda: sorted(told()) == [("High", "firing"), ("Noise", "firing")], what="what waited")
        s.wait(lambda: open(store + ".outbox", encoding="utf-8").read().count('"waiting":false') == 2, what="that it was told, in the file")
        s.end(number)
        s = self.shop.goodput(*args)
        self.load(s, 9)
        s.wait(lambda: s.api("alerts").json["data"]["alerts"], what="the alerts again")
        s.end()
        self.assertEqual(sorted(told()), [("High", "firing"), ("Noise", "firing")], hook.got)

    def test_survive_the_end(self):
        self.restarts(signal.SIGTERM)

    def test_survive_a_kill(self):
        self.restarts(signal.SIGKILL)

    def test_damaged_outbox(self):
        store = self.shop.path("samples.goodput")
        self.shop.path("samples.goodput.outbox", '{"receivers": {"webhook-')
        s = self.shop.goodput("--store", store, "--webhook", "http://127.0.0.1:1/x", self.target)
        self.assertIn("samples.goodput.outbox", s.log())


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    daemon.side_by_side.main()
