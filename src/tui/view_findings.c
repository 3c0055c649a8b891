/* Findings as the terminal shows them: those that are decided and nobody's symptom, in the report's order. */
#include "signals/phrase.h"
#include "tui/view_internal.h"

#include <math.h>

struct finding_view {
	struct view *view;
	const struct report *report;
	const struct view_history *history;
	struct buf text;
};

static struct str kept(struct finding_view *fv)
{
	struct str s = arena_str(&fv->view->arena, buf_str(&fv->text));

	buf_reset(&fv->text);
	return s;
}

static struct str evidence_of(struct finding_view *fv, const struct evidence_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!reading_known(&lines[i].reading) || lines[i].reading.kind == READING_CELLS)
			continue;
		buf_printf(&fv->text, "%s" STR_FMT " ", fv->text.len ? " · " : "", STR_ARG(lines[i].signal->title));
		reading_print(&lines[i].reading, lines[i].signal->unit, &fv->text);
	}
	return kept(fv);
}

static struct str symptoms_of(struct finding_view *fv, const struct finding *cause)
{
	const struct finding_spec *last = NULL;

	for (size_t i = 0; i < fv->report->finding_count; i++) {
		const struct finding *f = &fv->report->findings[i];

		if (f->suppressed_by != cause->spec || f->undecided || f->spec == last)
			continue;
		last = f->spec;
		buf_printf(&fv->text, "%s" STR_FMT, fv->text.len ? ", " : "", STR_ARG(f->spec->id));
	}
	return kept(fv);
}

static struct str joined(struct finding_view *fv, const struct str *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(&fv->text, "%s" STR_FMT, i ? "; " : "", STR_ARG(items[i]));
	return kept(fv);
}

static void actions_add(struct finding_view *fv, const struct finding *f, struct view_finding *out)
{
	struct arena *a = &fv->view->arena;

	out->actions = ARENA_ARRAY(a, struct view_action, f->action_count + 1);
	out->action_count = f->action_count;
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *action = &f->actions[i];

		out->actions[i] = (struct view_action){ str_from(action_grade_name(action->grade)), arena_str(a, action->text),
			arena_str(a, action->risk), arena_str(a, action->command) };
	}
}

static struct str moment_of(struct finding_view *fv, int64_t t_ms)
{
	if (t_ms)
		moment_phrase(t_ms, fv->report->window.to_ms, &fv->text);
	return kept(fv);
}

static void finding_add(struct finding_view *fv, const struct finding *f)
{
	struct arena *a = &fv->view->arena;
	struct view_finding *out = &fv->view->findings[fv->view->finding_count++];

	out->severity = f->severity;
	out->now = f->now;
	out->id = arena_str(a, f->spec->id);
	out->title = arena_str(a, f->title);
	where_phrase(f, 4, &fv->text);
	out->where = kept(fv);
	out->place = arena_str(a, f->scope && f->scope->pool ? f->scope->pool->name : f->scope ? f->scope->name : STR("fleet"));
	out->onset = moment_of(fv, f->onset_ms);
	if (!f->onset_ms)
		out->seen = moment_of(fv, view_history_seen(fv->history, fv->report, f));
	out->over = moment_of(fv, f->now ? 0 : f->last_ms);
	out->detail = arena_str(a, f->detail);
	out->evidence = evidence_of(fv, f->evidence, f->evidence_count);
	out->counter = evidence_of(fv, f->counter, f->counter_count);
	out->changed = joined(fv, f->changed, f->changed_count);
	out->symptoms = symptoms_of(fv, f);
	out->explain = arena_str(a, f->spec->explain);
	if (reading_is_number(&f->blast)) {
		reading_print(&f->blast, STR("1/s"), &fv->text);
		buf_add_cstr(&fv->text, " requests miss or fail");
	}
	out->blast = kept(fv);
	actions_add(fv, f, out);
}

/* Which rows a finding names. */
static void rows_link(struct view *v, const struct report *r)
{
	for (size_t i = 0; i < v->scope_count; i++) {
		struct view_scope *s = &v->scopes[i];
		size_t shown = 0;

		s->findings = ARENA_ARRAY(&v->arena, size_t, v->finding_count + 1);
		for (size_t k = 0; k < r->finding_count; k++) {
			const struct finding *f = &r->findings[k];
			bool names = f->scope && str_eq(f->scope->name, s->name);

			if (!finding_is_listed(f))
				continue;
			for (size_t n = 0; n < f->where_count; n++)
				names |= str_eq(f->where[n], s->name);
			if (names || s->kind == SCOPE_FLEET)
				s->findings[s->finding_count++] = shown;
			shown++;
		}
	}
}

void view_findings(struct view *v, const struct report *r, const struct view_history *h)
{
	struct finding_view fv = { .view = v, .report = r, .history = h };

	buf_init(&fv.text, 1 << 20);
	v->findings = ARENA_ARRAY(&v->arena, struct view_finding, r->finding_count + 1);
	for (size_t i = 0; i < r->finding_count; i++)
		if (finding_is_listed(&r->findings[i]))
			finding_add(&fv, &r->findings[i]);
	buf_fini(&fv.text);
	rows_link(v, r);
}
