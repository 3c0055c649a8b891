#include "web/first.h"

#include "base/clock.h"
#include "net/http.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 3, FACTS = 2, PLACES = 4 }; /* as findings.tsx has them */

/* ---- text ---- */

static void add_severity(struct buf *out, const char *name)
{
	static const char *const signs[][2] = { { "critical", "✖" }, { "warning", "▲" }, { "info", "ℹ" }, { "fine", "✔" } };
	const char *sign = "?";

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (str_is(str_from(name), signs[i][0]))
			sign = signs[i][1];
	buf_printf(out, "<span class=\"severity %s\"><span aria-hidden=\"true\">%s</span> %s</span>", name, sign, name);
}

/* To the second; the reader's zone is known to the script only. */
static void add_date(struct buf *out, int64_t t_ms)
{
	char text[40];
	size_t len = time_format(t_ms - t_ms % 1000, text);

	buf_printf(out, "<time datetime=\"%.*s\">%.*s UTC</time>", (int)len, text, (int)len - 1, text);
}

/* The figure alone, with the signs that the page has for bounds. */
static void add_figure(struct buf *out, const struct reading *r, struct str unit)
{
	struct buf text;

	if (!reading_known(r)) {
		buf_add_cstr(out, "unknown");
		return;
	}
	buf_init(&text, 4096);
	reading_print(r, unit, &text);
	struct str s = buf_str(&text);

	if (str_starts(s, STR("<= ")) || str_starts(s, STR(">= "))) {
		buf_add_cstr(out, s.ptr[0] == '<' ? "≤" : "≥");
		s = str_skip(s, 2);
	}
	html_text(out, s);
	buf_fini(&text);
}

/* ---- the verdict ---- */

/* "CRITICAL: …" without the word that stands beside it. */
static struct str sentence(struct str verdict)
{
	size_t i = 0;

	while (i < verdict.len && verdict.ptr[i] >= 'A' && verdict.ptr[i] <= 'Z')
		i++;
	return i && str_starts(str_skip(verdict, i), STR(": ")) ? str_skip(verdict, i + 2) : verdict;
}

void first_print_verdict(struct buf *out, const struct report *r, int64_t t_ms)
{
	char span[64];

	if (!r) {
		buf_add_cstr(out, "<div class=\"verdict unknown\" role=\"status\">");
		add_severity(out, "unknown");
		buf_add_cstr(out, "<p>Not judged yet: two scrapes and one evaluation are needed.</p></div>");
		return;
	}
	const char *severity = verdict_severity(r);

	/* The numbers are for the script: it goes on from them. */
	buf_printf(out,
		"<div class=\"verdict %s\" role=\"status\" data-severity=\"%s\" data-time=\"%.3f\" data-from=\"%.3f\" data-to=\"%.3f\">",
		severity, severity, (double)t_ms / 1000, (double)r->window.from_ms / 1000, (double)r->window.to_ms / 1000);
	add_severity(out, severity);
	buf_add_cstr(out, "<p>");
	html_text(out, sentence(r->verdict));
	buf_add_cstr(out, "</p><small class=\"dim\">judged ");
	add_date(out, t_ms);
	duration_format((r->window.to_ms - r->window.from_ms + 500) / 1000 * 1000, span);
	buf_printf(out, " over %s</small></div>", span);
}

/* ---- findings ---- */

static struct str pool_of(const struct finding *f)
{
	return f->scope && f->scope->pool ? f->scope->pool->name : STR_EMPTY;
}

static void fact_open(struct buf *out, const char *name)
{
	buf_printf(out, "<div><dt>%s</dt><dd>", name);
}

static void fact_close(struct buf *out)
{
	buf_add_cstr(out, "</dd></div>");
}

static void print_where(struct buf *out, const struct finding *f)
{
	struct str pool = pool_of(f);
	bool all = f->where_count == f->where_all;

	fact_open(out, "where");
	if (pool.len) {
		buf_add_cstr(out, "<span>pool <b>");
		html_text(out, pool);
		buf_add_cstr(out, "</b> · </span>");
	}
	buf_add_cstr(out, "<b>");
	if (f->where_count == 1 && pool.len && str_eq(f->where[0], pool)) {
		buf_printf(out, "all of it, %zu target%s", f->where_all, f->where_all == 1 ? "" : "s");
	} else if (all && f->where_all != 1) {
		buf_printf(out, "all %zu", f->where_all);
	} else {
		if (!all)
			buf_printf(out, "%zu of %zu: ", f->where_count, f->where_all);
		for (size_t i = 0; i < f->where_count && i < PLACES; i++) {
			buf_add_cstr(out, i ? ", " : "");
			html_text(out, f->where[i]);
		}
		if (f->where_count > PLACES)
			buf_printf(out, " and %zu more", f->where_count - PLACES);
	}
	buf_add_cstr(out, "</b>");
	fact_close(out);
}

/* With an address that shows the same in a month: a quarter of an hour around it, absolute. */
static void print_since(struct buf *out, const struct finding *f)
{
	int64_t end_ms = f->last_ms > f->onset_ms ? f->last_ms : f->onset_ms;
	struct str pool = pool_of(f);

	fact_open(out, "since");
	if (f->onset_ms) {
		buf_printf(out, "<a href=\"/?from=%lld&amp;to=%lld", (long long)(f->onset_ms / 1000 - 900),
			(long long)((end_ms + 999) / 1000 + 300));
		if (pool.len) {
			buf_add_cstr(out, "&amp;pool=");
			http_encode(pool, out);
		}
		buf_add_cstr(out, "\" title=\"this time range, as a link that stays\">");
		add_date(out, f->onset_ms);
		buf_add_cstr(out, "</a>");
	} else {
		buf_add_cstr(out, "unknown: it was there when the watch began");
	}
	fact_close(out);
}

static void print_action(struct buf *out, const struct finding *f)
{
	size_t i = 0;

	while (i < f->action_count && f->actions[i].grade != ACTION_NOW)
		i++;
	if (!f->action_count)
		return;
	const struct action *first = &f->actions[i < f->action_count ? i : 0];

	buf_add_cstr(out, "<div><dt>first</dt><dd class=\"first\">");
	html_text(out, first->text);
	if (first->risk.len) {
		buf_add_cstr(out, "<span class=\"dim\"> (risk: ");
		html_text(out, first->risk);
		buf_add_cstr(out, ")</span>");
	}
	fact_close(out);
}

static void print_facts(struct buf *out, const struct finding *f)
{
	if (!f->evidence_count)
		return;
	fact_open(out, "evidence");
	for (size_t i = 0; i < f->evidence_count && i < FACTS; i++) {
		const struct evidence_line *e = &f->evidence[i];

		buf_add_cstr(out, "<span class=\"fact\">");
		html_text(out, e->signal->title);
		buf_add_cstr(out, " <b>");
		add_figure(out, &e->reading, e->signal->unit);
		buf_add_cstr(out, "</b>");
		if (isfinite(e->reading.events))
			buf_printf(out, "<span class=\"dim\"> n = %.0f</span>", e->reading.events);
		buf_add_cstr(out, "</span>");
	}
	fact_close(out);
}

static size_t symptoms_of(const struct report *r, const struct finding *f)
{
	size_t count = 0;

	for (size_t i = 0; i < r->finding_count; i++) {
		struct str pool = pool_of(&r->findings[i]);

		count += r->findings[i].suppressed_by == f->spec && (!pool.len || str_eq(pool, pool_of(f)));
	}
	return count;
}

static void print_card(struct buf *out, const struct report *r, const struct finding *f)
{
	size_t symptoms = symptoms_of(r, f);

	buf_printf(out, "<article class=\"finding %s\" aria-label=\"", severity_name(f->severity));
	html_text(out, f->title);
	buf_add_cstr(out, "\"><h2>");
	add_severity(out, severity_name(f->severity));
	buf_add_c(out, ' ');
	html_text(out, f->title);
	buf_add_cstr(out, " <code class=\"dim\">");
	html_text(out, f->spec->id);
	buf_add_cstr(out, "</code>");
	if (f->undecided || !f->now)
		buf_printf(out, " <span class=\"badge\">%s</span>", f->undecided ? "undecided" : "over");
	buf_add_cstr(out, "</h2><dl class=\"facts\">");
	print_where(out, f);
	print_since(out, f);
	if (reading_known(&f->blast)) {
		fact_open(out, "affects");
		buf_add_cstr(out, "<b>");
		add_figure(out, &f->blast, STR("1/s"));
		buf_add_cstr(out, "</b> requests");
		fact_close(out);
	}
	print_action(out, f);
	print_facts(out, f);
	buf_printf(out, "</dl><button type=\"button\" class=\"quiet more\" disabled>all evidence, %zu actions", f->action_count);
	if (symptoms)
		buf_printf(out, ", %zu symptom%s it explains", symptoms, symptoms == 1 ? "" : "s");
	buf_add_cstr(out, "</button></article>");
}

static int weight(const struct finding *f)
{
	return (f->undecided ? 3 : SEVERITY_CRITICAL - f->severity) + (f->now ? 0 : 10);
}

/* The next of the causes in the order in which they are shown, after `last`; NULL: there is none. */
static const struct finding *cause_after(const struct report *r, const struct finding *last)
{
	const struct finding *best = NULL;

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];
		bool later = !last || weight(f) > weight(last) || (weight(f) == weight(last) && f > last);

		if (!f->suppressed_by && later && (!best || weight(f) < weight(best)))
			best = f;
	}
	return best;
}

void first_print_findings(struct buf *out, const struct report *r)
{
	size_t shown = 0, all = 0;

	if (!r) {
		buf_add_cstr(out, "<p class=\"state empty\">Waiting for the first evaluation: it takes two scrapes of a target.</p>");
		return;
	}
	for (size_t i = 0; i < r->finding_count; i++)
		all += !r->findings[i].suppressed_by;
	buf_add_cstr(out, "<section class=\"findings\" aria-label=\"Findings\">");
	for (const struct finding *f = NULL; shown < SHOWN && (f = cause_after(r, f)); shown++)
		print_card(out, r, f);
	if (!all)
		buf_add_cstr(out, "<p class=\"state empty\">Nothing was found: every red line is clear.</p>");
	if (all > SHOWN)
		buf_printf(out, "<button type=\"button\" disabled>%zu more</button>", all - SHOWN);
	buf_add_cstr(out, "</section>");
}
