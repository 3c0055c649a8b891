/* discovered: what becomes of one found target: defaults, relabelling, checks, URL. Inside of discovery only. */
#ifndef GOODPUT_SCRAPE_DISCOVERED_H
#define GOODPUT_SCRAPE_DISCOVERED_H

#include "scrape/discovery.h"

enum discovered_fate { DISCOVERED_TARGET, DISCOVERED_DROPPED, DISCOVERED_BAD };

/* Makes `d` of a target of a group; texts live in the arena, d->labels is the caller's. BAD: it cannot be scraped, `e` says why. */
enum discovered_fate discovered_make(struct discovered *d, const struct job *job, const struct target_group *group,
	const struct group_target *target, struct label_set *set, struct arena *arena, struct error *e);

#endif
