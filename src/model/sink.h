/* sink: the one way samples go in. Scraper, recording, remote copy, and later rules and gateway write through it. */
#ifndef GOODPUT_MODEL_SINK_H
#define GOODPUT_MODEL_SINK_H

#include "base/arena.h"
#include "model/labels.h"
#include "model/series.h"

struct series; /* owned by the sink's implementation */

enum append_status {
	APPEND_OK,
	APPEND_SAME,        /* equal value at an existing time: nothing done */
	APPEND_DUPLICATE,   /* other value at the newest time: refused */
	APPEND_OUT_OF_ORDER /* older than the newest: refused */
};

struct sink_sample {
	struct series *series;
	int64_t t_ms;
	double value;
};

struct sink {
	const struct sink_ops *ops;
};
struct sink_ops {
	/* The series of these labels, made when new. It lasts until the sink forgets, which it does between calls of its owner's, never
	 * during one of these; longer when it is held. */
	struct series *(*series)(struct sink *sink, const struct labels *labels, enum metric_type type);
	enum append_status (*append)(struct sink *sink, struct series *series, int64_t t_ms, double value);
	/* One scrape: values[i] of series[i], all at t_ms. Returns how many were refused. */
	size_t (*append_row)(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms);
	/* Samples of any series, in this order: statuses[i] (enum append_status) is what became of samples[i]. May be NULL: call
	 * sink_append_many. */
	void (*append_many)(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses);
	/* A series that is held is not forgotten: once more, or once less. NULL: none ever is. */
	void (*hold)(struct sink *sink, struct series *series, bool held);
	/* How often the sink has forgotten series: when this changed, pointers to those that are not held are to be thrown away. NULL:
	 * never. */
	uint64_t (*forgotten)(const struct sink *sink);
	/* What a series is called, in the arena. NULL: not to be had. */
	struct labels *(*labels)(const struct sink *sink, struct arena *arena, const struct series *series);
};

static inline void sink_hold(struct sink *sink, struct series *series, bool held)
{
	if (sink->ops->hold)
		sink->ops->hold(sink, series, held);
}

static inline uint64_t sink_forgotten(const struct sink *sink)
{
	return sink->ops->forgotten ? sink->ops->forgotten(sink) : 0;
}

static inline void sink_append_many(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses)
{
	if (sink->ops->append_many)
		sink->ops->append_many(sink, samples, count, statuses);
	else
		for (size_t i = 0; i < count; i++)
			statuses[i] = (uint8_t)sink->ops->append(sink, samples[i].series, samples[i].t_ms, samples[i].value);
}

#endif
