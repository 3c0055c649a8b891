/* `for` over a restart: since when an alert is active is read back from ALERTS_FOR_STATE; and the state of rules over a reload. */
#include "base/log.h"
#include "base/number.h"
#include "rules/rules.h"

#include <stdlib.h>

/* ---- a restart ---- */

/* When the alert was active before the restart, since when. As Prometheus: the time that the server was away does not count, and nothing
 * that was pending fires sooner than `grace` after the restart. */
static int64_t restored_active(int64_t hold_ms, int64_t grace_ms, int64_t down_ms, int64_t active_ms, int64_t t_ms)
{
	int64_t left_ms = hold_ms - (down_ms - active_ms);

	if (left_ms <= 0)
		return active_ms;
	if (left_ms < grace_ms)
		return t_ms + grace_ms - hold_ms;
	return active_ms + (t_ms - down_ms);
}

static const struct series_view *find_state(
	const struct series_view *series, size_t count, const struct rule *rule, const struct alert *alert)
{
	const struct series_view *found = NULL;
	struct labels *wanted = rule_series(rule, alert, STR("ALERTS_FOR_STATE"), STR_EMPTY);

	for (size_t i = 0; i < count && !found; i++)
		if (labels_eq(series[i].labels, wanted))
			found = &series[i];
	labels_unref(wanted);
	return found;
}

static void restore_rule(struct rules *r, struct rule *rule, struct backend *backend, struct arena *arena, int64_t t_ms)
{
	struct matcher matchers[2];
	struct series_view *series;
	struct error e = { 0 };
	size_t count;

	if (!matcher_init(&matchers[0], LABEL_NAME, MATCH_EQ, STR("ALERTS_FOR_STATE"), &e) ||
		!matcher_init(&matchers[1], STR("alertname"), MATCH_EQ, rule->name, &e))
		return;
	if (!backend->ops->select(backend, arena, matchers, 2, t_ms - r->options.outage_tolerance_ms, t_ms, &series, &count, &e)) {
		log_warning("the alert " STR_FMT " begins anew: its state before the restart cannot be read: %s", STR_ARG(rule->name),
			e.message);
		return;
	}
	for (size_t i = 0; i < rule->alerts.count; i++) {
		struct alert *alert = rule->alerts.items[i];
		const struct series_view *state = find_state(series, count, rule, alert);

		if (!state || !state->count || alert->state == ALERT_INACTIVE || number_is_stale(state->v[state->count - 1]))
			continue;
		alert->active_ms = restored_active(
			rule->for_ms, r->options.grace_ms, state->t[state->count - 1], (int64_t)(state->v[state->count - 1] * 1000), t_ms);
	}
}

void rules_restore(struct rules *r, struct rule_group *g, struct backend *backend, int64_t t_ms)
{
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; i < g->rule_count; i++) {
		struct rule *rule = &g->rules[i];

		/* With a `for` below the grace, waiting for it anew is the shorter wait. */
		if (rule->is_alert && !rule->restored && rule->for_ms >= r->options.grace_ms)
			restore_rule(r, rule, backend, &arena, t_ms);
		rule->restored = true;
		arena_reset(&arena);
	}
	arena_fini(&arena);
}

/* ---- a reload ---- */

static bool same_texts(const struct rule_text *a, size_t a_count, const struct rule_text *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (!str_eq(a[i].name, b[i].name) || !str_eq(a[i].text, b[i].text))
			return false;
	return true;
}

static bool same_rule(const struct rule *a, const struct rule *b)
{
	return a->is_alert == b->is_alert && str_eq(a->name, b->name) && same_texts(a->labels, a->label_count, b->labels, b->label_count);
}

static void take_rule(struct rule *to, struct rule *from)
{
	to->health = from->health;
	memcpy(to->error, from->error, sizeof to->error);
	to->evaluated_ms = from->evaluated_ms;
	to->took_s = from->took_s;
	to->restored = from->restored;
	to->alerts = from->alerts;
	to->written = from->written;
	from->alerts = (struct alerts){ 0 };
	from->written = (label_sets){ 0 };
}

static void take_group(struct rule_group *to, struct rule_group *from)
{
	bool *taken = mem_zalloc(from->rule_count + 1, sizeof *taken);

	for (size_t i = 0; i < to->rule_count; i++)
		for (size_t k = 0; k < from->rule_count; k++)
			if (!taken[k] && same_rule(&to->rules[i], &from->rules[k])) {
				take_rule(&to->rules[i], &from->rules[k]);
				taken[k] = true;
				break;
			}
	mem_free(taken);
	to->evaluated_ms = from->evaluated_ms;
	to->took_s = from->took_s;
	to->evaluations = from->evaluations;
	to->missed = from->missed;
	to->must_restore = from->must_restore;
}

static void orphan(struct rules *r, label_sets *written)
{
	VEC_EACH (written, l)
		VEC_PUSH(&r->orphans, *l);
	VEC_FREE(written);
}

void rules_take_over(struct rules *r, struct rules *old)
{
	r->options.restore = false;
	VEC_EACH (&r->groups, g) {
		/* A group that is new has no past to wait for. */
		(*g)->must_restore = false;
		for (size_t i = 0; i < (*g)->rule_count; i++)
			(*g)->rules[i].restored = true;
		VEC_EACH (&old->groups, o)
			if (str_eq((*o)->file, (*g)->file) && str_eq((*o)->name, (*g)->name))
				take_group(*g, *o);
	}
	VEC_EACH (&old->groups, o)
		for (size_t i = 0; i < (*o)->rule_count; i++)
			orphan(r, &(*o)->rules[i].written);
	orphan(r, &old->orphans);
	r->evaluations = old->evaluations;
	r->failures = old->failures;
	r->samples = old->samples;
	r->refused = old->refused;
	r->templates_failed = old->templates_failed;
}
