/* The backend over an in-memory store. */
#include "base/mem.h"
#include "promql/promql.h"
#include "store/store.h"

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

/* Without matchers the label index answers; it does not know times, so a window asks the series themselves. */
static bool embedded_label_values(struct backend *b, struct arena *arena, struct str label, const struct matcher *matchers,
	size_t matcher_count, int64_t from_ms, int64_t to_ms, struct str **values, size_t *count, struct error *e)
{
	*values = store_label_values(store_of(b), arena, label, matchers, matcher_count, count);
	return true;
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
	.free = embedded_free,
};

struct backend *backend_embedded_new(struct store *store)
{
	struct embedded *b = NEW(struct embedded);
	b->backend.ops = &embedded_ops;
	b->store = store;
	return &b->backend;
}
