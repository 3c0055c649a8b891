#include "cli/compare.h"

#include "base/clock.h"
#include "cli/page.h"
#include "cli/tally_render.h"

#include <math.h>

static bool is_share(const struct compare_spec *s)
{
	return s->kind == COMPARE_SHARE;
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

/* Each reason once, for the sides that have it. */
static void unknown_page(struct page *p, const struct compare_result *r)
{
	for (size_t i = 0; i < 2 * r->panel_count; i++) {
		const struct compare_panel *panel = &r->panels[i / 2];
		struct str why = i % 2 ? panel->unknown_b : panel->unknown_a;
		bool said = false;
		struct buf text;

		for (size_t k = i % 2; k < i; k += 2)
			said = said || str_eq(why, k % 2 ? r->panels[k / 2].unknown_b : r->panels[k / 2].unknown_a);
		if (!why.len || said)
			continue;
		buf_init(&text, 4096);
		buf_printf(&text, "of %s: " STR_FMT, i % 2 ? "B" : "A", STR_ARG(why));
		page_field(p, "unknown", STYLE_UNKNOWN, 10, buf_str(&text));
		buf_fini(&text);
	}
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

		if (!f->differs && !str_is(f->name, "workload") && !str_is(f->name, "target"))
			continue;
		if (!titled) {
			page_gap(p);
			page_print(p, STYLE_BOLD, "Fingerprint");
			page_line(p);
			titled = true;
		}
		page_print(p, STYLE_PLAIN, "  %-21.*s ", (int)f->name.len, f->name.ptr);
		size_t most = str_is(f->name, "workload") ? 16 : 200; /* a hash is told apart by its beginning */

		page_add(p, f->a.len ? str_head(f->a, most) : STR("-"), STYLE_PLAIN);
		if (f->differs) {
			page_print(p, STYLE_DIM, " | ");
			page_add(p, f->b.len ? str_head(f->b, most) : STR("-"), STYLE_PLAIN);
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
	compare_sentence(&c->result, &sentence);
	/* The word in colour, the rest beside it. */
	const char *word = compare_verdict_name(c->result.verdict);

	page_field(p, word, styles[c->result.verdict], (int)strlen(word) + 2, str_skip(buf_str(&sentence), strlen(word) + 2));
	buf_fini(&sentence);
	if (c->event)
		compare_event_head(p, c->event);
	duration_phrase(c->result.seconds_a, a);
	duration_phrase(c->result.seconds_b, b);
	page_print(p, STYLE_PLAIN, "A: " STR_FMT " (%s)", STR_ARG(c->name_a), a);
	page_line(p);
	page_print(p, STYLE_PLAIN, "B: " STR_FMT " (%s)", STR_ARG(c->name_b), b);
	page_line(p);
	page_field(p, "", STYLE_DIM, 0,
		c->event     ? STR("Before and after is not A against B. Single requests are not known, so intervals are wide.")
		: !c->side_a ? STR("Windows of a monitor: single requests are not known, so intervals are wide. bench --records sees more.")
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
	if (c->event) {
		compare_event_notes(p, c->event);
		compare_event_chart(p, c->event);
	}
	page_gap(p);
	if (r->verdict != COMPARE_NOT_COMPARABLE)
		rulings_page(p, c);
	page_gap(p);
	panels_page(p, c);
	unknown_page(p, r);
	for (size_t i = 0; i < r->signature_count; i++) {
		page_gap(p);
		page_field(p, "Looks like", STYLE_PLAIN, 12, str_from(r->signatures[i]));
	}
	fingerprint_page(p, c);
}

/* ---- for scripts ---- */

void compare_json(const struct comparison *c, struct buf *out)
{
	const struct compare_document document = { .result = &c->result,
		.policy = c->policy.name,
		.name_a = c->name_a,
		.name_b = c->name_b,
		.given = c->given,
		.event = c->event };
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	compare_print(&j, &document);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}
