/* Quantiles that the buckets cannot tell, histograms that contradict themselves, replicas with different buckets. */
#include "signals/detectors/detect.h"

#include "catalog/expression.h"

/* A first bucket narrower than this resolves all that matters to people; a mean below half of it shows that the bucket is too wide. */
static const double coarse_s = 0.1;

static bool is_tail_quantile(const struct signal_spec *signal)
{
	const struct expression *x = signal->definition_count ? signal->definitions[0].expression : NULL;
	return signal->kind == SIGNAL_QUANTILE && x && x->kind == EXPRESSION_PRIMITIVE && x->number >= 0.9;
}

static bool is_capped(const struct reading *r)
{
	return r->kind == READING_AT_LEAST && r->events > 0 && (r->share_beyond > 0 || r->mean > r->low);
}

static bool is_unresolved(const struct signal_spec *signal, const struct reading *r)
{
	return r->kind == READING_AT_MOST && str_is(signal->unit, "s") && r->high >= coarse_s && r->mean < r->high / 2;
}

static void add_reading(struct wording *w, const struct signal_spec *signal, const struct reading *r)
{
	struct buf text, mean;
	struct reading m = reading_value(r->mean);
	buf_init(&text, 256);
	buf_init(&mean, 256);
	reading_print(r, signal->unit, &text);
	reading_print(&m, signal->unit, &mean);
	if (isnan(r->mean))
		wording_add(w, STR_FMT " " STR_FMT, STR_ARG(signal->title), STR_ARG(buf_str(&text)));
	else
		wording_add(w, STR_FMT " " STR_FMT " (mean " STR_FMT ")", STR_ARG(signal->title), STR_ARG(buf_str(&text)),
			STR_ARG(buf_str(&mean)));
	buf_fini(&text);
	buf_fini(&mean);
}

static void judge_resolution(struct evaluation *ev, struct scope *s)
{
	struct wording capped, unresolved;
	wording_init(&capped);
	wording_init(&unresolved);
	VEC_EACH (&ev->catalog->signals, p) {
		if (!is_tail_quantile(*p))
			continue;
		const struct reading *r = evaluation_reading(ev, s, *p);
		if (is_capped(r))
			add_reading(&capped, *p, r);
		else if (is_unresolved(*p, r))
			add_reading(&unresolved, *p, r);
	}
	struct str a = wording_end(&capped, ev->arena), b = wording_end(&unresolved, ev->arena);
	if (a.len)
		evaluation_raise(ev, "quantile-capped", s, NULL, 0, s->target_count, a);
	if (b.len)
		evaluation_raise(ev, "quantile-unresolved", s, NULL, 0, s->target_count, b);
}

/* One quantile of each histogram is enough to have it gathered and checked. */
static bool is_last_quantile(const struct signal_spec *signal)
{
	return signal->kind == SIGNAL_QUANTILE && signal->definitions[0].expression->kind == EXPRESSION_PRIMITIVE &&
	       signal->definitions[0].expression->number == 0.99;
}

static bool any_invalid(struct evaluation *ev, const struct scope *s, struct wording *said)
{
	size_t before = said->count;
	VEC_EACH (&ev->catalog->signals, p) {
		bool counts = is_last_quantile(*p) || ((*p)->kind == SIGNAL_MEAN && (*p)->definition_count);
		if (!counts)
			continue;
		const struct reading *r = evaluation_reading(ev, s, *p);
		if (!reading_known(r) && r->reason == UNKNOWN_INVALID)
			wording_add(said, STR_FMT "%s" STR_FMT, STR_ARG((*p)->title), r->why.len ? ": " : "", STR_ARG(r->why));
		else if (r->left_out)
			wording_add(said, STR_FMT ": without %u that contradict themselves", STR_ARG((*p)->title), r->left_out);
	}
	return said->count > before;
}

/* The pool's merged histograms first: when none of them is invalid, no target's is. */
static void judge_validity(struct evaluation *ev, const struct scope *pool)
{
	struct wording whole;
	wording_init(&whole);
	bool any = any_invalid(ev, pool, &whole) || pool->mixed_models;
	wording_end(&whole, ev->arena);
	if (!any && pool->target_count > 1)
		return;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		struct wording said;
		if (!scope_has_target(pool, s->target))
			continue;
		wording_init(&said);
		any = any_invalid(ev, s, &said);
		struct str detail = wording_end(&said, ev->arena);
		if (any)
			evaluation_raise(ev, "invalid-histogram", s, NULL, 0, 1, detail);
	}
}

/* ---- layouts ---- */

/* A sum over the bounds that does not depend on their order. */
static uint64_t layout_of(struct evaluation *ev, size_t target, const struct metric_spec *m, size_t *bounds)
{
	const struct target_evidence *t = target_evidence(ev, target);
	uint64_t sum = 0, identity = 0;
	*bounds = 0;
	for (size_t k = 0; k < t->scheduler_count && !*bounds; k++) {
		const struct member_list *list = evidence_members(ev->evidence, t->schedulers[k], m, ev->window.to_ms);
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct member *b = &list->members.items[i];
			if (b->part != PART_BUCKET || (*bounds && b->identity != identity))
				continue;
			identity = b->identity;
			sum += number_bits(b->le) * UINT64_C(0x9e3779b97f4a7c15);
			(*bounds)++;
		}
	}
	return sum;
}

static bool layouts_differ(struct evaluation *ev, const struct scope *pool, const struct metric_spec *m)
{
	uint64_t first = 0;
	bool seen = false;
	for (size_t i = 0; i < pool->target_count; i++) {
		size_t bounds;
		uint64_t layout = layout_of(ev, pool->targets[i], m, &bounds);
		if (!bounds)
			continue;
		if (seen && layout != first)
			return true;
		first = layout;
		seen = true;
	}
	return false;
}

static void judge_layouts(struct evaluation *ev, struct scope *pool)
{
	struct wording said;
	wording_init(&said);
	VEC_EACH (&ev->catalog->metrics, m)
		if ((*m)->type == METRIC_HISTOGRAM && layouts_differ(ev, pool, *m))
			wording_add(&said, STR_FMT, STR_ARG((*m)->title));
	struct str detail = wording_end(&said, ev->arena);
	if (detail.len)
		evaluation_raise(ev, "bucket-mismatch", pool, NULL, 0, pool->target_count, detail);
}

void quantiles_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		if (s->target_count > 1)
			judge_layouts(ev, s);
		if (!has_window(ev))
			continue;
		judge_resolution(ev, s);
		judge_validity(ev, s);
	}
}
