/* lifecycle: what a pod does with its directory: make it, end workers in it, wipe it; and the files of dead writers joined into one. */
#ifndef GOODPUT_COLLECT_LIFECYCLE_H
#define GOODPUT_COLLECT_LIFECYCLE_H

#include "collect/collect.h"

/* Makes the directory, removes metric files of an earlier run, and checks that a file can be made in it and has room. */
bool collect_init(const char *path, bool force, size_t *removed, struct error *e);
/* Removes the metric files and what folding left. Without `force` not while a process has one of them mapped. */
bool collect_clean(const char *path, bool force, size_t *removed, struct error *e);
/* Removes the live gauges of a process, as mark_process_dead does; refuses, without `force`, while there is such a process. */
bool collect_mark_dead(const char *path, int64_t pid, bool force, size_t *removed, struct error *e);

/* Joins the files of dead writers, each kind into TYPE[_MODE]_folded.db, which every collector reads as a file of one process more.
 * Counters, summaries, histograms and min, max, sum and mostrecent gauges give the sums that they gave before, never less; live gauges and
 * those of mode `all` are removed: nobody's value.
 *
 * A writer is dead when its process is gone while another one of the directory is seen, and none of the unseen ones' files moves; with
 * `force` whenever its process is not there. Uses what the collector's last scrape found. All or nothing: a fold that is killed at any
 * point is finished or undone by the next reader, and no reader of ours sees half of one. Files of writers that are alive are never
 * touched. */
struct collect_fold {
	size_t files; /* folded; at most 400 at once */
	bool busy;    /* another process folds: nothing was done */
};
bool collector_fold(struct collector *c, bool force, struct collect_fold *result, struct error *e);
/* For tests: the process ends, as if killed, before the step of this number; 0: never. */
extern int collect_fold_killed_at;

#endif
