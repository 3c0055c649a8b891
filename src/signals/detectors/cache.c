/* What cache figures of this engine and version really count. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

/* How the external queries of a scope were counted. */
struct external_counting {
	bool known, doubled;
	double local_hits; /* counted as external queries */
};

/* Before the fix every query was counted as an external one, local hits included. */
static struct external_counting external_counting_of(struct evaluation *ev, const struct scope *s)
{
	struct external_counting c = { 0 };
	struct reading external = count_at(ev, s, "external_prefix_queries"), local = count_at(ev, s, "prefix_queries"),
		       hits = count_at(ev, s, "prefix_hits");
	c.known = external.kind == READING_VALUE && local.kind == READING_VALUE && hits.kind == READING_VALUE && external.low > 0;
	c.doubled = c.known && external.low == local.low && hits.low > 0;
	c.local_hits = c.doubled ? hits.low : 0;
	return c;
}

/* Versions stand side by side during an upgrade: each target is asked by itself. */
static void publish_double_count(struct evaluation *ev, const struct scope *s)
{
	struct external_counting sum = { 0 };
	for (size_t i = 0; i < s->target_count; i++) {
		const struct scope *one = s->target_count > 1 ? scope_of_target(ev, s->targets[i]) : s;
		struct external_counting c = external_counting_of(ev, one);
		sum.known |= c.known;
		sum.doubled |= c.doubled;
		sum.local_hits += c.local_hits;
	}
	if (!sum.known)
		return;
	evaluation_publish(ev, s, "external_queries_double_counted", reading_value(sum.doubled));
	evaluation_publish(ev, s, "external_queries_of_local_hits", reading_value(sum.local_hits));
}

static double level_sum(struct evaluation *ev, const struct scope *s, const char *metric)
{
	struct expression x = {
		.kind = EXPRESSION_PRIMITIVE, .primitive = PRIMITIVE_LEVEL_SUM, .metric = catalog_metric(ev->catalog, metric)
	};
	struct reading r = x.metric ? evaluate_primitive(ev, s, &x) : reading_unknown(UNKNOWN_NOT_APPLICABLE, STR_EMPTY);
	return r.kind == READING_VALUE ? r.low : NAN;
}

/* Read off the page itself: usage x size is nearer to what is used, or to used and evictable together; or used and evictable do not fit the
 * cache side by side. Usage is that of all caches together, as the sums are: the fullest one would say nothing about them. */
static void publish_evictable(struct evaluation *ev, const struct scope *s)
{
	double evictable = level_sum(ev, s, "kv_evictable_tokens"), usage;
	if (isnan(evictable) || s->member_count == 0 || !number_at(ev, s, "kv_usage_weighted", &usage))
		return;
	double used = level_sum(ev, s, "kv_used_tokens"), total = level_sum(ev, s, "kv_total_tokens");
	bool known = !isnan(used) && total > 0 && evictable > 0;
	bool counts = known && (usage * total > used + evictable / 2 || used + evictable > total * 1.001);
	evaluation_publish(ev, s, "kv_usage_counts_evictable", reading_value(counts));
}

void cache_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		if (ev->scopes[i].kind == SCOPE_GPU)
			continue;
		if (has_window(ev))
			publish_double_count(ev, &ev->scopes[i]);
		publish_evictable(ev, &ev->scopes[i]);
	}
}
