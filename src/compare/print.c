/* A comparison as JSON: docs/formats/compare.md. */
#include "compare/print.h"

#include "slo/estimate_print.h"

int compare_exit_status(enum compare_verdict v)
{
	static const int statuses[] = { EXIT_FINE, EXIT_CRITICAL, EXIT_UNKNOWN, EXIT_UNKNOWN };

	return statuses[v];
}

/* null where nothing is known, or the reason where there is one. */
static void print_side(struct json *j, const char *key, const struct estimate *e, struct str unknown)
{
	if (!unknown.len) {
		estimate_json(j, key, e);
		return;
	}
	json_open(j, key, '{');
	json_text(j, "unknown", unknown);
	json_close(j, '}');
}

static void print_panels(struct json *j, const struct compare_result *r)
{
	json_open(j, "panels", '[');
	for (size_t i = 0; i < r->panel_count; i++) {
		const struct compare_panel *p = &r->panels[i];

		json_open(j, NULL, '{');
		json_text(j, "id", str_from(p->spec->id));
		json_text(j, "title", str_from(p->spec->title));
		json_text(j, "unit", str_from(p->spec->unit));
		print_side(j, "a", &p->a, p->unknown_a);
		print_side(j, "b", &p->b, p->unknown_b);
		json_text(j, "change_is", p->spec->kind == COMPARE_SHARE ? STR("difference") : STR("relative"));
		estimate_json(j, "change", &p->change);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_rulings(struct json *j, const struct compare_result *r)
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

static void print_facts(struct json *j, const struct compare_result *r)
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

static void print_mix(struct json *j, const struct given *g)
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

static void print_verdict(struct json *j, const struct compare_document *d)
{
	struct buf sentence;

	buf_init(&sentence, 1 << 16);
	compare_sentence(d->result, &sentence);
	json_open(j, "verdict", '{');
	json_text(j, "verdict", str_from(compare_verdict_name(d->result->verdict)));
	json_text(j, "text", buf_str(&sentence));
	json_integer(j, "exit_status", compare_exit_status(d->result->verdict));
	json_text_if(j, "policy", d->policy);
	json_close(j, '}');
	buf_fini(&sentence);
}

static void print_reasons(struct json *j, const struct compare_result *r)
{
	json_open(j, "reasons", '[');
	for (size_t i = 0; i < r->reason_count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "id", str_from(compare_obstacle_name(r->reasons[i].obstacle)));
		json_text(j, "text", str_from(r->reasons[i].text));
		json_close(j, '}');
	}
	json_close(j, ']');
}

void compare_print(struct json *j, const struct compare_document *d)
{
	const struct compare_result *r = d->result;

	json_text(j, "schema", STR("goodput.compare/1"));
	print_verdict(j, d);
	json_text(j, "a", d->name_a);
	json_text(j, "b", d->name_b);
	json_number(j, "seconds_a", r->seconds_a);
	json_number(j, "seconds_b", r->seconds_b);
	json_bool(j, "matched", r->matched);
	print_reasons(j, r);
	if (d->event)
		event_print_answer(j, d->event);
	print_rulings(j, r);
	print_panels(j, r);
	if (d->given)
		print_mix(j, d->given);
	json_open(j, "looks_like", '[');
	for (size_t i = 0; i < r->signature_count; i++)
		json_text(j, NULL, str_from(r->signatures[i]));
	json_close(j, ']');
	print_facts(j, r);
}
