#include "store/internal.h"

#include "base/number.h"

#include <stdlib.h>

/* Series live in slabs in the order of their birth, which is the order in which a page shows them: the next one is in the next line. */
enum { SERIES_FIRST_CAP = 8, PREFETCH_SERIES = 12, PREFETCH_TAIL = 6 };

static struct store *store_of(struct sink *sink)
{
	return (struct store *)((char *)sink - offsetof(struct store, sink));
}

/* ---- series ---- */

/* At most three quarters are in use. */
static size_t slot_find(const struct store *s, const struct labels *labels)
{
	size_t mask = s->slot_count - 1, at = labels->hash & mask;
	for (; s->slots[at]; at = (at + 1) & mask) {
		const struct series *series = series_at(s, s->slots[at] - 1);
		if (series->hash == labels->hash && index_has(&s->index, series->id, labels))
			break;
	}
	return at;
}

void slots_renew(struct store *s)
{
	size_t wanted = 64;
	while (s->series_count * 4 >= wanted * 3)
		wanted *= 2;
	mem_free(s->slots);
	s->slot_count = wanted;
	s->slots = mem_zalloc(wanted, sizeof *s->slots);
	for (size_t id = 0; id < s->series_count; id++) {
		size_t at = series_at(s, id)->hash & (wanted - 1);
		while (s->slots[at])
			at = (at + 1) & (wanted - 1);
		s->slots[at] = (uint32_t)id + 1;
	}
}

static struct series *series_find(const struct store *s, const struct labels *labels)
{
	uint32_t slot = s->slot_count ? s->slots[slot_find(s, labels)] : 0;
	return slot ? series_at(s, slot - 1) : NULL;
}

struct series *series_make(struct store *s, const struct labels *labels, enum metric_type type)
{
	if (s->series_count * 4 >= s->slot_count * 3)
		slots_renew(s);
	if (s->series_count == s->series_cap) {
		s->series_cap += s->series_cap / 4 + 64;
		s->by_id = mem_resize(s->by_id, s->series_cap, sizeof *s->by_id);
	}
	size_t slot = slot_find(s, labels);
	struct series *series = s->by_id[s->series_count++] = slab_take(s);
	series->hash = labels->hash;
	series->type = (uint8_t)type;
	series->place = NO_PLACE;
	series->id = index_add(&s->index, labels);
	series->newest_ms = INT64_MIN;
	s->slots[slot] = series->id + 1;
	return series;
}

static struct series *sink_series(struct sink *sink, const struct labels *labels, enum metric_type type)
{
	struct store *s = store_of(sink);
	struct series *series = series_find(s, labels);
	if (series && (type == METRIC_UNKNOWN || series->type == type))
		return series;
	pthread_rwlock_wrlock(&s->lock);
	if (!series)
		series = series_make(s, labels, type);
	series->type = (uint8_t)type;
	pthread_rwlock_unlock(&s->lock);
	return series;
}

/* Only the writer looks at it. */
static void store_hold(struct sink *sink, struct series *series, bool held)
{
	if (series->holds != HOLDS_MOST)
		series->holds = (uint16_t)(series->holds + (held ? 1 : -1));
	store_of(sink)->left += !series->holds;
}

static uint64_t sink_has_forgotten(const struct sink *sink)
{
	return store_of((struct sink *)sink)->forgotten;
}

static struct labels *sink_labels(const struct sink *sink, struct arena *arena, const struct series *series)
{
	return series_labels(store_of((struct sink *)sink), arena, series);
}

static void series_resize(struct series *series, uint32_t cap)
{
	int64_t *t = mem_resize(NULL, cap, sizeof(int64_t) + sizeof(double));
	double *v = (double *)(t + cap);

	if (series->count) {
		memcpy(t, series->t, series->count * sizeof *t);
		memcpy(v, series_values(series), series->count * sizeof *v);
	}
	mem_free(series->t);
	series->t = t;
	series->cap = cap;
}

static void series_grow(struct series *series)
{
	series_resize(series, series->cap ? series->cap * 2 : SERIES_FIRST_CAP);
}

/* ---- append ---- */

enum append_status series_append(struct series *series, int64_t t_ms, double value)
{
	if (__builtin_expect(t_ms <= series->newest_ms && series->flags & SERIES_WRITTEN, 0)) {
		if (t_ms < series->newest_ms)
			return APPEND_OUT_OF_ORDER;
		return number_bits(series->newest_value) == number_bits(value) ? APPEND_SAME : APPEND_DUPLICATE;
	}
	if (series->count == series->cap)
		series_grow(series);
	series->t[series->count] = t_ms;
	series_values(series)[series->count++] = value;
	series->newest_ms = t_ms;
	series->newest_value = value;
	series->flags = (uint8_t)((series->flags | SERIES_WRITTEN) & ~SERIES_UNSURE);
	return APPEND_OK;
}

void series_drop(struct series *series, size_t count)
{
	size_t kept = series->count - count;
	if (!kept) {
		mem_free(series->t);
		series->t = NULL;
		series->cap = series->count = 0;
		return;
	}
	memmove(series->t, series->t + count, kept * sizeof *series->t);
	memmove(series_values(series), series_values(series) + count, kept * sizeof(double));
	series->count = (uint32_t)kept;
	if (series->cap > SERIES_FIRST_CAP && kept < series->cap / 4)
		series_resize(series, series->cap / 2);
}

void store_count(struct store *s, int64_t t_ms, size_t samples)
{
	if (!samples)
		return;
	if (!s->sample_count || t_ms < s->oldest_ms)
		s->oldest_ms = t_ms;
	if (!s->sample_count || t_ms > s->newest_ms)
		s->newest_ms = t_ms;
	s->sample_count += samples;
}

static enum append_status sink_append(struct sink *sink, struct series *series, int64_t t_ms, double value)
{
	struct store *s = store_of(sink);
	pthread_rwlock_wrlock(&s->lock);
	enum append_status status = s->disk ? disk_append(s, series, t_ms, value) : series_append(series, t_ms, value);
	store_count(s, t_ms, status == APPEND_OK);
	s->refused += status >= APPEND_DUPLICATE;
	pthread_rwlock_unlock(&s->lock);
	return status;
}

static void series_prefetch_tail(const struct series *soon)
{
	__builtin_prefetch(soon->t + soon->count, 1);
	__builtin_prefetch(series_values(soon) + soon->count, 1);
}

/* A row touches one line of the series, one of its times and one of its values, all of them cold when the fleet is large. They are asked
 * for a few samples ahead: first the series, then, when that is likely there, its tails. */
static size_t memory_append_row(struct store *s, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	size_t stored = 0, refused = 0;
	for (size_t i = 0; i < count; i++) {
		if (i + PREFETCH_SERIES < count)
			__builtin_prefetch(series[i + PREFETCH_SERIES], 1);
		if (i + PREFETCH_TAIL < count)
			series_prefetch_tail(series[i + PREFETCH_TAIL]);
		enum append_status status = series_append(series[i], t_ms, values[i]);
		stored += status == APPEND_OK;
		refused += status >= APPEND_DUPLICATE;
	}
	store_count(s, t_ms, stored);
	return refused;
}

static size_t sink_append_row(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct store *s = store_of(sink);
	pthread_rwlock_wrlock(&s->lock);
	size_t refused = s->disk ? disk_append_row(s, series, values, count, t_ms) : memory_append_row(s, series, values, count, t_ms);
	s->refused += refused;
	pthread_rwlock_unlock(&s->lock);
	return refused;
}

/* One lock for all. Where the next ones stand is cold, as in a row. */
static void many_append(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses)
{
	struct store *s = store_of(sink);
	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < count; i++) {
		const struct sink_sample *x = &samples[i];
		if (i + PREFETCH_SERIES < count)
			__builtin_prefetch(samples[i + PREFETCH_SERIES].series, 1);
		if (i + PREFETCH_TAIL < count)
			series_prefetch_tail(samples[i + PREFETCH_TAIL].series);
		statuses[i] =
			(uint8_t)(s->disk ? disk_append(s, x->series, x->t_ms, x->value) : series_append(x->series, x->t_ms, x->value));
		store_count(s, x->t_ms, statuses[i] == APPEND_OK);
		s->refused += statuses[i] >= APPEND_DUPLICATE;
	}
	pthread_rwlock_unlock(&s->lock);
}

static const struct sink_ops store_sink_ops = { sink_series, sink_append, sink_append_row, many_append, store_hold, sink_has_forgotten,
	sink_labels };

/* ---- the store ---- */

struct store *store_new(void)
{
	struct store *s = NEW(struct store);
	pthread_rwlockattr_t attributes;
	pthread_rwlockattr_init(&attributes);
	/* A stream of queries must not keep the scrapes out. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	s->sink.ops = &store_sink_ops;
	index_init(&s->index);
	return s;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	if (s->disk)
		disk_free(s);
	for (size_t i = 0; i < s->series_count; i++)
		mem_free(series_at(s, i)->t);
	slabs_free(s);
	mem_free(s->by_id);
	mem_free(s->slots);
	index_fini(&s->index);
	pthread_rwlock_destroy(&s->lock);
	mem_free(s);
}

void store_lock_read(const struct store *s)
{
	pthread_rwlock_rdlock((pthread_rwlock_t *)&s->lock);
}
void store_unlock_read(const struct store *s)
{
	pthread_rwlock_unlock((pthread_rwlock_t *)&s->lock);
}

struct sink *store_sink(struct store *s)
{
	return &s->sink;
}
size_t store_series_count(const struct store *s)
{
	return s->series_count;
}
size_t store_sample_count(const struct store *s)
{
	return s->sample_count;
}

bool store_bounds(const struct store *s, int64_t *oldest_ms, int64_t *newest_ms)
{
	if (!s->sample_count)
		return false;
	*oldest_ms = s->oldest_ms;
	*newest_ms = s->newest_ms;
	return true;
}

enum metric_type store_series_type(const struct store *s, const struct labels *labels)
{
	const struct series *series = series_find(s, labels);
	return series ? series->type : METRIC_UNKNOWN;
}

/* ---- select ---- */

/* Index of the first sample at or after t_ms. Series that are scraped together have equal times, so the answer for the one before (`hint`)
 * is tried first: it saves a dozen cache misses of a binary search. */
static size_t samples_seek(const int64_t *t, size_t count, int64_t t_ms, size_t hint)
{
	if (hint <= count && (hint == count || t[hint] >= t_ms) && (hint == 0 || t[hint - 1] < t_ms))
		return hint;
	return times_after(t, count, t_ms - 1);
}

struct series_view *store_select(const struct store *s, struct arena *arena, const struct matcher *matchers, size_t matcher_count,
	int64_t from_ms, int64_t to_ms, size_t *count)
{
	size_t id_count, from_hint = 0, to_hint = 0;
	const uint32_t *ids = index_select(&s->index, arena, matchers, matcher_count, &id_count);
	if (s->disk)
		return disk_select(s, arena, ids, id_count, from_ms, to_ms, count);
	struct series_view *views = arena_alloc(arena, (id_count + 1) * sizeof *views);
	*count = 0;
	for (size_t i = 0; i < id_count; i++) {
		if (i + PREFETCH_SERIES < id_count)
			__builtin_prefetch(series_at(s, ids[i + PREFETCH_SERIES]));
		const struct series *series = series_at(s, ids[i]);
		from_hint = samples_seek(series->t, series->count, from_ms, from_hint);
		to_hint = to_ms == INT64_MAX ? series->count : samples_seek(series->t, series->count, to_ms + 1, to_hint);
		if (from_hint < to_hint)
			views[(*count)++] = (struct series_view){ series_labels(s, arena, series), series->t + from_hint,
				series_values(series) + from_hint, to_hint - from_hint };
	}
	return views;
}

bool store_fold(const struct store *s, struct arena *labels, const struct store_selection *selections, size_t count,
	const struct series_windows *windows, bool falls, series_fold_visit *visit)
{
	const uint32_t *ids[STORE_SELECTIONS_MAX];
	size_t id_counts[STORE_SELECTIONS_MAX];
	struct arena arena;

	if (!s->disk || count > STORE_SELECTIONS_MAX)
		return false;
	arena_init(&arena);
	for (size_t i = 0; i < count; i++)
		ids[i] = index_select(&s->index, &arena, selections[i].matchers, selections[i].matcher_count, &id_counts[i]);
	disk_fold(s, &(struct fold_request){ labels, selections, ids, id_counts, count, windows, falls, visit });
	arena_fini(&arena);
	return true;
}

/* ---- label values ---- */

static int compare_str(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static size_t str_sort_distinct(struct str *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof *values, compare_str);
	size_t kept = 1;
	for (size_t i = 1; i < count; i++)
		if (!str_eq(values[i], values[kept - 1]))
			values[kept++] = values[i];
	return kept;
}

static struct str *values_of_index(const struct store *s, struct arena *arena, struct str label, size_t *count)
{
	const struct map *values = map_get(&s->index.names, label);
	struct str *list = ARENA_ARRAY(arena, struct str, (values ? values->live : 0) + 1);
	*count = 0;
	if (values)
		MAP_EACH (values, value)
			list[(*count)++] = value->key;
	return list;
}

struct str *store_label_values(
	const struct store *s, struct arena *arena, struct str label, const struct matcher *matchers, size_t matcher_count, size_t *count)
{
	struct str *list;
	if (!matcher_count) {
		list = values_of_index(s, arena, label, count);
	} else {
		size_t id_count;
		const uint32_t *ids = index_select(&s->index, arena, matchers, matcher_count, &id_count);
		list = ARENA_ARRAY(arena, struct str, id_count + 1);
		*count = 0;
		for (size_t i = 0; i < id_count; i++) {
			struct str value = index_value(&s->index, ids[i], label);
			if (value.len)
				list[(*count)++] = value;
		}
	}
	*count = str_sort_distinct(list, *count);
	for (size_t i = 0; i < *count; i++)
		list[i] = arena_str(arena, list[i]);
	return list;
}
