"""Cases that once failed, and variations of the trial cases: other numbers, several replicas and engines, other versions."""

from writer import T0, case, vllm


def busy(k, steps, tokens, engine="0", running=4, waiting=0, kv=0.4):
    """A vLLM engine at work: k-th scrape, with this many steps and tokens since the first one."""
    p = vllm(engine).gauge("num_requests_running", running).gauge("num_requests_waiting", waiting).gauge("kv_cache_usage_perc", kv)
    p.counter("generation_tokens_total", 100000 + tokens)
    n = 1000 + steps
    return p.histogram("iteration_tokens_total", {"32.0": n, "+Inf": n}, 20 * n, n).counter("request_success_total", 100 + k, finished_reason="stop")


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
