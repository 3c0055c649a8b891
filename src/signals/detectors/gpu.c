/* GPU figures that cannot be true. */
#include "signals/detectors/detect.h"

/* DCGM prints what it could not sample as a number near 2^63. */
static const double blank_from = 9.2e18;

static bool is_blank(struct evaluation *ev, const struct scope *s, const char *metric)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	for (size_t i = 0; m && i < s->member_count; i++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[i], m, ev->window.to_ms);
		const struct target_evidence *t = target_evidence(ev, s->target);
		for (size_t k = 0; list && k < list->members.count; k++) {
			const struct series_view *v = &list->members.items[k].view;
			ptrdiff_t at = view_at(v, ev->window.to_ms, target_patience_ms(t));
			if (at >= 0 && v->v[at] >= blank_from)
				return true;
		}
	}
	return false;
}

/* The pod that the exporter says holds the card; "" when it does not say. */
static struct str pod_of(struct evaluation *ev, const struct scope *s)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, "gpu_util");
	const struct member_list *list = m ? evidence_members(ev->evidence, s->members[0], m, ev->window.to_ms) : NULL;
	return list && list->members.count ? member_label(list->members.items[0].view.labels, STR("pod")) : STR("");
}

/* Tokens per second of the target that is this pod; NAN when it is not watched. */
static double pod_throughput(struct evaluation *ev, struct str pod)
{
	double tokens;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		const struct target *t = target_evidence(ev, s->target)->target;
		if ((str_eq(t->name, pod) || str_eq(labels_get(t->labels, STR("pod")), pod)) && number_at(ev, s, "generation_tps", &tokens))
			return tokens;
	}
	return NAN;
}

/* Utilisation 0 though the pod on the card generates tokens. */
static void judge_pod(struct evaluation *ev, struct scope *s, struct wording *said)
{
	double util;
	struct str pod = pod_of(ev, s);
	if (!pod.len || !has_window(ev) || !number_at(ev, s, "gpu_util", &util) || util > 0)
		return;
	double tokens = pod_throughput(ev, pod);
	if (tokens >= 1)
		wording_add(said, "utilisation is 0 while " STR_FMT " generates %.0f tokens/s", STR_ARG(pod), tokens);
}

/* Fields of one card that exclude each other: work while no kernel is resident, tensor cores busier than the SMs that hold them. */
static void judge_fields(struct evaluation *ev, const struct scope *s, struct wording *said)
{
	double util, sm, tensor, used, total;
	bool has_sm = gauge_at(ev, s->members[0], "sm_active", &sm);
	if (has_sm && gauge_at(ev, s->members[0], "gpu_util", &util) && util == 0 && sm > 0.2)
		wording_add(said, "utilisation is 0 while %.0f %% of the SMs are active", 100 * sm);
	if (has_sm && gauge_at(ev, s->members[0], "tensor_active", &tensor) && tensor > sm + 0.1)
		wording_add(said, "tensor cores are active %.0f %% of the time, the SMs %.0f %%", 100 * tensor, 100 * sm);
	if (gauge_at(ev, s->members[0], "fb_used", &used) && gauge_at(ev, s->members[0], "fb_total", &total) && total > 0 && used > total)
		wording_add(said, "%.1f GiB used of %.1f GiB", used / 1073741824, total / 1073741824);
}

static void judge_card(struct evaluation *ev, struct scope *s)
{
	static const char *const fields[] = { "gpu_util", "sm_active", "tensor_active", "dram_active", "fb_used", "power" };
	struct wording said;
	wording_init(&said);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (is_blank(ev, s, fields[i]))
			wording_add(&said, "%s is blank", fields[i]);
	judge_fields(ev, s, &said);
	judge_pod(ev, s, &said);
	struct str detail = wording_end(&said, ev->arena);
	if (detail.len)
		evaluation_raise(ev, "gpu-contradiction", s, NULL, 0, 1, detail);
}

/* No card is busy, yet tokens come: other cards are watched than the engines run on. */
static void judge_fleet(struct evaluation *ev)
{
	double generated, util;
	size_t cards = 0;
	if (!has_window(ev) || !number_at(ev, fleet_scope(ev), "generation_tps", &generated) || generated < 1)
		return;
	SCOPE_EACH(ev, s, SCOPE_GPU)
	{
		if (!number_at(ev, s, "gpu_util", &util) || util > 0)
			return;
		cards++;
	}
	if (cards)
		evaluation_raise(ev, "gpu-contradiction", fleet_scope(ev), NULL, 0, 1,
			arena_printf(ev->arena, "utilisation is 0 on all %zu cards while %.0f tokens/s are generated", cards, generated));
}

void gpu_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_GPU)
	{
		judge_card(ev, s);
	}
	judge_fleet(ev);
}
