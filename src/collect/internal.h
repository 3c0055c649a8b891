/* What the files of this folder share. Internal. */
#ifndef GOODPUT_COLLECT_INTERNAL_H
#define GOODPUT_COLLECT_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "model/labels.h"

/* ---- number.c ---- */

enum { COLLECT_NUMBER_MAX = 28 };
/* As prometheus_client prints a sample's value; `as_016` has exponents with a 0 in front. Returns the length. */
size_t collect_number(double value, bool as_016, char *text);

/* ---- key.c, keys.c: the text before a value, read once ---- */

struct family;
struct key {
	struct str text; /* as in the files */
	struct str sample, help;
	struct family *family;
	const struct label *labels; /* sorted by name, names unique */
	uint32_t label_count;
	uint32_t next;    /* the key that came behind it in the file read last; 0: none */
	uint32_t like;    /* the key before it that has the same names and help; itself: none was seen */
	uint32_t sibling; /* of the family, with other names; 0: none */
	uint32_t seen;    /* the plan that has it */
	uint32_t plan;    /* that `cell` belongs to */
	uint32_t cell;
	uint32_t head, tail; /* as in key_parts */
	bool plain;
	bool has_edge; /* it has an `le` */
	double edge;   /* NaN: that is no number */
};
/* Reads `[family, sample, {labels}, help]`. Texts are in the arena, in `text` or in keys that were read earlier, all of which must stay.
 * Series are made in turn, so most of a key is written in them already, and known to be sound: its labels in the one `before`, the rest in
 * the one that is `alike`, which key_is_alike said. Both may be NULL. NULL, or why not. */
struct key_parts {
	struct str family, sample, help;
	const struct label *labels;
	uint32_t label_count;
	bool plain;          /* no escape in it, and its labels are slices of a text: `name": "value` */
	bool foreign;        /* the key of another release: sound, but not ours to read */
	uint32_t head, tail; /* of a plain key: bytes before its labels and behind them, with the braces */
};
bool key_is_alike(const struct key *key, struct str text);
const char *key_parse(struct arena *arena, struct str text, const struct key *before, const struct key *alike, struct key_parts *parts);

struct keys {
	struct arena arena;
	VEC(struct key *) items; /* by index; the first is not used */
	uint32_t *slots;
	uint64_t *hashes; /* of items */
	size_t slot_count, hash_cap;
	struct map families; /* by name: struct family */
	struct family *last_family;
	size_t refused; /* bytes of the arena that texts took which are no keys */
};
void keys_init(struct keys *k);
void keys_fini(struct keys *k);
/* Index of the key with this text, read if it is new; 0 with the reason when it cannot be read. `*foreign` as in key_parts. */
uint32_t keys_find(struct keys *k, struct str text, const char **why, bool *foreign);

/* ---- file_name.c ---- */

enum file_type { TYPE_COUNTER, TYPE_GAUGE, TYPE_SUMMARY, TYPE_HISTOGRAM, TYPE_UNKNOWN };
enum gauge_mode { MODE_ALL, MODE_MIN, MODE_MAX, MODE_SUM, MODE_MOSTRECENT };
struct file_name {
	struct str whole; /* "gauge_livesum_12.db" */
	enum file_type type;
	enum gauge_mode mode;
	bool live;
	bool pid_is_cut;      /* there is more behind it */
	struct str pid_label; /* as Python cuts it out of a gauge's name */
	int64_t pid;          /* of the writer; -1 when the name has none */
	bool folded;          /* our own archive of dead writers */
};
const char *file_type_name(enum file_type t);
const char *gauge_mode_name(enum gauge_mode m); /* without "live" */
/* Is it a metric file's name at all (*.db, no dot in front)? */
bool file_name_is_ours(struct str name);
/* That dead writers' files of this kind become. */
enum { ARCHIVE_NAME_MAX = 64 };
void archive_name(const struct file_name *n, char *text);
/* False with the reason for names that no reader can place. */
bool file_name_parse(struct str name, struct file_name *n, const char **why);

/* ---- metric_file.c ---- */

struct entry {
	uint32_t at;  /* of the value */
	uint32_t key; /* in keys */
};
enum entry_op { OP_ADD, OP_SET, OP_MIN, OP_MAX, OP_NEWEST };

struct metric_file {
	struct file_name name; /* slices of name_text */
	bool name_is_known;
	uint64_t inode; /* as the directory lists it */
	enum collect_file_state state;
	int error; /* errno of an unreadable one */

	uint32_t used, step; /* bytes in use; 8: a value, 16: and its time; 0: not known yet */
	VEC(struct entry) entries;
	const char *map; /* NULL: read at each scrape into `values` */
	size_t map_size;
	double *values, *times; /* when not mapped */
	uint32_t values_cap, times_cap;
	uint32_t looked_at; /* the entry whose key is compared again next */
	uint32_t reads;

	/* By the plan, whose memory it is: where each value goes. */
	const uint32_t *cells;
	const uint8_t *ops;
	bool only_adds;
	bool by_pid;  /* some values go where those of no other process go */
	bool repeats; /* type, mode and entries of the file before it */

	uint64_t sum; /* of the values' bits: has anything moved? */
	int64_t moved_ms;

	/* By the health check. */
	bool examined;
	int64_t born_ms, written_ms;
	uid_t owner;
	uint32_t moves, moves_looked; /* how often values moved; likewise at the last look */
	struct metric_file *sibling;  /* another file of its writer */
	bool folding;                 /* it ends in an archive (fold.c) */
	/* Behind what every scrape reads. */
	char why[200];
	char name_text[];
};

/* A buffer that grows, aligned to a page (a misaligned one costs four times the copy). */
struct page_buffer {
	char *block, *at;
	size_t size;
};
struct reader {
	int folder; /* descriptor of the directory */
	struct keys *keys;
	struct page_buffer buffer;
	size_t maps, maps_max;
	size_t used_before; /* of the file read last */
};
void reader_fini(struct reader *r);
struct metric_file *metric_file_new(struct str name, uint64_t inode);
void metric_file_free(struct metric_file *f, struct reader *r);
/* Brings entries up to date; values too unless the file is mapped. True when its entries or its state are others than before. */
bool metric_file_refresh(struct metric_file *f, struct reader *r);
/* For who needs the values of a mapped file in `values` and `times` too. False when it was cut. */
bool metric_file_values(struct metric_file *f, struct reader *r);
/* For tests and fuzzing: the file is these bytes. */
void metric_file_parse(struct metric_file *f, struct reader *r, struct str bytes);
/* Its keys are to be read again. */
void metric_file_forget(struct metric_file *f);
/* The file turned out to be cut while its values were read. */
void metric_file_cut(struct metric_file *f, struct reader *r);
static inline bool metric_file_counts(const struct metric_file *f)
{
	return f->state == COLLECT_FILE_OK;
}

/* ---- guard.c ---- */

/* Reading a mapping of a file that somebody cuts raises SIGBUS. Between guard_begin and guard_end such a page reads as zeros. */
void guard_begin(const void *from, size_t size);
/* True when that happened. */
bool guard_end(void);

/* ---- plan.c: which value goes where; made anew when entries changed ---- */

struct family {
	struct str name;
	uint32_t names; /* its keys that are like no other, chained by `sibling` */
	uint32_t plan;  /* that the rest belongs to */
	enum file_type type;
	enum gauge_mode mode;
	struct str help;
	uint32_t first_group, last_group;
	struct str bucket_name; /* "name_bucket", once it was needed */
	bool has_suffixes;      /* any of its lines has */
	struct family *next;
};
struct group { /* the samples of one label set, `le` not counted */
	struct family *family;
	struct str labels;              /* "{a=\"b\"} " */
	uint32_t first_cell, last_cell; /* not buckets, in order of first sight; 0: none */
	uint32_t first_bucket, buckets; /* chain through cells */
	uint32_t bucket_turn;           /* order of the first bucket */
	uint32_t count_cell;            /* a stored _count, which is written over */
	struct str count_text;          /* "name_count{...} " */
	uint32_t next;
};
enum cell_kind { CELL_VALUE, CELL_BUCKET };
struct cell {
	struct str text; /* "name{a=\"b\"} " */
	struct family *family;
	uint32_t group, next;
	uint32_t hash;
	uint8_t kind; /* enum cell_kind */
	bool stamped; /* has a value only once a time above 0 was seen */
	double edge;
};
enum line_kind { LINE_HEAD, LINE_VALUE, LINE_BUCKET, LINE_TOTAL };
struct line { /* a cache line each: a page is a walk over them */
	union {
		struct str text;
		struct family *family; /* LINE_HEAD */
	};
	uint32_t cell, group; /* LINE_TOTAL has a group only */
	uint64_t bits;        /* that `number` shows */
	uint8_t kind;         /* enum line_kind */
	bool first;           /* of the buckets of its group */
	char suffix;          /* not 0: _created, _gcount, _gsum, which the classic text lists as families of their own */
	uint8_t number_len;
	char number[COLLECT_NUMBER_MAX];
};
struct plan {
	struct arena arena;
	char *text_at, *text_end; /* room for texts, in the arena */
	uint32_t number;          /* counts plans */
	struct family *first, *last;
	VEC(struct group) groups; /* index 0 is not used, as in cells */
	VEC(struct cell) cells;
	VEC(struct line) lines;
	VEC(double) values; /* of cells, as the last merge left them */
	VEC(double) times;
	VEC(double) totals;               /* of groups */
	VEC(uint32_t) order, group_order; /* while lines are sorted */
	size_t text_max;                  /* bytes that a page has at most */
	size_t family_count;
	uint32_t *slots;
	size_t slot_count;
	bool stamped; /* any */
	bool as_016;
	/* While cells are found: the group found last, and whether its labels were given another one. */
	const struct key *last_key;
	uint32_t last_group;
	bool last_with;
	/* And the labels printed last, if none was given another value: their text, in the arena, with one left out. */
	const struct label *printed_labels;
	struct str printed, printed_without;
};
void plan_init(struct plan *p);
void plan_fini(struct plan *p);
void plan_build(struct plan *p, struct keys *keys, struct metric_file *const *files, size_t count, bool as_016);
/* Adds up. False when a mapped file was found to be cut: the plan must be made again. */
bool plan_merge(struct plan *p, struct metric_file *const *files, size_t count, struct reader *r, int64_t now_ms);
void plan_print(struct plan *p, enum collect_format format, const struct collect_options *o, struct buf *out);

/* ---- folder.c: the listing ---- */

struct folder {
	char *path;
	int descriptor; /* -1: none */
	uint64_t device, inode;
	int64_t changed_ns, listed_ns;   /* ctime of the directory, and wall clock, at the last listing */
	VEC(struct metric_file *) files; /* sorted by name */
	struct map hidden;               /* names of files that an archive already holds */
	int lock;                        /* held until folder_release; -1: none */
};
void folder_init(struct folder *f, const char *path);
void folder_fini(struct folder *f, struct reader *r);
/* The files that are there now, which stay as they are until folder_release. Returns what the directory is; `*changed` when files came or
 * went. `*error` is errno of a failure. */
enum collect_directory folder_list_files(struct folder *f, struct reader *r, bool *changed, int *error);
void folder_release(struct folder *f);

/* ---- process.c ---- */

struct process {
	char state;          /* as /proc has it: 'R', 'S', 'T' ... */
	int64_t start_ticks; /* since boot: with its number, what identifies a process */
	int64_t start_ms;    /* the same as wall time, which moves when the clock is set or slewed */
	uid_t owner;
};
/* The process ids that there are, as keys. */
void processes_list(struct map *ids);
/* False when there is no such process, or a zombie only. */
bool process_look(int64_t pid, struct process *p);
enum process_maps { PROCESS_MAPS, PROCESS_MAPS_NOT, PROCESS_MAPS_HIDDEN /* from us */ };
struct stat;
enum { PROCESS_FILES_MAX = 16 };
/* Has the process one of these files mapped, shared? At most PROCESS_FILES_MAX. */
enum process_maps process_maps_any(int64_t pid, const struct stat *files, size_t count);

/* ---- health.c: what a page cannot say ---- */

struct writer {
	int64_t pid;
	enum collect_writer state;
	int64_t start_ticks;    /* of the process that was seen to map its file; 0: none was */
	int64_t stranger_ticks; /* start of the process that was seen not to */
	uint32_t looks;         /* at that one */
	bool proven;            /* the process is the writer */
	bool moved;             /* a value, between the last two looks */
	uint32_t absent;        /* looks in a row at which there was no such process and nothing moved */
	uint32_t strikes;       /* looks in a row at which there was none, and something moved */
	struct metric_file *file;
};
struct health {
	VEC(struct collect_fault) faults, slow; /* of this scrape; of the last look at processes and disks */
	size_t total, slow_total;
	VEC(struct writer) writers, fresh; /* sorted by process id; the latter only while the list is made */
	bool visible;                      /* a writer was seen: processes that are not seen are dead */
	bool elsewhere;                    /* a file moved whose process is not seen: writers have process ids of their own */
	int64_t looked_ms;
};

struct collector {
	struct collect_options options;
	struct folder folder;
	struct reader reader;
	struct keys keys;
	struct plan plan;
	struct health health;
	struct collect_report report;
	bool planned; /* the plan fits the files */
	bool had_files;
	int64_t begun_ms; /* monotonic */
	int error;        /* errno of the directory's failure */
};
/* `changed`: files or entries did. */
void health_look(struct collector *c, bool changed, int64_t now_ms);
/* Owner and times of a file, if it is there. */
bool file_examine(struct collector *c, struct metric_file *f);
/* Fills report.writers and the writers' states. */
void writers_look(struct collector *c, int64_t now_ms);
void fault_add(struct collector *c, bool slow, const char *kind, enum exit_status status, const char *file, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

#endif
