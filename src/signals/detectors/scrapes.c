/* The watch itself: who answered, what pages were like, how long the window really is. */
#include "signals/detectors/detect.h"

/* ---- publish ---- */

/* Seconds between the scrapes that are the ends of the target's window; NAN when one is missing. */
static double elapsed_of(struct evaluation *ev, size_t target)
{
	const struct scrape_record *end = evidence_scrape(ev->evidence, target, ev->window.to_ms);
	const struct scrape_record *start = evidence_scrape(ev->evidence, target, ev->window.from_ms);
	return end && start && end != start ? (double)(end->t_ms - start->t_ms) / 1000 : NAN;
}

static void publish_window(struct evaluation *ev, const struct scope *s)
{
	double sum = 0, n = 0;
	for (size_t i = 0; i < s->target_count; i++) {
		double elapsed = elapsed_of(ev, s->targets[i]);
		if (isnan(elapsed))
			continue;
		sum += elapsed;
		n++;
	}
	bool known = n > 0 && has_window(ev);
	evaluation_publish(ev, s, "window_seconds", known ? reading_value(sum / n) : reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY));
}

static void publish_target(struct evaluation *ev, const struct scope *s)
{
	const struct scrape_record *r = evidence_scrape(ev->evidence, s->target, ev->window.to_ms);
	if (!r)
		return;
	evaluation_publish(ev, s, "scrape_outcome", reading_text(str_from(scrape_outcome_name(r->outcome))));
	struct reading seconds = isnan(r->duration_s) ? reading_unknown(UNKNOWN_ABSENT, STR("not measured")) : reading_value(r->duration_s);
	evaluation_publish(ev, s, "scrape_seconds", seconds);
}

void scrapes_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		uint32_t up, all;
		publish_window(ev, s);
		if (s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU)
			continue;
		scope_targets_up(ev, s, ev->window.to_ms, &up, &all);
		evaluation_publish(ev, s, "targets_expected", reading_value(all));
		evaluation_publish(ev, s, "targets_reporting", reading_value(up));
		if (s->kind == SCOPE_TARGET)
			publish_target(ev, s);
	}
}

/* ---- who did not answer ---- */

/* The first round of a watch takes one interval: whoever comes later in it is not silent. */
static bool is_yet_to_come(struct evaluation *ev, size_t target)
{
	const struct target *t = target_evidence(ev, target)->target;
	if (!t->scrapes.count || t->scrapes.items[0].t_ms <= ev->window.to_ms)
		return false;
	VEC_EACH (&ev->evidence->targets, other)
		if (other->target->scrapes.count &&
			t->scrapes.items[0].t_ms - other->target->scrapes.items[0].t_ms > target_patience_ms(target_evidence(ev, target)))
			return false;
	return true;
}

/* A page with an error is not up, here as in Prometheus; but somebody answered, and its whole lines are known. */
static void judge_answers(struct evaluation *ev)
{
	size_t count = ev->evidence->targets.count, missing = 0, broken = 0;
	struct str *names = ARENA_ARRAY(ev->arena, struct str, count + 1);
	struct wording said;
	wording_init(&said);
	for (size_t i = 0; i < count; i++) {
		const struct scrape_record *r = evidence_scrape(ev->evidence, i, ev->window.to_ms);
		if (scrape_is_whole(r) || (!r && is_yet_to_come(ev, i)))
			continue;
		broken += scrape_answered(r);
		names[missing++] = target_name(ev, i);
		if (r && r->detail.len)
			wording_add(&said, STR_FMT ": %s (" STR_FMT ")", STR_ARG(target_name(ev, i)), scrape_outcome_name(r->outcome),
				STR_ARG(r->detail));
		else
			wording_add(
				&said, STR_FMT ": %s", STR_ARG(target_name(ev, i)), r ? scrape_outcome_name(r->outcome) : "never scraped");
	}
	struct str detail = wording_end(&said, ev->arena);
	if (!missing)
		return;
	struct finding *f = evaluation_raise(ev, "scrape-partial", fleet_scope(ev), names, missing, count, detail);
	if (f && broken)
		f->severity = SEVERITY_WARNING;
}

/* ---- what pages were like ---- */

static void judge_record(struct evaluation *ev, struct scope *s, const struct scrape_record *r)
{
	if (r->outcome == SCRAPE_PARTIAL || r->outcome == SCRAPE_CUT || r->outcome == SCRAPE_BAD_ENCODING)
		evaluation_raise(
			ev, "page-malformed", s, NULL, 0, 1, r->detail.len ? r->detail : str_from(scrape_outcome_name(r->outcome)));
	if (r->duplicates)
		evaluation_raise(ev, "duplicate-series", s, NULL, 0, 1, arena_printf(ev->arena, "%zu samples left out", r->duplicates));
	/* A refused scrape has the time of the one before. */
	const struct target *t = target_evidence(ev, s->target)->target;
	if (r + 1 < t->scrapes.items + t->scrapes.count && r[1].t_ms == r->t_ms)
		evaluation_raise(ev, "clock-backwards", s, NULL, 0, 1, r[1].detail);
}

static bool had_engine_before(struct evaluation *ev, size_t target)
{
	const struct target *t = target_evidence(ev, target)->target;
	for (size_t i = 0; i < t->scrapes.count && t->scrapes.items[i].t_ms < ev->window.to_ms; i++) {
		const struct binding *b = evidence_binding(ev->evidence, target, t->scrapes.items[i].t_ms);
		if (b && b->engine)
			return true;
	}
	return false;
}

/* HTTP answers are counted while the engine's own counters do not exist or stand at 0: the page was wiped, or is another process's. */
static bool answers_without_engine(struct evaluation *ev, const struct scope *s)
{
	struct reading http = count_at(ev, s, "http_requests");
	if (http.kind != READING_VALUE || http.low < 10)
		return false;
	static const char *const moves[] = { "finished", "finished_all", "prompt_tokens", "generation_tokens", "e2e", "steps" };
	double rejected;
	if (!number_at(ev, s, "http_4xx", &rejected) || rejected >= http.low)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		struct reading moved = count_at(ev, s, moves[i]);
		if (reading_is_number(&moved) && moved.low > 0)
			return false;
	}
	return true;
}

/* Requests that routers and gateways of the fleet counted in the window. */
static double requests_in_front(struct evaluation *ev)
{
	double requests = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		const struct binding *b = evidence_binding(ev->evidence, s->target, ev->window.to_ms);
		if (!b || !b->engine || !b->engine->in_front || !target_answers(ev, s->target))
			continue;
		struct reading counted = count_at(ev, s, "gateway_requests");
		requests += reading_is_number(&counted) ? counted.low : 0;
	}
	return requests;
}

/* 200 without a sample is what a multi-process directory that is empty, unreadable or misnamed looks like from outside; and what a server
 * looks like that was never asked for anything. It is a lie only where something else is known. */
static void judge_empty_page(struct evaluation *ev, struct scope *s)
{
	double requests = has_window(ev) ? requests_in_front(ev) : 0;
	if (had_engine_before(ev, s->target))
		evaluation_raise(ev, "engine-families-missing", s, NULL, 0, 1, STR("200 with an empty page; they were on an earlier one"));
	else if (requests >= 10)
		evaluation_raise(ev, "engine-families-missing", s, NULL, 0, 1,
			arena_printf(
				ev->arena, "200 with an empty page, while %.0f requests were counted in front of the fleet", requests));
}

static void judge_families(struct evaluation *ev, struct scope *s)
{
	const struct binding *b = evidence_binding(ev->evidence, s->target, ev->window.to_ms);
	if (!b || !target_answers(ev, s->target))
		return;
	if (b->engine) {
		if (has_window(ev) && !b->engine->in_front && answers_without_engine(ev, s))
			evaluation_raise(ev, "engine-families-missing", s, NULL, 0, 1,
				STR("HTTP answers are counted, the engine's counters do not move"));
		return;
	}
	if (had_engine_before(ev, s->target)) {
		evaluation_raise(ev, "engine-families-missing", s, NULL, 0, 1, STR("they were on an earlier page"));
		return;
	}
	bool gpu_or_container = false; /* pages of exporters are what they should be; process and HTTP families alone are not */
	for (size_t i = 0; i < b->exporter_count; i++)
		gpu_or_container |= !str_is(b->exporters[i]->id, "process") && !str_is(b->exporters[i]->id, "http");
	if (!gpu_or_container)
		evaluation_raise(ev, "no-engine-metrics", s, NULL, 0, 1, STR_EMPTY);
}

void scrapes_raise(struct evaluation *ev)
{
	judge_answers(ev);
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		const struct scrape_record *r = evidence_scrape(ev->evidence, s->target, ev->window.to_ms);
		if (r)
			judge_record(ev, s, r);
		if (r && r->outcome == SCRAPE_EMPTY)
			judge_empty_page(ev, s);
		judge_families(ev, s);
	}
}
