"""goodput serve from outside: what clients of a Prometheus do, what bad clients do, and what its operators do to it."""

import base64
import gzip
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

    def raw(self, server, data, timeout=10, wait=0.0):
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
        run = subprocess.run(["promtool", *args], capture_output=True, text=True, timeout=30, check=False)
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
        check = subprocess.run(["promtool", "check", "metrics"], input=s.ask("/metrics").text, capture_output=True, text=True, timeout=30, check=False)
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
        with socket.create_connection(("127.0.0.1", s.port), timeout=10) as c:
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
        begin = time.time()
        for _ in range(20):
            self.assertEqual(s.api("query", query="load").status, 200)
        self.assertLess(time.time() - begin, 5)
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
        s.wait(lambda: "goodput_queries_running 0" in s.ask("/metrics").text, timeout=10, what="the end of the query")
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
                               ("Basic " + base64.b64encode(b"a:wrong").decode(), 401), ("Basic !!", 401), ("Bearer ", 401)):
            headers = {"Authorization": header} if header else {}
            for path in ("/api/v1/query?query=1", "/metrics", "/federate", "/api/goodput/v1/annotations"):
                self.assertEqual(s.ask(path, headers=headers).status, status, "%s %s" % (path, header))
            self.assertEqual(s.ask("/-/reload", method="POST", headers=headers).status, status)
        self.assertEqual([s.ask("/-/" + p).status for p in ("healthy", "ready")], [200, 200])
        self.assertIn("Basic", s.ask("/metrics").headers["WWW-Authenticate"])

    def test_not_open_by_chance(self):
        run = subprocess.run([daemon.PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0", self.target], capture_output=True, text=True, timeout=20, check=False)
        self.assertEqual(run.returncode, 64)
        self.assertIn("--web-token-file", run.stderr)

    def test_port_taken(self):
        s = self.serve()
        run = subprocess.run([daemon.PROGRAM, "serve", "--port", str(s.port), self.target], capture_output=True, text=True, timeout=20, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(str(s.port), run.stderr)

    def test_reload_keeps_samples(self):
        sd = self.shop.path("targets.json", '[{"targets": ["%s"]}]' % self.target)
        text = ("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nscrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ['%s'], refresh_interval: 1s}]\n" % sd)
        config = self.shop.path("goodput.yml", text)
        s = self.shop.goodput("--config", config)
        s.wait(lambda: s.query("load"))
        for _ in range(5):
            self.assertEqual(s.ask("/-/reload", method="POST").status, 200)
            s.process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        # No scrape was missed, no series ended: at most two intervals lie between two samples.
        values = s.query("load[1m]")
        self.assertEqual(len(values), 1)
        times = [t for t, _ in values[0]["values"]]
        self.assertLess(max(b - a for a, b in zip(times, times[1:])), 0.45, times)
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
            time.sleep(1)
            self.assertGreaterEqual(s.value('count_over_time(load[1s])'), 3)
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
        quick = socket.create_connection(("127.0.0.1", s.port), timeout=10)
        quick.sendall(b"GET /api/v1/query?query=load HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(s.end(signal.SIGTERM, 10), 0, s.log())
        thread.join(10)
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

    def test_foreign_store(self):
        store = self.shop.path("notes.txt", "these are my notes\n" * 100)
        run = subprocess.run([daemon.PROGRAM, "serve", "--store", store, "--port", "0", self.target], capture_output=True, text=True, timeout=20, check=False)
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
        s.wait(lambda: s.query("load[2m]", end)[0]["values"] == theirs, timeout=15, what="the same samples")
        self.assertGreater(len(theirs), 10)
        for body, headers, status in ((b"nonsense", {"Content-Encoding": "snappy"}, 400), (b"", {}, 415),
                                      (b"x", {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415)):
            self.assertEqual(s.ask("/api/v1/write", method="POST", body=body, headers=headers).status, status)
        self.assertEqual(s.ask("/api/v1/write").status, 405)

    def test_receiver_is_off(self):
        s = self.serve()
        self.assertEqual(s.ask("/api/v1/write", method="POST", body=b"x", headers={"Content-Encoding": "snappy"}).status, 404)

    def test_alerts_reach_a_webhook(self):
        got = []
        hook = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(hook.close)

        def take():
            while True:
                try:
                    c, _ = hook.accept()
                except OSError:
                    return
                with c:
                    data = b""
                    while b"\r\n\r\n" not in data:
                        data += c.recv(65536)
                    head, body = data.split(b"\r\n\r\n", 1)
                    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
                    while len(body) < length:
                        body += c.recv(65536)
                    got.append(json.loads(body))
                    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        threading.Thread(target=take, daemon=True).start()
        self.shop.path("rules.yml", "groups:\n- name: g\n  rules:\n  - {alert: High, expr: load > 3, labels: {severity: page}}\n")
        config = self.shop.path("goodput.yml", "global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nrule_files: [rules.yml]\n"
                                "scrape_configs: [{job_name: a, static_configs: [{targets: ['%s']}]}]\n" % self.target)
        s = self.shop.goodput("--config", config, "--webhook", "http://127.0.0.1:%d/hook" % hook.getsockname()[1], "--no-finding-alerts")
        s.wait(lambda: s.query("load"))
        self.assertEqual(got, [])
        self.pages.pages["/metrics"] = PAGE % (9, 9)
        s.wait(lambda: got, what="the alert")
        self.assertEqual(got[0]["alerts"][0]["labels"]["alertname"], "High")
        self.pages.pages["/metrics"] = PAGE % (1, 9)
        s.wait(lambda: got[-1]["status"] == "resolved", what="its end")


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    unittest.main()
