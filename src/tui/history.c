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

struct finding_seen {
	int64_t since_ms, last_ms; /* last: the newest report that had it */
};

void view_history_init(struct view_history *h)
{
	map_init(&h->scopes);
	map_init(&h->findings);
}

static void entries_free(struct map *m)
{
	MAP_EACH (m, entry)
		mem_free(entry->value);
	map_clear(m);
}

void view_history_clear(struct view_history *h)
{
	entries_free(&h->scopes);
	entries_free(&h->findings);
}

void view_history_fini(struct view_history *h)
{
	view_history_clear(h);
	map_fini(&h->scopes);
	map_fini(&h->findings);
}

/* A bound is drawn at its known end. */
static float point_of(const struct reading *r)
{
	if (!r || !reading_is_number(r) || r->stale)
		return NAN;
	return (float)(isfinite(r->high) ? r->high : r->low);
}

static struct str finding_key(const struct finding *f, struct buf *text)
{
	buf_reset(text);
	buf_add(text, f->spec->id);
	buf_add_c(text, '\n');
	if (f->scope)
		buf_add(text, f->scope->name);
	return buf_str(text);
}

/* Findings that are over are forgotten: when they come again it is another time. */
static void findings_add(struct view_history *h, const struct report *r)
{
	struct buf key;

	buf_init(&key, 65536);
	for (size_t i = 0; i < r->finding_count; i++) {
		bool made;
		struct map_entry *entry = map_put(&h->findings, finding_key(&r->findings[i], &key), &made);

		if (made) {
			struct finding_seen *seen = NEW(struct finding_seen);

			seen->since_ms = r->window.from_ms;
			entry->value = seen;
		}
		((struct finding_seen *)entry->value)->last_ms = r->window.to_ms;
	}
	buf_fini(&key);
	MAP_EACH (&h->findings, entry) {
		if (((struct finding_seen *)entry->value)->last_ms == r->window.to_ms)
			continue;
		mem_free(entry->value);
		map_remove(&h->findings, entry->key);
	}
}

int64_t view_history_seen(const struct view_history *h, const struct report *r, const struct finding *f)
{
	struct buf key;

	buf_init(&key, 65536);
	const struct finding_seen *seen = map_get(&h->findings, finding_key(f, &key));

	buf_fini(&key);
	return seen && seen->since_ms < r->window.from_ms ? seen->since_ms : r->window.from_ms;
}

void view_history_add(struct view_history *h, const struct report *r)
{
	findings_add(h, r);
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
