/* mirror: a copy of what an existing Prometheus has of a fleet of LLM servers: who is in it, when it was scraped, and the samples that the
 * catalogue can use. Taken once (check --prometheus), or again and again, when each time only what is new is asked for (serve). */
#ifndef GOODPUT_WATCH_MIRROR_H
#define GOODPUT_WATCH_MIRROR_H

#include "catalog/catalog.h"
#include "promql/backend.h"
#include "scrape/fleet.h"

struct mirror;
/* `only_engines`: where no engine's family is, nothing is fetched, instead of whatever else is known of all jobs. */
struct mirror *mirror_new(bool only_engines);
void mirror_free(struct mirror *m);
/* What to ask, and for what; `is_local`: of this process, not over a network. Jobs and names are looked up again at the next fetch. */
void mirror_point(struct mirror *m, struct backend *b, bool is_local, const struct catalog *c);

struct mirror_span {
	int64_t from_ms, to_ms;
	struct error *e;
};
struct mirror_series {
	struct series_view *items;
	size_t count;
};
struct mirror_batch {
	struct mirror_series up; /* and scrape_duration_seconds, scrape_samples_scraped */
	struct mirror_series samples;
	bool any_engine;                      /* an engine's family is there */
	const struct promql_element *present; /* `up` at the end of the span, where it is not stale; of a mirror of engines only */
	size_t present_count;
};
/* Asks only: nothing of the fleet changes. From any thread, one call at a time. The batch is in the arena, its labels are the backend's. */
bool mirror_fetch(struct mirror *m, struct arena *arena, const struct mirror_span *span, struct mirror_batch *batch);
/* `up` and the start times of processes alone: who of the fleet was there when. */
bool mirror_fetch_presence(
	struct mirror *m, struct arena *arena, const struct mirror_span *span, struct mirror_series *up, struct mirror_series *starts);
/* Puts a batch in: targets that are new, records of scrapes, samples into the fleet's sink. What is there already is left as it is. */
void mirror_apply(struct mirror *m, struct fleet *f, struct arena *scratch, const struct mirror_batch *batch);
/* Does the Prometheus scrape it no more? Known where it had an `up`, after each mirror_apply of a mirror of engines only. */
bool mirror_has_gone(const struct mirror *m, const struct target *t);
/* The target is about to go. */
void mirror_forget(struct mirror *m, const struct target *t);

/* Has the name the prefix of an engine or of a GPU exporter? What any program exports (process_, http_) tells nothing. */
bool is_engine_name(const struct catalog *c, struct str name);

#endif
