/* An event for people: what happened, which windows were chosen and why, and the chart. */
#include "cli/compare.h"

#include "base/clock.h"
#include "slo/estimate_print.h"

#include <math.h>

enum { NAMES_MAX = 4 };

static void names_phrase(struct buf *out, const char *what, const struct str *names, size_t count)
{
	if (!count)
		return;
	buf_printf(out, "%s%s ", out->len ? "; " : "", what);
	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(names[i]));
	if (count > NAMES_MAX)
		buf_printf(out, " and %zu more", count - NAMES_MAX);
}

/* "2 targets more (came: pod-c, pod-d); 2 answered before, 4 behind it" */
static void event_phrase(const struct capacity_event *e, struct buf *out)
{
	struct buf names;

	buf_init(&names, 4096);
	names_phrase(&names, "came", e->came, e->came_count);
	names_phrase(&names, "went", e->went, e->went_count);
	buf_printf(out, STR_FMT, STR_ARG(e->text));
	if (e->pool.len)
		buf_printf(out, " in " STR_FMT, STR_ARG(e->pool));
	if (names.len)
		buf_printf(out, " (" STR_FMT ")", STR_ARG(buf_str(&names)));
	if (e->up_before != CAPACITY_UNKNOWN && e->up_after != CAPACITY_UNKNOWN)
		buf_printf(out, "; %zu answered before, %zu behind it", e->up_before, e->up_after);
	buf_fini(&names);
}

static void time_phrase(int64_t t_ms, char text[40])
{
	text[time_format(t_ms, text)] = '\0';
}

void compare_event_head(struct page *p, const struct event_answer *a)
{
	struct str scope = a->after.scope.len ? a->after.scope : a->before.scope;
	char at[40];
	struct buf text;

	buf_init(&text, 8192);
	time_phrase(a->event.t_ms, at);
	buf_printf(&text, "%s ", at);
	if (a->windows.events)
		event_phrase(&a->event, &text);
	page_field(p, "Event", STYLE_BOLD, 7, buf_str(&text));
	if (scope.len && !str_is(scope, "fleet")) {
		buf_reset(&text);
		buf_printf(&text, STR_FMT " (%s)", STR_ARG(scope), a->scope_from);
		page_field(p, "Of", STYLE_BOLD, 7, buf_str(&text));
	}
	buf_fini(&text);
}

void compare_event_notes(struct page *p, const struct event_answer *a)
{
	for (size_t i = 0; i < a->note_count; i++)
		page_field(p, "-", STYLE_DIM, 2, a->notes[i]);
}

/* ---- the chart ---- */

static double part_value(const struct side_part *p, size_t offset)
{
	return *(const double *)((const char *)p + offset);
}

static double largest(const struct event_answer *a, size_t offset)
{
	double most = NAN;

	for (size_t i = 0; i < a->before.part_count; i++)
		most = fmax(most, part_value(&a->before.parts[i], offset));
	for (size_t i = 0; i < a->after.part_count; i++)
		most = fmax(most, part_value(&a->after.parts[i], offset));
	return most;
}

/* A bar a part; a gap where nothing is known. */
static void bars(struct page *p, const struct side *s, size_t offset, double most)
{
	static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char plain[] = "_.-:=+*#";

	for (size_t i = 0; i < s->part_count; i++) {
		double value = part_value(&s->parts[i], offset);
		size_t step = most > 0 && value > 0 ? (size_t)fmin(7, floor(value / most * 7 + 0.5)) : 0;

		if (isnan(value))
			page_print(p, STYLE_DIM, " ");
		else if (p->unicode)
			page_print(p, STYLE_PLAIN, "%s", blocks[step]);
		else
			page_print(p, STYLE_PLAIN, "%c", plain[step]);
	}
}

#define OF_PART(field) offsetof(struct side_part, field)
static const struct {
	const char *title;
	size_t offset;
} rows[] = { { "good requests/s", OF_PART(good_low) }, { "finished/s", OF_PART(finished) }, { "output tokens/s", OF_PART(output_tokens) },
	{ "arrivals/s", OF_PART(arrivals) }, { "waiting", OF_PART(waiting) }, { "KV cache usage", OF_PART(kv_usage) },
	{ "replicas", OF_PART(up) } };

void compare_event_chart(struct page *p, const struct event_answer *a)
{
	char number[32];

	if (!a->before.part_count && !a->after.part_count)
		return;
	page_gap(p);
	page_print(p, STYLE_DIM, "  %-17s %-*s | %-*s  largest", "over time", (int)a->before.part_count, "before", (int)a->after.part_count,
		"after");
	page_line(p);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double most = largest(a, rows[i].offset);

		if (isnan(most))
			continue;
		number_phrase(most, number);
		page_print(p, STYLE_PLAIN, "  %-17s ", rows[i].title);
		bars(p, &a->before, rows[i].offset, most);
		page_print(p, STYLE_PLAIN, "%*s | ", a->before.part_count < 6 ? 6 - (int)a->before.part_count : 0, "");
		bars(p, &a->after, rows[i].offset, most);
		page_print(p, STYLE_PLAIN, "%*s  %s%s", a->after.part_count < 5 ? 5 - (int)a->after.part_count : 0, "",
			rows[i].offset == OF_PART(good_low) ? "at least " : "", number);
		page_line(p);
	}
}

/* ---- the list ---- */

void compare_event_list(struct page *p, const struct capacity_log *log)
{
	char at[40];
	struct buf text;

	buf_init(&text, 8192);
	if (!log->event_count)
		page_field(p, "", STYLE_PLAIN, 0, STR("No change of capacity is known of the last 24 hours."));
	for (size_t i = 0; i < log->event_count; i++) {
		const struct capacity_event *e = &log->events[i];

		time_phrase(e->t_ms, at);
		buf_reset(&text);
		buf_printf(&text, "%s ", e->told ? "told:" : "seen:");
		event_phrase(e, &text);
		page_field(p, at, STYLE_BOLD, 26, buf_str(&text));
	}
	buf_fini(&text);
}

void compare_event_list_json(struct buf *out, const struct capacity_log *log)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.compare.events/1"));
	json_open(&j, "events", '[');
	for (size_t i = 0; i < log->event_count; i++) {
		json_open(&j, NULL, '{');
		event_print_event(&j, &log->events[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	buf_add_c(out, '\n');
}
