"""Cases that once failed, and variations of the trial cases: other numbers, several replicas and engines, other versions."""

from writer import T0, case, vllm


def busy(finished, steps, tokens, running=4, waiting=0, kv=0.4, engine="0", page=None):
    """A vLLM engine at work that finished, stepped and generated this much since the first scrape; on a page of its own or behind others."""
    p, e, n = page or vllm(), {"engine": engine}, 1000 + steps
    p.gauge("num_requests_running", running, **e).gauge("num_requests_waiting", waiting, **e).gauge("kv_cache_usage_perc", kv, **e)
    p.counter("generation_tokens_total", 100000 + tokens, **e).counter("request_success_total", 100 + finished, finished_reason="stop", **e)
    return p.histogram("iteration_tokens_total", {"32.0": n, "+Inf": n}, 20 * n, n, **e)


NO_ANSWER = {"status": 0, "duration": "10.000"}

# --- every second scrape fails ---------------------------------------------------------------------------------------------------------------
case(
    "v01-flaky-scrapes-alive",
    [
        ("t0", 0, "svc", busy(0, 0, 0)),
        ("t1", 30, "svc", None, NO_ANSWER),
        ("t2", 60, "svc", busy(2, 100, 6000)),
        ("t3", 90, "svc", None, NO_ANSWER),
        ("t4", 120, "svc", busy(4, 200, 12000)),
    ],
    """
seconds_since_last_step@t4 near 0  steps moved between t2 and t4; the scrape that failed says nothing
gauges_trusted@t4 eq yes
generation_tps@t0..t4 near 100
finding not engine-stalled
finding not stale-gauges
finding not restart
""",
)
case(
    "v02-flaky-scrapes-stalled",
    [("t0", 0, "svc", busy(0, 0, 0))]
    + [(f"t{k}", 30 * k, "svc", *([busy(1, 100, 3000, running=3, waiting=1)] if k % 2 else [None, NO_ANSWER])) for k in range(1, 8)],
    """
seconds_since_last_step@t7 near 180  steps stand still from t1 to t7
gauges_trusted@t7 eq no
finding verdict engine-stalled
severity eq critical
""",
)
case(
    "v03-restart-behind-a-gap",
    [
        ("t0", 0, "timed", busy(9, 50000, 900000).raw(f"process_start_time_seconds {T0 - 90000}")),
        ("t0", 0, "plain", busy(9, 50000, 900000)),
        ("t1", 30, "timed", None, NO_ANSWER),
        ("t1", 30, "plain", None, NO_ANSWER),
        ("t2", 60, "timed", busy(0, 0, -97000).raw(f"process_start_time_seconds {T0 + 40}")),
        ("t2", 60, "plain", busy(0, 0, -97000)),
    ],
    """
timed.restarts@t0..t2 near 1
plain.restarts@t0..t2 near 1  no start time: the counters fell
timed.generation_tps@t0..t2 atleast 50  3000 tokens since the restart
plain.generation_tps@t0..t2 atleast 50
timed.finding verdict restart
plain.finding verdict restart
finding not processes-take-turns
""",
)


# --- versions side by side ---------------------------------------------------------------------------------------------------------------------
def connector(n, queries, hits, external_queries, external_hits, engine="0"):
    p = vllm(engine).counter("prompt_tokens_total", n * queries)
    p.counter("prefix_cache_queries_total", n * queries).counter("prefix_cache_hits_total", n * hits)
    p.counter("external_prefix_cache_queries_total", n * external_queries)
    return p.counter("external_prefix_cache_hits_total", n * external_hits)


case(
    "v04-external-cache-old-and-new",
    [
        (f"t{n}", 60 * n, target, connector(n, *counts))
        for n in (0, 1)
        for target, counts in (("old", (1000000, 300000, 1000000, 350000)), ("new", (500000, 100000, 400000, 100000)))
    ],
    """
old.external_hit_rate@t0..t1 near 0.5  350000 / (1000000 - 300000)
new.external_hit_rate@t0..t1 near 0.25
fleet.external_hit_rate@t0..t1 near 0.40909090909090909  450000 / (700000 + 400000)
fleet.cached_share_total@t0..t1 near 0.56666666666666667  850000 / 1500000
fleet.prefix_hit_rate@t0..t1 near 0.26666666666666667
old.finding verdict external-queries-double-counted
new.finding not external-queries-double-counted
""",
)


def upgraded(n, names, usage, hits, step, itl_names):
    p = vllm().gauge("num_requests_running", 5).counter("generation_tokens_total", 10000 + 6000 * n)
    for name in names:
        p.gauge(("gpu_cache" if name == "gpu_" else "kv_cache") + "_usage_perc", usage)
        p.counter(name + "prefix_cache_queries_total", 5000000 + 1000000 * n).counter(name + "prefix_cache_hits_total", 1000000 + hits * n)
    for name in itl_names:
        p.histogram(name, {step: 1000 * n, "1.0": 1000 * n, "+Inf": 1000 * n}, 0.8 * float(step) * 1000 * n, 1000 * n)
    return p


case(
    "v05-rolling-upgrade-twins",
    [
        (f"t{n}", 60 * n, target, upgraded(n, *how))
        for n in (0, 1)
        for target, how in (
            ("before", (["gpu_"], 0.3, 300000, "0.025", ["time_per_output_token_seconds"])),
            ("between", (["gpu_", ""], 0.5, 500000, "0.05", ["time_per_output_token_seconds", "inter_token_latency_seconds"])),
        )
    ],
    """
before.prefix_hit_rate@t0..t1 near 0.3
between.prefix_hit_rate@t0..t1 near 0.5  twins are never added
fleet.prefix_hit_rate@t0..t1 near 0.4
fleet.kv_usage_mean@t1 near 0.4
before.itl_mean_per_step_s@t0..t1 near 0.02
between.itl_mean_per_step_s@t0..t1 near 0.04
fleet.itl_mean_per_step_s@t0..t1 near 0.03
between.request_tpot_p50_s@t0..t1 unknown
before.finding verdict metric-renamed
""",
)


# --- several engines and processes --------------------------------------------------------------------------------------------------------------
def pids(first, second, generated):
    p = vllm()
    for engine, values in (("0", first), ("1", second)):
        for pid, value in zip((11, 12), values):
            p.gauge("kv_cache_usage_perc", value, engine=engine, pid=pid)
        p.gauge("num_requests_running", 4, engine=engine).counter("generation_tokens_total", generated, engine=engine)
    return p


case(
    "v06-pid-gauge-in-dp",
    [("t0", 0, "svc", pids((0.2, 0.6), (0.5, 0.0), 1000)), ("t1", 15, "svc", pids((0.3, 0.6), (0.5, 0.1), 2500))],
    """
kv_usage_max@t0 near 0.6  before any moved, the largest of each engine: 0.6 and 0.5
kv_usage_mean@t0 near 0.55
kv_usage_max@t1 near 0.3  the one that moved last: 0.3 and 0.1
kv_usage_mean@t1 near 0.2
engine1.kv_usage@t1 near 0.1
running@t1 near 8
generation_tps@t0..t1 near 200
finding verdict per-pid-gauge
finding not duplicate-rank-series
""",
)


def sglang(n):
    p = vllm()
    p.prefix, p.labels = "sglang:", {"engine_type": "unified", "model_name": "acme/moe-30b", "moe_ep_rank": "0", "pp_rank": "0"}
    for dp, tp, running, usage, total, evictable in (
        ("0", "0", 6, 0.8, 100000, 15000),
        ("0", "1", 6, 0.8, 100000, 15000),
        ("1", "2", 2, 0.2, 300000, 60000),
        ("1", "3", 2, 0.2, 300000, 60000),
    ):
        rank = {"dp_rank": dp, "tp_rank": tp}
        p.gauge("num_running_reqs", running, **rank).gauge("token_usage", usage, **rank).gauge("max_total_num_tokens", total, **rank)
        p.gauge("kv_evictable_tokens", evictable, **rank).gauge("kv_used_tokens", int(usage * total), **rank)
    return p.counter("generation_tokens_total", 1000000 + 120000 * n)


case(
    "v07-sglang-ranks-weighted",
    [("t0", 0, "svc", sglang(0)), ("t1", 60, "svc", sglang(1))],
    """
running@t1 near 8
kv_usage_weighted@t1 near 0.35  (80000 + 60000) / 400000
kv_usage_mean@t1 near 0.5
kv_usage_max@t1 near 0.8
kv_reclaimable@t1 near 0.1875  75000 / 400000
kv_usage_pinned@t1 near 0.8  used and evictable stand apart: usage leaves them out already
generation_tps@t0..t1 near 2000
finding verdict duplicate-rank-series
""",
)
case(
    "v08-one-engine-stale",
    [
        (f"t{k}", 15 * k, "svc", busy(0, 0, 0, running=5, kv=0.97, engine="1", page=busy(k, 300 * k, 6000 * k, running=9)))
        for k in range(4)
    ],
    """
engine1.seconds_since_last_step@t3 near 45
engine1.gauges_trusted@t3 eq no
engine0.gauges_trusted@t3 eq yes
engine0.generation_tps@t0..t3 near 400
engine1.generation_tps@t0..t3 near 0
running@t3 near 14
finding verdict stale-gauges
finding not kv-pressure
finding not engine-stalled
""",
)


def drafts(n, count, accepted):
    p = vllm().counter("spec_decode_num_drafts_total", n * count).counter("spec_decode_num_draft_tokens_total", 3 * n * count)
    p.counter("spec_decode_num_accepted_tokens_total", n * sum(accepted))
    for position, value in enumerate(accepted):
        p.counter("spec_decode_num_accepted_tokens_per_pos_total", n * value, position=position)
    return p


case(
    "v09-spec-three-pods",
    [
        (f"t{n}", 60 * n, target, drafts(n, *how))
        for n in (0, 1)
        for target, how in (("pod-a", (500, (450, 300, 150))), ("pod-b", (300, (250, 150, 50))), ("pod-c", (200, (100, 50, 0))))
    ],
    """
fleet.spec_acceptance_rate@t0..t1 near 0.5  1500 / 3000
fleet.spec_mean_acceptance_length@t0..t1 near 2.5
fleet.spec_acceptance_pos0@t0..t1 near 0.8
fleet.spec_acceptance_pos2@t0..t1 near 0.2
pod-c.spec_acceptance_pos2@t0..t1 near 0  drafted, never accepted
fleet.spec_acceptance_pos3@t0..t1 unknown -  drafts have three tokens
fleet.spec_identity_ok@t0..t1 eq yes
""",
)

# --- a page that breaks off, beside a whole one ------------------------------------------------------------------------------------------------
case(
    "v10-broken-page-is-down",
    [
        ("t0", 0, "whole", busy(0, 0, 0, waiting=2)),
        ("t0", 0, "broken", busy(0, 0, 0, waiting=3).raw("vllm:num_preemptions_total{")),
    ],
    """
fleet.targets_expected@t0 near 2
fleet.targets_reporting@t0 near 1
fleet.waiting@t0 near 5  whole lines before an error are kept
finding verdict scrape-partial
broken.finding verdict page-malformed
whole.finding not page-malformed
severity eq warning
""",
)
case(
    "v16-windows-line-ends",
    [("t0", 0, "svc", busy(0, 0, 0, waiting=4).body().replace(b"\n", b"\r\n"))],
    """
waiting@t0 unknown
targets_reporting@t0 near 0
finding verdict page-malformed
finding verdict scrape-partial
severity eq critical
""",
)


# --- what appears late, what has other bounds ---------------------------------------------------------------------------------------------------
def answered(n):
    p = busy(n, 60 * n, 600 * n)
    p.prefix, p.labels = "", {"handler": "/v1/chat/completions", "method": "POST"}
    p.counter("http_requests_total", 100 + 180 * n, status="2xx")
    return p.counter("http_requests_total", 20, status="5xx") if n else p


case(
    "v11-first-5xx",
    [("t0", 0, "svc", answered(0)), ("t1", 60, "svc", answered(1))],
    """
http_5xx_rate@t0..t1 near 0.1  the series is born with the first 5xx: 20 / 200
http_4xx_rate@t0..t1 near 0
finding verdict http-errors
""",
)
case(
    "v12-two-layouts",
    [
        (f"t{n}", 60 * n, target, vllm().histogram("time_to_first_token_seconds", {k: v * n for k, v in cells.items()}, total * n, 100 * n))
        for n in (0, 1)
        for target, cells, total in (
            ("pod-a", {"0.1": 40, "0.5": 80, "1.0": 100, "2.0": 100, "+Inf": 100}, 30),
            ("pod-b", {"0.1": 20, "0.3": 80, "1.0": 80, "4.0": 100, "+Inf": 100}, 50),
        )
    ],
    """
pod-a.ttft_p50_s@t0..t1 near 0.2
pod-b.ttft_p50_s@t0..t1 near 0.2
fleet.ttft_p50_s@t0..t1 near 0.4  common bounds 0.1 and 1: 60, 180 of 200
fleet.ttft_p95_s@t0..t1 atleast 1
fleet.ttft_mean_s@t0..t1 near 0.4
finding verdict bucket-mismatch
""",
)


# --- models are never merged ------------------------------------------------------------------------------------------------------------------
def model(n, name, cell, count, mean, generated):
    p = vllm()
    p.labels["model_name"] = name
    p.gauge("num_requests_running", 0 if generated == 0 else 6).counter("prompt_tokens_total", 500000 + 60000 * n)
    p.counter("generation_tokens_total", generated * n).counter("request_success_total", 100 + count * n, finished_reason="stop")
    bounds = ["0.3", "2.5", "5.0", "+Inf"]
    cells = {le: (count * n if i >= bounds.index(cell) else 0) for i, le in enumerate(bounds)}
    return p.histogram("e2e_request_latency_seconds", cells, mean * count * n, count * n)


case(
    "v13-pooling-beside-chat",
    [
        (f"t{n}", 60 * n, target, model(n, *how))
        for n in (0, 1)
        for target, how in (("embed", ("acme/embed", "0.3", 300, 0.02, 0)), ("chat", ("acme/chat-8b", "5.0", 100, 4, 12000)))
    ],
    """
embed.e2e_p99_s@t0..t1 atmost 0.3
chat.e2e_p50_s@t0..t1 near 3.75
fleet.e2e_p99_s@t0..t1 unknown -  of which model?
fleet.finished@t0..t1 near 400
embed.token_io_ratio@t0..t1 unknown
chat.token_io_ratio@t0..t1 near 5
embed.finding verdict pooling-model
chat.finding not pooling-model
finding not slow-replica
finding not idle
""",
)

# --- what must not be said --------------------------------------------------------------------------------------------------------------------
case(
    "v14-three-requests",
    [
        (f"t{n}", 60 * n, "svc", busy(2 * n, 120 * n, 300 * n, running=0, kv=0).counter("request_success_total", n, finished_reason="abort"))
        for n in (0, 1)
    ],
    """
success_rate@t0..t1 near 0.66666666666666667  two of three: shown, judged by nothing
abort_rate@t0..t1 near 0.33333333333333333
finding not completion-low
finding not abort-high
finding not engine-stalled
finding not stale-gauges
""",
)
case(
    "v15-planned-drain",
    [
        (when, 30 * k, "drain", *([busy(done, 100 * min(k, 3), 3000 * min(k, 3), running=running, kv=running / 40)] if k < 4 else [None, NO_ANSWER]))
        for k, (when, running, done) in enumerate([("t0", 20, 0), ("t1", 8, 12), ("t2", 2, 18), ("t3", 0, 20), ("t4", 0, 20)])
    ]
    + [(f"t{k}", 30 * k, "stay", busy(15 * k, 300 * k, 9000 * k, running=20)) for k in range(5)],
    """
drain.finished@t0..t3 near 20
drain.running@t3 near 0
drain.running@t4 unknown
fleet.running@t4 atleast 20
finding@t3 not scrape-partial
finding@t4 verdict scrape-partial
finding not engine-stalled
finding not stale-gauges
finding not restart
finding not kv-leak
finding not dp-imbalance
""",
)
