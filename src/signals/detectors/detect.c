/* What the detectors share. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

#include <stdlib.h>

bool target_answers(struct evaluation *ev, size_t target)
{
	return scrape_answered(evidence_scrape(ev->evidence, target, ev->window.to_ms));
}

int64_t history_start(struct evaluation *ev, size_t target)
{
	int64_t from = ev->window.history_ms;
	VEC_EACH (&target_evidence(ev, target)->restarts, t)
		if (*t <= ev->window.to_ms && *t > from)
			from = *t;
	return from;
}

bool scope_has_target(const struct scope *s, size_t target)
{
	for (size_t i = 0; i < s->target_count; i++)
		if (s->targets[i] == target)
			return true;
	return false;
}

struct scope *scope_of_target(struct evaluation *ev, size_t target)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (s->target == target)
			return s;
	}
	return NULL;
}

struct scope *fleet_scope(struct evaluation *ev)
{
	return &ev->scopes[0];
}

struct scope *scope_of_scheduler(struct evaluation *ev, size_t scheduler)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		struct scope *s = &ev->scopes[i];
		if ((s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU) && s->members[0] == scheduler)
			return s;
	}
	return scope_of_target(ev, ev->evidence->schedulers.items[scheduler].target);
}

bool number_at(struct evaluation *ev, const struct scope *s, const char *signal, double *value)
{
	const struct reading *r = evaluation_named(ev, s, signal);
	if (!reading_is_number(r))
		return false;
	*value = isinf(r->low) ? r->high : r->low;
	return true;
}

bool gauge_at(struct evaluation *ev, size_t scheduler, const char *metric, double *value)
{
	struct level_query q = { .metric = catalog_metric(ev->catalog, metric), .t_ms = ev->window.to_ms };
	if (!q.metric)
		return false;
	struct reading r = scheduler_level(ev, scheduler, &q);
	*value = r.low;
	return r.kind == READING_VALUE;
}

static struct reading primitive_at(struct evaluation *ev, const struct scope *s, enum primitive p, const char *metric, double number)
{
	struct expression x = {
		.kind = EXPRESSION_PRIMITIVE, .primitive = p, .metric = catalog_metric(ev->catalog, metric), .number = number
	};
	return x.metric ? evaluate_primitive(ev, s, &x) : reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
}

struct reading count_at(struct evaluation *ev, const struct scope *s, const char *metric)
{
	return primitive_at(ev, s, PRIMITIVE_COUNT, metric, 0);
}

struct reading share_above_at(struct evaluation *ev, const struct scope *s, const char *metric, double bound)
{
	return primitive_at(ev, s, PRIMITIVE_SHARE_ABOVE, metric, bound);
}

bool is_exported(struct evaluation *ev, const struct scope *s, const char *metric)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	for (size_t i = 0; m && i < s->member_count; i++)
		if (evidence_members(ev->evidence, s->members[i], m, ev->window.to_ms))
			return true;
	return false;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

double median_of_others(const double *values, const bool *known, size_t count, size_t without, double *room)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		if (known[i] && i != without)
			room[n++] = values[i];
	if (!n)
		return NAN;
	qsort(room, n, sizeof *room, by_value);
	return n % 2 ? room[n / 2] : (room[n / 2 - 1] + room[n / 2]) / 2;
}

size_t count_others(const bool *known, size_t count, size_t without)
{
	size_t others = 0;
	for (size_t i = 0; i < count; i++)
		others += known[i] && i != without;
	return others;
}

double spread_of_others(const double *values, const bool *known, size_t count, size_t without, double median, double *room)
{
	double *far = room + count;
	for (size_t i = 0; i < count; i++)
		far[i] = fabs(values[i] - median);
	return median_of_others(far, known, count, without, room);
}

void wording_init(struct wording *w)
{
	buf_init(&w->text, 4096);
	w->count = 0;
}

void wording_add(struct wording *w, const char *format, ...)
{
	if (++w->count > WORDING_MAX)
		return;
	if (w->count > 1)
		buf_add_cstr(&w->text, ", ");
	va_list args;
	va_start(args, format);
	buf_vprintf(&w->text, format, args);
	va_end(args);
}

struct str wording_end(struct wording *w, struct arena *arena)
{
	if (w->count > WORDING_MAX)
		buf_printf(&w->text, " and %zu more", w->count - WORDING_MAX);
	struct str text = w->text.len ? arena_str(arena, buf_str(&w->text)) : STR_EMPTY;
	buf_fini(&w->text);
	return text;
}

double counter_total(struct evaluation *ev, const struct scope *s, const char *metric, const char *label, const char *start, int64_t t_ms)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	double sum = 0;
	for (size_t k = 0; m && k < s->member_count; k++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[k], m, t_ms);
		int64_t patience = target_patience_ms(target_evidence(ev, ev->evidence->schedulers.items[s->members[k]].target));
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct member *member = &list->members.items[i];
			ptrdiff_t at =
				member->part == PART_BUCKET || member->part == PART_SUM ? -1 : view_at(&member->view, t_ms, patience);
			struct str value = member_label(member->view.labels, name_spec_label(list->name, str_from(label)));
			if (at >= 0 && str_starts(value, str_from(start)))
				sum += member->view.v[at];
		}
	}
	return sum;
}
