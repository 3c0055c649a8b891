/* evidence: all samples of a fleet, indexed by what they mean: (target, scheduler) × canonical metric × exposed name → series.
 * Built once from a backend for a span of time; every window inside the span is then evaluated without asking again. */
#ifndef GOODPUT_SIGNALS_EVIDENCE_H
#define GOODPUT_SIGNALS_EVIDENCE_H

#include "catalog/binding.h"
#include "catalog/catalog.h"
#include "promql/backend.h"
#include "scrape/fleet.h"

enum series_part { PART_VALUE, PART_BUCKET, PART_SUM, PART_COUNT };

struct member { /* one exposed series of a metric */
	struct series_view view;
	enum series_part part;
	double le;                    /* of a bucket */
	struct str duplicate, writer; /* values of tp_rank… and pid, "" when none */
	uint64_t identity;            /* hash of labels without le, duplicate and writer labels */
};

struct member_list { /* of one exposed name */
	const struct engine_spec *engine;
	const struct engine_metric *entry;
	const struct name_spec *name;
	VEC(struct member) members;
	bool repeats; /* some carry a rank or a writer: the same figure may be there again */
};

struct scheduler { /* an engine core: one value of the scheduler labels of a target; "" = the target itself */
	size_t target;
	struct str key;                    /* "0"; "" */
	bool is_gpu;                       /* a GPU of an exporter */
	struct str model;                  /* model_name, "" when none */
	VEC(struct member_list) * metrics; /* by metric_spec.index; in the order of engine_metric.names */
};

struct family_seen {
	struct str name;
	enum metric_type type;
	VEC(struct str) labels;
	VEC(struct series_view) series;
};

struct target_evidence {
	const struct target *target;
	size_t *schedulers; /* indices, "" first when there is one */
	size_t scheduler_count;
	VEC(struct family_seen) families; /* sorted by name */
	VEC(int64_t) restarts;            /* times at which the process start time moved: the first sample with the new one */
	int64_t interval_ms;
	VEC(struct {
		uint64_t key;
		struct binding *binding;
	})
	bindings;                   /* by the set of names shown */
	struct binding **by_scrape; /* of each answered scrape, filled on demand */
};

struct evidence {
	struct arena *arena;
	struct arena samples; /* of all views: a report needs them no more once it is made */
	const struct catalog *catalog;
	const struct fleet *fleet;
	VEC(struct target_evidence) targets; /* in fleet order */
	VEC(struct scheduler) schedulers;
	int64_t from_ms, to_ms;
	const struct pool_spec **pool_specs; /* configured or by default; filled by scopes_build */
	struct trends *trends;               /* histories summed up once; detectors/trends.c, made on demand */
};

/* Fetches and indexes everything of the fleet between from and to. What reports made from it hold on to is in `arena`, so it may end before
 * they do. */
bool evidence_build(struct evidence *ev, struct arena *arena, const struct catalog *c, const struct fleet *f, struct backend *b,
	int64_t from_ms, int64_t to_ms, struct error *e);
void evidence_fini(struct evidence *ev);

/* The binding of what the target showed at its newest answered scrape at or before `t_ms`; NULL when it never answered. */
const struct binding *evidence_binding(struct evidence *ev, size_t target, int64_t t_ms);
/* The newest scrape at or before t; NULL when none. Never one that was refused because the clock went back. */
const struct scrape_record *evidence_scrape(const struct evidence *ev, size_t target, int64_t t_ms);
/* Up, as Prometheus has it: a whole page. */
static inline bool scrape_is_whole(const struct scrape_record *r)
{
	return r && r->outcome == SCRAPE_OK;
}
/* Are there samples? Of a page with an error the whole lines before it are kept. */
static inline bool scrape_answered(const struct scrape_record *r)
{
	return scrape_is_whole(r) ||
	       (r && r->samples > 0 && (r->outcome == SCRAPE_PARTIAL || r->outcome == SCRAPE_CUT || r->outcome == SCRAPE_BAD_ENCODING));
}
/* Index of the newest sample of the view at or before t that is no stale marker and not older than `max_age_ms`; -1. A stale marker ends
 * the search. */
ptrdiff_t view_at(const struct series_view *v, int64_t t_ms, int64_t max_age_ms);
/* The members of a metric at a scheduler under the target's binding at t; NULL when unbound there. */
const struct member_list *evidence_members(struct evidence *ev, size_t scheduler, const struct metric_spec *m, int64_t t_ms);

#endif
