#include "tui/view.h"

#include "base/clock.h"
#include "base/mem.h"
#include "signals/evidence.h"
#include "signals/phrase.h"
#include "tui/view_internal.h"

#include <math.h>

const struct view_column_spec view_columns[VIEW_COLUMNS] = {
	[COLUMN_RUNNING] = { "running", "run", 6 },
	[COLUMN_WAITING] = { "waiting", "wait", 6 },
	[COLUMN_KV] = { "kv_usage_max", "KV", 7 },
	[COLUMN_TTFT] = { "ttft_p99", "TTFT P99", 9 },
	[COLUMN_TPOT] = { "tpot_p99", "TPOT P99", 9 },
	[COLUMN_OUT] = { "generation_tps", "out tok/s", 10 },
	[COLUMN_REQUESTS] = { "requests_per_s", "req/s", 7 },
	[COLUMN_HIT] = { "prefix_hit_rate", "KV-hit", 7 },
	[COLUMN_IN] = { "prompt_tps", "in tok/s", 9 },
	[COLUMN_PREEMPTIONS] = { "preemptions_per_s", "preempt/s", 10 },
	[COLUMN_E2E] = { "e2e_p99", "E2E P99", 9 },
	[COLUMN_SUCCESS] = { "success_rate", "success", 8 },
};

static struct str kept(struct view *v, struct buf *text)
{
	struct str s = arena_str(&v->arena, buf_str(text));

	buf_reset(text);
	return s;
}

static double number_of(const struct reading *r)
{
	return !reading_is_number(r) ? NAN : isfinite(r->high) ? r->high : r->low;
}

/* The head says what is counted: only s and % keep their unit. */
static struct view_cell cell_of(struct view *v, const struct signal_spec *signal, const struct reading *r, struct buf *text)
{
	struct str unit = str_is(signal->unit, "s") || str_is(signal->unit, "ratio") ? signal->unit : STR_EMPTY;

	if (!reading_is_number(r)) {
		bool blank = r->reason == UNKNOWN_NO_TRAFFIC || r->reason == UNKNOWN_NOT_APPLICABLE;

		return (struct view_cell){ .text = blank ? STR("-") : STR("?"), .value = NAN };
	}
	reading_print(r, unit, text);
	return (struct view_cell){ .text = kept(v, text), .value = number_of(r), .known = true, .stale = r->stale };
}

/* ---- readings ---- */

static struct str basis_of(struct view *v, const struct report *r, const struct reading *reading, struct buf *text)
{
	if (isfinite(reading->events))
		buf_printf(text, "n = %.0f", reading->events);
	if (reading->has_interval)
		buf_printf(text, "%s95 %% interval %.4g to %.4g", text->len ? " · " : "", reading->interval_low, reading->interval_high);
	if (isfinite(reading->mean) && reading->mean > 0 && reading->kind != READING_UNKNOWN)
		buf_printf(text, "%smean %.4g", text->len ? " · " : "", reading->mean);
	if (isfinite(reading->share_beyond) && reading->share_beyond > 0)
		buf_printf(text, "%s%.3g %% beyond the last bucket", text->len ? " · " : "", reading->share_beyond * 100);
	if (reading->targets_in < reading->targets_all)
		buf_printf(text, "%s%u of %u targets", text->len ? " · " : "", reading->targets_in, reading->targets_all);
	if (reading->over_reset)
		buf_printf(text, "%sover a restart", text->len ? " · " : "");
	if (reading->stale) {
		buf_printf(text, "%sstale since ", text->len ? " · " : "");
		moment_phrase(reading->stale_since_ms, r->window.to_ms, text);
	}
	if (reading->exposed.len)
		buf_printf(text, "%sfrom " STR_FMT, text->len ? " · " : "", STR_ARG(reading->exposed));
	if (reading->note.len)
		buf_printf(text, "%s" STR_FMT, text->len ? " · " : "", STR_ARG(reading->note));
	return kept(v, text);
}

/* Does the short list show it? Not what this engine does not have. */
static bool is_shown(const struct reading *r)
{
	return r->kind != READING_CELLS &&
	       !(r->kind == READING_UNKNOWN && (r->reason == UNKNOWN_NOT_APPLICABLE || r->reason == UNKNOWN_NOT_ENABLED ||
						       r->reason == UNKNOWN_GUARDED || r->reason == UNKNOWN_NO_REFERENCE));
}

static void readings_of(struct view *v, const struct report *r, size_t scope, struct view_scope *s, struct buf *text)
{
	s->readings = ARENA_ARRAY(&v->arena, struct view_reading, v->signal_count + 1);
	for (size_t i = 0; i < v->signal_count; i++) {
		const struct reading *reading = &r->readings[scope][i];
		struct view_reading *out = &s->readings[i];

		*out = (struct view_reading){
			.signal = i, .known = reading_known(reading), .shown = is_shown(reading), .number = number_of(reading)
		};
		if (!out->shown)
			continue;
		reading_print(reading, r->catalog->signals.items[i]->unit, text);
		out->value = kept(v, text);
		out->basis = basis_of(v, r, reading, text);
	}
}

/* ---- scopes ---- */

static void state_of(struct view *v, const struct report *r, const struct scope *s, struct view_scope *out, struct buf *text)
{
	const struct reading *running = report_reading(r, s, "running");

	out->badness = scope_badness(r, s);
	out->answers = true;
	if (s->kind != SCOPE_FLEET && s->kind != SCOPE_POOL) {
		const struct scrape_record *last = &r->targets[s->target].last;

		out->answers = scrape_answered(last);
		if (!scrape_is_whole(last))
			buf_add_cstr(text, last->t_ms ? scrape_outcome_name(last->outcome) : "never asked");
	}
	bool stale = running && running->stale;

	if (!text->len && stale) {
		buf_add_cstr(text, "stale since ");
		moment_phrase(running->stale_since_ms, r->window.to_ms, text);
	}
	if (!text->len)
		buf_add_cstr(text, "ok");
	out->state = kept(v, text);
	out->mark = !out->answers                               ? MARK_SILENT
		    : out->badness >= 1e6                       ? MARK_CRITICAL
		    : out->badness >= 1e4 || stale              ? MARK_WARNING
		    : out->badness >= 100 && out->badness < 1e3 ? MARK_INFO
								: MARK_FINE;
}

static struct str about_of(struct view *v, const struct report *r, const struct scope *s, struct buf *text)
{
	if (s->kind == SCOPE_TARGET || s->kind == SCOPE_ENGINE)
		buf_add(text, r->targets[s->target].engine);
	else
		buf_printf(text, "%zu target%s", s->target_count, s->target_count == 1 ? "" : "s");
	if (s->model.len)
		buf_printf(text, " · " STR_FMT, STR_ARG(s->model));
	else if (s->mixed_models)
		buf_add_cstr(text, " · several models");
	if (s->pool)
		buf_printf(text, " · pool " STR_FMT " (%s)", STR_ARG(s->pool->name), pool_role_name(s->pool->role));
	return kept(v, text);
}

static void scope_add(struct view *v, const struct report *r, size_t index, const struct view_history *h, struct buf *text)
{
	const struct scope *s = &r->scopes[index];
	struct view_scope *out = &v->scopes[v->scope_count++];

	out->kind = s->kind;
	out->name = arena_str(&v->arena, s->name);
	out->label = s->kind == SCOPE_FLEET ? STR("ALL") : arena_str(&v->arena, scope_label(r, s));
	state_of(v, r, s, out, text);
	out->about = about_of(v, r, s, text);
	for (size_t i = 0; i < VIEW_COLUMNS; i++) {
		const struct signal_spec *signal = catalog_signal(r->catalog, view_columns[i].signal);

		out->cells[i] = signal ? cell_of(v, signal, &r->readings[index][signal->index], text)
				       : (struct view_cell){ .text = STR("-"), .value = NAN };
	}
	readings_of(v, r, index, out, text);
	out->trend_count = view_history_copy(h, s->name, out->trends);
}

static size_t scopes_add(struct view *v, const struct report *r, const struct view_history *h, enum scope_kind kind, struct buf *text)
{
	size_t before = v->scope_count;

	for (size_t i = 0; i < r->scope_count; i++)
		if (r->scopes[i].kind == kind)
			scope_add(v, r, i, h, text);
	return v->scope_count - before;
}

static void signals_add(struct view *v, const struct report *r)
{
	v->signal_count = r->catalog->signals.count;
	v->signals = ARENA_ARRAY(&v->arena, struct view_signal, v->signal_count + 1);
	for (size_t i = 0; i < v->signal_count; i++) {
		const struct signal_spec *s = r->catalog->signals.items[i];

		v->signals[i] = (struct view_signal){ arena_str(&v->arena, s->id), arena_str(&v->arena, s->title),
			arena_str(&v->arena, s->group), arena_str(&v->arena, s->help) };
	}
}

static struct str severity_of(const struct report *r)
{
	return str_from(verdict_severity(r));
}

static void head_add(struct view *v, const struct report *r, struct buf *text)
{
	char length[64];

	v->t_ms = r->window.to_ms;
	if (r->has_window) {
		duration_format((r->window.to_ms - r->window.from_ms + 500) / 1000 * 1000, length);
		buf_add_cstr(text, length);
	} else {
		buf_add_cstr(text, "levels only");
	}
	v->window = kept(v, text);
	v->severity = severity_of(r);
	v->verdict = arena_str(&v->arena, verdict_sentence(r));
	v->exit_status = r->exit_status;
	v->targets_up = r->targets_up;
	v->targets = r->target_count;
}

struct view *view_new(const struct report *r, const struct view_history *h)
{
	struct view *v = NEW(struct view);
	struct buf text;

	arena_init(&v->arena);
	buf_init(&text, 1 << 20);
	head_add(v, r, &text);
	signals_add(v, r);
	v->scopes = ARENA_ARRAY(&v->arena, struct view_scope, r->scope_count + 1);
	scopes_add(v, r, h, SCOPE_FLEET, &text);
	scopes_add(v, r, h, SCOPE_POOL, &text);
	v->first_row = v->scope_count;
	if (r->fleet->targets.count != 1 || !scopes_add(v, r, h, SCOPE_ENGINE, &text))
		scopes_add(v, r, h, SCOPE_TARGET, &text);
	buf_fini(&text);
	view_findings(v, r, h);
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	arena_fini(&v->arena);
	mem_free(v);
}

const struct view_scope *view_scope(const struct view *v, struct str name)
{
	for (size_t i = 0; i < v->scope_count; i++)
		if (str_eq(v->scopes[i].name, name))
			return &v->scopes[i];
	return NULL;
}

const struct view_reading *view_reading(const struct view *v, const struct view_scope *s, const char *signal)
{
	for (size_t i = 0; i < v->signal_count; i++)
		if (str_is(v->signals[i].id, signal))
			return &s->readings[i];
	return NULL;
}
