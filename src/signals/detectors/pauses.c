/* Python's collector freezes every stream at once. How long a collection takes is exported by nobody; that tokens stop whenever one ran,
 * and at no other time, is. */
#include "signals/detectors/pauses.h"

#include "signals/detectors/detect.h"
#include "signals/detectors/trends.h"

static const double slow_gap_s = 0.2;

/* ---- the history of one target ---- */

struct tally { /* counters at one scrape */
	double collections, gaps, slow, decode_s;
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
	VEC(const struct member *) collections, counts, buckets, sums;
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
		if (gaps->members.items[i].part == PART_SUM)
			VEC_PUSH(&w->sums, &gaps->members.items[i]);
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
	VEC_EACH (&w->sums, m)
		t.decode_s += value_then(*m, t_ms, patience_ms);
	t.known = isfinite(t.collections) && isfinite(t.slow);
	return t;
}

struct interval {
	int64_t t_ms;
	double collections, gaps, slow, decode_s;
};

/* A counter that fell began anew: that interval is not known. */
static bool interval_between(const struct tally *before, const struct tally *now, int64_t t_ms, struct interval *i)
{
	*i = (struct interval){ t_ms, now->collections - before->collections, now->gaps - before->gaps, now->slow - before->slow,
		now->decode_s - before->decode_s };
	return before->known && now->known && i->collections >= 0 && i->gaps >= 0 && i->slow >= 0;
}

/* ---- summing up ---- */

static struct pause_sums sums_with(struct pause_sums s, const struct interval *i, const struct interval *before)
{
	bool after = before && before->collections > 0 && before->gaps > 0;
	bool open = after && !(before->slow > 0); /* its gaps may have come a scrape later */
	if (open) {
		s.with++;
		s.with_gaps += i->slow > 0;
	}
	if (i->gaps > 0 && i->collections > 0 && i->slow > 0) {
		s.with++;
		s.with_gaps++;
	} else if (i->gaps > 0 && !(i->collections > 0) && !after) {
		s.without++;
		s.without_gaps += i->slow > 0;
	}
	s.collections += i->collections;
	s.all_gaps += i->slow;
	s.decode_s += i->decode_s;
	s.gaps += after || i->collections > 0 ? i->slow : 0;
	return s;
}

static void walk(struct evaluation *ev, size_t target, const struct watched *w, struct pauses *p)
{
	const struct target_evidence *te = target_evidence(ev, target);
	const struct target *t = te->target;
	struct tally before = { 0 };
	struct interval last, now;
	bool has_last = false;
	p->t = arena_alloc(ev->evidence->arena, (t->scrapes.count + 1) * sizeof *p->t);
	p->sums = ARENA_ARRAY(ev->evidence->arena, struct pause_sums, t->scrapes.count + 1);
	for (size_t i = 0; i < t->scrapes.count; i++) {
		int64_t t_ms = t->scrapes.items[i].t_ms;
		if (!scrape_is_whole(&t->scrapes.items[i]))
			continue;
		struct tally tally = tally_at(w, t_ms, target_patience_ms(te));
		bool known = interval_between(&before, &tally, t_ms, &now);
		if (known) {
			p->t[p->count] = t_ms;
			p->sums[p->count + 1] = sums_with(p->sums[p->count], &now, has_last ? &last : NULL);
			p->count++;
			last = now;
		}
		has_last = known;
		before = tally;
	}
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
	VEC_FREE(&w.sums);
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

enum counted { COLLECTIONS, HITS };

static double counted_before(const struct pauses *p, size_t i, enum counted what)
{
	return what == HITS ? p->sums[i].with_gaps : p->sums[i].collections;
}

/* The first interval from `low` on with which the sum is above `than`; p->count when there is none. Sums never fall. */
static size_t first_above(const struct pauses *p, size_t low, enum counted what, double than)
{
	size_t high = p->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (counted_before(p, middle + 1, what) > than)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first and the last interval of [low, high) with one; false when there is none. */
static bool ends_of(const struct pauses *p, size_t low, size_t high, enum counted what, size_t *first, size_t *last)
{
	double at_start = counted_before(p, low, what), at_end = counted_before(p, high, what);
	if (!(at_end > at_start))
		return false;
	*first = first_above(p, low, what, at_start);
	*last = first_above(p, *first, what, at_end - 0.5); /* where it becomes what it is in the end: they are whole numbers */
	return true;
}

static double interval_of(const struct pauses *p, size_t low, size_t high)
{
	size_t first, last;
	if (!ends_of(p, low, high, COLLECTIONS, &first, &last) || first == last)
		return NAN;
	return (double)(p->t[last] - p->t[first]) / 1000 / (p->sums[last + 1].collections - p->sums[first + 1].collections);
}

bool pause_story_of(struct evaluation *ev, size_t target, int64_t from_ms, struct pause_story *story)
{
	const struct pauses *p = pauses_of(ev, target);
	size_t low = times_after(p->t, p->count, from_ms), high = times_after(p->t, p->count, ev->window.to_ms);
	if (high <= low)
		return false;
	const struct pause_sums *a = &p->sums[low], *b = &p->sums[high];
	*story = (struct pause_story){ .interval_s = interval_of(p, low, high) };
	story->sums = (struct pause_sums){ b->collections - a->collections, b->gaps - a->gaps, b->all_gaps - a->all_gaps,
		b->decode_s - a->decode_s, b->with - a->with, b->with_gaps - a->with_gaps, b->without - a->without,
		b->without_gaps - a->without_gaps };
	story->streams = high - low > 1 ? (b->decode_s - p->sums[low + 1].decode_s) * 1000 / (double)(p->t[high - 1] - p->t[low]) : NAN;
	size_t first, last;
	if (ends_of(p, low, high, HITS, &first, &last)) {
		story->first_hit_ms = p->t[first];
		story->last_hit_ms = p->t[last];
	}
	story->chance = chance_of(&story->sums);
	return true;
}
