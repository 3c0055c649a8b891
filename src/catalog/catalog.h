/* catalog: the product's knowledge as data. Four kinds of YAML, embedded at build from catalog/, overridable and extensible by files of
 * the same format (--catalog FILE, or `signals:`, `findings:`, `pools:` in goodput.yaml):
 *
 *   engines/NAME.yaml  which exposed names carry which canonical metric, in which version, and how parallel series merge (binding.h)
 *   signals.yaml       every figure: an expression over canonical metrics and other signals (expression.h)
 *   findings.yaml      what can be wrong: red line (an expression) or detector, severity, evidence, actions, what it suppresses
 *   pools              of the user's configuration: matchers, role, class, SLOs
 *
 * Loading checks everything that can be checked without data: unknown keys, metrics, signals and detectors, types, cycles, patterns. An
 * entry with an id that exists replaces the fields that it names; `disabled: true` removes it. The formats: README.md of catalog/. */
#ifndef GOODPUT_CATALOG_CATALOG_H
#define GOODPUT_CATALOG_CATALOG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/regex.h"
#include "base/vec.h"
#include "base/yaml.h"
#include "model/series.h"

#include <stdbool.h>

struct expression;

/* ---- canonical metrics and the engines that export them ---- */

/* How the values of parallel schedulers (labels engine, dp_rank; and different targets) become one level. Of tp_rank and its like one is
 * taken, of pid the one that moved last: never added (binding.h). */
enum merge_rule { MERGE_SUM, MERGE_MAX, MERGE_MEAN };

struct metric_spec { /* a canonical metric: "ttft", "running", "finished" */
	struct str id, title, unit;
	enum metric_type type; /* gauge, counter, histogram, info */
	enum merge_rule merge; /* of levels across schedulers */
	bool interval_gauge;   /* an average over the engine's last logging interval: stale once its counters stop */
	size_t index;
};

struct name_spec {               /* one exposed name that carries a metric in an engine */
	struct str name;         /* as printed: histogram base name, counter with _total; or one part of a histogram or summary, to be
				    read as a plain counter: "vllm:iteration_tokens_total_count" */
	struct str since, until; /* versions; empty = open */
	double scale;            /* exposed value × scale = canonical unit (ms → s: 0.001); 1 */
	struct {
		struct str label, value;
	} where[4]; /* only series with these label values (value: "a|b" alternatives) */
	size_t where_count;
	struct {
		struct str canonical, exposed;
	} labels[4]; /* labels with another name here: status → status_code (name_spec_label) */
	size_t label_count;
	double valid_low, valid_high; /* an exposed value outside [low, high] means "no data": the series counts as absent at that time.
					 -INFINITY, INFINITY by default; DCGM's blank 9223372036854775794, vLLM's hit rate of -1 */
	struct str invalid_reason;    /* "prefix caching is off" */
	struct str value_labels[2];   /* the value is not the sample's but the product of the numbers in these labels (info metrics:
					 value_labels: [num_gpu_blocks, block_size]); empty = the sample's value */
	struct str note;              /* caveat shown with the reading */
	bool deprecated;              /* a reading from it raises metric-renamed; also when a newer name exists and this one was bound */
};

struct engine_metric {
	const struct metric_spec *metric;
	struct name_spec *names; /* newest first: the first present one is bound */
	size_t name_count;
	bool optional;            /* off by default in the engine (needs a flag or a feature): its absence is "not enabled", not "absent" */
	struct str optional_hint; /* the flag that turns it on */
	struct str gone_reason;   /* why no newer name follows: "V1 preempts by recomputation" */
	struct {
		struct str flavour, why;
	} not_in[4]; /* flavours that never export it */
	size_t not_in_count;
};

/* What must hold on a page; every given part must. Families are given by the main prefix, or by "prefix*". */
struct page_condition {
	struct str seen;            /* this family is shown */
	struct str label, no_label; /* with / on no series with this label (a label of any `seen` family) */
	struct str missing;         /* this family is not shown, on a page that is complete (engine_spec.complete) */
	bool foreign;               /* a family with a "prefix:" that no engine here has */
};

/* A statement about the version: when the condition holds, it is at least `from`, at most `to` ("0.15": with all 0.15.x). Every bound name
 * with since and until is such a statement already. */
struct version_mark {
	struct page_condition when;
	struct str flavour; /* only in this flavour; empty = all */
	struct str from, to;
};

struct flavour_spec {
	struct str name;
	struct page_condition when;
	bool versionless; /* names say nothing about the version there (servers that imitate the engine) */
};

/* An exporter expected on the same page. */
struct companion_spec {
	struct str exporter, why; /* id; why it may be missing */
	struct str not_in[4];     /* flavours without it */
	size_t not_in_count;
};

struct engine_spec {
	struct str id, title;     /* "vllm", "vLLM" */
	struct str checked_up_to; /* "0.32" */
	struct str *prefixes;     /* of family names: any match detects the engine */
	size_t prefix_count;
	struct str *families; /* exact names that detect it too (engines without prefix) */
	size_t family_count;
	struct str *labels; /* all of these must be on one of those families, none of the next: a router that borrows names */
	size_t label_count;
	struct str *no_labels;
	size_t no_label_count;
	bool exporter;        /* not an engine: DCGM, process and HTTP families; may sit beside an engine on one page */
	bool in_front;        /* routes to engines that may be watched too: the same requests are counted there again */
	struct str *complete; /* families of every whole page: with all of them, what is missing says something */
	size_t complete_count;
	struct str *variants; /* other spellings of prefixes[0] (Ray: "ray_vllm:", "ray_vllm_"); names are listed in each */
	size_t variant_count;
	struct str *known; /* families known but bound to no canonical metric: not "unknown to us" */
	size_t known_count;
	struct engine_metric *metrics;
	size_t metric_count;
	struct version_mark *marks;
	size_t mark_count;
	struct flavour_spec *flavours; /* the first that holds */
	size_t flavour_count;
	struct companion_spec *companions;
	size_t companion_count;
	struct str *scheduler_labels; /* "engine", "dp_rank": different schedulers */
	size_t scheduler_label_count;
	struct str *duplicate_labels; /* "tp_rank", "pp_rank", "moe_ep_rank": the same scheduler again */
	size_t duplicate_label_count;
	struct str *writer_labels; /* "pid": the same gauge written by several processes */
	size_t writer_label_count;
	struct str *model_labels; /* "model_name", "model" */
	size_t model_label_count;
};

/* ---- signals and findings ---- */

enum signal_kind {
	SIGNAL_LEVEL,
	SIGNAL_DELTA,
	SIGNAL_AGE,
	SIGNAL_COUNT,
	SIGNAL_RATE,
	SIGNAL_RATIO,
	SIGNAL_MEAN,
	SIGNAL_QUANTILE,
	SIGNAL_SHARE,
	SIGNAL_CELLS,
	SIGNAL_CHANGE,
	SIGNAL_FORMULA,
	SIGNAL_DETECTED
};
const char *signal_kind_name(enum signal_kind kind);

struct signal_spec {
	struct str id, title, group, unit,
		help;           /* group: outcome, latency, throughput, cache, queue, speculation, transfer, process, gpu, fleet */
	enum signal_kind kind;  /* derived from the expression's head; SIGNAL_DETECTED: published by a detector */
	struct str requirement; /* "A5" */
	struct {
		struct expression *expression;
		struct expression *guard; /* when decidedly false the reading is unknown with `guard_reason` */
		struct str guard_reason;
		struct str note; /* shown with the reading when this alternative was used */
	} * definitions;         /* tried in order: the first whose metrics are bound at the scope */
	size_t definition_count;
	double min_events; /* below: red lines on it are undecided */
	bool headline;     /* among the readings of the short output */
	bool is_fraction;  /* 0..1: an unreachable target's share is [0, 1] */
	struct str source_file;
	int line, column;
	size_t index;
};

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
const char *severity_name(enum severity s);

enum action_grade { ACTION_NOW, ACTION_SHIFT, ACTION_LATER };
const char *action_grade_name(enum action_grade grade); /* as in files: "now", "shift", "later" */
struct action {
	enum action_grade grade;
	struct str text, risk,
		command; /* risk and command may be empty; $target, $model, $engine, $url, $page are filled in for a finding */
};

/* At which scopes a finding is looked for. */
enum finding_scope { AT_ENGINE = 1, AT_TARGET = 2, AT_POOL = 4, AT_FLEET = 8, AT_GPU = 16 };

struct finding_spec {
	struct str id, title, explain; /* title: a sentence with {signal} placeholders for readings */
	enum severity severity;
	struct expression *critical; /* when it holds too, the severity is critical; NULL = never raised */
	struct expression *when;     /* red line; NULL for detectors */
	struct str detector;         /* name in signals/detectors; empty for red lines */
	unsigned scopes;             /* finding_scope bits */
	bool fresh;                  /* waits for trusted gauges */
	bool about_data;             /* about the data or the watch: never suppressed */
	bool symptom;                /* a bare red line: causes suppress it */
	struct str class_only;       /* "interactive": only pools of this class; empty = all */
	struct str *roles;           /* only pools of these roles; none = all */
	size_t role_count;
	struct str *evidence; /* signal ids shown with it */
	size_t evidence_count;
	struct str *counter; /* signal ids that would speak against it, shown as counter-evidence */
	size_t counter_count;
	struct str *suppresses; /* finding ids */
	size_t suppresses_count;
	struct action *actions;
	size_t action_count;
	struct str requirement, source_file;
	int line, column;
	size_t index;
};

enum pool_role { ROLE_MIXED, ROLE_PREFILL, ROLE_DECODE, ROLE_POOLING };
const char *pool_role_name(enum pool_role role);

struct pool_spec {
	struct str name;
	struct {
		struct str label;
		struct str pattern;
		struct regex *re;
	} * match; /* on target labels, "target" and "model" */
	size_t match_count;
	enum pool_role role;
	bool role_given;
	struct str success; /* finish reasons that count as success, "stop|length"; empty = not given */
	struct regex *success_re;
	struct str class_name;                    /* "interactive" (default), "batch" */
	double slo_ttft_s, slo_tpot_s, slo_e2e_s; /* NAN when not given */
	double memory_limit_bytes;                /* NAN when not given */
	double gpus, gpu_price;                   /* of a replica; what one costs in an hour; NAN when not given */
};

struct catalog {
	struct arena arena;
	VEC(struct metric_spec *) metrics;
	VEC(struct engine_spec *) engines;
	VEC(struct signal_spec *) signals;
	VEC(struct finding_spec *) findings;
	VEC(struct pool_spec *) pools;
	VEC(struct regex *) regexes; /* of label conditions; the catalogue's own */
	struct map metric_by_id, signal_by_id, finding_by_id;
};

/* The embedded catalogue, then `files` in order. False with a positioned error. */
bool catalog_init(struct catalog *c, const char *const *files, size_t file_count, struct error *e);
/* As catalog_init, from texts in memory (tests, fuzzing): loads the embedded catalogue only when asked. */
bool catalog_init_text(struct catalog *c, bool embedded, struct str source, struct str text, struct error *e);
void catalog_fini(struct catalog *c);
/* Every detector that a finding names is in `names` (NULL-terminated); else false with an error at that finding. */
bool catalog_check_detectors(const struct catalog *c, const char *const *names, struct error *e);

const struct metric_spec *catalog_metric(const struct catalog *c, const char *id);
const struct signal_spec *catalog_signal(const struct catalog *c, const char *id);
const struct finding_spec *catalog_finding(const struct catalog *c, const char *id);
/* Nearest known id, for "did you mean"; empty when none is near. */
struct str catalog_nearest_signal(const struct catalog *c, struct str id);
const struct engine_spec *catalog_engine(const struct catalog *c, const char *id);
/* The exposed label that carries the canonical one ("status" → "status_code"); the same when nothing is said. */
struct str name_spec_label(const struct name_spec *name, struct str canonical);
/* "0.9.2" against "0.10.1": by numbers; "1.1.0rc2" is before "1.1.0". An empty version is unbounded: pass what is meant. */
int version_cmp(struct str a, struct str b);
/* Inside [since, until], open where empty; an until of "0.15" holds all of 0.15.x. */
bool version_within(struct str version, struct str since, struct str until);

#endif
