#include "cli/compare.h"

#include "base/clock.h"
#include "cli/page.h"
#include "cli/tally_render.h"

#include <math.h>

/* ---- phrases ---- */

static bool is_share(const struct compare_spec *s)
{
	return s->kind == COMPARE_SHARE;
}

static void percent(struct buf *out, double value, const char *unit)
{
	char number[32];

	number_phrase(fabs(value) * 100, number);
	buf_printf(out, "%s%s%s", value < -1e-11 ? "-" : "+", number, unit);
}

void compare_change_phrase(const struct compare_panel *p, struct buf *out)
{
	const char *unit = is_share(p->spec) ? " points" : " %";

	if (isnan(p->change.value)) {
		buf_add_cstr(out, "unknown");
		return;
	}
	percent(out, p->change.value, unit);
	if (isnan(p->change.low) && isnan(p->change.high))
		return;
	buf_add_cstr(out, " (");
	if (isnan(p->change.low))
		buf_add_cstr(out, "no bound");
	else
		percent(out, p->change.low, "");
	buf_add_cstr(out, " to ");
	if (isnan(p->change.high))
		buf_add_cstr(out, "no bound");
	else
		percent(out, p->change.high, "");
	buf_add_c(out, ')');
}

void compare_value_phrase(const struct estimate *e, const struct compare_spec *spec, struct buf *out)
{
	double scale = is_share(spec) ? 100 : 1;
	const char *unit = is_share(spec)                      ? " %"
			   : strcmp(spec->unit, "1") == 0      ? ""
			   : strcmp(spec->unit, "1/s") == 0    ? "/s"
			   : strcmp(spec->unit, "tokens") == 0 ? "tok"
							       : spec->unit;
	bool bound = isnan(e->value);
	double shown = bound ? isnan(e->low) ? e->high : e->low : e->value;
	char number[32];

	if (isnan(shown)) {
		buf_add_cstr(out, "unknown");
		return;
	}
	number_phrase(shown * scale, number);
	buf_printf(out, "%s%s%s%s", bound ? isnan(e->low) ? "at most " : "at least " : "", number, *unit && !strchr(" /", *unit) ? " " : "",
		unit);
}

static void duration_phrase(double seconds, char text[64])
{
	if (!(seconds < 1e8))
		snprintf(text, 64, "more than can be waited for");
	else
		text[duration_format(seconds < 1 ? 1000 : llround(seconds) * 1000, text)] = '\0';
}

static const char *ruling_word(const struct compare_ruling *u)
{
	if (u->left_out)
		return "left out";
	if (u->unknown)
		return "unknown";
	switch (u->verdict) {
	case COMPARE_PASS: return "not worse";
	case COMPARE_FAIL: return "worse";
	default: return "open";
	}
}

void compare_sentence(const struct comparison *c, struct buf *out)
{
	const struct compare_result *r = &c->result;
	size_t said = 0;

	buf_printf(out, "%s", compare_verdict_name(r->verdict));
	if (r->verdict == COMPARE_NOT_COMPARABLE) {
		buf_printf(out, ": %s", r->reasons[0].text);
		return;
	}
	if (r->verdict == COMPARE_PASS) {
		buf_add_cstr(out, ": nothing that must not regress is worse by its margin");
		return;
	}
	for (size_t i = 0; i < r->ruling_count; i++) {
		const struct compare_ruling *u = &r->rulings[i];

		if (u->verdict != r->verdict || u->left_out)
			continue;
		buf_printf(out, "%s%s", said++ ? ", " : ": ", u->item->spec->title);
		if (u->verdict == COMPARE_FAIL) {
			char number[32];

			number_phrase(u->worse * 100, number);
			buf_printf(out, " is %s %s worse", number, is_share(u->item->spec) ? "points" : "%");
		}
	}
	const struct compare_panel *tokens = compare_panel(r, "output_tokens_per_s");

	if (r->verdict == COMPARE_FAIL && tokens && tokens->change.value > 0.02)
		buf_printf(out, "; %+.0f %% output tokens/s do not buy that back", tokens->change.value * 100);
}

/* ---- for people ---- */

static void panels_page(struct page *p, const struct comparison *c)
{
	struct buf cell;

	buf_init(&cell, 4096);
	page_print(p, STYLE_DIM, "  %-21s %11s %11s  %s", "", "A", "B", "change (95 % interval)");
	page_line(p);
	for (size_t i = 0; i < c->result.panel_count; i++) {
		const struct compare_panel *panel = &c->result.panels[i];

		page_print(p, STYLE_PLAIN, "  %-21s", panel->spec->title);
		for (int side = 0; side < 2; side++) {
			buf_reset(&cell);
			compare_value_phrase(side ? &panel->b : &panel->a, panel->spec, &cell);
			page_print(p, STYLE_PLAIN, " %11s", buf_cstr(&cell));
		}
		buf_reset(&cell);
		compare_change_phrase(panel, &cell);
		int direction = panel->spec->better;
		bool worse = direction && (direction < 0 ? panel->change.low > 0 : panel->change.high < 0);
		bool better = direction && (direction < 0 ? panel->change.high < 0 : panel->change.low > 0);

		page_print(p, worse ? STYLE_WARNING : better ? STYLE_FINE : STYLE_PLAIN, "  %s", buf_cstr(&cell));
		page_line(p);
	}
	buf_fini(&cell);
}

static void ruling_phrase(const struct compare_ruling *u, struct buf *out)
{
	const char *unit = is_share(u->item->spec) ? "points" : "%";
	char needed[64];

	if (u->unknown) {
		buf_add_cstr(out, "no figure on one side at least");
		return;
	}
	buf_printf(out, "by %+.2g %s, ", u->worse * 100, unit);
	if (isnan(u->worse_high))
		buf_add_cstr(out, "no bound");
	else
		buf_printf(out, "at most %.2g", u->worse_high * 100);
	buf_printf(out, "; margin %.2g", u->item->margin * 100);
	if (u->verdict != COMPARE_INCONCLUSIVE || isnan(u->seconds_needed))
		return;
	duration_phrase(u->seconds_needed, needed);
	buf_printf(out, "; needs about %s of load a side", needed);
}

static void rulings_page(struct page *p, const struct comparison *c)
{
	page_print(p, STYLE_BOLD, "Must not regress");
	if (c->policy.name.len)
		page_print(p, STYLE_DIM, " (policy: " STR_FMT ")", STR_ARG(c->policy.name));
	page_line(p);
	for (size_t i = 0; i < c->result.ruling_count; i++) {
		const struct compare_ruling *u = &c->result.rulings[i];
		enum style style = u->left_out || u->unknown    ? STYLE_UNKNOWN
				   : u->verdict == COMPARE_FAIL ? STYLE_CRITICAL
				   : u->verdict == COMPARE_PASS ? STYLE_FINE
								: STYLE_WARNING;
		struct buf text;

		buf_init(&text, 4096);
		ruling_phrase(u, &text);
		page_print(p, STYLE_PLAIN, "  %-21s ", u->item->spec->title);
		page_print(p, style, "%-10s", ruling_word(u));
		text_wrap(&p->out, buf_str(&text), p->columns, 34, 34);
		buf_fini(&text);
	}
}

static void fingerprint_page(struct page *p, const struct comparison *c)
{
	bool titled = false;

	for (size_t i = 0; i < c->result.fact_count; i++) {
		const struct compare_fact *f = &c->result.facts[i];
		/* enough of a hash to tell it by */
		size_t most = str_is(f->name, "workload") ? 12 : SIZE_MAX;

		if (!f->differs && !str_is(f->name, "workload") && !str_is(f->name, "target"))
			continue;
		if (!titled) {
			page_gap(p);
			page_print(p, STYLE_BOLD, "Fingerprint");
			page_line(p);
			titled = true;
		}
		page_print(p, STYLE_PLAIN, "  %-21.*s ", (int)f->name.len, f->name.ptr);
		page_add(p, f->a.len ? str_head(f->a, f->a.len < most ? f->a.len : most) : STR("-"), STYLE_PLAIN);
		if (f->differs) {
			page_print(p, STYLE_DIM, " | ");
			page_add(p, f->b.len ? str_head(f->b, f->b.len < most ? f->b.len : most) : STR("-"), STYLE_PLAIN);
		}
		page_line(p);
	}
}

static void head_page(struct page *p, const struct comparison *c)
{
	static const enum style styles[] = { STYLE_FINE, STYLE_CRITICAL, STYLE_UNKNOWN, STYLE_UNKNOWN };
	char a[64], b[64];
	struct buf sentence;

	buf_init(&sentence, 1 << 16);
	compare_sentence(c, &sentence);
	/* The word in colour, the rest beside it. */
	const char *word = compare_verdict_name(c->result.verdict);

	page_field(p, word, styles[c->result.verdict], (int)strlen(word) + 2, str_skip(buf_str(&sentence), strlen(word) + 2));
	buf_fini(&sentence);
	duration_phrase(c->result.seconds_a, a);
	duration_phrase(c->result.seconds_b, b);
	page_print(p, STYLE_PLAIN, "A: " STR_FMT " (%s)", STR_ARG(c->name_a), a);
	page_line(p);
	page_print(p, STYLE_PLAIN, "B: " STR_FMT " (%s)", STR_ARG(c->name_b), b);
	page_line(p);
	page_field(p, "", STYLE_DIM, 0,
		!c->side_a ? STR("Windows of a monitor: single requests are not known, so intervals are wide. bench --records sees more.")
		: c->result.matched
			? STR("The same requests at the same times: what both sides have in common cancels.")
			: STR("Other requests, or other times: the same workload and seed on both sides would see smaller differences."));
}

void compare_page(struct page *p, const struct comparison *c)
{
	const struct compare_result *r = &c->result;

	head_page(p, c);
	for (size_t i = 0; i < r->reason_count; i++) {
		page_field(p, compare_obstacle_name(r->reasons[i].obstacle), STYLE_WARNING, 24, str_from(r->reasons[i].text));
	}
	page_gap(p);
	if (r->verdict != COMPARE_NOT_COMPARABLE)
		rulings_page(p, c);
	page_gap(p);
	panels_page(p, c);
	for (size_t i = 0; i < r->signature_count; i++) {
		page_gap(p);
		page_field(p, "Looks like", STYLE_PLAIN, 12, str_from(r->signatures[i]));
	}
	fingerprint_page(p, c);
}

/* ---- for scripts ---- */

static void panels_json(struct json *j, const struct compare_result *r)
{
	json_open(j, "panels", '[');
	for (size_t i = 0; i < r->panel_count; i++) {
		const struct compare_panel *p = &r->panels[i];

		json_open(j, NULL, '{');
		json_text(j, "id", str_from(p->spec->id));
		json_text(j, "title", str_from(p->spec->title));
		json_text(j, "unit", str_from(p->spec->unit));
		estimate_json(j, "a", &p->a);
		estimate_json(j, "b", &p->b);
		json_text(j, "change_is", is_share(p->spec) ? STR("difference") : STR("relative"));
		estimate_json(j, "change", &p->change);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void rulings_json(struct json *j, const struct compare_result *r)
{
	json_open(j, "rulings", '[');
	for (size_t i = 0; i < r->ruling_count; i++) {
		const struct compare_ruling *u = &r->rulings[i];

		json_open(j, NULL, '{');
		json_text(j, "id", str_from(u->item->spec->id));
		json_text(j, "verdict", u->left_out ? STR("left-out") : str_from(compare_verdict_name(u->verdict)));
		json_true_if(j, "unknown", u->unknown);
		json_number(j, "worse", u->worse);
		json_number(j, "worse_low", u->worse_low);
		json_number(j, "worse_high", u->worse_high);
		json_number(j, "margin", u->item->margin);
		json_number(j, "ignore", u->item->ignore);
		json_number(j, "seconds_needed", u->seconds_needed);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void facts_json(struct json *j, const struct compare_result *r)
{
	json_open(j, "fingerprint", '[');
	for (size_t i = 0; i < r->fact_count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "name", r->facts[i].name);
		json_text_if(j, "a", r->facts[i].a);
		json_text_if(j, "b", r->facts[i].b);
		json_bool(j, "differs", r->facts[i].differs);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void mix_json(struct json *j, const struct given *g)
{
	json_open(j, "prompt_mix", '{');
	json_number(j, "distance", given_distance(g));
	json_open(j, "cells", '[');
	for (size_t i = 0; i < g->cell_count; i++) {
		json_open(j, NULL, '{');
		json_number(j, "low", g->cells[i].low);
		json_number(j, "high", g->cells[i].high);
		json_number(j, "a", g->cells[i].a);
		json_number(j, "b", g->cells[i].b);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

void compare_json(const struct comparison *c, struct buf *out)
{
	static const int statuses[] = { EXIT_FINE, EXIT_CRITICAL, EXIT_UNKNOWN, EXIT_UNKNOWN };
	const struct compare_result *r = &c->result;
	struct json j = { .out = out };
	struct buf sentence;

	buf_init(&sentence, 1 << 16);
	compare_sentence(c, &sentence);
	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.compare/1"));
	json_open(&j, "verdict", '{');
	json_text(&j, "verdict", str_from(compare_verdict_name(r->verdict)));
	json_text(&j, "text", buf_str(&sentence));
	json_integer(&j, "exit_status", statuses[r->verdict]);
	json_text_if(&j, "policy", c->policy.name);
	json_close(&j, '}');
	json_text(&j, "a", c->name_a);
	json_text(&j, "b", c->name_b);
	json_number(&j, "seconds_a", r->seconds_a);
	json_number(&j, "seconds_b", r->seconds_b);
	json_bool(&j, "matched", r->matched);
	json_open(&j, "reasons", '[');
	for (size_t i = 0; i < r->reason_count; i++) {
		json_open(&j, NULL, '{');
		json_text(&j, "id", str_from(compare_obstacle_name(r->reasons[i].obstacle)));
		json_text(&j, "text", str_from(r->reasons[i].text));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	rulings_json(&j, r);
	panels_json(&j, r);
	if (c->given)
		mix_json(&j, c->given);
	json_open(&j, "looks_like", '[');
	for (size_t i = 0; i < r->signature_count; i++)
		json_text(&j, NULL, str_from(r->signatures[i]));
	json_close(&j, ']');
	facts_json(&j, r);
	json_close(&j, '}');
	buf_add_c(out, '\n');
	buf_fini(&sentence);
}
