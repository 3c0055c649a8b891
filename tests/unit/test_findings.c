/* Findings: every detector and red line with a scene that raises it and one that must not; merging, suppression, verdict, exit status. */
#include "base/error.h"
#include "catalog/expression.h"
#include "scenes.h"

struct scene {
	const char *name;
	struct {
		const char *target;
		int t_s;
		const char *page;
	} pages[10];
	const char *raised, *not_raised; /* ids, by blanks */
};

#define A(t, page)                                                                                                                         \
	{                                                                                                                                  \
		"pod-a", t, page                                                                                                           \
	}
#define B(t, page)                                                                                                                         \
	{                                                                                                                                  \
		"pod-b", t, page                                                                                                           \
	}

#define ANSWERED "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"2xx\"} "
/* An engine that stands still with three running, and before it its last step. */
#define STANDS "running 3\nwaiting 0\nsteps 60\ntokens 200\nstop 10\n" ANSWERED
#define LAST_STEP A(0, "running 3\nwaiting 0\nsteps 50\ntokens 100\nstop 9\n" ANSWERED "9"), A(10, STANDS "10")

static const struct scene scenes[] = {
	/* progress */
	{ "an engine that stands still for a minute",
		{ A(0, "running 2\nwaiting 0\nsteps 50\ntokens 100"), A(30, "running 2\nwaiting 0\nsteps 60\ntokens 200"),
			A(60, "running 2\nwaiting 1\nsteps 60\ntokens 200"), A(90, "running 2\nwaiting 3\nsteps 60\ntokens 200") },
		"engine-stalled", "idle queue-backlog kv-pressure" },
	{ "a queue from which nobody is let in",
		{ A(0, "running 2\nwaiting 0\nsteps 50\ntokens 100"), A(30, "running 0\nwaiting 2\nsteps 60\ntokens 200"),
			A(60, "running 0\nwaiting 2\nsteps 60\ntokens 200"), A(100, "running 0\nwaiting 2\nsteps 60\ntokens 200") },
		"engine-stalled", "idle" },
	{ "stands still for less",
		{ A(0, "running 2\nkv 0.99\nsteps 50\ntokens 100"), A(15, "running 2\nkv 0.99\nsteps 60\ntokens 200"),
			A(30, "running 2\nkv 0.99\nsteps 60\ntokens 200") },
		"stale-gauges", "engine-stalled" },
	{ "ghosts are not judged",
		{ A(0, "running 9\nwaiting 40\nkv 0.99\nsteps 5\ntokens 5"), A(15, "running 9\nwaiting 40\nkv 0.99\nsteps 5\ntokens 5"),
			A(30, "running 9\nwaiting 40\nkv 0.99\nsteps 5\ntokens 5") },
		"stale-gauges", "kv-pressure queue-backlog" },
	{ "all clients left at once, and nobody came since", { LAST_STEP, A(20, STANDS "13"), A(50, STANDS "13"), A(90, STANDS "13") },
		"stale-gauges", "engine-stalled" },
	{ "clients leave an engine that stands still, one after the other",
		{ LAST_STEP, A(20, STANDS "11"), A(50, STANDS "12"), A(90, STANDS "13") }, "engine-stalled", "" },
	{ "all left an engine that stands still, and who comes leaves too",
		{ LAST_STEP, A(20, STANDS "13"), A(50, STANDS "13"), A(90, STANDS "14") }, "engine-stalled", "" },
	{ "whether clients left before the first scrape is not known", { A(0, STANDS "20"), A(10, STANDS "20"), A(90, STANDS "20") },
		"engine-stalled", "" },
	{ "tokens flow, whatever the step counter says",
		{ A(0, "running 2\nsteps 5\ntokens 100"), A(45, "running 2\nsteps 5\ntokens 900"),
			A(90, "running 2\nsteps 5\ntokens 1900") },
		"", "engine-stalled" },
	{ "quiet",
		{ A(0, "running 0\nwaiting 0\ntokens 9\nprompts 9\nstop 3"), A(30, "running 0\nwaiting 0\ntokens 9\nprompts 9\nstop 3") },
		"idle", "stale-gauges engine-stalled" },
	{ "not quiet",
		{ A(0, "running 0\nwaiting 0\ntokens 9\nprompts 9\nstop 3"), A(30, "running 0\nwaiting 0\ntokens 99\nprompts 19\nstop 4") },
		"", "idle" },
	{ "the start time moved",
		{ A(0, "tokens 900\nprocess_start_time_seconds 1000"), A(15, "tokens 950\nprocess_start_time_seconds 1000"),
			A(30, "tokens 20\nprocess_start_time_seconds 1025") },
		"restart", "processes-take-turns" },
	{ "a clock corrected by a second is no restart",
		{ A(0, "tokens 900\nprocess_start_time_seconds 1000"), A(15, "tokens 950\nprocess_start_time_seconds 1001") }, "",
		"restart" },
	{ "counters fell, no start time", { A(0, "tokens 900\nstop 9"), A(15, "tokens 950\nstop 9"), A(30, "tokens 20\nstop 1") },
		"restart", "processes-take-turns" },
	{ "two processes behind one address",
		{ A(0, "tokens 1000"), A(10, "tokens 50"), A(20, "tokens 1100"), A(30, "tokens 60"), A(40, "tokens 1200"),
			A(50, "tokens 70") },
		"processes-take-turns", "" },
	{ "averages of an interval that is over",
		{ A(0, "sglang:num_running_reqs{model_name=\"m\"} 0\nsglang:gen_throughput{model_name=\"m\"} 229\n"
		       "sglang:prompt_tokens_total{model_name=\"m\"} 100\nsglang:generation_tokens_total{model_name=\"m\"} 100"),
			A(60, "sglang:num_running_reqs{model_name=\"m\"} 0\nsglang:gen_throughput{model_name=\"m\"} 229\n"
			      "sglang:prompt_tokens_total{model_name=\"m\"} 100\nsglang:generation_tokens_total{model_name=\"m\"} 100") },
		"stale-gauges", "" },
	/* scrapes */
	{ "one of two does not answer", { A(0, "running 1"), B(0, NULL) }, "scrape-partial", "" },
	{ "both answer", { A(0, "running 1"), B(0, "running 1") }, "", "scrape-partial" },
	{ "a broken page", { A(0, "running 1\nwaiting 2\nthis is { not a metric") }, "page-malformed", "no-engine-metrics" },
	{ "a series twice", { A(0, "running 1\nrunning 2\nwaiting 0") }, "duplicate-series", "page-malformed" },
	{ "a page of something else", { A(0, "node_load1 0.5\ngo_goroutines 3") }, "no-engine-metrics", "engine-families-missing" },
	{ "engine families vanish", { A(0, "running 1\ntokens 5"), A(15, "python_info{version=\"3\"} 1") }, "engine-families-missing",
		"no-engine-metrics" },
	{ "the clock went back", { A(100, "running 1"), A(90, "running 2") }, "clock-backwards", "" },
	/* names, ranks */
	{ "an old name", { A(0, "vllm:num_requests_running{model_name=\"m\"} 1\nvllm:gpu_cache_usage_perc{model_name=\"m\"} 0.4") },
		"metric-renamed", "" },
	{ "new names", { A(0, "running 1\nkv 0.4") }, "", "metric-renamed version-mix" },
	{ "one gauge by pid",
		{ A(0, "running 1\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",pid=\"1\"} 0\n"
		       "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",pid=\"2\"} 0.6") },
		"per-pid-gauge", "duplicate-rank-series" },
	{ "the same from each rank",
		{ A(0, "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 3\nsglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\"} "
		       "3") },
		"duplicate-rank-series", "per-pid-gauge dp-imbalance" },
	{ "data ranks are different schedulers",
		{ A(0, "sglang:num_running_reqs{model_name=\"m\",dp_rank=\"0\",tp_rank=\"0\"} 3\n"
		       "sglang:num_running_reqs{model_name=\"m\",dp_rank=\"1\",tp_rank=\"0\"} 3") },
		"", "duplicate-rank-series" },
	/* quantiles */
	{ "beyond the last bucket", { A(0, "e2e 30:0 60:0 +Inf:0 =0"), A(60, "e2e 30:40 60:60 +Inf:100 =10100") }, "quantile-capped",
		"quantile-unresolved" },
	{ "inside the last bucket", { A(0, "e2e 30:0 60:0 +Inf:0 =0"), A(60, "e2e 30:40 60:100 +Inf:100 =3000") }, "", "quantile-capped" },
	{ "everything in a wide first bucket", { A(0, "queue 0.3:0 0.5:0 =0"), A(60, "queue 0.3:100 0.5:100 =0.2") }, "quantile-unresolved",
		"queue-bound-capacity" },
	{ "a first bucket narrow enough", { A(0, "itl 0.01:0 0.5:0 =0"), A(60, "itl 0.01:100 0.5:100 =0.2") }, "", "quantile-unresolved" },
	{ "different buckets", { A(0, "ttft 0.1:1 1:2 =1"), B(0, "ttft 0.2:1 1:2 =1") }, "bucket-mismatch", "" },
	{ "equal buckets", { A(0, "ttft 0.1:1 1:2 =1"), B(0, "ttft 0.1:9 1:22 =1") }, "", "bucket-mismatch" },
	{ "buckets that fall", { A(0, "ttft 0.1:0 1:0 =0"), A(60, "ttft 0.1:50 1:20 =9") }, "invalid-histogram", "" },
	/* replicas */
	{ "one engine has it all", { A(0, "running@0 30\nrunning@1 2\nrunning@2 0\nrunning@3 0") }, "dp-imbalance", "" },
	{ "one request is no imbalance", { A(0, "running@0 1\nrunning@1 0\nrunning@2 0\nrunning@3 0") }, "", "dp-imbalance" },
	{ "even", { A(0, "running@0 9\nrunning@1 8\nrunning@2 8\nrunning@3 7") }, "", "dp-imbalance" },
	{ "a slow replica",
		{ A(0, "ttft 0.06:0 0.08:0 1:0 5:0 =0"), B(0, "ttft 0.06:0 0.08:0 1:0 5:0 =0"),
			A(60, "ttft 0.06:90 0.08:100 1:100 5:100 =6"), B(60, "ttft 0.06:10 0.08:10 1:10 5:100 =300") },
		"slow-replica ttft-high", "" },
	{ "a few slow requests are no slow replica",
		{ A(0, "ttft 0.06:0 0.08:0 1:0 5:0 =0"), B(0, "ttft 0.06:0 0.08:0 1:0 5:0 =0"),
			A(60, "ttft 0.06:90 0.08:100 1:100 5:100 =6"), B(60, "ttft 0.06:8 0.08:8 1:8 5:10 =6") },
		"", "slow-replica" },
	/* leaks */
	{ "the idle floor rises",
		{ A(0, "running 0\nwaiting 0\nkv 0.1\nsteps 10"), A(60, "running 9\nwaiting 0\nkv 0.5\nsteps 20"),
			A(120, "running 0\nwaiting 0\nkv 0.3\nsteps 30"), A(180, "running 9\nwaiting 0\nkv 0.6\nsteps 40"),
			A(240, "running 0\nwaiting 0\nkv 0.5\nsteps 50"), A(300, "running 0\nwaiting 0\nkv 0.7\nsteps 60") },
		"kv-leak", "kv-pressure stale-gauges" },
	{ "the idle floor goes up and down",
		{ A(0, "running 0\nwaiting 0\nkv 0.1\nsteps 10"), A(120, "running 0\nwaiting 0\nkv 0.3\nsteps 30"),
			A(240, "running 0\nwaiting 0\nkv 0.05\nsteps 50"), A(300, "running 0\nwaiting 0\nkv 0.2\nsteps 60") },
		"", "kv-leak" },
	{ "idle all the time is one quiet moment",
		{ A(0, "running 0\nkv 0.1\nsteps 10"), A(60, "running 0\nkv 0.2\nsteps 10"), A(120, "running 0\nkv 0.3\nsteps 10"),
			A(180, "running 0\nkv 0.4\nsteps 10") },
		"", "kv-leak" },
	{ "host memory grows",
		{ A(0, "running 5\nsteps 1\nprocess_resident_memory_bytes 1e9"),
			A(60, "running 5\nsteps 2\nprocess_resident_memory_bytes 1.1e9"),
			A(120, "running 5\nsteps 3\nprocess_resident_memory_bytes 1.21e9"),
			A(180, "running 5\nsteps 4\nprocess_resident_memory_bytes 1.3e9"),
			A(240, "running 5\nsteps 5\nprocess_resident_memory_bytes 1.4e9") },
		"rss-leak", "kv-leak" },
	{ "it grows with the load",
		{ A(0, "running 5\nprocess_resident_memory_bytes 1e9"), A(60, "running 10\nprocess_resident_memory_bytes 1.1e9"),
			A(120, "running 15\nprocess_resident_memory_bytes 1.21e9"),
			A(180, "running 20\nprocess_resident_memory_bytes 1.3e9"),
			A(240, "running 25\nprocess_resident_memory_bytes 1.4e9") },
		"", "rss-leak" },
	{ "warm-up is no leak",
		{ A(0, "running 5\nprocess_resident_memory_bytes 1e9"), A(60, "running 5\nprocess_resident_memory_bytes 1.3e9"),
			A(120, "running 5\nprocess_resident_memory_bytes 1.4e9"), A(180, "running 5\nprocess_resident_memory_bytes 1.4e9"),
			A(240, "running 5\nprocess_resident_memory_bytes 1.4e9"),
			A(300, "running 5\nprocess_resident_memory_bytes 1.4e9") },
		"", "rss-leak" },
	/* losses */
	{ "requests end without a record",
		{ A(0, "running 0\nwaiting 0\nstop 0\nttft 1:0 =0"), A(60, "running 0\nwaiting 0\nstop 0\nttft 1:5 =1") },
		"aborts-not-counted", "" },
	{ "all accounted for", { A(0, "running 0\nwaiting 0\nstop 0\nttft 1:0 =0"), A(60, "running 2\nwaiting 0\nstop 3\nttft 1:5 =1") },
		"", "aborts-not-counted" },
	{ "prefills of before explain a few",
		{ A(0, "running 9\nwaiting 0\nstop 0\nttft 1:0 =0"), A(60, "running 9\nwaiting 0\nstop 60\nttft 1:62 =60") }, "",
		"aborts-not-counted" },
	/* mix */
	{ "no output by design",
		{ A(0, "prompts 0\ntokens 0\nstop 0\ntpot 0.01:0 =0"), A(60, "prompts 900\ntokens 0\nstop 30\ntpot 0.01:30 =0") },
		"pooling-model", "idle tpot-high" },
	{ "a chat model", { A(0, "prompts 0\ntokens 0\nstop 0"), A(60, "prompts 900\ntokens 300\nstop 30") }, "", "pooling-model idle" },
	{ "two sizes of prompts",
		{ A(0, "plen 100:0 500:0 1000:0 5000:0 10000:0 =0"), A(60, "plen 100:50 500:50 1000:50 5000:50 10000:100 =352500") },
		"two-humped-mix", "" },
	{ "one broad size",
		{ A(0, "plen 100:0 500:0 1000:0 5000:0 10000:0 =0"), A(60, "plen 100:10 500:40 1000:80 5000:95 10000:100 =117500") }, "",
		"two-humped-mix" },
	{ "nothing stops by itself", { A(0, "stop 0\nlength 0"), A(60, "stop 0\nlength 50") }, "ignore-eos", "truncated" },
	{ "cut by length", { A(0, "stop 0\nlength 0"), A(60, "stop 60\nlength 40") }, "truncated", "ignore-eos completion-low" },
	/* cache */
	{ "external queries count twice",
		{ A(0, "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} "
		       "0\nvllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 0\n"
		       "vllm:external_prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} "
		       "0\nvllm:external_prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 0"),
			A(60, "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} "
			      "1000\nvllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 600\n"
			      "vllm:external_prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} "
			      "1000\nvllm:external_prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 200") },
		"external-queries-double-counted", "" },
	{ "thrashing",
		{ A(0, "running 50\nwaiting 60\nkv 0.99\npreempted 0\ntokens 0\nstop 0"),
			A(30, "running 50\nwaiting 90\nkv 1.0\npreempted 90\ntokens 900\nstop 9") },
		"kv-thrash preemptions kv-pressure queue-backlog", "" },
	{ "full and fine",
		{ A(0, "running 50\nwaiting 0\nkv 0.95\npreempted 0\ntokens 0\nstop 0"),
			A(30, "running 50\nwaiting 0\nkv 0.95\npreempted 0\ntokens 9000\nstop 90") },
		"kv-pressure", "kv-thrash preemptions queue-backlog" },
	{ "full with nobody in it", { A(0, "running 0\nwaiting 0\nkv 0.95\ntokens 0"), A(30, "running 0\nwaiting 0\nkv 0.95\ntokens 5") },
		"", "kv-pressure" },
	/* queue */
	{ "deferred", { A(0, "running 18\nwaiting 7\ncapacity 0\ndeferred 7"), A(15, "running 18\nwaiting 8\ncapacity 0\ndeferred 8") },
		"waiting-deferred", "queue-backlog queue-bound-capacity" },
	{ "TTFT is queueing",
		{ A(0, "running 8\nwaiting 6\nttft 10:0 60:0 =0\nqueue 10:0 60:0 =0\nprefill 10:0 60:0 =0\ntokens 0"),
			A(60, "running 8\nwaiting 6\nttft 10:0 60:50 =2000\nqueue 10:0 60:50 =1800\nprefill 10:50 60:50 =200\ntokens 99") },
		"queue-bound-capacity ttft-high", "prefill-bound" },
	{ "TTFT is prefill",
		{ A(0, "ttft 1:0 10:0 60:0 =0\nqueue 1:0 60:0 =0\nprefill 10:0 60:0 =0"),
			A(60, "ttft 1:0 10:50 60:50 =200\nqueue 1:50 60:50 =2\nprefill 10:50 60:50 =190") },
		"prefill-bound ttft-high", "queue-bound-capacity" },
	/* speculation, LoRA, transfers, sleep */
	{ "drafts are thrown away",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0\naccepted0 0\naccepted1 0"),
			A(60, "drafts 1000\ndraft_tokens 2000\naccepted 400\naccepted0 300\naccepted1 100") },
		"alpha-low", "spec-identity-broken" },
	{ "drafts pay",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0\naccepted0 0\naccepted1 0"),
			A(60, "drafts 1000\ndraft_tokens 2000\naccepted 1600\naccepted0 900\naccepted1 700") },
		"", "alpha-low spec-identity-broken" },
	{ "positions of another engine",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0\naccepted0 0\naccepted1 0"),
			A(60, "drafts 1000\ndraft_tokens 2000\naccepted 1600\naccepted0 500\naccepted1 300") },
		"spec-identity-broken", "" },
	{ "adapters wait",
		{ A(0, "running 1\nvllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"a,b\",waiting_lora_adapters=\"c\"} "
		       "100") },
		"lora-slots-full", "" },
	{ "adapters came and went",
		{ A(0, "running 1\nvllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"a,b\",waiting_lora_adapters=\"c\"} 100\n"
		       "vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=\"a\",waiting_lora_adapters=\"\"} 200") },
		"", "lora-slots-full" },
	{ "a transfer fails",
		{ A(0, "stop 0\ntransfers_failed 0\ntransfers_expired 0\nxfer 1:0 =0"),
			A(60, "stop 9\ntransfers_failed 1\ntransfers_expired 0\nxfer 1:9 =1") },
		"kv-transfer-failure one-side-unscraped", "" },
	{ "both sides are watched",
		{ A(0, "stop 0\nlength 0\ntransfers_failed 0\ntransfers_expired 0"),
			B(0, "stop 0\ntransfers_failed 0\ntransfers_expired 0\nxfer 1:0 =0"),
			A(60, "stop 0\nlength 9\ntransfers_failed 0\ntransfers_expired 0"),
			B(60, "stop 9\ntransfers_failed 0\ntransfers_expired 0\nxfer 1:9 =1") },
		"", "one-side-unscraped kv-transfer-failure truncated" },
	{ "asleep", { A(0, "running 0\nasleep 1") }, "sleeping", "" },
	{ "awake", { A(0, "running 0\nasleep 0") }, "", "sleeping" },
	/* GPUs */
	{ "a spinning kernel",
		{ A(0, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 100\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 0.02\nDCGM_FI_PROF_DRAM_ACTIVE{gpu=\"0\"} "
		       "0.01\n"
		       "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 0") },
		"busy-but-idle-sm", "compute-saturated memory-bandwidth-bound no-engine-metrics" },
	{ "decoding",
		{ A(0, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 100\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 0.93\nDCGM_FI_PROF_DRAM_ACTIVE{gpu=\"0\"} "
		       "0.78\n"
		       "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} 0.06\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} "
		       "73400\nDCGM_FI_DEV_FB_FREE{gpu=\"0\"} 7600") },
		"memory-bandwidth-bound", "compute-saturated busy-but-idle-sm vram-pressure" },
	{ "another card is watched",
		{ A(0, "running 3\ntokens 0"), B(0, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0"), A(30, "running 3\ntokens 9000"),
			B(30, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 0") },
		"gpu-contradiction", "" },
	{ "a card with work",
		{ A(0, "running 3\ntokens 0"), B(0, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50"), A(30, "running 3\ntokens 9000"),
			B(30, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50") },
		"", "gpu-contradiction" },
	{ "an XID error", { A(0, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 79") }, "gpu-xid", "" },
	{ "no XID error", { A(0, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 0") }, "", "gpu-xid" },
	/* outcome */
	{ "errors", { A(0, "stop 0\nerror 0"), A(60, "stop 900\nerror 100") }, "completion-low error-rate-high", "" },
	{ "one error of thirty decides nothing", { A(0, "stop 0\nerror 0"), A(60, "stop 29\nerror 1") }, "",
		"completion-low error-rate-high" },
	/* red lines that no other scene meets */
	{ "a full batch, a growing queue",
		{ A(0, "running 50\nwaiting 10\nkv 0.5\ntokens 0\nstop 0"), A(60, "running 50\nwaiting 60\nkv 0.5\ntokens 900\nstop 50") },
		"waiting-up-running-flat efficiency-low queue-backlog", "kv-pressure kv-thrash" },
	{ "a batch that fills",
		{ A(0, "running 0\nwaiting 0\nkv 0.1\ntokens 0\nstop 0"), A(60, "running 50\nwaiting 0\nkv 0.5\ntokens 900\nstop 5") }, "",
		"waiting-up-running-flat efficiency-low queue-backlog" },
	{ "prefills interrupt",
		{ A(0, "running 9\nkv 0.3\ntokens 0\nprompts 0\nitl 0.025:0 0.2:0 0.5:0 =0"),
			A(60, "running 9\nkv 0.3\ntokens 1000\nprompts 90000\nitl 0.025:900 0.2:900 0.5:1000 =50") },
		"prefill-interference tpot-high", "decode-pressure gc-pauses" },
	{ "collections as often as streams stop",
		{ A(0, "running 16\nitl 0.2:0 0.5:0 =0\npython_gc_collections_total{generation=\"2\"} 500"),
			A(60, "running 16\nitl 0.2:9360 0.5:10000 =347\npython_gc_collections_total{generation=\"2\"} 540") },
		"gc-pauses", "" },
	{ "streams stop, a collection now and then",
		{ A(0, "running 16\nitl 0.2:0 0.5:0 =0\npython_gc_collections_total{generation=\"2\"} 500"),
			A(60, "running 16\nitl 0.2:9360 0.5:10000 =347\npython_gc_collections_total{generation=\"2\"} 504") },
		"", "gc-pauses" },
	{ "drafts fail at one of two",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0"), B(0, "drafts 0\ndraft_tokens 0\naccepted 0"),
			A(60, "drafts 400\ndraft_tokens 1200\naccepted 200"), B(60, "drafts 400\ndraft_tokens 1200\naccepted 900") },
		"acceptance-outlier", "" },
	{ "drafts of two that differ",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0"), B(0, "drafts 0\ndraft_tokens 0\naccepted 0"),
			A(60, "drafts 400\ndraft_tokens 1200\naccepted 500"), B(60, "drafts 400\ndraft_tokens 1200\naccepted 900") },
		"", "acceptance-outlier" },
	{ "decode pressure",
		{ A(0, "running 9\nkv 0.95\ntokens 0\nprompts 0\ntpot 0.1:0 0.5:0 =0"),
			A(60, "running 9\nkv 0.95\ntokens 9000\nprompts 100\ntpot 0.1:50 0.5:100 =20") },
		"decode-pressure tpot-high kv-pressure", "prefill-interference" },
	{ "an erratic tail with a queue",
		{ A(0, "e2e 1:0 50:0 100:0 =0\nqueue 1:0 50:0 100:0 =0"),
			A(60, "e2e 1:190 50:190 100:200 =900\nqueue 1:190 50:200 100:200 =300") },
		"no-interleaving e2e-erratic", "" },
	{ "a narrow tail", { A(0, "e2e 1:0 5:0 100:0 =0"), A(60, "e2e 1:100 5:200 100:200 =400") }, "", "no-interleaving e2e-erratic" },
	{ "refused at the door",
		{ A(0, "stop 0\nvllm:admission_rejections_total{reason=\"max_num_queued_reqs\",model_name=\"m\"} 0"),
			A(60, "stop 9\nvllm:admission_rejections_total{reason=\"max_num_queued_reqs\",model_name=\"m\"} 7") },
		"admission-refused", "" },
	{ "NaN",
		{ A(0, "vllm:corrupted_requests_total{engine=\"0\",model_name=\"m\"} 0"),
			A(60, "vllm:corrupted_requests_total{engine=\"0\",model_name=\"m\"} 1") },
		"corrupted-output", "" },
	{ "the CPU tier is full",
		{ A(0, "vllm:kv_offload_allocation_failure_total{engine=\"0\",model_name=\"m\"} 0"),
			A(60, "vllm:kv_offload_allocation_failure_total{engine=\"0\",model_name=\"m\"} 3") },
		"kv-offload-failures", "" },
	{ "5xx and 4xx",
		{ A(0, "stop 0\nhttp_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"2xx\"} 0\n"
		       "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"4xx\"} "
		       "0\nhttp_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"5xx\"} 0"),
			A(60, "stop 900\nhttp_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"2xx\"} 900\n"
			      "http_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"4xx\"} "
			      "60\nhttp_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"5xx\"} 40") },
		"http-errors rejections-outside-engine", "completion-low" },
	{ "health checks alone",
		{ A(0, "stop 0\nhttp_requests_total{handler=\"/health\",method=\"GET\",status=\"5xx\"} 0"),
			A(60, "stop 900\nhttp_requests_total{handler=\"/health\",method=\"GET\",status=\"5xx\"} 500") },
		"", "http-errors rejections-outside-engine" },
	{ "transfers eat the TTFT", { A(0, "stop 0\nttft 1:0 =0\nxfer 1:0 =0"), A(60, "stop 50\nttft 1:50 =20\nxfer 1:50 =15") },
		"disaggregation-overhead", "" },
	{ "the prompts got longer",
		{ A(0, "plen 100:0 9000:0 =0"), A(15, "plen 100:90 9000:90 =4500"), A(30, "plen 100:180 9000:180 =9000"),
			A(45, "plen 100:180 9000:270 =459000"), A(60, "plen 100:180 9000:360 =909000") },
		"workload-shift", "" },
	{ "TTFT up, TPOT flat",
		{ A(0, "ttft 0.5:0 5:0 =0\ntpot 0.05:0 =0"), A(15, "ttft 0.5:90 5:90 =9\ntpot 0.05:90 =3"),
			A(30, "ttft 0.5:180 5:180 =18\ntpot 0.05:180 =6"), A(45, "ttft 0.5:230 5:270 =70\ntpot 0.05:270 =9"),
			A(60, "ttft 0.5:280 5:360 =130\ntpot 0.05:360 =12") },
		"ttft-up-tpot-flat", "workload-shift" },
	{ "turns in front of uneven work",
		{ A(0, "running 5\nstop 0"), B(0, "running 5\nstop 0"), { "pod-c", 0, "running 30\nstop 0" }, A(60, "running 5\nstop 50"),
			B(60, "running 5\nstop 50"), { "pod-c", 60, "running 30\nstop 50" } },
		"round-robin-signature", "dp-imbalance" },
	{ "work dealt by load",
		{ A(0, "running 5\nstop 0"), B(0, "running 5\nstop 0"), { "pod-c", 0, "running 6\nstop 0" }, A(60, "running 5\nstop 50"),
			B(60, "running 5\nstop 50"), { "pod-c", 60, "running 6\nstop 50" } },
		"", "round-robin-signature" },
};

static bool in_list(const char *list, const char *id)
{
	struct str rest = str_from(list), one;
	while (str_split(&rest, ' ', &one))
		if (str_is(one, id))
			return true;
	return false;
}

static void act(const struct scene *scene, const char *more_catalog, struct stage *s)
{
	stage_open(s, more_catalog);
	for (size_t i = 0; i < ARRAY_LEN(scene->pages) && scene->pages[i].target; i++)
		stage_page(s, scene->pages[i].target, 1790000000 + scene->pages[i].t_s, scene->pages[i].page);
}

static bool is_raised(const struct report *r, struct str id)
{
	char text[64];
	snprintf(text, sizeof text, STR_FMT, STR_ARG(id));
	return report_finding(r, text) != NULL;
}

static void judge(const struct scene *scene, const struct report *r)
{
	struct str rest = str_from(scene->raised), id;
	while (str_split(&rest, ' ', &id))
		if (id.len && !is_raised(r, id))
			fail_msg("%s: " STR_FMT " was not raised", scene->name, STR_ARG(id));
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];
		char text[64];
		snprintf(text, sizeof text, STR_FMT, STR_ARG(f->spec->id));
		if (!f->undecided && in_list(scene->not_raised, text))
			fail_msg("%s: %s was raised: " STR_FMT, scene->name, text, STR_ARG(f->title));
		if (str_find(f->title, '?') >= 0 || str_find(f->title, '{') >= 0)
			fail_msg("%s: %s has an unfilled title: " STR_FMT, scene->name, text, STR_ARG(f->title));
		assert_true(f->where_count >= 1 && f->where_count <= f->where_all);
		assert_non_null(f->scope);
	}
}

static void test_scenes(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		struct stage s;
		act(&scenes[i], "findings: []", &s);
		judge(&scenes[i], stage_report(&s, NULL));
		stage_close(&s);
	}
}

/* ---- the catalogue ---- */

/* Every placeholder of every title is a signal; every finding has evidence or a detector, an explanation and, when it can page, an action.
 */
static void test_playbook_is_whole(void **state)
{
	struct stage s;
	stage_open(&s, "findings: []");
	VEC_EACH (&s.catalog.findings, p) {
		const struct finding_spec *f = *p;
		struct str rest = f->title;
		for (ptrdiff_t open; (open = str_find(rest, '{')) >= 0;) {
			rest = str_skip(rest, (size_t)open + 1 + (rest.ptr[open + 1] == '#'));
			ptrdiff_t close = str_find(rest, '}');
			assert_true(close > 0);
			if (!catalog_signal(&s.catalog, arena_cstr(&s.arena, str_head(rest, (size_t)close))))
				fail_msg(STR_FMT ": no signal " STR_FMT, STR_ARG(f->id), STR_ARG(str_head(rest, (size_t)close)));
		}
		if (!f->explain.len)
			fail_msg(STR_FMT " does not explain itself", STR_ARG(f->id));
		if (f->severity >= SEVERITY_WARNING && !f->action_count)
			fail_msg(STR_FMT " says nothing to do", STR_ARG(f->id));
	}
	stage_close(&s);
}

/* ---- merging, suppression ---- */

static const struct scene three_full = { "three of four are full",
	{ A(0, "running 9\nkv 0.99\ntokens 0"), B(0, "running 9\nkv 0.98\ntokens 0"), { "pod-c", 0, "running 9\nkv 0.97\ntokens 0" },
		{ "pod-d", 0, "running 9\nkv 0.2\ntokens 0" }, A(30, "running 9\nkv 0.99\ntokens 9"), B(30, "running 9\nkv 0.98\ntokens 9"),
		{ "pod-c", 30, "running 9\nkv 0.97\ntokens 9" }, { "pod-d", 30, "running 9\nkv 0.2\ntokens 9" } },
	"", "" };

static void test_like_findings_of_a_pool_are_one(void **state)
{
	struct stage s;
	act(&three_full, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	const struct finding *f = report_finding(r, "kv-pressure");
	assert_non_null(f);
	assert_int_equal(f->scope->kind, SCOPE_POOL);
	assert_int_equal(f->where_count, 3);
	assert_int_equal(f->where_all, 4);
	assert_str(f->where[0], "pod-a");
	assert_true(f->now && f->onset_ms == 1790000030000);
	size_t n = 0;
	for (size_t i = 0; i < r->finding_count; i++)
		n += str_is(r->findings[i].spec->id, "kv-pressure");
	assert_int_equal(n, 1);
	stage_close(&s);
}

static const struct scene thrash = { "thrash",
	{ A(0, "running 50\nwaiting 60\nkv 0.99\npreempted 0\ntokens 0\nstop 0"),
		A(30, "running 50\nwaiting 90\nkv 1.0\npreempted 90\ntokens 900\nstop 9") },
	"", "" };

static void test_a_cause_takes_its_symptoms(void **state)
{
	struct stage s;
	act(&thrash, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	assert_str(r->findings[0].spec->id, "kv-thrash");
	assert_null(r->findings[0].suppressed_by);
	static const char *const symptoms[] = { "kv-pressure", "preemptions", "queue-backlog" };
	for (size_t i = 0; i < ARRAY_LEN(symptoms); i++) {
		const struct finding *f = report_finding(r, symptoms[i]);
		assert_non_null(f);
		assert_ptr_equal(f->suppressed_by, r->findings[0].spec);
	}
	assert_int_equal(r->exit_status, EXIT_CRITICAL);
	assert_int_equal(r->worst, SEVERITY_CRITICAL);
	assert_str(
		r->verdict, "CRITICAL: pod-a: thrashing its KV cache (preemptions 3/s, 10x per finished request); now: lower max_num_seqs");
	stage_close(&s);
}

/* A cause at one target explains nothing of another. */
static void test_a_cause_elsewhere_does_not(void **state)
{
	static const struct scene scene = { "",
		{ A(0, "running 50\nwaiting 60\nkv 0.99\npreempted 0\ntokens 0\nstop 0"),
			B(0, "running 5\nkv 0.95\npreempted 0\ntokens 0\nstop 0"),
			A(30, "running 50\nwaiting 90\nkv 1.0\npreempted 90\ntokens 900\nstop 9"),
			B(30, "running 5\nkv 0.95\npreempted 0\ntokens 900\nstop 90") },
		"", "" };
	struct stage s;
	act(&scene, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	const struct finding *cause = report_finding(r, "kv-thrash"), *f = report_finding(r, "kv-pressure");
	assert_non_null(cause);
	assert_non_null(f); /* merged over both, and pod-b's half has no cause */
	assert_int_equal(f->where_count, 2);
	assert_null(f->suppressed_by);
	stage_close(&s);
}

static void test_the_catalogue_can_be_changed(void **state)
{
	struct stage s;
	act(&thrash, "findings: [{id: kv-thrash, disabled: true}, {id: kv-pressure, when: kv_usage > 0.5, severity: info}]", &s);
	const struct report *r = stage_report(&s, NULL);
	assert_null(report_finding(r, "kv-thrash"));
	const struct finding *f = report_finding(r, "kv-pressure");
	assert_non_null(f);
	assert_int_equal(f->spec->severity, SEVERITY_INFO);
	stage_close(&s);
}

/* ---- time ---- */

static void test_what_ended_is_told_as_past(void **state)
{
	static const struct scene scene = { "",
		{ A(0, "running 9\nkv 0.2\ntokens 0"), A(30, "running 9\nkv 0.95\ntokens 9"), A(60, "running 9\nkv 0.96\ntokens 19"),
			A(90, "running 9\nkv 0.3\ntokens 29") },
		"", "" };
	struct stage s;
	act(&scene, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	const struct finding *f = report_finding(r, "kv-pressure");
	assert_non_null(f);
	assert_false(f->now);
	assert_int_equal(f->onset_ms, 1790000030000);
	assert_int_equal(f->last_ms, 1790000060000);
	assert_str(f->title, "KV cache 96 % full");
	assert_int_equal(r->exit_status, EXIT_WARNING);
	stage_close(&s);
}

/* Each new judgement looks at the past through the same windows, also where it has more moments than it can look at. */
static void test_what_is_over_stays_as_it_was_told(void **state)
{
	struct stage s;
	struct error e = { 0 };
	int64_t onset_ms = 0;

	stage_open(&s, "");
	for (int t_s = 0; t_s < 600; t_s += 10) {
		char page[128];
		snprintf(page, sizeof page, "running 2\nwaiting %d\nkv %s\nsteps %d\ntokens %d", t_s >= 200 && t_s < 300 ? 5 : 0,
			t_s >= 200 && t_s < 300 ? "0.99" : "0.5", t_s, t_s * 9);
		stage_page(&s, "pod-a", t_s, page);
	}
	assert_true(evidence_build(&s.evidence, &s.arena, &s.catalog, &s.fleet, s.backend, 0, 590000, &e));
	s.has_evidence = true;
	enum { HISTORY = 46 };
	for (size_t last = HISTORY - 1; last < s.moment_count; last++) {
		struct report_request rq = { .moments = s.moments + last + 1 - HISTORY, .moment_count = HISTORY, .max_moments = 12 };
		rq.shown = (struct window){ .from_ms = s.moments[last - 4], .to_ms = s.moments[last], .history_ms = 0 };
		struct report *r = report_new(&s.arena, &s.evidence, &rq);
		const struct finding *f = report_finding(r, "kv-pressure");
		assert_in_range(r->moments_evaluated, 6, 14);
		assert_non_null(f);
		assert_false(f->now);
		onset_ms = onset_ms ? onset_ms : f->onset_ms;
		assert_in_range(onset_ms, 200000, 260000);
		assert_int_equal(f->onset_ms, onset_ms);
	}
	stage_close(&s);
}

static void test_what_changed_at_onset(void **state)
{
	static const struct scene scene = { "",
		{ A(0, "running 9\nkv 0.2\ntokens 0\nttft 1:0 =0\nplen 100:0 9000:0 =0"),
			A(30, "running 9\nkv 0.2\ntokens 9\nttft 1:30 =3\nplen 100:30 9000:30 =1500"),
			A(60, "running 9\nkv 0.96\ntokens 19\nttft 1:90 =9\nplen 100:30 9000:90 =481500") },
		"", "" };
	struct stage s;
	act(&scene, "findings: []", &s);
	const struct finding *f = report_finding(stage_report(&s, NULL), "kv-pressure");
	assert_non_null(f);
	assert_int_equal(f->changed_count, 2);
	assert_str(f->changed[0], "arrivals went from 1/s to 2/s (+100 %)");
	assert_true(str_starts(f->changed[1], STR("mean prompt length went from 50 tokens to 8000 tokens")));
	stage_close(&s);
}

static void test_drift_against_a_reference(void **state)
{
	static const struct scene scene = { "",
		{ A(0, "drafts 0\ndraft_tokens 0\naccepted 0"), A(60, "drafts 1000\ndraft_tokens 2000\naccepted 1600"),
			A(120, "drafts 2000\ndraft_tokens 4000\naccepted 1900") },
		"", "" };
	struct stage s;
	act(&scene, "findings: []", &s);
	struct window early = { .from_ms = 1790000000000, .to_ms = 1790000060000, .history_ms = 1790000000000 };
	const struct report *r = stage_report(&s, &early);
	assert_non_null(report_finding(r, "acceptance-drop"));
	assert_true(r->has_reference);
	stage_close(&s);
}

/* ---- who is asked, what is said ---- */

static void test_actions_are_filled_in(void **state)
{
	struct stage s;
	act(&thrash, "findings: []", &s);
	const struct finding *f = report_finding(stage_report(&s, NULL), "kv-thrash");
	assert_str(f->actions[0].text, "Lower max_num_seqs");
	assert_str(f->actions[0].command, "vllm serve m --max-num-seqs HALF_OF_NOW");
	for (size_t i = 0; i < f->action_count; i++)
		assert_true(str_search(f->actions[i].command, STR("$model")) < 0);
	assert_true(f->evidence_count >= 5);
	stage_close(&s);
}

static void test_blast_radius(void **state)
{
	struct stage s;
	static const struct scene scene = { "", { A(0, "ttft 1:0 10:0 =0"), A(100, "ttft 1:50 10:100 =200") }, "", "" };
	act(&scene, "findings: []", &s);
	const struct finding *f = report_finding(stage_report(&s, NULL), "ttft-high");
	assert_non_null(f);
	assert_int_equal(f->blast.kind, READING_VALUE);
	assert_true(f->blast.low > 0.49 && f->blast.low < 0.51);
	stage_close(&s);
}

static void test_batch_pools_have_no_ttft_objective(void **state)
{
	struct stage s;
	static const struct scene scene = { "", { A(0, "ttft 1:0 10:0 =0"), A(100, "ttft 1:50 10:100 =200") }, "", "" };
	act(&scene, "pools: [{name: night, class: batch, match: {target: pod-a}}]", &s);
	assert_null(report_finding(stage_report(&s, NULL), "ttft-high"));
	stage_close(&s);
}

static void test_undecided_is_listed_apart(void **state)
{
	struct stage s;
	static const struct scene scene = { "", { A(0, "stop 0\nerror 0"), A(60, "stop 396\nerror 4") }, "", "" };
	act(&scene, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	bool found = false;
	for (size_t i = 0; i < r->finding_count; i++)
		found |= r->findings[i].undecided && str_is(r->findings[i].spec->id, "completion-low");
	assert_true(found);
	assert_int_equal(r->exit_status, EXIT_FINE);
	assert_str(str_head(r->verdict, 3), "OK:");
	stage_close(&s);
}

static void test_exit_status(void **state)
{
	static const struct {
		struct scene scene;
		int status;
	} cases[] = {
		{ { "fine", { A(0, "running 1\ntokens 1"), A(30, "running 1\ntokens 99") }, "", "" }, EXIT_FINE },
		{ { "nobody answers", { A(0, NULL), B(0, NULL) }, "", "" }, EXIT_UNKNOWN },
		{ { "part unreachable", { A(0, "running 1\ntokens 1"), B(0, NULL) }, "", "" }, EXIT_UNKNOWN },
		{ { "no engine", { A(0, "node_load1 1") }, "", "" }, EXIT_UNKNOWN },
		{ { "critical beats unreachable",
			  { A(0, "stop 0\ntransfers_failed 0\nxfer 1:0 =0"), B(0, NULL), A(30, "stop 5\ntransfers_failed 4\nxfer 1:9 =1"),
				  B(30, NULL) },
			  "", "" },
			EXIT_CRITICAL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stage s;
		act(&cases[i].scene, "findings: []", &s);
		const struct report *r = stage_report(&s, NULL);
		if (r->exit_status != cases[i].status)
			fail_msg("%s: exit status %d: " STR_FMT, cases[i].scene.name, r->exit_status, STR_ARG(r->verdict));
		stage_close(&s);
	}
}

static void test_scopes_by_name(void **state)
{
	struct stage s;
	static const struct scene scene = { "", { A(0, "running@0 1\nrunning@1 2"), B(0, "running 7") }, "", "" };
	act(&scene, "findings: []", &s);
	const struct report *r = stage_report(&s, NULL);
	const struct scope *engine = report_scope(r, STR("engine1"));
	assert_non_null(engine);
	assert_int_equal(engine->kind, SCOPE_ENGINE);
	assert_true(report_reading(r, engine, "running")->low == 2);
	assert_int_equal(report_scope(r, STR("pod-b/engine0"))->kind, SCOPE_TARGET);
	assert_int_equal(report_scope(r, STR("fleet"))->kind, SCOPE_FLEET);
	assert_null(report_scope(r, STR("pod-z")));
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_scenes), cmocka_unit_test(test_playbook_is_whole),
		cmocka_unit_test(test_like_findings_of_a_pool_are_one), cmocka_unit_test(test_a_cause_takes_its_symptoms),
		cmocka_unit_test(test_a_cause_elsewhere_does_not), cmocka_unit_test(test_the_catalogue_can_be_changed),
		cmocka_unit_test(test_what_ended_is_told_as_past), cmocka_unit_test(test_what_is_over_stays_as_it_was_told),
		cmocka_unit_test(test_what_changed_at_onset), cmocka_unit_test(test_drift_against_a_reference),
		cmocka_unit_test(test_actions_are_filled_in), cmocka_unit_test(test_blast_radius),
		cmocka_unit_test(test_batch_pools_have_no_ttft_objective), cmocka_unit_test(test_undecided_is_listed_apart),
		cmocka_unit_test(test_exit_status), cmocka_unit_test(test_scopes_by_name) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
