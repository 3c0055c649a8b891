#include "compare/side.h"

#include "base/vec.h"

#include <math.h>

enum { PART_SCRAPES = 4, PARTS_LEAST = 4 };

/* What is read of the whole window. Where a panel is named, it is that signal; the others go into goodput and cost. */
static const struct {
	const char *signal, *panel;
	double scale;
} sources[] = {
	{ "ttft_p50", "ttft_p50", 1000 },
	{ "ttft_p90", "ttft_p90", 1000 },
	{ "ttft_p99", "ttft_p99", 1000 },
	{ "ttft_mean", "ttft_mean", 1000 },
	{ "tpot_p50", "tpot_p50", 1000 },
	{ "tpot_p99", "tpot_p99", 1000 },
	{ "tpot_mean", "tpot_mean", 1000 },
	{ "e2e_p50", "e2e_p50", 1000 },
	{ "e2e_p99", "e2e_p99", 1000 },
	{ "queue_mean", "queue_mean", 1000 },
	{ "error_rate", "error_share", 1 },
	{ "truncated_rate", "length_share", 1 },
	{ "preemptions_per_finished", "preemptions", 1000 },
	{ "prompt_len_mean", "prompt_tokens_mean", 1 },
	{ "output_len_mean", "output_tokens_mean", 1 },
	{ "prefix_hit_rate", "cached_share", 1 },
	{ "requests_per_s", "throughput_rps", 1 },
	{ "generation_tps", "output_tokens_per_s", 1 },
	{ "arrivals_per_s", "offered_rps", 1 },
	{ "running", "running", 1 },
	{ "waiting", "waiting", 1 },
	{ "kv_usage_mean", "kv_usage_mean", 1 },
	{ "good_per_s", NULL, 1 },
	{ "prompt_len_cells", NULL, 1 },
};

static const struct objective {
	const char *limit, *misses;
} objectives[] = { { "slo_ttft", "ttft_miss_share" }, { "slo_tpot", "tpot_miss_share" }, { "slo_e2e", "e2e_miss_share" } };
enum { OBJECTIVES = ARRAY_LEN(objectives), READ = ARRAY_LEN(sources) + 1 }; /* the last one is goodput's share */
enum { GOOD_SHARE = READ - 1 };

/* ---- goodput ---- */

/* Is it there, and does it say what is now? */
static bool is_number(const struct reading *r)
{
	return r && reading_is_number(r) && !r->stale;
}

static double upper(const struct reading *r)
{
	return r->kind == READING_AT_LEAST ? 1 : fmin(1, r->high);
}

static double lower(const struct reading *r)
{
	return r->kind == READING_AT_MOST ? 0 : fmax(0, r->low);
}

/* The share of completed requests within all objectives. Histograms know each latency alone: at best the same requests miss all of them, at
 * worst each misses one. An objective whose misses are unknown may be missed by all. */
static struct reading good_share(struct evaluation *ev, const struct scope *scope)
{
	double sum = 0, largest = 0;
	bool any = false, missing = false;

	for (size_t i = 0; i < OBJECTIVES; i++) {
		const struct reading *limit = evaluation_named(ev, scope, objectives[i].limit);
		const struct reading *misses = evaluation_named(ev, scope, objectives[i].misses);

		if (!reading_is_number(limit))
			continue;
		if (!is_number(misses)) {
			missing = true;
			continue;
		}
		any = true;
		sum += upper(misses);
		largest = fmax(largest, lower(misses));
	}
	if (!any)
		return reading_unknown(UNKNOWN_NO_TRAFFIC, STR("no objective can be judged"));
	return reading_bound(missing ? 0 : fmax(0, 1 - sum), fmax(0, 1 - largest));
}

/* ---- reading ---- */

static const struct scope *scope_named(const struct evaluation *ev, struct str name)
{
	for (size_t i = 0; i < ev->scope_count; i++)
		if (str_eq(ev->scopes[i].name, name))
			return &ev->scopes[i];
	return NULL;
}

static const struct reading *kept(struct arena *arena, const struct reading *r)
{
	struct reading *copy = ARENA_NEW(arena, struct reading);

	*copy = *r;
	copy->why = arena_str(arena, r->why);
	copy->text = copy->note = copy->exposed = STR_EMPTY;
	if (r->cell_count) {
		copy->cells = ARENA_ARRAY(arena, struct reading_cell, r->cell_count);
		memcpy(copy->cells, r->cells, r->cell_count * sizeof *r->cells);
	}
	return copy;
}

static double value_of(struct evaluation *ev, const struct scope *scope, const char *signal)
{
	const struct reading *r = evaluation_named(ev, scope, signal);

	return is_number(r) && r->kind == READING_VALUE ? r->low : NAN;
}

/* Targets that answered in the time, on the average: a scrape holds until the next one. */
static double targets_up(const struct evidence *ev, const struct scope *scope, int64_t from_ms, int64_t to_ms, size_t *never)
{
	double up_ms = 0;

	*never = 0;
	for (size_t i = 0; i < scope->target_count; i++) {
		const struct target *t = ev->targets.items[scope->targets[i]].target;
		int64_t until_ms = from_ms, interval_ms = target_interval_ms(t), target_ms = 0;

		for (size_t k = 0; k < t->scrapes.count && t->scrapes.items[k].t_ms < to_ms; k++) {
			const struct scrape_record *r = &t->scrapes.items[k];
			int64_t next_ms = k + 1 < t->scrapes.count ? t->scrapes.items[k + 1].t_ms : r->t_ms + interval_ms;
			int64_t begin_ms = r->t_ms > from_ms ? r->t_ms : from_ms;

			/* Of a target that is no longer looked at nothing is known after a while. */
			if (next_ms - r->t_ms > 3 * interval_ms)
				next_ms = r->t_ms + interval_ms;
			until_ms = next_ms < to_ms ? next_ms : to_ms;
			if (scrape_answered(r) && until_ms > begin_ms)
				target_ms += until_ms - begin_ms;
		}
		*never += target_ms == 0;
		up_ms += (double)target_ms;
	}
	return to_ms > from_ms ? up_ms / (double)(to_ms - from_ms) : NAN;
}

static void read_part(struct side_part *p, struct evidence *evidence, struct str name)
{
	const struct window window = { p->from_ms, p->to_ms, p->from_ms };
	struct evaluation ev;
	size_t never;

	evaluation_init(&ev, evidence->arena, evidence, window, NULL);
	const struct scope *scope = scope_named(&ev, name);

	if (scope) {
		struct reading share = good_share(&ev, scope);
		double completed = value_of(&ev, scope, "good_per_s");

		p->good_low = reading_is_number(&share) ? share.low * completed : NAN;
		p->good_high = reading_is_number(&share) ? share.high * completed : NAN;
		p->finished = value_of(&ev, scope, "requests_per_s");
		p->arrivals = value_of(&ev, scope, "arrivals_per_s");
		p->output_tokens = value_of(&ev, scope, "generation_tps");
		p->running = value_of(&ev, scope, "running");
		p->waiting = value_of(&ev, scope, "waiting");
		p->kv_usage = value_of(&ev, scope, "kv_usage_mean");
		p->ttft_mean = value_of(&ev, scope, "ttft_mean");
		p->tpot_mean = value_of(&ev, scope, "tpot_mean");
		p->queue_mean = value_of(&ev, scope, "queue_mean");
		p->prompt_length = value_of(&ev, scope, "prompt_len_mean");
		p->output_length = value_of(&ev, scope, "output_len_mean");
		p->cached_share = value_of(&ev, scope, "prefix_hit_rate");
		p->up = targets_up(evidence, scope, p->from_ms, p->to_ms, &never);
	}
	evaluation_fini(&ev);
}

/* Parts are long enough for counts between two scrapes. */
static void read_parts(struct side *s, struct evidence *evidence)
{
	int64_t interval_ms = 0, length_ms = s->to_ms - s->from_ms;

	VEC_EACH (&evidence->targets, t)
		interval_ms = t->interval_ms > interval_ms ? t->interval_ms : interval_ms;
	s->part_count = interval_ms ? (size_t)(length_ms / (PART_SCRAPES * interval_ms)) : 0;
	if (s->part_count > SIDE_PARTS_MAX)
		s->part_count = SIDE_PARTS_MAX;
	for (size_t i = 0; i < s->part_count; i++) {
		struct side_part *p = &s->parts[i];

		*p = (struct side_part){ s->from_ms + length_ms * (int64_t)i / (int64_t)s->part_count,
			s->from_ms + length_ms * (int64_t)(i + 1) / (int64_t)s->part_count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
			NAN, NAN, NAN, NAN, NAN, NAN };
		read_part(p, evidence, s->scope);
	}
}

static void read_gpus(struct side *s, const struct evaluation *ev, const struct scope *scope, const struct side_rates *rates)
{
	double each = !isnan(rates->gpus) ? rates->gpus : scope->pool ? scope->pool->gpus : NAN;
	size_t seen = 0;

	s->price = !isnan(rates->price) ? rates->price : scope->pool ? scope->pool->gpu_price : NAN;
	for (size_t i = 0; i < ev->scope_count; i++)
		seen += ev->scopes[i].kind == SCOPE_GPU;
	s->gpus = NAN;
	if (!isnan(each)) {
		s->gpus = each * s->replicas;
		s->gpus_from = !isnan(rates->gpus) ? "as given" : "as the pool says";
	} else if (seen && scope->kind == SCOPE_FLEET) {
		s->gpus = (double)seen;
		s->gpus_from = "as the GPU exporter shows";
	}
}

static struct str engine_text(struct arena *arena, struct evidence *evidence, const struct scope *scope, int64_t t_ms)
{
	struct str first = STR_EMPTY;
	size_t others = 0;

	for (size_t i = 0; i < scope->target_count; i++) {
		const struct binding *b = evidence_binding(evidence, scope->targets[i], t_ms);
		struct buf text;

		if (!b || !b->engine)
			continue;
		buf_init(&text, 512);
		binding_print_engine(b, &text);
		if (!first.len)
			first = arena_str(arena, buf_str(&text));
		others += !str_eq(first, buf_str(&text));
		buf_fini(&text);
	}
	return others ? arena_printf(arena, STR_FMT " and others", STR_ARG(first)) : first;
}

void side_unknown(struct side *s, struct str why)
{
	*s = (struct side){ .missing = why, .replicas = NAN, .gpus = NAN, .price = NAN };
}

void side_read(struct side *s, struct arena *arena, struct evidence *evidence, const struct window *w, struct str name,
	const struct side_rates *rates)
{
	const struct reading **readings = ARENA_ARRAY(arena, const struct reading *, READ);
	struct evaluation ev;

	side_unknown(s, STR_EMPTY);
	s->scope = arena_str(arena, name);
	s->from_ms = w->from_ms;
	s->to_ms = w->to_ms;
	s->seconds = (double)(w->to_ms - w->from_ms) / 1000;
	evaluation_init(&ev, evidence->arena, evidence, *w, NULL);
	const struct scope *scope = scope_named(&ev, name);

	if (!scope) {
		s->missing = arena_printf(arena, "nothing is called \"" STR_FMT "\" in this window", STR_ARG(name));
		evaluation_fini(&ev);
		return;
	}
	for (size_t i = 0; i < GOOD_SHARE; i++)
		readings[i] = kept(arena, evaluation_named(&ev, scope, sources[i].signal));
	struct reading share = good_share(&ev, scope);

	readings[GOOD_SHARE] = kept(arena, &share);
	s->readings = readings;
	s->targets = scope->target_count;
	s->replicas = targets_up(evidence, scope, w->from_ms, w->to_ms, &s->never_up);
	read_gpus(s, &ev, scope, rates);
	s->engine = engine_text(arena, evidence, scope, w->to_ms);
	s->model = arena_str(arena, scope->model);
	evaluation_fini(&ev);
	read_parts(s, evidence);
}

/* ---- figures ---- */

static const struct reading *side_reading(const struct side *s, const char *signal)
{
	for (size_t i = 0; s->readings && i < ARRAY_LEN(sources); i++)
		if (strcmp(sources[i].signal, signal) == 0)
			return s->readings[i];
	return NULL;
}

/* One side of a figure. */
struct told {
	struct estimate e;
	enum given_ends ends;
	struct str unknown;
};

static struct told told_unknown(struct str why)
{
	return (struct told){ { NAN, NAN, NAN, 0 }, GIVEN_REQUESTS, why };
}

static struct told told_value(double value)
{
	return isnan(value) ? told_unknown(STR("not known")) : (struct told){ { value, NAN, NAN, 0 }, GIVEN_REQUESTS, STR_EMPTY };
}

static struct told told_bounds(double low, double high, size_t count)
{
	if (isnan(low) && isnan(high))
		return told_unknown(STR("not known"));
	return (struct told){ { low == high ? low : NAN, low, high, count }, GIVEN_BOUNDS, STR_EMPTY };
}

static struct str why_unknown(const struct side *s, const struct reading *r, struct arena *arena)
{
	if (s->missing.len || !r)
		return s->missing.len ? s->missing : STR("not known");
	if (r->stale)
		return STR("stale: the engine stood still");
	const char *reason = r->kind == READING_UNKNOWN ? unknown_reason_text(r->reason) : "no number";

	return r->why.len ? arena_printf(arena, "%s: " STR_FMT, reason, STR_ARG(r->why)) : str_from(reason);
}

static struct told told_reading(const struct side *s, const struct reading *r, double scale, struct arena *arena)
{
	size_t count = r && !isnan(r->events) && r->events > 0 ? (size_t)r->events : 0;

	if (!is_number(r))
		return told_unknown(why_unknown(s, r, arena));
	if (r->kind != READING_VALUE)
		return told_bounds(
			r->kind == READING_AT_MOST ? NAN : r->low * scale, r->kind == READING_AT_LEAST ? NAN : r->high * scale, count);
	struct told t = { { r->low * scale, NAN, NAN, count }, GIVEN_REQUESTS, STR_EMPTY };

	if (r->has_interval) {
		t.e.low = r->interval_low * scale;
		t.e.high = r->interval_high * scale;
	}
	return t;
}

/* The mean of the parts with Student's interval; NaN ends for few, nothing where most are not known. */
static struct estimate parts_mean(const struct side *s, size_t offset)
{
	double values[SIDE_PARTS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < s->part_count; i++) {
		double value = *(const double *)((const char *)&s->parts[i] + offset);

		if (!isnan(value))
			values[count++] = value;
	}
	struct estimate e = mean_estimate(values, count, 0.95);

	if (count * 2 < s->part_count)
		return (struct estimate){ NAN, NAN, NAN, 0 }; /* they stand for less than half of the window */
	if (count < PARTS_LEAST)
		e.low = e.high = NAN;
	return e;
}

/* Of a rate the whole window knows the value, its parts how far off it may be; a level is known from its parts only. */
static struct told told_parts(
	const struct side *s, const struct reading *r, double scale, size_t offset, bool is_level, struct arena *arena)
{
	struct told t = told_reading(s, r, scale, arena);
	struct estimate parts = parts_mean(s, offset);

	if (is_level && !isnan(parts.value))
		return (struct told){ parts, GIVEN_PARTS, STR_EMPTY };
	if (isnan(t.e.value))
		return t;
	t.e.low = t.e.high = NAN; /* of a share of tokens: those of a prompt come together, so each tells nothing by itself */
	if (!isnan(parts.low)) {
		double reach = (parts.high - parts.value) * scale;

		t.e.low = fmax(0, t.e.value - reach);
		t.e.high = t.e.value + reach;
		t.ends = GIVEN_PARTS;
	}
	return t;
}

#define OF_PART(field) offsetof(struct side_part, field)
static const struct {
	const char *panel;
	size_t offset;
	bool is_level;
} of_parts[] = { { "throughput_rps", OF_PART(finished), false }, { "output_tokens_per_s", OF_PART(output_tokens), false },
	{ "offered_rps", OF_PART(arrivals), false }, { "running", OF_PART(running), true }, { "waiting", OF_PART(waiting), true },
	{ "kv_usage_mean", OF_PART(kv_usage), true }, { "ttft_mean", OF_PART(ttft_mean), false },
	{ "tpot_mean", OF_PART(tpot_mean), false }, { "queue_mean", OF_PART(queue_mean), false },
	{ "prompt_tokens_mean", OF_PART(prompt_length), false }, { "output_tokens_mean", OF_PART(output_length), false },
	{ "cached_share", OF_PART(cached_share), false } };

static struct told told_source(const struct side *s, size_t source, struct arena *arena)
{
	const struct reading *r = s->readings ? s->readings[source] : NULL;

	for (size_t i = 0; i < ARRAY_LEN(of_parts); i++)
		if (strcmp(of_parts[i].panel, sources[source].panel) == 0)
			return told_parts(s, r, sources[source].scale, of_parts[i].offset, of_parts[i].is_level, arena);
	return told_reading(s, r, sources[source].scale, arena);
}

static struct told told_good_share(const struct side *s, struct arena *arena)
{
	return told_reading(s, s->readings ? s->readings[GOOD_SHARE] : NULL, 1, arena);
}

static struct told told_good_rate(const struct side *s, struct arena *arena)
{
	const struct reading *completed = side_reading(s, "good_per_s");
	struct told share = told_good_share(s, arena);

	if (share.unknown.len || !is_number(completed) || completed->kind != READING_VALUE)
		return share.unknown.len ? share : told_unknown(why_unknown(s, completed, arena));
	double value = share.e.value, low = isnan(value) ? share.e.low : value, high = isnan(value) ? share.e.high : value;

	return told_bounds(low * completed->low, high * completed->low, (size_t)fmax(0, completed->events));
}

/* ---- cost ---- */

/* What is paid for: GPUs where their number is known on both sides, else replicas. */
static double units_of(const struct side *s, bool gpus)
{
	return gpus ? s->gpus : s->replicas;
}

/* `rate` of tokens or requests a second → what `per` of them take, in hours of units, times the price. A rate of 0 has no such figure. */
static struct told hours_per(const struct told *rate, double units, double per, double price)
{
	double hours = units * per / 3600 * price;
	double least = isnan(rate->e.value) ? rate->e.low : rate->e.value, most = isnan(rate->e.value) ? rate->e.high : rate->e.value;

	if (rate->unknown.len || isnan(hours))
		return rate->unknown.len ? *rate : told_unknown(STR("not known"));
	if (most == 0)
		return told_unknown(STR("nothing came of it"));
	if (!isnan(rate->e.value))
		return told_value(hours / rate->e.value);
	return told_bounds(hours / most, least > 0 ? hours / least : NAN, rate->e.count);
}

struct pairing {
	struct given_figure *figures;
	size_t count;
	struct arena *arena;
	const struct side *a, *b;
};

/* A figure that neither side knows is left out. */
static void add(struct pairing *p, const char *panel, struct told a, struct told b)
{
	if (a.unknown.len && b.unknown.len)
		return;
	p->figures[p->count++] = (struct given_figure){ given_spec_find(panel), a.e, b.e, a.ends, b.ends, a.unknown, b.unknown };
}

static void add_cost(struct pairing *p)
{
	const struct side *a = p->a, *b = p->b;
	bool gpus = (!isnan(a->gpus) || !a->readings) && (!isnan(b->gpus) || !b->readings);
	double units_a = units_of(a, gpus), units_b = units_of(b, gpus);
	struct told tokens_a = told_reading(a, side_reading(a, "generation_tps"), 1, p->arena),
		    tokens_b = told_reading(b, side_reading(b, "generation_tps"), 1, p->arena);
	struct told good_a = told_good_rate(a, p->arena), good_b = told_good_rate(b, p->arena);

	add(p, "replicas", told_value(a->replicas), told_value(b->replicas));
	if (gpus)
		add(p, "gpus", told_value(a->gpus), told_value(b->gpus));
	add(p, gpus ? "tokens_per_gpu_s" : "tokens_per_replica_s", told_value(tokens_a.e.value / units_a),
		told_value(tokens_b.e.value / units_b));
	add(p, gpus ? "gpu_hours_per_mtok" : "replica_hours_per_mtok", hours_per(&tokens_a, units_a, 1e6, 1),
		hours_per(&tokens_b, units_b, 1e6, 1));
	add(p, gpus ? "gpu_hours_per_1000_good" : "replica_hours_per_1000_good", hours_per(&good_a, units_a, 1e3, 1),
		hours_per(&good_b, units_b, 1e3, 1));
	if (!gpus || (isnan(a->price) && isnan(b->price)))
		return;
	add(p, "cost_per_hour", told_value(a->gpus * a->price), told_value(b->gpus * b->price));
	add(p, "cost_per_mtok", hours_per(&tokens_a, units_a, 1e6, a->price), hours_per(&tokens_b, units_b, 1e6, b->price));
	add(p, "cost_per_1000_good", hours_per(&good_a, units_a, 1e3, a->price), hours_per(&good_b, units_b, 1e3, b->price));
}

static void add_cells(const struct side *s, bool is_b, struct given_cell *cells, size_t *count)
{
	const struct reading *r = side_reading(s, "prompt_len_cells");

	for (size_t i = 0; r && r->kind == READING_CELLS && i < r->cell_count; i++) {
		size_t k = 0;

		while (k < *count && (cells[k].low != r->cells[i].low || cells[k].high != r->cells[i].high))
			k++;
		if (k == GIVEN_CELLS_MAX)
			return;
		if (k == *count)
			cells[(*count)++] = (struct given_cell){ r->cells[i].low, r->cells[i].high, 0, 0 };
		*(is_b ? &cells[k].b : &cells[k].a) += r->cells[i].count;
	}
}

static double hit_rate(const struct side *s)
{
	const struct reading *r = side_reading(s, "prefix_hit_rate");

	return r && r->kind == READING_VALUE ? r->low : NAN;
}

void side_pair(struct given *g, struct arena *arena, const struct side *a, const struct side *b)
{
	struct given_cell *cells = ARENA_ARRAY(arena, struct given_cell, GIVEN_CELLS_MAX);
	struct pairing p = { ARENA_ARRAY(arena, struct given_figure, SIDE_FIGURES_MAX), 0, arena, a, b };

	_Static_assert(ARRAY_LEN(sources) + 12 <= SIDE_FIGURES_MAX, "a place for each figure");
	*g = (struct given){
		.cells = cells, .seconds_a = a->seconds, .seconds_b = b->seconds, .hit_rate_a = hit_rate(a), .hit_rate_b = hit_rate(b)
	};
	add(&p, "goodput", told_good_share(a, arena), told_good_share(b, arena));
	add(&p, "goodput_rps", told_good_rate(a, arena), told_good_rate(b, arena));
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (sources[i].panel)
			add(&p, sources[i].panel, told_source(a, i, arena), told_source(b, i, arena));
	add_cost(&p);
	g->figures = p.figures;
	g->figure_count = p.count;
	add_cells(a, false, cells, &g->cell_count);
	add_cells(b, true, cells, &g->cell_count);
}
