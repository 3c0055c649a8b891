#include "compare/event.h"

#include "base/clock.h"
#include "base/vec.h"
#include "store/store.h"
#include "watch/mirror.h"

#include <math.h>

/* ---- what happened ---- */

bool event_log(struct capacity_log *log, struct arena *arena, const struct event_source *s, int64_t from_ms, int64_t to_ms, struct error *e)
{
	const struct matcher by_name = { LABEL_NAME, str_from(annotation_metric), MATCH_EQ, NULL };
	const struct mirror_span span = { from_ms, to_ms, e };
	struct mirror *m = mirror_new(false);
	struct mirror_series up, starts;
	struct series_view *told;
	size_t told_count;

	mirror_point(m, s->backend, s->is_local, s->catalog);
	bool ok = mirror_fetch_presence(m, arena, &span, &up, &starts) &&
		  s->backend->ops->select(s->backend, arena, &by_name, 1, from_ms, to_ms, &told, &told_count, e);

	if (ok)
		capacity_find(log, arena,
			&(struct capacity_samples){ .up = up.items,
				.up_count = up.count,
				.starts = starts.items,
				.start_count = starts.count,
				.annotations = told,
				.annotation_count = told_count });
	mirror_free(m);
	return ok;
}

void event_reach(int64_t t_ms, const struct around_wish *wish, int64_t *from_ms, int64_t *to_ms)
{
	int64_t length_ms = wish->length_ms > 0 ? wish->length_ms : AROUND_LENGTH_MS;
	int64_t settle_ms = wish->settle_ms < 0 ? AROUND_SETTLE_MS : wish->settle_ms;
	int64_t reach_ms = 2 * (length_ms + settle_ms) + EVENT_SEARCH_MS / 24;

	*from_ms = t_ms > reach_ms ? t_ms - reach_ms : 0;
	*to_ms = t_ms + reach_ms;
}

/* ---- one window ---- */

/* A copy of the window's samples; counts need one from before it, at most one and a half intervals old. */
struct copy {
	struct arena arena;
	struct store *store;
	struct fleet fleet;
	struct backend *backend;
	struct evidence evidence;
	bool has_evidence;
};

static void copy_fini(struct copy *c)
{
	if (c->has_evidence)
		evidence_fini(&c->evidence);
	fleet_fini(&c->fleet);
	backend_free(c->backend);
	store_free(c->store);
	arena_fini(&c->arena);
}

static bool copy_init(struct copy *c, const struct event_source *s, const struct around_window *w, int64_t margin_ms, struct error *e)
{
	const struct mirror_span span = { w->from_ms - margin_ms, w->to_ms, e };
	struct mirror *m = mirror_new(false);
	struct mirror_batch batch;

	*c = (struct copy){ .store = store_new() };
	arena_init(&c->arena);
	c->backend = backend_embedded_new(c->store);
	fleet_init(&c->fleet, store_sink(c->store));
	mirror_point(m, s->backend, s->is_local, s->catalog);
	bool ok = mirror_fetch(m, &c->arena, &span, &batch);

	if (ok) {
		mirror_apply(m, &c->fleet, &c->arena, &batch);
		ok = c->has_evidence =
			evidence_build(&c->evidence, &c->arena, s->catalog, &c->fleet, c->backend, span.from_ms, span.to_ms, e);
	}
	mirror_free(m);
	if (!ok)
		copy_fini(c);
	return ok;
}

struct comparing {
	const struct event_source *source;
	const struct capacity_log *log;
	const struct event_question *question;
	struct event_answer *answer;
	struct arena *arena;
	struct str scope; /* empty: to be found */
};

static bool is_named(const struct str *names, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

/* The one pool that all of these targets are of. */
static bool pool_of(struct comparing *c, struct evidence *ev, const struct around_window *w, const struct str *names, size_t count)
{
	const struct window window = { w->from_ms, w->to_ms, w->from_ms };
	const struct scope *found = NULL;
	size_t pools = 0, there = 0;
	struct evaluation judged;

	evaluation_init(&judged, ev->arena, ev, window, NULL);
	for (size_t i = 0; i < judged.scope_count; i++) {
		const struct scope *scope = &judged.scopes[i];
		size_t in = 0;

		for (size_t k = 0; scope->kind == SCOPE_POOL && k < scope->target_count; k++)
			in += is_named(names, count, labels_get(ev->targets.items[scope->targets[k]].target->labels, STR("instance")));
		pools += in > 0;
		there += in;
		found = in ? scope : found;
	}
	if (pools == 1 && there == count)
		c->scope = arena_str(c->arena, found->name);
	evaluation_fini(&judged);
	return pools == 1 && there == count;
}

static bool is_pool(struct evidence *ev, const struct around_window *w, struct str name)
{
	const struct window window = { w->from_ms, w->to_ms, w->from_ms };
	struct evaluation judged;
	bool found = false;

	evaluation_init(&judged, ev->arena, ev, window, NULL);
	for (size_t i = 0; i < judged.scope_count; i++)
		found = found || (judged.scopes[i].kind == SCOPE_POOL && str_eq(judged.scopes[i].name, name));
	evaluation_fini(&judged);
	return found;
}

/* Found in the window in which the targets that came or went are. */
static void find_scope(struct comparing *c, struct evidence *ev, const struct around_window *w)
{
	const struct capacity_event *event = &c->answer->event;

	if (c->question->scope.len) {
		c->scope = c->question->scope;
		c->answer->scope_from = "as asked";
	} else if (event->pool.len && is_pool(ev, w, event->pool)) {
		c->scope = event->pool;
		c->answer->scope_from = "as told";
	} else if (event->came_count + event->went_count && pool_of(c, ev, w, event->came_count ? event->came : event->went,
								    event->came_count ? event->came_count : event->went_count)) {
		c->answer->scope_from = "the pool of the targets that came or went";
	} else {
		c->scope = STR("fleet");
		c->answer->scope_from = "no pool of its own";
	}
}

static bool read_side(struct comparing *c, struct side *s, const struct around_window *w, const char *name, struct error *e)
{
	const struct window window = { w->from_ms, w->to_ms, w->from_ms };
	struct copy copy;

	if (w->from_ms >= w->to_ms) {
		side_unknown(s, arena_printf(c->arena, "no window %s it: %s", name, around_limit_text(w->limit)));
		return true;
	}
	if (!copy_init(&copy, c->source, w, c->log->interval_ms * 7 / 4, e))
		return false;
	if (!c->scope.len)
		find_scope(c, &copy.evidence, w);
	side_read(s, c->arena, &copy.evidence, &window, c->scope, &c->question->rates);
	copy_fini(&copy);
	return true;
}

/* ---- notes ---- */

static void note(struct comparing *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct comparing *c, const char *format, ...)
{
	va_list args;

	if (c->answer->note_count == EVENT_NOTES_MAX)
		return;
	va_start(args, format);
	c->answer->notes[c->answer->note_count++] = arena_vprintf(c->arena, format, args);
	va_end(args);
}

static const char *duration(int64_t ms, char text[64])
{
	text[duration_format((ms + 500) / 1000 * 1000, text)] = '\0';
	return text;
}

static void note_window(struct comparing *c, const struct around_window *w, const char *name)
{
	char text[64];

	if (w->from_ms == w->to_ms)
		note(c, "There is no window %s it: %s.", name, around_limit_text(w->limit));
	else if (!w->enough)
		note(c, "Only %s %s it: %s. At least %d scrapes are wanted.", duration(w->to_ms - w->from_ms, text), name,
			around_limit_text(w->limit), AROUND_SCRAPES_LEAST);
	else if (w->limit != AROUND_LENGTH && w->limit != AROUND_OTHER_SIDE)
		note(c, "The time %s it is %s, no more: %s.", name, duration(w->to_ms - w->from_ms, text), around_limit_text(w->limit));
	if (w->restarts)
		note(c, "%zu restart%s in the time %s it: caches were empty and counters began anew.", w->restarts,
			w->restarts == 1 ? "" : "s", name);
}

static void note_windows(struct comparing *c)
{
	const struct around *w = &c->answer->windows;
	char text[64], at[40];

	if (w->events > 1)
		note(c, "%zu events lie closer together than can be told apart: the windows are around all of them.", w->events);
	if (!w->events)
		note(c, "Nothing is known to have happened at that time.");
	note_window(c, &w->before, "before");
	note_window(c, &w->after, "after");
	if (w->ready_ms) {
		at[time_format(w->ready_ms, at)] = '\0';
		note(c, "%s behind it are left out for settling: the first comparison can be made at %s.", duration(w->settle_ms, text),
			at);
	}
}

/* Where both have a value. */
static bool moved(const struct event_answer *a, const char *panel, double least, double *from, double *to)
{
	const struct compare_panel *p = compare_panel(&a->result, panel);

	if (!p)
		return false;
	*from = p->a.value;
	*to = p->b.value;
	return fabs(p->change.value) >= least;
}

static void note_scope(struct comparing *c)
{
	struct str told = c->answer->event.pool;

	if (told.len && !c->question->scope.len && c->scope.len && !str_eq(told, c->scope))
		note(c, "No pool is called " STR_FMT " here; what was looked at is " STR_FMT ". The configuration knows pools: --config.",
			STR_ARG(told), STR_ARG(c->scope));
}

static void note_load(struct comparing *c)
{
	const struct event_answer *a = c->answer;
	double from, to, apart = given_distance(&a->given);
	size_t before = a->note_count;

	if (moved(a, "offered_rps", 0.05, &from, &to))
		note(c, "The load moved: %.3g requests arrive per second instead of %.3g.", to, from);
	if (moved(a, "prompt_tokens_mean", 0.05, &from, &to))
		note(c, "Prompts are of another length: %.0f tokens instead of %.0f.", to, from);
	else if (apart > 0.1)
		note(c, "The mix of prompts is another: %.0f %% of requests have another length.", apart * 100);
	if (moved(a, "output_tokens_mean", 0.05, &from, &to))
		note(c, "Answers are of another length: %.0f tokens instead of %.0f.", to, from);
	if (moved(a, "cached_share", 0.03, &from, &to))
		note(c, "The cached share of prompts is %.0f %% instead of %.0f %%.", to * 100, from * 100);
	if (a->note_count > before)
		note(c, "Before and after is not A against B: these changes are in the difference as well.");
}

static void note_cost(struct comparing *c)
{
	const struct side *a = &c->answer->before, *b = &c->answer->after, *known = b->readings ? b : a;

	if (!known->readings)
		return;
	if (isnan(a->gpus) && isnan(b->gpus))
		note(c, "How many GPUs a replica has is not known: cost is in hours of replicas (pools: gpus and gpu_price, or --gpus and "
			"--gpu-price).");
	else if (known->gpus_from)
		note(c, "GPUs are those of replicas that answer, %s%s.", known->gpus_from,
			isnan(a->price) && isnan(b->price) ? "; what one costs is not known (gpu_price, --gpu-price)" : "");
	if (a->never_up || b->never_up)
		note(c, "Targets that never answered are not counted: %zu before, %zu after it. If they run, they cost too.", a->never_up,
			b->never_up);
}

static void add_fact(struct compare_result *r, const char *name, struct str a, struct str b)
{
	if (a.len || b.len)
		r->facts[r->fact_count++] = (struct compare_fact){ str_from(name), a, b, !str_eq(a, b) };
}

static void compare(struct comparing *c)
{
	struct event_answer *a = c->answer;

	side_pair(&a->given, c->arena, &a->before, &a->after);
	compare_given(&a->given, c->question->policy, c->question->any_mix, &a->result);
	add_fact(&a->result, "engine", a->before.engine, a->after.engine);
	add_fact(&a->result, "model", a->before.model, a->after.model);
	note_windows(c);
	note_scope(c);
	note_load(c);
	note_cost(c);
}

bool event_compare(struct event_answer *answer, struct arena *arena, const struct event_source *s, const struct capacity_log *log,
	const struct capacity_event *event, const struct event_question *q, struct error *e)
{
	struct comparing c = { .source = s, .log = log, .question = q, .answer = answer, .arena = arena };
	struct around *w = &answer->windows;

	*answer = (struct event_answer){ .event = *event };
	around_choose(w, log, event, &q->wish);
	/* First where the targets are that tell the pool. */
	bool after_first = event->came_count > 0 && w->after.from_ms < w->after.to_ms;
	bool ok = (!after_first || read_side(&c, &answer->after, &w->after, "after", e)) &&
		  read_side(&c, &answer->before, &w->before, "before", e) &&
		  (after_first || read_side(&c, &answer->after, &w->after, "after", e));

	if (!ok)
		return false;
	bool looked = w->before.from_ms < w->before.to_ms || w->after.from_ms < w->after.to_ms;

	if (q->scope.len && looked && !answer->before.readings && !answer->after.readings)
		return error_set(e, EXIT_USAGE, "no pool, target or engine is called \"" STR_FMT "\" in these windows", STR_ARG(q->scope));
	compare(&c);
	return true;
}
