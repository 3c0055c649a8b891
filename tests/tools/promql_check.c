#include "promql_check.h"
#include "base/number.h"
#include "base/regex.h"

#include <float.h>
#include <math.h>

/* ---- values ---- */

static bool nearly_equal(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	if (a == b)
		return true;
	double sum = fabs(a) + fabs(b), difference = fabs(a - b);
	if (a == 0 || b == 0 || sum < DBL_MIN)
		return difference < 1e-6 * DBL_MIN;
	return difference / fmin(sum, DBL_MAX) < 1e-6;
}

static void why_series(struct buf *why, const char *what, const struct labels *labels)
{
	buf_printf(why, "%s ", what);
	labels_print(labels, why);
}

static bool why_value(struct buf *why, const struct labels *labels, int64_t t_ms, double expected, double got)
{
	why_series(why, "of", labels);
	buf_printf(why, " at %.3f s: expected ", (double)t_ms / 1000);
	buf_add_double(why, expected);
	buf_add_cstr(why, ", got ");
	buf_add_double(why, got);
	return false;
}

static const struct described_series *expected_series(const struct eval_command *c, const struct labels *labels, size_t *index)
{
	for (size_t i = 0; i < c->series.count; i++)
		if (labels_eq(c->series.items[i].labels, labels)) {
			*index = i;
			return &c->series.items[i];
		}
	return NULL;
}

/* ---- instants ---- */

static bool check_elements(const struct eval_command *c, const struct promql_element *elements, size_t count, bool ordered, struct buf *why)
{
	for (size_t i = 0; i < count; i++) {
		size_t index = 0;
		const struct described_series *s = expected_series(c, elements[i].labels, &index);
		if (!s) {
			why_series(why, "unexpected:", elements[i].labels);
			buf_add_cstr(why, " value ");
			buf_add_double(why, elements[i].value);
			return false;
		}
		for (size_t k = 0; k < i; k++)
			if (labels_eq(elements[k].labels, elements[i].labels)) {
				why_series(why, "twice in the result:", elements[i].labels);
				return false;
			}
		if (!nearly_equal(s->points.items[0].value, elements[i].value))
			return why_value(why, s->labels, elements[i].t_ms, s->points.items[0].value, elements[i].value);
		if (ordered && index != i) {
			buf_printf(why, "at place %zu, expected at %zu:", i + 1, index + 1);
			why_series(why, "", s->labels);
			return false;
		}
	}
	for (size_t i = 0; i < c->series.count; i++) {
		bool found = false;
		for (size_t k = 0; k < count && !found; k++)
			found = labels_eq(elements[k].labels, c->series.items[i].labels);
		if (!found) {
			why_series(why, "missing:", c->series.items[i].labels);
			return false;
		}
	}
	return true;
}

static bool check_scalar(const struct eval_command *c, double value, struct buf *why)
{
	if (c->has_scalar && nearly_equal(c->scalar, value))
		return true;
	buf_add_cstr(why, "expected ");
	if (c->has_scalar)
		buf_add_double(why, c->scalar);
	else
		buf_add_cstr(why, "a vector");
	buf_add_cstr(why, ", got the scalar ");
	buf_add_double(why, value);
	return false;
}

static bool check_points(
	const struct described_series *expected, const struct series_view *s, int64_t start_ms, int64_t step_ms, struct buf *why)
{
	size_t at = 0;
	for (size_t k = 0; k < expected->points.count; k++) {
		int64_t t_ms = start_ms + (int64_t)k * step_ms;
		bool there = at < s->count && s->t[at] == t_ms, wanted = expected->points.items[k].kind != POINT_NONE;
		if (there != wanted) {
			why_series(why, wanted ? "no point of" : "a point of", expected->labels);
			buf_printf(why, " at %.3f s", (double)t_ms / 1000);
			return false;
		}
		if (there && !nearly_equal(expected->points.items[k].value, s->v[at]))
			return why_value(why, s->labels, t_ms, expected->points.items[k].value, s->v[at]);
		at += there;
	}
	if (at == s->count)
		return true;
	why_series(why, "an unexpected point of", s->labels);
	buf_printf(why, " at %.3f s", (double)s->t[at] / 1000);
	return false;
}

static bool check_matrix(const struct eval_command *c, const struct promql_value *v, int64_t start_ms, int64_t step_ms, struct buf *why)
{
	for (size_t i = 0; i < v->count; i++) {
		size_t index;
		const struct described_series *s = expected_series(c, v->series[i].labels, &index);
		if (!s) {
			why_series(why, "unexpected:", v->series[i].labels);
			return false;
		}
		if (!check_points(s, &v->series[i], start_ms, step_ms, why))
			return false;
	}
	for (size_t i = 0; i < c->series.count; i++) {
		bool found = false, empty = true;
		for (size_t k = 0; k < v->count && !found; k++)
			found = labels_eq(v->series[k].labels, c->series.items[i].labels);
		for (size_t k = 0; k < c->series.items[i].points.count; k++)
			empty = empty && c->series.items[i].points.items[k].kind == POINT_NONE;
		if (!found && !empty) {
			why_series(why, "missing:", c->series.items[i].labels);
			return false;
		}
	}
	return true;
}

bool check_instant(const struct eval_command *c, const struct promql_value *v, bool ordered, struct buf *why)
{
	if (c->is_matrix)
		return v->type == PROMQL_MATRIX ? check_matrix(c, v, c->matrix_start_ms, c->matrix_step_ms, why)
						: (buf_add_cstr(why, "expected a range vector"), false);
	switch (v->type) {
	case PROMQL_STRING:
		if (c->has_string && str_eq(c->string, v->text))
			return true;
		buf_printf(why, "got the string \"" STR_FMT "\"", STR_ARG(v->text));
		return false;
	case PROMQL_SCALAR: return check_scalar(c, v->scalar, why);
	case PROMQL_VECTOR:
		if (c->has_scalar || c->has_string)
			return buf_add_cstr(why, "expected a scalar or string, got a vector"), false;
		return check_elements(c, v->elements, v->count, ordered, why);
	default: return buf_add_cstr(why, "got a range vector"), false;
	}
}

/* ---- ranges ---- */

static bool check_sorted(const struct promql_value *v, struct buf *why)
{
	for (size_t i = 1; i < v->count; i++)
		if (labels_cmp(v->series[i - 1].labels, v->series[i].labels) >= 0) {
			why_series(why, "not sorted by labels:", v->series[i].labels);
			return false;
		}
	return true;
}

bool check_range(const struct eval_command *c, const struct promql_value *v, struct buf *why)
{
	return check_sorted(v, why) && check_matrix(c, v, c->start_ms, c->step_ms, why);
}

bool check_range_at(const struct eval_command *c, const struct promql_value *v, int64_t t_ms, struct buf *why)
{
	VEC(struct promql_element) elements = { 0 };
	for (size_t i = 0; i < v->count; i++)
		for (size_t k = 0; k < v->series[i].count; k++)
			if (v->series[i].t[k] == t_ms)
				VEC_PUSH(&elements, (struct promql_element){ v->series[i].labels, t_ms, v->series[i].v[k] });
	bool ok = check_sorted(v, why);
	if (ok && c->has_scalar)
		ok = elements.count == 1 ? check_scalar(c, elements.items[0].value, why) : (buf_add_cstr(why, "no scalar"), false);
	else if (ok)
		ok = check_elements(c, elements.items, elements.count, false, why);
	VEC_FREE(&elements);
	return ok;
}

/* ---- texts ---- */

static bool text_matches(const struct expected_text *t, struct str text)
{
	if (t->exact)
		return str_eq(t->text, text);
	if (!t->pattern)
		return true;
	/* The tests search; ours are anchored. */
	struct buf pattern;
	struct error e;
	buf_init(&pattern, 1 << 16);
	buf_printf(&pattern, ".*(?:" STR_FMT ").*", STR_ARG(t->text));
	struct regex *re = regex_new(buf_str(&pattern), &e);
	bool matches = re && regex_match(re, text);
	regex_free(re);
	buf_fini(&pattern);
	return matches;
}

bool check_failure(const struct eval_command *c, const struct error *e, struct buf *why)
{
	char text[512];
	if (str_starts(str_from(e->message), STR("parse error:")))
		snprintf(text, sizeof text, "%d:%d: %s", e->line, e->column, e->message);
	else
		snprintf(text, sizeof text, "%s", e->message);
	for (size_t i = 0; i < c->texts.count; i++)
		if (c->texts.items[i].kind == EXPECT_FAIL && !text_matches(&c->texts.items[i], str_from(text))) {
			buf_printf(why, "failed with \"%s\", expected \"" STR_FMT "\"", text, STR_ARG(c->texts.items[i].text));
			return false;
		}
	return true;
}

/* Ours end in a place, "(1:5)". */
static struct str without_place(struct str text)
{
	ptrdiff_t at = (ptrdiff_t)text.len - 1;
	while (at > 0 && text.ptr[at] != '(')
		at--;
	return at > 0 ? str_head(text, (size_t)at - 1) : text;
}

static bool check_notes(
	const struct eval_command *c, enum expectation_kind kind, const struct str *notes, size_t count, bool none, struct buf *why)
{
	const char *name = kind == EXPECT_WARN ? "warning" : "info";
	size_t expected = 0;
	if (none && count) {
		buf_printf(why, "unexpected %s: " STR_FMT, name, STR_ARG(notes[0]));
		return false;
	}
	for (size_t i = 0; i < c->texts.count; i++) {
		bool found = false;
		if (c->texts.items[i].kind != kind)
			continue;
		expected++;
		for (size_t k = 0; k < count && !found; k++)
			found = text_matches(&c->texts.items[i], without_place(notes[k]));
		if (!found) {
			buf_printf(why, "no %s \"" STR_FMT "\", got \"" STR_FMT "\"", name, STR_ARG(c->texts.items[i].text),
				STR_ARG(count ? notes[0] : STR("none")));
			return false;
		}
	}
	for (size_t k = 0; k < count && expected; k++) {
		bool found = false;
		for (size_t i = 0; i < c->texts.count && !found; i++)
			found = c->texts.items[i].kind == kind && text_matches(&c->texts.items[i], without_place(notes[k]));
		if (!found) {
			buf_printf(why, "unexpected %s: " STR_FMT, name, STR_ARG(notes[k]));
			return false;
		}
	}
	return true;
}

bool check_annotations(const struct eval_command *c, const struct promql_value *v, struct buf *why)
{
	return check_notes(c, EXPECT_WARN, v->warnings, v->warning_count, c->no_warn, why) &&
	       check_notes(c, EXPECT_INFO, v->infos, v->info_count, c->no_info, why);
}
