/* mimic: which metric families a release of vLLM shows, with its names, types, help texts, labels and buckets.
 *
 * Read at the release tags; tests/unit/test_mimic.c compares with pages generated from vLLM's sources. Order of families is the
 * page's own. Families that need an option which the stand-in does not have (LoRA, NaN checks, KV block sampling) are left out. */
#ifndef GOODPUT_SIM_MIMIC_H
#define GOODPUT_SIM_MIMIC_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mimic_release {
	MIMIC_0_6,
	MIMIC_0_8,
	MIMIC_0_9,
	MIMIC_0_10,
	MIMIC_0_11,
	MIMIC_0_13,
	MIMIC_0_16,
	MIMIC_0_19,
	MIMIC_0_24,
	MIMIC_MAIN,
	MIMIC_COUNT
};

/* "0.11", "0.11.2", "latest": the newest release read that is not newer. */
bool mimic_parse(struct str text, enum mimic_release *release, struct error *e);
const char *mimic_version(enum mimic_release release); /* "0.11.2": what /version says */
static inline bool mimic_is_v0(enum mimic_release release)
{
	return release == MIMIC_0_6;
}

enum mimic_type { MIMIC_GAUGE, MIMIC_COUNTER, MIMIC_HISTOGRAM };

/* What must be on for the family to be shown. */
enum { NEEDS_SPECULATION = 1, NEEDS_TRANSFER = 2, NEEDS_ONE_PROCESS = 4 };

/* Labels beyond engine and model_name. */
enum mimic_labels {
	LABELS_PLAIN,
	LABELS_FINISHED,
	LABELS_REASON,
	LABELS_SLEEP,
	LABELS_SOURCE,
	LABELS_POSITION,
	LABELS_GENERATION,
	LABELS_PROCESS,
	LABELS_PYTHON,
	LABELS_CACHE
};

/* Where the figure comes from. */
enum mimic_source {
	SOURCE_ZERO,
	SOURCE_ONE,
	SOURCE_RUNNING,
	SOURCE_WAITING,
	SOURCE_WAITING_REASON,
	SOURCE_SLEEP,
	SOURCE_KV_USAGE,
	SOURCE_PREFIX_QUERIES,
	SOURCE_PREFIX_HITS,
	SOURCE_PREFIX_RATE,
	SOURCE_REMOTE_TOKENS,
	SOURCE_PREEMPTIONS,
	SOURCE_PROMPT_TOKENS,
	SOURCE_PROMPT_BY_SOURCE,
	SOURCE_PROMPT_CACHED,
	SOURCE_GENERATION_TOKENS,
	SOURCE_ALL_TOKENS,
	SOURCE_FINISHED,
	SOURCE_DRAFTS,
	SOURCE_DRAFT_TOKENS,
	SOURCE_ACCEPTED,
	SOURCE_ACCEPTED_AT,
	SOURCE_EMITTED,
	SOURCE_ACCEPTANCE,
	SOURCE_EFFICIENCY,
	SOURCE_PROMPT_RATE,
	SOURCE_GENERATION_RATE,
	SOURCE_TRANSFERS_FAILED,
	SOURCE_MINUS_ONE,
	SOURCE_GC_OBJECTS,
	SOURCE_GC_COLLECTIONS,
	SOURCE_VIRTUAL_BYTES,
	SOURCE_RESIDENT_BYTES,
	SOURCE_START_TIME,
	SOURCE_CPU_SECONDS,
	SOURCE_OPEN_FDS,
	SOURCE_MAX_FDS
};

/* Histograms are kept while events happen, one each. */
enum mimic_histogram {
	HISTOGRAM_TTFT,
	HISTOGRAM_ITL,
	HISTOGRAM_TPOT,
	HISTOGRAM_E2E,
	HISTOGRAM_QUEUE,
	HISTOGRAM_INFERENCE,
	HISTOGRAM_PREFILL,
	HISTOGRAM_DECODE,
	HISTOGRAM_PROMPT,
	HISTOGRAM_GENERATION,
	HISTOGRAM_ITERATION,
	HISTOGRAM_MAX_GENERATION,
	HISTOGRAM_N,
	HISTOGRAM_MAX_TOKENS,
	HISTOGRAM_KV_COMPUTED,
	HISTOGRAM_FORWARD_MS,
	HISTOGRAM_XFER,
	HISTOGRAM_POST,
	HISTOGRAM_BYTES,
	HISTOGRAM_DESCRIPTORS,
	HISTOGRAM_COUNT
};

struct mimic_bounds {
	const double *values; /* rising, without +Inf */
	size_t count;
};

struct mimic_family {
	const char *name; /* as on the TYPE line of the text format */
	const char *help;
	enum mimic_type type;
	enum mimic_release first, last;
	int needs;
	enum mimic_labels labels;
	int source;                        /* enum mimic_source, or enum mimic_histogram of a histogram */
	const struct mimic_bounds *bounds; /* NULL: 1, 2, 5, 10 ... up to max_model_len */
};

/* In the order of the release's page; ends with name NULL. Skip those that mimic_shows refuses. */
const struct mimic_family *mimic_families(enum mimic_release release);
bool mimic_shows(const struct mimic_family *f, enum mimic_release release, int have);

enum { MIMIC_BOUNDS_MAX = 40 };
/* Fills the bounds of a histogram family. Returns how many. */
size_t mimic_bounds(const struct mimic_family *f, uint32_t max_model_len, double values[MIMIC_BOUNDS_MAX]);

/* Values of the labels of a kind, in page order, for that release; ends with NULL. */
const char *const *mimic_label_values(enum mimic_labels labels, enum mimic_release release);

#endif
