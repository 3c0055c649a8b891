/* federate: the newest samples as a /metrics page for another Prometheus. */
#include "web/web.h"

#include "base/number.h"

#include <stdlib.h>

struct sample {
	const struct labels *labels;
	int64_t t_ms;
	double value;
};

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int by_name = str_cmp(labels_name(x->labels), labels_name(y->labels));

	return by_name ? by_name : labels_cmp(x->labels, y->labels);
}

/* The escapes of the text format. */
static void add_value(struct buf *out, struct str value)
{
	buf_add_c(out, '"');
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '\n')
			buf_add_cstr(out, "\\n");
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else
			buf_add_c(out, c);
	}
	buf_add_c(out, '"');
}

static void add_label(struct buf *out, bool *more, struct str name, struct str value)
{
	if (*more)
		buf_add_c(out, ',');
	*more = true;
	label_print_name(name, out);
	buf_add_c(out, '=');
	add_value(out, value);
}

static const struct label *external_label(const struct web_source *s, struct str name)
{
	for (size_t i = 0; i < s->external_label_count; i++)
		if (str_eq(s->external_labels[i].name, name))
			return &s->external_labels[i];
	return NULL;
}

static void add_sample(struct buf *out, const struct web_source *source, const struct sample *s)
{
	struct str name = labels_name(s->labels);
	bool classic = label_name_is_classic(name, true), more = false;
	char text[NUMBER_TEXT_MAX];

	if (classic)
		buf_add(out, name);
	buf_add_c(out, '{');
	if (!classic) {
		add_value(out, name);
		more = true;
	}
	for (uint32_t i = 0; i < s->labels->count; i++)
		if (!str_eq(s->labels->items[i].name, LABEL_NAME))
			add_label(out, &more, s->labels->items[i].name, s->labels->items[i].value);
	/* Not the instance of the one that federates. */
	if (!labels_get(s->labels, STR("instance")).len && !external_label(source, STR("instance")))
		add_label(out, &more, STR("instance"), STR(""));
	for (size_t i = 0; i < source->external_label_count; i++)
		if (!labels_get(s->labels, source->external_labels[i].name).len)
			add_label(out, &more, source->external_labels[i].name, source->external_labels[i].value);
	buf_add_cstr(out, "} ");
	buf_add(out, str_of(text, number_format(s->value, text)));
	buf_printf(out, " %lld\n", (long long)s->t_ms);
}

static void answer(struct web_reply *r, const struct web_source *source, const struct sample *samples, size_t count)
{
	struct str name = STR_EMPTY;

	r->content_type = "text/plain; version=0.0.4; charset=utf-8";
	for (size_t i = 0; i < count; i++) {
		if (i && labels_cmp(samples[i].labels, samples[i - 1].labels) == 0)
			continue; /* chosen by two selectors */
		struct str this_name = labels_name(samples[i].labels);

		if (!i || !str_eq(name, this_name)) {
			buf_add_cstr(&r->body, "# TYPE ");
			if (label_name_is_classic(this_name, true))
				buf_add(&r->body, this_name);
			else
				add_value(&r->body, this_name);
			buf_add_cstr(&r->body, " untyped\n");
		}
		name = this_name;
		add_sample(&r->body, source, &samples[i]);
	}
}

static void text_fail(struct web_reply *r, int status, const char *text)
{
	buf_reset(&r->body);
	r->status = status;
	r->content_type = "text/plain; charset=utf-8";
	buf_printf(&r->body, "%s\n", text);
}

void web_federate(struct web_request *q, struct web_reply *r)
{
	const struct web_source *source = q->source;
	struct backend *b = source->backend;
	VEC(struct sample) samples = { 0 };
	struct web_matchers m;
	struct error e = { 0 };
	bool ok = true;

	if (!web_matchers_init(&m, q, r, false)) {
		text_fail(r, 400, "match[] has a selector that cannot be parsed");
		return;
	}
	for (size_t i = 0; ok && i < m.count; i++) {
		struct series_view *views;
		size_t count;

		ok = b->ops->select(
			b, q->arena, m.lists[i], m.counts[i], q->now_ms - source->limits->lookback_ms + 1, q->now_ms, &views, &count, &e);
		for (size_t k = 0; ok && k < count; k++) {
			const struct series_view *v = &views[k];

			if (v->count && !number_is_stale(v->v[v->count - 1]))
				VEC_PUSH(&samples, (struct sample){ v->labels, v->t[v->count - 1], v->v[v->count - 1] });
		}
	}
	if (samples.count)
		qsort(samples.items, samples.count, sizeof *samples.items, compare_samples);
	if (ok)
		answer(r, source, samples.items, samples.count);
	else
		text_fail(r, 500, e.message);
	VEC_FREE(&samples);
	web_matchers_fini(&m);
}
