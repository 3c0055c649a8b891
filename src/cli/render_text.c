/* The page for people: what an engineer pastes into an incident channel. Verdict, findings, readings, who did not answer, coverage. */
#include "cli/render.h"
#include "cli/render_parts.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>

enum { HEAD_INDENT = 10, FIELD_INDENT = 12 };

/* How much of a finding is shown. The short page has the worst one in full, the next one shorter, then sentences; --all has everything. */
struct depth {
	size_t names, evidence, counter, changed, actions; /* how many */
	bool commands, meaning;
};
static const struct depth depth_all = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, true, true };
static const struct depth depth_first = { 4, 4, 1, 2, 1, true, false };
static const struct depth depth_next = { 2, 3, 0, 0, 1, false, false };
enum { FULL_FINDINGS = 2, BRIEF_FINDINGS = 5 };

static enum style severity_style(const char *severity)
{
	switch (severity[0]) {
	case 'c': return STYLE_CRITICAL;
	case 'w': return STYLE_WARNING;
	case 'i': return STYLE_INFO;
	case 'f': return STYLE_FINE;
	}
	return STYLE_UNKNOWN;
}

/* "CRITICAL  sentence" */
static void severity_line(struct page *p, const char *severity, struct str sentence)
{
	char label[16];
	size_t i = 0;

	for (; severity[i] && i + 1 < sizeof label; i++)
		label[i] = (char)(severity[i] - 'a' + 'A');
	label[i] = '\0';
	page_field(p, label, severity_style(severity), HEAD_INDENT, sentence);
}

static void render_head(struct page *p, const struct watch *w)
{
	const struct report *r = w->report;
	struct buf text;

	severity_line(p, r->exit_status == EXIT_FINE ? "fine" : verdict_severity(r), verdict_sentence(r));
	buf_init(&text, 65536);
	window_phrase(&w->span.window, &text);
	if (r->moments_all > 1)
		buf_printf(&text, " · %zu scrapes", r->moments_all);
	if (r->moments_evaluated < r->moments_all && r->moments_evaluated)
		buf_printf(&text, " (%zu judged)", r->moments_evaluated);
	buf_printf(&text, " · %zu/%zu answered", r->targets_up, r->target_count);
	page_field(p, "", STYLE_DIM, HEAD_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* ---- findings ---- */

/* Not more than `most` readings. Unknown ones are evidence of nothing: only `all` has them. */
static void evidence_field(
	struct page *p, const struct report *r, const char *label, const struct evidence_line *lines, size_t count, size_t most)
{
	struct buf text;
	double events = NAN;
	size_t shown = 0;

	buf_init(&text, 65536);
	for (size_t i = 0; i < count && shown < most; i++) {
		if (!reading_is_shown(lines[i].signal, &lines[i].reading) || (most != SIZE_MAX && !reading_known(&lines[i].reading)))
			continue;
		buf_add_cstr(&text, shown++ ? " · " : "");
		reading_phrase(r, lines[i].signal, &lines[i].reading, &events, &text);
	}
	if (shown)
		page_field(p, label, STYLE_DIM, FIELD_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* "kv-thrash at 3 of 32: pod-a, pod-b ... · since 03:02:30Z (2m30s) · affects 2 requests/s" */
static void place_phrase(const struct watch *w, const struct finding *f, size_t names, struct buf *out)
{
	int64_t end = w->span.window.to_ms;
	char age[64];

	buf_printf(out, STR_FMT " at ", STR_ARG(f->spec->id));
	where_phrase(f, names, out);
	if (f->onset_ms && f->onset_ms < end) {
		duration_format((end - f->onset_ms + 500) / 1000 * 1000, age);
		buf_add_cstr(out, " · since ");
		moment_phrase(f->onset_ms, end, out);
		buf_printf(out, "%c(%s)", STICKY, age);
	}
	if (!f->now && f->last_ms) {
		buf_add_cstr(out, " · last seen ");
		moment_phrase(f->last_ms, end, out);
	}
	if (reading_known(&f->blast)) {
		struct buf blast;

		buf_init(&blast, 4096);
		reading_print(&f->blast, STR("requests/s"), &blast);
		buf_printf(out, " · affects%c", STICKY);
		add_sticky(out, buf_str(&blast));
		buf_fini(&blast);
	}
}

/* What is wrong and where. What the verdict has said already is not said again. */
static void finding_head(struct page *p, const struct watch *w, const struct finding *f, size_t names)
{
	struct buf place;
	bool said = str_search(w->report->verdict, f->title) >= 0;

	buf_init(&place, 1 << 20);
	place_phrase(w, f, names, &place);
	severity_line(p, severity_name(f->severity), said ? buf_str(&place) : f->title);
	if (!said)
		page_field(p, "", STYLE_DIM, HEAD_INDENT, buf_str(&place));
	buf_fini(&place);
}

static void finding_action(struct page *p, const struct action *a, bool command)
{
	static const char *const labels[] = { [ACTION_NOW] = "  now", [ACTION_SHIFT] = "  shift", [ACTION_LATER] = "  later" };
	struct buf text;

	buf_init(&text, 65536);
	buf_add(&text, a->text);
	if (a->risk.len)
		buf_printf(&text, " (risk: " STR_FMT ")", STR_ARG(a->risk));
	page_field(p, labels[a->grade], STYLE_BOLD, FIELD_INDENT, buf_str(&text));
	buf_fini(&text);
	if (!command || !a->command.len)
		return;
	/* One line whatever its width, so that it can be pasted. */
	buf_add_repeat(&p->out, ' ', FIELD_INDENT);
	page_add(p, STR("$ "), STYLE_DIM);
	page_add(p, a->command, STYLE_PLAIN);
	page_line(p);
}

static void finding_hidden(struct page *p, const struct report *r, const struct finding *cause, bool all)
{
	struct buf text;

	buf_init(&text, 65536);
	suppressed_phrase(r, cause, all, &text);
	if (text.len)
		page_field(p, "  causes", STYLE_DIM, FIELD_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void finding_full(struct page *p, const struct watch *w, const struct finding *f, const struct depth *depth)
{
	page_gap(p);
	finding_head(p, w, f, depth->names);
	if (f->detail.len)
		page_field(p, "", STYLE_PLAIN, HEAD_INDENT, f->detail);
	evidence_field(p, w->report, "  evidence", f->evidence, f->evidence_count, depth->evidence);
	evidence_field(p, w->report, "  against", f->counter, f->counter_count, depth->counter);
	for (size_t i = 0; i < f->changed_count && i < depth->changed; i++)
		page_field(p, i ? "" : "  changed", STYLE_DIM, FIELD_INDENT, f->changed[i]);
	for (size_t i = 0; i < f->action_count && i < depth->actions; i++)
		finding_action(p, &f->actions[i], depth->commands);
	finding_hidden(p, w->report, f, depth == &depth_all);
	if (depth->meaning && f->spec->explain.len)
		page_field(p, "  meaning", STYLE_DIM, FIELD_INDENT, f->spec->explain);
}

static void finding_brief(struct page *p, const struct finding *f)
{
	struct buf text;

	buf_init(&text, 65536);
	buf_add(&text, f->title);
	buf_add_cstr(&text, " [");
	buf_add(&text, f->spec->id);
	buf_add_cstr(&text, " at ");
	where_phrase(f, f->where_count > 2 ? 0 : 2, &text);
	buf_add_c(&text, ']');
	severity_line(p, severity_name(f->severity), buf_str(&text));
	buf_fini(&text);
}

static void findings_undecided(struct page *p, const struct report *r)
{
	struct buf text;

	buf_init(&text, 65536);
	undecided_phrase(r, &text);
	if (text.len)
		page_field(p, "undecided", STYLE_DIM, HEAD_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* Findings that are no trouble, in one line. */
static void findings_infos(struct page *p, const struct report *r)
{
	const struct finding_spec *last = NULL;
	struct buf text;

	buf_init(&text, 65536);
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		if (!finding_is_listed(f) || f->severity != SEVERITY_INFO || f->spec == last)
			continue;
		last = f->spec;
		buf_printf(&text, "%s" STR_FMT " [" STR_FMT "]", text.len ? "; " : "", STR_ARG(f->title), STR_ARG(f->spec->id));
	}
	if (text.len)
		page_field(p, "INFO", STYLE_INFO, HEAD_INDENT, buf_str(&text));
	buf_fini(&text);
}

static size_t troubles_count(const struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->finding_count; i++)
		n += finding_is_listed(&r->findings[i]) && r->findings[i].severity != SEVERITY_INFO;
	return n;
}

/* Those that are trouble, the worst first, the second in full only where they are few. That data are missing is one sentence: who is silent
 * stands below, with advice. */
static void findings_troubles(struct page *p, const struct watch *w)
{
	const struct report *r = w->report;
	size_t shown = 0, full = 0, left = 0, full_most = troubles_count(r) > BRIEF_FINDINGS ? 1 : FULL_FINDINGS;

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		if (!finding_is_listed(f) || f->severity == SEVERITY_INFO)
			continue;
		if (shown >= BRIEF_FINDINGS) {
			left++;
		} else if (!shown || (full < full_most && !f->spec->about_data)) {
			finding_full(p, w, f, full ? &depth_next : &depth_first);
			full++;
			page_gap(p);
		} else {
			finding_brief(p, f);
		}
		shown++;
	}
	if (left) {
		page_print(p, STYLE_DIM, "%*s%zu more findings: --all", HEAD_INDENT, "", left);
		page_line(p);
	}
}

static void render_findings(struct page *p, const struct watch *w, bool all)
{
	const struct report *r = w->report;

	for (size_t i = 0; all && i < r->finding_count; i++)
		if (finding_is_listed(&r->findings[i]))
			finding_full(p, w, &r->findings[i], &depth_all);
	if (!all) {
		page_gap(p);
		findings_troubles(p, w);
		findings_infos(p, r);
	}
	findings_undecided(p, r);
}

/* ---- readings ---- */

static void render_group(
	struct page *p, const struct report *r, const struct report *beside, const struct scope *s, struct str group, bool all)
{
	struct buf text;
	char label[32];

	buf_init(&text, 1 << 20);
	group_phrase(r, beside, s, group, all, &text);
	if (text.len) {
		snprintf(label, sizeof label, STR_FMT, STR_ARG(group));
		page_field(p, label, STYLE_DIM, FIELD_INDENT, buf_str(&text));
	}
	buf_fini(&text);
}

static void render_scope(
	struct page *p, const struct report *r, const struct report *beside, const struct scope *s, const char *title, bool all)
{
	struct group_list groups = { 0 };
	struct buf text;

	page_gap(p);
	if (title) {
		page_add(p, str_from(title), STYLE_BOLD);
		page_line(p);
	}
	groups_of(r->catalog, &groups);
	for (size_t i = 0; i < groups.count; i++)
		/* How many answered stands at the head of the page. */
		if (all || !str_is(groups.names[i], "fleet"))
			render_group(p, r, beside, s, groups.names[i], all);
	buf_init(&text, 1 << 20);
	if (!beside)
		unknowns_phrase(r, s, all, &text);
	if (text.len)
		page_field(p, "unknown", STYLE_DIM, FIELD_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void render_readings(struct page *p, const struct watch *w, bool all)
{
	const struct report *r = w->report;
	char title[160];
	size_t shown = 0;

	/* Where nobody answers, every figure is unknown for the one reason that is told below. */
	for (size_t i = 0; (r->targets_up || r->targets_judged) && i < r->scope_count; i++) {
		const struct scope *s = &r->scopes[i];

		if (!scope_has_readings(r, s))
			continue;
		if (!all && ++shown > 3) {
			page_add(p, STR("more pools: --all"), STYLE_DIM);
			page_line(p);
			break;
		}
		snprintf(title, sizeof title, "pool " STR_FMT " (%s, %zu target%s)", STR_ARG(s->name),
			pool_role_name(s->pool ? s->pool->role : ROLE_MIXED), s->target_count, s->target_count == 1 ? "" : "s");
		render_scope(p, r, NULL, s, s->kind == SCOPE_POOL ? title : NULL, all);
	}
}

static void render_lifetime(struct page *p, const struct watch *w, bool all)
{
	const struct report *r = w->lifetime_report;
	char title[160], length[64];

	if (!r)
		return;
	duration_format((w->lifetime_span.window.to_ms - w->lifetime_span.window.from_ms) / 1000 * 1000, length);
	if (w->start_known)
		snprintf(title, sizeof title, "since start (%s), of the counters' whole life", length);
	else
		snprintf(title, sizeof title, "since the counters began (when is not known: no rates)");
	for (size_t i = 0; i < r->scope_count; i++)
		if (scope_has_readings(r, &r->scopes[i]))
			render_scope(p, r, w->report, &r->scopes[i], title, all);
	struct buf text;

	buf_init(&text, 65536);
	lifetime_findings_phrase(w, &text);
	if (text.len)
		page_field(p, "beyond", STYLE_DIM, FIELD_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* ---- who answered, and what ---- */

static void render_silent(struct page *p, const struct report *r, bool all)
{
	struct silent_group groups[8];
	size_t count = silent_groups(r, groups, ARRAY_LEN(groups));
	struct buf text;

	for (size_t i = 0; i < count; i++) {
		buf_init(&text, 65536);
		silent_phrase(r, &groups[i], all ? SIZE_MAX : 4, &text);
		page_field(p, groups[i].partial ? "partial" : "no answer", STYLE_WARNING, FIELD_INDENT, buf_str(&text));
		buf_fini(&text);
	}
}

static void render_coverage(struct page *p, const struct watch *w, bool all)
{
	struct buf text;

	page_gap(p);
	render_silent(p, w->report, all);
	buf_init(&text, 1 << 20);
	for (size_t i = 0; coverage_phrase(w->report, i, all, &text); i++) {
		page_field(p, i ? "" : "coverage", STYLE_DIM, FIELD_INDENT, buf_str(&text));
		buf_reset(&text);
	}
	if (w->kind == WATCH_REMOTE) {
		backend_phrase(w, &text);
		page_field(p, "asked", STYLE_DIM, FIELD_INDENT, buf_str(&text));
	}
	buf_fini(&text);
}

void render_text(struct page *p, const struct watch *w, const struct render_options *o)
{
	render_head(p, w);
	render_findings(p, w, o->all);
	render_readings(p, w, o->all);
	render_table(p, w->report, o->all);
	render_lifetime(p, w, o->all);
	render_coverage(p, w, o->all);
}
