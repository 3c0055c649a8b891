#include "rules/alerts.h"

#include <stdlib.h>

enum { RESOLVED_KEPT_MS = 15 * 60 * 1000, SENDS_THAT_MAY_FAIL = 4 };

const char *alert_state_name(enum alert_state state)
{
	static const char *const names[] = { [ALERT_INACTIVE] = "inactive", [ALERT_PENDING] = "pending", [ALERT_FIRING] = "firing" };

	return names[state];
}

/* ---- pairs ---- */

struct pairs pairs_copy(const struct label *items, size_t count)
{
	size_t size = count * sizeof *items;
	struct pairs p = { .count = count };

	if (!count)
		return p;
	for (size_t i = 0; i < count; i++)
		size += items[i].name.len + items[i].value.len + 2;
	p.items = mem_zalloc(1, size);
	char *at = (char *)(p.items + count);

	for (size_t i = 0; i < count; i++) {
		const struct str *from[] = { &items[i].name, &items[i].value };
		struct str *to[] = { &p.items[i].name, &p.items[i].value };

		for (int k = 0; k < 2; k++) {
			*to[k] = str_of(at, from[k]->len);
			if (from[k]->len)
				memcpy(at, from[k]->ptr, from[k]->len);
			at += from[k]->len + 1;
		}
	}
	return p;
}

void pairs_free(struct pairs *p)
{
	mem_free(p->items);
	*p = (struct pairs){ 0 };
}

/* ---- the life of one alert ---- */

static void alert_free(struct alert *alert)
{
	labels_unref(alert->labels);
	pairs_free(&alert->annotations);
	mem_free(alert);
}

static void candidate_drop(struct candidate *c)
{
	labels_unref(c->labels);
	pairs_free(&c->annotations);
}

static struct alert *alert_new(struct candidate *c, int64_t t_ms)
{
	struct alert *alert = NEW(struct alert);

	alert->labels = c->labels;
	alert->annotations = c->annotations;
	alert->value = c->value;
	alert->hold_ms = c->hold_ms;
	alert->state = ALERT_PENDING;
	alert->active_ms = c->since_ms && c->since_ms < t_ms ? c->since_ms : t_ms;
	return alert;
}

/* True again: what it says is refreshed, unless it had ended, which makes it a new one. */
static struct alert *alert_refresh(struct alert *alert, struct candidate *c, int64_t t_ms)
{
	if (alert->state == ALERT_INACTIVE) {
		alert_free(alert);
		return alert_new(c, t_ms);
	}
	pairs_free(&alert->annotations);
	alert->annotations = c->annotations;
	alert->value = c->value;
	alert->hold_ms = c->hold_ms;
	alert->keep_firing_since_ms = 0;
	labels_unref(c->labels);
	return alert;
}

/* No longer true. Returns false when it is to be forgotten. */
static bool alert_miss(struct alert *alert, int64_t keep_firing_ms, int64_t t_ms)
{
	if (alert->state == ALERT_PENDING)
		return false;
	if (alert->state == ALERT_INACTIVE)
		return t_ms - alert->resolved_ms <= RESOLVED_KEPT_MS;
	if (keep_firing_ms > 0 && !alert->keep_firing_since_ms)
		alert->keep_firing_since_ms = t_ms;
	if (keep_firing_ms > 0 && t_ms - alert->keep_firing_since_ms < keep_firing_ms)
		return true;
	alert->state = ALERT_INACTIVE;
	alert->resolved_ms = t_ms;
	return true;
}

static void alert_advance(struct alert *alert, int64_t t_ms)
{
	if (alert->state == ALERT_PENDING && t_ms - alert->active_ms >= alert->hold_ms) {
		alert->state = ALERT_FIRING;
		alert->fired_ms = t_ms;
	}
}

/* ---- all of them ---- */

static int candidate_order(const void *a, const void *b)
{
	return labels_cmp(((const struct candidate *)a)->labels, ((const struct candidate *)b)->labels);
}

static bool candidates_differ(candidates *list, struct error *e)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof *list->items, candidate_order);
	for (size_t i = 1; i < list->count; i++)
		if (labels_eq(list->items[i - 1].labels, list->items[i].labels))
			return error_set(e, EXIT_BAD_INPUT, "vector contains metrics with the same labelset after applying alert labels");
	return true;
}

bool alerts_step(struct alerts *a, candidates *true_now, int64_t keep_firing_ms, int64_t t_ms, struct error *e)
{
	struct alerts next = { 0 };
	size_t i = 0, k = 0;

	if (!candidates_differ(true_now, e)) {
		VEC_EACH (true_now, c)
			candidate_drop(c);
		true_now->count = 0;
		return false;
	}
	while (i < a->count || k < true_now->count) {
		int order = i == a->count ? 1 : k == true_now->count ? -1 : labels_cmp(a->items[i]->labels, true_now->items[k].labels);
		struct alert *alert = order > 0 ? NULL : a->items[i++];

		if (order < 0 && !alert_miss(alert, keep_firing_ms, t_ms)) {
			alert_free(alert);
			continue;
		}
		if (order > 0)
			alert = alert_new(&true_now->items[k++], t_ms);
		else if (order == 0)
			alert = alert_refresh(alert, &true_now->items[k++], t_ms);
		alert_advance(alert, t_ms);
		VEC_PUSH(&next, alert);
	}
	true_now->count = 0;
	mem_free(a->items);
	*a = next;
	return true;
}

size_t alerts_active(const struct alerts *a)
{
	size_t active = 0;

	for (size_t i = 0; i < a->count; i++)
		active += a->items[i]->state != ALERT_INACTIVE;
	return active;
}

enum alert_state alerts_state(const struct alerts *a)
{
	enum alert_state highest = ALERT_INACTIVE;

	for (size_t i = 0; i < a->count; i++)
		highest = a->items[i]->state > highest ? a->items[i]->state : highest;
	return highest;
}

bool alert_is_due(const struct alert *alert, int64_t t_ms, int64_t resend_ms)
{
	if (alert->state == ALERT_PENDING)
		return false;
	return !alert->last_sent_ms || alert->resolved_ms > alert->last_sent_ms || alert->last_sent_ms + resend_ms < t_ms;
}

void alert_sent(struct alert *alert, int64_t t_ms, int64_t resend_ms, int64_t interval_ms)
{
	alert->last_sent_ms = t_ms;
	alert->valid_until_ms = t_ms + SENDS_THAT_MAY_FAIL * (interval_ms > resend_ms ? interval_ms : resend_ms);
}

void alerts_clear(struct alerts *a)
{
	for (size_t i = 0; i < a->count; i++)
		alert_free(a->items[i]);
	mem_free(a->items);
	*a = (struct alerts){ 0 };
}
