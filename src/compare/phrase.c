/* A comparison in words. */
#include "compare/print.h"
#include "slo/estimate_print.h"

#include <math.h>
#include <stdio.h>

static bool is_share(const struct compare_spec *s)
{
	return s->kind == COMPARE_SHARE;
}

static void percent(struct buf *out, double value, const char *unit)
{
	char number[32];

	if (isnan(value)) {
		buf_add_cstr(out, "no bound");
		return;
	}
	number_phrase(fabs(value) * 100, number);
	buf_printf(out, "%s%s%s", value < -1e-11 ? "-" : "+", number, unit);
}

void compare_change_phrase(const struct compare_panel *p, struct buf *out)
{
	const char *unit = is_share(p->spec) ? " points" : " %";
	bool valued = !isnan(p->change.value), ended = !isnan(p->change.low) || !isnan(p->change.high);

	if (valued)
		percent(out, p->change.value, unit);
	else
		buf_add_cstr(out, ended ? "" : "unknown");
	if (!ended)
		return;
	buf_add_cstr(out, valued ? " (" : "");
	percent(out, p->change.low, "");
	buf_add_cstr(out, " to ");
	percent(out, p->change.high, valued ? ")" : unit);
}

static const char *unit_phrase(const struct compare_spec *spec)
{
	return strcmp(spec->unit, "share") == 0      ? " %"
	       : strcmp(spec->unit, "1") == 0        ? ""
	       : strcmp(spec->unit, "1/s") == 0      ? "/s"
	       : strcmp(spec->unit, "tokens") == 0   ? " tok"
	       : strcmp(spec->unit, "requests") == 0 ? ""
	       : strcmp(spec->unit, "ms") == 0       ? " ms"
						     : " h";
}

void compare_value_phrase(const struct estimate *e, const struct compare_spec *spec, struct buf *out)
{
	double scale = strcmp(spec->unit, "share") == 0 ? 100 : 1;
	char low[32], high[32];

	number_phrase(e->low * scale, low);
	number_phrase(e->high * scale, high);
	if (!isnan(e->value)) {
		number_phrase(e->value * scale, low);
		buf_printf(out, "%s%s", low, unit_phrase(spec));
	} else if (!isnan(e->low) && !isnan(e->high)) {
		buf_printf(out, "%s to %s%s", low, high, unit_phrase(spec));
	} else if (!isnan(e->low)) {
		buf_printf(out, "at least %s%s", low, unit_phrase(spec));
	} else if (!isnan(e->high)) {
		buf_printf(out, "at most %s%s", high, unit_phrase(spec));
	} else {
		buf_add_cstr(out, "unknown");
	}
}

/* What the verdict rests on, one after the other. */
static void add_rulings(const struct compare_result *r, struct buf *out)
{
	size_t said = 0;

	for (size_t i = 0; i < r->ruling_count; i++) {
		const struct compare_ruling *u = &r->rulings[i];

		if (u->verdict != r->verdict || u->left_out)
			continue;
		buf_printf(out, "%s%s", said++ ? ", " : ": ", u->item->spec->title);
		if (u->verdict == COMPARE_FAIL) {
			bool only_bound = isnan(u->worse);
			char number[32];

			number_phrase((only_bound ? u->worse_low : u->worse) * 100, number);
			buf_printf(
				out, " is %s%s %s worse", only_bound ? "at least " : "", number, is_share(u->item->spec) ? "points" : "%");
		}
	}
	if (!said)
		buf_add_cstr(out, ": nothing is known of what must not regress");
}

void compare_sentence(const struct compare_result *r, struct buf *out)
{
	const struct compare_panel *tokens = compare_panel(r, "output_tokens_per_s");

	buf_printf(out, "%s", compare_verdict_name(r->verdict));
	if (r->verdict == COMPARE_NOT_COMPARABLE)
		buf_printf(out, ": %s", r->reasons[0].text);
	else if (r->verdict == COMPARE_PASS)
		buf_add_cstr(out, ": nothing that must not regress is worse by its margin");
	else
		add_rulings(r, out);
	if (r->verdict == COMPARE_FAIL && tokens && tokens->change.value > 0.02)
		buf_printf(out, "; %+.0f %% output tokens/s do not buy that back", tokens->change.value * 100);
}
