/* Forward progress: the heartbeat, what stands still with it, restarts, and addresses behind which processes take turns. */
#include "signals/detectors/detect.h"

enum { STALL_MS = 60000, STALE_MS = 10000 };

/* ---- publish ---- */

/* Over the pool: no as soon as one engine's gauges stand still; unknown when no heartbeat was seen twice. */
static struct reading trusted(struct evaluation *ev, const struct scope *s)
{
	bool known = false;
	for (size_t i = 0; i < s->member_count; i++) {
		struct trust t = evaluation_trust(ev, s->members[i]);
		if (t.known && t.stale)
			return reading_text(STR("no"));
		known |= t.known;
	}
	return known ? reading_text(STR("yes")) : reading_unknown(UNKNOWN_ONE_SCRAPE, STR("no heartbeat was seen twice"));
}

static bool in_window(const struct evaluation *ev, int64_t t_ms)
{
	return t_ms > ev->window.from_ms && t_ms <= ev->window.to_ms;
}

/* The value of the sample before; NAN when there is none. */
static double before_of(const struct series_view *v, size_t i)
{
	ptrdiff_t before = view_before(v, (ptrdiff_t)i);
	return before >= 0 ? v->v[before] : NAN;
}

/* How often a counter fell in the window. */
static size_t count_falls(const struct evaluation *ev, const struct series_view *v)
{
	size_t falls = 0, i = times_after(v->t, v->count, ev->window.from_ms);
	for (i = i ? i : 1; i < v->count && v->t[i] <= ev->window.to_ms; i++)
		falls += before_of(v, i) > v->v[i];
	return falls;
}

static const char *const key_counters[] = { "steps", "generation_tokens", "prompt_tokens", "finished", "finished_all", "finished_ok" };

/* The largest number of falls of any of the engine's main counters. */
static size_t falls_of_target(struct evaluation *ev, const struct target_evidence *t)
{
	size_t most = 0;
	for (size_t k = 0; k < t->scheduler_count; k++)
		for (size_t n = 0; n < ARRAY_LEN(key_counters); n++) {
			const struct metric_spec *m = catalog_metric(ev->catalog, key_counters[n]);
			const struct member_list *list = m ? evidence_members(ev->evidence, t->schedulers[k], m, ev->window.to_ms) : NULL;
			for (size_t i = 0; list && i < list->members.count; i++) {
				const struct member *member = &list->members.items[i];
				size_t falls = member->part == PART_BUCKET || member->part == PART_SUM ? 0 : count_falls(ev, &member->view);
				most = falls > most ? falls : most;
			}
		}
	return most;
}

/* Restarts in the window: moves of the process start time, else falls of counters. */
static bool count_restarts(struct evaluation *ev, size_t target, size_t *count)
{
	struct target_evidence *t = target_evidence(ev, target);
	struct scope *s = scope_of_target(ev, target);
	const struct binding *b = evidence_binding(ev->evidence, target, ev->window.to_ms);
	*count = 0;
	if (!b || (!b->engine && !b->exporter_count))
		return false;
	if (!is_exported(ev, s, "process_start_time")) {
		*count = falls_of_target(ev, t);
		return true;
	}
	VEC_EACH (&t->restarts, at)
		*count += in_window(ev, *at);
	return true;
}

static void publish_restarts(struct evaluation *ev)
{
	size_t targets = ev->evidence->targets.count;
	size_t *counts = ARENA_ARRAY(ev->arena, size_t, targets + 1);
	bool *known = ARENA_ARRAY(ev->arena, bool, targets + 1);
	for (size_t i = 0; i < targets && has_window(ev); i++)
		known[i] = count_restarts(ev, i, &counts[i]);
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		size_t sum = 0;
		bool any = false;
		for (size_t k = 0; k < s->target_count && s->kind != SCOPE_GPU; k++) {
			sum += counts[s->targets[k]];
			any |= known[s->targets[k]];
		}
		evaluation_publish(ev, s, "restarts", any ? reading_value((double)sum) : reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY));
	}
}

void progress_publish(struct evaluation *ev)
{
	publish_restarts(ev);
	for (size_t i = 0; i < ev->scope_count; i++)
		if (ev->scopes[i].kind != SCOPE_GPU)
			evaluation_publish(ev, &ev->scopes[i], "gauges_trusted", trusted(ev, &ev->scopes[i]));
}

/* ---- stalled, stale ---- */

/* Tokens count as life even where steps do not: the step counter of several API servers may be wrong. */
static bool tokens_moved_since(struct evaluation *ev, size_t target, int64_t since_ms)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, "generation_tokens");
	const struct target_evidence *t = target_evidence(ev, target);
	for (size_t k = 0; m && k < t->scheduler_count; k++) {
		const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], m, ev->window.to_ms);
		for (size_t i = 0; list && i < list->members.count; i++) {
			bool moved;
			int64_t last = view_last_move_ms(&list->members.items[i].view, ev->window.to_ms, &moved);
			if (moved && last > since_ms)
				return true;
		}
	}
	return false;
}

/* Answers over HTTP that ended between two moments without a finish record. */
static double ended_unfinished(struct evaluation *ev, const struct scope *s, int64_t from_ms, int64_t to_ms)
{
	double answered =
		counter_total(ev, s, "http_requests", "status", "", to_ms) - counter_total(ev, s, "http_requests", "status", "", from_ms);
	double finished = counter_total(ev, s, "finished", "finished_reason", "", to_ms) -
			  counter_total(ev, s, "finished", "finished_reason", "", from_ms);
	return answered - finished;
}

static double in_flight(struct evaluation *ev, const struct scope *s)
{
	double sum = 0, value;
	for (size_t k = 0; k < s->member_count; k++) {
		sum += gauge_at(ev, s->members[k], "running", &value) ? value : 0;
		sum += gauge_at(ev, s->members[k], "waiting", &value) ? value : 0;
	}
	return sum;
}

/* All clients left at once, and none came since: nothing is in flight, and without a step the gauges go on saying what was (vllm#22545,
 * #29928). As many answers ended unfinished about the last step as were in flight, and none after: who hangs in an engine that is stuck,
 * or comes to it, leaves later. */
static bool clients_left(struct evaluation *ev, size_t target, int64_t since_ms)
{
	const struct scope *s = scope_of_target(ev, target);
	const struct scrape_record *before = evidence_scrape(ev->evidence, target, since_ms - 1);
	int64_t patience = target_patience_ms(target_evidence(ev, target)),
		until_ms = since_ms + (patience > STALE_MS ? patience : STALE_MS);

	if (!before || !scrape_answered(before) || before->t_ms < ev->window.history_ms) /* the last step was not seen */
		return false;
	if (!is_exported(ev, s, "http_requests") || !is_exported(ev, s, "finished") || until_ms >= ev->window.to_ms)
		return false;
	return ended_unfinished(ev, s, before->t_ms, until_ms) >= in_flight(ev, s) &&
	       counter_total(ev, s, "http_requests", "status", "", until_ms) ==
		       counter_total(ev, s, "http_requests", "status", "", ev->window.to_ms);
}

static void judge_scheduler(struct evaluation *ev, size_t scheduler)
{
	struct trust t = evaluation_trust(ev, scheduler);
	size_t target = ev->evidence->schedulers.items[scheduler].target;
	double running = 0, waiting = 0;
	if (!t.known || !t.stale || !target_answers(ev, target))
		return;
	int64_t still_ms = ev->window.to_ms - t.since_ms;
	/* A queue from which nobody is let in stands still too. */
	bool busy = (gauge_at(ev, scheduler, "running", &running) && running > 0) ||
		    (gauge_at(ev, scheduler, "waiting", &waiting) && waiting > 0);
	bool stalled = still_ms >= STALL_MS && busy && !tokens_moved_since(ev, target, t.since_ms) && !clients_left(ev, target, t.since_ms);
	if (!stalled && still_ms < STALE_MS)
		return;
	struct scope *s = scope_of_scheduler(ev, scheduler);
	struct finding *f = evaluation_raise(ev, stalled ? "engine-stalled" : "stale-gauges", s, NULL, 0, 1, STR_EMPTY);
	if (f) /* it began with the last step */
		f->onset_ms = t.since_ms;
}

/* ---- averages of an interval that is long over ---- */

/* Nothing was processed in the window, and that is known. */
static bool stood_still(struct evaluation *ev, const struct scope *s)
{
	static const char *const moves[] = { "generation_tokens_increase", "prompt_tokens", "finished" };
	bool known = false;
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		double moved;
		if (!number_at(ev, s, moves[i], &moved))
			continue;
		if (moved != 0)
			return false;
		known |= i < 2;
	}
	return known;
}

static void judge_interval_gauges(struct evaluation *ev, struct scope *s)
{
	struct wording said;
	wording_init(&said);
	VEC_EACH (&ev->catalog->metrics, m) {
		if (!(*m)->interval_gauge)
			continue;
		for (size_t i = 0; i < s->member_count; i++) {
			const struct member_list *list = evidence_members(ev->evidence, s->members[i], *m, ev->window.to_ms);
			double value;
			if (list && gauge_at(ev, s->members[i], arena_cstr(ev->arena, (*m)->id), &value) && value != 0)
				wording_add(&said, STR_FMT " still says %.4g", STR_ARG(list->name->name), value);
		}
	}
	struct str detail = wording_end(&said, ev->arena);
	if (!detail.len || !stood_still(ev, s))
		return;
	struct finding *f = evaluation_raise(ev, "stale-gauges", s, NULL, 0, 1, detail);
	if (f) /* an idle engine does this by design: a trap for dashboards, not an incident */
		f->severity = SEVERITY_INFO;
}

/* ---- idle ---- */

static bool is_zero_or_unknown(struct evaluation *ev, const struct scope *s, const char *signal)
{
	double value;
	return !number_at(ev, s, signal, &value) || value == 0;
}

static void judge_idle(struct evaluation *ev, struct scope *s)
{
	static const char *const quiet[] = { "waiting", "waiting_growth", "running_growth", "requests_per_s", "arrivals_per_s", "steps" };
	const struct reading *running = evaluation_named(ev, s, "running");
	if (running->kind != READING_VALUE || running->low != 0 || running->stale || running->trust_unknown || !stood_still(ev, s))
		return;
	for (size_t i = 0; i < ARRAY_LEN(quiet); i++)
		if (!is_zero_or_unknown(ev, s, quiet[i]))
			return;
	evaluation_raise(ev, "idle", s, NULL, 0, 1, STR_EMPTY);
}

/* ---- processes that take turns ---- */

/* A counter that falls and is back at once was never reset: two processes show theirs in turn. */
static bool jumps_to_and_fro(const struct evaluation *ev, const struct series_view *v)
{
	size_t jumps = 0, i = times_after(v->t, v->count, ev->window.from_ms);
	for (i = i ? i : 1; i + 1 < v->count && v->t[i + 1] <= ev->window.to_ms; i++)
		jumps += v->v[i] < before_of(v, i) && v->v[i + 1] >= before_of(v, i) && before_of(v, i) > 0;
	return jumps >= 2;
}

static bool takes_turns(struct evaluation *ev, size_t target)
{
	const struct target_evidence *t = target_evidence(ev, target);
	for (size_t n = 0; n < ARRAY_LEN(key_counters); n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, key_counters[n]);
		for (size_t k = 0; m && k < t->scheduler_count; k++) {
			const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], m, ev->window.to_ms);
			for (size_t i = 0; list && i < list->members.count; i++)
				if (list->members.items[i].part != PART_BUCKET && jumps_to_and_fro(ev, &list->members.items[i].view))
					return true;
		}
	}
	return false;
}

static void judge_turns(struct evaluation *ev, struct scope *s)
{
	uint32_t turns = target_evidence(ev, s->target)->target->turns;
	struct str detail = turns > 1 ? arena_printf(ev->arena, "%u processes seen", turns) : STR_EMPTY;
	if (turns > 1 || (has_window(ev) && takes_turns(ev, s->target)))
		evaluation_raise(ev, "processes-take-turns", s, NULL, 0, 1, detail);
}

void progress_raise(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->evidence->schedulers.count; i++)
		if (!ev->evidence->schedulers.items[i].is_gpu)
			judge_scheduler(ev, i);
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		judge_turns(ev, s);
		if (has_window(ev))
			judge_interval_gauges(ev, s);
	}
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		if (has_window(ev))
			judge_idle(ev, s);
	}
}
