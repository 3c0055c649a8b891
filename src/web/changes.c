/* Changes of capacity: what happened, and what was before and after it; the same as `goodput compare --event`. */
#include "base/clock.h"
#include "base/json.h"
#include "compare/print.h"
#include "web/web.h"

#include <math.h>

/* What is asked, by the catalogue of the newest report. False after an error has been answered. */
static bool source_of(struct web_request *q, struct web_reply *r, struct event_source *s)
{
	if (q->source->elsewhere) {
		web_fail(r, WEB_NOT_FOUND, "the samples are elsewhere: goodput compare --prometheus %s --event last asks there",
			q->source->elsewhere);
		return false;
	}
	if (!q->source->report) {
		web_fail(r, WEB_UNAVAILABLE, "the signals have not been judged yet: two scrapes and one evaluation are needed");
		return false;
	}
	*s = (struct event_source){ q->source->backend, true, q->source->report->catalog };
	return true;
}

void web_own_changes(struct web_request *q, struct web_reply *r)
{
	struct event_source s;
	struct capacity_log log;
	struct error e = { 0 };
	struct json j = { .out = &r->body };
	int64_t start_ms, end_ms;

	if (!web_time(q, r, "start", q->now_ms - EVENT_SEARCH_MS, &start_ms) || !web_time(q, r, "end", q->now_ms, &end_ms) ||
		!source_of(q, r, &s))
		return;
	if (!event_log(&log, q->arena, &s, start_ms, end_ms, &e)) {
		web_fail_execution(r, &e);
		return;
	}
	web_open(r);
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < log.event_count; i++) {
		json_open(&j, NULL, '{');
		event_print_event(&j, &log.events[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	web_close(r, NULL, 0, NULL, 0);
}

/* A parameter that is a duration, or a number above 0. */
static bool duration_of(struct web_request *q, struct web_reply *r, const char *name, int64_t preset_ms, int64_t *ms)
{
	struct str text = form_get(&q->form, name);

	*ms = preset_ms;
	if (!text.len || (duration_parse(text, ms) && *ms <= EVENT_SEARCH_MS))
		return true;
	web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": a duration of at most a day is wanted, such as 5m", name);
	return false;
}

static bool rate_of(struct web_request *q, struct web_reply *r, const char *name, double *value)
{
	struct str text = form_get(&q->form, name);

	*value = NAN;
	if (!text.len || (number_parse(text, value) && *value > 0 && *value < 1e9))
		return true;
	web_fail(r, WEB_BAD_DATA, "invalid parameter \"%s\": a number above 0 is wanted", name);
	return false;
}

static bool question_of(struct web_request *q, struct web_reply *r, struct event_question *question)
{
	question->scope = form_get(&q->form, "scope");
	return duration_of(q, r, "settle", AROUND_SETTLE_MS, &question->wish.settle_ms) &&
	       duration_of(q, r, "length", AROUND_LENGTH_MS, &question->wish.length_ms) && rate_of(q, r, "gpus", &question->rates.gpus) &&
	       rate_of(q, r, "gpu_price", &question->rates.price);
}

/* "last" or a time. False after an error has been answered. */
static bool find_event(struct web_request *q, struct web_reply *r, const struct event_source *s, const struct around_wish *wish,
	struct capacity_log *log, struct capacity_event *found)
{
	bool last = str_is(q->rest, "last");
	int64_t t_ms = q->now_ms, from_ms = q->now_ms - EVENT_SEARCH_MS, to_ms = q->now_ms;
	struct error e = { 0 };

	if (!last && !time_parse(q->rest, q->now_ms, &t_ms)) {
		web_fail(r, WEB_BAD_DATA, "\"" STR_FMT "\" is neither last nor a time", STR_ARG(str_head(q->rest, 100)));
		return false;
	}
	if (!last)
		event_reach(t_ms, wish, &from_ms, &to_ms);
	if (!event_log(log, q->arena, s, from_ms, to_ms < q->now_ms ? to_ms : q->now_ms, &e)) {
		web_fail_execution(r, &e);
		return false;
	}
	const struct capacity_event *known = last ? capacity_last(log) : capacity_at(log, t_ms);

	if (!known) {
		web_fail(r, WEB_NOT_FOUND, "no change of capacity is known %s", last ? "of the last 24 hours" : "at that time");
		return false;
	}
	*found = *known;
	return true;
}

void web_own_change(struct web_request *q, struct web_reply *r)
{
	struct event_answer *answer = ARENA_NEW(q->arena, struct event_answer);
	struct compare_policy policy;
	struct event_question question = { .policy = &policy, .any_mix = form_get(&q->form, "anyway").len > 0 };
	struct event_source s;
	struct capacity_log log;
	struct capacity_event found;
	struct error e = { 0 };
	struct json j = { .out = &r->body };

	compare_policy_default(&policy);
	if (!question_of(q, r, &question) || !source_of(q, r, &s) || !find_event(q, r, &s, &question.wish, &log, &found))
		return;
	if (!event_compare(answer, q->arena, &s, &log, &found, &question, &e)) {
		web_fail_execution(r, &e);
		return;
	}
	web_open(r);
	json_open(&j, NULL, '{');
	compare_print(&j, &(struct compare_document){ .result = &answer->result,
				  .policy = policy.name,
				  .name_a = STR("before"),
				  .name_b = STR("after"),
				  .given = &answer->given,
				  .event = answer });
	json_close(&j, '}');
	web_close(r, NULL, 0, NULL, 0);
}
