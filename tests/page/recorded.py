"""Servers whose pages are made up, with every figure known: the counters are multiples of the seconds that have passed."""

import threading
import time

E2E = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
TTFT = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
STAGE = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)

# (value, times a second) of each request's figures. One E2E in eight lies beyond the last bucket; no TPOT is exported: it is unknown.
FINISHED = 4
MIX = {
    "e2e_request_latency_seconds": (E2E, ((4.0, 3.5), (75.0, 0.5))),
    "time_to_first_token_seconds": (TTFT, ((0.2, 3.0), (0.6, 1.0))),
    "request_queue_time_seconds": (STAGE, ((0.1, 3.8), (0.45, 0.2))),
    "request_prefill_time_seconds": (STAGE, ((0.15, 4.0),)),
    "request_decode_time_seconds": (STAGE, ((3.6, 3.5), (74.0, 0.5))),
    "request_prompt_tokens": (TOKENS, ((300, 3.0), (1500, 1.0))),
    "request_generation_tokens": (TOKENS, ((150, 4.0),)),
    "iteration_tokens_total": (TOKENS, ((15, 40.0),)),
}


def page(seconds, start, kv=0.42, waiting=0, slow=1.0):
    """`seconds` since the server's start: all counts are multiples of it."""
    labels = 'engine="0",model_name="acme/chat"'
    lines = ["# TYPE process_start_time_seconds gauge", "process_start_time_seconds %d" % start]

    def family(name, kind, rows):
        lines.append("# TYPE %s %s" % (name, kind))
        lines.extend(rows)

    for name, value in (("num_requests_running", 6), ("num_requests_waiting", waiting), ("kv_cache_usage_perc", kv)):
        family("vllm:" + name, "gauge", ["vllm:%s{%s} %s" % (name, labels, value)])
    for name, each in (("prompt_tokens", 2400), ("generation_tokens", 600), ("num_preemptions", 0), ("prefix_cache_queries", 2400),
                       ("prefix_cache_hits", 600)):
        family("vllm:%s_total" % name, "counter", ["vllm:%s_total{%s} %s" % (name, labels, each * seconds)])
    family("vllm:request_success_total", "counter", ['vllm:request_success_total{%s,finished_reason="%s"} %.9g' % (labels, reason, each * seconds)
                                                     for reason, each in (("stop", 3.9), ("length", 0.06), ("abort", 0.04))])
    for name, (bounds, mix) in MIX.items():
        if name in ("e2e_request_latency_seconds", "time_to_first_token_seconds"):
            mix = tuple((v * slow, n) for v, n in mix)
        rows = []
        for bound in bounds:
            rows.append('vllm:%s_bucket{%s,le="%g"} %.9g' % (name, labels, bound, sum(n for v, n in mix if v <= bound) * seconds))
        total = sum(n for _, n in mix) * seconds
        rows.append('vllm:%s_bucket{%s,le="+Inf"} %.9g' % (name, labels, total))
        rows.append("vllm:%s_count{%s} %.9g" % (name, labels, total))
        rows.append("vllm:%s_sum{%s} %.9g" % (name, labels, sum(v * n for v, n in mix) * seconds))
        family("vllm:" + name, "histogram", rows)
    return "\n".join(lines) + "\n"


class Recorded:
    """Fills the pages of a daemon.Pages, again and again."""

    def __init__(self, pages, replicas):
        self.pages, self.replicas, self.start = pages, replicas, int(time.time()) - 1000
        self.stopped = threading.Event()
        self.tell()
        threading.Thread(target=self.run, daemon=True).start()

    def tell(self):
        seconds = round(time.time() - self.start, 1)
        for name, options in self.replicas.items():
            self.pages.pages["/%s/metrics" % name] = page(seconds, self.start, **options)

    def run(self):
        while not self.stopped.wait(0.2):
            self.tell()

    def close(self):
        self.stopped.set()
