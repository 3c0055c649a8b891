/* status: what the daemon says of itself in Prometheus's words. */
#include "web/web.h"

#include "base/clock.h"
#include "base/map.h"

#include <stdlib.h>

static void add_text(struct buf *out, const char *before, const char *key, struct str text)
{
	buf_printf(out, "%s\"%s\":", before, key);
	buf_add_json(out, text);
}

/* Clients choose their requests by the version: ours is of an API that 3.0 has. */
void web_buildinfo(struct web_request *q, struct web_reply *r)
{
	web_open(r);
	add_text(&r->body, "{", "version", STR("3.0.0"));
	add_text(&r->body, ",", "revision", STR("goodput-" GOODPUT_VERSION));
	add_text(&r->body, ",", "branch", STR("goodput"));
	buf_add_cstr(&r->body, ",\"buildUser\":\"\",\"buildDate\":\"\",\"goVersion\":\"\"}");
	web_close(r, NULL, 0, NULL, 0);
}

void web_runtimeinfo(struct web_request *q, struct web_reply *r)
{
	const struct web_source *s = q->source;
	char text[64];

	web_open(r);
	buf_add_cstr(&r->body, "{\"startTime\":");
	web_add_date(&r->body, s->start_ms);
	add_text(&r->body, ",", "CWD", str_from(s->folder));
	buf_printf(&r->body, ",\"reloadConfigSuccess\":%s,\"lastConfigTime\":", s->config_ok ? "true" : "false");
	web_add_date(&r->body, s->config_ms);
	buf_add_cstr(
		&r->body, ",\"corruptionCount\":0,\"goroutineCount\":0,\"GOMAXPROCS\":0,\"GOMEMLIMIT\":0,\"GOGC\":\"\",\"GODEBUG\":\"\"");
	add_text(&r->body, ",", "storageRetention", s->retention_ms ? str_of(text, duration_format(s->retention_ms, text)) : STR("0s"));
	buf_add_c(&r->body, '}');
	web_close(r, NULL, 0, NULL, 0);
}

void web_config(struct web_request *q, struct web_reply *r)
{
	web_open(r);
	add_text(&r->body, "{", "yaml", q->source->config_text.ptr ? q->source->config_text : STR(""));
	buf_add_c(&r->body, '}');
	web_close(r, NULL, 0, NULL, 0);
}

void web_flags(struct web_request *q, struct web_reply *r)
{
	web_open(r);
	buf_add_c(&r->body, '{');
	for (size_t i = 0; i < q->source->flag_count; i++)
		add_text(&r->body, i ? "," : "", q->source->flags[i].name, str_from(q->source->flags[i].value));
	buf_add_c(&r->body, '}');
	web_close(r, NULL, 0, NULL, 0);
}

void web_walreplay(struct web_request *q, struct web_reply *r)
{
	web_open(r);
	buf_add_cstr(&r->body, "{\"min\":0,\"max\":0,\"current\":0}");
	web_close(r, NULL, 0, NULL, 0);
}

/* ---- tsdb: what takes the room ---- */

struct counted {
	struct str name;
	size_t count;
};

static int compare_counted(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : str_cmp(x->name, y->name);
}

/* The counts, the largest first; the map's values are numbers. */
static struct counted *counts_sort(struct arena *arena, const struct map *m, size_t *count)
{
	struct counted *list = ARENA_ARRAY(arena, struct counted, m->live + 1);

	*count = 0;
	MAP_EACH (m, entry)
		list[(*count)++] = (struct counted){ entry->key, (size_t)(uintptr_t)entry->value };
	if (*count)
		qsort(list, *count, sizeof *list, compare_counted);
	return list;
}

static void add_counts(struct web_request *q, struct web_reply *r, const char *key, const struct map *m, size_t limit)
{
	size_t count;
	struct counted *list = counts_sort(q->arena, m, &count);

	buf_printf(&r->body, ",\"%s\":[", key);
	for (size_t i = 0; i < count && i < limit; i++) {
		add_text(&r->body, i ? ",{" : "{", "name", list[i].name);
		buf_printf(&r->body, ",\"value\":%zu}", list[i].count);
	}
	buf_add_c(&r->body, ']');
}

static void count_one(struct map *m, struct str key, size_t more)
{
	struct map_entry *entry = map_put(m, key, NULL);

	entry->value = (void *)((uintptr_t)entry->value + more);
}

struct tally {
	struct map names, values, bytes, pairs; /* series by metric; values, bytes by label; series by label=value */
};

static void tally_series(struct tally *t, struct arena *arena, const struct labels *l)
{
	count_one(&t->names, labels_name(l), 1);
	for (uint32_t i = 0; i < l->count; i++) {
		struct str pair = arena_printf(arena, STR_FMT "=" STR_FMT, STR_ARG(l->items[i].name), STR_ARG(l->items[i].value));
		bool made = !map_has(&t->pairs, pair);

		count_one(&t->pairs, pair, 1);
		if (!made)
			continue;
		count_one(&t->values, l->items[i].name, 1);
		count_one(&t->bytes, l->items[i].name, l->items[i].value.len);
	}
}

void web_tsdb(struct web_request *q, struct web_reply *r)
{
	const struct web_source *s = q->source;
	struct backend *b = s->backend;
	struct series_view *views;
	struct error e = { 0 };
	int64_t oldest_ms = 0, newest_ms = 0;
	size_t count, limit;
	struct tally t;

	if (!web_limit(q, r, "limit", &limit))
		return;
	if (!s->store) {
		web_fail(r, WEB_UNAVAILABLE, "the samples are in another Prometheus: ask it");
		return;
	}
	store_bounds(s->store, &oldest_ms, &newest_ms);
	if (!b->ops->select(b, q->arena, NULL, 0, newest_ms - s->limits->lookback_ms, newest_ms, &views, &count, &e)) {
		web_fail_execution(r, &e);
		return;
	}
	struct map *const maps[] = { &t.names, &t.values, &t.bytes, &t.pairs };

	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		map_init(maps[i]);
	for (size_t i = 0; i < count; i++)
		tally_series(&t, q->arena, views[i].labels);
	limit = limit ? limit : 10;
	web_open(r);
	buf_printf(&r->body,
		"{\"headStats\":{\"numSeries\":%zu,\"numLabelPairs\":%zu,\"chunkCount\":%zu,\"minTime\":%lld,\"maxTime\":%lld}",
		store_series_count(s->store), t.pairs.live, store_series_count(s->store), (long long)oldest_ms, (long long)newest_ms);
	add_counts(q, r, "seriesCountByMetricName", &t.names, limit);
	add_counts(q, r, "labelValueCountByLabelName", &t.values, limit);
	add_counts(q, r, "memoryInBytesByLabelName", &t.bytes, limit);
	add_counts(q, r, "seriesCountByLabelValuePair", &t.pairs, limit);
	buf_add_c(&r->body, '}');
	web_close(r, NULL, 0, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		map_fini(maps[i]);
}
