/* The sort functions: only an instant result has an order. */
#include "promql/instant.h"

#include <math.h>
#include <stdlib.h>

static int compare_column_values(const struct column *a, const struct column *b, int sign)
{
	double x = a->values[0], y = b->values[0];
	if (isnan(x) || isnan(y))
		return (int)isnan(x) - (int)isnan(y);
	return (x < y ? -1 : x > y) * sign;
}
static int compare_rising(const void *a, const void *b)
{
	return compare_column_values(a, b, 1);
}
static int compare_falling(const void *a, const void *b)
{
	return compare_column_values(a, b, -1);
}

static bool has_order(struct evaluation *ev, const struct promql_node *call, const struct grid *grid)
{
	if (!ev->instant)
		annotate(ev, call, NOTE_WARNING, "sort is ineffective for range queries since results are always ordered by labels");
	return ev->instant && grid->steps == 1;
}

static void drop_absent(struct frame *f)
{
	size_t kept = 0;
	for (size_t c = 0; c < f->count; c++)
		if (!is_absent(f->columns[c].values[0]))
			f->columns[kept++] = f->columns[c];
	f->count = kept;
}

static bool sort_by_value(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out, bool falling)
{
	if (!evaluate(ev, call->call.args[0], grid, out))
		return false;
	if (has_order(ev, call, grid)) {
		drop_absent(out);
		qsort(out->columns, out->count, sizeof *out->columns, falling ? compare_falling : compare_rising);
	}
	return true;
}

bool frame_sort(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	return sort_by_value(ev, call, grid, out, false);
}

bool frame_sort_desc(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	return sort_by_value(ev, call, grid, out, true);
}

/* ---- by label: runs of digits compare as numbers ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str next_chunk(struct str *rest)
{
	size_t len = 1;
	while (len < rest->len && is_digit(rest->ptr[len]) == is_digit(rest->ptr[0]))
		len++;
	struct str chunk = str_head(*rest, len);
	*rest = str_skip(*rest, len);
	return chunk;
}

static int compare_chunks(struct str a, struct str b)
{
	int64_t x, y;
	if (is_digit(a.ptr[0]) && is_digit(b.ptr[0]) && number_parse_i64(a, &x) && number_parse_i64(b, &y))
		return x < y ? -1 : x > y;
	return str_cmp(a, b);
}

static int compare_natural(struct str a, struct str b)
{
	while (a.len && b.len) {
		int order = compare_chunks(next_chunk(&a), next_chunk(&b));
		if (order)
			return order;
	}
	return a.len ? 1 : b.len ? -1 : 0;
}

struct label_order {
	const struct evaluation *ev;
	const struct promql_node *call;
	int sign;
};

static int compare_by_labels(const void *a, const void *b, void *context)
{
	const struct label_order *o = context;
	const struct column *x = a, *y = b;
	for (size_t i = 1; i < o->call->call.arg_count; i++) {
		struct str label = node_unwrap(o->call->call.args[i])->text;
		struct str left = column_label(o->ev, x, label), right = column_label(o->ev, y, label);
		int order = str_eq(left, right) ? 0 : compare_natural(left, right);
		if (order)
			return order * o->sign;
	}
	if (!x->labels || !y->labels)
		return 0;
	return labels_cmp(x->labels, y->labels) * o->sign;
}

static bool sort_by_label(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out, int sign)
{
	struct label_order order = { ev, call, sign };
	if (!evaluate(ev, call->call.args[0], grid, out))
		return false;
	if (has_order(ev, call, grid)) {
		drop_absent(out);
		qsort_r(out->columns, out->count, sizeof *out->columns, compare_by_labels, &order);
	}
	return true;
}

bool frame_sort_by_label(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	return sort_by_label(ev, call, grid, out, 1);
}

bool frame_sort_by_label_desc(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	return sort_by_label(ev, call, grid, out, -1);
}
