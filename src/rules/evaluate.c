/* One group at one time. The order of things is Prometheus's: what a rule writes is there for the next rule of the group. */
#include "base/clock.h"
#include "base/number.h"
#include "rules/pass.h"
#include "rules/template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the result of a query ---- */

static bool ask(struct pass *p, struct promql_value *v)
{
	if (!p->backend->ops->query(p->backend, p->arena, p->rule->query, p->sample_ms, v, &p->error))
		return false;
	if (v->type == PROMQL_SCALAR) {
		struct promql_element *one = ARENA_NEW(p->arena, struct promql_element);

		*one = (struct promql_element){ .t_ms = p->sample_ms, .value = v->scalar };
		v->elements = one;
		v->count = 1;
		v->type = PROMQL_VECTOR;
	}
	return v->type == PROMQL_VECTOR || error_set(&p->error, EXIT_BAD_INPUT, "rule result is not a vector or scalar");
}

static bool build(struct pass *p, const struct labels_builder *b, const struct labels **labels)
{
	if (b->overflowed)
		return error_set(&p->error, EXIT_BAD_INPUT, "a result has more than 64 labels");
	*labels = labels_builder_build(b);
	return true;
}

/* ---- recording ---- */

static bool record(struct pass *p, const struct promql_value *v)
{
	const struct rule *rule = p->rule;

	for (size_t i = 0; i < v->count; i++) {
		struct labels_builder b;
		struct row row = { .value = v->elements[i].value };

		labels_builder_init(&b, v->elements[i].labels);
		labels_builder_set(&b, LABEL_NAME, rule->name);
		for (size_t k = 0; k < rule->label_count; k++)
			labels_builder_set(&b, rule->labels[k].name, rule->labels[k].text);
		if (!build(p, &b, &row.labels))
			return false;
		VEC_PUSH(&p->rows, row);
	}
	if (p->group->limit && v->count > p->group->limit)
		return error_set(&p->error, EXIT_BAD_INPUT, "exceeded limit of %zu with %zu series", p->group->limit, v->count);
	return true;
}

/* ---- alerts ---- */

static struct str expand(struct pass *p, const struct rule_text *text, const struct template_data *data)
{
	struct error why = { 0 };
	struct buf out;
	struct str result;

	if (!text->template)
		return text->text;
	buf_init(&out, TEMPLATE_OUTPUT_MAX);
	if (template_execute(text->template, data, p->arena, &out, &why)) {
		result = arena_str(p->arena, buf_str(&out));
	} else {
		p->rules->templates_failed++;
		result = arena_printf(p->arena, "<error expanding template: error executing template __alert_" STR_FMT ": %s>",
			STR_ARG(p->rule->name), why.message);
	}
	buf_fini(&out);
	return result;
}

static bool candidate_of(struct pass *p, const struct promql_element *element, struct candidate *c)
{
	const struct rule *rule = p->rule;
	const struct template_data data = { .labels = element->labels,
		.value = element->value,
		.external = p->rules->options.external,
		.external_count = p->rules->options.external_count,
		.external_url = p->rules->options.external_url,
		.backend = p->backend,
		.t_ms = p->t_ms };
	struct label *annotations = ARENA_ARRAY(p->arena, struct label, rule->annotation_count);
	struct labels_builder b;

	labels_builder_init(&b, element->labels);
	labels_builder_remove(&b, LABEL_NAME);
	for (size_t i = 0; i < rule->label_count; i++)
		labels_builder_set(&b, rule->labels[i].name, expand(p, &rule->labels[i], &data));
	labels_builder_set(&b, STR("alertname"), rule->name);
	for (size_t i = 0; i < rule->annotation_count; i++)
		annotations[i] = (struct label){ rule->annotations[i].name, expand(p, &rule->annotations[i], &data) };
	*c = (struct candidate){ .value = element->value, .hold_ms = rule->for_ms };
	if (!build(p, &b, &c->labels))
		return false;
	c->annotations = pairs_copy(annotations, rule->annotation_count);
	return true;
}

struct labels *rule_series(const struct rule *rule, const struct alert *alert, struct str name, struct str state)
{
	struct labels_builder b;

	labels_builder_init(&b, NULL);
	for (size_t i = 0; i < rule->label_count; i++)
		labels_builder_set(&b, rule->labels[i].name, rule->labels[i].text);
	for (uint32_t i = 0; i < alert->labels->count; i++)
		labels_builder_set(&b, alert->labels->items[i].name, alert->labels->items[i].value);
	labels_builder_set(&b, LABEL_NAME, name);
	labels_builder_set(&b, STR("alertstate"), state);
	return labels_builder_build(&b);
}

static void add_row(struct pass *p, const struct alert *alert, struct str name, struct str state, double value)
{
	VEC_PUSH(&p->rows, (struct row){ rule_series(p->rule, alert, name, state), value });
}

static void add_alert_rows(struct pass *p)
{
	const struct alerts *all = &p->rule->alerts;

	for (size_t i = 0; i < all->count && p->rule->restored; i++) {
		const struct alert *alert = all->items[i];

		if (alert->state == ALERT_INACTIVE)
			continue;
		add_row(p, alert, STR("ALERTS"), str_from(alert_state_name(alert->state)), 1);
		add_row(p, alert, STR("ALERTS_FOR_STATE"), STR_EMPTY, floor((double)alert->active_ms / 1000));
	}
}

void candidates_free(candidates *list)
{
	VEC_EACH (list, c) {
		labels_unref(c->labels);
		pairs_free(&c->annotations);
	}
	VEC_FREE(list);
}

bool pass_alerts(struct pass *p, candidates *found)
{
	struct rule *rule = p->rule;

	if (!alerts_step(&rule->alerts, found, rule->keep_firing_ms, p->t_ms, &p->error))
		return false;
	size_t active = alerts_active(&rule->alerts);

	if (p->group->limit && active > p->group->limit) {
		alerts_clear(&rule->alerts);
		return error_set(&p->error, EXIT_BAD_INPUT, "exceeded limit of %zu with %zu alerts", p->group->limit, active);
	}
	add_alert_rows(p);
	return true;
}

static bool alert(struct pass *p, const struct promql_value *v)
{
	candidates found = { 0 };
	bool ok = true;

	for (size_t i = 0; i < v->count && ok; i++) {
		struct candidate c;

		ok = candidate_of(p, &v->elements[i], &c);
		if (ok)
			VEC_PUSH(&found, c);
	}
	ok = ok && pass_alerts(p, &found);
	candidates_free(&found);
	return ok;
}

static void tell(struct pass *p, const struct rules_receiver *to)
{
	const struct rules_options *o = &p->rules->options;

	for (size_t i = 0; p->rule->is_alert && i < p->rule->alerts.count; i++) {
		struct alert *one = p->rule->alerts.items[i];

		if (!alert_is_due(one, p->t_ms, o->resend_ms))
			continue;
		alert_sent(one, p->t_ms, o->resend_ms, p->group->interval_ms);
		if (to && to->tell)
			to->tell(to->context, one, p->rule->query);
	}
}

/* ---- writing ---- */

static int row_order(const void *a, const void *b)
{
	return labels_cmp(((const struct row *)a)->labels, ((const struct row *)b)->labels);
}

/* Sorted; false when two have the same labels. */
static bool rows_sort(struct pass *p)
{
	if (p->rows.count > 1)
		qsort(p->rows.items, p->rows.count, sizeof *p->rows.items, row_order);
	for (size_t i = 1; i < p->rows.count; i++)
		if (labels_eq(p->rows.items[i - 1].labels, p->rows.items[i].labels))
			return error_set(
				&p->error, EXIT_BAD_INPUT, "vector contains metrics with the same labelset after applying rule labels");
	return true;
}

static enum append_status append(struct sink *sink, const struct labels *labels, int64_t t_ms, double value)
{
	return sink->ops->append(sink, sink->ops->series(sink, labels, METRIC_UNKNOWN), t_ms, value);
}

static bool append_row(struct pass *p, const struct row *row)
{
	enum append_status status = append(p->sink, row->labels, p->sample_ms, row->value);

	if (status == APPEND_OK || status == APPEND_SAME) {
		p->rules->samples++;
		return true;
	}
	p->rules->refused++;
	error_set(&p->error, EXIT_BAD_INPUT, "%s", status == APPEND_DUPLICATE ? "duplicate sample for timestamp" : "out of order sample");
	return false;
}

/* Writes the rows; then what the evaluation before wrote and this one did not gets a stale marker. Both lists are sorted. */
static void rows_write(struct pass *p)
{
	label_sets *before = &p->rule->written, now = { 0 };
	size_t k = 0;

	VEC_EACH (&p->rows, row)
		if (append_row(p, row))
			VEC_PUSH(&now, labels_ref(row->labels));
	VEC_EACH (before, old) {
		while (k < now.count && labels_cmp(now.items[k], *old) < 0)
			k++;
		if (k == now.count || !labels_eq(now.items[k], *old))
			append(p->sink, *old, p->sample_ms, number_stale());
		labels_unref(*old);
	}
	VEC_FREE(before);
	*before = now;
}

/* ---- a rule, a group ---- */

void pass_end(struct pass *p, bool ok, const struct rules_receiver *to, int64_t start_ns)
{
	struct rule *rule = p->rule;

	if (ok && rows_sort(p)) {
		tell(p, to);
		rows_write(p);
	}
	VEC_EACH (&p->rows, row)
		labels_unref(row->labels);
	VEC_FREE(&p->rows);
	p->rules->evaluations++;
	rule->health = p->error.set ? RULE_ERROR : RULE_OK;
	p->rules->failures += p->error.set;
	rule->error[0] = '\0';
	if (p->error.set)
		error_text(&p->error, rule->error, sizeof rule->error);
	rule->evaluated_ms = p->t_ms;
	rule->took_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
}

static void evaluate_rule(struct pass *p, const struct rules_receiver *to)
{
	int64_t start_ns = clock_monotonic_ns();
	struct promql_value v;

	pass_end(p, ask(p, &v) && (p->rule->is_alert ? alert(p, &v) : record(p, &v)), to, start_ns);
}

static void mark_orphans(struct rules *r, struct sink *sink, int64_t t_ms)
{
	VEC_EACH (&r->orphans, l) {
		append(sink, *l, t_ms, number_stale());
		labels_unref(*l);
	}
	VEC_FREE(&r->orphans);
}

void rules_evaluate(
	struct rules *r, struct rule_group *g, struct backend *backend, struct sink *sink, const struct rules_receiver *to, int64_t t_ms)
{
	int64_t start_ns = clock_monotonic_ns();
	struct arena arena;

	arena_init(&arena);
	for (size_t i = 0; i < g->rule_count; i++) {
		struct pass p = { .rules = r,
			.group = g,
			.rule = &g->rules[i],
			.backend = backend,
			.sink = sink,
			.arena = &arena,
			.t_ms = t_ms,
			.sample_ms = t_ms - g->query_offset_ms };

		evaluate_rule(&p, to);
		arena_reset(&arena);
	}
	arena_fini(&arena);
	mark_orphans(r, sink, t_ms - g->query_offset_ms);
	g->evaluated_ms = t_ms;
	g->took_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
	/* The first evaluation may see too little: scrapes have just begun. */
	if (++g->evaluations == 2 && g->must_restore) {
		rules_restore(r, g, backend, t_ms);
		g->must_restore = false;
	}
}
