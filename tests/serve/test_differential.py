"""The same data in goodput serve and in a real Prometheus 2.42: the same answers to generated queries and to requests for metadata.

Both scrape one page that holds two hours, with the time of each sample behind it. GOODPUT_QUERIES and GOODPUT_SEED choose how many, and which."""

import json
import math
import os
import random
import shutil
import sys
import time
import unittest

import daemon
from explain import Explainer, Unexplained, same
from queries import Generator

SEED = int(os.environ.get("GOODPUT_SEED", "20261"))
QUERIES = int(os.environ.get("GOODPUT_QUERIES", "2000"))
MOMENTS, SHOWN = int(os.environ.get("GOODPUT_MOMENTS", "200")), 40
STEP_S, POINTS = 5, 360


def make_page(start_ms):
    """Counters with resets, gauges with NaN and infinities, a histogram; series that begin late or end early."""
    r = random.Random(7)
    out = []

    def family(name, kind):
        out.append("# HELP %s What %s counts, \\\\ and \\n.\n# TYPE %s %s\n" % (name, name, name, kind))

    def samples(text, values, skip=lambda k: False):
        out.extend("%s %s %d\n" % (text, v, start_ms + k * STEP_S * 1000) for k, v in enumerate(values) if not skip(k))

    pools = [(p, c) for p in ("chat", "batch", "embed") for c in ("200", "500")]
    for name in ("requests_total", "tokens_total"):
        family(name, "counter")
        for i, (pool, code) in enumerate(pools):
            value, values = 1000.0 * i, []
            for k in range(POINTS):
                value = 0 if r.random() < 0.01 else value + r.choice((0, 0, 1, 3, 250)) + (r.random() if name[0] == "t" else 0)
                values.append(repr(value))
            samples('%s{pool="%s",code="%s"}' % (name, pool, code), values, lambda k, i=i: (i == 1 and k < 90) or (i == 4 and 120 < k < 260))
    for name in ("queue", "temperature", "odd"):
        family(name, "gauge")
        for i, pool in enumerate(("chat", "batch", "embed")):
            values = [repr(round(r.uniform(-40, 90), r.choice((0, 1, 6)))) for _ in range(POINTS)]
            if name == "odd":
                values = [r.choice(("NaN", "+Inf", "-Inf", "1e300", "0", v)) if r.random() < 0.05 else v for v in values]
            samples('%s{pool="%s"}' % (name, pool), values, lambda k, i=i: i == 2 and k % 7 == 3)
    family("latency_seconds", "histogram")
    for pool in ("chat", "batch"):
        bounds, counts, total, sums = ("0.1", "0.5", "1.0", "5.0", "+Inf"), [0] * 5, 0.0, []
        rows = {b: [] for b in bounds}
        for _ in range(POINTS):
            for _ in range(r.randrange(6)):
                v = r.expovariate(1.5)
                total += v
                for j, b in enumerate((0.1, 0.5, 1, 5, math.inf)):
                    counts[j] += v <= b
            for j, b in enumerate(bounds):
                rows[b].append(counts[j])
            sums.append(repr(total))
        for b in bounds:
            samples('latency_seconds_bucket{pool="%s",le="%s"}' % (pool, b), rows[b])
        samples('latency_seconds_sum{pool="%s"}' % pool, sums)
        samples('latency_seconds_count{pool="%s"}' % pool, rows["+Inf"])
    return "".join(out)


# 3.x writes le of a scrape as a float; 2.42 keeps the text.
def normal_labels(labels):
    return tuple(sorted((k, "%s.0" % v if k == "le" and v.isdigit() else v) for k, v in labels.items()))


def points(result):
    """{labels: [(t, v)]} of any result."""
    if result["resultType"] == "scalar":
        return {(): [tuple(result["result"])]}
    return {normal_labels(e["metric"]): [tuple(p) for p in (e["values"] if "values" in e else [e["value"]])] for e in result["result"]}


def differ(ours, theirs):
    """Why two results are not the same, or None."""
    a, b = points(ours), points(theirs)
    if ours["resultType"] != theirs["resultType"]:
        return "types"
    if set(a) != set(b):
        return "series: only ours %s, only theirs %s" % (sorted(set(a) - set(b))[:3], sorted(set(b) - set(a))[:3])
    for key in a:
        if [p[0] for p in a[key]] != [p[0] for p in b[key]]:
            return "times of %s" % (key,)
        for (t, x), (_, y) in zip(a[key], b[key]):
            if not same(x, y):
                return "%s at %s: ours %s, theirs %s" % (key, t, x, y)
    return None


@unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
class Differential(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shop = daemon.Workshop()
        try:
            cls.start()
        except BaseException:
            cls.shop.close()
            raise

    @classmethod
    def start(cls):
        pages = cls.shop.serve_pages()
        cls.end_ms = (int(time.time()) // STEP_S * STEP_S - 60) * 1000 + 777  # subqueries look at whole seconds
        cls.start_ms = cls.end_ms - (POINTS - 1) * STEP_S * 1000
        pages.pages["/metrics"] = make_page(cls.start_ms)
        cls.shop.path("rules.yml", "groups:\n- name: g\n  interval: 1s\n  rules:\n  - {record: 'pool:up:sum', expr: sum by (job) (up), labels: {a: b}}\n"
                      "  - alert: Up\n    expr: up == 1\n    for: 0s\n    labels: {severity: page}\n"
                      "    annotations: {summary: 'of {{ $labels.job }}: {{ $value }}'}\n"
                      "  - {alert: Never, expr: up > 2, for: 1m}\n  - {alert: Waits, expr: up, for: 1h}\n")
        config = cls.shop.path("prometheus.yml", "global: {scrape_interval: 1h}\nrule_files: [rules.yml]\nscrape_configs:\n- job_name: page\n  scrape_interval: 1s\n"
                               "  static_configs: [{targets: ['127.0.0.1:%d'], labels: {team: a}}]\n" % pages.port)
        cls.theirs = cls.shop.prometheus(config)
        cls.ours = cls.shop.goodput("--config", config, "--no-finding-alerts")
        for server in (cls.theirs, cls.ours):
            server.wait(lambda s=server: s.query("count(queue)", cls.end_ms / 1000), what="the page")
            server.wait(lambda s=server: s.query('ALERTS{alertstate="firing"}') and s.query('ALERTS{alertstate="pending"}'), what="the alerts")

    @classmethod
    def tearDownClass(cls):
        cls.shop.close()

    def both(self, path, method="GET", **params):
        return self.ours.api(path, method, **params), self.theirs.api(path, method, **params)

    def moment(self, r):
        """Not whole seconds away from a sample."""
        return (r.randrange(self.start_ms - 60000, self.end_ms + 400000, 1000) + 234) / 1000

    @staticmethod
    def asker(server, params):
        """For the explainer: an expression at a time, asked as the whole was: as a step of the same range where it is one."""
        known = {}

        def answer(path, **more):
            got = server.api(path, "POST", **more)
            if got.status != 200:
                raise Unexplained("%s: %s" % (more["query"][:2000], got.text[:300]))
            return got.json["data"]

        def ask(text, t):
            steps = round((t - params["start"]) / params["step"]) if "start" in params else -1
            if "start" in params and t <= params["end"] and abs(params["start"] + steps * params["step"] - t) < 1e-4:
                if text not in known:
                    known[text] = answer("query_range", **dict(params, query=text))["result"]
                return [(e["metric"], v) for e in known[text] for at, v in e["values"] if abs(at - t) < 1e-4]
            data = answer("query", query=text, time=t)
            return [({}, data["result"][1])] if data["resultType"] == "scalar" else [(e["metric"], e["value"][1]) for e in data["result"]]
        return ask

    def samples(self, text, t):
        data = self.theirs.api("query", "POST", query=text, time=t).json["data"]["result"]
        return [(e["metric"], [(at, float(v)) for at, v in e["values"]]) for e in data]

    def explained(self, node, params, ours, theirs):
        """The names of the differences at the times where the results differ; at most MOMENTS of a query are looked into."""
        a, b = points(ours), points(theirs)
        times = sorted({t for key in set(a) | set(b) for t, _ in set(a.get(key, [])) ^ set(b.get(key, []))})
        explainer = Explainer(self.asker(self.ours, params), self.asker(self.theirs, params), self.samples)
        for t in times if len(times) <= MOMENTS else random.Random(SEED).sample(times, MOMENTS):
            explainer.explain(node, t)
        return explainer.names()

    def test_queries(self):
        r, g = random.Random(SEED), Generator(SEED)
        agreed, named, bad = 0, {}, []
        for i in range(QUERIES):
            node = g.query()
            query = str(node)
            if i % 2:
                start = self.moment(r)
                params = {"query": query, "start": start, "end": start + r.choice((30, 300, 1000)), "step": r.choice((7, 15, 61))}
                path = "query_range"
            else:
                params, path = {"query": query, "time": self.moment(r)}, "query"
            ours, theirs = self.both(path, "POST", **params)
            if ours.status != 200 or theirs.status != 200:
                why = None if ours.status == theirs.status else "ours %s, theirs %s" % (ours.text[:300], theirs.text[:300])
                if why:
                    bad.append("%s %s\n    %s" % (path, params, why))
                else:
                    agreed += 1
                continue
            why = differ(ours.json["data"], theirs.json["data"])
            if not why:
                agreed += 1
                continue
            try:
                for name in self.explained(node, params, ours.json["data"], theirs.json["data"]):
                    named[name] = named.get(name, 0) + 1
                    break
                else:
                    bad.append("%s %s\n    %s\n    but its parts agree" % (path, params, why))
            except Unexplained as problem:
                bad.append("%s %s\n    %s\n    %s" % (path, params, why, problem))
        print("seed %d: %d of %d queries agree; known differences: %s" % (SEED, agreed, QUERIES, named or "none"), file=sys.stderr)
        self.assertFalse(bad, "%d differ:\n%s" % (len(bad), "\n".join(bad[:SHOWN])))
        self.assertEqual(agreed + sum(named.values()), QUERIES)
        self.assertLess(sum(named.values()), QUERIES * 0.1)

    def test_metadata(self):
        for path, params in [
                ("series", {"match": 'queue{pool="chat"}'}), ("series", {"match": ["queue", 'tokens_total{code="500"}']}),
                ("series", {"match": "nothing"}), ("labels", {"match": "requests_total"}), ("labels", {}),
                ("label/pool/values", {}), ("label/code/values", {"match": 'requests_total{pool="chat"}'}),
                ("label/nothing/values", {}), ("label/__name__/values", {}),
                ("metadata", {"metric": "queue"}), ("metadata", {}), ("metadata", {"metric": "nothing"}),
                ("query_exemplars", {"query": "queue", "start": self.start_ms / 1000, "end": self.end_ms / 1000}),
                ("targets/metadata", {"metric": "tokens_total"})]:
            with self.subTest(path=path, params=params):
                ours, theirs = self.both(path, **params)
                self.assertEqual((ours.status, ours.headers["Content-Type"]), (theirs.status, theirs.headers["Content-Type"]))
                a, b = ours.json, theirs.json
                if path == "series":
                    a["data"], b["data"] = (sorted(normal_labels(x) for x in d["data"]) for d in (a, b))
                self.assertEqual(a, b)

    def test_targets(self):
        def plain(answer):
            for t in answer.json["data"]["activeTargets"]:
                for key in ("lastScrape", "lastScrapeDuration", "globalUrl"):
                    self.assertIn(key, t)
                    t.pop(key)
                yield t
        for state in ("active", "any", "dropped"):
            ours, theirs = self.both("targets", state=state)
            self.assertEqual(list(plain(ours)), list(plain(theirs)))
            self.assertEqual(ours.json["data"]["droppedTargets"], theirs.json["data"]["droppedTargets"])

    def test_rules(self):
        def plain(value):
            """Without times, which differ, but with their places."""
            if isinstance(value, dict):
                return {k: "time" if k in ("evaluationTime", "lastEvaluation", "activeAt") else plain(v) for k, v in value.items()}
            return [plain(v) for v in value] if isinstance(value, list) else value
        for path, params in (("rules", {}), ("rules", {"type": "alert"}), ("rules", {"type": "record"}), ("rules", {"type": "x"}), ("alerts", {})):
            ours, theirs = self.both(path, **params)
            a, b = plain(ours.json), plain(theirs.json)
            if path == "alerts" and a["status"] == "success":
                a["data"]["alerts"], b["data"]["alerts"] = (sorted(x["data"]["alerts"], key=str) for x in (a, b))
            with self.subTest(path=path, params=params):
                self.assertEqual(ours.status, theirs.status)
                self.assertEqual(a, b)

    def test_errors(self):
        """Statuses, types and texts."""
        now = self.end_ms / 1000
        for path, params in [
                ("query", {"query": "sum("}), ("query", {"query": ""}), ("query", {}), ("query", {"query": "up", "time": "yesterday"}),
                ("query", {"query": "up", "timeout": "x"}), ("query", {"query": "foo{a=b}"}), ("query", {"query": "1 +"}),
                ("query", {"query": "rate(up)"}), ("query", {"query": "queue * on (team) group_left () tokens_total"}),
                ("query_range", {"query": "up"}), ("query_range", {"query": "up", "start": now, "end": now - 1, "step": 1}),
                ("query_range", {"query": "up", "start": now, "end": now, "step": 0}),
                ("query_range", {"query": "up", "start": now, "end": now, "step": "-1"}),
                ("query_range", {"query": "up", "start": now - 100000, "end": now, "step": 1}),
                ("query_range", {"query": "up[1m]", "start": now, "end": now, "step": 1}),
                ("query_range", {"query": '"x"', "start": now, "end": now, "step": 1}),
                ("query_range", {"query": "up", "start": now, "end": now, "step": "x"}),
                ("series", {}), ("series", {"match": "up["}), ("series", {"match": "up", "start": "x"}), ("label/0bad/values", {}),
                ("labels", {"match": "{}"}), ("nothing", {})]:
            with self.subTest(path=path, params=params):
                ours, theirs = self.both(path, **params)
                self.assertEqual(ours.status, theirs.status, ours.text + theirs.text)
                if theirs.headers["Content-Type"] != "application/json":
                    self.assertEqual(ours.text, theirs.text)
                    continue
                a, b = ours.json, theirs.json
                self.assertEqual((a["status"], a["errorType"]), (b["status"], b["errorType"]))
                self.assertEqual(self.text_key(a["error"]), self.text_key(b["error"]))

    @staticmethod
    def text_key(text):
        """Messages of parse errors are worded by each parser; what comes before, and all others, must be equal."""
        if "duplicate series" in text:
            return text.split(":")[0][:45]  # which pair is named is not promised
        return text.split("parse error")[0].rsplit(":", 3)[0] if "parse error" in text else text

    def test_federate(self):
        def lines(server):
            answer = server.ask("/federate", {"match[]": ['{__name__=~"queue|requests_total"}', "odd"]})
            self.assertEqual(answer.status, 200)
            return sorted(answer.text.splitlines())
        self.assertEqual(lines(self.ours), lines(self.theirs))

    def test_formatted(self):
        for query in ("sum(queue)by(pool)", "rate(tokens_total[5m])>2", "-queue", 'label_replace(up,"a","b","c","d")'):
            ours, theirs = self.both("format_query", query=query)
            self.assertEqual(ours.json, theirs.json)

    def test_methods(self):
        for method in ("HEAD", "PUT", "DELETE"):
            ours, theirs = (s.ask("/api/v1/query?query=1", method=method) for s in (self.ours, self.theirs))
            self.assertEqual(ours.status, theirs.status, method)
        ours, theirs = (s.ask("/api/v1/query", method="OPTIONS", headers={"Origin": "http://grafana"}) for s in (self.ours, self.theirs))
        self.assertEqual(ours.status, theirs.status)
        for name in ("Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"):
            self.assertEqual(ours.headers[name], theirs.headers[name])

    def test_shapes(self):
        """Bytes, not only values: how numbers and times are written."""
        for query, at in (("1+1", 4), ("1/3", 1.5), ("1e21", 1), ("1e-7", 1), ("-1/0", 1), ("0/0", 1), ('"x"', 2), ("vector(1e20)", 3)):
            ours, theirs = self.both("query", query=query, time=at)
            self.assertEqual(ours.text, theirs.text.strip(), json.dumps(query))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
