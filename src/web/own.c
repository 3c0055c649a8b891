/* Our own API: what the signals say, and what people and their tools told us. */
#include "base/json.h"
#include "compare/capacity.h"
#include "web/report.h"
#include "web/web.h"

#include <stdlib.h>

/* ---- the newest report ---- */

/* Opens the answer with what all three have; false after an error has been answered. */
static bool report_open(struct web_request *q, struct web_reply *r, struct json *j)
{
	const struct report *report = q->source->report;

	if (!report) {
		web_fail(r, WEB_UNAVAILABLE, "the signals have not been judged yet: two scrapes and one evaluation are needed");
		return false;
	}
	*j = (struct json){ .out = &r->body };
	web_open(r);
	json_open(j, NULL, '{');
	json_number(j, "time", (double)q->source->report_ms / 1000);
	json_open(j, "window", '{');
	json_number(j, "from", (double)report->window.from_ms / 1000);
	json_number(j, "to", (double)report->window.to_ms / 1000);
	json_close(j, '}');
	report_print_verdict(j, report);
	return true;
}

static void report_close(struct web_reply *r, struct json *j)
{
	json_close(j, '}');
	web_close(r, NULL, 0, NULL, 0);
}

void web_own_readings(struct web_request *q, struct web_reply *r)
{
	struct report_choice choice = { 0 };
	struct json j;

	choice.signals = form_all(&q->form, q->arena, "signal", &choice.signal_count);
	choice.kinds = form_all(&q->form, q->arena, "kind", &choice.kind_count);
	if (!report_open(q, r, &j))
		return;
	report_print_scopes(&j, q->source->report, &choice);
	report_close(r, &j);
}

void web_own_findings(struct web_request *q, struct web_reply *r)
{
	struct json j;

	if (!report_open(q, r, &j))
		return;
	report_print_findings(&j, q->source->report);
	report_close(r, &j);
}

void web_own_coverage(struct web_request *q, struct web_reply *r)
{
	struct json j;

	if (!report_open(q, r, &j))
		return;
	report_print_targets(&j, q->source->report);
	report_close(r, &j);
}

/* ---- annotations: samples of one metric, so that they are kept, dropped and federated as everything else is ---- */

struct told {
	const struct labels *labels;
	int64_t t_ms;
	double value;
};

static int compare_told(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return x->t_ms != y->t_ms ? (x->t_ms < y->t_ms ? -1 : 1) : labels_cmp(x->labels, y->labels);
}

static void print_annotation(struct json *j, const struct told *a)
{
	json_open(j, NULL, '{');
	json_number(j, "time", (double)a->t_ms / 1000);
	if (a->value > 1)
		json_number(j, "end", a->value);
	for (uint32_t i = 0; i < a->labels->count; i++)
		if (!str_eq(a->labels->items[i].name, LABEL_NAME))
			json_text(j, a->labels->items[i].name.ptr, a->labels->items[i].value);
	json_close(j, '}');
}

void web_own_annotations(struct web_request *q, struct web_reply *r)
{
	const struct matcher by_name = { LABEL_NAME, str_from(annotation_metric), MATCH_EQ, NULL };
	struct backend *b = q->source->backend;
	struct series_view *views;
	struct error e = { 0 };
	VEC(struct told) told = { 0 };
	int64_t start_ms, end_ms;
	size_t count;

	if (!web_time(q, r, "start", 0, &start_ms) || !web_time(q, r, "end", q->now_ms, &end_ms))
		return;
	if (!b->ops->select(b, q->arena, &by_name, 1, start_ms, end_ms, &views, &count, &e)) {
		web_fail_execution(r, &e);
		return;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < views[i].count; k++)
			VEC_PUSH(&told, (struct told){ views[i].labels, views[i].t[k], views[i].v[k] });
	if (told.count)
		qsort(told.items, told.count, sizeof *told.items, compare_told);
	struct json j = { .out = &r->body };

	web_open(r);
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < told.count; i++)
		print_annotation(&j, &told.items[i]);
	json_close(&j, ']');
	web_close(r, NULL, 0, NULL, 0);
	VEC_FREE(&told);
}
