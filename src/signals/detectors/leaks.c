/* Leaks: the KV cache that an idle engine does not give back, the host memory that only grows. */
#include "signals/detectors/detect.h"
#include "signals/detectors/trends.h"

static struct fit fit_of(struct evaluation *ev, size_t scheduler, enum trend_kind kind)
{
	return trend_fit(
		trend_of(ev, scheduler, kind), history_start(ev, ev->evidence->schedulers.items[scheduler].target), ev->window.to_ms);
}

/* The largest growth among the scope's schedulers: last minus first over the time between. */
static void publish_growth(struct evaluation *ev, const struct scope *s, enum trend_kind kind, const char *signal, const char *why)
{
	double most = NAN, elapsed = NAN;
	for (size_t i = 0; i < s->member_count; i++) {
		struct fit f = fit_of(ev, s->members[i], kind);
		if (f.count < 2 || !(f.elapsed_s > 0))
			continue;
		double growth = (f.last - f.first) / f.elapsed_s;
		if (isnan(most) || growth > most) {
			most = growth;
			elapsed = f.elapsed_s;
		}
	}
	struct reading r = isnan(most) ? reading_unknown(UNKNOWN_ONE_SCRAPE, str_from(why)) : reading_value(most);
	if (!isnan(most))
		r.elapsed_s = elapsed;
	evaluation_publish(ev, s, signal, r);
}

void leaks_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		if (s->kind == SCOPE_GPU)
			continue;
		if (is_exported(ev, s, "kv_usage") && is_exported(ev, s, "running"))
			publish_growth(ev, s, TREND_IDLE_KV, "kv_idle_floor_growth", "not seen idle twice");
		if (is_exported(ev, s, "resident_memory"))
			publish_growth(ev, s, TREND_RSS, "rss_history_growth", "seen once");
	}
}

/* ---- raise ---- */

static void judge_kv(struct evaluation *ev, size_t scheduler)
{
	double running = NAN;
	struct fit f = fit_of(ev, scheduler, TREND_IDLE_KV);
	/* Three quiet moments on a rising line, and more than rounding: 5 % of the cache. */
	if (f.count < 3 || !f.rises || f.last - f.first < 0.05)
		return;
	/* Told while idle, when the floor can be read; in between it is the same leak. */
	const struct trend *t = trend_of(ev, scheduler, TREND_IDLE_KV);
	bool idle_now = gauge_at(ev, scheduler, "running", &running) && running == 0;
	struct str detail =
		idle_now ? STR_EMPTY
			 : arena_printf(ev->arena, "last seen idle with %.0f %% in use", trend_fit(t, 0, ev->window.to_ms).last * 100);
	evaluation_raise(ev, "kv-leak", scope_of_scheduler(ev, scheduler), NULL, 0, 1, detail);
}

/* Did the load rise with the memory? Then the memory may be the load's. */
static bool load_explains(struct evaluation *ev, size_t scheduler, const struct fit *rss)
{
	struct fit load = fit_of(ev, scheduler, TREND_LOAD);
	return load.rises && load.first > 0 && load.last / load.first - 1 > (rss->last / rss->first - 1) / 2;
}

/* Memory that rose at the start and stays is warm-up: a leak goes on in the second half. */
static bool still_rises(struct evaluation *ev, size_t scheduler, const struct fit *rss)
{
	int64_t half = ev->window.to_ms - (int64_t)(rss->elapsed_s * 500);
	struct fit late = trend_fit(trend_of(ev, scheduler, TREND_RSS), half, ev->window.to_ms);
	return late.count >= 2 && late.last - late.first >= 0.25 * (rss->last - rss->first);
}

static void judge_rss(struct evaluation *ev, size_t scheduler)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, "resident_memory");
	if (!m || !evidence_members(ev->evidence, scheduler, m, ev->window.to_ms))
		return;
	struct fit f = fit_of(ev, scheduler, TREND_RSS);
	if (f.count < 5 || !f.rises || !(f.first > 0) || f.last - f.first < 0.05 * f.first)
		return;
	if (still_rises(ev, scheduler, &f) && !load_explains(ev, scheduler, &f))
		evaluation_raise(
			ev, "rss-leak", scope_of_target(ev, ev->evidence->schedulers.items[scheduler].target), NULL, 0, 1, STR_EMPTY);
}

void leaks_raise(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->evidence->schedulers.count; i++) {
		const struct scheduler *s = &ev->evidence->schedulers.items[i];
		if (s->is_gpu || !target_answers(ev, s->target))
			continue;
		judge_kv(ev, i);
		judge_rss(ev, i);
	}
}
