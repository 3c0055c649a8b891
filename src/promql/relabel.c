/* label_replace and label_join: they work on series, not on values. */
#include "promql/instant.h"

static struct str text_argument(const struct promql_node *call, size_t i)
{
	return node_unwrap(call->call.args[i])->text;
}

static bool label_name_valid(struct str name)
{
	return name.len && str_is_utf8(name);
}

static bool column_relabel(struct evaluation *ev, const struct promql_node *call, struct column *c, struct str name, struct str value)
{
	struct labels_builder b;
	labels_builder_init(&b, column_labels(ev, c));
	labels_builder_set(&b, name, value);
	c->labels = labels_build(ev, call, &b);
	if (str_eq(name, LABEL_NAME))
		c->nameless = false;
	return c->labels != NULL;
}

static bool replace_all(struct evaluation *ev, const struct promql_node *call, const struct regex *re, struct frame *f)
{
	struct str dst = text_argument(call, 1), replacement = text_argument(call, 2), src = text_argument(call, 3);
	struct buf text;
	bool ok = true;
	buf_init(&text, 1 << 20);
	for (size_t c = 0; ok && c < f->count; c++) {
		struct str value = column_label(ev, &f->columns[c], src);
		buf_reset(&text);
		if (regex_expand(re, value.ptr ? value : STR(""), replacement, &text))
			ok = column_relabel(ev, call, &f->columns[c], dst, buf_str(&text));
	}
	buf_fini(&text);
	return ok;
}

bool frame_label_replace(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct str dst = text_argument(call, 1), pattern = text_argument(call, 4);
	struct error why = { 0 };
	if (!label_name_valid(dst))
		return evaluation_fail(ev, call->call.args[1], "invalid destination label name in label_replace(): " STR_FMT, STR_ARG(dst));
	struct regex *re = regex_new(pattern, &why);
	if (!re) {
		evaluation_fail(ev, call->call.args[4], "invalid regular expression in label_replace(): " STR_FMT, STR_ARG(pattern));
		error_hint(ev->error, "%s", why.message);
		return false;
	}
	bool ok = evaluate(ev, call->call.args[0], grid, out) && replace_all(ev, call, re, out);
	regex_free(re);
	out->one_name = ok && out->one_name && !str_eq(dst, LABEL_NAME);
	return ok && frame_merge_equal(ev, call, out, grid->steps);
}

bool frame_label_join(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct str dst = text_argument(call, 1), separator = text_argument(call, 2);
	for (size_t i = 3; i < call->call.arg_count; i++)
		if (!label_name_valid(text_argument(call, i)))
			return evaluation_fail(ev, call->call.args[i], "invalid source label name in label_join(): " STR_FMT,
				STR_ARG(text_argument(call, i)));
	if (!label_name_valid(dst))
		return evaluation_fail(ev, call->call.args[1], "invalid destination label name in label_join(): " STR_FMT, STR_ARG(dst));
	if (!evaluate(ev, call->call.args[0], grid, out))
		return false;
	struct buf text;
	bool ok = true;
	buf_init(&text, 1 << 20);
	for (size_t c = 0; ok && c < out->count; c++) {
		buf_reset(&text);
		for (size_t i = 3; i < call->call.arg_count; i++) {
			if (i > 3)
				buf_add(&text, separator);
			buf_add(&text, column_label(ev, &out->columns[c], text_argument(call, i)));
		}
		ok = column_relabel(ev, call, &out->columns[c], dst, buf_str(&text));
	}
	buf_fini(&text);
	out->one_name = out->one_name && !str_eq(dst, LABEL_NAME);
	return ok && frame_merge_equal(ev, call, out, grid->steps);
}
