/* bench: what the files of `goodput bench` share; not for other commands. */
#ifndef GOODPUT_CLI_BENCH_H
#define GOODPUT_CLI_BENCH_H

#include "cli/arguments.h"
#include "cli/page.h"
#include "load/load.h"
#include "slo/tally.h"

enum bench_backend { BACKEND_OPENAI_CHAT, BACKEND_OPENAI, BACKEND_VLLM, BACKEND_RESPONSES };
enum ramp_strategy { RAMP_NONE, RAMP_LINEAR, RAMP_EXPONENTIAL };

struct bench_arguments {
	struct global_arguments global;
	/* the endpoint */
	const char *base_url, *host, *endpoint, *model, *served_model, *token_file, *ca_file, *extra_body, *request_prefix;
	struct option_strings headers;
	int64_t port, request_timeout_ms, connect_timeout_ms, idle_timeout_ms, ready_s, retries;
	int backend; /* enum bench_backend */
	int usage;   /* enum load_usage */
	bool insecure, fresh, streams, probe;
	/* the load */
	const char *workload, *rate, *burstiness, *ramp_from, *ramp_to, *range_ratio, *temperature, *top_p, *speed;
	int64_t prompts, concurrency, duration_ms, warmup_ms, cooldown_ms, warmups, grace_ms, seed, salt, input_len, output_len, prefix_len,
		threads;
	int64_t ramp_ms;
	int ramp;    /* enum ramp_strategy */
	int arrival; /* 0: as told by the others; else enum workload_process + 1 */
	bool ignore_eos;
	/* the judgement */
	struct option_strings goodput;
	const char *evaluation, *price;
	struct option_strings by; /* of bench report, as `each` */
	bool each;
	/* the server's own figures */
	struct option_strings metrics;
	const char *record;
	bool scrape;
	/* the sweep */
	bool sweep;
	const char *sweep_rates, *attainment, *thresholds;
	int64_t recovery_ms, expires_ms;
	/* what is kept */
	const char *records, *html, *junit, *result_dir, *result_file, *label, *percentiles, *percentile_metrics, *prompts_file;
	struct option_strings metadata;
	bool save, detailed, append, no_progress;
	int64_t worst;
};

/* bench_options.c */
extern const struct option_table bench_tables[];

struct server_watch; /* bench_server.c */

/* A bench: arguments made ready. */
struct bench {
	const struct bench_arguments *a;
	struct arena arena;
	struct str url; /* as given */
	struct endpoint *endpoint;
	struct workload *workload;
	struct workload_plan plan;
	struct slo_set slo;
	struct load_options load;
	struct evaluation_set evaluation;
	struct buf headers, members;
	const char *token; /* bearer token, or NULL */
	double price;      /* per hour; NaN */
	bool has_evaluation;
};

/* One measured run. */
struct bench_run {
	struct load_result load;
	struct records records; /* .requests is load.requests */
	struct tally tally;
	struct server_watch *server; /* NULL: not watched */
	double target_rate;          /* NaN: closed loop */
	struct error records_error;  /* set: --records could not be written to its end; what was measured stands */
};

/* bench_setup.c: reads and checks everything before any load is sent. */
bool bench_open(struct bench *b, const struct bench_arguments *a, const struct option_strings *operands, struct error *e);
void bench_close(struct bench *b);
struct http_answer;
/* bench_probe.c: an ordinary request to the server, with the token; the answer lives in the bench's arena. False: no answer with status
 * 200. */
bool bench_get(struct bench *b, const char *path, int64_t timeout_ms, struct http_answer *answer);
/* bench_probe.c: fills in the model's name from /v1/models when none was given, waits until the endpoint answers, and sends one request. */
bool bench_probe(struct bench *b, struct error *e);

/* bench_fingerprint.c: adds what the server says of itself to the run's facts; nothing where it does not. */
void bench_fingerprint(struct bench *b, struct records_run *run);

/* bench_run.c */
bool bench_measure(struct bench *b, struct bench_run *run, struct error *e);
void bench_run_fini(struct bench_run *run);
int bench_status(const struct bench *b, const struct bench_run *run);

/* bench_page.c: the summary for people; bench_json.c: for scripts. */
void bench_page(struct page *p, const struct bench *b, const struct bench_run *run);
void bench_json(const struct bench *b, const struct bench_run *run, struct buf *out);
/* Indices of the --worst completed requests, worst first; the caller frees them (mem_free). */
size_t *bench_worst(const struct bench *b, const struct bench_run *run, size_t *count);
/* "poisson, 4 requests/s" ... */
void bench_arrivals_phrase(const struct workload_plan *plan, struct buf *out);

/* bench_server.c: the server's own /metrics meanwhile. */
struct server_watch *server_watch_start(const struct bench *b, struct error *e);
/* Ends scraping and reads what it says. */
void server_watch_stop(struct server_watch *s);
void server_watch_free(struct server_watch *s);
/* Seconds; NaN when the server does not tell. `signal` as the catalogue calls it. */
double server_watch_value(const struct server_watch *s, const char *signal);
/* The reading as people see it, into `out`. False: unknown; the reason is written. */
bool server_watch_phrase(const struct server_watch *s, const char *signal, struct buf *out);
size_t server_watch_targets(const struct server_watch *s);
const char *server_watch_trouble(const struct server_watch *s); /* NULL: there are figures */

/* bench_files.c: what the arguments ask to keep. */
bool bench_files_check(const struct bench_arguments *a, struct error *e);
bool bench_files_write(const struct bench *b, const struct bench_run *run, struct error *e);

/* bench_sweep.c: what a sweep needs is checked before any load. */
bool bench_sweep_check(const struct bench *b, struct error *e);
int bench_sweep(struct bench *b);

/* bench_thresholds.c: the highest rate that held, and what was seen at it. */
struct bench_knee {
	double rate;
	size_t engines;                      /* servers that share it */
	double prompt_tokens, output_tokens; /* means */
	double ttft_p99_ms, tpot_p99_ms, e2e_p99_ms;
};
bool bench_thresholds_write(const struct bench *b, const struct bench_knee *k, struct error *e);

#endif
