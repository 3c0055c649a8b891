/* When groups are due: at k * interval + hash, so that they do not all ask at once, and stay at their times over restarts. */
#include "rules/rules.h"

/* The newest of the group's times that is not after t. */
static int64_t slot_before(const struct rule_group *g, int64_t t_ms)
{
	int64_t since = t_ms - g->offset_ms, rest = since % g->interval_ms;

	return t_ms - (rest < 0 ? rest + g->interval_ms : rest);
}

static void group_plan(struct rule_group *g, int64_t now_ms)
{
	/* A clock that was set back far would silence a group. */
	if (!g->next_ms || g->next_ms > now_ms + 2 * g->interval_ms)
		g->next_ms = slot_before(g, now_ms - 1) + g->interval_ms;
}

int64_t rules_next(struct rules *r, int64_t now_ms)
{
	int64_t next = INT64_MAX;

	VEC_EACH (&r->groups, g) {
		group_plan(*g, now_ms);
		next = (*g)->next_ms < next ? (*g)->next_ms : next;
	}
	return next;
}

struct rule_group *rules_due(struct rules *r, int64_t now_ms, int64_t *t_ms)
{
	struct rule_group *due = NULL;

	VEC_EACH (&r->groups, g) {
		group_plan(*g, now_ms);
		if ((*g)->next_ms <= now_ms && (!due || (*g)->next_ms < due->next_ms))
			due = *g;
	}
	if (!due)
		return NULL;
	*t_ms = slot_before(due, now_ms);
	due->missed += (uint64_t)((*t_ms - due->next_ms) / due->interval_ms);
	due->next_ms = *t_ms + due->interval_ms;
	return due;
}
