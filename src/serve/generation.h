/* generation: one reading of everything that is configured: catalogue, targets, rules. A reload reads a new one whole, puts it to use, and
 * retires the old, which lives on while something still refers to it. */
#ifndef GOODPUT_SERVE_GENERATION_H
#define GOODPUT_SERVE_GENERATION_H

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
	VEC(struct named_target) named; /* on the command line or in --targets */
	struct config *config;          /* of --config; or NULL */
	struct discovery *discovery;    /* of its jobs; or NULL */
	int64_t t_ms;
	struct generation *older; /* retired, still referred to */
};

/* Nothing is started or changed by it. NULL with an error. */
struct generation *generation_read(const struct serve_options *o, struct error *e);
/* Begins to look for the targets of the jobs; `changed` is called from other threads. */
void generation_start(struct generation *g, void (*changed)(void *context), void *context);
void generation_free(struct generation *g);
/* Frees what was retired before `before_ms` and no target refers to. */
void generation_forget(struct generation *g, const struct fleet *f, int64_t before_ms);

#endif
