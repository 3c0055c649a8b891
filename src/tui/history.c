/* Trends: rings of the newest points of each scope. */
#include "base/mem.h"
#include "tui/view_internal.h"

#include <math.h>

const struct view_trend_spec view_trends[VIEW_TRENDS] = {
	[TREND_RUNNING] = { "running", "running", 4 },
	[TREND_WAITING] = { "waiting", "waiting", 4 },
	[TREND_KV] = { "kv_usage_max", "KV cache", 1 },
	[TREND_OUT] = { "generation_tps", "tokens out", 1 },
	[TREND_IN] = { "prompt_tps", "tokens in", 1 },
	[TREND_TTFT] = { "ttft_p99", "TTFT P99", 0.1 },
};

struct trend_ring {
	float points[VIEW_TRENDS][TREND_POINTS];
	size_t count; /* ever added */
};

void view_history_init(struct view_history *h)
{
	map_init(&h->scopes);
}

void view_history_clear(struct view_history *h)
{
	MAP_EACH (&h->scopes, entry)
		mem_free(entry->value);
	map_clear(&h->scopes);
}

void view_history_fini(struct view_history *h)
{
	view_history_clear(h);
	map_fini(&h->scopes);
}

/* A bound is drawn at its known end. */
static float point_of(const struct reading *r)
{
	if (!r || !reading_is_number(r) || r->stale)
		return NAN;
	return (float)(isfinite(r->high) ? r->high : r->low);
}

void view_history_add(struct view_history *h, const struct report *r)
{
	for (size_t i = 0; i < r->scope_count; i++) {
		bool made;
		struct map_entry *entry = map_put(&h->scopes, r->scopes[i].name, &made);

		if (made)
			entry->value = NEW(struct trend_ring);
		struct trend_ring *ring = entry->value;

		for (size_t k = 0; k < VIEW_TRENDS; k++)
			ring->points[k][ring->count % TREND_POINTS] = point_of(report_reading(r, &r->scopes[i], view_trends[k].signal));
		ring->count++;
	}
}

size_t view_history_copy(const struct view_history *h, struct str scope, float trends[VIEW_TRENDS][TREND_POINTS])
{
	const struct trend_ring *ring = map_get(&h->scopes, scope);
	size_t count = !ring ? 0 : ring->count < TREND_POINTS ? ring->count : TREND_POINTS;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < VIEW_TRENDS; k++)
			trends[k][i] = ring->points[k][(ring->count - count + i) % TREND_POINTS];
	return count;
}
