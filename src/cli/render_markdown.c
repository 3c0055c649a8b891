/* The diagnosis as Markdown, for a ticket. */
#include "cli/render.h"
#include "cli/render_parts.h"

#include <math.h>

/* Text of others inside Markdown: nothing may become markup, and sticky blanks are blanks. */
static void escaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c == STICKY) {
			buf_add_c(out, ' ');
			continue;
		}
		if (strchr("\\`*_[]<>|#", c))
			buf_add_c(out, '\\');
		buf_add_c(out, c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
}

static void line(struct buf *out, const char *label, struct str text)
{
	if (!text.len)
		return;
	buf_printf(out, "- **%s**: ", label);
	escaped(out, text);
	buf_add_c(out, '\n');
}

static void evidence(struct buf *out, const struct report *r, const char *label, const struct evidence_line *lines, size_t count)
{
	struct buf text;
	double events = NAN;

	buf_init(&text, 65536);
	for (size_t i = 0; i < count; i++) {
		if (!reading_is_shown(lines[i].signal, &lines[i].reading))
			continue;
		buf_add_cstr(&text, text.len ? "; " : "");
		reading_phrase(r, lines[i].signal, &lines[i].reading, &events, &text);
	}
	line(out, label, buf_str(&text));
	buf_fini(&text);
}

static void actions(struct buf *out, const struct finding *f, bool all)
{
	static const char *const labels[] = { [ACTION_NOW] = "now", [ACTION_SHIFT] = "this shift", [ACTION_LATER] = "later" };

	for (size_t i = 0; i < f->action_count && (all || i < 3); i++) {
		const struct action *a = &f->actions[i];

		buf_printf(out, "- [ ] **%s**: ", labels[a->grade]);
		escaped(out, a->text);
		if (a->risk.len) {
			buf_add_cstr(out, " (risk: ");
			escaped(out, a->risk);
			buf_add_c(out, ')');
		}
		buf_add_c(out, '\n');
		if (a->command.len)
			buf_printf(out, "\n  ```sh\n  " STR_FMT "\n  ```\n\n", STR_ARG(a->command));
	}
}

static void finding(struct buf *out, const struct watch *w, const struct finding *f, bool all)
{
	struct buf text;

	buf_printf(out, "\n## %s: ", severity_name(f->severity));
	escaped(out, f->title);
	buf_add_cstr(out, "\n\n");
	buf_init(&text, 65536);
	buf_printf(&text, STR_FMT " at ", STR_ARG(f->spec->id));
	where_phrase(f, all ? SIZE_MAX : 8, &text);
	line(out, "finding", buf_str(&text));
	if (f->onset_ms) {
		buf_reset(&text);
		moment_phrase(f->onset_ms, w->span.window.to_ms, &text);
		line(out, "since", buf_str(&text));
	}
	line(out, "detail", f->detail);
	evidence(out, w->report, "evidence", f->evidence, f->evidence_count);
	evidence(out, w->report, "against it", f->counter, f->counter_count);
	for (size_t i = 0; i < f->changed_count; i++)
		line(out, "changed at onset", f->changed[i]);
	buf_reset(&text);
	suppressed_phrase(w->report, f, true, &text);
	line(out, "causes", buf_str(&text));
	buf_fini(&text);
	actions(out, f, all);
}

static void readings(struct buf *out, const struct report *r, const struct scope *s, bool all)
{
	buf_printf(out, "\n## Readings: " STR_FMT "\n\n| group | reading | value |\n|---|---|---|\n", STR_ARG(s->name));
	for (size_t i = 0; i < r->catalog->signals.count; i++) {
		const struct signal_spec *signal = r->catalog->signals.items[i];
		const struct reading *reading = &r->readings[s - r->scopes][i];
		double events = NAN;
		struct buf text;

		if (!(all || signal->headline) || !reading_is_shown(signal, reading))
			continue;
		buf_init(&text, 65536);
		reading_value_phrase(r, signal, reading, &events, &text);
		buf_add_cstr(out, "| ");
		escaped(out, signal->group);
		buf_add_cstr(out, " | ");
		escaped(out, signal->title);
		buf_add_cstr(out, " | ");
		escaped(out, buf_str(&text));
		buf_add_cstr(out, " |\n");
		buf_fini(&text);
	}
}

static void silent(struct buf *out, const struct report *r, bool all)
{
	struct silent_group groups[8];
	size_t count = silent_groups(r, groups, ARRAY_LEN(groups));
	struct buf text;

	for (size_t i = 0; i < count; i++) {
		buf_init(&text, 65536);
		silent_phrase(r, &groups[i], all ? SIZE_MAX : 8, &text);
		line(out, groups[i].partial ? "partial" : "no answer", buf_str(&text));
		buf_fini(&text);
	}
}

static void coverage(struct buf *out, const struct watch *w, bool all)
{
	struct buf text;

	buf_add_cstr(out, "\n## Coverage\n\n");
	silent(out, w->report, all);
	buf_init(&text, 1 << 20);
	for (size_t i = 0; coverage_phrase(w->report, i, all, &text); i++) {
		line(out, "engine", buf_str(&text));
		buf_reset(&text);
	}
	if (w->kind == WATCH_REMOTE)
		backend_phrase(w, &text);
	line(out, "asked", buf_str(&text));
	buf_fini(&text);
}

void render_markdown(const struct watch *w, const struct render_options *o, struct buf *out)
{
	const struct report *r = w->report;

	buf_printf(out, "# goodput: %s\n\n", verdict_severity(r));
	escaped(out, verdict_sentence(r));
	buf_add_cstr(out, "\n\n");
	window_phrase(&w->span.window, out);
	buf_printf(out, ", %zu of %zu targets answered\n", r->targets_up, r->target_count);
	for (size_t i = 0; i < r->finding_count; i++)
		if (finding_is_listed(&r->findings[i]))
			finding(out, w, &r->findings[i], o->all);
	for (size_t i = 0; i < r->scope_count; i++)
		if (scope_has_readings(r, &r->scopes[i]))
			readings(out, r, &r->scopes[i], o->all);
	coverage(out, w, o->all);
}
