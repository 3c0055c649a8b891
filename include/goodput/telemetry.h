/* goodput/telemetry.h: metrics of a process, kept in memory-mapped files of PROMETHEUS_MULTIPROC_DIR.
 *
 * The files have the layout of Python's prometheus_client: its MultiProcessCollector and `goodput collect` read them, C and Python
 * processes share one directory. Nothing of a value is lost when the process is killed.
 *
 * Threads: every function may be called from any thread, except that a registry must not be used during or after its close. Updating a
 * series that the calling thread used before takes no lock. Nothing here may be called from a handler of signals or forks.
 * Forks: a forked child may go on with the same handles. It writes files of its own, and creates a series there at its first use.
 * Errors: no function ends the process or writes to its streams: what failed is returned. Updates leave errno alone. While the directory
 * cannot be written (full, gone, another user's), updates are counted in memory and put into the file once it can.
 *
 * Compiles as C11 and as C++11. Link with -lgoodput (pkg-config goodput).
 */
#ifndef GOODPUT_TELEMETRY_H
#define GOODPUT_TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#ifndef GOODPUT_API
#if defined(__GNUC__)
#define GOODPUT_API __attribute__((visibility("default")))
#else
#define GOODPUT_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum goodput_status {
	GOODPUT_OK = 0,
	GOODPUT_UNSAVED,      /* done, but in memory only: the file cannot be written (goodput_registry_health tells why) */
	GOODPUT_INVALID,      /* an argument makes no sense: a name, a label, a bound, a negative increment, a null handle */
	GOODPUT_NOT_UTF8,     /* a help text or label value is not UTF-8 */
	GOODPUT_EXISTS,       /* the registry has another metric of that name */
	GOODPUT_WRONG_KIND,   /* the family is of another type, or the gauge's mode does not allow it */
	GOODPUT_NO_DIRECTORY, /* no directory given and PROMETHEUS_MULTIPROC_DIR is not set, or it does not exist and cannot be made */
	GOODPUT_DENIED,       /* no permission */
	GOODPUT_NO_SPACE,     /* disk or quota is full */
	GOODPUT_BUSY,         /* another live writer holds the file of this pid (a second registry, or a pid namespace beside ours) */
	GOODPUT_TOO_LARGE,    /* a file would grow beyond 2 GiB or the process's limit, or texts are beyond 64 KiB */
	GOODPUT_NO_MEMORY,
	GOODPUT_IO /* any other failure of the system */
};

/* A text for a status; never NULL, never freed. */
GOODPUT_API const char *goodput_status_text(int status);
/* "0.1.0" */
GOODPUT_API const char *goodput_version(void);

/* Entries of prometheus_client 0.18 and newer end with a timestamp, those of 0.16 and 0.17 do not, and neither version reads the other's.
 */
enum goodput_layout {
	/* What the environment's GOODPUT_TELEMETRY_LAYOUT says ("0.16" or "0.18"), else that of the files in the directory, else 0.18. */
	GOODPUT_LAYOUT_DEFAULT = 0,
	GOODPUT_LAYOUT_0_16 = 16, /* no mostrecent gauges */
	GOODPUT_LAYOUT_0_18 = 18
};

typedef struct goodput_options {
	size_t size; /* sizeof(goodput_options), set by goodput_options_init */
	/* Copied. NULL: PROMETHEUS_MULTIPROC_DIR. One missing folder is made. */
	const char *directory;
	/* Copied. Appended to the pid in file names as "-SUFFIX" (letters and digits), for a process in which prometheus_client writes the
	 * files of the bare pid. NULL: none. */
	const char *suffix;
	enum goodput_layout layout;
	/* As many threads at a time get a cell of their own in each counter, histogram and summary that they use (one more entry in the
	 * file for each, which readers add up). Further threads share one cell, by compare-and-swap. 0: all share. At most 256; 8 by
	 * default. */
	unsigned thread_cells;
	/* Called once when saving begins to fail, once when it works again (GOODPUT_OK), and when a damaged file of an earlier process with
	 * the same pid was put aside (GOODPUT_IO); from the thread that noticed, without locks. NULL: nobody is told. */
	void (*report)(void *context, int status, const char *message);
	void *report_context;
} goodput_options;

/* The defaults. The size is that of the program's goodput_options, so that a library with more options leaves what is behind them alone. */
GOODPUT_API void goodput_options_init_sized(goodput_options *options, size_t size);
static inline void goodput_options_init(goodput_options *options)
{
	goodput_options_init_sized(options, sizeof *options);
}

/* A set of metrics and the files of this process. One registry writes to a directory per process and suffix: a second one is GOODPUT_BUSY,
 * counted in memory. */
typedef struct goodput_registry goodput_registry;

/* options may be NULL. *registry is NULL after an error. A directory that exists but cannot be written is no error here: see health. */
GOODPUT_API int goodput_registry_open(const goodput_options *options, goodput_registry **registry);
/* Frees all handles; removes the files of the live gauge modes, since this process no longer lives; the other files stay to be summed. */
GOODPUT_API void goodput_registry_close(goodput_registry *registry);

typedef struct goodput_health {
	size_t size;       /* in: sizeof(goodput_health) */
	int status;        /* GOODPUT_OK, or why saving last failed, until it works again */
	int system_error;  /* errno of that failure, 0 if it had none */
	char message[256]; /* what failed, on which file; empty when all is well */
	uint64_t families; /* declared in this registry */
	uint64_t series;   /* label sets */
	uint64_t unsaved;  /* updates that are only in memory so far */
	uint64_t files;    /* open, in this process */
	uint64_t bytes;    /* in use in them */
	uint64_t removed;  /* files that somebody removed or replaced under us: what is counted there is not seen any more */
} goodput_health;

/* Takes a lock and one stat for each file: for a health page, not for a request. Also retries what could not be saved. */
GOODPUT_API int goodput_registry_health(goodput_registry *registry, goodput_health *health);

/* How the values of several processes become one: as prometheus_client's multiprocess_mode. live modes leave out dead processes. */
enum goodput_gauge_mode {
	GOODPUT_GAUGE_ALL, /* one series for each pid */
	GOODPUT_GAUGE_LIVEALL,
	GOODPUT_GAUGE_MIN,
	GOODPUT_GAUGE_LIVEMIN,
	GOODPUT_GAUGE_MAX,
	GOODPUT_GAUGE_LIVEMAX,
	GOODPUT_GAUGE_SUM,
	GOODPUT_GAUGE_LIVESUM,
	GOODPUT_GAUGE_MOSTRECENT, /* the value set last; one that was never set is not shown */
	GOODPUT_GAUGE_LIVEMOSTRECENT
};

/* A family is a name, a help text and label names; its series are found or made by label values. All texts are copied.
 *
 * label_names is a NULL-terminated array, or NULL for no labels; label_values has one text for each name, in that order. Names follow the
 * rules of prometheus_client: of a counter without or with "_total"; not "le" in histograms, "quantile" in summaries, "pid" in gauges.
 * Declaring the same family again gives the same handle; a different one of the same name is GOODPUT_EXISTS. Handles live until the
 * registry is closed. */
typedef struct goodput_family goodput_family;
typedef struct goodput_counter goodput_counter;
typedef struct goodput_gauge goodput_gauge;
typedef struct goodput_histogram goodput_histogram;
typedef struct goodput_summary goodput_summary;

GOODPUT_API int goodput_counter_family(
	goodput_registry *registry, const char *name, const char *help, const char *const *label_names, goodput_family **family);
GOODPUT_API int goodput_gauge_family(goodput_registry *registry, const char *name, const char *help, const char *const *label_names,
	enum goodput_gauge_mode mode, goodput_family **family);
/* bounds rise; +Inf is added when it is missing. NULL: the defaults of prometheus_client, 0.005 to 10. At most 1,000. */
GOODPUT_API int goodput_histogram_family(goodput_registry *registry, const char *name, const char *help, const char *const *label_names,
	const double *bounds, size_t bound_count, goodput_family **family);
GOODPUT_API int goodput_summary_family(
	goodput_registry *registry, const char *name, const char *help, const char *const *label_names, goodput_family **family);

/* The series of these label values, made when it is new (its value is then 0 in the file). Finding one takes no lock. */
GOODPUT_API int goodput_counter_child(goodput_family *family, const char *const *label_values, goodput_counter **counter);
GOODPUT_API int goodput_gauge_child(goodput_family *family, const char *const *label_values, goodput_gauge **gauge);
GOODPUT_API int goodput_histogram_child(goodput_family *family, const char *const *label_values, goodput_histogram **histogram);
GOODPUT_API int goodput_summary_child(goodput_family *family, const char *const *label_values, goodput_summary **summary);

/* Family and only series of a metric without labels; a null handle, which updates refuse, after an error. */
GOODPUT_API int goodput_counter_new(goodput_registry *registry, const char *name, const char *help, goodput_counter **counter);
GOODPUT_API int goodput_gauge_new(
	goodput_registry *registry, const char *name, const char *help, enum goodput_gauge_mode mode, goodput_gauge **gauge);
GOODPUT_API int goodput_histogram_new(goodput_registry *registry, const char *name, const char *help, const double *bounds,
	size_t bound_count, goodput_histogram **histogram);
GOODPUT_API int goodput_summary_new(goodput_registry *registry, const char *name, const char *help, goodput_summary **summary);

/* Updates: GOODPUT_OK, GOODPUT_UNSAVED, or GOODPUT_INVALID with nothing changed (a null handle, a negative or NaN increment of a counter).
 * A thread's first update of a series may take a lock and append to the file; later ones are a load, an addition and a store of its own
 * cell. */
GOODPUT_API int goodput_counter_inc(goodput_counter *counter);
GOODPUT_API int goodput_counter_add(goodput_counter *counter, double amount);
/* The last set of any thread stands. add is by compare-and-swap, and GOODPUT_WRONG_KIND for mostrecent gauges. */
GOODPUT_API int goodput_gauge_set(goodput_gauge *gauge, double value);
GOODPUT_API int goodput_gauge_add(goodput_gauge *gauge, double amount);
GOODPUT_API int goodput_histogram_observe(goodput_histogram *histogram, double value);
GOODPUT_API int goodput_summary_observe(goodput_summary *summary, double value);

/* For the parent of a process that ended, as prometheus_client's mark_process_dead: removes the files of live gauges of that pid, but none
 * that a live writer of this library holds. directory NULL: PROMETHEUS_MULTIPROC_DIR. */
GOODPUT_API int goodput_mark_process_dead(const char *directory, int64_t pid);

#ifdef __cplusplus
}
#endif
#endif
