"""One replica beside its peers: slow, stopped by the collector, losing requests; and what only looks like it."""

from writer import Page, case, vllm


def page(finished=0, gaps=0, gap_sum=0.0, slow=0, running=2, tokens=None, engine="0", typical=0.007):
    """An engine that finished requests and made gaps between tokens, `slow` of them above 0.2 s, since the first scrape."""
    p = vllm(engine).gauge("num_requests_running", running).gauge("num_requests_waiting", 0).gauge("kv_cache_usage_perc", 0.1)
    p.counter("generation_tokens_total", 100000 + (gaps if tokens is None else tokens)).counter("prompt_tokens_total", 9000)
    p.counter("request_success_total", 100 + finished, finished_reason="stop")
    quick = 5000 + gaps - slow
    return p.histogram("inter_token_latency_seconds", {**{le: quick if typical <= float(le) else 0 for le in ("0.01", "0.025", "0.05", "0.1")}, "0.2": quick, "0.3": quick, "0.5": 5000 + gaps, "+Inf": 5000 + gaps}, 50 + gap_sum, 5000 + gaps)


def process(p, full):
    for generation, count in (("0", 9000), ("1", 800), ("2", 70 + full)):
        p.raw(f'python_gc_collections_total{{generation="{generation}"}} {count}.0')
    return p


# --- the collector -----------------------------------------------------------------------------------------------------------------------------
COLLECTIONS = (7, 14, 21, 28)


def freezes(slow_after):
    """36 scrapes, 5 s apart, 1000 gaps in each interval; a full collection in four of them, three slow gaps in those of `slow_after`."""
    rows = []
    for k in range(36):
        slow, full = 3 * sum(k >= n for n in slow_after), sum(k >= n for n in COLLECTIONS)
        rows.append((f"t{k}", 5 * k, "svc", process(page(finished=7 * k, gaps=1000 * k, gap_sum=7 * k + 0.3 * slow, slow=slow), full)))
    return rows


case(
    "b01-gc-pauses-rare",
    freezes(COLLECTIONS),
    """
gc_freezes_seen@t0..t35 near 4
gc_gaps_seen@t0..t35 near 12
gc_freeze_interval_s@t0..t35 near 35  (140 - 35) / 3
finding verdict gc-pauses
""",
)
case(
    "b02-gc-pauses-cut-by-scrapes",
    freezes((8, 14, 22, 28)),
    """
gc_freezes_seen@t0..t35 near 4  the gaps of two came a scrape later
gc_gaps_seen@t0..t35 near 12
finding verdict gc-pauses
""",
)
case(
    "b03-collections-without-pauses",
    freezes((3, 10, 17, 24)),
    """
gc_freezes_seen@t0..t35 near 0
gc_gen2_total@t35 near 74
finding not gc-pauses
""",
)
case(
    "b04-gaps-at-any-time",
    freezes(range(1, 36, 2)),
    """
finding not gc-pauses  half of the intervals have slow gaps, with or without a collection
""",
)


def seldom_scraped(stopped):
    """Five replicas with two streams each, scraped every 15 s; pod-c collects every 25 s, and those of `stopped` have two slow gaps as often."""
    rows = []
    for k in range(14):
        full = 15 * k // 25
        for pod in ("pod-a", "pod-b", "pod-c", "pod-d", "pod-e"):
            slow = 2 * full if pod in stopped else 0
            rows.append((f"t{k}", 15 * k, pod, process(page(finished=20 * k, gaps=4200 * k, gap_sum=30 * k, slow=slow), full if pod == "pod-c" else 0)))
    return rows


case(
    "b16-gc-pauses-between-scrapes",
    seldom_scraped(["pod-c"]),
    """
pod-c.gc_freezes_seen@t0..t13 near 7
pod-c.gc_gaps_seen@t0..t13 near 14  7 collections x 2 streams
pod-a.gc_gaps_seen@t0..t13 near 0
pod-c.finding verdict gc-pauses
pod-a.finding not gc-pauses
""",
)
case(
    "b17-all-stop-one-collects",
    seldom_scraped(["pod-a", "pod-b", "pod-c", "pod-d", "pod-e"]),
    """
finding not gc-pauses  its peers stop as often, without a collection
""",
)


# --- decoding ------------------------------------------------------------------------------------------------------------------------------------
def decoding(gap_ms, running=None, tokens=None, typical=None, stops=None):
    rows = []
    for k in (0, 1, 2):
        for n, ms in enumerate(gap_ms):
            run = running[n] if running and k else 2
            p = page(finished=20 * k, gaps=1000 * k, gap_sum=k * ms, running=run, tokens=(tokens[n] if tokens else 1000) * k, slow=stops[n] * k if stops else 0, typical=(typical or ms) / 1000)
            rows.append((f"t{k}", 20 * k, "pod-" + "abcdef"[n], p))
    return rows


case(
    "b05-slow-decode",
    decoding([7, 7, 8, 21, 6]),
    """
pod-d.itl_mean_per_step@t0..t2 near 0.021
slow_replica@t0..t2 eq pod-d  21 ms; the others' median is 7 ms
finding verdict slow-replica
pod-a.finding not slow-replica
""",
)
case(
    "b18-a-few-long-gaps",
    decoding([7, 7, 8, 21, 6], typical=7, stops=[0, 0, 0, 35, 0]),
    """
pod-d.itl_mean_per_step@t0..t2 near 0.021
finding not slow-replica  its median gap is its peers': something stops it now and then
""",
)
case(
    "b06-a-wide-field",
    decoding([6, 7, 12, 13, 24]),
    """
finding not slow-replica  24 / 9.5 = e^0.93, three times the others' median distance of e^0.31
""",
)
case(
    "b07-slow-holds-requests",
    decoding([7, 7, 8, 7, 60, 7], running=[1, 0, 1, 2, 14, 1], tokens=[1000, 900, 1000, 1100, 950, 1000]),
    """
finding verdict slow-replica
finding not dp-imbalance  14 of 19 run on pod-e, which makes no more tokens than the others
imbalance_max_over_mean@t2 near 4.421052631578947  14 / (19 / 6)
""",
)
case(
    "b08-sent-more",
    decoding([7, 7, 8, 7, 9, 7], running=[1, 0, 1, 2, 14, 1], tokens=[1000, 900, 1000, 1100, 9000, 1000]),
    """
finding verdict dp-imbalance  the busiest makes 9000 of 14000 tokens: 3.9 times the mean
finding not slow-replica
""",
)


# --- requests that take long ----------------------------------------------------------------------------------------------------------------------
PEERS_TAKE = {2: 9, 2.5: 1}  # seconds (a bucket): requests in each 5 s


def taking(bad, with_gaps):
    """Six replicas that finish ten requests in each 5 s; pod-d's take `bad`. Gaps and first tokens are everybody's."""
    rows = []
    for k in (0, 1, 2):
        for pod in ("pod-a", "pod-b", "pod-c", "pod-d", "pod-e", "pod-f"):
            mine = bad if pod == "pod-d" else PEERS_TAKE
            p = page(finished=10 * k, gaps=1000 * k, gap_sum=7 * k) if with_gaps else vllm("0").gauge("num_requests_running", 2).counter("request_success_total", 100 + 10 * k, finished_reason="stop")
            within = {le: k * sum(n for bound, n in mine.items() if bound <= float(le)) for le in ("1", "2", "2.5", "5", "10", "15", "+Inf")}
            rows.append((f"t{k}", 5 * k, pod, p.histogram("e2e_request_latency_seconds", within, k * 0.95 * sum(bound * n for bound, n in mine.items()), 10 * k)))
    return rows


case(
    "b19-two-long-answers",
    taking({2: 9, 15: 1}, with_gaps=True),
    """
pod-d.e2e_p99@t0..t2 near 14.5  10 + 5 x (19.8 - 18) / 2
pod-a.e2e_p99@t0..t2 near 2.45  2 + 0.5 x (19.8 - 18) / 2
finding not slow-replica  its tokens come as its peers' do: two of its answers are longer
""",
)
case(
    "b20-two-take-long-nobody-says-why",
    taking({2: 9, 15: 1}, with_gaps=False),
    """
pod-d.e2e_p99@t0..t2 near 14.5
finding not slow-replica  one of ten twice, where the peers have none of 50: once in six looks
""",
)
case(
    "b21-all-take-long-nobody-says-why",
    taking({10: 10}, with_gaps=False),
    """
slow_replica@t0..t2 eq pod-d
finding verdict slow-replica
""",
)
case(
    "b22-longer-answers",
    taking({10: 10}, with_gaps=True),
    """
finding not slow-replica  its tokens come as its peers' do: its answers are longer
""",
)


# --- lost, or told so --------------------------------------------------------------------------------------------------------------------------
def served(finished, ok, failed):
    p = page(finished=finished, gaps=100 * finished, gap_sum=0.7 * finished)
    h = Page()
    h.counter("http_requests_total", 100 + ok, handler="/v1/completions", method="POST", status="2xx")
    h.counter("http_requests_total", failed, handler="/v1/completions", method="POST", status="5xx")
    p.lines += h.lines
    return p


def fleet(k, bad):
    return [(f"t{k}", 30 * k, pod, served(60 * k, 60 * k, 0) if pod != "pod-c" else bad) for pod in ("pod-a", "pod-b", "pod-c", "pod-d")]


case(
    "b09-server-errors-are-not-lost",
    fleet(0, served(0, 0, 0)) + fleet(1, served(30, 30, 30)) + fleet(2, served(60, 60, 60)),
    """
requests_ended_without_finish@t0..t2 near 0  480 answers - 60 of 5xx - 420 finished
pod-c.http_5xx@t0..t2 near 60
pod-c.finding verdict http-errors
finding not aborts-not-counted
""",
)
case(
    "b10-one-loses-requests",
    fleet(0, served(0, 0, 0)) + fleet(1, served(30, 60, 0)) + fleet(2, served(60, 120, 0)),
    """
requests_ended_without_finish@t0..t2 near 60
pod-c.finding verdict aborts-not-counted
pod-a.finding not aborts-not-counted
finding not http-errors
""",
)
case(
    "b11-front-end-catches-up",
    fleet(0, served(560, 0, 0)) + fleet(1, served(590, 40, 0)) + fleet(2, served(620, 80, 0)),
    """
finding not aborts-not-counted  180 answered since the start, 720 finished: they are told later
""",
)


# --- drafts ------------------------------------------------------------------------------------------------------------------------------------
def drafting(accepted, drafts=400):
    rows = []
    for k in (0, 1):
        for pod, n in accepted.items():
            p = page(finished=20 * k, gaps=500 * k, gap_sum=4 * k)
            p.counter("spec_decode_num_drafts_total", drafts * k).counter("spec_decode_num_draft_tokens_total", 3 * drafts * k)
            rows.append((f"t{k}", 30 * k, pod, p.counter("spec_decode_num_accepted_tokens_total", n * k)))
    return rows


case(
    "b12-drafts-fail-at-one",
    drafting({"pod-a": 800, "pod-b": 790, "pod-c": 300, "pod-d": 820, "pod-e": 800}),
    """
pod-c.spec_acceptance_rate@t0..t1 near 0.25  300 / 1200
pod-c.finding verdict acceptance-outlier
pod-a.finding not acceptance-outlier
""",
)
case(
    "b13-drafts-differ-by-chance",
    drafting({"pod-a": 200, "pod-b": 190, "pod-c": 130, "pod-d": 210, "pod-e": 195}, drafts=110),
    """
finding not acceptance-outlier  0.39 beside 0.6: 4.4 standard errors of 110 drafts
""",
)

# --- the watch begins, and one goes silent -----------------------------------------------------------------------------------------------------
case(
    "b14-the-first-round",
    [("t0", 0, "pod-a", page()), ("t1", 10, "pod-a", page(5, 100, 1)), ("t1", 10, "pod-b", page()), ("t2", 20, "pod-a", page(9, 200, 2)), ("t2", 20, "pod-b", page(5, 100, 1))],
    """
finding not scrape-partial
fleet.targets_reporting@t0 near 1
""",
)


def cached(n, prompts, hits, seconds):
    p = page(finished=50 * n).counter("prefix_cache_queries_total", prompts * n).counter("prefix_cache_hits_total", hits * n)
    p.lines = [line for line in p.lines if "prompt_tokens_total" not in line]
    return p.counter("prompt_tokens_total", prompts * n).histogram("request_prefill_time_seconds", {"0.3": 50 * n, "+Inf": 50 * n}, seconds * n, 50 * n)


case(
    "b15-seconds-saved-with-one-silent",
    [
        ("t0", 0, "pod-a", cached(0, 20000, 5000, 3)),
        ("t0", 0, "pod-b", cached(0, 20000, 5000, 3)),
        ("t1", 60, "pod-a", cached(1, 20000, 5000, 3)),
        ("t1", 60, "pod-b", None, {"status": 0, "duration": "10.000"}),
    ],
    """
pod-a.prefill_seconds_saved@t0..t1 near 1  3 s x 5000 / 15000
prefill_seconds_saved@t0..t1 atleast 1
""",
)
