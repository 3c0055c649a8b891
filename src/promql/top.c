/* topk bottomk limitk limit_ratio: some elements of each group, with their labels; and count_values. */
#include "promql/aggregate.h"

#include <math.h>
#include <stdlib.h>

struct pick {
	double value;
	uint32_t column;
};

struct top {
	struct evaluation *ev;
	const struct promql_node *n;
	const struct grid *grid;
	struct frame input, parameter;
	struct partition partition;
	struct pick *picks;
	struct pick *chosen; /* of an instant query, in order of result */
	size_t chosen_count;
};

/* NaN is below everything in both orders; equal values keep their order of input. */
static int compare_values(const struct pick *a, const struct pick *b, int sign)
{
	if (isnan(a->value) || isnan(b->value)) {
		int order = (int)isnan(a->value) - (int)isnan(b->value);
		return order ? order : (a->column < b->column ? -1 : 1);
	}
	if (a->value == b->value)
		return a->column < b->column ? -1 : 1;
	return (a->value < b->value ? -1 : 1) * sign;
}
static int compare_rising(const void *a, const void *b)
{
	return compare_values(a, b, 1);
}
static int compare_falling(const void *a, const void *b)
{
	return compare_values(a, b, -1);
}

/* Prometheus keeps a series whose hash, as a share of all hashes, is below the ratio (above 1 + ratio when that is negative). */
static bool ratio_keeps(double ratio, const struct labels *labels)
{
	double offset = (double)labels->hash / 18446744073709551616.0;
	return ratio >= 0 ? offset < ratio : offset >= 1 + ratio;
}

static size_t gather(struct top *t, size_t group, size_t step)
{
	size_t count = 0;
	for (size_t m = t->partition.start[group]; m < t->partition.start[group + 1]; m++) {
		uint32_t c = t->partition.members[m];
		if (!is_absent(t->input.columns[c].values[step]))
			t->picks[count++] = (struct pick){ t->input.columns[c].values[step], c };
	}
	return count;
}

/* The picks of a group at a step, the chosen ones first. Returns how many those are. */
static size_t choose(struct top *t, size_t group, size_t step)
{
	size_t count = gather(t, group, step), kept = 0;
	double k = scalar_at(&t->parameter, step);
	enum token_kind op = t->n->aggregate.op;
	if (op == TOKEN_LIMIT_RATIO) {
		double ratio = k > 1 ? 1 : k < -1 ? -1 : k;
		for (size_t i = 0; i < count; i++)
			if (ratio_keeps(ratio, column_labels(t->ev, &t->input.columns[t->picks[i].column])))
				t->picks[kept++] = t->picks[i];
		return kept;
	}
	if (k < 1)
		return 0;
	if (op == TOKEN_TOPK || op == TOKEN_BOTTOMK)
		qsort(t->picks, count, sizeof *t->picks, op == TOKEN_TOPK ? compare_falling : compare_rising);
	return k < (double)count ? (size_t)k : count;
}

static bool parameter_check(struct top *t)
{
	const struct promql_node *n = t->n->aggregate.parameter;
	bool ratio = t->n->aggregate.op == TOKEN_LIMIT_RATIO;
	double most = -INFINITY, least = INFINITY;
	bool any_nan = false;
	for (size_t i = 0; i < t->grid->steps; i++) {
		double k = scalar_at(&t->parameter, i);
		any_nan |= isnan(k);
		most = fmax(most, k);
		least = fmin(least, k);
	}
	if (any_nan)
		return evaluation_fail(t->ev, n, ratio ? "Ratio value is NaN" : "Parameter value is NaN");
	if (ratio && most > 1)
		annotate(t->ev, n, NOTE_WARNING, "ratio value should be between -1 and 1, got %g, capping to 1", most);
	if (ratio && least < -1)
		annotate(t->ev, n, NOTE_WARNING, "ratio value should be between -1 and 1, got %g, capping to -1", least);
	if (!ratio && least <= -9223372036854775808.0)
		return evaluation_fail(t->ev, n, "Scalar value %g underflows int64", least);
	return ratio || !(most >= 9223372036854775808.0) || evaluation_fail(t->ev, n, "Scalar value %g overflows int64", most);
}

/* What is not chosen becomes absent, in place. */
static void keep_chosen(struct top *t, size_t group, size_t step)
{
	size_t kept = choose(t, group, step);
	for (size_t m = t->partition.start[group]; m < t->partition.start[group + 1]; m++)
		t->input.columns[t->partition.members[m]].values[step] = absent();
	for (size_t i = 0; i < kept; i++) {
		t->input.columns[t->picks[i].column].values[step] = t->picks[i].value;
		if (t->ev->instant && t->grid->steps == 1)
			t->chosen[t->chosen_count++] = t->picks[i];
	}
}

/* An instant result is in the order of choice. */
static void result_order(struct top *t, struct frame *out)
{
	bool ordered = t->ev->instant && t->grid->steps == 1;
	*out = t->input;
	struct column *columns = arena_alloc(t->ev->arena, (t->input.count + 1) * sizeof *columns);
	out->count = 0;
	for (size_t i = 0; ordered && i < t->chosen_count; i++)
		columns[out->count++] = t->input.columns[t->chosen[i].column];
	for (size_t c = 0; !ordered && c < t->input.count; c++)
		if (column_has_value(&t->input.columns[c], t->grid->steps))
			columns[out->count++] = t->input.columns[c];
	out->columns = columns;
}

bool evaluate_top(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct top t = { .ev = ev, .n = n, .grid = grid };
	if (!evaluate(ev, n->aggregate.parameter, grid, &t.parameter) || !evaluate(ev, n->aggregate.expression, grid, &t.input))
		return false;
	if (!parameter_check(&t) || !partition_init(&t.partition, ev, n, &t.input))
		return false;
	t.picks = arena_alloc(ev->arena, (t.input.count + 1) * sizeof *t.picks);
	t.chosen = arena_alloc(ev->arena, (t.input.count + 1) * sizeof *t.chosen);
	for (size_t g = 0; g < t.partition.count; g++)
		for (size_t i = 0; i < grid->steps; i++)
			keep_chosen(&t, g, i);
	result_order(&t, out);
	return true;
}

/* ---- count_values ---- */

/* One column per value and group; steps of the same value fall together. */
struct value_counts {
	struct evaluation *ev;
	const struct promql_node *n;
	struct str label;
	struct groups groups;
	struct frame *out;
	size_t cap;
};

static const struct labels *labels_with_value(struct value_counts *v, const struct column *c, double value)
{
	char text[NUMBER_TEXT_MAX];
	struct labels_builder b;
	labels_builder_init(&b, column_labels(v->ev, c));
	labels_builder_set(&b, v->label, str_of(text, number_format_plain(value, text)));
	return labels_build(v->ev, v->n, &b);
}

static struct column *result_column(struct value_counts *v, const struct column *with_value, size_t steps)
{
	size_t group = groups_put(&v->groups, with_value);
	if (group < v->out->count)
		return &v->out->columns[group];
	if (v->out->count == v->cap) {
		struct frame larger;
		v->cap *= 2;
		frame_init_vector(v->ev, &larger, v->cap);
		memcpy(larger.columns, v->out->columns, v->out->count * sizeof *larger.columns);
		v->out->columns = larger.columns;
	}
	struct column *c = &v->out->columns[v->out->count++];
	*c = (struct column){ groups_labels(&v->groups, v->n, group), false, values_new(v->ev, steps) };
	return c->labels && c->values ? c : NULL;
}

static bool count_column(struct value_counts *v, const struct column *from, size_t steps)
{
	struct column *into = NULL;
	double last = 0;
	for (size_t i = 0; i < steps; i++) {
		double x = from->values[i];
		if (is_absent(x))
			continue;
		if (!into || number_bits(x) != number_bits(last)) {
			struct column *probe = ARENA_NEW(v->ev->arena, struct column);
			*probe = (struct column){ labels_with_value(v, from, x), from->nameless, NULL };
			if (!probe->labels || !(into = result_column(v, probe, steps)))
				return false;
			last = x;
		}
		into->values[i] = is_absent(into->values[i]) ? 1 : into->values[i] + 1;
	}
	return true;
}

bool evaluate_count_values(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *out)
{
	struct frame input;
	struct value_counts v = { .ev = ev, .n = n, .label = node_unwrap(n->aggregate.parameter)->text, .out = out, .cap = 16 };
	if (!v.label.len || !str_is_utf8(v.label)) {
		struct buf text;
		buf_init(&text, 256);
		syntax_quote(v.label, &text);
		evaluation_fail(ev, n, "invalid label name %s", buf_cstr(&text));
		buf_fini(&text);
		return false;
	}
	if (!evaluate(ev, n->aggregate.expression, grid, &input))
		return false;
	struct str *labels = arena_alloc(ev->arena, (n->aggregate.label_count + 1) * sizeof *labels);
	size_t count = n->aggregate.label_count;
	if (count)
		memcpy(labels, n->aggregate.labels, count * sizeof *labels);
	if (!n->aggregate.without)
		labels[count++] = v.label;
	groups_init(&v.groups, ev, labels, count, !n->aggregate.without, n->aggregate.without);
	frame_init_vector(ev, out, v.cap);
	for (size_t c = 0; c < input.count; c++)
		if (!count_column(&v, &input.columns[c], grid->steps))
			return false;
	out->one_name = !partition_by_name(n) && !str_eq(v.label, LABEL_NAME);
	return true;
}
