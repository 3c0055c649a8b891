/* series, labels, label values: what there is. */
#include "web/web.h"

#include "base/map.h"

#include <stdlib.h>

/* ---- match[] ---- */

static void list_fini(struct matcher *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		matcher_fini(&list[i]);
}

void web_matchers_fini(struct web_matchers *m)
{
	for (size_t i = 0; i < m->count; i++)
		list_fini(m->lists[i], m->counts[i]);
	m->count = 0;
}

bool web_matchers_init(struct web_matchers *m, struct web_request *q, struct web_reply *r, bool needed)
{
	size_t given;
	struct str *texts = form_all(&q->form, q->arena, "match[]", &given);

	*m = (struct web_matchers){ .lists = ARENA_ARRAY(q->arena, struct matcher *, given + 1),
		.counts = ARENA_ARRAY(q->arena, size_t, given + 1) };
	if (!given && needed) {
		web_fail(r, WEB_BAD_DATA, "no match[] parameter provided");
		return false;
	}
	for (; m->count < given; m->count++) {
		struct error e = { 0 };

		m->lists[m->count] = promql_matchers(q->arena, texts[m->count], &m->counts[m->count], &e);
		if (m->lists[m->count])
			continue;
		if (str_ends(str_from(e.message), STR("must contain at least one non-empty matcher")))
			web_fail(r, WEB_BAD_DATA, "match[] must contain at least one non-empty matcher");
		else
			web_fail(r, WEB_BAD_DATA, "invalid parameter \"match[]\": %d:%d: %s", e.line, e.column, e.message);
		web_matchers_fini(m);
		return false;
	}
	return true;
}

/* ---- the series of a window ---- */

struct found {
	const struct labels **items; /* sorted, each once */
	size_t count;
};

static int compare_labels(const void *a, const void *b)
{
	return labels_cmp(*(const struct labels *const *)a, *(const struct labels *const *)b);
}

static void found_settle(struct found *f)
{
	size_t kept = 0;

	if (f->count)
		qsort(f->items, f->count, sizeof *f->items, compare_labels);
	for (size_t i = 0; i < f->count; i++)
		if (!kept || labels_cmp(f->items[i], f->items[kept - 1]) != 0)
			f->items[kept++] = f->items[i];
	f->count = kept;
}

static bool select_labels(
	struct web_request *q, struct web_reply *r, const struct web_matchers *m, int64_t from_ms, int64_t to_ms, struct found *f)
{
	struct backend *b = q->source->backend;
	VEC(const struct labels *) all = { 0 };
	struct error e = { 0 };
	bool ok = true;

	/* No selector: all series. */
	for (size_t i = 0; ok && i < (m->count ? m->count : 1); i++) {
		struct series_view *views;
		size_t count;

		ok = b->ops->select(
			b, q->arena, m->count ? m->lists[i] : NULL, m->count ? m->counts[i] : 0, from_ms, to_ms, &views, &count, &e);
		for (size_t k = 0; ok && k < count; k++)
			VEC_PUSH(&all, views[k].labels);
	}
	if (ok) {
		*f = (struct found){ ARENA_ARRAY(q->arena, const struct labels *, all.count + 1), all.count };
		if (all.count)
			memcpy(f->items, all.items, all.count * sizeof *f->items);
		found_settle(f);
	} else {
		web_fail_execution(r, &e);
	}
	VEC_FREE(&all);
	return ok;
}

/* ---- a request: match[], start, end, limit ---- */

struct ask {
	struct web_matchers matchers;
	int64_t from_ms, to_ms;
	size_t limit;
};

static bool ask_init(struct ask *a, struct web_request *q, struct web_reply *r, bool needs_match)
{
	if (!web_limit(q, r, "limit", &a->limit) || !web_time(q, r, "start", INT64_MIN / 2, &a->from_ms) ||
		!web_time(q, r, "end", INT64_MAX / 2, &a->to_ms))
		return false;
	if (a->to_ms < a->from_ms) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"end\": end timestamp must not be before start time");
		return false;
	}
	return web_matchers_init(&a->matchers, q, r, needs_match);
}

static size_t limited(const struct ask *a, size_t count)
{
	return a->limit && a->limit < count ? a->limit : count;
}

static void close_limited(struct web_reply *r, const struct ask *a, size_t count)
{
	struct str warning = STR("results truncated due to limit");

	buf_add_c(&r->body, ']');
	web_close(r, &warning, limited(a, count) < count, NULL, 0);
}

void web_series(struct web_request *q, struct web_reply *r)
{
	struct ask a;
	struct found f;

	if (!ask_init(&a, q, r, true))
		return;
	if (select_labels(q, r, &a.matchers, a.from_ms, a.to_ms, &f)) {
		web_open(r);
		buf_add_c(&r->body, '[');
		for (size_t i = 0; i < limited(&a, f.count); i++) {
			if (i)
				buf_add_c(&r->body, ',');
			web_add_labels(&r->body, f.items[i]);
		}
		close_limited(r, &a, f.count);
	}
	web_matchers_fini(&a.matchers);
}

static int compare_str(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Sorts, and leaves each once. */
static size_t settle_texts(struct str *texts, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(texts, count, sizeof *texts, compare_str);
	for (size_t i = 0; i < count; i++)
		if (!kept || !str_eq(texts[i], texts[kept - 1]))
			texts[kept++] = texts[i];
	return kept;
}

static void answer_texts(struct web_reply *r, const struct ask *a, const struct str *texts, size_t count)
{
	web_open(r);
	buf_add_c(&r->body, '[');
	for (size_t i = 0; i < limited(a, count); i++) {
		if (i)
			buf_add_c(&r->body, ',');
		buf_add_json(&r->body, texts[i]);
	}
	close_limited(r, a, count);
}

void web_labels(struct web_request *q, struct web_reply *r)
{
	struct ask a;
	struct found f;
	struct map names;

	if (!ask_init(&a, q, r, false))
		return;
	if (select_labels(q, r, &a.matchers, a.from_ms, a.to_ms, &f)) {
		map_init(&names);
		for (size_t i = 0; i < f.count; i++)
			for (uint32_t k = 0; k < f.items[i]->count; k++)
				map_put(&names, f.items[i]->items[k].name, NULL);
		struct str *texts = ARENA_ARRAY(q->arena, struct str, names.live + 1);
		size_t count = 0;

		MAP_EACH (&names, entry)
			texts[count++] = entry->key;
		answer_texts(r, &a, texts, settle_texts(texts, count));
		map_fini(&names);
	}
	web_matchers_fini(&a.matchers);
}

/* U__a_2e_b is how clients write the label a.b in a path; two underscores are one. */
static struct str name_unescape(struct arena *arena, struct str name)
{
	char *out;
	size_t len = 0;

	if (!str_starts(name, STR("U__")))
		return name;
	out = arena_alloc(arena, name.len * 2 + 1);
	for (size_t i = 3; i < name.len; i++) {
		uint32_t rune = 0;
		size_t end = i + 1;

		if (name.ptr[i] != '_') {
			out[len++] = name.ptr[i];
			continue;
		}
		if (end < name.len && name.ptr[end] == '_') {
			out[len++] = '_';
			i = end;
			continue;
		}
		for (; end < name.len && name.ptr[end] != '_' && end - i <= 6; end++) {
			char c = name.ptr[end] | 0x20;

			if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
				return name;
			rune = rune << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		if (end == i + 1 || end >= name.len || name.ptr[end] != '_' || rune > 0x10ffff)
			return name;
		if (rune < 0x80) {
			out[len++] = (char)rune;
		} else if (rune < 0x800) {
			out[len++] = (char)(0xc0 | rune >> 6);
			out[len++] = (char)(0x80 | (rune & 0x3f));
		} else if (rune < 0x10000) {
			out[len++] = (char)(0xe0 | rune >> 12);
			out[len++] = (char)(0x80 | (rune >> 6 & 0x3f));
			out[len++] = (char)(0x80 | (rune & 0x3f));
		} else {
			out[len++] = (char)(0xf0 | rune >> 18);
			out[len++] = (char)(0x80 | (rune >> 12 & 0x3f));
			out[len++] = (char)(0x80 | (rune >> 6 & 0x3f));
			out[len++] = (char)(0x80 | (rune & 0x3f));
		}
		i = end;
	}
	return str_of(out, len);
}

void web_label_values(struct web_request *q, struct web_reply *r)
{
	struct str name = name_unescape(q->arena, q->rest);
	struct backend *b = q->source->backend;
	struct error e = { 0 };
	struct ask a;

	if (!name.len || !str_is_utf8(name) || (!label_name_is_classic(name, false) && !str_starts(q->rest, STR("U__")))) {
		web_fail(r, WEB_BAD_DATA, "invalid label name: \"" STR_FMT "\"", STR_ARG(str_head(name, 200)));
		return;
	}
	if (!ask_init(&a, q, r, false))
		return;
	VEC(struct str) all = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < (a.matchers.count ? a.matchers.count : 1); i++) {
		struct str *values;
		size_t count;

		ok = b->ops->label_values(b, q->arena, name, a.matchers.count ? a.matchers.lists[i] : NULL,
			a.matchers.count ? a.matchers.counts[i] : 0, a.from_ms, a.to_ms, &values, &count, &e);
		for (size_t k = 0; ok && k < count; k++)
			VEC_PUSH(&all, values[k]);
	}
	if (ok)
		answer_texts(r, &a, all.items, settle_texts(all.items, all.count));
	else
		web_fail_execution(r, &e);
	VEC_FREE(&all);
	web_matchers_fini(&a.matchers);
}
