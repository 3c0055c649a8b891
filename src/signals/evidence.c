/* What the evidence holds at a time: scrapes, bindings, members of a metric. */
#include "signals/evidence.h"

#include "base/hash.h"

void evidence_fini(struct evidence *ev)
{
	VEC_EACH (&ev->targets, t) {
		VEC_EACH (&t->families, f) {
			VEC_FREE(&f->labels);
			VEC_FREE(&f->series);
		}
		VEC_FREE(&t->families);
		VEC_FREE(&t->restarts);
		VEC_FREE(&t->bindings);
	}
	VEC_EACH (&ev->schedulers, s)
		for (size_t m = 0; m < ev->catalog->metrics.count; m++) {
			VEC_EACH (&s->metrics[m], list)
				VEC_FREE(&list->members);
			VEC_FREE(&s->metrics[m]);
		}
	VEC_FREE(&ev->targets);
	VEC_FREE(&ev->schedulers);
	arena_fini(&ev->samples);
}

const struct scrape_record *evidence_scrape(const struct evidence *ev, size_t target, int64_t t_ms)
{
	const struct target *t = ev->targets.items[target].target;
	size_t low = 0, high = t->scrapes.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (t->scrapes.items[middle].t_ms <= t_ms)
			low = middle + 1;
		else
			high = middle;
	}
	/* A refused scrape has the time of the one before it. */
	while (low > 1 && t->scrapes.items[low - 2].t_ms == t->scrapes.items[low - 1].t_ms)
		low--;
	return low ? &t->scrapes.items[low - 1] : NULL;
}

/* Is any series of the family on the page scraped at `t_ms`? */
static bool family_is_shown(const struct family_seen *f, int64_t t_ms, int64_t slack_ms)
{
	VEC_EACH (&f->series, v)
		if (view_at(v, t_ms, slack_ms) >= 0)
			return true;
	return false;
}

/* Pages with the same names share one binding. */
static struct binding *bind_page(struct evidence *ev, struct target_evidence *t, int64_t t_ms)
{
	int64_t slack = t->interval_ms > 0 ? t->interval_ms / 2 : 60000;
	uint64_t key = 0;
	size_t shown = 0;
	struct shown_family *families = mem_zalloc(t->families.count + 1, sizeof *families);
	VEC_EACH (&t->families, f)
		if (family_is_shown(f, t_ms, slack)) {
			families[shown++] = (struct shown_family){ f->name, f->type, f->labels.items, f->labels.count, true };
			key = hash_seeded(f->name.ptr, f->name.len, key + shown);
		}
	struct binding *found = NULL;
	VEC_EACH (&t->bindings, known)
		if (known->key == key)
			found = known->binding;
	if (!found) {
		found = binding_new(ev->arena, ev->catalog, families, shown);
		VEC_PUSH(&t->bindings, (__typeof__(*t->bindings.items)){ key, found });
	}
	mem_free(families);
	return found;
}

const struct binding *evidence_binding(struct evidence *ev, size_t target, int64_t t_ms)
{
	struct target_evidence *t = &ev->targets.items[target];
	const struct scrape_record *first = t->target->scrapes.items, *r = evidence_scrape(ev, target, t_ms);
	while (r && !scrape_answered(r))
		r = r > first ? r - 1 : NULL;
	if (!r)
		return NULL;
	if (!t->by_scrape)
		t->by_scrape = arena_zalloc(ev->arena, t->target->scrapes.count, sizeof(struct binding *));
	struct binding **slot = &t->by_scrape[r - first];
	if (!*slot)
		*slot = bind_page(ev, t, r->t_ms);
	return *slot;
}

const struct member_list *evidence_members(struct evidence *ev, size_t scheduler, const struct metric_spec *m, int64_t t_ms)
{
	struct scheduler *s = &ev->schedulers.items[scheduler];
	if (!s->metrics[m->index].count)
		return NULL;
	const struct binding *b = evidence_binding(ev, s->target, t_ms);
	if (!b || !b->metrics[m->index].name)
		return NULL;
	VEC_EACH (&s->metrics[m->index], list)
		if (list->name == b->metrics[m->index].name)
			return list;
	return NULL;
}
