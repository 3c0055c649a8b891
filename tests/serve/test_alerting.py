#!/usr/bin/env python3
"""Rules and alerts end to end: a Prometheus 2.42 and goodput serve scrape one page, evaluate one rule file and tell one Alertmanager. What they
record, what their APIs show and what they tell must be the same, but for times within a second or two."""

import datetime
import http.server
import json
import shutil
import threading
import time
import unittest

from daemon import Workshop

RULES = """
groups:
- name: live
  interval: 1s
  rules:
  - record: job:load:sum
    expr: sum by (job) (load)
    labels: {team: x}
  - record: job:load:double
    expr: job:load:sum*2
  - alert: High
    expr: load > 5
    for: 3s
    keep_firing_for: 2s
    labels: {severity: page, place: "{{ $labels.pod }}-{{ $externalLabels.cluster }}"}
    annotations: {summary: "{{ $labels.pod }} has {{ $value | humanize }}", sum: '{{ with query "job:load:sum" }}{{ len . }}{{ end }}'}
  - alert: Gone
    expr: absent(load{pod="b"})
    annotations: {summary: "no {{ $labels.pod }}"}
  - alert: Never
    expr: load > 100
    for: 1h
"""
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s, external_labels: {{cluster: c1}}}}
rule_files: [rules.yml]
alerting:
  alertmanagers:
  - path_prefix: /{who}
    static_configs: [{{targets: ["127.0.0.1:{alertmanager}"]}}]
scrape_configs:
- job_name: app
  static_configs: [{{targets: ["127.0.0.1:{pages}"]}}]
"""
SLACK_S = 3.0


def page(second):
    """The load of two pods over time: a is high from 3 to 13, b is there from 5 to 9.5."""
    lines = ["# TYPE load gauge", 'load{pod="a"} %d' % (9 if 3 <= second < 13 else 1)]
    if 5 <= second < 9.5:
        lines.append('load{pod="b"} 2')
    return "\n".join(lines) + "\n"


class Alertmanager:
    """Keeps what it is told at /WHO/api/v2/alerts."""

    def __init__(self):
        self.told = {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.told.setdefault(self.path, []).extend(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def seconds(text):
    """RFC 3339; the fraction has as many digits as the writer liked."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    at = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return at.timestamp() + float("0." + (fraction or "0"))


def shape(groups):
    """What does not change from one evaluation to the next."""
    for group in groups:
        for key in ("evaluationTime", "lastEvaluation", "file"):
            group.pop(key)
        for rule in group["rules"]:
            rule.pop("evaluationTime")
            rule.pop("lastEvaluation")
            for alert in rule.get("alerts", []):
                alert.pop("activeAt")
    return groups


def by_labels(told):
    """{labels: [alert]} as told."""
    out = {}
    for alert in told:
        out.setdefault(json.dumps(alert["labels"], sort_keys=True), []).append(alert)
    return out


@unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
class AlertingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shop = Workshop()
        cls.addClassCleanup(cls.shop.close)
        cls.alertmanager = Alertmanager()
        cls.addClassCleanup(cls.alertmanager.close)
        pages = cls.shop.serve_pages()
        pages.pages["/metrics"] = page(0)
        cls.shop.path("rules.yml", RULES)
        configs = [cls.shop.path(who + ".yml", CONFIG.format(who=who, alertmanager=cls.alertmanager.port, pages=pages.port))
            for who in ("theirs", "ours")]
        cls.theirs = cls.shop.prometheus(configs[0], "--rules.alert.resend-delay=1m")
        cls.ours = cls.shop.goodput("--config", configs[1], "--no-finding-alerts")
        for server in (cls.theirs, cls.ours):
            server.wait(lambda s=server: s.query("job:load:double"), what="the first recorded sample")
        cls.start, cls.shapes = time.time(), {"theirs": {}, "ours": {}}
        # What both show is compared when a phase has lasted longer than a scrape, an evaluation and the waits of the rules.
        while (second := time.time() - cls.start) < 21:
            pages.pages["/metrics"] = page(second)
            for at in (2, 8.5, 12, 20):
                if at <= second < at + 0.3:
                    for who, server in (("theirs", cls.theirs), ("ours", cls.ours)):
                        cls.shapes[who][at] = shape(server.api("rules").json["data"]["groups"])
            time.sleep(0.1)

    def test_the_api_shows_the_same_rules(self):
        for at, theirs in self.shapes["theirs"].items():
            ours = self.shapes["ours"][at]
            self.assertEqual(theirs, ours, f"after {at} s")
        states = {at: groups[0]["rules"][2]["state"] for at, groups in self.shapes["ours"].items()}
        self.assertEqual((states[2], states[8.5], states[20]), ("inactive", "firing", "inactive"))

    def ranges(self, server, query):
        data = server.api("query_range", query=query, start=self.start, end=self.start + 21, step=1).json["data"]["result"]
        return {json.dumps(s["metric"], sort_keys=True): s["values"] for s in data}

    def test_the_same_series_are_recorded(self):
        for query in ("job:load:sum", "job:load:double", "ALERTS", "ALERTS_FOR_STATE"):
            theirs, ours = self.ranges(self.theirs, query), self.ranges(self.ours, query)
            if query == "ALERTS":
                # Prometheus writes none before it has restored; a pending alert of two evaluations may fall between steps.
                theirs = {k: v for k, v in theirs.items() if len(v) > 2}
                ours = {k: v for k, v in ours.items() if len(v) > 2}
            self.assertEqual(sorted(theirs), sorted(ours), query)
            for labels, values in theirs.items():
                self.assertLessEqual(abs(len(values) - len(ours[labels])), SLACK_S, (query, labels))
                if query.startswith("job"):
                    self.assertEqual({v for _, v in values}, {v for _, v in ours[labels]}, labels)

    def test_the_same_is_told(self):
        theirs, ours = (by_labels(self.alertmanager.told.get(f"/{who}/api/v2/alerts", [])) for who in ("theirs", "ours"))
        self.assertEqual(sorted(theirs), sorted(ours))
        self.assertEqual(len(theirs), 2)
        for labels, alerts in theirs.items():
            mine = ours[labels]
            self.assertEqual(alerts[-1]["annotations"], mine[-1]["annotations"])
            self.assertEqual(alerts[-1]["generatorURL"].split("/graph")[1], mine[-1]["generatorURL"].split("/graph")[1])
            self.assertLess(abs(seconds(alerts[-1]["startsAt"]) - seconds(mine[-1]["startsAt"])), SLACK_S, labels)
            over = [a for a in alerts if seconds(a["endsAt"]) < time.time()]
            mine_over = [a for a in mine if seconds(a["endsAt"]) < time.time()]
            self.assertEqual(bool(over), bool(mine_over), labels)
            if over:
                self.assertLess(abs(seconds(over[0]["endsAt"]) - seconds(mine_over[0]["endsAt"])), SLACK_S, labels)

    def test_alerts_are_listed_alike(self):
        def listed(server):
            return [{k: v for k, v in a.items() if k != "activeAt"} for a in server.api("alerts").json["data"]["alerts"]]
        self.assertEqual(listed(self.theirs), listed(self.ours))


if __name__ == "__main__":
    unittest.main()
