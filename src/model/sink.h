/* sink: the one way samples go in. Scraper, recording, remote copy, and later rules and gateway write through it. */
#ifndef GOODPUT_MODEL_SINK_H
#define GOODPUT_MODEL_SINK_H

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
	/* The series of these labels, made when new. Valid for the sink's life. */
	struct series *(*series)(struct sink *sink, const struct labels *labels, enum metric_type type);
	enum append_status (*append)(struct sink *sink, struct series *series, int64_t t_ms, double value);
	/* One scrape: values[i] of series[i], all at t_ms. Returns how many were refused. */
	size_t (*append_row)(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms);
	/* Samples of any series, in this order: statuses[i] (enum append_status) is what became of samples[i]. May be NULL: call
	 * sink_append_many. */
	void (*append_many)(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses);
};

static inline void sink_append_many(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses)
{
	if (sink->ops->append_many)
		sink->ops->append_many(sink, samples, count, statuses);
	else
		for (size_t i = 0; i < count; i++)
			statuses[i] = (uint8_t)sink->ops->append(sink, samples[i].series, samples[i].t_ms, samples[i].value);
}

#endif
