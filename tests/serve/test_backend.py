#!/usr/bin/env python3
"""serve --prometheus: signals, findings and alerts on what an existing engine has; queries go on to it; it is asked only so often."""

import http.server
import json
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import daemon

SIM = ("--self-traffic", "rate=5,prompt=100,output=20")


def figure(server, name):
    """Of its own page, with labels if given: "name{a="b"}"; None when it is not there."""
    found = re.search(r"(?m)^%s (\S+)$" % re.escape(name), server.ask("/metrics").text)
    return float(found.group(1)) if found else None


class Spy:
    """In front of an engine: counts what is asked, and can be silent."""

    def __init__(self, to):
        self.asked, self.silent, outer = [], False, self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                outer.asked.append((time.time(), self.command, self.path, dict(self.headers)))
                if outer.silent:
                    self.close_connection = True
                    return
                keep = {k: v for k, v in self.headers.items() if k in ("Content-Type",)}
                try:
                    answer = to.ask(self.path, method=self.command, headers=keep, body=body)
                except OSError:  # the engine has ended
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    def setUp(self):
        self.shop = daemon.Workshop()
        self.addCleanup(self.shop.close)

    def spy(self, engine):
        spy = Spy(engine)
        self.addCleanup(spy.close)
        return spy

    def prometheus(self, *targets):
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed")
        config = self.shop.path("prometheus.yml", "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n- job_name: llm\n"
                                "  static_configs: [{targets: %s, labels: {zone: x}}]\n" % json.dumps(["127.0.0.1:%d" % t.port for t in targets]))
        server = self.shop.prometheus(config)
        server.wait(lambda: len(server.query('vllm:num_requests_running')) == len(targets), what="its scrapes")
        return server

    def victoria(self, *targets):
        if not shutil.which("victoria-metrics"):
            self.skipTest("victoria-metrics is not installed")
        port = daemon.free_port()
        config = self.shop.path("vm.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: llm\n"
                                "  static_configs: [{targets: %s, labels: {zone: x}}]\n" % json.dumps(["127.0.0.1:%d" % t.port for t in targets]))
        server = self.shop.start(["victoria-metrics", "-httpListenAddr=127.0.0.1:%d" % port, "-storageDataPath=" + self.shop.path("vm"), "-retentionPeriod=1",
                                  "-loggerLevel=ERROR", "-promscrape.config=" + config, "-search.latencyOffset=0s"], port)
        server.wait(lambda: len(server.query('vllm:num_requests_running')) == len(targets), what="its scrapes")
        return server

    def watch(self, url, *args):
        return self.shop.goodput("--prometheus", url, "--evaluation-interval", "500ms", "--backend-requests", "2000", *args)

    def report(self, s, what="readings"):
        s.wait(lambda: s.ask("/api/goodput/v1/" + what).status == 200, what="a report")
        return s.ask("/api/goodput/v1/" + what).json["data"]


class Engines(Case):
    def signals(self, engine, *sims):
        """What is seen through the engine is what the simulators do; a fault becomes a finding and an alert."""
        s = self.watch(engine.url)
        s.wait(lambda: self.report(s)["scopes"][0]["readings"]["finished"].get("value", 0) > 3, what="requests that finished")
        data = self.report(s)
        self.assertEqual(sorted(t["name"] for t in self.report(s, "coverage")["targets"]), sorted("127.0.0.1:%d" % sim.port for sim in sims))
        self.assertEqual(data["scopes"][0]["readings"]["running"]["targets"], [len(sims)] * 2)
        self.assertEqual(s.ask("/api/v1/targets").json["data"]["activeTargets"][0]["labels"]["zone"], "x")
        self.assertEqual(figure(s, "goodput_targets"), len(sims))
        # Its own queries are the engine's.
        query = 'sum by (job) (vllm:num_requests_running) or label_replace(vector(1), "a", "b", "", "")'
        at = int(time.time()) - 1
        self.assertEqual(s.api("query", query=query, time=at).json["data"], engine.api("query", query=query, time=at).json["data"])
        form = {"query": "vllm:generation_tokens_total", "start": at - 3, "end": at, "step": 1}
        self.assertEqual(s.ask("/api/v1/query_range", form, "POST").json["data"], engine.ask("/api/v1/query_range", form, "POST").json["data"])
        for path in ("series", "labels", "label/zone/values"):
            ours, theirs = (x.api(path, match='{job="llm"}', start=at - 60, end=at).json["data"] for x in (s, engine))
            self.assertEqual(ours, theirs, path)
        self.assertEqual(s.api("query", query="sum(").status, engine.api("query", query="sum(").status)
        sims[0].process.kill()
        s.wait(lambda: [f for f in self.report(s, "findings")["findings"] if f["now"]], what="a finding")
        s.wait(lambda: s.api("alerts").json["data"]["alerts"], what="an alert")

    def test_prometheus(self):
        sims = [self.shop.sim(*SIM) for _ in range(2)]
        self.signals(self.prometheus(*sims), *sims)

    def test_victoria_metrics(self):
        sims = [self.shop.sim(*SIM) for _ in range(2)]
        self.signals(self.victoria(*sims), *sims)


class Rollout(Case):
    def test_targets_come_and_go(self):
        """As in a rollout: who is scraped no more is no target any more, and that raises nothing."""
        if not shutil.which("prometheus"):
            self.skipTest("prometheus is not installed")
        sims = [self.shop.sim(*SIM) for _ in range(3)]
        names = ["127.0.0.1:%d" % sim.port for sim in sims]
        targets = self.shop.path("targets.json", json.dumps([{"targets": names[:2]}]))
        engine = self.shop.prometheus(self.shop.path("prometheus.yml", "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n"
            "- {job_name: llm, file_sd_configs: [{files: ['%s'], refresh_interval: 1s}]}\n" % targets))
        engine.wait(lambda: len(engine.query("vllm:num_requests_running")) == 2, what="its scrapes")
        s = self.watch(engine.url)

        def seen():
            return sorted(t["labels"]["instance"] for t in s.api("targets").json["data"]["activeTargets"])
        s.wait(lambda: seen() == sorted(names[:2]), what="both")
        self.shop.path("targets.json", json.dumps([{"targets": names[1:]}]))
        sims[0].process.kill()
        s.wait(lambda: seen() == sorted(names[1:]), what="the new one in place of the old")
        s.wait(lambda: self.report(s)["scopes"][0]["readings"]["running"]["targets"] == [2, 2], what="the new fleet's readings")
        self.assertEqual([a["labels"]["alertname"] for a in s.api("alerts").json["data"]["alerts"] if a["state"] == "firing"], [])


class Bounds(Case):
    def test_match_and_rules(self):
        sims = [self.shop.sim(*SIM) for _ in range(2)]
        engine = self.prometheus(*sims)
        self.shop.path("rules.yml", "groups:\n- name: g\n  rules:\n  - {record: r, expr: count(up)}\n  - {alert: Up, expr: count(up) > 1, annotations: {n: '{{ $value }}'}}\n")
        config = self.shop.path("goodput.yml", "global: {evaluation_interval: 300ms}\nrule_files: [rules.yml]\n")
        s = self.watch(engine.url, "--config", config, "--match", '{instance="127.0.0.1:%d"}' % sims[0].port, "--no-finding-alerts")
        s.wait(lambda: figure(s, "goodput_targets") == 1, what="the one that matches")
        s.wait(lambda: s.api("alerts").json["data"]["alerts"], what="the alert")
        # The rules see all of it.
        self.assertEqual(s.api("alerts").json["data"]["alerts"][0]["annotations"], {"n": "2"})
        self.assertGreater(figure(s, 'goodput_backend_requests_total{purpose="rules"}'), 0)

    def test_load(self):
        """Never more than so many requests a minute, whatever clients do; a part is for the signals."""
        spy = self.spy(self.prometheus(self.shop.sim(*SIM)))
        s = self.shop.goodput("--prometheus", spy.url, "--evaluation-interval", "1s", "--backend-requests", "60")
        self.report(s)
        statuses = [s.api("query", query="up").status for _ in range(80)]
        self.assertEqual(set(statuses), {200, 503})
        self.assertIn("asked 45 times in a minute", s.api("query", query="up").json["error"])
        s.wait(lambda: figure(s, 'goodput_backend_refused_total{purpose="signals"}') > 0, what="the end of what is allowed")
        s.wait(lambda: sum(figure(s, 'goodput_backend_requests_total{purpose="%s"}' % p) for p in ("signals", "rules", "api")) == len(spy.asked),
               what="as many as arrived")
        # One call more may be on its way in parts when the last is taken.
        times = sorted(t for t, *_ in spy.asked)
        self.assertLessEqual(max(sum(1 for t in times if begin <= t < begin + 59) for begin in times), 62)
        self.assertGreater(figure(s, "goodput_backend_requests_per_minute_limit"), 0)

    def test_away_and_back(self):
        spy = self.spy(self.prometheus(self.shop.sim(*SIM)))
        s = self.watch(spy.url, "--timeout", "2s")
        self.report(s)
        spy.silent = True
        s.wait(lambda: [a for a in s.api("alerts").json["data"]["alerts"] if a["labels"]["alertname"] == "watcher-blind"], what="the alert that nothing is seen")
        self.assertEqual(figure(s, "goodput_backend_up"), 0)
        self.assertEqual(s.api("query", query="up").status, 502)
        spy.silent = False
        s.wait(lambda: figure(s, "goodput_backend_up") == 1, what="its return")
        s.wait(lambda: s.api("query", query="up").status == 200, what="queries")

    def test_not_there_at_first(self):
        port = daemon.free_port()
        s = self.watch("http://127.0.0.1:%d" % port)
        self.assertIn("asked again", s.log())
        self.assertEqual(s.ask("/-/ready").status, 200)
        self.assertEqual(s.api("query", query="up").status, 502)

    def test_credentials(self):
        spy = self.spy(self.prometheus(self.shop.sim(*SIM)))
        s = self.watch(spy.url, "--bearer-token-file", self.shop.path("token", "s3cret\n"), "--tenant", "t1", "--web-token-file", self.shop.path("web", "other\n"))
        self.assertEqual(s.api("query", query="up").status, 401)
        answer = s.ask("/api/v1/query", {"query": "up"}, headers={"Authorization": "Bearer other"})
        self.assertEqual(answer.status, 200)
        self.assertEqual({h.get("Authorization") for _, _, _, h in spy.asked}, {"Bearer s3cret"})
        self.assertEqual({h.get("X-Scope-OrgID") or h.get("X-Scope-Orgid") for _, _, _, h in spy.asked}, {"t1"})

    def test_wrong_options(self):
        for args, status, word in ((("--prometheus", "http://127.0.0.1:1", "x:1"), 64, "at once"), (("--match", "{a=1}", "x:1"), 64, "--prometheus"),
                                   (("--prometheus", "http://127.0.0.1:1", "--match", "{job="), 65, "match")):
            run = subprocess.run([daemon.PROGRAM, "serve", "--port", "0", *args], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(run.returncode, status, run.stderr)
            self.assertIn(word, run.stderr)

    def test_end(self):
        spy = self.spy(self.prometheus(self.shop.sim(*SIM)))
        s = self.watch(spy.url)
        self.report(s)
        self.assertEqual(s.end(signal.SIGTERM), 0)
        self.assertRegex(s.log(), r"\d+ requests were made")


if __name__ == "__main__":
    daemon.side_by_side.main()
