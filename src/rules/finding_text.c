#include "rules/finding_text.h"

#include "base/buf.h"

#include <time.h>

enum { TEXT_MAX = 1 << 16, PLACES_SHOWN = 5, ANNOTATIONS_MAX = 8 };

struct annotations { /* in the arena */
	struct arena *arena;
	struct pairs pairs;
};

static void add(struct annotations *a, struct str name, struct buf *text)
{
	if (text->len)
		a->pairs.items[a->pairs.count++] = (struct label){ name, arena_str(a->arena, buf_str(text)) };
	buf_reset(text);
}

static void add_time(int64_t t_ms, struct buf *out)
{
	time_t seconds = (time_t)(t_ms / 1000);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_add_cstr(out, text);
}

/* "3 of 32: a, b, c" */
static void add_places(const struct finding *f, struct buf *out)
{
	if (f->where_all > 1)
		buf_printf(out, "%zu of %zu: ", f->where_count, f->where_all);
	for (size_t i = 0; i < f->where_count && i < PLACES_SHOWN; i++) {
		buf_add_cstr(out, i ? ", " : "");
		buf_add(out, f->where[i]);
	}
	if (f->where_count > PLACES_SHOWN)
		buf_printf(out, " and %zu more", f->where_count - PLACES_SHOWN);
}

static void add_sentence(struct str text, struct buf *out)
{
	if (!text.len)
		return;
	if (out->len)
		buf_add_c(out, ' ');
	buf_add(out, text);
	if (!strchr(".!?", text.ptr[text.len - 1]))
		buf_add_c(out, '.');
}

static void add_evidence(const char *head, const struct evidence_line *lines, size_t count, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct reading *r = &lines[i].reading;

		if (r->kind == READING_UNKNOWN || r->kind == READING_CELLS)
			continue;
		buf_add_cstr(out, any ? "; " : out->len ? " " : "");
		buf_add_cstr(out, any ? "" : head);
		buf_add(out, lines[i].signal->title);
		buf_add_cstr(out, ": ");
		reading_print(r, lines[i].signal->unit, out);
		any = true;
	}
	if (any)
		buf_add_c(out, '.');
}

static void add_actions(const struct finding *f, struct buf *out)
{
	static const char *const grades[] = { [ACTION_NOW] = "Now", [ACTION_SHIFT] = "This shift", [ACTION_LATER] = "Later" };

	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &f->actions[i];

		buf_printf(out, "%s%s: " STR_FMT, out->len ? "\n" : "", grades[a->grade], STR_ARG(a->text));
		if (a->risk.len)
			buf_printf(out, " (risk: " STR_FMT ")", STR_ARG(a->risk));
		if (a->command.len)
			buf_printf(out, "\n  $ " STR_FMT, STR_ARG(a->command));
	}
}

static void add_command(struct annotations *a, struct str command, int64_t t_ms, struct buf *text)
{
	if (!command.len)
		return;
	buf_add(text, command);
	buf_add_cstr(text, " --at ");
	add_time(t_ms, text);
	add(a, STR("command"), text);
}

struct pairs finding_annotations(struct arena *arena, const struct finding *f, struct str command, int64_t t_ms)
{
	struct annotations a = { .arena = arena, .pairs.items = ARENA_ARRAY(arena, struct label, ANNOTATIONS_MAX) };
	struct buf text;

	buf_init(&text, TEXT_MAX);
	add_command(&a, command, t_ms, &text);
	add_sentence(f->detail, &text);
	add_evidence("Evidence: ", f->evidence, f->evidence_count, &text);
	add_evidence("Against it: ", f->counter, f->counter_count, &text);
	for (size_t i = 0; i < f->changed_count; i++)
		add_sentence(f->changed[i], &text);
	add(&a, STR("description"), &text);
	if (f->onset_ms)
		add_time(f->onset_ms, &text);
	add(&a, STR("onset"), &text);
	buf_add(&text, f->spec->explain);
	add_actions(f, &text);
	add(&a, STR("runbook"), &text);
	add_places(f, &text);
	if (text.len)
		buf_add_cstr(&text, ": ");
	buf_add(&text, f->title);
	add(&a, STR("summary"), &text);
	buf_fini(&text);
	return a.pairs;
}

struct pairs blind_annotations(struct arena *arena, struct str why, struct str command, int64_t t_ms)
{
	struct annotations a = { .arena = arena, .pairs.items = ARENA_ARRAY(arena, struct label, ANNOTATIONS_MAX) };
	struct buf text;

	buf_init(&text, TEXT_MAX);
	add_command(&a, command, t_ms, &text);
	buf_add_cstr(
		&text, "While this lasts no other alert is raised or ends: what is wrong in the fleet, and what is fine, is not known.");
	add(&a, STR("description"), &text);
	buf_add_cstr(&text,
		"Now: see whether the service answers its users; if it does, the fault is in the watch: network, discovery, credentials, "
		"or this "
		"server's load and disk\nNow: read the targets page (/api/v1/targets): each target says why it does not answer");
	add(&a, STR("runbook"), &text);
	buf_add_cstr(&text, "the watcher is blind: ");
	buf_add(&text, why);
	add(&a, STR("summary"), &text);
	buf_fini(&text);
	return a.pairs;
}
