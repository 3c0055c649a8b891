"""Generated PromQL, from a seed. Times of evaluation never meet the time of a sample at the end of a window, so that the left-open windows of 3.x and
the closed ones of 2.x hold the same samples."""

import random


class Node:
    """A part of a query: a text with a %s for each child, and what it is: "sum", "rate", "topk" ... Leaves have a selector."""

    def __init__(self, kind, form, *children, **facts):
        self.kind, self.form, self.children, self.facts = kind, form, children, facts

    def with_children(self, texts):
        return self.form % tuple(texts) if self.children else self.form

    def __str__(self):
        return self.with_children([str(c) for c in self.children])


COUNTERS = ["requests_total", "tokens_total"]
GAUGES = ["queue", "temperature", "odd"]
BUCKETS = ["latency_seconds_bucket"]
LABELS = ["pool", "code", "instance"]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def pick(self, *choices):
        return self.r.choice(choices)

    def duration(self):
        return self.pick("15s", "20s", "30s", "1m", "2m", "5m", "7m")

    def matchers(self):
        r = self.r.random()
        if r < 0.5:
            return ""
        if r < 0.65:
            return '{pool="chat"}'
        if r < 0.75:
            return '{pool!="chat"}'
        if r < 0.85:
            return '{pool=~"ch.*|batch"}'
        if r < 0.92:
            return '{code!~"5.."}'
        return '{pool="nobody"}'

    def shift(self):
        return self.pick("", "", "", " offset 1m", " offset -30s", " offset 3m")

    def selector(self, names):
        return self.pick(*names) + self.matchers() + self.shift()

    def ranged(self, names):
        name = self.pick(*names) + self.matchers()
        return "%s[%s]%s" % (name, self.duration(), self.shift())

    def by(self):
        return self.pick("", " by (pool)", " by (code)", " by (pool, code)", " without (code)", " without (instance, pool)")

    def scalar(self):
        text = self.pick("2", "0.5", "10", "-1", "1e3", "scalar(sum(queue))", "time() / 1e9")
        return Node("scalar", "scalar(%s)", Node("sum", "sum(%s)", Node("selector", "queue"), by="")) if text[:6] == "scalar" else Node("number", text)

    def vector(self, depth):
        if depth <= 0:
            return self.leaf()
        kind = self.r.randrange(12)
        if kind < 3:
            return self.leaf()
        if kind < 6:
            op, by = self.pick("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"), self.by()
            return Node(op, "%s%s (%%s)" % (op, by), self.vector(depth - 1), by=by)
        if kind == 6:
            op, by, k = self.pick("topk", "bottomk"), self.by(), self.pick("1", "2", "3")
            return Node(op, "%s%s (%s, %%s)" % (op, by, k), self.vector(depth - 1), by=by, k=int(k))
        if kind == 7:
            by, q = self.by(), self.pick("0.5", "0.9", "0")
            return Node("quantile", "quantile%s (%s, %%s)" % (by, q), self.vector(depth - 1), by=by)
        if kind == 8:
            f = self.pick("abs", "ceil", "floor", "sqrt", "exp", "ln", "log2", "sgn", "round", "clamp_min", "clamp_max", "sort", "deg", "sin")
            inside = self.vector(depth - 1)
            return Node(f, "%s(%%s, %%s)" % f, inside, self.scalar()) if f.startswith("clamp") else Node(f, "%s(%%s)" % f, inside)
        if kind == 9:
            op = self.pick("+", "-", "*", "/", "%", "^", "> bool", "<", ">=", "!=")
            inside = self.vector(depth - 1)
            return Node(op, "(%%s) %s %%s" % op.replace("%", "%%"), inside, self.scalar())
        if kind == 10:
            op = self.pick("+", "-", "*", "/", ">", "and", "or", "unless")
            sides = [Node(f, f + " by (pool) (%s)", self.vector(depth - 1), by=" by (pool)") for f in (self.pick("sum", "max"), self.pick("sum", "count"))]
            return Node(op, "%%s %s %%s" % op, *sides)
        inside, wide, step = self.vector(depth - 2), self.pick("1m", "2m"), self.pick("7s", "11s", "15s")
        return Node("subquery", "max_over_time((%%s)[%s:%s])" % (wide, step), inside, range=wide, step=step)

    def windowed(self, f, names):
        name, matchers, wide, shift = self.pick(*names), self.matchers(), self.duration(), self.shift()
        return Node(f, "%s(%s%s[%s]%s)" % (f, name, matchers, wide, shift), selector=name + matchers, range=wide, shift=shift)

    def leaf(self):
        kind = self.r.randrange(10)
        if kind < 2:
            return Node("selector", self.selector(COUNTERS + GAUGES))
        if kind < 5:
            return self.windowed(self.pick("rate", "increase", "irate", "resets", "changes"), COUNTERS)
        if kind < 7:
            return self.windowed(self.pick("avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "last_over_time",
                "stddev_over_time", "present_over_time", "delta", "deriv", "idelta"), GAUGES)
        if kind == 7:
            added = Node("sum", "sum by (pool, le) (%s)", self.windowed("rate", BUCKETS), by=" by (pool, le)")
            return Node("histogram_quantile", "histogram_quantile(%s, %%s)" % self.pick("0.5", "0.9", "0.99"), added)
        if kind == 8:
            return Node("label_replace", "label_replace(%s, \"x\", \"$1\", \"pool\", \"(.).*\")", Node("selector", self.selector(GAUGES)))
        return Node("call", self.pick("absent(%s)", "timestamp(%s)") % self.selector(COUNTERS + GAUGES + ["missing"]))

    def query(self):
        return self.vector(self.r.randrange(4))
