"""Why two engines differ on a query: it is taken apart, and each part is asked of both at the same time with the same operands. Where a part by itself
differs, it must be one of the changes from 2.42 to 3.x, and both results must be what that change says of these operands, computed here."""

import fractions
import json
import math
import re

EXACT = 1e-12
TIES = "which of equal values topk takes"


class Unexplained(Exception):
    pass


def same(a, b, most=EXACT):
    a, b = float(a), float(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= most * max(abs(a), abs(b))


def identical(a, b):
    return float(a) == float(b) or (math.isnan(float(a)) and math.isnan(float(b)))


def seconds(text):
    return {"s": 1, "m": 60}[text[-1]] * int(text[:-1])


def shift_of(text):
    """Seconds of " offset 1m"."""
    return (-1 if "-" in text else 1) * seconds(text.split()[-1].lstrip("-")) if text.strip() else 0


def labels_key(labels):
    return json.dumps({k: "%s.0" % v if k == "le" and v.isdigit() else v for k, v in labels.items()}, sort_keys=True)


def group_key(labels, by):
    """The labels of the group that a series is in. `by`: " by (a, b)", " without (a)", "" """
    names = [n.strip() for n in re.findall(r"\(([^)]*)\)", by)[0].split(",")] if by else []
    if " without" in by:
        return labels_key({k: v for k, v in labels.items() if k not in names and k != "__name__"})
    return labels_key({k: labels[k] for k in names if k in labels})


def literal(vector):
    """An expression that is this vector. [(labels, value)]"""
    parts = []
    for labels, value in vector:
        text = "vector(%s)" % value
        for name, v in labels.items():
            text = "label_replace(%s, %s, %s, \"\", \"\")" % (text, json.dumps(name), json.dumps(v))
        parts.append(text)
    return "(" + " or ".join(parts) + ")" if parts else "(vector(1) < 0)"


# --- what each version computes -----------------------------------------------------------------------------------------------------------


def extrapolated(samples, start, end, is_rate, version):
    """rate or increase of a counter. [(t, v)], times in milliseconds."""
    if len(samples) < 2:
        return None
    delta, before = samples[-1][1] - samples[0][1], samples[0][1]
    for _, v in samples[1:]:
        delta += before if v < before else 0
        before = v
    sampled = (samples[-1][0] - samples[0][0]) / 1000
    average = sampled / (len(samples) - 1)
    to_start, to_end, threshold = (samples[0][0] - start) / 1000, (end - samples[-1][0]) / 1000, average * 1.1
    to_zero = sampled * (samples[0][1] / delta) if delta > 0 and samples[0][1] >= 0 else math.inf
    if version == 2:
        # Limited first: a distance to zero below the threshold is taken whole.
        to_start = min(to_start, to_zero)
        to_start = to_start if to_start < threshold else average / 2
    else:
        to_start = to_start if to_start < threshold else average / 2
        to_start = min(to_start, to_zero)
    to_end = to_end if to_end < threshold else average / 2
    return delta * ((sampled + to_start + to_end) / sampled) / ((end - start) / 1000 if is_rate else 1)


def kahan(increment, total, rest, version):
    """A step of a compensated sum. 3.x drops the compensation where the sum is infinite."""
    new = total + increment
    if version == 3 and math.isinf(new):
        return new, 0.0
    return new, rest + ((total - new) + increment if abs(total) >= abs(increment) else (increment - new) + total)


def variance_over_time(values, version):
    mean = mean_rest = sum_ = sum_rest = count = 0.0
    for v in values:
        count += 1
        delta = v - (mean + mean_rest)
        mean, mean_rest = kahan(delta / count, mean, mean_rest, version)
        sum_, sum_rest = kahan(delta * (v - (mean + mean_rest)), sum_, sum_rest, version)
    return (sum_ + sum_rest) / count


def exact_variance(values):
    exact = [fractions.Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    return sum((v - mean) ** 2 for v in exact) / len(exact)


class Explainer:
    """`ours` and `theirs` evaluate an expression at a time: [(labels, value as text)]. A part that has been looked into is replaced by its values in
    theirs, so that the next one gets the same operands in both: 2.42 does not even give the same twice, where it picks among equals or adds up."""

    def __init__(self, ours, theirs, samples):
        self.ours, self.theirs, self.samples, self.reasons, self.is_rounded = ours, theirs, samples, {}, False

    def say(self, reason):
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def explain(self, node, t):
        """An expression that gives, in ours, what the node gives in theirs at t."""
        if node.kind == "subquery":
            return self.explain_subquery(node, t)
        if node.kind == "number":
            return str(node)
        texts = [self.explain(c, t) for c in node.children]
        text = node.with_children(texts)
        ours, theirs = self.ours(text, t), self.theirs(text, t)
        a, b = ({labels_key(l): v for l, v in vector} for vector in (ours, theirs))
        if node.kind in ("topk", "bottomk"):
            self.check_top(node, t, a, b, self.operands(node, texts[0], t))
        elif set(a) != set(b) or not all(same(a[k], b[k]) for k in a):
            self.prove(node, t, a, b, texts)
        elif node.kind in ("stddev", "stdvar"):
            self.is_rounded = self.is_rounded or self.is_unsteady(node, self.operands(node, texts[0], t))
        elif not all(identical(a[k], b[k]) for k in a):
            self.is_rounded = True
        elif node.kind not in ("sum", "avg"):
            return text
        return "(%s)" % theirs[0][1] if node.kind == "scalar" else literal(theirs)

    def prove(self, node, t, a, b, texts):
        provers = {"rate": self.prove_rate, "increase": self.prove_rate, "stddev": self.prove_deviation, "stdvar": self.prove_deviation,
            "stddev_over_time": self.prove_deviation_over_time}
        if node.kind not in provers or not provers[node.kind](node, t, a, b, texts):
            others = [(k, a.get(k), b.get(k)) for k in sorted(set(a) | set(b)) if k not in a or k not in b or not same(a[k], b[k])]
            raise Unexplained("%s: %s at %s: (series, ours, theirs) %s" % (node.kind, node, t, others[:3]))

    def operands(self, node, text, t):
        """Of an aggregation of `text`: {group: [(labels, value)]}, as theirs has them."""
        groups = {}
        for labels, value in self.theirs(text, t):
            groups.setdefault(group_key(labels, node.facts["by"]), []).append((labels, float(value)))
        return groups

    def windows(self, node, t):
        """Of a function of a range: (key without the name, [(t in ms, v)]), as theirs has them."""
        for labels, samples in self.samples(node.facts["selector"] + "[%s]" % node.facts["range"] + node.facts["shift"], t):
            yield labels_key({k: v for k, v in labels.items() if k != "__name__"}), [(round(at * 1000), v) for at, v in samples]

    def prove_rate(self, node, t, a, b, texts):
        end = round(t * 1000) - shift_of(node.facts["shift"]) * 1000
        start, seen = end - seconds(node.facts["range"]) * 1000, set()
        for key, samples in self.windows(node, t):
            two, three = (extrapolated(samples, start, end, node.kind == "rate", version) for version in (2, 3))
            if two is None:
                continue
            seen.add(key)
            if key not in a or key not in b or not same(b[key], two) or not same(a[key], three):
                return False
        if seen != set(a) or seen != set(b):
            return False
        self.say("counters extrapolated to below zero (3.x: limited after the half interval is taken)")
        return True

    def prove_deviation_over_time(self, node, t, a, b, texts):
        for key, samples in self.windows(node, t):
            two, three = (math.sqrt(v) if (v := variance_over_time([x for _, x in samples], version)) >= 0 else math.nan for version in (2, 3))
            if key not in a or key not in b or not same(b[key], two) or not same(a[key], three):
                return False
        self.say("deviations over time that overflow (3.x: infinite, not NaN)")
        return True

    def prove_deviation(self, node, t, a, b, texts):
        """2.42 calls the deviation of one value that is no number 0; and it adds squares up without compensation."""
        groups = self.operands(node, texts[0], t)
        if not set(groups) == set(a) == set(b):
            return False
        for key, members in groups.items():
            values, ours, theirs = [v for _, v in members], float(a[key]), float(b[key])
            if same(ours, theirs):
                continue
            if not all(map(math.isfinite, values)):
                if len(values) != 1 or not math.isnan(ours) or theirs != 0:
                    return False
                self.say("the deviation of one value that is not finite (3.x: NaN, 2.x: 0)")
                continue
            if not self.rounded_deviation(node, values, ours, theirs):
                return False
            self.say("deviations beside large means (3.x: compensated)")
        return True

    @staticmethod
    def deviation(node, values):
        """(exactly, what a sum in any order may be off), which goes with mean / deviation."""
        exact = exact_variance(values)
        wanted = math.sqrt(exact) if node.kind == "stddev" else float(exact)
        mean_square = float(sum(fractions.Fraction(v) ** 2 for v in values) / len(values))
        condition = math.sqrt(mean_square / float(exact)) if exact else math.inf
        most = 4 * len(values) * condition * 2.0 ** -52 * wanted if exact else 4 * len(values) * mean_square * 2.0 ** -52
        return wanted, math.sqrt(most) if exact == 0 and node.kind == "stddev" else most

    def rounded_deviation(self, node, values, ours, theirs):
        wanted, most = self.deviation(node, values)
        return abs(theirs - wanted) <= most and abs(ours - wanted) <= most

    def is_unsteady(self, node, groups):
        """2.42 adds in no fixed order: may its deviation be another the next time?"""
        for members in groups.values():
            values = [v for _, v in members]
            if all(map(lambda v: math.isfinite(v) and abs(v) < 1e150, values)):
                wanted, most = self.deviation(node, values)
                if most > EXACT * wanted:
                    return True
        return False

    def check_top(self, node, t, a, b, groups):
        """Both took the right number of the best of each group, with their values. Where the last taken has an equal that was not, either may be."""
        sign = -1 if node.kind == "topk" else 1

        def rank(value):
            return (math.isnan(value), 0.0 if math.isnan(value) else sign * value)
        for members in groups.values():
            values = {labels_key(labels): v for labels, v in members}
            ranked = sorted(values.values(), key=rank)
            best, next_best = ranked[:node.facts["k"]], ranked[node.facts["k"]:][:1]
            for taken in (a, b):
                mine = sorted((float(taken[k]) for k in values if k in taken), key=rank)
                if len(mine) != len(best) or not all(map(same, mine, best)) or not all(same(taken[k], values[k]) for k in values if k in taken):
                    raise Unexplained("%s at %s: not the best: %s of %s" % (node, t, mine, ranked[:6]))
            if next_best and same(best[-1], next_best[0]):
                self.say(TIES)
        if not set(a) | set(b) <= {labels_key(labels) for members in groups.values() for labels, _ in members}:
            raise Unexplained("%s at %s: series from nowhere" % (node, t))

    def names(self):
        """Of the differences. Where each part by itself agrees, what follows a part has magnified its last digits."""
        return self.reasons or ({"last digits that a later part magnifies; each part agrees within 1e-12": 1} if self.is_rounded else {})

    def explain_subquery(self, node, t):
        """Its steps are explained one by one; then each result is the greatest of its own steps. 2.x takes the step at the left edge too."""
        inside, step = node.children[0], seconds(node.facts["step"])
        edge = t - seconds(node.facts["range"])
        at, greatest = math.ceil(edge / step) * step, [{}, {}]
        while at <= t:
            text = self.explain(inside, at)
            for i, vector in enumerate((self.ours(text, at), self.ours(str(inside), at) if at > edge else [])):
                for labels, value in vector:
                    key, value = labels_key({k: v for k, v in labels.items() if k != "__name__"}), float(value)
                    old = greatest[i].get(key)
                    greatest[i][key] = value if old is None or value > old or math.isnan(old) else old
            at += step
        ours, theirs = self.ours(str(node), t), self.theirs(str(node), t)
        if TIES in self.reasons:  # then asked again it may be another; its steps are as good as proved
            return literal([(json.loads(key), repr(value).replace("inf", "Inf").replace("nan", "NaN")) for key, value in greatest[0].items()])
        for vector, values in ((theirs, greatest[0]), (ours, greatest[1])):
            got = {labels_key(l): v for l, v in vector}
            if set(got) != set(values) or not all(same(got[k], values[k]) for k in got):
                raise Unexplained("%s at %s: not the greatest of its steps: %s, %s" % (node, t, list(got.items())[:3], list(values.items())[:3]))
        if set(greatest[0]) != set(greatest[1]) or not all(same(greatest[0][k], greatest[1][k]) for k in greatest[0]):
            if edge == math.ceil(edge / step) * step:
                self.say("a step of a subquery at the left edge of its range (3.x: not in it)")
        return literal(theirs)
