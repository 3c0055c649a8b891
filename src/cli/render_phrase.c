/* Phrases that the text page and the ticket share. A blank that must not become a line break is a STICKY. */
#include "base/clock.h"
#include "cli/render.h"
#include "cli/render_parts.h"

#include <math.h>
#include <stdio.h>

bool reading_is_shown(const struct signal_spec *signal, const struct reading *r)
{
	return r->kind != READING_CELLS && !(r->kind == READING_AT_LEAST && r->low <= 0) && /* at least nothing says nothing */
	       !(r->kind == READING_UNKNOWN && (r->reason == UNKNOWN_NOT_APPLICABLE || r->reason == UNKNOWN_NOT_ENABLED ||
						       r->reason == UNKNOWN_GUARDED || r->reason == UNKNOWN_NO_REFERENCE));
}

void add_sticky(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		buf_add_c(out, text.ptr[i] == ' ' ? STICKY : text.ptr[i]);
}

/* The title says the unit already: "requests running 56". */
static struct str unit_beside(const struct signal_spec *signal)
{
	return signal->unit.len > 2 && !str_is(signal->unit, "ratio") && str_search(signal->title, signal->unit) >= 0 ? STR_EMPTY
														      : signal->unit;
}

static void flags_phrase(const struct report *r, const struct reading *reading, struct buf *out)
{
	if (reading->stale) {
		buf_add_cstr(out, ", stale since ");
		moment_phrase(reading->stale_since_ms, r->window.to_ms, out);
	}
	if (reading->over_reset)
		buf_add_cstr(out, ", over a restart");
	/* That some did not answer is said once, at the head. */
	if (reading->targets_in < reading->targets_all && (reading->targets_in != r->targets_up || reading->targets_all != r->target_count))
		buf_printf(out, ", %u of %u targets", reading->targets_in, reading->targets_all);
}

/* Figures whose worth depends on how many events are behind them. */
static bool is_statistical(const struct signal_spec *signal)
{
	return signal->is_fraction || signal->kind == SIGNAL_QUANTILE || signal->kind == SIGNAL_MEAN || signal->kind == SIGNAL_SHARE ||
	       signal->kind == SIGNAL_RATIO;
}

/* " (n = 240)"; few events are told exactly, many in thousands. */
static void events_phrase(double events, struct buf *out)
{
	if (events < 10000)
		buf_printf(out, " (n = %.0f)", events);
	else if (events < 1e7)
		buf_printf(out, " (n = %.0fk)", events / 1e3);
	else
		buf_printf(out, " (n = %.0fM)", events / 1e6);
}

void reading_value_phrase(
	const struct report *r, const struct signal_spec *signal, const struct reading *reading, double *events, struct buf *out)
{
	struct buf text;

	buf_init(&text, 65536);
	reading_print(reading, unit_beside(signal), &text);
	if (events && is_statistical(signal) && reading_is_number(reading) && isfinite(reading->events) && reading->events != *events) {
		events_phrase(reading->events, &text);
		*events = reading->events;
	}
	if (reading_known(reading))
		flags_phrase(r, reading, &text);
	add_sticky(out, buf_str(&text));
	buf_fini(&text);
}

void reading_phrase(
	const struct report *r, const struct signal_spec *signal, const struct reading *reading, double *events, struct buf *out)
{
	add_sticky(out, signal->title);
	buf_add_c(out, STICKY);
	reading_value_phrase(r, signal, reading, events, out);
}

void window_phrase(const struct window *window, struct buf *out)
{
	char from[40], to[40], length[64];

	time_format(window->from_ms / 1000 * 1000, from);
	time_format(window->to_ms / 1000 * 1000, to);
	if (window->from_ms == window->to_ms) {
		buf_printf(out, "%s", to);
		return;
	}
	/* The day is said once. */
	bool same_day = strncmp(from, to, 11) == 0;

	duration_format((window->to_ms - window->from_ms + 500) / 1000 * 1000, length);
	buf_printf(out, "%s to %s (%s)", from, same_day ? to + 11 : to, length);
}
