/* Python's collector: are its full collections what stops the streams? */
#include "signals/detectors/detect.h"
#include "signals/detectors/pauses.h"

/* One collection in two minutes meets one request of a hundred that lasts a second or so. */
static const double rare_s = 120, chance_max = 1e-4;

static bool story_at(struct evaluation *ev, const struct scope *s, struct pause_story *story)
{
	return pause_story_of(ev, s->target, history_start(ev, s->target), story);
}

void collector_publish(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		struct pause_story story;
		if (!is_exported(ev, s, "gc_collections") || !is_exported(ev, s, "itl"))
			continue;
		bool known = story_at(ev, s, &story);
		struct reading unknown = reading_unknown(UNKNOWN_ONE_SCRAPE, STR_EMPTY);
		evaluation_publish(ev, s, "gc_freezes_seen", known ? reading_value(story.sums.with_gaps) : unknown);
		evaluation_publish(ev, s, "gc_gaps_seen", known ? reading_value(story.sums.gaps) : unknown);
		evaluation_publish(
			ev, s, "gc_freeze_interval_s", known && isfinite(story.interval_s) ? reading_value(story.interval_s) : unknown);
	}
}

/* ---- raise ---- */

/* What every way to tell asks for: half of the collections stop somebody (few streams: one may meet none), half of what stops is theirs,
 * they are not rare, and it goes on. */
static bool may_be(const struct evaluation *ev, const struct pause_story *story)
{
	const struct pause_sums *s = &story->sums;
	return story->interval_s < rare_s && s->with_gaps >= 0.5 * s->with && s->with_gaps >= s->without_gaps &&
	       (double)(ev->window.to_ms - story->last_hit_ms) <= 3000 * story->interval_s;
}

/* Streams stop in the intervals with a full collection, and hardly ever in others: needs scrapes closer than collections. */
static bool come_together(const struct evaluation *ev, const struct pause_story *story)
{
	return story->chance < chance_max && may_be(ev, story);
}

static bool within_twice(double value, double expected)
{
	return value >= 0.5 * expected && value <= 2 * expected;
}

/* Where each interval has a collection: as many slow gaps as full collections times running streams, within a factor of two; and many. */
static bool are_as_many(struct evaluation *ev, const struct scope *s)
{
	double per_s, gaps, freezes;
	const struct reading *share = evaluation_named(ev, s, "slow_gap_share");
	if (!reading_is_number(share) || !(share->events >= 20) || !((share->has_interval ? share->interval_low : share->low) > 0.005))
		return false;
	if (!number_at(ev, s, "gc_gen2_per_s", &per_s) || !number_at(ev, s, "slow_gaps", &gaps) ||
		!number_at(ev, s, "gc_freezes", &freezes))
		return false;
	return per_s > 0.05 && within_twice(gaps, freezes);
}

/* The replicas of a pool beside each other. */
struct field {
	size_t count;
	struct scope **targets;
	struct pause_story *stories;
	bool *known;
	double *gaps, *collections, *room;
};

static struct field field_of(struct evaluation *ev, const struct scope *pool)
{
	size_t n = pool->target_count + 1;
	struct field f = { .targets = ARENA_ARRAY(ev->arena, struct scope *, n),
		.stories = ARENA_ARRAY(ev->arena, struct pause_story, n),
		.known = ARENA_ARRAY(ev->arena, bool, n),
		.gaps = ARENA_ARRAY(ev->arena, double, n),
		.collections = ARENA_ARRAY(ev->arena, double, n),
		.room = ARENA_ARRAY(ev->arena, double, n) };
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!scope_has_target(pool, s->target))
			continue;
		size_t i = f.count++;
		f.targets[i] = s;
		f.known[i] = target_answers(ev, s->target) && story_at(ev, s, &f.stories[i]);
		f.gaps[i] = f.stories[i].sums.all_gaps;
		f.collections[i] = f.stories[i].sums.collections;
	}
	return f;
}

/* It alone collects, it alone stops, as often as the one would have the other: with far fewer of either at its peers, who serve the same
 * traffic, a few of both are enough. */
static bool stands_alone(const struct evaluation *ev, const struct field *f, size_t i)
{
	const struct pause_story *story = &f->stories[i];
	const struct pause_sums *s = &story->sums;
	if (count_others(f->known, f->count, i) < PEERS_FOR_SPREAD || s->collections < 3 || s->gaps < 6 || !may_be(ev, story))
		return false;
	return median_of_others(f->gaps, f->known, f->count, i, f->room) <= 0.1 * s->all_gaps &&
	       median_of_others(f->collections, f->known, f->count, i, f->room) <= 0.25 * s->collections &&
	       within_twice(s->gaps, s->collections * story->streams);
}

static struct str detail_of(struct evaluation *ev, const struct pause_story *story)
{
	const struct pause_sums *n = &story->sums;
	return arena_printf(ev->arena, "streams stopped in %u of %u scrape intervals with a full collection, in %u of %u without",
		n->with_gaps, n->with, n->without_gaps, n->without);
}

static void judge(struct evaluation *ev, const struct field *f, size_t i)
{
	const struct pause_story *story = &f->stories[i];
	struct finding *finding = NULL;
	if (come_together(ev, story))
		finding = evaluation_raise(ev, "gc-pauses", f->targets[i], NULL, 0, 1, detail_of(ev, story));
	else if (stands_alone(ev, f, i))
		finding = evaluation_raise(ev, "gc-pauses", f->targets[i], NULL, 0, 1,
			arena_printf(ev->arena,
				"%g full collections and %g slow gaps; its peers have %g and %g (medians), and %.2g streams ran on average",
				story->sums.collections, story->sums.all_gaps,
				median_of_others(f->collections, f->known, f->count, i, f->room),
				median_of_others(f->gaps, f->known, f->count, i, f->room), story->streams));
	else if (has_window(ev) && are_as_many(ev, f->targets[i]))
		evaluation_raise(
			ev, "gc-pauses", f->targets[i], NULL, 0, 1, STR("slow gaps are as many as full collections times running streams"));
	if (finding) /* the first collection that stopped somebody */
		finding->onset_ms = story->first_hit_ms;
}

void collector_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		struct field f = field_of(ev, s);
		for (size_t i = 0; i < f.count; i++)
			if (f.known[i])
				judge(ev, &f, i);
	}
}
