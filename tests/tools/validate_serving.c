/* serving.tsv: each row is replayed under its own load and compared in the statistic that it names. */
#include "validate.h"

#include <math.h>

static const char *family_of(struct runner *run, const struct served *s)
{
	struct str name = s->deployment.model->name;
	ptrdiff_t slash = str_find(name, '/');

	return arena_printf(&run->arena, STR_FMT " %s", STR_ARG(str_skip(name, (size_t)(slash + 1))), precision_name(s->deployment.weights))
		.ptr;
}

/* Where a column's prediction is in an outcome. */
static double predict(const struct outcome *o, const char *column)
{
	const struct {
		const char *column;
		double value;
	} table[] = { { "ttft_mean_ms", o->ttft_mean * 1e3 }, { "tpot_mean_ms", o->tpot_mean * 1e3 }, { "e2e_mean_ms", o->e2e_mean * 1e3 },
		{ "throughput_out_tok_s", o->throughput }, { "ttft_p50_ms", quantile_of(o->ttft.items, o->ttft.count, 0.5) * 1e3 },
		{ "ttft_p90_ms", quantile_of(o->ttft.items, o->ttft.count, 0.9) * 1e3 },
		{ "ttft_p99_ms", quantile_of(o->ttft.items, o->ttft.count, 0.99) * 1e3 },
		{ "tpot_p50_ms", quantile_of(o->tpot.items, o->tpot.count, 0.5) * 1e3 },
		{ "tpot_p99_ms", quantile_of(o->tpot.items, o->tpot.count, 0.99) * 1e3 },
		{ "e2e_p90_ms", quantile_of(o->e2e.items, o->e2e.count, 0.9) * 1e3 },
		{ "e2e_p99_ms", quantile_of(o->e2e.items, o->e2e.count, 0.99) * 1e3 } };

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_eq(str_from(column), str_from(table[i].column)))
			return table[i].value;
	return NAN;
}

static const struct {
	const char *column;
	enum figure figure;
} columns[] = { { "ttft_mean_ms", FIGURE_TTFT }, { "ttft_p50_ms", FIGURE_TTFT_OTHER }, { "ttft_p90_ms", FIGURE_TTFT_OTHER },
	{ "ttft_p99_ms", FIGURE_TTFT_OTHER }, { "tpot_mean_ms", FIGURE_TPOT }, { "tpot_p50_ms", FIGURE_TPOT },
	{ "throughput_out_tok_s", FIGURE_THROUGHPUT }, { "e2e_mean_ms", FIGURE_E2E }, { "e2e_p90_ms", FIGURE_E2E },
	{ "e2e_p99_ms", FIGURE_E2E } };

static void score_row(struct runner *run, const struct tsv *tsv, size_t row, const struct served *s, const struct outcome *at[3])
{
	bool mean_tpot = !isnan(tsv_number(tsv, row, "tpot_mean_ms"));

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		double measured = tsv_number(tsv, row, columns[i].column);
		double point = predict(at[0], columns[i].column), one = predict(at[1], columns[i].column),
		       two = predict(at[2], columns[i].column);
		struct str id = tsv_text(tsv, row, "id");
		bool second = columns[i].figure == FIGURE_TPOT && mean_tpot && str_is(str_from(columns[i].column), "tpot_p50_ms");

		if (isnan(measured) || isnan(point) || second) /* one TPOT a row */
			continue;
		score_add(run, (struct score){ .figure = columns[i].figure,
				       .family = family_of(run, s),
				       .experts = s->deployment.model->experts > 0,
				       .counted = !s->foreign || columns[i].figure == FIGURE_TPOT,
				       .calibration = row_is_calibration(id),
				       .predicted = point,
				       .low = fmin(one, two),
				       .high = fmax(one, two),
				       .measured = measured,
				       .id = id,
				       .name = columns[i].column });
	}
}

/* A closed loop of c requests has c = rate * E2E (Little's law), so TTFT and TPOT of a row give its throughput. */
static double loop_throughput(const struct served *s, double ttft_ms, double tpot_ms)
{
	double length = s->osl * (1 + s->shortest) / 2;

	return s->concurrency * length / ((ttft_ms + tpot_ms * (length - 1)) / 1e3);
}

static void score_loop(struct runner *run, const struct tsv *tsv, size_t row, const struct served *s, const struct outcome *at[3])
{
	double ttft = tsv_number(tsv, row, "ttft_mean_ms"), tpot = tsv_number(tsv, row, "tpot_mean_ms"), v[3];
	struct str id = tsv_text(tsv, row, "id");

	if (!(s->concurrency > 0) || isnan(ttft) || isnan(tpot) || !isnan(tsv_number(tsv, row, "throughput_out_tok_s")))
		return;
	for (size_t i = 0; i < 3; i++)
		v[i] = loop_throughput(s, at[i]->ttft_mean * 1e3, at[i]->tpot_mean * 1e3);
	score_add(run, (struct score){ .figure = FIGURE_THROUGHPUT,
			       .family = family_of(run, s),
			       .experts = s->deployment.model->experts > 0,
			       .counted = !s->foreign,
			       .calibration = row_is_calibration(id),
			       .predicted = v[0],
			       .low = fmin(v[1], v[2]),
			       .high = fmax(v[1], v[2]),
			       .measured = loop_throughput(s, ttft, tpot),
			       .id = id,
			       .name = "throughput by Little" });
}

void validate_serving(struct runner *run, const struct tsv *tsv)
{
	VEC_FREE(&run->serving.rows);
	run->serving = *tsv;
	for (size_t row = 0; row < tsv->rows.count; row++) {
		struct served s;
		struct outcome o[3];
		const char *why;
		struct band band;

		if (str_search(tsv_text(tsv, row, "notes"), STR("per-request trace")) >= 0)
			continue; /* replayed request by request instead */
		if (!served_read(run, tsv, row, &s, &why)) {
			run->skipped++;
			continue;
		}
		band = cost_band(&s.deployment);
		served_run(&s, 1, 1, &o[0]);
		if (!run->quick) {
			served_run(&s, band.fast, 0.4, &o[1]);
			served_run(&s, band.slow, 1.8, &o[2]);
		}
		{
			const struct outcome *at[3] = { &o[0], &o[run->quick ? 0 : 1], &o[run->quick ? 0 : 2] };
			score_row(run, tsv, row, &s, at);
			score_loop(run, tsv, row, &s, at);
		}
		for (size_t i = 0; i < (run->quick ? 1 : 3); i++)
			outcome_free(&o[i]);
	}
}
