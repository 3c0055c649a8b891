"""Generated PromQL, from a seed. Times of evaluation never meet the time of a sample at the end of a window, so that the left-open windows of 3.x and
the closed ones of 2.x hold the same samples."""

import random

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
        return self.pick("2", "0.5", "10", "-1", "1e3", "scalar(sum(queue))", "time() / 1e9")

    def vector(self, depth):
        if depth <= 0:
            return self.leaf()
        kind = self.r.randrange(12)
        if kind < 3:
            return self.leaf()
        if kind < 6:
            op = self.pick("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar")
            return "%s%s (%s)" % (op, self.by(), self.vector(depth - 1))
        if kind == 6:
            return "%s%s (%s, %s)" % (self.pick("topk", "bottomk"), self.by(), self.pick("1", "2", "3"), self.vector(depth - 1))
        if kind == 7:
            return "quantile%s (%s, %s)" % (self.by(), self.pick("0.5", "0.9", "0"), self.vector(depth - 1))
        if kind == 8:
            f = self.pick("abs", "ceil", "floor", "sqrt", "exp", "ln", "log2", "sgn", "round", "clamp_min", "clamp_max", "sort", "deg", "sin")
            inside = self.vector(depth - 1)
            return "%s(%s, %s)" % (f, inside, self.scalar()) if f.startswith("clamp") else "%s(%s)" % (f, inside)
        if kind == 9:
            op = self.pick("+", "-", "*", "/", "%", "^", "> bool", "<", ">=", "!=")
            return "(%s) %s %s" % (self.vector(depth - 1), op, self.scalar())
        if kind == 10:
            op = self.pick("+", "-", "*", "/", ">", "and", "or", "unless")
            left, right = self.pick("sum by (pool) ({})", "max by (pool) ({})"), self.pick("sum by (pool) ({})", "count by (pool) ({})")
            return "%s %s %s" % (left.format(self.vector(depth - 1)), op, right.format(self.vector(depth - 1)))
        return "max_over_time((%s)[%s:%s])" % (self.vector(depth - 2), self.pick("1m", "2m"), self.pick("7s", "11s", "15s"))

    def leaf(self):
        kind = self.r.randrange(10)
        if kind < 2:
            return self.selector(COUNTERS + GAUGES)
        if kind < 5:
            return "%s(%s)" % (self.pick("rate", "increase", "irate", "resets", "changes"), self.ranged(COUNTERS))
        if kind < 7:
            f = self.pick("avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "last_over_time",
                          "stddev_over_time", "present_over_time", "delta", "deriv", "idelta")
            return "%s(%s)" % (f, self.ranged(GAUGES))
        if kind == 7:
            return "histogram_quantile(%s, sum by (pool, le) (rate(%s)))" % (self.pick("0.5", "0.9", "0.99"), self.ranged(BUCKETS))
        if kind == 8:
            return "label_replace(%s, \"x\", \"$1\", \"pool\", \"(.).*\")" % self.selector(GAUGES)
        return self.pick("absent(%s)", "timestamp(%s)") % self.selector(COUNTERS + GAUGES + ["missing"])

    def query(self):
        return self.vector(self.r.randrange(4))
