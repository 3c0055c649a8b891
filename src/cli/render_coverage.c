#include "base/clock.h"
#include "cli/render.h"
#include "cli/render_parts.h"

#include <stdio.h>

static bool is_silent(const struct target_report *t)
{
	return t->last.outcome != SCRAPE_OK || !t->last.t_ms;
}

static bool same_silence(const struct silent_group *g, const struct target_report *t)
{
	/* Parse errors differ by line, error answers by status: each is told. Time-outs are one story. */
	return g->outcome == t->last.outcome && (!(g->partial || g->outcome == SCRAPE_HTTP_STATUS) || str_eq(g->detail, t->last.detail));
}

size_t silent_groups(const struct report *r, struct silent_group *groups, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < r->target_count; i++) {
		const struct target_report *t = &r->targets[i];
		size_t k = 0;

		if (!is_silent(t))
			continue;
		while (k < count && !same_silence(&groups[k], t))
			k++;
		if (k == room) {
			groups[room - 1].others++;
			continue;
		}
		if (k == count)
			groups[count++] = (struct silent_group){
				.outcome = t->last.outcome, .detail = t->last.detail, .partial = scrape_answered(&t->last), .first = i
			};
		groups[k].count++;
	}
	return count;
}

/* ": connection refused. Nothing listens there: ..." */
static void silence_phrase(const struct scrape_record *last, struct buf *out)
{
	struct str advice = str_from(scrape_outcome_advice(last->outcome)), detail = last->detail;

	if (!last->t_ms) {
		buf_add_cstr(out, ": not asked in this window");
		return;
	}
	if (!detail.len)
		detail = str_from(scrape_outcome_name(last->outcome));
	/* Some advice begins with what happened. */
	if (!str_eq_nocase(str_head(advice, detail.len), detail))
		buf_printf(out, ": " STR_FMT ". " STR_FMT, STR_ARG(detail), STR_ARG(advice));
	else
		buf_printf(out, ": " STR_FMT, STR_ARG(advice));
}

void silent_phrase(const struct report *r, const struct silent_group *g, size_t most, struct buf *out)
{
	size_t named = 0;

	for (size_t i = g->first; i < r->target_count && named < most; i++) {
		if (!is_silent(&r->targets[i]) || !same_silence(g, &r->targets[i]))
			continue;
		buf_printf(out, "%s" STR_FMT, named ? ", " : "", STR_ARG(r->targets[i].target->name));
		named++;
	}
	if (g->count > named)
		buf_printf(out, " and %zu more", g->count - named);
	silence_phrase(&r->targets[g->first].last, out);
	if (g->others)
		buf_printf(out, " %zu more did not answer for other reasons.", g->others);
}

static bool same_engine(const struct target_report *a, const struct target_report *b)
{
	return a->binding && b->binding && a->binding->engine == b->binding->engine && str_eq(a->engine, b->engine);
}

/* The nth target whose engine none before it has. */
static const struct target_report *engine_leader(const struct report *r, size_t nth)
{
	for (size_t i = 0; i < r->target_count; i++) {
		bool seen = !r->targets[i].binding;

		for (size_t k = 0; k < i && !seen; k++)
			seen = same_engine(&r->targets[i], &r->targets[k]);
		if (!seen && nth-- == 0)
			return &r->targets[i];
	}
	return NULL;
}

/* Metrics of one coverage: "2 absent (a, b)". */
static void coverage_list(const struct target_report *t, enum coverage which, bool all, struct buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < t->coverage_count; i++)
		count += t->coverage[i].coverage == which;
	if (!count)
		return;
	buf_printf(out, "; %zu %s", count, coverage_name(which));
	if (!all)
		return;
	for (size_t i = 0, named = 0; i < t->coverage_count; i++) {
		if (t->coverage[i].coverage != which)
			continue;
		buf_printf(out, "%s" STR_FMT, named++ ? ", " : " (", STR_ARG(t->coverage[i].metric->id));
		if (t->coverage[i].why.len)
			buf_printf(out, ": " STR_FMT, STR_ARG(t->coverage[i].why));
	}
	buf_add_c(out, ')');
}

bool coverage_phrase(const struct report *r, size_t nth, bool all, struct buf *out)
{
	const struct target_report *t = engine_leader(r, nth);
	size_t same = 0, present = 0;

	if (!t)
		return false;
	for (size_t i = 0; i < r->target_count; i++)
		same += same_engine(t, &r->targets[i]) || &r->targets[i] == t;
	for (size_t i = 0; i < t->coverage_count; i++)
		present += t->coverage[i].coverage == COVERAGE_PRESENT;
	buf_add(out, t->engine.len ? t->engine : STR("no engine that goodput knows"));
	if (r->target_count > 1)
		buf_printf(out, " at %zu target%s", same, same == 1 ? "" : "s");
	buf_printf(out, ": %zu metrics present", present);
	coverage_list(t, COVERAGE_ABSENT, all, out);
	coverage_list(t, COVERAGE_NOT_ENABLED, all, out);
	if (all)
		coverage_list(t, COVERAGE_NOT_APPLICABLE, all, out);
	if (t->binding->unknown_count)
		buf_printf(out, "; %zu families unknown", t->binding->unknown_count);
	for (size_t i = 0; all && i < t->binding->unknown_count; i++)
		buf_printf(out, "%s" STR_FMT, i ? ", " : ": ", STR_ARG(t->binding->unknown_families[i]));
	if (t->binding->engine && t->binding->engine->checked_up_to.len)
		buf_printf(out, "; catalogue checked up to " STR_FMT " " STR_FMT, STR_ARG(t->binding->engine->title),
			STR_ARG(t->binding->engine->checked_up_to));
	return true;
}

void backend_phrase(const struct watch *w, struct buf *out)
{
	const struct remote_stats *s = backend_remote_stats(w->remote);
	char text[64];

	buf_add(out, s->server.len ? s->server : STR("a Prometheus API"));
	buf_printf(out, " at %s: %zu queries, %zu samples in %.1f s", w->options.remote.url, s->requests, s->samples,
		(double)s->elapsed_ms / 1000);
	if (w->options.remote.budget_ms) {
		duration_format(w->options.remote.budget_ms, text);
		buf_printf(out, " of %s", text);
	}
	if (w->interval_ms) {
		duration_format(w->interval_ms, text);
		buf_printf(out, "; scraped every %s", text);
	}
	if (s->replica_label.len)
		buf_printf(out, "; HA pairs merged by label " STR_FMT " (%zu series)", STR_ARG(s->replica_label), s->replicas_dropped);
	for (size_t i = 0; i < s->warning_count; i++)
		buf_printf(out, "; it warns: " STR_FMT, STR_ARG(s->warnings[i]));
}
