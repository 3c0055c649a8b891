/* The whole job for one span of time: findings over its moments, readings of the shown window, coverage, verdict. */
#include "signals/incidents.h"
#include "signals/phrase.h"
#include "signals/verdict.h"

#include <math.h>

const char *scope_kind_name(enum scope_kind k)
{
	static const char *const names[] = { "fleet", "pool", "target", "engine", "gpu" };
	return k <= SCOPE_GPU ? names[k] : "scope";
}

/* ---- moments ---- */

struct report_request report_request_at(const int64_t *moments, size_t moment, int64_t window_ms)
{
	size_t first = moment ? moment - 1 : 0, history = 0;

	while (first && moments[first - 1] >= moments[moment] - window_ms)
		first--;
	while (history < first && moments[history] < moments[moment] - REPORT_HISTORY_MS)
		history++;
	return (struct report_request){ .moments = moments + history,
		.moment_count = moment + 1 - history,
		.max_moments = REPORT_MOMENTS,
		.shown = { moments[first], moments[moment], moments[history] } };
}

enum { GRID_LEAST_MS = 1000 };

/* Cells of so many ms, of which `most` cover the span; 1, 1.5, 2, 3, 4, 6 s and so on, so that it seldom changes. */
static int64_t grid_ms(int64_t span_ms, size_t most)
{
	int64_t width = GRID_LEAST_MS;
	while (span_ms / width >= (int64_t)most && span_ms / (width + width / 2) >= (int64_t)most)
		width *= 2;
	return span_ms / width >= (int64_t)most ? width + width / 2 : width;
}

/* The last moment of a cell, and not so shortly before the end that the last two are nearly one. */
static bool ends_cell(const int64_t *moments, size_t i, int64_t last_ms, int64_t width_ms)
{
	return moments[i] / width_ms != moments[i + 1] / width_ms && last_ms - moments[i] >= width_ms / 2;
}

/* All moments or, of more than `max_moments`, about so many: the first, the last, and between them the last of each cell of a grid that
 * stays where it is while time goes on. So what is over is told from the same windows the next time. Returns how many. */
static size_t choose_moments(struct arena *arena, const struct report_request *rq, int64_t **chosen)
{
	const int64_t *moments = rq->moments;
	size_t in_span = 0, count = 0;
	while (in_span < rq->moment_count && moments[in_span] <= rq->shown.to_ms)
		in_span++;
	*chosen = ARENA_ARRAY(arena, int64_t, in_span + 1);
	if (!in_span)
		return 0;
	bool all = !rq->max_moments || in_span <= rq->max_moments;
	int64_t last_ms = moments[in_span - 1], width_ms = all ? 0 : grid_ms(last_ms - moments[0], rq->max_moments);
	for (size_t i = 0; i < in_span; i++) {
		bool wanted = all || i == 0 || i == in_span - 1 || ends_cell(moments, i, last_ms, width_ms);
		if (wanted && (!count || (*chosen)[count - 1] != moments[i]))
			(*chosen)[count++] = moments[i];
	}
	return count;
}

/* Evaluations of moments take turns in two arenas: one lives until the next has been added. */
struct turns {
	struct arena arenas[2];
	struct evaluation evaluations[2];
	bool live[2];
};

static struct evaluation *take_turn(struct turns *t, size_t i, struct evidence *evidence, struct window window)
{
	size_t k = i % 2;
	if (t->live[k])
		evaluation_fini(&t->evaluations[k]);
	arena_reset(&t->arenas[k]);
	evaluation_init(&t->evaluations[k], &t->arenas[k], evidence, window, NULL);
	t->live[k] = true;
	return &t->evaluations[k];
}

static void turns_fini(struct turns *t)
{
	for (size_t k = 0; k < 2; k++) {
		if (t->live[k])
			evaluation_fini(&t->evaluations[k]);
		arena_fini(&t->arenas[k]);
	}
}

static void walk_moments(struct turns *t, struct incidents *in, struct evidence *evidence, const int64_t *moments, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct window w = { .from_ms = moments[i ? i - 1 : 0], .to_ms = moments[i], .history_ms = evidence->from_ms };
		struct evaluation *ev = take_turn(t, i, evidence, w);
		findings_find(ev);
		incidents_add_moment(in, ev);
	}
}

static void add_window(struct incidents *in, struct evidence *evidence, struct window w, const struct window *reference)
{
	struct arena arena;
	struct evaluation ev;
	arena_init(&arena);
	evaluation_init(&ev, &arena, evidence, w, reference);
	findings_find(&ev);
	incidents_add_window(in, &ev);
	evaluation_fini(&ev);
	arena_fini(&arena);
}

static bool same_window(const struct window *a, const struct window *b)
{
	return a->from_ms == b->from_ms && a->to_ms == b->to_ms;
}

/* The second half against the first: what drifts shows where no window to compare with was given. */
static void add_halves(struct incidents *in, struct evidence *evidence, const int64_t *moments, size_t count)
{
	if (count < 5)
		return;
	struct window early = { .from_ms = moments[0], .to_ms = moments[count / 2], .history_ms = evidence->from_ms };
	struct window late = { .from_ms = moments[count / 2], .to_ms = moments[count - 1], .history_ms = evidence->from_ms };
	add_window(in, evidence, late, &early);
}

static void find_incidents(
	struct incidents *in, struct turns *t, struct evaluation *shown, const struct report_request *rq, struct report *r)
{
	int64_t *moments;
	size_t count = choose_moments(in->arena, rq, &moments);
	r->moments_all = rq->moment_count;
	if (rq->only_shown) {
		incidents_add_window(in, shown);
		return;
	}
	r->moments_evaluated = count;
	walk_moments(t, in, in->evidence, moments, count);
	incidents_add_window(in, shown);
	struct window whole = {
		.from_ms = count ? moments[0] : 0, .to_ms = count ? moments[count - 1] : 0, .history_ms = in->evidence->from_ms
	};
	if (count > 2 && !same_window(&whole, &rq->shown))
		add_window(in, in->evidence, whole, NULL);
	if (!rq->reference)
		add_halves(in, in->evidence, moments, count);
}

/* ---- readings ---- */

static struct reading change_of(const struct reading *now, const struct reading *before)
{
	struct reading ratio = reading_combine('/', now, before), one = reading_value(1);
	return reading_combine('-', &ratio, &one);
}

static void read_all(struct arena *arena, struct evaluation *shown, const struct window *reference, struct report *r)
{
	size_t signals = shown->catalog->signals.count;
	struct evaluation before;
	if (reference)
		evaluation_init(&before, arena, shown->evidence, *reference, NULL);
	r->readings = ARENA_ARRAY(arena, struct reading *, shown->scope_count + 1);
	r->change = reference ? ARENA_ARRAY(arena, struct reading *, shown->scope_count + 1) : NULL;
	for (size_t s = 0; s < shown->scope_count; s++) {
		const struct scope *old = reference ? evaluation_scope(&before, shown->scopes[s].kind, shown->scopes[s].name) : NULL;
		r->readings[s] = ARENA_ARRAY(arena, struct reading, signals + 1);
		if (reference)
			r->change[s] = ARENA_ARRAY(arena, struct reading, signals + 1);
		for (size_t i = 0; i < signals; i++) {
			const struct signal_spec *signal = shown->catalog->signals.items[i];
			r->readings[s][i] = *evaluation_reading(shown, &shown->scopes[s], signal);
			if (old)
				r->change[s][i] = change_of(&r->readings[s][i], evaluation_reading(&before, old, signal));
			else if (reference)
				r->change[s][i] = reading_unknown(UNKNOWN_NO_REFERENCE, STR_EMPTY);
		}
	}
	if (reference)
		evaluation_fini(&before);
}

/* ---- targets ---- */

static void report_coverage(struct arena *arena, const struct catalog *c, struct target_report *t)
{
	t->coverage_count = c->metrics.count;
	t->coverage = ARENA_ARRAY(arena, struct coverage_line, c->metrics.count + 1);
	for (size_t i = 0; i < c->metrics.count; i++) {
		const struct bound_metric *bound = &t->binding->metrics[i];
		t->coverage[i] = (struct coverage_line){ c->metrics.items[i], bound->coverage, bound->why,
			bound->name ? bound->name->name : STR_EMPTY };
	}
}

static void report_target(struct arena *arena, struct evidence *ev, size_t index, int64_t t_ms, struct target_report *t)
{
	const struct scrape_record *last = evidence_scrape(ev, index, t_ms);
	t->target = ev->targets.items[index].target;
	t->binding = evidence_binding(ev, index, t_ms);
	t->last = last ? *last : (struct scrape_record){ .duration_s = NAN };
	if (!t->binding) {
		t->engine = STR("never answered");
		return;
	}
	report_coverage(arena, ev->catalog, t);
	struct buf text;
	buf_init(&text, 512);
	binding_print_engine(t->binding, &text);
	t->engine = arena_str(arena, buf_str(&text));
	buf_fini(&text);
}

static void report_targets(struct arena *arena, struct evidence *ev, struct report *r)
{
	r->target_count = ev->targets.count;
	r->targets = ARENA_ARRAY(arena, struct target_report, r->target_count + 1);
	for (size_t i = 0; i < r->target_count; i++) {
		struct target_report *t = &r->targets[i];
		report_target(arena, ev, i, r->window.to_ms, t);
		r->targets_up += t->last.t_ms && scrape_is_whole(&t->last);
		r->targets_judged += t->binding && (t->binding->engine || t->binding->exporter_count);
	}
}

struct report *report_new(struct arena *arena, struct evidence *evidence, const struct report_request *request)
{
	struct report *r = ARENA_NEW(arena, struct report);
	r->window = request->shown;
	r->has_window = request->shown.from_ms < request->shown.to_ms;
	r->has_reference = request->reference != NULL;
	if (request->reference)
		r->reference = *request->reference;
	r->catalog = evidence->catalog;
	r->fleet = evidence->fleet;

	struct evaluation shown;
	struct incidents in;
	struct turns turns = { 0 };
	arena_init(&turns.arenas[0]);
	arena_init(&turns.arenas[1]);
	incidents_init(&in, arena, evidence);
	evaluation_init(&shown, arena, evidence, request->shown, request->reference);
	findings_find(&shown);
	find_incidents(&in, &turns, &shown, request, r);
	r->findings = incidents_finish(&in, &shown, &r->finding_count);
	read_all(arena, &shown, request->reference, r);
	r->scopes = shown.scopes;
	r->scope_count = shown.scope_count;
	report_targets(arena, evidence, r);
	report_judge(arena, r);
	incidents_fini(&in);
	turns_fini(&turns);
	evaluation_fini(&shown);
	return r;
}

/* ---- look-up ---- */

const struct reading *report_reading(const struct report *r, const struct scope *s, const char *signal)
{
	const struct signal_spec *spec = catalog_signal(r->catalog, signal);
	return spec && s ? &r->readings[s - r->scopes][spec->index] : NULL;
}

/* "gpu0" of "dcgm/gpu0", "engine0" of "pod-a/engine0". */
static bool is_short_name(const struct scope *s, struct str name)
{
	if (s->kind != SCOPE_ENGINE && s->kind != SCOPE_GPU)
		return false;
	struct str rest = s->name, part;
	while (str_split(&rest, '/', &part))
		if (str_eq(part, name))
			return true;
	return false;
}

/* A target's only engine is the target: "pod-a/engine0" means pod-a, and "engine0" the only target. */
static const struct scope *only_engine(const struct report *r, struct str name)
{
	struct str owner = STR_EMPTY, rest = name;
	ptrdiff_t slash = str_find(name, '/');
	if (slash >= 0) {
		owner = str_head(name, (size_t)slash);
		rest = str_skip(name, (size_t)slash + 1);
	}
	for (size_t i = 0; str_starts(rest, STR("engine")) && i < r->scope_count; i++) {
		const struct scope *s = &r->scopes[i];
		if (s->kind == SCOPE_TARGET && (owner.len ? str_eq(s->name, owner) : r->target_count == 1))
			return s;
	}
	return NULL;
}

const struct scope *report_scope(const struct report *r, struct str name)
{
	const struct scope *found = NULL;
	size_t count = 0;
	for (size_t i = 0; i < r->scope_count; i++) {
		if (str_eq(r->scopes[i].name, name))
			return &r->scopes[i];
		if (is_short_name(&r->scopes[i], name)) {
			found = &r->scopes[i];
			count++;
		}
	}
	if (count)
		return count == 1 ? found : NULL;
	return only_engine(r, name);
}

const char *verdict_severity(const struct report *r)
{
	if (r->any_finding && r->targets_judged)
		return severity_name(r->worst);
	if (r->exit_status == EXIT_UNKNOWN)
		return "unknown";
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

/* ---- who is to be looked at first ---- */

static double value_of(const struct report *r, const struct scope *s, const char *signal)
{
	const struct reading *reading = report_reading(r, s, signal);

	return reading && reading_is_number(reading) ? isfinite(reading->high) ? reading->high : reading->low : 0;
}

/* Targets that findings name come first, then silent ones, then the slow and the queued. */
double scope_badness(const struct report *r, const struct scope *s)
{
	double bad = 0;

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		if (!finding_is_listed(f) || f->where_count == f->where_all)
			continue;
		for (size_t k = 0; k < f->where_count; k++)
			if (str_eq(f->where[k], s->name))
				bad += f->severity == SEVERITY_CRITICAL ? 1e6 : f->severity == SEVERITY_WARNING ? 1e4 : 100;
	}
	if (!scrape_answered(&r->targets[s->target].last))
		bad += 1e3;
	return bad + fmin(value_of(r, s, "ttft_p99"), 99) + fmin(value_of(r, s, "waiting") / 1000, 1);
}
