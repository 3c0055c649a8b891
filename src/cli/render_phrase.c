/* Phrases that the text page and the ticket share. A blank that must not become a line break is a STICKY. */
#include "base/clock.h"
#include "cli/render.h"
#include "cli/render_parts.h"

#include <math.h>
#include <stdio.h>

const char *verdict_severity(const struct report *r)
{
	switch (r->exit_status) {
	case EXIT_CRITICAL: return "critical";
	case EXIT_WARNING: return "warning";
	case EXIT_UNKNOWN: return "unknown";
	}
	for (size_t i = 0; i < r->finding_count; i++)
		if (!r->findings[i].undecided && !r->findings[i].suppressed_by)
			return "info";
	return "fine";
}

struct str scope_label(const struct report *r, const struct scope *s)
{
	ptrdiff_t slash = str_find(s->name, '/');

	if ((s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU) && r->fleet->targets.count == 1 && slash >= 0)
		return str_skip(s->name, (size_t)slash + 1);
	return s->name;
}

bool reading_is_shown(const struct signal_spec *signal, const struct reading *r)
{
	return r->kind != READING_CELLS &&
	       !(r->kind == READING_UNKNOWN && (r->reason == UNKNOWN_NOT_APPLICABLE || r->reason == UNKNOWN_NOT_ENABLED ||
						       r->reason == UNKNOWN_GUARDED || r->reason == UNKNOWN_NO_REFERENCE));
}

static void add_sticky(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		buf_add_c(out, text.ptr[i] == ' ' ? STICKY : text.ptr[i]);
}

static void flags_phrase(const struct reading *r, struct buf *out)
{
	if (r->stale) {
		buf_add_cstr(out, ", stale since ");
		moment_phrase(r->stale_since_ms, r->stale_since_ms, out);
	}
	if (r->over_reset)
		buf_add_cstr(out, ", over a restart");
	if (r->targets_in < r->targets_all)
		buf_printf(out, ", %u of %u targets", r->targets_in, r->targets_all);
}

void reading_value_phrase(const struct signal_spec *signal, const struct reading *r, bool with_events, struct buf *out)
{
	struct buf text;

	buf_init(&text, 65536);
	reading_print(r, signal->unit, &text);
	if (with_events && reading_is_number(r) && isfinite(r->events))
		buf_printf(&text, " (n = %.0f)", r->events);
	if (reading_known(r))
		flags_phrase(r, &text);
	add_sticky(out, buf_str(&text));
	buf_fini(&text);
}

void reading_phrase(const struct signal_spec *signal, const struct reading *r, bool with_events, struct buf *out)
{
	add_sticky(out, signal->title);
	buf_add_c(out, STICKY);
	reading_value_phrase(signal, r, with_events, out);
}

void window_phrase(const struct window *window, struct buf *out)
{
	char from[40], to[40], length[64];

	time_format(window->from_ms, from);
	time_format(window->to_ms, to);
	if (window->from_ms == window->to_ms) {
		buf_printf(out, "%s", to);
		return;
	}
	/* The day is said once. */
	bool same_day = strncmp(from, to, 11) == 0;

	duration_format((window->to_ms - window->from_ms + 500) / 1000 * 1000, length);
	buf_printf(out, "%s to %s (%s)", from, same_day ? to + 11 : to, length);
}

void where_phrase(const struct finding *f, size_t most, struct buf *out)
{
	if (!f->where_count) {
		buf_add(out, f->scope ? f->scope->name : STR("fleet"));
		return;
	}
	if (f->where_all > 1)
		buf_printf(out, "%zu of %zu: ", f->where_count, f->where_all);
	for (size_t i = 0; i < f->where_count && i < most; i++)
		buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(f->where[i]));
	if (f->where_count > most)
		buf_printf(out, " and %zu more", f->where_count - most);
}
