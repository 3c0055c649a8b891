/* and, or, unless: many-to-many on the signature, step by step. */
#include "promql/evaluate.h"

struct presence { /* which signatures have a point at which step */
	bool *at;
	size_t steps;
};

static void presence_mark(struct presence *p, const struct frame *f, const size_t *signatures)
{
	for (size_t c = 0; c < f->count; c++)
		for (size_t i = 0; i < p->steps; i++)
			if (!is_absent(f->columns[c].values[i]))
				p->at[signatures[c] * p->steps + i] = true;
}

/* Takes points away where the other side has (or has not) a point of the signature. */
static void keep_where(const struct presence *p, struct frame *f, const size_t *signatures, bool wanted)
{
	size_t kept = 0;
	for (size_t c = 0; c < f->count; c++) {
		for (size_t i = 0; i < p->steps; i++)
			if (p->at[signatures[c] * p->steps + i] != wanted)
				f->columns[c].values[i] = absent();
		if (column_has_value(&f->columns[c], p->steps))
			f->columns[kept++] = f->columns[c];
	}
	f->count = kept;
}

static size_t *signatures_of(struct evaluation *ev, struct groups *g, const struct frame *f)
{
	size_t *signatures = arena_alloc(ev->arena, (f->count + 1) * sizeof *signatures);
	for (size_t c = 0; c < f->count; c++)
		signatures[c] = groups_put(g, &f->columns[c]);
	return signatures;
}

static bool join(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *left, const struct frame *right,
	struct frame *out)
{
	frame_init_vector(ev, out, left->count + right->count);
	if (left->count)
		memcpy(out->columns, left->columns, left->count * sizeof *left->columns);
	if (right->count)
		memcpy(out->columns + left->count, right->columns, right->count * sizeof *right->columns);
	out->count = left->count + right->count;
	return frame_merge_equal(ev, n, out, grid->steps);
}

bool evaluate_set(struct evaluation *ev, const struct promql_node *n, const struct grid *grid, struct frame *left, struct frame *right,
	struct frame *out)
{
	const struct matching *m = &n->binary.matching;
	struct groups g;
	groups_init(&g, ev, m->labels, m->label_count, m->is_on, true);
	size_t *left_signatures = signatures_of(ev, &g, left), *right_signatures = signatures_of(ev, &g, right);
	if (g.count && grid->steps > evaluation_room(ev) / g.count)
		return evaluation_fail(ev, n, "query processing would load too many samples into memory in query execution");
	struct presence p = { ARENA_ARRAY(ev->arena, bool, g.count * grid->steps + 1), grid->steps };
	if (n->binary.op == TOKEN_OR) {
		presence_mark(&p, left, left_signatures);
		keep_where(&p, right, right_signatures, false);
		return join(ev, n, grid, left, right, out);
	}
	presence_mark(&p, right, right_signatures);
	keep_where(&p, left, left_signatures, n->binary.op == TOKEN_AND);
	*out = *left;
	return true;
}
