#include "signals/detectors/trends.h"

#include "signals/detectors/detect.h"
#include "signals/detectors/pauses.h"

/* ---- building ---- */

struct points {
	VEC(int64_t) t;
	VEC(double) v;
};

static void add_point(struct points *p, int64_t t_ms, double v)
{
	VEC_PUSH(&p->t, t_ms);
	VEC_PUSH(&p->v, v);
}

static bool level_then(struct evaluation *ev, size_t scheduler, const char *metric, int64_t t_ms, double *value)
{
	struct level_query q = { .metric = catalog_metric(ev->catalog, metric), .t_ms = t_ms };
	if (!q.metric)
		return false;
	struct reading r = scheduler_level(ev, scheduler, &q);
	*value = r.low;
	return r.kind == READING_VALUE;
}

/* The sum of what counts work at a time: when it has not moved, a gauge has not been written again. NAN when nothing is exported. */
static double work_done(struct evaluation *ev, size_t scheduler, int64_t t_ms)
{
	static const char *const counters[] = { "steps", "generation_tokens", "prompt_tokens", "finished" };
	const struct target_evidence *t = target_evidence(ev, ev->evidence->schedulers.items[scheduler].target);
	double sum = NAN;
	for (size_t n = 0; n < ARRAY_LEN(counters); n++) {
		const struct metric_spec *m = catalog_metric(ev->catalog, counters[n]);
		const struct member_list *list = m ? evidence_members(ev->evidence, scheduler, m, t_ms) : NULL;
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct member *member = &list->members.items[i];
			ptrdiff_t at = member->part == PART_BUCKET || member->part == PART_SUM
					       ? -1
					       : view_at(&member->view, t_ms, target_patience_ms(t));
			if (at >= 0)
				sum = (isnan(sum) ? 0 : sum) + member->view.v[at];
		}
	}
	return sum;
}

static void collect_idle_kv(struct evaluation *ev, size_t scheduler, struct points *p)
{
	const struct target *t = target_evidence(ev, ev->evidence->schedulers.items[scheduler].target)->target;
	double work_then = NAN;
	for (size_t i = 0; i < t->scrapes.count; i++) {
		int64_t t_ms = t->scrapes.items[i].t_ms;
		double running, waiting, usage;
		if (!scrape_answered(&t->scrapes.items[i]) || !level_then(ev, scheduler, "running", t_ms, &running) || running != 0 ||
			(level_then(ev, scheduler, "waiting", t_ms, &waiting) && waiting != 0) ||
			!level_then(ev, scheduler, "kv_usage", t_ms, &usage))
			continue;
		double work = work_done(ev, scheduler, t_ms);
		if (p->t.count && work == work_then) /* the same quiet spell */
			continue;
		work_then = work;
		add_point(p, t_ms, usage);
	}
}

static void collect_load(struct evaluation *ev, size_t scheduler, struct points *p)
{
	const struct target_evidence *te = target_evidence(ev, ev->evidence->schedulers.items[scheduler].target);
	const struct target *t = te->target;
	for (size_t i = 0; i < t->scrapes.count; i++) {
		double sum = 0, running;
		bool known = false;
		for (size_t k = 0; k < te->scheduler_count; k++)
			if (level_then(ev, te->schedulers[k], "running", t->scrapes.items[i].t_ms, &running)) {
				sum += running;
				known = true;
			}
		if (known)
			add_point(p, t->scrapes.items[i].t_ms, sum);
	}
}

static void collect_rss(struct evaluation *ev, size_t scheduler, struct points *p)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, "resident_memory");
	const struct member_list *list = m ? evidence_members(ev->evidence, scheduler, m, ev->evidence->to_ms) : NULL;
	if (!list || !list->members.count)
		return;
	const struct series_view *v = &list->members.items[0].view;
	for (size_t i = 0; i < v->count; i++)
		if (isfinite(v->v[i]))
			add_point(p, v->t[i], v->v[i] * list->name->scale);
}

static void sum_up(struct arena *arena, struct trend *t, const struct points *p)
{
	t->count = p->t.count;
	t->t = arena_alloc(arena, (t->count + 1) * sizeof *t->t);
	t->v = arena_alloc(arena, (t->count + 1) * sizeof *t->v);
	t->sums = ARENA_ARRAY(arena, struct trend_sums, t->count + 1);
	for (size_t i = 0; i < t->count; i++) {
		double x = (double)(p->t.items[i] - p->t.items[0]) / 1000,
		       y = p->v.items[i] - p->v.items[0]; /* small numbers keep their digits */
		const struct trend_sums *s = &t->sums[i];
		t->t[i] = p->t.items[i];
		t->v[i] = p->v.items[i];
		t->sums[i + 1] = (struct trend_sums){ s->x + x, s->y + y, s->xx + x * x, s->xy + x * y, s->yy + y * y };
	}
}

static struct trends *trends_all(struct evaluation *ev)
{
	struct evidence *all = ev->evidence;
	if (!all->trends) {
		all->trends = ARENA_NEW(all->arena, struct trends);
		all->trends->of = arena_zalloc(all->arena, all->schedulers.count + 1, sizeof *all->trends->of);
		all->trends->pauses = ARENA_ARRAY(all->arena, struct pauses, all->targets.count + 1);
	}
	return all->trends;
}

struct pauses *trends_pauses(struct evaluation *ev, size_t target)
{
	return &trends_all(ev)->pauses[target];
}

const struct trend *trend_of(struct evaluation *ev, size_t scheduler, enum trend_kind kind)
{
	struct evidence *all = ev->evidence;
	struct trend *t = &trends_all(ev)->of[scheduler][kind];
	if (t->made)
		return t;
	static void (*const collect[])(struct evaluation * ev, size_t scheduler,
		struct points * p) = { [TREND_IDLE_KV] = collect_idle_kv, [TREND_RSS] = collect_rss, [TREND_LOAD] = collect_load };
	struct points p = { 0 };
	collect[kind](ev, scheduler, &p);
	sum_up(all->arena, t, &p);
	VEC_FREE(&p.t);
	VEC_FREE(&p.v);
	t->made = true;
	return t;
}

/* ---- the line ---- */

/* Student's t, two-sided 95 %. */
static double critical_t(size_t freedom)
{
	static const double table[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
		2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042 };
	if (!freedom)
		return INFINITY;
	return freedom <= ARRAY_LEN(table) ? table[freedom - 1] : 1.96 + 2.5 / (double)freedom;
}

struct fit trend_fit(const struct trend *t, int64_t from_ms, int64_t to_ms)
{
	size_t low = times_after(t->t, t->count, from_ms - 1), high = times_after(t->t, t->count, to_ms);
	struct fit f = { .count = high > low ? high - low : 0, .first = NAN, .last = NAN };
	if (!f.count)
		return f;
	const struct trend_sums *a = &t->sums[low], *b = &t->sums[high];
	double n = (double)f.count, x = b->x - a->x, y = b->y - a->y;
	f.first = t->v[low];
	f.last = t->v[high - 1];
	f.elapsed_s = (double)(t->t[high - 1] - t->t[low]) / 1000;
	double sxx = b->xx - a->xx - x * x / n, sxy = b->xy - a->xy - x * y / n, syy = b->yy - a->yy - y * y / n;
	if (f.count < 3 || !(sxx > 0))
		return f;
	f.slope = sxy / sxx;
	double rest = fmax(0, syy - f.slope * sxy), error = sqrt(rest / (n - 2) / sxx);
	f.rises = f.slope > 0 && f.slope > critical_t(f.count - 2) * error;
	return f;
}
