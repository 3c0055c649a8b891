/* What the files of the library share. Every name that the linker sees begins with goodput_: the static library is linked into others'
 * programs. */
#ifndef TELEMETRY_INTERNAL_H
#define TELEMETRY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_API __attribute__((visibility("default")))
#include "goodput/telemetry.h"

/* ---- texts ---- */

/* Grows until memory fails; then failed stays set and nothing more is added. */
struct goodput_text {
	char *data;
	size_t size, capacity;
	bool failed;
};

void goodput_text_fini(struct goodput_text *t);
void goodput_text_add(struct goodput_text *t, const void *bytes, size_t size);
void goodput_text_string(struct goodput_text *t, const char *s);
/* As Python's json.dumps writes a text: in quotes, ASCII only. s is UTF-8. */
void goodput_text_json(struct goodput_text *t, const char *s);
/* As prometheus_client writes a bucket's edge: 1.0, 1e+06, +Inf. Does not depend on the locale. */
void goodput_text_number(struct goodput_text *t, double value);
bool goodput_utf8(const char *s);
uint64_t goodput_hash(const char *bytes, size_t size);
/* metric: colons are allowed. */
bool goodput_name_valid(const char *name, bool metric);

/* ---- memory that a forked child finds zeroed ---- */

struct goodput_arena {
	struct goodput_arena_chunk *chunks;
	size_t left;
	bool by_hand; /* the kernel cannot: goodput_arena_wipe in the child */
};

/* Zeroed, aligned for doubles and pointers; NULL without memory. Lives until fini. */
void *goodput_arena_take(struct goodput_arena *a, size_t size);
void goodput_arena_wipe(struct goodput_arena *a);
void goodput_arena_fini(struct goodput_arena *a);

/* ---- one metric file ---- */

enum goodput_file_kind {
	GOODPUT_FILE_COUNTER,
	GOODPUT_FILE_HISTOGRAM,
	GOODPUT_FILE_SUMMARY,
	GOODPUT_FILE_GAUGE, /* + enum goodput_gauge_mode */
	GOODPUT_FILE_KINDS = GOODPUT_FILE_GAUGE + 10
};

/* Part of a file, mapped. Growing adds one and leaves the others where they are, so a pointer to a cell is good as long as the file is
 * open. Each begins a page before the end of the one before: value and timestamp of an entry lie in one of them. */
struct goodput_segment {
	uint64_t begin, end;
	char *at;
};

/* An entry that was in the file when it was opened. */
struct goodput_adopted {
	uint64_t hash;
	uint32_t offset; /* of the key's length */
	uint32_t length;
	bool taken;
};

struct goodput_file {
	char name[96];       /* in the directory */
	int fd;              /* -1: not open */
	unsigned value_size; /* 8 without a timestamp, 16 with one */
	uint32_t used;
	uint64_t size, inode, device;
	struct goodput_segment *segments;
	size_t segment_count;
	struct goodput_adopted *adopted; /* by hash */
	size_t adopted_count;
	bool put_aside; /* a damaged one of a predecessor, not told yet */
	/* Why saving fails, until it works; nothing is tried before retry_ns. */
	int status, system_error;
	const char *doing;
	int64_t retry_ns;
};

/* Opens or makes DIRECTORY/NAME as this process's own. keep: go on with the entries that a predecessor of the same pid left, else begin
 * anew. */
int goodput_file_open(struct goodput_file *f, const char *directory, unsigned value_size, bool keep);
/* Unmaps and closes; the file stays. */
void goodput_file_close(struct goodput_file *f);
/* The same in a forked child, which did not inherit the mappings. */
void goodput_file_forget(struct goodput_file *f);
/* Closes the descriptor alone, if it is still ours. */
void goodput_file_drop(struct goodput_file *f);
/* Is the descriptor still that of the file? A host that closes all that it does not know, as daemons do, may have given the number to
 * another. */
bool goodput_file_ours(const struct goodput_file *f);
/* Opens the same file again after that; the mappings kept its lock. */
int goodput_file_reopen(struct goodput_file *f, const char *directory);
/* Appends whole entries, seen by readers all at once; *at is where the first begins. */
int goodput_file_append(struct goodput_file *f, const void *entries, size_t size, uint32_t *at);
/* The mapped value at this offset. */
double *goodput_file_cell(const struct goodput_file *f, uint64_t offset);
/* Where the value of an entry of this key is that was adopted and not taken before; 0 if none. */
uint32_t goodput_file_take(struct goodput_file *f, const char *key, size_t size);
/* Is the name in the directory still this file? */
bool goodput_file_linked(const struct goodput_file *f, const char *directory);
/* Notes what failed, from errno; returns the status for it. */
int goodput_file_failed(struct goodput_file *f, const char *doing);

/* Adopts the entries of the open file: sets used, value_size, adopted. 0, EILSEQ when it is damaged, or errno. */
int goodput_adopt(struct goodput_file *f);
/* Of the files that others have written there: 8, 16, or 0 when none tells. */
unsigned goodput_directory_value_size(const char *directory);

/* ---- registry ---- */

enum goodput_kind { GOODPUT_COUNTER, GOODPUT_GAUGE, GOODPUT_HISTOGRAM, GOODPUT_SUMMARY };

#define GOODPUT_THREAD_CELLS_MAX 256
#define GOODPUT_BOUNDS_MAX 1000
#define GOODPUT_KEY_MAX (1 << 20)
#define GOODPUT_TEXT_MAX (64 << 10) /* help, and all label values: at most six times as long as JSON */

/* In memory that a forked child finds zeroed: there every slot is empty, so the first use finds its way to a file of the child's own. */
struct goodput_slots {
	uint64_t unsaved; /* updates in pending; under the lock, like pending */
	double pending_time;
	double *pending; /* a value for each cell, made when first needed */
	void *spare;     /* cells that no thread has yet, under the lock: the next that needs some takes them */
	/* [1 .. own - 1]: the cell of the thread of that number, or for several cells a list of them; [0] is empty: a thread without a
	 * number. [own]: the shared one. */
	_Atomic(void *) slot[];
};

struct goodput_series {
	struct goodput_slots *slots;
	uint32_t own;         /* threads with numbers below it have their own cells; 0 for gauges */
	uint32_t bound_count; /* of a histogram */
	const double *bounds;
	struct goodput_family *family;
	struct goodput_series *next;
	uint64_t hash;
	const char *values[]; /* a text for each label */
};

struct goodput_counter {
	struct goodput_series series;
};
struct goodput_gauge {
	struct goodput_series series;
};
struct goodput_histogram {
	struct goodput_series series;
};
struct goodput_summary {
	struct goodput_series series;
};

/* Open addressing; a larger one replaces it, and readers of the old one only miss what is newer. */
struct goodput_table {
	struct goodput_table *older;
	size_t mask;
	_Atomic(struct goodput_series *) entry[];
};

struct goodput_family {
	struct goodput_registry *registry;
	struct goodput_family *next;
	enum goodput_kind kind;
	enum goodput_gauge_mode mode;
	char *name, *help; /* a counter's without _total */
	char **labels;
	size_t label_count;
	unsigned *sorted; /* positions in labels, by name */
	double *bounds;   /* with +Inf */
	size_t bound_count;
	unsigned cells; /* of one thread in one series */
	struct goodput_series *series;
	size_t series_count;
	_Atomic(struct goodput_table *) table;
};

struct goodput_registry {
	char *directory, *suffix;
	unsigned value_size, thread_cells;
	void (*report)(void *context, int status, const char *message);
	void *report_context;
	struct goodput_arena arena;
	_Atomic(uint32_t) *owner; /* 0 in a forked child that has not begun files of its own */
	struct goodput_file files[GOODPUT_FILE_KINDS];
	struct goodput_family *families;
	struct goodput_registry *next;
	struct goodput_file *stale; /* files that were removed under us: still mapped, a late update may write there */
	size_t stale_count;
	/* What the reporter will be told once the lock is released. */
	int news;
	char news_text[256];
};

/* One lock for all that is not an update of a known series; held over fork. */
void goodput_lock(void);
void goodput_unlock(struct goodput_registry *to_report);
/* Handlers for fork, once; 0 or errno. */
int goodput_threads_init(void);
void goodput_registries_add(struct goodput_registry *r);
void goodput_registries_remove(struct goodput_registry *r);

void goodput_families_free(struct goodput_registry *r);

/* 0: none yet. */
extern _Thread_local uint32_t goodput_thread_number __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Gives the calling thread a number, under the lock; given back when the thread ends. */
void goodput_thread_enter(void);

enum goodput_file_kind goodput_family_file(const struct goodput_family *f);
/* The calling thread's slot of the series, made if there is none, under the lock. NULL: it cannot be saved now, *status says why. */
void *goodput_series_slot(struct goodput_series *s, int *status);
/* The list of values waiting in memory; NULL without memory. Under the lock. */
double *goodput_series_pending(struct goodput_series *s);
/* Gives the series cells in the file, so that it is seen, for the first thread that will use it. Under the lock. */
void goodput_series_show(struct goodput_series *s);
/* Puts what waits in memory into the file, if that works now. Under the lock. */
void goodput_series_flush(struct goodput_series *s);
/* In a forked child: forget the parent's files. Under the lock; every function that takes the lock calls it first. */
void goodput_registry_own(struct goodput_registry *r);
/* Files that were removed are begun again, with the values so far. Returns how many there were. Under the lock. */
unsigned goodput_registry_heal(struct goodput_registry *r);

int64_t goodput_now_ns(int clock);

static inline double goodput_load(const double *cell)
{
	double v;

	__atomic_load(cell, &v, __ATOMIC_RELAXED);
	return v;
}

static inline void goodput_store(double *cell, double value)
{
	__atomic_store(cell, &value, __ATOMIC_RELAXED);
}

static inline void goodput_add_shared(double *cell, double amount)
{
	double old = goodput_load(cell), sum;

	do
		sum = old + amount;
	while (!__atomic_compare_exchange(cell, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

#endif
