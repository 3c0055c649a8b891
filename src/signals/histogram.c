/* Histograms over a window: gathered per scheduler, checked, merged over a scope. */
#include "signals/window.h"

#include <math.h>
#include <stdlib.h>

struct bucket {
	double le, count; /* cumulative */
};

static int by_bound(const void *a, const void *b)
{
	double x = ((const struct bucket *)a)->le, y = ((const struct bucket *)b)->le;
	return (x > y) - (x < y);
}

static void spoil(enum unknown_reason *reason, struct str *why, enum unknown_reason r, struct str text)
{
	if (*reason == UNKNOWN_NONE) {
		*reason = r;
		*why = text;
	}
}

/* Resets are those of the process and those that _count shows; every part of the histogram is read with the same ones. */
static struct window_ends ends_with_falls(
	struct evaluation *ev, size_t target, const struct member_list *list, struct restart_times *restarts)
{
	struct window_ends w = window_ends_of(ev, target, restarts);
	VEC_EACH (&list->members, m)
		if (m->part == PART_COUNT)
			restart_times_of_falls(ev->arena, &m->view, restarts);
	return w;
}

/* Sorts by bound and adds up what has the same one (of different label values). Returns how many bounds there are. */
static size_t buckets_settle(struct bucket *buckets, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(buckets, count, sizeof *buckets, by_bound);
	for (size_t i = 0; i < count; i++) {
		if (kept && buckets[kept - 1].le == buckets[i].le)
			buckets[kept - 1].count += buckets[i].count;
		else
			buckets[kept++] = buckets[i];
	}
	return kept;
}

/* Is this the first of its duplicates (other tp_rank, same identity, part and bound)? */
static bool is_first_duplicate(const struct member_list *list, const struct member *m)
{
	if (!m->duplicate.len)
		return true;
	for (const struct member *o = list->members.items; o != m; o++)
		if (o->identity == m->identity && o->part == m->part && o->duplicate.len && (m->part != PART_BUCKET || o->le == m->le))
			return false;
	return true;
}

/* Cumulative buckets become cells; what contradicts itself is told. */
static void make_cells(struct arena *arena, struct histogram *h, struct bucket *buckets, size_t count, double scale)
{
	count = buckets_settle(buckets, count);
	h->bounds = arena_alloc(arena, (count + 1) * sizeof *h->bounds);
	h->counts = arena_alloc(arena, (count + 1) * sizeof *h->counts);
	h->count = count;
	double before = 0;
	for (size_t i = 0; i < count; i++) {
		h->bounds[i] = buckets[i].le * scale;
		h->counts[i] = buckets[i].count - before;
		if (h->counts[i] < -1e-9 * fabs(before))
			spoil(&h->bucket_reason, &h->bucket_why, UNKNOWN_INVALID,
				arena_printf(arena, "bucket le=%g holds fewer events than the one below it", h->bounds[i]));
		before = buckets[i].count;
	}
	if (!count || !isinf(h->bounds[count - 1]))
		spoil(&h->bucket_reason, &h->bucket_why, UNKNOWN_INVALID, STR("no +Inf bucket"));
	else if (!isnan(h->total) && fabs(before - h->total) > 1e-9 * fmax(before, h->total))
		spoil(&h->bucket_reason, &h->bucket_why, UNKNOWN_INVALID,
			arena_printf(arena, "the +Inf bucket counts %g events, _count %g", before, h->total));
	if (isnan(h->total) && count && isinf(h->bounds[count - 1]))
		h->total = before;
}

/* A sum must lie between the smallest and the largest that the cells allow. */
static void check_sum(struct arena *arena, struct histogram *h)
{
	if (isnan(h->sum) || h->bucket_reason != UNKNOWN_NONE || h->over_reset || !h->count || h->bounds[0] < 0)
		return;
	double low = 0, high = 0;
	for (size_t i = 0; i < h->count; i++) {
		low += h->counts[i] * (i ? h->bounds[i - 1] : 0);
		high += h->counts[i] > 0 ? h->counts[i] * h->bounds[i] : 0;
	}
	double slack = 1e-6 * fmax(low, h->sum) + 1e-9;
	if (h->sum < low - slack || h->sum > high + slack)
		spoil(&h->sum_reason, &h->sum_why, UNKNOWN_INVALID,
			arena_printf(arena, "the sum %g lies outside what the buckets allow, %g to %g", h->sum, low, high));
}

/* Which parts fell or were restarted. A part that falls while _count goes on is no restart. */
struct resets {
	bool count, count_seen, bucket, sum;
};

static void resets_add(struct resets *r, enum series_part part, bool reset)
{
	r->count_seen |= part == PART_COUNT;
	r->count |= part == PART_COUNT && reset;
	r->bucket |= part == PART_BUCKET && reset;
	r->sum |= part == PART_SUM && reset;
}

static void check_resets(struct histogram *h, const struct resets *r)
{
	if (!r->count_seen || r->count)
		return;
	if (r->bucket)
		spoil(&h->bucket_reason, &h->bucket_why, UNKNOWN_INVALID, STR("a bucket fell while _count went on"));
	if (r->sum)
		spoil(&h->sum_reason, &h->sum_why, UNKNOWN_INVALID, STR("the sum fell while _count went on"));
	h->over_reset = false;
}

/* A scheduler's histogram while its members are added. */
struct gathering {
	struct histogram *h;
	const struct member_list *list;
	struct window_ends ends;
	struct bucket *buckets;
	size_t count;
	struct resets resets;
};

static void add_unknown(struct gathering *g, const struct member *m, enum unknown_reason reason)
{
	struct histogram *h = g->h;
	if (reason == UNKNOWN_ABSENT || view_at(&m->view, g->ends.to_ms, g->ends.patience_ms) < 0)
		return; /* vanished, or not there yet */
	if (reason == UNKNOWN_INVALID && m->part == PART_SUM)
		spoil(&h->sum_reason, &h->sum_why, reason, STR("the sum is no number, or fell below 0"));
	else if (reason == UNKNOWN_INVALID && m->part == PART_BUCKET)
		spoil(&h->bucket_reason, &h->bucket_why, reason, STR("a bucket is no count"));
	else
		spoil(&h->reason, &h->why, reason, STR_EMPTY);
}

static void add_member(struct gathering *g, const struct member *m)
{
	struct histogram *h = g->h;
	struct increase i = view_increase(&m->view, &g->ends);
	if (!i.known) {
		add_unknown(g, m, i.reason);
		return;
	}
	h->over_reset |= i.reset;
	resets_add(&g->resets, m->part, i.reset);
	if (m->part == PART_BUCKET && isnan(m->le))
		spoil(&h->bucket_reason, &h->bucket_why, UNKNOWN_INVALID, STR("a bucket without a number in le"));
	else if (m->part == PART_BUCKET)
		g->buckets[g->count++] = (struct bucket){ m->le, i.value };
	else if (m->part == PART_SUM)
		h->sum = (isnan(h->sum) ? 0 : h->sum) + i.value * g->list->name->scale;
	else
		h->total = (isnan(h->total) ? 0 : h->total) + i.value;
	if (isnan(h->elapsed_s) || i.elapsed_s > h->elapsed_s)
		h->elapsed_s = i.elapsed_s;
}

static void gather(struct evaluation *ev, size_t target, const struct member_list *list, struct histogram *h)
{
	struct restart_times restarts;
	struct gathering g = { .h = h, .list = list, .ends = ends_with_falls(ev, target, list, &restarts) };
	g.buckets = arena_alloc(ev->arena, (list->members.count + 1) * sizeof *g.buckets);
	VEC_EACH (&list->members, member)
		if (is_first_duplicate(list, member))
			add_member(&g, member);
	if (isnan(h->elapsed_s))
		spoil(&h->reason, &h->why, UNKNOWN_OLD_END, STR_EMPTY);
	check_resets(h, &g.resets);
	make_cells(ev->arena, h, g.buckets, g.count, list->name->scale);
	check_sum(ev->arena, h);
}

bool scheduler_histogram(struct evaluation *ev, size_t scheduler, const struct metric_spec *m, struct histogram *h)
{
	*h = (struct histogram){ .sum = NAN, .total = NAN, .elapsed_s = NAN, .layouts = 1 };
	const struct member_list *list = evidence_members(ev->evidence, scheduler, m, ev->window.to_ms);
	if (!list)
		return false;
	h->exposed = list->name->name;
	h->note = list->name->note;
	size_t target = ev->evidence->schedulers.items[scheduler].target;
	const struct scrape_record *record = evidence_scrape(ev->evidence, target, ev->window.to_ms);
	if (scrape_answered(record))
		gather(ev, target, list, h);
	else
		spoil(&h->reason, &h->why, UNKNOWN_TARGET_DOWN, record ? record->detail : STR_EMPTY);
	return true;
}

/* Cells of `h` on coarser bounds (a subset of its own). */
static void coarsen(struct histogram *h, const double *bounds, size_t count, double *counts)
{
	size_t k = 0;
	for (size_t i = 0; i < count; i++) {
		counts[i] = 0;
		while (k < h->count && h->bounds[k] <= bounds[i])
			counts[i] += h->counts[k++];
	}
}

static bool has_bound(const struct histogram *h, double bound)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->bounds[i] == bound)
			return true;
	return false;
}

static bool same_bounds(const struct histogram *a, const struct histogram *b)
{
	return a->count == b->count && memcmp(a->bounds, b->bounds, a->count * sizeof *a->bounds) == 0;
}

static void merge_cells(struct arena *arena, struct histogram *into, struct histogram *from)
{
	if (!same_bounds(into, from)) { /* only bounds that both have say something about both */
		double *common = arena_alloc(arena, (into->count + 1) * sizeof *common);
		size_t n = 0;
		for (size_t i = 0; i < into->count; i++)
			if (has_bound(from, into->bounds[i]))
				common[n++] = into->bounds[i];
		double *a = arena_alloc(arena, (n + 1) * sizeof *a), *b = arena_alloc(arena, (n + 1) * sizeof *b);
		coarsen(into, common, n, a);
		coarsen(from, common, n, b);
		into->bounds = common;
		into->counts = a;
		into->count = n;
		from->counts = b;
		into->layouts++;
	}
	for (size_t i = 0; i < into->count; i++)
		into->counts[i] += from->counts[i];
}

static void merge_histogram(struct arena *arena, struct histogram *into, struct histogram *from)
{
	if (from->reason != UNKNOWN_NONE)
		return;
	if (from->bucket_reason != UNKNOWN_NONE)
		spoil(&into->bucket_reason, &into->bucket_why, from->bucket_reason, from->bucket_why);
	else if (into->bucket_reason == UNKNOWN_NONE)
		merge_cells(arena, into, from);
	if (from->sum_reason != UNKNOWN_NONE)
		spoil(&into->sum_reason, &into->sum_why, from->sum_reason, from->sum_why);
	into->sum += from->sum;
	into->total += from->total;
	into->over_reset |= from->over_reset;
	into->elapsed_s = fmax(into->elapsed_s, from->elapsed_s);
}

static bool is_sane(const struct histogram *h)
{
	bool finite = h->count > 0 && !isinf(h->bounds[0]); /* +Inf alone would leave no common bound */
	return h->reason == UNKNOWN_NONE && h->bucket_reason != UNKNOWN_INVALID && h->sum_reason != UNKNOWN_INVALID && finite;
}

/* The histograms of the scope's schedulers that are merged: the sane ones, or when there is none all that can be read. */
static bool is_merged(const struct histogram *h, bool any_sane)
{
	return any_sane ? is_sane(h) : h->reason == UNKNOWN_NONE;
}

/* Merges `ones` of the schedulers into `h`; the number of targets that are in it. */
static uint32_t merge_all(struct evaluation *ev, struct histogram *ones, const size_t *targets, size_t count, struct histogram *h)
{
	bool any_sane = false;
	size_t last = SIZE_MAX;
	uint32_t in = 0, left_out = 0;
	for (size_t i = 0; i < count; i++)
		any_sane |= is_sane(&ones[i]);
	*h = ones[0];
	for (size_t i = 0; i < count; i++) {
		if (!is_merged(&ones[i], any_sane)) {
			left_out += ones[i].reason == UNKNOWN_NONE;
			continue;
		}
		if (!in)
			*h = ones[i];
		else
			merge_histogram(ev->arena, h, &ones[i]);
		in += targets[i] != last;
		last = targets[i];
	}
	h->left_out = left_out;
	return in;
}

bool scope_histogram(struct evaluation *ev, const struct scope *s, const struct metric_spec *m, struct histogram *h)
{
	struct histogram *ones = arena_alloc(ev->arena, (s->member_count + 1) * sizeof *ones);
	size_t *targets = arena_alloc(ev->arena, (s->member_count + 1) * sizeof *targets), count = 0;
	uint32_t all = 0;
	for (size_t i = 0; i < s->member_count; i++) {
		if (!scheduler_histogram(ev, s->members[i], m, &ones[count]))
			continue;
		targets[count] = ev->evidence->schedulers.items[s->members[i]].target;
		bool another = !count || targets[count] != targets[count - 1];
		all += another && !target_missing(ev, targets[count], m, ev->window.to_ms);
		count++;
	}
	if (!count)
		return false;
	uint32_t in = merge_all(ev, ones, targets, count, h);
	h->targets_in = in;
	h->targets_all = in ? all : 0;
	for (size_t i = 0; i < s->target_count; i++)
		h->targets_all += target_missing(ev, s->targets[i], m, ev->window.to_ms);
	return true;
}
