/* store: samples in memory, behind the interface that the durable store will fill: written through the sink, read through
 * store_select. One writer; readers only while nothing writes. */
#ifndef GOODPUT_STORE_STORE_H
#define GOODPUT_STORE_STORE_H

#include "base/arena.h"
#include "model/matcher.h"
#include "model/series.h"
#include "model/sink.h"

struct store;
struct store *store_new(void);
void store_free(struct store *s);
struct sink *store_sink(struct store *s);

size_t store_series_count(const struct store *s);
size_t store_sample_count(const struct store *s);
/* Times of the oldest and newest sample; false when empty. */
bool store_bounds(const struct store *s, int64_t *oldest_ms, int64_t *newest_ms);

/* All series that match and have samples with from_ms <= t <= to_ms, cut to that window (stale markers included), in no
 * promised order. The array is in the arena; sample memory is the store's own where possible (no copy). */
struct series_view *store_select(const struct store *s, struct arena *arena, const struct matcher *matchers, size_t matcher_count,
	int64_t from_ms, int64_t to_ms, size_t *count);
/* Sorted distinct values of a label over series that match (any matchers, also none). */
struct str *store_label_values(
	const struct store *s, struct arena *arena, struct str label, const struct matcher *matchers, size_t matcher_count, size_t *count);
/* The type that the TYPE line gave. */
enum metric_type store_series_type(const struct store *s, const struct labels *labels);

#endif
