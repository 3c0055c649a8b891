/* Retention of a store in memory. Arrays keep their newest samples: moving those costs, so that a series is cut only when an eighth of it
 * goes. */
#include "store/internal.h"

enum { SERIES_A_LOCK = 4096, LEAST_SHARE = 8 };

void store_set_retention(struct store *s, int64_t retention_ms, uint64_t retention_bytes)
{
	s->retention_ms = retention_ms;
	s->retention_bytes = retention_bytes;
}

/* What samples take; arrays double as they grow, and are counted as far as they are used. */
static uint64_t samples_bytes(const struct store *s)
{
	return s->sample_count * (sizeof(int64_t) + sizeof(double));
}

/* What is older goes. Beyond the size it is as much time as takes a sixteenth more than is too much: samples come evenly. */
static int64_t cut_before(const struct store *s, int64_t now_ms)
{
	int64_t cut = s->retention_ms ? now_ms - s->retention_ms : INT64_MIN;
	uint64_t bytes = samples_bytes(s);

	if (s->retention_bytes && bytes > s->retention_bytes) {
		double span = (double)s->newest_ms - (double)s->oldest_ms + 1,
		       share = 1 - (double)s->retention_bytes / (double)bytes * 15 / 16;
		int64_t by_size = s->oldest_ms + (int64_t)(span * share);
		cut = by_size > cut ? by_size : cut;
	}
	return cut;
}

static void series_retain(struct store *s, struct series *series, int64_t cut_ms)
{
	size_t old = times_after(series->t, series->count, cut_ms - 1);

	if (!old || (old < series->count && old < series->count / LEAST_SHARE))
		return;
	series_drop(series, old);
	s->left += !series->count;
	s->sample_count -= old;
}

void memory_retain(struct store *s, int64_t now_ms)
{
	int64_t cut_ms = cut_before(s, now_ms), oldest = INT64_MAX;

	if (!s->sample_count || cut_ms <= s->oldest_ms)
		return;
	for (size_t id = 0; id < s->series_count;) {
		pthread_rwlock_wrlock(&s->lock);
		for (size_t end = id + SERIES_A_LOCK; id < s->series_count && id < end; id++) {
			struct series *series = series_at(s, id);
			series_retain(s, series, cut_ms);
			oldest = series->count && series->t[0] < oldest ? series->t[0] : oldest;
		}
		pthread_rwlock_unlock(&s->lock);
	}
	pthread_rwlock_wrlock(&s->lock);
	s->oldest_ms = s->sample_count ? oldest : s->newest_ms;
	pthread_rwlock_unlock(&s->lock);
}
