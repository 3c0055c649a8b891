/* histogram_quantile, histogram_quantiles, histogram_fraction: of classic histograms, one series per bucket. */
#include "promql/instant.h"

#include <math.h>
#include <stdlib.h>

struct bound {
	double le;
	uint32_t column;
};
struct cell { /* a bucket at one step */
	double le, count;
};
/* The buckets of the input, sorted by histogram and bound. */
struct histograms {
	struct evaluation *ev;
	const struct promql_node *n, *input_node;
	struct frame input;
	struct groups groups;
	struct bound *bounds;
	size_t *start; /* of each group in bounds, and the end */
	struct cell *cells;
	size_t cell_count;
};

static int compare_bounds(const void *a, const void *b)
{
	double x = ((const struct bound *)a)->le, y = ((const struct bound *)b)->le;
	return x < y ? -1 : x > y;
}

/* The upper bound of a bucket; an element without a usable one is left out, with a warning. */
static bool bound_of(struct histograms *h, const struct column *c, double *le)
{
	struct str text = column_label(h->ev, c, STR("le"));
	if (number_parse(text, le) && !isnan(*le))
		return true;
	struct str name = column_label(h->ev, c, LABEL_NAME);
	annotate(h->ev, h->input_node, NOTE_WARNING,
		"bucket label \"le\" is missing or has a malformed value of \"" STR_FMT "\"%s" STR_FMT "%s", STR_ARG(text),
		name.len ? " for metric name \"" : "", STR_ARG(name), name.len ? "\"" : "");
	return false;
}

static void histograms_sort(struct histograms *h)
{
	static const struct str le[] = { { "le", 2 } };
	struct evaluation *ev = h->ev;
	size_t count = h->input.count, *group_of = arena_alloc(ev->arena, (count + 1) * sizeof *group_of), *at;
	double *les = arena_alloc(ev->arena, (count + 1) * sizeof *les);
	groups_init(&h->groups, ev, le, 1, false, !ev->delayed);
	for (size_t c = 0; c < count; c++)
		group_of[c] = bound_of(h, &h->input.columns[c], &les[c]) ? groups_put(&h->groups, &h->input.columns[c]) : SIZE_MAX;
	h->start = ARENA_ARRAY(ev->arena, size_t, h->groups.count + 2);
	at = ARENA_ARRAY(ev->arena, size_t, h->groups.count + 2);
	h->bounds = arena_alloc(ev->arena, (count + 1) * sizeof *h->bounds);
	h->cells = arena_alloc(ev->arena, (count + 1) * sizeof *h->cells);
	for (size_t c = 0; c < count; c++)
		if (group_of[c] != SIZE_MAX)
			h->start[group_of[c] + 1]++;
	for (size_t g = 0; g < h->groups.count; g++)
		at[g + 1] = h->start[g + 1] += h->start[g];
	for (size_t c = 0; c < count; c++)
		if (group_of[c] != SIZE_MAX)
			h->bounds[at[group_of[c]]++] = (struct bound){ les[c], (uint32_t)c };
	for (size_t g = 0; g < h->groups.count; g++)
		qsort(h->bounds + h->start[g], h->start[g + 1] - h->start[g], sizeof *h->bounds, compare_bounds);
}

/* The buckets that are there at a step; of equal bounds the counts are added. False when none is. */
static bool cells_at(struct histograms *h, size_t group, size_t step)
{
	h->cell_count = 0;
	for (size_t i = h->start[group]; i < h->start[group + 1]; i++) {
		double count = h->input.columns[h->bounds[i].column].values[step];
		if (is_absent(count))
			continue;
		if (h->cell_count && h->cells[h->cell_count - 1].le == h->bounds[i].le)
			h->cells[h->cell_count - 1].count += count;
		else
			h->cells[h->cell_count++] = (struct cell){ h->bounds[i].le, count };
	}
	return h->cell_count > 0;
}

/* Counts may not fall: differences of rounding are smoothed silently. True when a real fall was. */
static bool cells_smooth(struct cell *cells, size_t count)
{
	bool forced = false;
	double before = cells[0].count;
	for (size_t i = 1; i < count; i++) {
		double now = cells[i].count;
		double difference = fabs(before - now), total = fabs(before) + fabs(now);
		if (now == before)
			continue;
		if (difference / (total < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : total) < 1e-12) {
			cells[i].count = before;
		} else if (now < before) {
			cells[i].count = before;
			forced = true;
		} else {
			before = now;
		}
	}
	return forced;
}

static double cells_quantile(struct cell *cells, size_t count, double q, bool *forced)
{
	if (isnan(q))
		return number_nan();
	if (q < 0 || q > 1)
		return q < 0 ? -INFINITY : INFINITY;
	if (cells[count - 1].le != INFINITY)
		return number_nan();
	*forced = cells_smooth(cells, count);
	double total = cells[count - 1].count;
	if (count < 2 || total == 0 || isnan(total))
		return number_nan();
	double rank = q * total;
	size_t b = 0;
	while (b < count - 1 && !(cells[b].count >= rank))
		b++;
	if (b == count - 1)
		return cells[count - 2].le;
	if (b == 0 && cells[0].le <= 0)
		return cells[0].le;
	double start = b ? cells[b - 1].le : 0, below = b ? cells[b - 1].count : 0;
	return start + (cells[b].le - start) * ((rank - below) / (cells[b].count - below));
}

/* How many observations are below a value: linear inside a bucket; nothing is known inside one without an end. */
static double cells_rank(const struct cell *cells, size_t count, double value)
{
	double below = 0;
	for (size_t i = 0; i < count; i++) {
		double low = i ? cells[i - 1].le : cells[i].le > 0 ? 0 : -INFINITY;
		if (low >= value)
			break;
		if (cells[i].le > value) {
			if (isinf(low))
				below = cells[i].count;
			else if (!isinf(cells[i].le))
				below += (cells[i].count - below) * (value - low) / (cells[i].le - low);
			break;
		}
		below = cells[i].count;
	}
	double total = cells[count - 1].count;
	return below > total ? total : below;
}

static double cells_fraction(const struct cell *cells, size_t count, double lower, double upper)
{
	double total = cells[count - 1].count;
	if (cells[count - 1].le != INFINITY || total == 0 || isnan(lower) || isnan(upper))
		return number_nan();
	if (lower >= upper)
		return 0;
	return (cells_rank(cells, count, upper) - cells_rank(cells, count, lower)) / total;
}

static void note_forced(struct histograms *h, size_t group)
{
	struct str name = h->ev->delayed ? column_label(h->ev, h->groups.first[group], LABEL_NAME) : STR_EMPTY;
	annotate(h->ev, h->input_node, NOTE_INFO,
		"input to histogram_quantile needed to be fixed for monotonicity (see "
		"https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)%s" STR_FMT "%s",
		name.len ? " for metric name \"" : "", STR_ARG(name), name.len ? "\"" : "");
}

static bool histograms_init(
	struct histograms *h, struct evaluation *ev, const struct promql_node *call, size_t arg, const struct grid *grid)
{
	*h = (struct histograms){ .ev = ev, .n = call, .input_node = call->call.args[arg] };
	if (!evaluate(ev, h->input_node, grid, &h->input))
		return false;
	histograms_sort(h);
	return true;
}

/* A column of results for a group; with delayed removal it still has its name. */
static bool result_column(struct histograms *h, size_t group, size_t steps, struct column *c)
{
	*c = (struct column){ groups_labels(&h->groups, h->n, group), true, values_new(h->ev, steps) };
	return c->labels && c->values;
}

static void quantile_column(struct histograms *h, size_t group, const struct frame *q, const struct grid *grid, struct column *c)
{
	bool any_forced = false;
	for (size_t i = 0; i < grid->steps; i++) {
		bool forced = false;
		if (cells_at(h, group, i))
			c->values[i] = cells_quantile(h->cells, h->cell_count, scalar_at(q, i), &forced);
		any_forced |= forced;
	}
	if (any_forced)
		note_forced(h, group);
}

static void note_quantiles(struct evaluation *ev, const struct promql_node *n, const struct frame *q, const struct grid *grid)
{
	for (size_t i = 0; i < grid->steps; i++)
		annotate_quantile(ev, n, scalar_at(q, i));
}

bool frame_histogram_quantile(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct histograms h;
	struct frame q;
	if (!evaluate(ev, call->call.args[0], grid, &q) || !histograms_init(&h, ev, call, 1, grid))
		return false;
	note_quantiles(ev, call->call.args[0], &q, grid);
	frame_init_vector(ev, out, h.groups.count);
	for (size_t g = 0; g < h.groups.count; g++) {
		struct column *c = &out->columns[out->count++];
		if (!result_column(&h, g, grid->steps, c))
			return false;
		quantile_column(&h, g, &q, grid, c);
	}
	out->one_name = h.input.one_name;
	return true;
}

bool frame_histogram_fraction(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct histograms h;
	struct frame lower, upper;
	if (!evaluate(ev, call->call.args[0], grid, &lower) || !evaluate(ev, call->call.args[1], grid, &upper) ||
		!histograms_init(&h, ev, call, 2, grid))
		return false;
	frame_init_vector(ev, out, h.groups.count);
	for (size_t g = 0; g < h.groups.count; g++) {
		struct column *c = &out->columns[out->count++];
		if (!result_column(&h, g, grid->steps, c))
			return false;
		for (size_t i = 0; i < grid->steps; i++)
			if (cells_at(&h, g, i))
				c->values[i] = cells_fraction(h.cells, h.cell_count, scalar_at(&lower, i), scalar_at(&upper, i));
	}
	out->one_name = h.input.one_name;
	return true;
}

static const struct labels *labels_with_quantile(struct histograms *h, const struct column *c, struct str label, double q)
{
	char text[48];
	struct labels_builder b;
	size_t len = number_format(q, text);
	if (isfinite(q) && !memchr(text, '.', len) && !memchr(text, 'e', len)) {
		text[len++] = '.';
		text[len++] = '0';
	}
	labels_builder_init(&b, c->labels);
	labels_builder_set(&b, label, str_of(text, len));
	return labels_build(h->ev, h->n, &b);
}

/* histogram_quantiles(v, "label", q...): one column per histogram and quantile. */
bool frame_histogram_quantiles(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct histograms h;
	struct str label = node_unwrap(call->call.args[1])->text;
	if (!histograms_init(&h, ev, call, 0, grid))
		return false;
	frame_init_vector(ev, out, h.groups.count * (call->call.arg_count - 2));
	for (size_t a = 2; a < call->call.arg_count && grid->steps; a++) {
		struct frame q;
		if (!evaluate(ev, call->call.args[a], grid, &q))
			return false;
		note_quantiles(ev, call->call.args[a], &q, grid);
		for (size_t g = 0; g < h.groups.count; g++) {
			struct column *c = &out->columns[out->count++];
			if (!result_column(&h, g, grid->steps, c))
				return false;
			quantile_column(&h, g, &q, grid, c);
			c->labels = labels_with_quantile(&h, c, label, scalar_at(&q, 0));
			if (!c->labels)
				return false;
		}
	}
	return frame_merge_equal(ev, call, out, grid->steps);
}

/* histogram_count and the like work on native histograms, which cannot be here: of float samples they return nothing. */
bool frame_histogram_native(struct evaluation *ev, const struct promql_node *call, const struct grid *grid, struct frame *out)
{
	struct frame input;
	if (!evaluate(ev, call->call.args[0], grid, &input))
		return false;
	frame_init_vector(ev, out, 0);
	return true;
}
