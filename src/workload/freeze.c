#include "workload/freeze.h"

#include "base/map.h"
#include "workload/random.h"

#include <math.h>
#include <stdlib.h>

#define MEAN_NEAR 0.01
enum { DRAW_SPREAD = 64 };

void freeze_remark(struct workload *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	VEC_PUSH(&w->source.remarks, arena_vprintf(&w->arena, format, args));
	va_end(args);
}

void freeze_setting(struct workload *w, const char *name, struct str value)
{
	VEC_EACH (&w->settings, s) {
		if (str_is(s->name, name)) {
			s->value = arena_str(&w->arena, value);
			return;
		}
	}
	VEC_PUSH(&w->settings, (struct workload_setting){ arena_str(&w->arena, str_from(name)), arena_str(&w->arena, value) });
}

/* ---- a trace ---- */

struct touched {
	size_t cut, dropped;
};

/* Caps a length; false: the row is to be left out. */
static bool fit(const struct freeze_options *o, struct workload_row *row, struct touched *touched)
{
	bool prompt = o->prompt_most && row->prompt > o->prompt_most, output = o->output_most && row->output > o->output_most;

	if (!prompt && !output)
		return true;
	if (o->drop_longer) {
		touched->dropped++;
		return false;
	}
	touched->cut++;
	row->prompt = prompt ? o->prompt_most : row->prompt;
	row->output = output ? o->output_most : row->output;
	return true;
}

static struct workload_row copied(
	struct workload *w, const struct trace *t, const struct workload_row *from, const struct freeze_options *o)
{
	struct workload_row row = *from;
	uint32_t blocks = t->block ? (row.prompt + t->block - 1) / t->block : 0;

	row.id_count = row.id_count < blocks ? row.id_count : blocks;
	if (row.id_count) {
		uint64_t *ids = ARENA_ARRAY(&w->arena, uint64_t, row.id_count);

		memcpy(ids, from->ids, row.id_count * sizeof *ids);
		row.ids = ids;
	}
	row.time_us -= row.follows ? 0 : o->from_us;
	row.next = 0;
	return row;
}

static struct str session_key(const struct workload_row *row)
{
	return str_of((const char *)&row->session, sizeof row->session);
}

/* A session that lost a turn would have another history, so the rest of it goes too. */
static void take_rows(struct workload *w, const struct trace *t, const struct freeze_options *o, struct touched *touched)
{
	struct map open; /* sessions that are kept so far */

	map_init(&open);
	for (size_t i = 0; i < t->count && (!o->limit || w->rows.count < o->limit); i++) {
		struct workload_row row = t->rows[i];

		if (row.follows ? !map_has(&open, session_key(&row)) : row.time_us < o->from_us || (o->to_us && row.time_us >= o->to_us))
			continue;
		bool fits = fit(o, &row, touched);

		if (fits)
			VEC_PUSH(&w->rows, copied(w, t, &row, o));
		if (row.session && fits)
			map_set(&open, session_key(&row), w);
		else if (row.session)
			map_remove(&open, session_key(&row));
	}
	map_fini(&open);
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Starts [from, to) have one time; `tick` is how long until the next. */
static void spread_tick(struct workload_row *const *starts, size_t from, size_t to, uint64_t tick, const struct freeze_options *o)
{
	struct rng rng = random_keyed(o->seed, DRAW_SPREAD, from);
	double *at = mem_zalloc(to - from, sizeof *at);

	for (size_t i = 0; i < to - from; i++)
		at[i] = o->spread == FREEZE_AT_RANDOM ? rng_unit(&rng) : (double)i / (double)(to - from);
	if (o->spread == FREEZE_AT_RANDOM)
		qsort(at, to - from, sizeof *at, by_number);
	for (size_t i = from; i < to; i++)
		starts[i]->time_us += (uint64_t)((double)tick * at[i - from]);
	mem_free(at);
}

/* Returns how many ticks there are. The last one is taken to be as long as the one before. */
static size_t spread_starts(struct workload_row *const *starts, size_t count, const struct freeze_options *o)
{
	size_t ticks = 0;
	uint64_t tick = 0;

	for (size_t from = 0, to; from < count; from = to, ticks++) {
		uint64_t time = starts[from]->time_us;

		for (to = from; to < count && starts[to]->time_us == time;)
			to++;
		tick = to < count ? starts[to]->time_us - time : tick;
		if (o->spread != FREEZE_AS_IS && to - from > 1)
			spread_tick(starts, from, to, tick, o);
	}
	return ticks;
}

static void remark_ticks(struct workload *w, const struct freeze_options *o, size_t rows, size_t ticks)
{
	if (o->spread != FREEZE_AS_IS)
		freeze_remark(w, "%zu requests at %zu different times were spread %s over the time to the next", rows, ticks,
			o->spread == FREEZE_EVENLY ? "evenly" : "at random");
	else if (ticks * 2 < rows)
		freeze_remark(w,
			"%zu requests have only %zu different times (%.1f at once): the clock of the trace was coarse; --spread sends them "
			"apart",
			rows, ticks, (double)rows / (double)ticks);
}

static void remark_trace(struct workload *w, const struct trace *t, const struct touched *touched)
{
	if (t->failed)
		freeze_remark(w, "%zu failed requests of the trace were left out", t->failed);
	if (t->raised)
		freeze_remark(w, "%zu lengths of 0 count as 1 token", t->raised);
	if (touched->cut)
		freeze_remark(w, "%zu requests were longer than the limits and were cut", touched->cut);
	if (touched->dropped)
		freeze_remark(w, "%zu requests were longer than the limits and were left out", touched->dropped);
	if (t->estimated)
		freeze_remark(w, "lengths are estimates: four bytes of text a token; the texts themselves are not in the workload");
	if (!t->timed)
		freeze_remark(w, "the source has no times: arrivals were given, and turns of a session follow each other without a pause");
	if (!w->block)
		freeze_remark(w, "the source says nothing about shared beginnings: prompts share none%s",
			w->has_sessions ? " across sessions" : "");
}

static void freeze_times(struct workload *w, const struct freeze_options *o)
{
	VEC(struct workload_row *) starts = { 0 };

	VEC_EACH (&w->rows, row) {
		if (!row->follows)
			VEC_PUSH(&starts, row);
	}
	remark_ticks(w, o, starts.count, spread_starts(starts.items, starts.count, o));
	w->plan.arrivals.process = WORKLOAD_TRACE;
	VEC_FREE(&starts);
}

struct workload *freeze_trace(const struct trace *t, struct str file, const struct freeze_options *o, struct error *e)
{
	struct touched touched = { 0 };
	struct workload *w;

	if (!t->timed && (o->from_us || o->to_us || o->spread != FREEZE_AS_IS)) {
		error_set(e, EXIT_USAGE, STR_FMT " has no times: a window or a spread has no meaning", STR_ARG(file));
		return NULL;
	}
	w = content_new();
	w->source.kind = arena_str(&w->arena, str_from(t->kind));
	w->source.file = arena_str(&w->arena, file);
	take_rows(w, t, o, &touched);
	if (!w->rows.count) {
		error_set(e, EXIT_BAD_INPUT, "no request of the trace is left: the window or the limits leave all of them out");
		workload_free(w);
		return NULL;
	}
	VEC_EACH (&w->rows, row) {
		w->has_ids |= row->id_count > 0;
		w->has_sessions |= row->session > 0;
	}
	w->block = w->has_ids ? t->block : 0;
	w->shuffled = !w->has_ids && !w->has_sessions;
	if (t->timed)
		freeze_times(w, o);
	if (w->rows.count < t->count)
		freeze_remark(w, "%zu of %zu requests of the trace", w->rows.count, t->count);
	remark_trace(w, t, &touched);
	freeze_setting(w, "ignore_eos", STR("true"));
	return w;
}

/* ---- marginals ---- */

static void length_of_buckets(struct workload *w, const struct length_bucket *buckets, size_t count, struct length *l)
{
	*l = (struct length){ .kind = LENGTH_BUCKETS, .buckets = ARENA_ARRAY(&w->arena, struct length_bucket, count) };
	for (size_t i = 0; i < count; i++) {
		l->buckets[l->bucket_count++] = buckets[i];
		l->weight += buckets[i].weight;
	}
	/* empty ones at the end say nothing */
	while (l->bucket_count > 1 && l->buckets[l->bucket_count - 1].weight == 0)
		l->bucket_count--;
}

/* Leans the density inside the buckets so that the mean is the known one, as far as that goes. */
static void match_mean(struct workload *w, const char *what, struct length *l, double mean)
{
	double straight = length_mean(l), lean;

	if (!isfinite(mean) || mean <= 0)
		return;
	l->slope = 1;
	lean = length_mean(l) - straight;
	l->slope = lean > 0 ? fmin(fmax((mean - straight) / lean, -1), 1) : 0;
	if (fabs(length_mean(l) / mean - 1) > MEAN_NEAR)
		freeze_remark(w,
			"%s: the mean was %.0f tokens, the histogram can be no nearer than %.0f: the metrics contradict themselves, or a "
			"bucket is very wide",
			what, mean, length_mean(l));
}

struct workload *freeze_marginals(const struct freeze_marginals *m, struct str source, struct error *e)
{
	struct workload_class c = { .share = 1 };
	struct workload *w;

	if (!m->prompt_count || !m->output_count) {
		error_set(e, EXIT_UNKNOWN, "the metrics show no lengths of %s", m->prompt_count ? "answers" : "prompts");
		return NULL;
	}
	w = content_new();
	w->source.kind = STR("metrics");
	w->source.file = arena_str(&w->arena, source);
	length_of_buckets(w, m->prompt, m->prompt_count, &c.prompt);
	length_of_buckets(w, m->output, m->output_count, &c.output);
	VEC_PUSH(&w->classes, c);
	w->plan.arrivals.rate = m->rate;
	freeze_remark(w,
		"lengths come from histograms: how long a request is inside its bucket is not known; where the mean is, they lean to it");
	match_mean(w, "prompts", &w->classes.items[0].prompt, m->prompt_mean);
	match_mean(w, "answers", &w->classes.items[0].output, m->output_mean);
	freeze_remark(w, "prompts and answers are drawn independently: metrics do not tell which prompts had long answers");
	freeze_remark(w, "arrivals are Poisson at the mean rate: metrics do not tell how bursty they were");
	if (isfinite(m->cached_share) && m->cached_share > 0) {
		w->prefix = (struct workload_prefix){ .groups = 8, .share = m->cached_share };
		freeze_remark(w,
			"%.1f %% of prompt tokens were found in the prefix cache: each prompt begins with that share of one of 8 texts; "
			"how the sharing was "
			"really structured is not known",
			m->cached_share * 100);
	} else {
		freeze_remark(w, isfinite(m->cached_share) ? "nothing was found in the prefix cache: prompts share no beginnings"
							   : "no prefix cache figures: prompts share no beginnings");
	}
	freeze_setting(w, "ignore_eos", STR("true"));
	return w;
}
