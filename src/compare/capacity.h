/* capacity: when the capacity of a fleet changed: what people and their tools told (annotations), and what nobody told but `up` shows:
 * targets that came or went for good. From views of samples only, so that a store, a Prometheus and a test are the same.
 *
 * How long "for good" is goes by the interval between scrapes: a target came when it answers for five of them, and went when it does not
 * for twenty; less is a restart. Times at which nobody looked say nothing either way. */
#ifndef GOODPUT_COMPARE_CAPACITY_H
#define GOODPUT_COMPARE_CAPACITY_H

#include "base/arena.h"
#include "base/error.h"
#include "model/series.h"

/* The metric whose samples are annotations: labels say what, the value is 1 or the unix time at which it ended. */
extern const char annotation_metric[];
/* Does an annotation with these labels say that targets will come and go? Tag deploy, rollout or capacity, or a label `kind` of one of
 * them. */
bool capacity_is_announced(const struct labels *annotation);

#define CAPACITY_UNKNOWN SIZE_MAX

struct capacity_event {
	int64_t t_ms;           /* its name: when it was told to be, or began */
	int64_t from_ms, to_ms; /* what lies between is neither before nor after it; equal when it took no time */
	struct str text;        /* as it was told; else "2 targets more" */
	struct str tags, pool;  /* as told; may be empty */
	bool told;
	const struct str *came, *went; /* instance labels of targets that came and went for good, in order of time */
	size_t came_count, went_count;
	size_t up_before, up_after; /* targets of the fleet that answered just before and behind it; CAPACITY_UNKNOWN: nobody looked */
};

struct capacity_stretch { /* scrapes without a long gap */
	int64_t from_ms, to_ms;
	int64_t whole_ms; /* from when on every target had been seen that was there when it began */
};

struct capacity_log {
	struct capacity_event *events; /* rising by from_ms */
	size_t event_count;
	struct capacity_stretch *stretches;
	size_t stretch_count;
	int64_t *restarts; /* moments at which a target was seen with another start time, rising; not those that belong to an event */
	size_t restart_count;
	int64_t interval_ms; /* median gap between scrapes of a target; 0: none was seen twice */
};

struct capacity_samples {
	const struct series_view *up;          /* 1: it answered */
	const struct series_view *starts;      /* process_start_time_seconds */
	const struct series_view *annotations; /* of annotation_metric; others than capacity_is_announced are passed over */
	size_t up_count, start_count, annotation_count;
};

/* Everything that happened; lists and texts are in the arena (labels' texts are those of the views). */
void capacity_find(struct capacity_log *log, struct arena *arena, const struct capacity_samples *samples);
/* The newest one, and the one whose t_ms is nearest, at most a second away; NULL: there is none. */
const struct capacity_event *capacity_last(const struct capacity_log *log);
const struct capacity_event *capacity_at(const struct capacity_log *log, int64_t t_ms);
/* The newest moment at which anybody looked; 0 without one. */
int64_t capacity_newest_ms(const struct capacity_log *log);

#endif
