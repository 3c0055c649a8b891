#include "promql/evaluate.h"

/* ---- room ---- */

/* Absent values take room too, and the arena gives none back before the query is done. */
size_t evaluation_room(const struct evaluation *ev)
{
	return ev->options->max_samples * 4 + (1 << 20);
}

double *values_new(struct evaluation *ev, size_t steps)
{
	ev->cells += steps;
	if (ev->cells > evaluation_room(ev) || ev->cells < steps) {
		error_set(ev->error, EXIT_BAD_INPUT, "query processing would load too many samples into memory in query execution");
		return NULL;
	}
	double *values = arena_alloc(ev->arena, (steps + 1) * sizeof *values);
	for (size_t i = 0; i < steps; i++)
		values[i] = absent();
	return values;
}

bool frame_init_scalar(struct evaluation *ev, struct frame *f, size_t steps)
{
	frame_init_vector(ev, f, 1);
	f->type = PROMQL_SCALAR;
	f->columns[0] = (struct column){ .values = values_new(ev, steps) };
	f->count = 1;
	return f->columns[0].values != NULL;
}

void frame_init_vector(struct evaluation *ev, struct frame *f, size_t capacity)
{
	*f = (struct frame){ .type = PROMQL_VECTOR, .columns = arena_alloc(ev->arena, (capacity + 1) * sizeof *f->columns) };
}

size_t frame_points(const struct frame *f, size_t steps)
{
	size_t points = 0;
	for (size_t c = 0; f->type == PROMQL_VECTOR && c < f->count; c++)
		for (size_t i = 0; i < steps; i++)
			points += !is_absent(f->columns[c].values[i]);
	return points;
}

/* ---- labels ---- */

const struct labels *labels_keep(struct evaluation *ev, struct labels *built)
{
	/* One block of memory: the texts end with the last value. Its pointers move along. */
	size_t size = sizeof *built;
	if (built->count) {
		struct str last = built->items[built->count - 1].value;
		size = (size_t)(last.ptr + last.len + 1 - (const char *)built);
	}
	struct labels *kept = arena_alloc(ev->arena, size);
	memcpy(kept, built, size);
	for (uint32_t i = 0; i < kept->count; i++) {
		kept->items[i].name.ptr = (char *)kept + (built->items[i].name.ptr - (char *)built);
		kept->items[i].value.ptr = (char *)kept + (built->items[i].value.ptr - (char *)built);
	}
	labels_unref(built);
	return kept;
}

const struct labels *labels_build(struct evaluation *ev, const struct promql_node *n, const struct labels_builder *b)
{
	if (b->overflowed) {
		evaluation_fail(ev, n, "a result has more than %zu labels", sizeof b->items / sizeof *b->items);
		return NULL;
	}
	return labels_keep(ev, labels_builder_build(b));
}

bool label_names_metric(struct str name)
{
	return name.len == 8 && name.ptr[0] == '_' &&
	       (str_eq(name, LABEL_NAME) || str_eq(name, STR("__type__")) || str_eq(name, STR("__unit__")));
}

bool labels_have_type(const struct labels *l)
{
	return l && (labels_get(l, STR("__type__")).len || labels_get(l, STR("__unit__")).len);
}

static bool name_hidden(const struct evaluation *ev, const struct column *c)
{
	return c->nameless && !ev->delayed;
}

struct str column_label(const struct evaluation *ev, const struct column *c, struct str name)
{
	if (!c->labels || (name_hidden(ev, c) && label_names_metric(name)))
		return STR_EMPTY;
	return labels_get(c->labels, name);
}

const struct labels *column_labels(struct evaluation *ev, const struct column *c)
{
	if (!c->labels)
		return ev->no_labels;
	if (!name_hidden(ev, c) || (!labels_name(c->labels).len && !labels_have_type(c->labels)))
		return c->labels;
	struct label *kept = arena_alloc(ev->arena, c->labels->count * sizeof *kept);
	size_t count = 0;
	for (uint32_t i = 0; i < c->labels->count; i++)
		if (!label_names_metric(c->labels->items[i].name))
			kept[count++] = c->labels->items[i];
	return labels_keep(ev, labels_new(kept, count));
}

bool column_has_value(const struct column *c, size_t steps)
{
	for (size_t i = 0; i < steps; i++)
		if (!is_absent(c->values[i]))
			return true;
	return false;
}

struct series_view column_points(
	struct evaluation *ev, const struct column *c, const struct labels *labels, const int64_t *times, size_t steps)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < steps; i++)
		count += !is_absent(c->values[i]);
	if (count == steps)
		return (struct series_view){ labels, times, c->values, count };
	int64_t *t = arena_alloc(ev->arena, (count + 1) * sizeof *t);
	for (size_t i = 0; i < steps; i++) {
		if (is_absent(c->values[i]))
			continue;
		t[kept] = times[i];
		c->values[kept++] = c->values[i];
	}
	return (struct series_view){ labels, t, c->values, count };
}

/* ---- equal label sets ---- */

static bool column_merge(struct evaluation *ev, const struct promql_node *n, struct column *into, const struct column *from, size_t steps)
{
	for (size_t i = 0; i < steps; i++) {
		if (is_absent(from->values[i]))
			continue;
		if (!is_absent(into->values[i]))
			return evaluation_fail(ev, n, "vector cannot contain metrics with the same labelset");
		into->values[i] = from->values[i];
	}
	return true;
}

bool frame_merge_equal(struct evaluation *ev, const struct promql_node *n, struct frame *f, size_t steps)
{
	struct groups g;
	if (f->count < 2)
		return true;
	groups_init(&g, ev, NULL, 0, false, false);
	struct column *old = f->columns;
	struct column *merged = arena_alloc(ev->arena, f->count * sizeof *merged);
	size_t count = 0;
	for (size_t c = 0; c < f->count; c++) {
		size_t group = groups_put(&g, &old[c]);
		if (group == count)
			merged[count++] = old[c];
		else if (!column_merge(ev, n, &merged[group], &old[c], steps))
			return false;
	}
	f->columns = merged;
	f->count = count;
	return true;
}

bool frame_drop_names(struct evaluation *ev, const struct promql_node *n, struct frame *f, size_t steps)
{
	bool had_name = false;
	for (size_t c = 0; c < f->count; c++) {
		if (f->columns[c].nameless)
			continue;
		had_name = f->columns[c].nameless = true;
		f->one_name = f->one_name && !labels_have_type(f->columns[c].labels);
	}
	if (f->one_name || ev->delayed || !had_name)
		return true;
	f->one_name = true;
	return frame_merge_equal(ev, n, f, steps);
}
