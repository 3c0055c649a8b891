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

/* Streams stop in the intervals with a full collection, and hardly ever in others: needs scrapes closer than collections. */
static bool come_together(const struct evaluation *ev, const struct pause_story *story)
{
	const struct pause_sums *s = &story->sums;
	if (!(story->chance < chance_max) || !(story->interval_s < rare_s))
		return false;
	/* Half of the collections stop somebody (few streams: one may meet none), and half of what stops is theirs. */
	if (s->with_gaps < 0.5 * s->with || s->with_gaps < s->without_gaps)
		return false;
	return (double)(ev->window.to_ms - story->last_hit_ms) <= 3000 * story->interval_s; /* it goes on */
}

/* Or, where each interval has several: as many slow gaps as full collections times running streams, within a factor of two. */
static bool are_as_many(struct evaluation *ev, const struct scope *s)
{
	double per_s, gaps, freezes;
	const struct reading *share = evaluation_named(ev, s, "slow_gap_share");
	if (!reading_is_number(share) || !(share->events >= 20) || !((share->has_interval ? share->interval_low : share->low) > 0.005))
		return false;
	if (!number_at(ev, s, "gc_gen2_per_s", &per_s) || !number_at(ev, s, "slow_gaps", &gaps) ||
		!number_at(ev, s, "gc_freezes", &freezes))
		return false;
	return per_s > 0.05 && gaps >= 0.5 * freezes && gaps <= 2 * freezes;
}

static void judge(struct evaluation *ev, struct scope *s)
{
	struct pause_story story;
	if (!story_at(ev, s, &story))
		return;
	const struct pause_sums *n = &story.sums;
	if (come_together(ev, &story)) {
		struct finding *f = evaluation_raise(ev, "gc-pauses", s, NULL, 0, 1,
			arena_printf(ev->arena, "streams stopped in %u of %u scrape intervals with a full collection, in %u of %u without",
				n->with_gaps, n->with, n->without_gaps, n->without));
		if (f) /* the first collection that stopped somebody */
			f->onset_ms = story.first_hit_ms;
	} else if (has_window(ev) && are_as_many(ev, s)) {
		evaluation_raise(ev, "gc-pauses", s, NULL, 0, 1, STR("slow gaps are as many as full collections times running streams"));
	}
}

void collector_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (target_answers(ev, s->target))
			judge(ev, s);
	}
}
