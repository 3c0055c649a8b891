/* internal: what the parts of the store share.
 *
 * A series is written in one of two ways. Loose: samples of its own, in its own growing arrays. In a group: series that come together, row
 * by row, with one time for all (a scrape). A store in memory has loose series only. A store on disk writes every sample to the log when it
 * commits, and seals what grew long into chunks. What is not sealed is the head: it stays in memory and is made again from the log. */
#ifndef GOODPUT_STORE_INTERNAL_H
#define GOODPUT_STORE_INTERNAL_H

#include "base/vec.h"
#include "store/compress.h"
#include "store/database.h"
#include "store/digest.h"
#include "store/index.h"
#include "store/section.h"
#include "store/store.h"

#include <pthread.h>

struct group;
struct disk;

enum {
	SERIES_WRITTEN = 1,
	SERIES_DETACHED = 2, /* of a group's rows no more, until the group is sealed */
	SERIES_TAKEN = 4,    /* its loose samples are in a chunk of the open transaction */
	SERIES_UNSURE = 8    /* its newest sample is not newer than newest_ms: the file knows when it was */
};
#define NO_PLACE UINT32_MAX

/* One cache line: what an append reads and writes. Loose times and values stand in one block, times first, so that a window of them is
 * handed out without a copy. */
struct series {
	int64_t *t;
	uint32_t count, cap;
	int64_t newest_ms; /* of loose samples and of what was on disk; the rows of a group have their own */
	double newest_value;
	uint64_t hash; /* of its labels, which are in the index */
	struct group *group;
	uint32_t id, column; /* column in the group; the id falls when others are forgotten */
	uint32_t place;      /* head of the list of its places; its home is the first */
	uint8_t type, flags;
	uint16_t holds; /* who keeps a pointer to it; HOLDS_MOST: for ever */
} __attribute__((aligned(64)));
enum { HOLDS_MOST = UINT16_MAX };

static inline double *series_values(const struct series *series)
{
	return (double *)(series->t + series->cap);
}

/* Series stay where they are born, next to those that came with them: a page's next one is in the next line. A slab is aligned to its
 * size, so that a series finds its own; one that is empty is freed. */
enum { SLAB_BYTES = 32768, SLAB_LINES = SLAB_BYTES / 64, SLAB_SERIES = SLAB_LINES - 2 };
struct slab {
	uint64_t taken[SLAB_LINES / 64]; /* a bit for each line, the head's too */
	struct slab *next, *before;      /* of those with room */
	uint32_t count;
	struct series series[SLAB_SERIES];
};
_Static_assert(sizeof(struct slab) == SLAB_BYTES, "a slab fills its block");

struct store {
	struct sink sink;
	struct index index;
	struct series **by_id;
	size_t series_count, series_cap;
	struct slab *roomy; /* slabs with room */
	uint64_t forgotten; /* how often series were forgotten */
	size_t left;        /* about as many may have gone without samples since it was looked */
	uint32_t *slots;    /* hash table over labels: id + 1, 0 = free */
	size_t slot_count;
	size_t sample_count, refused;
	int64_t oldest_ms, newest_ms;
	pthread_rwlock_t lock;
	int64_t retention_ms; /* in memory; on disk it is in the options */
	uint64_t retention_bytes;
	struct disk *disk; /* NULL: in memory */
};

static inline struct series *series_at(const struct store *s, size_t id)
{
	return s->by_id[id];
}
/* Its labels, all in the arena. */
static inline struct labels *series_labels(const struct store *s, struct arena *arena, const struct series *series)
{
	return index_labels(&s->index, arena, series->id, series->hash);
}

/* store.c */
/* The hash table over labels anew, as large as it is to be. */
void slots_renew(struct store *s);
struct series *series_make(struct store *s, const struct labels *labels, enum metric_type type);
enum append_status series_append(struct series *series, int64_t t_ms, double value); /* loose */
/* Forgets loose samples [0, count); gives memory back when little is left of it. */
void series_drop(struct series *series, size_t count);
void store_count(struct store *s, int64_t t_ms, size_t samples);

/* slabs.c */
struct series *slab_take(struct store *s);
void slab_give(struct store *s, struct series *series);
void slabs_free(struct store *s);

/* forget.c: when those that have no samples and are not held have become an eighth, they leave the file and memory. False: nothing changed.
 */
bool store_forget(struct store *s, struct error *e);

/* retain_memory.c */
void memory_retain(struct store *s, int64_t now_ms);

/* ---- sets: which series a chunk holds, in which order ---- */

struct chunk {
	int64_t id, t_first, t_last;
	uint32_t rows;            /* the most samples that one of its columns can have */
	uint64_t samples, sealed; /* sealed: the last row of the log that it covers */
	int64_t digest;           /* the digest that covers it: the id of the last chunk of it; 0: none */
	uint32_t nth;             /* of the digest's chunks */
};

struct set {
	uint32_t number; /* in disk.sets; its key in the file is one more */
	uint32_t count;
	struct series **members; /* as stored: buckets of one histogram side by side, rising */
	bool *above;             /* members[i] is the bucket above members[i - 1]; NULL: set_above was not asked */
	uint32_t *starts;        /* section i: members [starts[i], starts[i + 1]) */
	uint32_t section_count;
	VEC(struct chunk) chunks;  /* in the order in which they were sealed */
	VEC(struct chunk) pending; /* written in the open transaction */
	struct group *group;       /* that fills it now, or NULL */
	size_t digested;           /* chunks in front that have digests, or are too few for one */
	size_t compacted;          /* chunks in front that stay as they are */
	uint64_t hash, sealed;
	bool unordered; /* a chunk begins before the end of one before it */
	bool stored, marked;
	uint32_t sealing; /* rows of the group that the open transaction seals */
};

struct place { /* a series is column `column` of set `set` */
	uint32_t set, column, next;
};

/* The set of these members, made when new. `members` is sorted in place into storage order. */
struct set *set_of(struct store *s, struct series **members, size_t count);
/* A set as the file has it: members in storage order, sections as given. */
struct set *set_restore(
	struct store *s, uint32_t number, struct series *const *members, size_t count, const uint32_t *starts, size_t section_count);
const bool *set_above(const struct store *s, struct set *set);
void set_add_chunk(struct set *set, const struct chunk *chunk);
/* Chunks [first, end) are all that can have samples in [from_ms, to_ms]; others may be among them. */
struct chunk_range {
	const struct chunk *first, *end;
};
struct chunk_range set_chunks(const struct set *set, int64_t from_ms, int64_t to_ms);
void set_free(struct set *set);

/* ---- groups ---- */

/* Blocks of one size are used again by the next group, where growing arrays would leave holes. */
enum { GROUP_BLOCK = 16 };
/* Where chunks end, beside being full: at full hours; of targets with few rows an hour at every sixth. */
enum { HOUR_MS = 3600 * 1000, CUT_HOURS = 6, CUT_INTERVAL_MS = 20 * 1000 };
/* The hour whose end a sample at t_ms is not after. */
static inline int64_t hour_of(int64_t t_ms)
{
	return t_ms > 0 ? (t_ms - 1) / HOUR_MS : t_ms / HOUR_MS - 1;
}

struct group {
	struct set *set;
	struct series **row; /* the page's order, in which rows come; NULL until one was seen whole */
	uint32_t *columns;   /* row[i] is this column */
	uint32_t rows, cap;
	uint32_t target; /* rows at which it is sealed */
	int64_t *t;
	double **blocks;  /* values row by row, GROUP_BLOCK rows a block */
	uint64_t *absent; /* row by row, a bit a column; NULL: none is */
	double *last;     /* values of the newest row, kept when sealed */
	int64_t newest_ms;
	uint64_t log_first; /* row of the log that has its first row */
	uint64_t log_last;  /* ... and its newest one */
	uint64_t log_start; /* bytes ever written to the log before it */
	/* Rows before a full hour, which become a chunk without those after it: a row of the log has both never. 0: none. */
	uint32_t cut_rows;
	uint64_t cut_log, cut_start; /* of the first row after them, as log_first and log_start */
	bool fresh;                  /* the next record stands by itself */
	bool misfit;                 /* the last row did not have exactly its members */
};

static inline size_t group_words(const struct group *g)
{
	return (g->set->count + 63) / 64;
}
static inline double *group_row(const struct group *g, size_t row)
{
	return g->blocks[row / GROUP_BLOCK] + row % GROUP_BLOCK * g->set->count;
}
static inline bool group_has(const struct group *g, uint32_t row, uint32_t column)
{
	return !g->absent || !(g->absent[row * group_words(g) + column / 64] >> column % 64 & 1);
}

enum { RECORD_ROW = 1, RECORD_LOOSE = 2, RECORD_FRESH = 4, RECORD_ABSENT = 8, RECORD_NEXT = 16 };

struct group *group_new(struct store *s, struct set *set);
void group_free(struct group *g);
/* Room for the next row (values of all columns). */
double *group_room(struct group *g);
/* Windows of whole hours are made of whole chunks: the rows up to an hour are cut off, if the row to come at t_ms is the first after it. To
 * be called before it is recorded, as the record `seq` of the log; it then stands by itself. */
void group_cut(struct disk *disk, struct group *g, int64_t t_ms, uint64_t seq);
/* How many rows sealing takes: the cut ones, if they can be sealed alone, else all. */
uint32_t group_seal_rows(const struct group *g);
/* About the time between rows; 0: not known. */
int64_t group_interval(const struct group *g);
/* The row is there. `absent`: bits of the columns that have no sample, or NULL. */
void group_push(struct store *s, struct group *g, int64_t t_ms, const uint64_t *absent, size_t samples);
/* All rows are in chunks. A group whose rows did not fit of late is dissolved: the next row makes one that fits. */
void group_sealed(struct store *s, struct group *g);
/* Groups without rows that had none since are no more: who comes again makes one that fits. */
void groups_dissolve(struct store *s, int64_t before_ms);
/* Its first `rows` rows are no more; nothing is cut. */
void group_forget(struct group *g, uint32_t rows);
/* What the rows of its group said last is what later appends are compared with. */
void series_learn_newest(struct series *series);
int64_t group_series_newest(const struct group *g, uint32_t column, double *value);
/* The sink's two ways in, on disk. */
enum append_status disk_append(struct store *s, struct series *series, int64_t t_ms, double value);
size_t disk_append_row(struct store *s, struct series *const *series, const double *values, size_t count, int64_t t_ms);
void loose_note(struct disk *disk, struct series *series, int64_t t_ms);

/* ---- the log ---- */

/* The number by which the file knows the series. */
uint32_t series_key(struct disk *disk, uint32_t id);
/* The series of a number that the file has, or NULL. */
struct series *series_of_key(const struct store *s, uint64_t key);

void record_row(struct disk *disk, struct group *g, const double *values, int64_t t_ms, const uint64_t *absent);
void records_begin(struct disk *disk);
void record_loose(struct disk *disk, const struct series *series, int64_t t_ms, double value);
/* Takes up the records of one row of the log. */
bool log_replay(struct store *s, uint64_t seq, struct str records, struct error *e);

/* ---- disk ---- */

struct disk {
	char *path;
	struct store_options options;
	struct database writer, reader; /* read-only: only the reader */
	pthread_mutex_t reader_lock;
	uint32_t fetching; /* who reads now; guarded by reader_lock, as is */
	struct kept *kept; /* what was read lately; NULL: nothing was */
	struct compressor *packer, *log_packer, *unpacker;
	VEC(struct set *) sets; /* by number; NULL: dropped */
	struct map set_numbers; /* hash of the members -> set */
	VEC(struct place) places;
	uint32_t free_place; /* head of the list of those that are free, or NO_PLACE */
	VEC(struct group *) groups;
	VEC(struct series *) loose; /* with samples in the head */
	size_t loose_samples;
	int64_t loose_first_ms;
	uint64_t loose_log_first, loose_log_start;
	struct buf records;  /* since the last commit */
	int64_t record_t_ms; /* of the loose sample before in the same row of the log */
	uint64_t record_key;
	size_t digest_next, compact_next; /* the sets looked at last */
	size_t series_stored;             /* series with ids below are in the file */
	VEC(uint32_t) batches;            /* the first key of each row of series in the file, rising */
	VEC(uint32_t) new_batches;        /* the same as the open transaction makes it */
	VEC(uint32_t) keys;               /* by id, rising */
	size_t key_hint;                  /* where series_of_key found the last one */
	uint32_t next_key;
	int64_t next_chunk;
	VEC(int64_t) replaced;        /* chunks that the file still has and memory has no more */
	uint64_t log_seq, log_oldest; /* the next row's; the oldest that is there */
	uint64_t log_written;         /* bytes since it was opened, what was found included */
	size_t log_rows, log_faults;  /* as found when it was opened */
	struct arena arena;           /* the writer's scratch */
	struct buf summary, data, packed, times;
	bool degraded;
	uint32_t degraded_commits;
	uint64_t dropped; /* samples that did not fit in memory while degraded */
	struct error why;
};

/* fetch.c. Who reads says when it begins and when it is done, and holds the store's lock for reading meanwhile: those who read at the same
 * time share one view of the file, which is not older than what memory says of it. The other calls need reader_lock; what they give is
 * valid until the next one. */
void fetch_begin(struct disk *disk);
void fetch_end(struct disk *disk);
struct times_list *times_fetch(struct disk *disk, int64_t chunk, struct arena *arena, size_t *count, struct error *e);
bool section_fetch_packed(struct disk *disk, int64_t chunk, uint32_t section, struct str *summary, struct str *packed, struct error *e);
bool section_fetch(struct disk *disk, int64_t chunk, uint32_t section, struct str *summary, struct str *data, struct error *e);
/* A row with a checksum and a blob. */
bool digest_row_fetch(struct disk *disk, enum statement which, int64_t id, struct str *blob, struct error *e);
struct digest_head *digest_fetch(struct disk *disk, int64_t digest, struct arena *arena, struct error *e);
/* `count`: of the set's section. */
struct digest_section *digest_section_fetch(struct disk *disk, int64_t digest, uint32_t section, size_t count,
	const struct digest_head *head, struct arena *arena, struct error *e);
struct kept;
void kept_free(struct kept *kept);
/* read.c */
struct series_view *disk_select(
	const struct store *s, struct arena *arena, const uint32_t *ids, size_t id_count, int64_t from_ms, int64_t to_ms, size_t *count);

/* fold_read.c */
struct fold_request {
	struct arena *arena; /* for labels */
	const struct store_selection *selections;
	const uint32_t *const *ids; /* of each, sorted */
	const size_t *id_counts;
	size_t count;
	const struct series_windows *windows;
	bool falls;
	series_fold_visit *visit;
};
void disk_fold(const struct store *s, const struct fold_request *request);

/* digest_write.c: digests of chunks that are half a day old and more, one set a call. What cannot be written now is tried again later. */
void disk_digest(struct store *s);
/* The digest of `count` chunks of a set from `first` on, as bytes: the head in `entries`, the sections one after the other through `each`.
 */
bool digest_make(struct disk *disk, const struct set *set, size_t first, size_t count, struct buf *entries,
	bool (*each)(void *context, uint32_t section, struct str data), void *context, struct error *e);
bool digest_drop(struct disk *disk, int64_t digest, struct error *e);

/* compact.c: small chunks become few, of one set a call. What cannot be written now is left as it is until the store is opened again. */
enum { REPLACED = 0 }; /* the set of a chunk that others replace, in the file */
static inline bool chunk_is_small(const struct disk *disk, const struct chunk *chunk)
{
	return chunk->rows <= disk->options.chunk_rows / 2;
}
void disk_compact(struct store *s);

/* seal.c: writes the head of a set as chunks; memory is freed by set_sealed, after the transaction. */
/* Of its group all rows, or the cut ones (group_seal_rows). */
bool set_seal(struct store *s, struct set *set, struct error *e);
void set_sealed(struct store *s, struct set *set);
/* commit.c */
/* One series goes into the batch that is being put together; batch_end writes it, if there is something in it. */
enum { BATCH_SERIES = 4096 };
struct batch {
	size_t count;
	uint32_t first_key;
};
bool batch_add(struct store *s, struct batch *batch, size_t id, struct error *e);
bool batch_end(struct disk *disk, struct batch *batch, struct error *e);
bool disk_commit(struct store *s, struct error *e);
/* Those without samples leave the list of loose series. */
void loose_tidy(struct disk *disk);
/* draft.c */
uint32_t blob_checksum(struct str a, struct str b);
/* retain.c: from the file; memory has it no more. */
bool chunk_delete(struct disk *disk, int64_t id, struct error *e);

/* newest.c: of a series that is unsure. */
void series_ask_newest(struct store *s, struct series *series);
static inline void series_ask(struct store *s, struct series *series, int64_t t_ms)
{
	if (__builtin_expect(series->flags & SERIES_UNSURE && t_ms <= series->newest_ms, 0))
		series_ask_newest(s, series);
}

/* load.c */
bool disk_load(struct store *s, struct error *e);
void disk_free(struct store *s);

#endif
