/* Frames into what the caller gets. */
#include "promql/evaluate.h"

#include <stdlib.h>

/* The delayed removal of names, and with it the last check for equal label sets. */
static bool settle_names(struct evaluation *ev, const struct promql_node *n, struct frame *f, size_t steps)
{
	if (!ev->delayed || f->type != PROMQL_VECTOR)
		return true;
	ev->delayed = false;
	return frame_merge_equal(ev, n, f, steps);
}

bool result_instant(struct evaluation *ev, const struct promql_node *n, struct frame *f, struct promql_value *value)
{
	value->type = f->type;
	value->text = f->text;
	if (f->type == PROMQL_SCALAR)
		value->scalar = f->columns[0].values[0];
	if (f->type != PROMQL_VECTOR)
		return true;
	if (!settle_names(ev, n, f, 1))
		return false;
	value->elements = arena_alloc(ev->arena, (f->count + 1) * sizeof *value->elements);
	for (size_t c = 0; c < f->count; c++)
		if (!is_absent(f->columns[c].values[0]))
			value->elements[value->count++] =
				(struct promql_element){ column_labels(ev, &f->columns[c]), value->t_ms, f->columns[c].values[0] };
	return true;
}

static int compare_series(const void *a, const void *b)
{
	return labels_cmp(((const struct series_view *)a)->labels, ((const struct series_view *)b)->labels);
}

void result_samples(struct evaluation *ev, const struct range_source *source, struct promql_value *value)
{
	ev->delayed = false;
	value->type = PROMQL_MATRIX;
	value->series = source->series;
	value->count = source->count;
	for (size_t i = 0; i < source->count; i++) {
		struct column c = { source->series[i].labels, source->nameless[i], NULL };
		value->series[i].labels = column_labels(ev, &c);
	}
	if (value->count)
		qsort(value->series, value->count, sizeof *value->series, compare_series);
}

bool result_range(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *f, struct promql_value *value)
{
	if (!settle_names(ev, n, f, grid->steps))
		return false;
	int64_t *times = arena_alloc(ev->arena, (grid->steps + 1) * sizeof *times);
	for (size_t i = 0; i < grid->steps; i++)
		times[i] = grid_time(grid, i);
	value->type = PROMQL_MATRIX;
	value->series = arena_alloc(ev->arena, (f->count + 1) * sizeof *value->series);
	for (size_t c = 0; c < f->count; c++) {
		struct series_view s = column_points(ev, &f->columns[c], column_labels(ev, &f->columns[c]), times, grid->steps);
		if (s.count)
			value->series[value->count++] = s;
	}
	if (value->count)
		qsort(value->series, value->count, sizeof *value->series, compare_series);
	return true;
}
