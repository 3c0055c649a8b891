/* store: samples, in memory or on disk: written through the sink, read through store_select.
 *
 * On disk (store_open): what was appended is durable once store_commit has returned true. The newest samples, the head, are in memory too;
 * older ones are read from the file when they are asked for. Samples that are not newer than the newest of their series are refused, and
 * counted.
 *
 * One thread writes: it appends, commits and retains. Other threads may read: they hold store_lock_read while they select and for as
 * long as they use what came out (a view of a store in memory is its own memory). Labels and label values that came out are in the arena
 * that was handed in, and last as long as it. The writer takes the lock itself, for the moment in which memory changes, never while it
 * writes the file: it must not append while it holds the lock for reading.
 *
 * Series that retention left without samples are forgotten, in memory and in the file, once they are many; who keeps a series over a call
 * of store_retain holds it (model/sink.h). */
#ifndef GOODPUT_STORE_STORE_H
#define GOODPUT_STORE_STORE_H

#include "base/arena.h"
#include "base/error.h"
#include "model/matcher.h"
#include "model/series.h"
#include "model/sink.h"

struct store;
/* In memory. */
struct store *store_new(void);
/* Of a store in memory: store_retain drops samples that are older, and the oldest beyond so many bytes of samples. 0: none for it. */
void store_set_retention(struct store *s, int64_t retention_ms, uint64_t retention_bytes);

struct store_options {
	bool read_only;           /* one state of the file, as it was committed; nothing can be appended */
	bool durable_full;        /* commits survive a power loss, not only the end of the process */
	int64_t retention_ms;     /* store_retain drops what is older; 0: nothing for its age */
	uint64_t retention_bytes; /* ... and the oldest beyond this size of the file; 0: nothing for its size */
	uint32_t chunk_rows;      /* samples of a series in one chunk; 0: 256 */
	uint32_t loose_samples;   /* of series that come one by one, in memory before they are sealed; 0: 2.6 million */
};
/* Opens or makes the file. NULL with an error that says how to go on: foreign, damaged, of a newer format, written by another process,
 * not writable. Read-only: a missing file is an error. */
struct store *store_open(const char *path, const struct store_options *options, struct error *e);
/* An SQLite file, so perhaps a store. */
bool store_is(const char *path);
/* Commits what is pending, if it can. */
void store_free(struct store *s);
struct sink *store_sink(struct store *s);

/* Makes durable what was appended before: to be called about once a second. False with an error while the file cannot be written: the store
 * goes on in memory (degraded) and tries again by itself; nothing is lost unless memory runs out first (store_stats: dropped). In memory:
 * true. */
bool store_commit(struct store *s, struct error *e);
/* Drops chunks that retention says, a part at each call, oldest first: to be called every minute or so. In memory: samples. Then series
 * that are left without. */
bool store_retain(struct store *s, int64_t now_ms, struct error *e);

void store_lock_read(const struct store *s);
void store_unlock_read(const struct store *s);

struct store_stats {
	size_t series, samples, head_samples, refused, dropped;
	size_t chunks, sets, groups;
	uint64_t file_bytes, free_bytes, log_bytes; /* free: pages of the file that are not used now */
	bool on_disk, degraded;
	char degraded_why[320]; /* the last error */
};
void store_stats(const struct store *s, struct store_stats *stats);

/* Reads everything that the file holds and compares it with its checksums and summaries; each fault is told to `fault`. A store that was
 * opened read-only. True when there was none. */
struct store_verified {
	size_t chunks, sections, columns, log_rows, faults;
	uint64_t samples;
};
bool store_verify(struct store *s, void (*fault)(void *context, const char *what), void *context, struct store_verified *result);

size_t store_series_count(const struct store *s);
size_t store_sample_count(const struct store *s);
/* Times of the oldest and newest sample; false when empty. */
bool store_bounds(const struct store *s, int64_t *oldest_ms, int64_t *newest_ms);

/* The first time at or after from_ms at which there may be a sample; false when there is none. */
bool store_next_time(const struct store *s, int64_t from_ms, int64_t *t_ms);

/* All series that match and have samples with from_ms <= t <= to_ms, cut to that window (stale markers included), in no
 * promised order. The array is in the arena; sample memory is the store's own where possible (no copy); from disk it is in the arena. A
 * chunk that cannot be read is left out and logged. */
struct series_view *store_select(const struct store *s, struct arena *arena, const struct matcher *matchers, size_t matcher_count,
	int64_t from_ms, int64_t to_ms, size_t *count);
/* Visits what each series that is selected has in the windows, in no promised order; series without a sample in any may be visited too.
 * Long ranges are answered from the summaries of chunks where no window begins or ends inside of them. Several selections are read in one
 * pass; a series that is in more than one is visited for each. Labels are in the arena. `falls`: falls are wanted. False: not done, a store
 * in memory has its samples at hand. */
struct store_selection {
	const struct matcher *matchers;
	size_t matcher_count;
	void *context; /* for `visit` */
};
enum { STORE_SELECTIONS_MAX = 32 };
bool store_fold(const struct store *s, struct arena *labels, const struct store_selection *selections, size_t count,
	const struct series_windows *windows, bool falls, series_fold_visit *visit);
/* Sorted distinct values of a label over series that match (any matchers, also none). */
struct str *store_label_values(
	const struct store *s, struct arena *arena, struct str label, const struct matcher *matchers, size_t matcher_count, size_t *count);
/* The type that the TYPE line gave. */
enum metric_type store_series_type(const struct store *s, const struct labels *labels);

#endif
