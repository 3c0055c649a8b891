/* targets, their metadata. */
#include "web/web.h"

#include "base/clock.h"
#include "base/map.h"

#include <math.h>
#include <stdlib.h>

static const struct scrape_record *last_scrape(const struct target *t)
{
	return t->scrapes.count ? &t->scrapes.items[t->scrapes.count - 1] : NULL;
}

static void add_error(struct buf *out, const struct scrape_record *last)
{
	struct buf text;

	buf_init(&text, 4096);
	if (last && last->outcome != SCRAPE_OK && last->outcome != SCRAPE_EMPTY) {
		buf_add_cstr(&text, scrape_outcome_name(last->outcome));
		if (last->status && last->status != 200)
			buf_printf(&text, ": server returned HTTP status %d", last->status);
		if (last->detail.len)
			buf_printf(&text, ": " STR_FMT, STR_ARG(last->detail));
	}
	buf_add_json(out, buf_str(&text));
	buf_fini(&text);
}

static const char *health(const struct scrape_record *last)
{
	return !last ? "unknown" : last->outcome == SCRAPE_OK || last->outcome == SCRAPE_EMPTY ? "up" : "down";
}

static void add_seconds(struct buf *out, const char *key, int64_t ms)
{
	char text[64];

	buf_printf(out, ",\"%s\":\"%.*s\"", key, (int)duration_format(ms, text), text);
}

static void add_target(struct buf *out, const struct web_target *t)
{
	const struct scrape_record *last = last_scrape(t->target);

	buf_add_cstr(out, "{\"discoveredLabels\":");
	web_add_labels(out, t->discovered);
	buf_add_cstr(out, ",\"labels\":");
	web_add_labels(out, t->target->labels);
	buf_add_cstr(out, ",\"scrapePool\":");
	buf_add_json(out, t->pool);
	buf_add_cstr(out, ",\"scrapeUrl\":");
	buf_add_json(out, t->target->url);
	buf_add_cstr(out, ",\"globalUrl\":");
	buf_add_json(out, t->target->url);
	buf_add_cstr(out, ",\"lastError\":");
	add_error(out, last);
	buf_add_cstr(out, ",\"lastScrape\":");
	web_add_date(out, last ? last->t_ms : 0);
	buf_add_cstr(out, ",\"lastScrapeDuration\":");
	buf_add_double(out, last && isfinite(last->duration_s) ? last->duration_s : 0);
	buf_printf(out, ",\"health\":\"%s\"", health(last));
	add_seconds(out, "scrapeInterval", t->interval_ms);
	add_seconds(out, "scrapeTimeout", t->timeout_ms);
	buf_add_c(out, '}');
}

void web_targets(struct web_request *q, struct web_reply *r)
{
	struct str state = form_get(&q->form, "state"), pool = form_get(&q->form, "scrapePool");
	bool any = !state.len || str_is(state, "any"), more = false;

	web_open(r);
	buf_add_cstr(&r->body, "{\"activeTargets\":[");
	for (size_t i = 0; (any || str_is(state, "active")) && i < q->source->target_count; i++) {
		if (pool.len && !str_eq(pool, q->source->targets[i].pool))
			continue;
		if (more)
			buf_add_c(&r->body, ',');
		more = true;
		add_target(&r->body, &q->source->targets[i]);
	}
	buf_add_cstr(&r->body, "],\"droppedTargets\":[");
	for (size_t i = 0; (any || str_is(state, "dropped")) && i < q->source->dropped_count; i++) {
		buf_add_cstr(&r->body, i ? ",{\"discoveredLabels\":" : "{\"discoveredLabels\":");
		web_add_labels(&r->body, q->source->dropped[i]);
		buf_add_c(&r->body, '}');
	}
	buf_add_cstr(&r->body, "]}");
	web_close(r, NULL, 0, NULL, 0);
}

/* ---- metadata: what TYPE, HELP and UNIT lines of the newest pages say ---- */

static void add_metadata(struct buf *out, const struct expo_family *f)
{
	buf_printf(out, "\"type\":\"%s\",\"help\":", metric_type_name(f->type));
	buf_add_json(out, f->help.ptr ? f->help : STR(""));
	buf_add_cstr(out, ",\"unit\":");
	buf_add_json(out, f->unit.ptr ? f->unit : STR(""));
	buf_add_c(out, '}');
}

static const struct expo_family *families_of(const struct web_target *t, size_t *count)
{
	const struct expo_page *page = expo_reader_page(t->target->reader);

	*count = page ? page->family_count : 0;
	return page ? page->families : NULL;
}

void web_targets_metadata(struct web_request *q, struct web_reply *r)
{
	struct str match = form_get(&q->form, "match_target"), metric = form_get(&q->form, "metric");
	size_t limit, count = 0, matcher_count = 0, told = 0;
	struct matcher *matchers = NULL;
	struct error e = { 0 };

	if (!web_limit(q, r, "limit", &limit))
		return;
	if (match.len && !(matchers = promql_matchers(q->arena, match, &matcher_count, &e))) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"match_target\": %d:%d: %s", e.line, e.column, e.message);
		return;
	}
	web_open(r);
	buf_add_c(&r->body, '[');
	for (size_t i = 0; i < q->source->target_count; i++) {
		const struct web_target *t = &q->source->targets[i];
		const struct expo_family *families = families_of(t, &count);

		if (!matchers_match(matchers, matcher_count, t->target->labels))
			continue;
		for (size_t k = 0; k < count && (!limit || told < limit); k++) {
			if (metric.len && !str_eq(metric, families[k].name))
				continue;
			buf_add_cstr(&r->body, told++ ? ",{\"target\":" : "{\"target\":");
			web_add_labels(&r->body, t->target->labels);
			buf_add_c(&r->body, ',');
			if (!metric.len) {
				buf_add_cstr(&r->body, "\"metric\":");
				buf_add_json(&r->body, families[k].name);
				buf_add_c(&r->body, ',');
			}
			add_metadata(&r->body, &families[k]);
		}
	}
	buf_add_c(&r->body, ']');
	for (size_t i = 0; i < matcher_count; i++)
		matcher_fini(&matchers[i]);
	web_close(r, NULL, 0, NULL, 0);
}

/* What the targets say of one name: each different text once. */
struct said {
	struct str name;
	VEC(const struct expo_family *) texts;
};

static void said_add(struct said *s, const struct expo_family *f)
{
	VEC_EACH (&s->texts, other)
		if ((*other)->type == f->type && str_eq((*other)->help, f->help) && str_eq((*other)->unit, f->unit))
			return;
	VEC_PUSH(&s->texts, f);
}

static int compare_said(const void *a, const void *b)
{
	return str_cmp((*(struct said *const *)a)->name, (*(struct said *const *)b)->name);
}

static struct said **said_collect(struct web_request *q, struct str metric, size_t *said_count)
{
	struct map by_name;

	map_init(&by_name);
	for (size_t i = 0; i < q->source->target_count; i++) {
		size_t count;
		const struct expo_family *families = families_of(&q->source->targets[i], &count);

		for (size_t k = 0; k < count; k++) {
			if (metric.len && !str_eq(metric, families[k].name))
				continue;
			struct map_entry *entry = map_put(&by_name, families[k].name, NULL);

			if (!entry->value) {
				entry->value = ARENA_NEW(q->arena, struct said);
				((struct said *)entry->value)->name = families[k].name;
			}
			said_add(entry->value, &families[k]);
		}
	}
	struct said **all = ARENA_ARRAY(q->arena, struct said *, by_name.live + 1);

	*said_count = 0;
	MAP_EACH (&by_name, entry)
		all[(*said_count)++] = entry->value;
	if (*said_count)
		qsort(all, *said_count, sizeof *all, compare_said);
	map_fini(&by_name);
	return all;
}

void web_metadata(struct web_request *q, struct web_reply *r)
{
	size_t limit, per_metric, count;

	if (!web_limit(q, r, "limit", &limit) || !web_limit(q, r, "limit_per_metric", &per_metric))
		return;
	struct said **all = said_collect(q, form_get(&q->form, "metric"), &count);

	web_open(r);
	buf_add_c(&r->body, '{');
	for (size_t i = 0; i < count && (!limit || i < limit); i++) {
		if (i)
			buf_add_c(&r->body, ',');
		buf_add_json(&r->body, all[i]->name);
		buf_add_cstr(&r->body, ":[");
		for (size_t k = 0; k < all[i]->texts.count && (!per_metric || k < per_metric); k++) {
			buf_add_cstr(&r->body, k ? ",{" : "{");
			add_metadata(&r->body, all[i]->texts.items[k]);
		}
		buf_add_c(&r->body, ']');
	}
	buf_add_c(&r->body, '}');
	for (size_t i = 0; i < count; i++)
		VEC_FREE(&all[i]->texts);
	web_close(r, NULL, 0, NULL, 0);
}
