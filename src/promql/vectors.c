/* Arithmetic and comparison between vectors: one-to-one, and many-to-one with group_left or group_right.
 *
 * Columns are paired by signature once; what the rules say about the elements of one step is checked where several columns of a side
 * share a signature. */
#include "promql/evaluate.h"

struct bucket { /* the columns of one signature: indexes into a list sorted by signature */
	size_t many_start, many_count, one_start, one_count;
};
struct pair {
	const struct column *many, *one;
	size_t bucket, next; /* next: result with the same labels, + 1 */
};
struct pairing {
	struct evaluation *ev;
	const struct promql_node *n;
	const struct grid *grid;
	struct frame *many, *one; /* left and right, swapped for group_right */
	bool swapped;
	struct bucket *buckets;
	size_t bucket_count;
	uint32_t *many_order, *one_order;
	bool *both_present; /* per step: does each side have any element? */
	struct frame *out;
	struct pair *pairs; /* of each result column */
};

/* ---- signatures ---- */

static uint32_t *order_by_signature(struct pairing *p, const struct frame *f, const size_t *signatures, bool many)
{
	uint32_t *order = arena_alloc(p->ev->arena, (f->count + 1) * sizeof *order);
	size_t *at = ARENA_ARRAY(p->ev->arena, size_t, p->bucket_count + 1), start = 0;
	for (size_t c = 0; c < f->count; c++)
		at[signatures[c]]++;
	for (size_t b = 0; b < p->bucket_count; b++) {
		size_t count = at[b];
		*(many ? &p->buckets[b].many_start : &p->buckets[b].one_start) = start;
		*(many ? &p->buckets[b].many_count : &p->buckets[b].one_count) = count;
		at[b] = start;
		start += count;
	}
	for (size_t c = 0; c < f->count; c++)
		order[at[signatures[c]]++] = (uint32_t)c;
	return order;
}

static void pairing_sort(struct pairing *p)
{
	const struct matching *m = &p->n->binary.matching;
	struct groups g;
	groups_init(&g, p->ev, m->labels, m->label_count, m->is_on, true);
	size_t *many = arena_alloc(p->ev->arena, (p->many->count + 1) * sizeof *many);
	size_t *one = arena_alloc(p->ev->arena, (p->one->count + 1) * sizeof *one);
	for (size_t c = 0; c < p->many->count; c++)
		many[c] = groups_put(&g, &p->many->columns[c]);
	for (size_t c = 0; c < p->one->count; c++)
		one[c] = groups_put(&g, &p->one->columns[c]);
	p->bucket_count = g.count;
	p->buckets = ARENA_ARRAY(p->ev->arena, struct bucket, g.count + 1);
	p->many_order = order_by_signature(p, p->many, many, true);
	p->one_order = order_by_signature(p, p->one, one, false);
}

/* ---- the side that must be unique ---- */

static void mark_present(struct pairing *p, const struct frame *f, uint8_t *present, uint8_t bit)
{
	for (size_t c = 0; c < f->count; c++)
		for (size_t i = 0; i < p->grid->steps; i++)
			if (!is_absent(f->columns[c].values[i]))
				present[i] |= bit;
}

static void both_present_init(struct pairing *p)
{
	uint8_t *present = ARENA_ARRAY(p->ev->arena, uint8_t, p->grid->steps + 1);
	mark_present(p, p->many, present, 1);
	mark_present(p, p->one, present, 2);
	p->both_present = arena_alloc(p->ev->arena, p->grid->steps + 1);
	for (size_t i = 0; i < p->grid->steps; i++)
		p->both_present[i] = present[i] == 3;
}

static bool fail_duplicate(struct pairing *p, const struct column *a, const struct column *b)
{
	const struct matching *m = &p->n->binary.matching;
	struct groups g;
	struct buf text;
	groups_init(&g, p->ev, m->labels, m->label_count, m->is_on, true);
	groups_put(&g, a);
	const struct labels *group = groups_labels(&g, p->n, 0);
	if (!group)
		return false;
	buf_init(&text, 1 << 16);
	buf_add_cstr(&text, "found duplicate series for the match group ");
	labels_print(group, &text);
	buf_printf(&text, " on the %s hand-side of the operation: [", p->swapped ? "left" : "right");
	labels_print(column_labels(p->ev, b), &text);
	buf_add_cstr(&text, ", ");
	labels_print(column_labels(p->ev, a), &text);
	buf_add_cstr(&text, "];many-to-many matching not allowed: matching labels must be unique on one side");
	evaluation_fail(p->ev, p->n, "%s", buf_cstr(&text));
	buf_fini(&text);
	return false;
}

static bool one_side_unique(struct pairing *p, const struct bucket *b)
{
	if (b->one_count < 2)
		return true;
	if (!p->both_present)
		both_present_init(p);
	for (size_t i = 0; i < p->grid->steps; i++) {
		const struct column *seen = NULL;
		for (size_t k = b->one_start; p->both_present[i] && k < b->one_start + b->one_count; k++) {
			const struct column *c = &p->one->columns[p->one_order[k]];
			if (is_absent(c->values[i]))
				continue;
			if (seen)
				return fail_duplicate(p, seen, c);
			seen = c;
		}
	}
	return true;
}

/* One-to-one: at each step only one of the left may find its match. */
static bool many_side_unique(struct pairing *p, const struct bucket *b)
{
	if (b->many_count < 2 || !b->one_count || p->n->binary.matching.side != SIDE_ONE_TO_ONE)
		return true;
	for (size_t i = 0; i < p->grid->steps; i++) {
		size_t many = 0, one = 0;
		for (size_t k = 0; k < b->many_count; k++)
			many += !is_absent(p->many->columns[p->many_order[b->many_start + k]].values[i]);
		for (size_t k = 0; k < b->one_count; k++)
			one += !is_absent(p->one->columns[p->one_order[b->one_start + k]].values[i]);
		if (many > 1 && one)
			return evaluation_fail(
				p->ev, p->n, "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)");
	}
	return true;
}

/* ---- results ---- */

static bool changes_name(const struct promql_node *n)
{
	return !token_is_comparison(n->binary.op);
}

static bool listed(struct str name, const struct str *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i], name))
			return true;
	return false;
}

static const struct labels *build_result(struct pairing *p, const struct column *many, const struct column *one)
{
	const struct matching *m = &p->n->binary.matching;
	struct labels_builder b;
	const struct labels *from = column_labels(p->ev, many);
	labels_builder_init(&b, from);
	for (uint32_t i = 0; i < from->count; i++) {
		struct str name = from->items[i].name;
		bool left_out = m->side == SIDE_ONE_TO_ONE && listed(name, m->labels, m->label_count) != m->is_on;
		if (left_out || (changes_name(p->n) && label_names_metric(name)))
			labels_builder_remove(&b, name);
	}
	for (size_t i = 0; i < m->include_count; i++)
		labels_builder_set(&b, m->include[i], column_label(p->ev, one, m->include[i]));
	return labels_build(p->ev, p->n, &b);
}

static bool result_labels(struct pairing *p, const struct column *many, const struct column *one, struct column *result)
{
	const struct matching *m = &p->n->binary.matching;
	bool drops = changes_name(p->n) || p->n->binary.with_bool;
	bool unchanged = (m->side == SIDE_ONE_TO_ONE ? !m->is_on && !m->label_count : !m->include_count);
	if (unchanged && (!p->ev->delayed || !changes_name(p->n))) {
		result->labels = many->labels;
		result->nameless = p->ev->delayed ? p->n->binary.with_bool : many->nameless || drops;
		return true;
	}
	result->labels = build_result(p, many, one);
	result->nameless = p->n->binary.with_bool;
	return result->labels != NULL;
}

static bool result_add(struct pairing *p, size_t bucket, const struct column *many, const struct column *one)
{
	struct column *result = &p->out->columns[p->out->count];
	const struct column *left = p->swapped ? one : many, *right = p->swapped ? many : one;
	bool met = false, with_bool = p->n->binary.with_bool, filters = token_is_comparison(p->n->binary.op);
	result->values = values_new(p->ev, p->grid->steps);
	if (!result->values)
		return false;
	for (size_t i = 0; i < p->grid->steps; i++) {
		double value;
		if (is_absent(many->values[i]) || is_absent(one->values[i]))
			continue;
		met = true;
		bool holds = operator_apply(p->n->binary.op, left->values[i], right->values[i], &value);
		if (with_bool)
			result->values[i] = holds;
		else if (holds || !filters)
			result->values[i] = value;
	}
	if (!met)
		return true;
	p->pairs[p->out->count++] = (struct pair){ many, one, bucket, 0 };
	return result_labels(p, many, one, result);
}

/* Did both pairs meet at some step, whatever a comparison said then? */
static bool pairs_overlap(const struct pair *a, const struct pair *b, size_t steps)
{
	for (size_t i = 0; i < steps; i++)
		if (!is_absent(a->many->values[i]) && !is_absent(a->one->values[i]) && !is_absent(b->many->values[i]) &&
			!is_absent(b->one->values[i]))
			return true;
	return false;
}

/* Results of one signature with equal labels are an error of the grouping. */
static bool results_unique(struct pairing *p)
{
	struct groups g;
	size_t count = p->out->count, *last = ARENA_ARRAY(p->ev->arena, size_t, count + 1);
	groups_init(&g, p->ev, NULL, 0, false, false);
	for (size_t r = 0; r < count; r++) {
		size_t group = groups_put(&g, &p->out->columns[r]);
		for (size_t k = last[group]; k; k = p->pairs[k - 1].next)
			if (p->pairs[k - 1].bucket == p->pairs[r].bucket && pairs_overlap(&p->pairs[k - 1], &p->pairs[r], p->grid->steps))
				return evaluation_fail(
					p->ev, p->n, "multiple matches for labels: grouping labels must ensure unique matches");
		p->pairs[r].next = last[group];
		last[group] = r + 1;
	}
	return true;
}

static void drop_empty(struct frame *f, size_t steps)
{
	size_t kept = 0;
	for (size_t c = 0; c < f->count; c++)
		if (column_has_value(&f->columns[c], steps))
			f->columns[kept++] = f->columns[c];
	f->count = kept;
}

static bool bucket_results(struct pairing *p, size_t bucket)
{
	const struct bucket *b = &p->buckets[bucket];
	if (!one_side_unique(p, b) || !many_side_unique(p, b))
		return false;
	for (size_t m = 0; m < b->many_count; m++)
		for (size_t o = 0; o < b->one_count; o++)
			if (!result_add(p, bucket, &p->many->columns[p->many_order[b->many_start + m]],
				    &p->one->columns[p->one_order[b->one_start + o]]))
				return false;
	return true;
}

static size_t pair_count(const struct pairing *p)
{
	size_t pairs = 0;
	for (size_t b = 0; b < p->bucket_count; b++)
		pairs += p->buckets[b].many_count * p->buckets[b].one_count;
	return pairs;
}

bool evaluate_vectors(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *left, struct frame *right,
	struct frame *out)
{
	bool swapped = n->binary.matching.side == SIDE_GROUP_RIGHT;
	struct pairing p = { .ev = ev, .n = n, .grid = grid, .swapped = swapped, .out = out };
	p.many = swapped ? right : left;
	p.one = swapped ? left : right;
	pairing_sort(&p);
	size_t pairs = pair_count(&p);
	if (pairs > ev->options->max_samples)
		return evaluation_fail(ev, n, "query processing would load too many samples into memory in query execution");
	frame_init_vector(ev, out, pairs);
	p.pairs = arena_alloc(ev->arena, (pairs + 1) * sizeof *p.pairs);
	for (size_t b = 0; b < p.bucket_count; b++)
		if (!bucket_results(&p, b))
			return false;
	if (n->binary.matching.side != SIDE_ONE_TO_ONE && !results_unique(&p))
		return false;
	drop_empty(out, grid->steps);
	return frame_merge_equal(ev, n, out, grid->steps);
}
