/* What cache figures of this engine and version really count. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

/* Before the fix every query was counted as an external one, local hits included. */
static void publish_double_count(struct evaluation *ev, const struct scope *s)
{
	struct reading external = count_at(ev, s, "external_prefix_queries"), local = count_at(ev, s, "prefix_queries"),
		       hits = count_at(ev, s, "prefix_hits");
	if (external.kind != READING_VALUE || local.kind != READING_VALUE || hits.kind != READING_VALUE || external.low == 0)
		return;
	evaluation_publish(ev, s, "external_queries_double_counted", reading_value(external.low == local.low && hits.low > 0));
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
 * cache side by side. */
static void publish_evictable(struct evaluation *ev, const struct scope *s)
{
	double evictable = level_sum(ev, s, "kv_evictable_tokens"), usage;
	if (isnan(evictable) || s->member_count == 0 || !number_at(ev, s, "kv_usage", &usage))
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
