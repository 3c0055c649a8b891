/* LoRA adapters: their names stand in labels of an info metric whose newest series is the current one. */
#include "signals/detectors/detect.h"

static size_t count_names(struct str list)
{
	struct str rest = list, name;
	size_t n = 0;
	while (list.len && str_split(&rest, ',', &name))
		n += str_trim(name).len > 0;
	return n;
}

/* The series whose sample (the time of its last update) is the newest on the page. */
static const struct member *current_series(struct evaluation *ev, const struct target_evidence *t, const struct member_list *list)
{
	const struct member *best = NULL;
	double best_value = -INFINITY;
	for (size_t i = 0; list && i < list->members.count; i++) {
		const struct member *m = &list->members.items[i];
		ptrdiff_t at = view_at(&m->view, ev->window.to_ms, target_patience_ms(t));
		if (at >= 0 && m->view.v[at] > best_value) {
			best = m;
			best_value = m->view.v[at];
		}
	}
	return best;
}

struct adapters {
	double running, waiting, slots;
	bool known, slots_known;
};

static void add_target(struct evaluation *ev, size_t target, struct adapters *a)
{
	const struct metric_spec *info = catalog_metric(ev->catalog, "lora_info");
	const struct target_evidence *t = target_evidence(ev, target);
	for (size_t k = 0; info && k < t->scheduler_count; k++) {
		const struct member *m = current_series(ev, t, evidence_members(ev->evidence, t->schedulers[k], info, ev->window.to_ms));
		if (!m)
			continue;
		double slots;
		a->known = true;
		a->running += (double)count_names(member_label(m->view.labels, STR("running_lora_adapters")));
		a->waiting += (double)count_names(member_label(m->view.labels, STR("waiting_lora_adapters")));
		if (number_parse(member_label(m->view.labels, STR("max_lora")), &slots)) {
			a->slots += slots;
			a->slots_known = true;
		}
	}
}

void lora_publish(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		struct adapters a = { 0 };
		if (s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU)
			continue;
		for (size_t k = 0; k < s->target_count; k++)
			add_target(ev, s->targets[k], &a);
		if (!a.known)
			continue;
		evaluation_publish(ev, s, "lora_running", reading_value(a.running));
		evaluation_publish(ev, s, "lora_waiting", reading_value(a.waiting));
		if (a.slots_known)
			evaluation_publish(ev, s, "lora_max", reading_value(a.slots));
	}
}
