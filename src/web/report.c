#include "web/report.h"

#include <math.h>

static const char *reading_kind_name(enum reading_kind kind)
{
	static const char *const names[] = { [READING_UNKNOWN] = "unknown",
		[READING_VALUE] = "value",
		[READING_AT_LEAST] = "at_least",
		[READING_AT_MOST] = "at_most",
		[READING_BETWEEN] = "between",
		[READING_TEXT] = "text",
		[READING_CELLS] = "cells" };

	return names[kind];
}

static void print_cells(struct json *j, const struct reading *r)
{
	json_open(j, "cells", '[');
	for (size_t i = 0; i < r->cell_count; i++) {
		json_open(j, NULL, '[');
		for (int k = 0; k < 2; k++) {
			double bound = k ? r->cells[i].high : r->cells[i].low;

			if (isfinite(bound))
				json_number(j, NULL, bound);
			else
				json_null(j, NULL);
		}
		json_number(j, NULL, r->cells[i].count);
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void print_reading_kind(struct json *j, const struct reading *r)
{
	json_text(j, "kind", str_from(reading_kind_name(r->kind)));
	switch (r->kind) {
	case READING_UNKNOWN: json_text(j, "reason", str_from(unknown_reason_name(r->reason))); break;
	case READING_VALUE: json_number(j, "value", r->low); break;
	case READING_AT_LEAST: json_number(j, "low", r->low); break;
	case READING_AT_MOST: json_number(j, "high", r->high); break;
	case READING_BETWEEN:
		json_number(j, "low", r->low);
		json_number(j, "high", r->high);
		break;
	case READING_TEXT: json_text(j, "text", r->text); break;
	case READING_CELLS: print_cells(j, r); break;
	}
	json_text_if(j, "why", r->why);
}

static void print_reading_evidence(struct json *j, const struct reading *r)
{
	json_number(j, "events", r->events);
	json_number(j, "elapsed_s", r->elapsed_s);
	if (r->has_interval && isfinite(r->interval_low) && isfinite(r->interval_high)) {
		json_open(j, "interval", '[');
		json_number(j, NULL, r->interval_low);
		json_number(j, NULL, r->interval_high);
		json_close(j, ']');
	}
	json_number(j, "mean", r->mean);
	json_number(j, "share_beyond", r->share_beyond);
	json_true_if(j, "stale", r->stale);
	json_time(j, "stale_since", r->stale ? r->stale_since_ms : 0);
	json_true_if(j, "trust_unknown", r->trust_unknown);
	json_true_if(j, "over_reset", r->over_reset);
	if (r->targets_all) {
		json_open(j, "targets", '[');
		json_integer(j, NULL, r->targets_in);
		json_integer(j, NULL, r->targets_all);
		json_close(j, ']');
	}
	json_text_if(j, "exposed", r->exposed);
	json_text_if(j, "note", r->note);
}

static void print_reading(struct json *j, const char *key, const struct reading *r, struct str unit, const struct reading *change)
{
	json_open(j, key, '{');
	print_reading_kind(j, r);
	if (r->kind != READING_UNKNOWN && r->kind != READING_TEXT)
		json_text_if(j, "unit", unit);
	print_reading_evidence(j, r);
	if (change && change->kind == READING_VALUE)
		json_number(j, "change", change->low);
	json_close(j, '}');
}

static bool is_chosen(const struct str *chosen, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(chosen[i], name))
			return true;
	return !count;
}

static void print_scope(struct json *j, const struct report *r, size_t index, const struct report_choice *choice)
{
	const struct scope *s = &r->scopes[index];
	bool of_target = s->kind == SCOPE_TARGET || s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU;

	json_open(j, NULL, '{');
	json_text(j, "scope", scope_label(r, s));
	json_text(j, "kind", str_from(scope_kind_name(s->kind)));
	if (of_target)
		json_text(j, "target", r->fleet->targets.items[s->target]->name);
	json_text_if(j, "key", s->key);
	json_text_if(j, "model", s->model);
	json_true_if(j, "mixed_models", s->mixed_models);
	if (s->pool) {
		json_text_if(j, "pool", s->pool->name);
		json_text(j, "role", str_from(pool_role_name(s->pool->role)));
	}
	json_open(j, "readings", '{');
	for (size_t i = 0; i < r->catalog->signals.count; i++) {
		const struct signal_spec *signal = r->catalog->signals.items[i];

		if (choice && !is_chosen(choice->signals, choice->signal_count, signal->id))
			continue;
		/* Signal ids are identifiers and end with '\0' in the catalogue's arena. */
		print_reading(j, signal->id.ptr, &r->readings[index][i], signal->unit, r->change ? &r->change[index][i] : NULL);
	}
	json_close(j, '}');
	json_close(j, '}');
}

static void print_evidence(struct json *j, const char *key, const struct evidence_line *lines, size_t count)
{
	struct buf text;

	json_open(j, key, '[');
	for (size_t i = 0; i < count; i++) {
		buf_init(&text, 4096);
		reading_print(&lines[i].reading, lines[i].signal->unit, &text);
		json_open(j, NULL, '{');
		json_text(j, "signal", lines[i].signal->id);
		json_text(j, "title", lines[i].signal->title);
		json_text(j, "text", buf_str(&text));
		print_reading(j, "reading", &lines[i].reading, lines[i].signal->unit, NULL);
		json_close(j, '}');
		buf_fini(&text);
	}
	json_close(j, ']');
}

void report_print_actions(struct json *j, const struct action *actions, size_t count)
{
	json_open(j, "actions", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "grade", str_from(action_grade_name(actions[i].grade)));
		json_text(j, "text", actions[i].text);
		json_text_if(j, "risk", actions[i].risk);
		json_text_if(j, "command", actions[i].command);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_finding(struct json *j, const struct report *r, const struct finding *f)
{
	json_open(j, NULL, '{');
	json_text(j, "id", f->spec->id);
	json_text(j, "severity", str_from(severity_name(f->severity)));
	if (f->scope) {
		json_text(j, "scope", scope_label(r, f->scope));
		json_text(j, "kind", str_from(scope_kind_name(f->scope->kind)));
		if (f->scope->pool)
			json_text_if(j, "pool", f->scope->pool->name);
	}
	json_list(j, "where", f->where, f->where_count);
	json_integer(j, "where_all", (int64_t)f->where_all);
	json_text(j, "title", f->title);
	json_text_if(j, "detail", f->detail);
	json_time(j, "onset", f->onset_ms);
	json_time(j, "last", f->last_ms);
	json_bool(j, "now", f->now);
	json_bool(j, "undecided", f->undecided);
	if (f->suppressed_by)
		json_text(j, "suppressed_by", f->suppressed_by->id);
	else
		json_null(j, "suppressed_by");
	print_evidence(j, "evidence", f->evidence, f->evidence_count);
	print_evidence(j, "counter", f->counter, f->counter_count);
	json_list(j, "changed", f->changed, f->changed_count);
	if (reading_known(&f->blast))
		print_reading(j, "blast", &f->blast, STR("1/s"), NULL);
	report_print_actions(j, f->actions, f->action_count);
	json_text_if(j, "explain", f->spec->explain);
	json_close(j, '}');
}

static void print_coverage(struct json *j, const struct target_report *t)
{
	json_open(j, "coverage", '[');
	for (size_t i = 0; i < t->coverage_count; i++) {
		const struct coverage_line *c = &t->coverage[i];

		json_open(j, NULL, '{');
		json_text(j, "metric", c->metric->id);
		json_text(j, "coverage", str_from(coverage_name(c->coverage)));
		json_text_if(j, "why", c->why);
		json_text_if(j, "exposed", c->exposed);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_binding(struct json *j, const struct target_report *t)
{
	const struct binding *b = t->binding;
	/* A page without an engine may be an exporter's. */
	const struct engine_spec *engine = b->engine || !b->exporter_count ? b->engine : b->exporters[0];

	if (engine) {
		json_text(j, "engine", engine->id);
		json_text(j, "engine_title", t->engine.len ? t->engine : engine->title);
		json_text_if(j, "checked_up_to", engine->checked_up_to);
	}
	json_open(j, "exporters", '[');
	for (size_t i = 0; i < b->exporter_count; i++)
		json_text(j, NULL, b->exporters[i]->id);
	json_close(j, ']');
	json_text_if(j, "version_low", b->version_low);
	json_text_if(j, "version_high", b->version_high);
	json_text_if(j, "flavour", b->flavour);
	json_list(j, "unknown_families", b->unknown_families, b->unknown_count);
}

static void print_target(struct json *j, const struct target_report *t)
{
	json_open(j, NULL, '{');
	json_text(j, "name", t->target->name);
	json_text_if(j, "url", t->target->url);
	if (t->target->turns > 1)
		json_integer(j, "turns", t->target->turns);
	if (t->last.t_ms) {
		json_text(j, "outcome", str_from(scrape_outcome_name(t->last.outcome)));
		if (t->last.status)
			json_integer(j, "http_status", t->last.status);
		json_text_if(j, "detail", t->last.detail);
		if (t->last.outcome != SCRAPE_OK)
			json_text(j, "advice", str_from(scrape_outcome_advice(t->last.outcome)));
		json_time(j, "last_scrape", t->last.t_ms);
		json_integer(j, "samples", (int64_t)t->last.samples);
		json_integer(j, "dropped_lines", (int64_t)t->last.dropped_lines);
		json_integer(j, "duplicates", (int64_t)t->last.duplicates);
	}
	if (t->binding)
		print_binding(j, t);
	print_coverage(j, t);
	json_close(j, '}');
}

void report_print_targets(struct json *j, const struct report *r)
{
	json_open(j, "targets", '[');
	for (size_t i = 0; i < r->target_count; i++)
		print_target(j, &r->targets[i]);
	json_close(j, ']');
}

void report_print_verdict(struct json *j, const struct report *r)
{
	json_open(j, "verdict", '{');
	json_text(j, "severity", str_from(verdict_severity(r)));
	json_text(j, "text", r->verdict);
	json_integer(j, "exit_status", r->exit_status);
	json_close(j, '}');
}

void report_print_scopes(struct json *j, const struct report *r, const struct report_choice *choice)
{
	json_open(j, "scopes", '[');
	for (size_t i = 0; i < r->scope_count; i++)
		if (!choice || is_chosen(choice->kinds, choice->kind_count, str_from(scope_kind_name(r->scopes[i].kind))))
			print_scope(j, r, i, choice);
	json_close(j, ']');
}

void report_print_findings(struct json *j, const struct report *r)
{
	json_open(j, "findings", '[');
	for (size_t i = 0; i < r->finding_count; i++)
		print_finding(j, r, &r->findings[i]);
	json_close(j, ']');
}
