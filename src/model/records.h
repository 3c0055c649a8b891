/* records: runs of requests as JSON Lines: one object for the run, then one per request ("goodput.records/1", docs/formats/records.md).
 *
 *   {"schema":"goodput.records/1","start":1790000000.25,"duration_ms":60000,"workload":"xxh3:…","server":{"version":"0.10.1"},…}
 *   {"id":0,"due":12.5,"submitted":12.53,"first_output":210.4,…,"deliveries":"<base64 of deliveries.h>"}
 *
 * Times are milliseconds since the run's start with up to six decimals (exact to the nanosecond). A member that is absent is unknown. */
#ifndef GOODPUT_MODEL_RECORDS_H
#define GOODPUT_MODEL_RECORDS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/timeline.h"

#define RECORDS_SCHEMA "goodput.records/1"

enum { RECORDS_FACTS_MAX = 64 };

/* A free fact of the run that comparisons print and match: "server.version", "server.flag.max_num_seqs", "client.cpu_share" … */
struct records_fact {
	struct str name, value;
};

/* The run. Durations and times in ns, NEVER = unknown. Texts are borrowed. */
struct records_run {
	double start_unix;       /* wall clock at the epoch; NaN: unknown */
	int64_t window_start_ns; /* the measured window [start, end): requests belong to it by intended (else submitted) time */
	int64_t window_end_ns;
	struct str label, target, workload, workload_name;                 /* workload: its content hash */
	double rate;                                                       /* asked requests per second; NaN: closed loop */
	uint32_t concurrency;                                              /* asked; UNKNOWN: open loop */
	double price_per_hour;                                             /* of what served it; NaN: not given */
	double client_lag_p99_ms, schedule_delay_p99_ms, client_cpu_share; /* NaN: not measured */
	bool client_bound;                                                 /* the client was the bottleneck: figures are not the server's */
	bool partial;                                                      /* interrupted */
	struct str client_reason;                                          /* why client_bound */
	struct records_fact facts[RECORDS_FACTS_MAX];
	size_t fact_count;
};

void records_run_init(struct records_run *run);
/* False when there is no room. Both texts are borrowed. */
bool records_fact_add(struct records_run *run, struct str name, struct str value);
/* The fact's value; empty when absent. */
struct str records_fact(const struct records_run *run, const char *name);

/* One line each, with its newline. The run's line may be written again at the end of the file (then the last one counts): duration,
 * client's health and `partial` are known only then. */
void records_write_run(struct buf *out, const struct records_run *run);
void records_write(struct buf *out, const struct timeline *t);

struct records {
	struct records_run run;
	VEC(struct timeline) requests; /* in file order */
	size_t cut_bytes;              /* of an unfinished last line, left out; 0: the file is whole */
};

void records_init(struct records *r);
void records_fini(struct records *r);
/* Reads a whole file. Texts live in the arena. Strict: an unknown member, a wrong type, times that contradict each other are errors with
 * line and column. A last line without newline is left out and told (a run that was killed while writing). */
bool records_read(struct records *r, struct arena *arena, struct str source, struct str text, struct error *e);

/* Requests that someone else measured: a table with a header line, columns separated by tabs or commas. Known columns (case and '-' do not
 * matter): id, start, due, ttft, tpot, e2e (also e2el, latency) each with _s, _ms, _us or _ns; output_tokens, prompt_tokens (also
 * completion_, input_), cached_tokens, http_status, outcome, error, message, finish_reason, model, tenant, pool, group, temperature,
 * attempts. Others are left out and named in `ignored`. An empty field is unknown. */
bool records_read_table(struct records *r, struct arena *arena, struct str source, struct str text, struct buf *ignored, struct error *e);
/* A result of `vllm bench serve --save-result --save-detailed`. */
bool records_read_vllm(struct records *r, struct arena *arena, struct str source, struct str text, struct error *e);
/* A file of any of these kinds, or standard input ("-"). A cut or a column left out is told as a warning. */
bool records_load(struct records *r, struct arena *arena, const char *path, struct error *e);

#endif
