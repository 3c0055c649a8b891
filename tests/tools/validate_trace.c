/* Per-request traces: open loop, the same arrivals and lengths; percentiles of what each request saw. */
#include "validate.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>

/* GPU-MODEL.tsv: the longest known GPU that the name starts with. The rest is the model, whose limits stand in serving.tsv. */
static size_t serving_row(const struct runner *run, struct str name)
{
	for (size_t row = 0; row < run->serving.rows.count; row++) {
		struct str model = tsv_text(&run->serving, row, "model"), gpu = tsv_text(&run->serving, row, "gpu");
		struct str base = str_skip(model, (size_t)(str_find(model, '/') + 1));

		if (str_search(tsv_text(&run->serving, row, "notes"), STR("per-request trace")) >= 0 && str_starts(name, gpu) &&
			str_eq_nocase(str_head(str_skip(name, gpu.len + 1), base.len), base))
			return row;
	}
	return SIZE_MAX;
}

static void on_event(void *context, const struct engine_event *event)
{
	struct outcome *o = context;
	const struct engine_timeline *t = event->timeline;

	if (event->kind != ENGINE_FINISHED || t->output_tokens == 0)
		return;
	VEC_PUSH(&o->ttft, t->first_token - t->arrival);
	VEC_PUSH(&o->e2e, t->last_token - t->arrival);
	VEC_PUSH(&o->tpot, t->output_tokens > 1 ? (t->last_token - t->first_token) / (t->output_tokens - 1) : 0);
}

/* 0 when it is missing or no sensible number of tokens. */
static uint32_t count_of(const struct tsv *tsv, size_t row, const char *name)
{
	double value = tsv_number(tsv, row, name);

	return value >= 1 && value < 131072 ? (uint32_t)value : 0;
}

/* Each prompt shares its first tokens with what some earlier prompt had in common with others: one shared text for all is the
 * upper bound that the column gives. */
static void replay_all(const struct tsv *tsv, const struct served *s, double factor, double front_end, struct outcome *o)
{
	enum { SHARED_IDS = 8192 };
	struct cost *cost = cost_new(&s->deployment);
	struct engine_config config = s->config;
	struct engine *engine;
	struct engine_state state;
	uint64_t *ids = mem_zalloc(SHARED_IDS, sizeof *ids);

	*o = (struct outcome){ 0 };
	cost_scale(cost, factor);
	config.cost = cost_function(cost);
	config.front_end_fixed *= front_end;
	config.front_end_per_token *= front_end;
	for (uint32_t i = 0; i < SHARED_IDS; i++)
		ids[i] = i;
	engine = engine_new(&config, on_event, o);
	for (size_t row = 0; row < tsv->rows.count; row++) {
		uint32_t output = count_of(tsv, row, "output_tokens"), shared = count_of(tsv, row, "shared_prefix_tokens");
		struct engine_request ask = { .id = row,
			.arrival = tsv_number(tsv, row, "arrival_s"),
			.output_tokens = output,
			.max_tokens = output,
			.prompt_tokens = count_of(tsv, row, "input_tokens"),
			.content = { .ids = ids, .id_count = SHARED_IDS, .id_tokens = 16, .tokens = shared } };
		if (ask.arrival >= 0 && ask.prompt_tokens && output)
			engine_submit(engine, &ask);
	}
	engine_drain(engine);
	engine_state(engine, &state);
	o->preemptions = state.counters->preemptions;
	engine_free(engine);
	cost_free(cost);
	mem_free(ids);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort_all(struct outcome *o)
{
	qsort(o->ttft.items, o->ttft.count, sizeof(double), by_value);
	qsort(o->tpot.items, o->tpot.count, sizeof(double), by_value);
	qsort(o->e2e.items, o->e2e.count, sizeof(double), by_value);
}

static void measured_all(const struct tsv *tsv, struct outcome *o)
{
	*o = (struct outcome){ 0 };
	for (size_t row = 0; row < tsv->rows.count; row++) {
		double ttft = tsv_number(tsv, row, "ttft_s"), e2e = tsv_number(tsv, row, "e2e_s"),
		       tokens = tsv_number(tsv, row, "output_tokens");
		VEC_PUSH(&o->ttft, ttft);
		VEC_PUSH(&o->e2e, e2e);
		VEC_PUSH(&o->tpot, tokens > 1 ? (e2e - ttft) / (tokens - 1) : 0);
	}
	sort_all(o);
}

static void score_trace(
	struct runner *run, const struct tsv *tsv, const struct served *s, struct outcome o[3], struct outcome *measured, const char *name)
{
	static const double qs[] = { 0.5, 0.9, 0.99 };
	static const char *const names[3][3] = { { "ttft p50", "ttft p90", "ttft p99" }, { "tpot p50", "tpot p90", "tpot p99" },
		{ "e2e p50", "e2e p90", "e2e p99" } };

	for (size_t kind = 0; kind < 3; kind++) {
		for (size_t i = 0; i < 3; i++) {
			double v[4];
			struct outcome *all[4] = { &o[0], &o[1], &o[2], measured };
			for (size_t j = 0; j < 4; j++) {
				const double *list = kind == 0 ? all[j]->ttft.items : kind == 1 ? all[j]->tpot.items : all[j]->e2e.items;
				v[j] = quantile_of(list, all[j]->ttft.count, qs[i]) * 1e3;
			}
			score_add(run, (struct score){ .figure = FIGURE_TRACE,
					       .family = name,
					       .experts = s->deployment.model->experts > 0,
					       .counted = true,
					       .predicted = v[0],
					       .low = fmin(v[1], v[2]),
					       .high = fmax(v[1], v[2]),
					       .measured = v[3],
					       .id = str_from(name),
					       .name = names[kind][i] });
		}
	}
}

void validate_trace(struct runner *run, const struct tsv *tsv)
{
	struct str path = str_from(tsv->path), name = path;
	size_t row;
	struct served s;
	struct outcome o[3], measured;
	struct band band;
	const char *why, *label;

	for (ptrdiff_t slash; (slash = str_find(name, '/')) >= 0;)
		name = str_skip(name, (size_t)slash + 1);
	row = serving_row(run, name);
	if (row == SIZE_MAX || !served_read(run, &run->serving, row, &s, &why)) {
		fprintf(stderr, "validate: %s: no row of a serving table given before says on what it ran\n", tsv->path);
		run->skipped++;
		return;
	}
	label = arena_cstr(&run->arena, str_head(name, name.len - 4));
	band = cost_band(&s.deployment);
	replay_all(tsv, &s, 1, 1, &o[0]);
	replay_all(tsv, &s, run->quick ? 1 : band.fast, 0.4, &o[1]);
	replay_all(tsv, &s, run->quick ? 1 : band.slow, 1.8, &o[2]);
	for (size_t i = 0; i < 3; i++)
		sort_all(&o[i]);
	measured_all(tsv, &measured);
	score_trace(run, tsv, &s, o, &measured, label);
	printf("%s: %llu preemptions simulated\n", label, (unsigned long long)o[0].preemptions);
	for (size_t i = 0; i < 3; i++)
		outcome_free(&o[i]);
	outcome_free(&measured);
}
