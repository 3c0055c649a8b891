/* backend: where samples and query results come from. Nothing above knows which: the embedded store, or an existing
 * Prometheus, Thanos, Mimir or VictoriaMetrics (src/promql/remote.h).
 *
 * Two ways to ask. `query` and `query_range` evaluate PromQL where the data is (Prometheus's semantics, extrapolation
 * included): what users type. `select` returns raw samples, the same from every backend: signals need them to know what happened at
 * both ends of a window, between scrapes and over a reset, which no pushed-down rate() tells. */
#ifndef GOODPUT_PROMQL_BACKEND_H
#define GOODPUT_PROMQL_BACKEND_H

#include "base/arena.h"
#include "base/error.h"
#include "model/matcher.h"
#include "model/series.h"
#include "promql/value.h"

struct store_selection;
struct backend {
	const struct backend_ops *ops;
};

struct backend_ops {
	bool (*query)(struct backend *b, struct arena *arena, struct str query, int64_t t_ms, struct promql_value *value, struct error *e);
	bool (*query_range)(struct backend *b, struct arena *arena, struct str query, int64_t start_ms, int64_t end_ms, int64_t step_ms,
		struct promql_value *value, struct error *e);
	bool (*select)(struct backend *b, struct arena *arena, const struct matcher *matchers, size_t matcher_count, int64_t from_ms,
		int64_t to_ms, struct series_view **series, size_t *count, struct error *e);
	bool (*label_values)(struct backend *b, struct arena *arena, struct str label, const struct matcher *matchers, size_t matcher_count,
		int64_t from_ms, int64_t to_ms, struct str **values, size_t *count, struct error *e);
	/* Series in windows, as store_fold has them (store/store.h). NULL, or false: not to be had here, `select` is. */
	bool (*fold)(struct backend *b, struct arena *labels, const struct store_selection *selections, size_t count,
		const struct series_windows *windows, bool falls, series_fold_visit *visit);
	void (*free)(struct backend *b);
};

struct store;
/* Over an in-memory store, which must outlive it. */
struct backend *backend_embedded_new(struct store *store);
static inline void backend_free(struct backend *b)
{
	if (b)
		b->ops->free(b);
}

#endif
