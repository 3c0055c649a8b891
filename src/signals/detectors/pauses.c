/* Python's collector freezes every stream at once. How long a collection takes is exported by nobody; that tokens stop whenever one ran,
 * and at no other time, is. */
#include "signals/detectors/pauses.h"

#include "signals/detectors/detect.h"
#include "signals/detectors/trends.h"

static const double slow_gap_s = 0.2;

/* ---- the history of one target ---- */

struct tally { /* counters at one scrape */
	double collections, gaps, slow;
	bool known;
};

static double value_then(const struct member *m, int64_t t_ms, int64_t patience_ms)
{
	ptrdiff_t i = view_at(&m->view, t_ms, patience_ms);
	return i < 0 ? NAN : m->view.v[i];
}

/* The bucket whose bound is the smallest from 0.2 s on, of the same series as the count. */
static const struct member *bucket_of(const struct member_list *list, const struct member *count)
{
	const struct member *best = NULL;
	VEC_EACH (&list->members, m)
		if (m->part == PART_BUCKET && m->identity == count->identity && m->le >= slow_gap_s && (!best || m->le < best->le))
			best = m;
	return best && isfinite(best->le) ? best : NULL;
}

struct watched { /* the series that are looked at */
	VEC(const struct member *) collections, counts, buckets;
};

static void watch_scheduler(struct evaluation *ev, size_t scheduler, struct watched *w)
{
	const struct metric_spec *gc = catalog_metric(ev->catalog, "gc_collections"), *itl = catalog_metric(ev->catalog, "itl");
	const struct member_list *collections = gc ? evidence_members(ev->evidence, scheduler, gc, ev->evidence->to_ms) : NULL;
	const struct member_list *gaps = itl ? evidence_members(ev->evidence, scheduler, itl, ev->evidence->to_ms) : NULL;
	for (size_t i = 0; collections && i < collections->members.count; i++) {
		const struct member *m = &collections->members.items[i];
		if (str_is(member_label(m->view.labels, STR("generation")), "2"))
			VEC_PUSH(&w->collections, m);
	}
	for (size_t i = 0; gaps && i < gaps->members.count; i++) {
		const struct member *m = &gaps->members.items[i], *bucket = m->part == PART_COUNT ? bucket_of(gaps, m) : NULL;
		if (!bucket)
			continue;
		VEC_PUSH(&w->counts, m);
		VEC_PUSH(&w->buckets, bucket);
	}
}

static struct tally tally_at(const struct watched *w, int64_t t_ms, int64_t patience_ms)
{
	struct tally t = { 0 };
	VEC_EACH (&w->collections, m)
		t.collections += value_then(*m, t_ms, patience_ms);
	for (size_t i = 0; i < w->counts.count; i++) {
		double all = value_then(w->counts.items[i], t_ms, patience_ms);
		t.gaps += all;
		t.slow += all - value_then(w->buckets.items[i], t_ms, patience_ms);
	}
	t.known = isfinite(t.collections) && isfinite(t.slow);
	return t;
}

struct interval {
	int64_t t_ms;
	double collections, gaps, slow;
};

/* A counter that fell began anew: that interval is not known. */
static bool interval_between(const struct tally *before, const struct tally *now, int64_t t_ms, struct interval *i)
{
	*i = (struct interval){ t_ms, now->collections - before->collections, now->gaps - before->gaps, now->slow - before->slow };
	return before->known && now->known && i->collections >= 0 && i->gaps >= 0 && i->slow >= 0;
}

/* ---- summing up ---- */

static void add_interval(struct pauses *p, size_t n, const struct interval *i, const struct interval *before)
{
	struct pause_sums s = p->sums[n];
	bool after = before && before->collections > 0 && before->gaps > 0;
	bool open = after && !(before->slow > 0); /* its gaps may have come a scrape later */
	bool hit = false;
	p->t[n] = i->t_ms;
	p->collections[n] = i->collections;
	if (open) {
		s.with++;
		hit = i->slow > 0;
	}
	if (i->gaps > 0 && i->collections > 0 && i->slow > 0) {
		s.with++;
		s.with_gaps++;
		hit = true;
	} else if (i->gaps > 0 && !(i->collections > 0) && !after) {
		s.without++;
		s.without_gaps += i->slow > 0;
	}
	s.with_gaps += open && i->slow > 0;
	s.collections += i->collections;
	s.gaps += after || i->collections > 0 ? i->slow : 0;
	p->sums[n + 1] = s;
	p->last_hit[n + 1] = hit ? n : p->last_hit[n];
	p->last_collection[n + 1] = i->collections > 0 ? n : p->last_collection[n];
}

static void look_ahead(struct pauses *p)
{
	p->next_hit[p->count] = p->next_collection[p->count] = SIZE_MAX;
	for (size_t i = p->count; i-- > 0;) {
		p->next_hit[i] = p->last_hit[i + 1] == i ? i : p->next_hit[i + 1];
		p->next_collection[i] = p->collections[i] > 0 ? i : p->next_collection[i + 1];
	}
}

static void make_room(struct arena *arena, struct pauses *p, size_t scrapes)
{
	p->t = arena_alloc(arena, (scrapes + 1) * sizeof *p->t);
	p->collections = arena_alloc(arena, (scrapes + 1) * sizeof *p->collections);
	p->sums = ARENA_ARRAY(arena, struct pause_sums, scrapes + 2);
	p->next_hit = arena_alloc(arena, (scrapes + 2) * sizeof *p->next_hit);
	p->last_hit = arena_alloc(arena, (scrapes + 2) * sizeof *p->last_hit);
	p->next_collection = arena_alloc(arena, (scrapes + 2) * sizeof *p->next_collection);
	p->last_collection = arena_alloc(arena, (scrapes + 2) * sizeof *p->last_collection);
	p->last_hit[0] = p->last_collection[0] = SIZE_MAX;
}

static void walk(struct evaluation *ev, size_t target, const struct watched *w, struct pauses *p)
{
	const struct target_evidence *te = target_evidence(ev, target);
	const struct target *t = te->target;
	struct tally before = { 0 };
	struct interval last, now;
	bool has_last = false;
	make_room(ev->evidence->arena, p, t->scrapes.count);
	for (size_t i = 0; i < t->scrapes.count; i++) {
		int64_t t_ms = t->scrapes.items[i].t_ms;
		if (!scrape_is_whole(&t->scrapes.items[i]))
			continue;
		struct tally tally = tally_at(w, t_ms, target_patience_ms(te));
		bool known = interval_between(&before, &tally, t_ms, &now);
		if (known) {
			add_interval(p, p->count, &now, has_last ? &last : NULL);
			p->count++;
			last = now;
		}
		has_last = known;
		before = tally;
	}
	look_ahead(p);
}

static struct pauses *pauses_of(struct evaluation *ev, size_t target)
{
	struct pauses *p = trends_pauses(ev, target);
	if (p->made)
		return p;
	const struct target_evidence *t = target_evidence(ev, target);
	struct watched w = { 0 };
	for (size_t k = 0; k < t->scheduler_count; k++)
		watch_scheduler(ev, t->schedulers[k], &w);
	if (w.collections.count && w.counts.count)
		walk(ev, target, &w, p);
	VEC_FREE(&w.collections);
	VEC_FREE(&w.counts);
	VEC_FREE(&w.buckets);
	p->made = true;
	return p;
}

/* ---- the story ---- */

/* Probability of `hits` or more of `tries`, each with chance q. */
static double binomial_tail(uint32_t hits, uint32_t tries, double q)
{
	double sum = 0;
	if (!hits || q >= 1)
		return 1;
	for (uint32_t k = hits; k <= tries; k++)
		sum += exp(lgamma(tries + 1.0) - lgamma(k + 1.0) - lgamma(tries - k + 1.0) + k * log(q) + (tries - k) * log1p(-q));
	return fmin(1, sum);
}

/* As often as gaps come without a collection they come with one by chance; two intervals are looked at. One gap more than were seen: rare
 * is not never. */
static double chance_of(const struct pause_sums *s)
{
	double one = (s->without_gaps + 1.0) / (s->without + 1.0);
	return binomial_tail(s->with_gaps, s->with, 1 - (1 - one) * (1 - one));
}

static double interval_of(const struct pauses *p, size_t low, size_t high)
{
	size_t first = p->next_collection[low], last = p->last_collection[high];
	if (first >= high || last == SIZE_MAX || last <= first)
		return NAN;
	double later = p->sums[last + 1].collections - p->sums[first + 1].collections;
	return (double)(p->t[last] - p->t[first]) / 1000 / later;
}

bool pause_story_of(struct evaluation *ev, size_t target, int64_t from_ms, struct pause_story *story)
{
	const struct pauses *p = pauses_of(ev, target);
	size_t low = times_after(p->t, p->count, from_ms), high = times_after(p->t, p->count, ev->window.to_ms);
	if (high <= low)
		return false;
	const struct pause_sums *a = &p->sums[low], *b = &p->sums[high];
	*story = (struct pause_story){ .interval_s = interval_of(p, low, high) };
	story->sums = (struct pause_sums){ b->collections - a->collections, b->gaps - a->gaps, b->with - a->with,
		b->with_gaps - a->with_gaps, b->without - a->without, b->without_gaps - a->without_gaps };
	size_t first = p->next_hit[low], last = p->last_hit[high];
	story->first_hit_ms = first < high ? p->t[first] : 0;
	story->last_hit_ms = last != SIZE_MAX && last >= low ? p->t[last] : 0;
	story->chance = chance_of(&story->sums);
	return true;
}
