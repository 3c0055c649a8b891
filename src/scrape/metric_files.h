/* metric_files: a directory of multi-process metric files as a target, beside addresses: "multiproc:DIR", or DIR itself where it holds such
 * files. */
#ifndef GOODPUT_SCRAPE_METRIC_FILES_H
#define GOODPUT_SCRAPE_METRIC_FILES_H

#include "scrape/fleet.h"

#define METRIC_FILES_SCHEME STR("multiproc:")

/* Is this text such a target? Nothing is asked of a directory behind the scheme: that it is missing or empty is for the scrape to say. */
bool metric_files_named(struct str text);
static inline bool target_is_metric_files(const struct target *t)
{
	return str_starts(t->url, METRIC_FILES_SCHEME);
}
/* Reads the target's directory. The body is in the arena. A directory that gives nothing is a failure with the reason as detail. */
void metric_files_scrape(struct target *t, struct arena *arena, struct http_answer *answer);

#endif
