/* goodput compare --event: what was before and after a change of capacity. */
#include "cli/compare.h"

#include "base/clock.h"
#include "cli/commands.h"

#include <math.h>

/* What has the samples: a store, a recording, a Prometheus or a running serve. */
struct opened {
	struct watch watch;
	bool is_open;
	struct event_source source;
	int64_t newest_ms;
};

static bool is_address(const char *operand)
{
	return strncmp(operand, "http://", 7) == 0 || strncmp(operand, "https://", 8) == 0;
}

static bool source_open(struct opened *o, struct comparison *c, const struct option_strings *operands, struct error *e)
{
	struct option_strings none = { 0 };
	bool serves = operands->count == 1 && is_address(operands->items[0]) && !c->arguments->source.prometheus.url;
	struct watch_options options;
	int64_t oldest_ms;

	if (!source_to_options(&c->arguments->source, &c->arena, serves ? &none : operands, &options, e))
		return false;
	if (serves)
		options.remote.url = operands->items[0];
	options.only_samples = true;
	if (!watch_open(&o->watch, &options, e))
		return false;
	o->is_open = true;
	if (o->watch.kind == WATCH_LIVE || o->watch.kind == WATCH_PAGE) {
		error_set(e, EXIT_USAGE, "events are of the past: a store, a recording, a Prometheus or a running serve is wanted");
		error_hint(e, "goodput compare goodput.db --event last, or goodput compare http://127.0.0.1:9470 --event last");
		return false;
	}
	if (!watch_gather(&o->watch, e))
		return false;
	const struct store *store = o->watch.kind == WATCH_STORE ? o->watch.file : o->watch.data.store;

	o->newest_ms = o->watch.options.now_ms;
	if (o->watch.kind != WATCH_REMOTE && !store_bounds(store, &oldest_ms, &o->newest_ms))
		return error_set(e, EXIT_UNKNOWN, "%s holds no samples", operands->items[0]);
	o->source = (struct event_source){ .backend = o->watch.remote ? o->watch.remote : o->watch.data.backend,
		.is_local = o->watch.kind != WATCH_REMOTE,
		.catalog = &o->watch.catalog };
	return true;
}

/* ---- which event ---- */

static void hint_list(struct error *e)
{
	error_hint(e, "--event list shows what is known; any time can be given as well: --event 2026-01-15T12:00:00Z");
}

static bool find_last(struct comparison *c, const struct opened *o, struct capacity_log *log, struct capacity_event *found, struct error *e)
{
	if (!event_log(log, &c->arena, &o->source, o->newest_ms - EVENT_SEARCH_MS, o->newest_ms, e))
		return false;
	const struct capacity_event *last = capacity_last(log);

	if (!last) {
		error_set(e, EXIT_UNKNOWN, "no change of capacity is known of the last 24 hours");
		hint_list(e);
		return false;
	}
	*found = *last;
	return true;
}

static bool find_at(struct comparison *c, const struct opened *o, const struct around_wish *wish, struct capacity_log *log,
	struct capacity_event *found, struct error *e)
{
	int64_t t_ms, from_ms, to_ms;

	if (!time_parse(str_from(c->arguments->event), o->newest_ms, &t_ms)) {
		error_set(e, EXIT_USAGE, "--event %s: neither last nor list nor a time", c->arguments->event);
		hint_list(e);
		return false;
	}
	event_reach(t_ms, wish, &from_ms, &to_ms);
	if (!event_log(log, &c->arena, &o->source, from_ms, to_ms < o->newest_ms ? to_ms : o->newest_ms, e))
		return false;
	const struct capacity_event *known = capacity_at(log, t_ms);

	*found = known ? *known
		       : (struct capacity_event){
				 .t_ms = t_ms, .from_ms = t_ms, .to_ms = t_ms, .up_before = CAPACITY_UNKNOWN, .up_after = CAPACITY_UNKNOWN
			 };
	return true;
}

static bool rate_option(const char *name, const char *text, double *value, struct error *e)
{
	*value = NAN;
	if (!text || (number_parse(str_from(text), value) && *value > 0 && *value < 1e9))
		return true;
	return error_set(e, EXIT_USAGE, "--%s %s: a number above 0 is wanted", name, text);
}

static bool duration_option(const char *name, const char *text, int64_t least_ms, int64_t *ms, struct error *e)
{
	if (!text || (duration_parse(str_from(text), ms) && *ms >= least_ms && *ms <= EVENT_SEARCH_MS))
		return true;
	return error_set(e, EXIT_USAGE, "--%s %s: a duration of at most a day is wanted, such as 5m", name, text);
}

/* The numbers of the options. */
struct asked {
	struct around_wish wish;
	struct side_rates rates;
};

static bool read_asked(struct asked *a, const struct compare_arguments *args, struct error *e)
{
	a->wish = (struct around_wish){ -1, 0 };
	return duration_option("settle", args->settle, 0, &a->wish.settle_ms, e) &&
	       duration_option("length", args->length, 1000, &a->wish.length_ms, e) && rate_option("gpus", args->gpus, &a->rates.gpus, e) &&
	       rate_option("gpu-price", args->gpu_price, &a->rates.price, e);
}

static struct str window_name(struct comparison *c, const struct around_window *w, const char *what)
{
	char from[40], to[40];

	if (w->from_ms == w->to_ms)
		return arena_printf(&c->arena, "%s: no window", what);
	from[time_format(w->from_ms, from)] = '\0';
	to[time_format(w->to_ms, to)] = '\0';
	return arena_printf(&c->arena, "%s, %s to %s", what, from, to);
}

static bool compare_found(struct comparison *c, const struct opened *o, const struct capacity_log *log, const struct capacity_event *event,
	const struct asked *asked, struct error *e)
{
	const struct compare_arguments *args = c->arguments;
	struct event_question question = {
		.scope = str_from(args->a), .wish = asked->wish, .rates = asked->rates, .policy = &c->policy, .any_mix = args->anyway
	};
	struct event_answer *answer = ARENA_NEW(&c->arena, struct event_answer);

	if (!rate_option("gpus", args->gpus, &question.rates.gpus, e) ||
		!rate_option("gpu-price", args->gpu_price, &question.rates.price, e) ||
		!event_compare(answer, &c->arena, &o->source, log, event, &question, e))
		return false;
	c->event = answer;
	c->given = &answer->given;
	c->result = answer->result;
	c->name_a = window_name(c, &answer->windows.before, "before");
	c->name_b = window_name(c, &answer->windows.after, "after");
	return true;
}

/* ---- the list ---- */

static bool list_events(struct comparison *c, const struct opened *o, struct error *e)
{
	c->log = ARENA_NEW(&c->arena, struct capacity_log);
	return event_log(c->log, &c->arena, &o->source, o->newest_ms - EVENT_SEARCH_MS, o->newest_ms, e);
}

bool compare_event(struct comparison *c, const struct option_strings *operands, struct error *e)
{
	const struct compare_arguments *args = c->arguments;
	struct asked asked;
	struct opened *o = NEW(struct opened);
	struct capacity_log log;
	struct capacity_event found;
	bool ok = read_asked(&asked, args, e) && source_open(o, c, operands, e);

	if (ok && strcmp(args->event, "list") == 0)
		ok = list_events(c, o, e);
	else if (ok)
		ok = (strcmp(args->event, "last") == 0 ? find_last(c, o, &log, &found, e) : find_at(c, o, &asked.wish, &log, &found, e)) &&
		     compare_found(c, o, &log, &found, &asked, e);
	c->opened = o;
	return ok;
}

void compare_event_close(struct comparison *c)
{
	if (c->opened && c->opened->is_open)
		watch_close(&c->opened->watch);
	mem_free(c->opened);
}
