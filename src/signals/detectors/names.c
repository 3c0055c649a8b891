/* Names: figures read from an alias, bindings that changed, versions side by side. */
#include "signals/detectors/detect.h"

/* Was the figure read from a name that newer versions no longer have? */
static bool is_old_alias(const struct bound_metric *b)
{
	const struct name_spec *newest = &b->entry->names[0];
	return b->name->deprecated || (b->name != newest && b->name->until.len && !str_eq(b->name->name, newest->name));
}

static void tell_alias(struct wording *said, const struct metric_spec *m, const struct bound_metric *b)
{
	const struct name_spec *newest = &b->entry->names[0];
	if (str_eq(newest->name, b->name->name))
		wording_add(said, STR_FMT " is read from " STR_FMT " (deprecated)", STR_ARG(m->title), STR_ARG(b->name->name));
	else
		wording_add(said, STR_FMT " is read from " STR_FMT ", newer versions call it " STR_FMT, STR_ARG(m->title),
			STR_ARG(b->name->name), STR_ARG(newest->name));
}

/* Names of one metric that differ between the two ends of the window: the same figure goes on under another name. */
static void tell_changes(struct evaluation *ev, struct wording *said, const struct binding *old, const struct binding *now)
{
	for (size_t i = 0; i < ev->catalog->metrics.count; i++) {
		const struct name_spec *a = old->metrics[i].name, *b = now->metrics[i].name;
		if (a && b && a != b && !str_eq(a->name, b->name))
			wording_add(said, STR_FMT " went from " STR_FMT " to " STR_FMT, STR_ARG(ev->catalog->metrics.items[i]->title),
				STR_ARG(a->name), STR_ARG(b->name));
	}
}

static void judge_target(struct evaluation *ev, struct scope *s)
{
	const struct binding *now = evidence_binding(ev->evidence, s->target, ev->window.to_ms);
	if (!now || !target_answers(ev, s->target))
		return;
	struct wording said;
	wording_init(&said);
	const struct binding *old = has_window(ev) ? evidence_binding(ev->evidence, s->target, ev->window.from_ms) : NULL;
	if (old && old != now)
		tell_changes(ev, &said, old, now);
	for (size_t i = 0; i < ev->catalog->metrics.count; i++)
		if (now->metrics[i].name && now->metrics[i].entry && is_old_alias(&now->metrics[i]))
			tell_alias(&said, ev->catalog->metrics.items[i], &now->metrics[i]);
	struct str detail = wording_end(&said, ev->arena);
	if (detail.len)
		evaluation_raise(ev, "metric-renamed", s, NULL, 0, 1, detail);
}

static bool is_older(const struct binding *a, const struct binding *b)
{
	return a->engine == b->engine && a->version_high.len && b->version_low.len && version_cmp(a->version_high, b->version_low) < 0 &&
	       !version_within(b->version_low, STR_EMPTY, a->version_high);
}

static struct str engine_text(struct arena *arena, const struct binding *b)
{
	struct buf text;
	buf_init(&text, 256);
	binding_print_engine(b, &text);
	struct str copy = arena_str(arena, buf_str(&text));
	buf_fini(&text);
	return copy;
}

/* The first pair of targets whose version ranges do not meet. */
static void judge_versions(struct evaluation *ev, struct scope *s)
{
	const struct binding *oldest = NULL, *newest = NULL;
	size_t oldest_target = 0, newest_target = 0;
	for (size_t i = 0; i < s->target_count; i++) {
		const struct binding *b = evidence_binding(ev->evidence, s->targets[i], ev->window.to_ms);
		if (!b || !b->engine)
			continue;
		if (!oldest || is_older(b, oldest)) {
			oldest = b;
			oldest_target = s->targets[i];
		}
		if (!newest || is_older(newest, b)) {
			newest = b;
			newest_target = s->targets[i];
		}
	}
	if (!oldest || !(is_older(oldest, newest) || oldest->engine != newest->engine))
		return;
	struct str a = engine_text(ev->arena, oldest), b = engine_text(ev->arena, newest);
	struct str where[] = { target_name(ev, oldest_target), target_name(ev, newest_target) };
	struct str detail = arena_printf(
		ev->arena, STR_FMT ": " STR_FMT ", " STR_FMT ": " STR_FMT, STR_ARG(where[0]), STR_ARG(a), STR_ARG(where[1]), STR_ARG(b));
	evaluation_raise(ev, "version-mix", s, where, 2, s->target_count, detail);
}

void names_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		judge_target(ev, s);
	}
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		if (s->target_count > 1)
			judge_versions(ev, s);
	}
}
