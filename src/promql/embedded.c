/* The backend over our own store. */
#include "base/mem.h"
#include "promql/promql.h"
#include "store/store.h"

#include <stdlib.h>

struct embedded {
	struct backend backend;
	struct store *store;
};

static struct store *store_of(struct backend *b)
{
	return ((struct embedded *)b)->store;
}

static bool embedded_query(
	struct backend *b, struct arena *arena, struct str query, int64_t t_ms, struct promql_value *value, struct error *e)
{
	struct promql_node *node = promql_parse(arena, query, &promql_defaults, e);
	return node && promql_instant(b, arena, node, &promql_defaults, t_ms, value, e);
}

static bool embedded_query_range(struct backend *b, struct arena *arena, struct str query, int64_t start_ms, int64_t end_ms,
	int64_t step_ms, struct promql_value *value, struct error *e)
{
	struct promql_node *node = promql_parse(arena, query, &promql_defaults, e);
	return node && promql_range(b, arena, node, &promql_defaults, start_ms, end_ms, step_ms, value, e);
}

static bool embedded_select(struct backend *b, struct arena *arena, const struct matcher *matchers, size_t matcher_count, int64_t from_ms,
	int64_t to_ms, struct series_view **series, size_t *count, struct error *e)
{
	*series = store_select(store_of(b), arena, matchers, matcher_count, from_ms, to_ms, count);
	return true;
}

static int compare_str(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The label index knows no times: it answers when the window covers all samples, else the series with samples in it do. */
static bool embedded_label_values(struct backend *b, struct arena *arena, struct str label, const struct matcher *matchers,
	size_t matcher_count, int64_t from_ms, int64_t to_ms, struct str **values, size_t *count, struct error *e)
{
	int64_t oldest_ms, newest_ms;
	if (!store_bounds(store_of(b), &oldest_ms, &newest_ms) || (from_ms <= oldest_ms && to_ms >= newest_ms)) {
		*values = store_label_values(store_of(b), arena, label, matchers, matcher_count, count);
		return true;
	}
	size_t series_count, found = 0;
	struct series_view *series = store_select(store_of(b), arena, matchers, matcher_count, from_ms, to_ms, &series_count);
	*values = arena_alloc(arena, (series_count + 1) * sizeof **values);
	for (size_t i = 0; i < series_count; i++) {
		struct str value = labels_get(series[i].labels, label);
		if (value.len)
			(*values)[found++] = value;
	}
	qsort(*values, found, sizeof **values, compare_str);
	*count = 0;
	for (size_t i = 0; i < found; i++)
		if (!*count || !str_eq((*values)[i], (*values)[*count - 1]))
			(*values)[(*count)++] = (*values)[i];
	return true;
}

static bool embedded_fold(struct backend *b, struct arena *labels, const struct store_selection *selections, size_t count,
	const struct series_windows *windows, bool falls, series_fold_visit *visit)
{
	return store_fold(store_of(b), labels, selections, count, windows, falls, visit);
}

static void embedded_free(struct backend *b)
{
	mem_free(b);
}

static const struct backend_ops embedded_ops = {
	.query = embedded_query,
	.query_range = embedded_query_range,
	.select = embedded_select,
	.label_values = embedded_label_values,
	.fold = embedded_fold,
	.free = embedded_free,
};

struct backend *backend_embedded_new(struct store *store)
{
	struct embedded *b = NEW(struct embedded);
	b->backend.ops = &embedded_ops;
	b->store = store;
	return &b->backend;
}
