/* What a signal and a finding mean, for people and as JSON. */
#include "cli/signals_explain.h"

#include "catalog/expression.h"
#include "web/report.h"

enum { LABEL_INDENT = 15 };

static void expression_text(const struct expression *x, struct buf *out)
{
	if (x)
		expression_print(x, out);
}

static bool list_has(const struct str *list, size_t count, struct str id)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i], id))
			return true;
	return false;
}

static bool expression_uses(const struct expression *x, const struct signal_spec *s)
{
	return x && (x->signal == s || expression_uses(x->left, s) || expression_uses(x->right, s));
}

static bool finding_uses(const struct finding_spec *f, const struct signal_spec *s)
{
	return expression_uses(f->when, s) || expression_uses(f->critical, s) || list_has(f->evidence, f->evidence_count, s->id) ||
	       list_has(f->counter, f->counter_count, s->id);
}

static void field(struct page *p, const char *label, struct str text)
{
	if (text.len)
		page_field(p, label, STYLE_DIM, LABEL_INDENT, text);
}

void signal_explain(struct page *p, const struct catalog *c, const struct signal_spec *s)
{
	struct buf text;

	page_print(p, STYLE_BOLD, STR_FMT, STR_ARG(s->id));
	page_print(p, STYLE_PLAIN, "  " STR_FMT, STR_ARG(s->title));
	page_line(p);
	field(p, "  meaning", s->help);
	field(p, "  group", s->group);
	field(p, "  unit", s->unit);
	field(p, "  kind", str_from(signal_kind_name(s->kind)));
	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < s->definition_count; i++) {
		buf_reset(&text);
		expression_text(s->definitions[i].expression, &text);
		if (s->definitions[i].note.len)
			buf_printf(&text, "  (" STR_FMT ")", STR_ARG(s->definitions[i].note));
		field(p, i ? "  or" : "  definition", buf_str(&text));
		buf_reset(&text);
		expression_text(s->definitions[i].guard, &text);
		if (text.len)
			buf_printf(&text, ", else unknown: " STR_FMT, STR_ARG(s->definitions[i].guard_reason));
		field(p, "  only if", buf_str(&text));
	}
	if (s->min_events > 0) {
		buf_reset(&text);
		buf_printf(&text, "%g events; below, red lines on it are undecided", s->min_events);
		field(p, "  needs", buf_str(&text));
	}
	buf_reset(&text);
	for (size_t i = 0; i < c->findings.count; i++)
		if (finding_uses(c->findings.items[i], s))
			buf_printf(&text, "%s" STR_FMT, text.len ? ", " : "", STR_ARG(c->findings.items[i]->id));
	field(p, "  findings", buf_str(&text));
	field(p, "  requirement", s->requirement);
	buf_fini(&text);
}

static void names_field(struct page *p, const char *label, const struct str *names, size_t count)
{
	struct buf text;

	buf_init(&text, 65536);
	for (size_t i = 0; i < count; i++)
		buf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(names[i]));
	field(p, label, buf_str(&text));
	buf_fini(&text);
}

void finding_explain(struct page *p, const struct finding_spec *f)
{
	static const char *const grades[] = { [ACTION_NOW] = "  now", [ACTION_SHIFT] = "  this shift", [ACTION_LATER] = "  later" };
	struct buf text;

	page_print(p, STYLE_BOLD, STR_FMT, STR_ARG(f->id));
	page_print(p, STYLE_PLAIN, "  " STR_FMT " (finding, %s)", STR_ARG(f->title), severity_name(f->severity));
	page_line(p);
	field(p, "  meaning", f->explain);
	buf_init(&text, 1 << 20);
	expression_text(f->when, &text);
	field(p, "  raised when", buf_str(&text));
	field(p, "  detector", f->detector);
	buf_reset(&text);
	expression_text(f->critical, &text);
	field(p, "  critical if", buf_str(&text));
	names_field(p, "  evidence", f->evidence, f->evidence_count);
	names_field(p, "  against", f->counter, f->counter_count);
	names_field(p, "  causes", f->suppresses, f->suppresses_count);
	for (size_t i = 0; i < f->action_count; i++) {
		buf_reset(&text);
		buf_add(&text, f->actions[i].text);
		if (f->actions[i].risk.len)
			buf_printf(&text, " (risk: " STR_FMT ")", STR_ARG(f->actions[i].risk));
		field(p, grades[f->actions[i].grade], buf_str(&text));
	}
	field(p, "  requirement", f->requirement);
	buf_fini(&text);
}

void signal_json(struct json *j, const struct catalog *c, const struct signal_spec *s)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	json_open(j, NULL, '{');
	json_text(j, "id", s->id);
	json_text(j, "title", s->title);
	json_text(j, "group", s->group);
	json_text(j, "unit", s->unit);
	json_text(j, "kind", str_from(signal_kind_name(s->kind)));
	json_text_if(j, "help", s->help);
	json_text_if(j, "requirement", s->requirement);
	json_bool(j, "headline", s->headline);
	json_open(j, "definitions", '[');
	for (size_t i = 0; i < s->definition_count; i++) {
		buf_reset(&text);
		expression_text(s->definitions[i].expression, &text);
		json_text(j, NULL, buf_str(&text));
	}
	json_close(j, ']');
	json_open(j, "findings", '[');
	for (size_t i = 0; i < c->findings.count; i++)
		if (finding_uses(c->findings.items[i], s))
			json_text(j, NULL, c->findings.items[i]->id);
	json_close(j, ']');
	json_close(j, '}');
	buf_fini(&text);
}

void finding_json(struct json *j, const struct finding_spec *f)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	json_open(j, NULL, '{');
	json_text(j, "id", f->id);
	json_text(j, "title", f->title);
	json_text(j, "severity", str_from(severity_name(f->severity)));
	json_text_if(j, "explain", f->explain);
	expression_text(f->when, &text);
	json_text_if(j, "when", buf_str(&text));
	json_text_if(j, "detector", f->detector);
	buf_reset(&text);
	expression_text(f->critical, &text);
	json_text_if(j, "critical", buf_str(&text));
	json_list(j, "evidence", f->evidence, f->evidence_count);
	json_list(j, "counter", f->counter, f->counter_count);
	json_list(j, "suppresses", f->suppresses, f->suppresses_count);
	report_print_actions(j, f->actions, f->action_count);
	json_text_if(j, "requirement", f->requirement);
	json_close(j, '}');
	buf_fini(&text);
}
