/* Objectives of pools, who misses them, and the memory limit: what red lines compare with. */
#include "signals/detectors/detect.h"

/* Where a pool gives none. TTFT: REQUIREMENTS A5. TPOT: ten tokens a second, about twice as fast as people read. */
static const double default_ttft_s = 1, default_tpot_s = 0.1;

static struct reading or_default(double given, double otherwise)
{
	return reading_value(isnan(given) ? otherwise : given);
}

static void publish_misses(struct evaluation *ev, const struct scope *s, const char *objective, const char *metric, const char *share)
{
	double bound;
	if (number_at(ev, s, objective, &bound) && is_exported(ev, s, metric))
		evaluation_publish(ev, s, share, share_above_at(ev, s, metric, bound));
}

static double lowest(double a, double b)
{
	return isnan(a) || b < a ? b : a;
}

/* The pool's, the target's own, the container's: the lowest of a target's; over several targets the sum would say nothing. */
static void publish_memory_limit(struct evaluation *ev, const struct scope *s)
{
	if (s->target_count != 1 || s->kind == SCOPE_GPU)
		return;
	const struct target *t = target_evidence(ev, s->targets[0])->target;
	double limit = s->pool ? s->pool->memory_limit_bytes : NAN, container = NAN;
	for (size_t i = 0; i < s->member_count; i++)
		if (gauge_at(ev, s->members[i], "container_memory_limit", &container) && container > 0)
			limit = lowest(limit, container);
	if (!isnan(t->memory_limit_bytes) && t->memory_limit_bytes > 0)
		limit = lowest(limit, t->memory_limit_bytes);
	if (limit > 0)
		evaluation_publish(ev, s, "memory_limit_bytes", reading_value(limit));
	else
		evaluation_publish(ev, s, "memory_limit_bytes",
			reading_unknown(UNKNOWN_ABSENT, STR("no memory_limit of the pool and no container metrics")));
}

/* Finishes whose reason the pool calls success, over all; the policy is told with the figure. */
static void publish_success(struct evaluation *ev, const struct scope *s)
{
	const struct metric_spec *finished = catalog_metric(ev->catalog, "finished");
	if (!s->pool || !s->pool->success_re || !finished || !is_exported(ev, s, "finished"))
		return;
	struct label_condition condition = { .label = STR("finished_reason"), .values = s->pool->success, .re = s->pool->success_re };
	struct expression good = { .kind = EXPRESSION_PRIMITIVE,
		.primitive = PRIMITIVE_COUNT,
		.metric = finished,
		.conditions = &condition,
		.condition_count = 1 };
	struct expression all = { .kind = EXPRESSION_PRIMITIVE, .primitive = PRIMITIVE_COUNT, .metric = finished };
	struct reading some = evaluate_primitive(ev, s, &good), whole = evaluate_primitive(ev, s, &all);
	struct reading r = reading_combine('/', &some, &whole);
	if (r.kind == READING_VALUE && whole.events > 0) {
		r.events = whole.events;
		r.has_interval = true;
		wilson_interval(some.low, whole.events, &r.interval_low, &r.interval_high);
	}
	r.note = arena_printf(ev->arena, "success is " STR_FMT, STR_ARG(s->pool->success));
	evaluation_publish(ev, s, "policy_success_rate", r);
}

void objectives_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		if (s->kind == SCOPE_GPU)
			continue;
		const struct pool_spec *p = s->pool;
		evaluation_publish(ev, s, "slo_ttft", or_default(p ? p->slo_ttft_s : NAN, default_ttft_s));
		evaluation_publish(ev, s, "slo_tpot", or_default(p ? p->slo_tpot_s : NAN, default_tpot_s));
		if (p && !isnan(p->slo_e2e_s))
			evaluation_publish(ev, s, "slo_e2e", reading_value(p->slo_e2e_s));
		publish_memory_limit(ev, s);
		publish_success(ev, s);
		double pooling;
		publish_misses(ev, s, "slo_ttft", "ttft", "ttft_miss_share");
		publish_misses(ev, s, "slo_e2e", "e2e", "e2e_miss_share");
		if (!number_at(ev, s, "pooling_by_design", &pooling) || pooling != 1)
			publish_misses(ev, s, "slo_tpot", "tpot", "tpot_miss_share");
	}
}
