/* collect: a directory of multi-process metric files (PROMETHEUS_MULTIPROC_DIR), whoever writes it, as one exposition page.
 *
 * A collector belongs to one directory and remembers what cannot change: which entries a file has. So a warm scrape reads only values. A
 * file that cannot be read costs that file, never the page, and is named in the report. Not thread-safe: one collector, one thread at a
 * time. */
#ifndef GOODPUT_COLLECT_COLLECT_H
#define GOODPUT_COLLECT_COLLECT_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum collect_format { COLLECT_TEXT, COLLECT_OPENMETRICS };

struct collect_options {
	bool as_016;      /* sample order and exponents (e+010) of prometheus_client 0.16; otherwise of its newest release */
	bool show_unset;  /* a `mostrecent` gauge that was never set is printed as 0; Python prints no sample */
	int64_t grace_ms; /* a directory that never held a file is `waiting` for so long after collector_new, then `empty` */
};

enum collect_directory {
	COLLECT_READ,    /* files were read */
	COLLECT_WAITING, /* no file yet, within the grace time */
	COLLECT_EMPTY,   /* no file */
	COLLECT_EMPTIED, /* there were files */
	COLLECT_MISSING,
	COLLECT_NOT_A_DIRECTORY,
	COLLECT_UNREADABLE,  /* cannot be listed */
	COLLECT_UNSEARCHABLE /* can be listed, but no file in it can be opened */
};
enum { COLLECT_DIRECTORY_STATES = COLLECT_UNSEARCHABLE + 1 };
const char *collect_directory_name(enum collect_directory d); /* "read", "not-a-directory": stable words */

enum collect_file_state {
	COLLECT_FILE_OK,
	COLLECT_FILE_NEW,       /* created, nothing written yet: counts as sound */
	COLLECT_FILE_HEADLESS,  /* shorter than its header: the writer died between creating and sizing it */
	COLLECT_FILE_TRUNCATED, /* shorter than the bytes in use */
	COLLECT_FILE_CORRUPT,
	COLLECT_FILE_FOREIGN, /* sound, but of another make: unknown type or mode-less name, keys of another release */
	COLLECT_FILE_UNREADABLE
};
enum { COLLECT_FILE_STATES = COLLECT_FILE_UNREADABLE + 1 };
const char *collect_file_state_name(enum collect_file_state s);

enum collect_writer {
	COLLECT_ALIVE,
	COLLECT_FROZEN,  /* stopped */
	COLLECT_DEAD,    /* no such process, while others of the directory are seen */
	COLLECT_REUSED,  /* its process id belongs to a process that is younger than the file */
	COLLECT_UNKNOWN, /* no process id in the name, or none of the directory's processes is seen from here */
};
enum { COLLECT_WRITER_STATES = COLLECT_UNKNOWN + 1 };
const char *collect_writer_name(enum collect_writer w);

struct collect_fault {
	const char *kind;        /* "truncated", "dead-writer": a stable word */
	bool is_group;           /* about several files or writers, of which `file` is one */
	enum exit_status status; /* EXIT_FINE: worth knowing, no fault */
	char file[128];          /* name in the directory, or "" for the directory itself */
	char text[320];          /* one sentence: what, why, how to fix */
};

struct collect_report {
	enum collect_directory directory;
	size_t files[COLLECT_FILE_STATES], writers[COLLECT_WRITER_STATES]; /* writers: processes */
	size_t entries, families, samples;
	size_t layout_one, layout_two; /* files of 0.4 to 0.17, of 0.18 and later */
	uint64_t bytes;                /* in use */
	double quiet_s;                /* since any value or file was last seen to change; NAN when never */
	double ahead_s;                /* how far the newest stamp of a gauge or file lies in the future */
	uint64_t disk_free;            /* bytes; UINT64_MAX when unknown */
	const struct collect_fault *faults;
	size_t fault_count;  /* listed */
	size_t faults_total; /* found */
};
/* There are files, and none of them could be read: a page without a family, which must not look like a server without traffic. */
bool collect_read_nothing(const struct collect_report *r);
/* The worst status of the faults; EXIT_UNKNOWN when nothing could be read. */
enum exit_status collect_status(const struct collect_report *r);

struct collector;
struct collector *collector_new(const char *path, const struct collect_options *options);
void collector_free(struct collector *c);
/* Reads the directory. The report is valid until the next call. */
const struct collect_report *collector_scrape(struct collector *c);
const struct collect_report *collector_report(const struct collector *c);
/* The families of the last scrape; then OpenMetrics has no "# EOF" yet. */
void collector_page(struct collector *c, enum collect_format format, struct buf *out);
/* goodput_collect_*: the report as metrics, the same in both formats. */
void collector_own_page(const struct collector *c, struct buf *out);
void collect_page_end(enum collect_format format, struct buf *out);

#endif
