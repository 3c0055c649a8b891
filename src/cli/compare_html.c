/* The comparison as a page that stands alone. */
#include "cli/compare.h"

#include "base/vec.h"
#include "report/html.h"

#include <math.h>

enum { BUCKETS = 60 };

static enum html_tone panel_tone(const struct compare_panel *p)
{
	if (!p->spec->better || isnan(p->change.value))
		return HTML_PLAIN;
	bool worse = p->spec->better < 0 ? p->change.low > 0 : p->change.high < 0;
	bool better = p->spec->better < 0 ? p->change.high < 0 : p->change.low > 0;

	return worse ? HTML_BAD : better ? HTML_GOOD : HTML_PLAIN;
}

static struct str phrase(struct arena *arena, const struct estimate *e, const struct compare_spec *spec)
{
	struct buf text;
	struct str kept;

	buf_init(&text, 4096);
	compare_value_phrase(e, spec, &text);
	kept = arena_str(arena, buf_str(&text));
	buf_fini(&text);
	return kept;
}

static void changes(const struct comparison *c, struct arena *arena, struct buf *out)
{
	struct html_change list[COMPARE_PANELS_MAX];

	for (size_t i = 0; i < c->result.panel_count; i++) {
		const struct compare_panel *p = &c->result.panels[i];
		enum html_tone tone = panel_tone(p);

		list[i] = (struct html_change){ .name = str_from(p->spec->title),
			.before = phrase(arena, &p->a, p->spec),
			.after = phrase(arena, &p->b, p->spec),
			.change = p->change.value,
			.low = p->change.low,
			.high = p->change.high,
			.tone = tone,
			.verdict = tone == HTML_BAD    ? STR("worse")
				   : tone == HTML_GOOD ? STR("better")
						       : STR_EMPTY };
	}
	html_changes(out, STR("Panels"), STR("B against A with 95 % intervals; of shares the difference, else relative"), list,
		c->result.panel_count);
}

/* Good requests per second over the time of a side's runs, one behind the other; all completed ones without objectives. */
static void goodput_series(const struct comparison *c, const struct compare_side *side, double seconds, double *x, double *y)
{
	double offset = 0, width = seconds / BUCKETS;

	for (int i = 0; i < BUCKETS; i++) {
		x[i] = i * width;
		y[i] = 0;
	}
	for (size_t run = 0; run < side->run_count; run++) {
		double window = records_window_s(side->runs[run]);
		int64_t start = side->runs[run]->run.window_start_ns;

		VEC_EACH (&side->runs[run]->requests, t) {
			int64_t due = t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
			bool good = slo_judge(slo_of(&c->slo, t->pool), t).verdict == SLO_GOOD;

			if (!good || due == TIMELINE_NEVER)
				continue;
			double at = offset + (double)(due - (start == TIMELINE_NEVER ? 0 : start)) / 1e9;

			if (at >= 0 && at < seconds)
				y[(int)(at / width)] += 1 / width;
		}
		offset += isnan(window) ? 0 : window;
	}
}

static void goodput_chart(const struct comparison *c, struct arena *arena, struct buf *out)
{
	double *numbers = ARENA_ARRAY(arena, double, 4 * BUCKETS);
	double longer = fmax(c->result.seconds_a, c->result.seconds_b);
	static const struct html_column columns[] = { { "time, s", true }, { "A", true }, { "B", true } };
	struct str *cells = ARENA_ARRAY(arena, struct str, 3 * BUCKETS);

	if (!(longer > 0))
		return;
	goodput_series(c, c->side_a, longer, numbers, numbers + BUCKETS);
	goodput_series(c, c->side_b, longer, numbers + 2 * BUCKETS, numbers + 3 * BUCKETS);
	for (int i = 0; i < BUCKETS; i++) {
		cells[3 * i] = arena_printf(arena, "%.0f", numbers[i]);
		cells[3 * i + 1] = arena_printf(arena, "%.3g", numbers[BUCKETS + i]);
		cells[3 * i + 2] = arena_printf(arena, "%.3g", numbers[3 * BUCKETS + i]);
	}
	const struct html_series series[] = {
		{ .name = STR("A, before"), .x = numbers, .y = numbers + BUCKETS, .count = BUCKETS, .steps = true },
		{ .name = STR("B, after"), .x = numbers + 2 * BUCKETS, .y = numbers + 3 * BUCKETS, .count = BUCKETS, .steps = true }
	};
	const struct html_table table = {
		.caption = STR("Good requests per second"), .columns = columns, .column_count = 3, .cells = cells, .row_count = BUCKETS
	};
	const bool judged = !slo_set_is_empty(&c->slo);
	const struct html_chart chart = { .title = judged ? STR("Goodput, before and after") : STR("Completed requests, before and after"),
		.note = judged ? STR_EMPTY : STR("no objectives were given"),
		.x = { .label = STR("time due, s"), .from = NAN, .to = NAN },
		.y = { .label = STR("requests/s"), .from = NAN, .to = NAN },
		.series = series,
		.series_count = 2,
		.table = &table };

	html_charts_open(out);
	html_chart(out, &chart);
	html_charts_close(out);
}

/* One line a side, in the order of time; the gap is the event with the time to settle. */
static size_t event_series(const struct side *s, int64_t start_ms, size_t offset, double *x, double *y)
{
	for (size_t i = 0; i < s->part_count; i++) {
		x[i] = (double)(s->parts[i].from_ms - start_ms) / 60000;
		y[i] = *(const double *)((const char *)&s->parts[i] + offset);
	}
	return s->part_count;
}

static void event_chart(
	const struct event_answer *a, const char *title, const char *unit, size_t offset, struct arena *arena, struct buf *out)
{
	static const struct html_column columns[] = { { "from, minutes", true }, { "side", false }, { "value", true } };
	const struct side *sides[] = { &a->before, &a->after };
	double *numbers = ARENA_ARRAY(arena, double, 4 * SIDE_PARTS_MAX);
	struct str *cells = ARENA_ARRAY(arena, struct str, 3 * 2 * SIDE_PARTS_MAX);
	struct html_series series[2];
	size_t rows = 0;

	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		double *x = numbers + 2 * i * SIDE_PARTS_MAX, *y = x + SIDE_PARTS_MAX;
		size_t count = event_series(sides[i], a->windows.before.from_ms, offset, x, y);

		series[i] = (struct html_series){
			.name = i ? STR("B, after") : STR("A, before"), .x = x, .y = y, .count = count, .steps = true
		};
		for (size_t k = 0; k < count; k++, rows++) {
			cells[3 * rows] = arena_printf(arena, "%.1f", x[k]);
			cells[3 * rows + 1] = i ? STR("after") : STR("before");
			cells[3 * rows + 2] = isnan(y[k]) ? STR_EMPTY : arena_printf(arena, "%.3g", y[k]);
		}
	}
	const struct html_mark mark = { a->event.text.len ? a->event.text : STR("event"),
		(double)(a->event.t_ms - a->windows.before.from_ms) / 60000, true };
	const struct html_table table = {
		.caption = str_from(title), .columns = columns, .column_count = 3, .cells = cells, .row_count = rows
	};
	const struct html_chart chart = { .title = str_from(title),
		.x = { .label = STR("time, minutes"), .from = NAN, .to = NAN },
		.y = { .label = str_from(unit), .from = NAN, .to = NAN },
		.series = series,
		.series_count = 2,
		.marks = &mark,
		.mark_count = 1,
		.table = &table };

	html_chart(out, &chart);
}

static void event_charts(const struct event_answer *a, struct arena *arena, struct buf *out)
{
	for (size_t i = 0; i < a->note_count; i++)
		html_paragraph(out, a->notes[i]);
	if (!a->before.part_count && !a->after.part_count)
		return;
	html_charts_open(out);
	event_chart(a, "Good requests, at least", "requests/s", offsetof(struct side_part, good_low), arena, out);
	event_chart(a, "Finished requests", "requests/s", offsetof(struct side_part, finished), arena, out);
	event_chart(a, "Output tokens", "tokens/s", offsetof(struct side_part, output_tokens), arena, out);
	event_chart(a, "Replicas that answer", "replicas", offsetof(struct side_part, up), arena, out);
	html_charts_close(out);
}

static void rulings(const struct comparison *c, struct arena *arena, struct buf *out)
{
	static const struct html_column columns[] = { { "must not regress", false }, { "worse by", true }, { "at most", true },
		{ "margin", true }, { "verdict", false } };
	struct str cells[COMPARE_ITEMS_MAX * 5];
	enum html_tone tones[COMPARE_ITEMS_MAX];

	for (size_t i = 0; i < c->result.ruling_count; i++) {
		const struct compare_ruling *u = &c->result.rulings[i];
		const char *unit = u->item->spec->kind == COMPARE_SHARE ? "points" : "%";
		struct str *row = cells + 5 * i;

		row[0] = str_from(u->item->spec->title);
		row[1] = isnan(u->worse) ? STR_EMPTY : arena_printf(arena, "%+.2f %s", u->worse * 100, unit);
		row[2] = isnan(u->worse_high) ? STR_EMPTY : arena_printf(arena, "%.2f %s", u->worse_high * 100, unit);
		row[3] = arena_printf(arena, "%.2f %s", u->item->margin * 100, unit);
		row[4] = u->left_out ? STR("left out: not known") : str_from(compare_verdict_name(u->verdict));
		tones[i] = u->unknown                   ? HTML_UNKNOWN
			   : u->verdict == COMPARE_FAIL ? HTML_BAD
			   : u->verdict == COMPARE_PASS ? HTML_GOOD
							: HTML_WARNING;
	}
	html_table(out, &(struct html_table){ .caption = c->policy.name,
				.columns = columns,
				.column_count = 5,
				.cells = cells,
				.row_count = c->result.ruling_count,
				.tones = tones });
}

static void fingerprint(const struct comparison *c, struct buf *out)
{
	static const struct html_column columns[] = { { "fact", false }, { "A", false }, { "B", false } };
	struct str cells[COMPARE_FACTS_MAX * 3];
	enum html_tone tones[COMPARE_FACTS_MAX];

	for (size_t i = 0; i < c->result.fact_count; i++) {
		cells[3 * i] = c->result.facts[i].name;
		cells[3 * i + 1] = c->result.facts[i].a;
		cells[3 * i + 2] = c->result.facts[i].b;
		tones[i] = c->result.facts[i].differs ? HTML_WARNING : HTML_PLAIN;
	}
	html_table(out, &(struct html_table){
				.columns = columns, .column_count = 3, .cells = cells, .row_count = c->result.fact_count, .tones = tones });
}

void compare_html(const struct comparison *c, struct buf *out)
{
	static const enum html_tone tones[] = { HTML_GOOD, HTML_BAD, HTML_UNKNOWN, HTML_UNKNOWN };
	struct buf sentence;
	struct arena arena;

	arena_init(&arena);
	buf_init(&sentence, 1 << 16);
	compare_sentence(&c->result, &sentence);
	html_open(out, STR("goodput compare"), arena_printf(&arena, "A: " STR_FMT "; B: " STR_FMT, STR_ARG(c->name_a), STR_ARG(c->name_b)));
	html_verdict(out, tones[c->result.verdict], buf_str(&sentence));
	for (size_t i = 0; i < c->result.reason_count; i++)
		html_paragraph(out, str_from(c->result.reasons[i].text));
	html_section_open(out, STR("Verdict"));
	rulings(c, &arena, out);
	html_section_close(out);
	html_section_open(out, STR("Before and after"));
	if (c->side_a)
		goodput_chart(c, &arena, out);
	if (c->event)
		event_charts(c->event, &arena, out);
	changes(c, &arena, out);
	for (size_t i = 0; i < c->result.signature_count; i++)
		html_paragraph(out, str_from(c->result.signatures[i]));
	html_section_close(out);
	if (c->result.fact_count) {
		html_section_open(out, STR("Fingerprint"));
		fingerprint(c, out);
		html_section_close(out);
	}
	html_close(out);
	buf_fini(&sentence);
	arena_fini(&arena);
}
