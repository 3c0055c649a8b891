/* generation: one reading of everything that is configured: catalogue, targets, rules. A reload reads a new one whole, puts it to use, and
 * retires the old, which lives on while something still refers to it. */
#ifndef GOODPUT_SERVE_GENERATION_H
#define GOODPUT_SERVE_GENERATION_H

#include "rules/findings.h"
#include "scrape/discovery.h"
#include "serve/serve.h"
#include "watch/config.h"

struct named_target {
	struct str name, url;
};

struct generation {
	struct arena arena;
	struct catalog catalog;
	bool has_catalog;
	VEC(struct named_target) named;  /* on the command line or in --targets */
	struct config *config;           /* of --config; or NULL */
	struct discovery *discovery;     /* of its jobs; or NULL */
	struct discovery *alertmanagers; /* or NULL */
	struct rules_options rules_options;
	struct rules *rules;            /* of the configuration's rule_files; or NULL */
	struct finding_rules *findings; /* findings as alerts */
	int64_t t_ms;
	struct generation *older; /* retired, still referred to */
};

/* Nothing is started or changed by it. `first`: of this process, so that alerts are restored from the store. NULL with an error. */
struct generation *generation_read(const struct serve_options *o, const char *own_url, bool first, struct error *e);
/* Begins to look for the targets of the jobs, if there is scraping, and for Alertmanagers; `changed` is called from other threads. */
void generation_start(struct generation *g, bool scrapes, void (*changed)(void *context), void *context);
/* Looks for nothing any more. */
void generation_stop(struct generation *g);
/* Stops, and is judged by no more. Requests of targets on their way may refer to how it was configured: that stays until it is forgotten;
 * the catalogue is given back at once unless it is used still. */
void generation_retire(struct generation *g, bool catalog_is_used);
/* Alerts that are active under `old` stay active. */
void generation_take_over(struct generation *g, struct generation *old);
void generation_free(struct generation *g);
/* Frees what was retired before `before_ms` and no target refers to. */
void generation_forget(struct generation *g, const struct fleet *f, int64_t before_ms);

#endif
