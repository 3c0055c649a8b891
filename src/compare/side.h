/* side: one window of a monitor as a side of a comparison: readings over the whole of it, and over parts of it behind each other, from
 * which come the chart, the means of levels (a gauge says only what is now) and the intervals of rates. */
#ifndef GOODPUT_COMPARE_SIDE_H
#define GOODPUT_COMPARE_SIDE_H

#include "compare/given.h"
#include "signals/evaluate.h"

enum { SIDE_PARTS_MAX = 24, SIDE_FIGURES_MAX = 48 };

/* What a part of the window says; NaN: unknown. */
struct side_part {
	int64_t from_ms, to_ms;
	double good_low, good_high;               /* good requests/s: histograms of single latencies give bounds */
	double finished, arrivals, output_tokens; /* per second */
	double running, waiting, kv_usage;
	double ttft_mean, tpot_mean, queue_mean; /* seconds */
	double prompt_length, output_length, cached_share;
	double up; /* targets that answered, on the average */
};

struct side {
	struct str scope;   /* pool, target or "fleet" */
	struct str missing; /* why there is nothing: no such scope in the window, no window; else empty */
	double seconds;
	int64_t from_ms, to_ms;
	const struct reading **readings; /* of side_signals, in its order; NULL without a scope */
	struct side_part parts[SIDE_PARTS_MAX];
	size_t part_count;
	double replicas;          /* targets that answered, on the average */
	size_t targets, never_up; /* of the scope; of them, those that never answered */
	double gpus, price;       /* of the whole scope on the average; of one in an hour; NaN: not known */
	const char *gpus_from;    /* "pools", "GPU exporter"; NULL: not known */
	struct str engine, model;
};

/* GPUs of a replica and what one costs in an hour, where somebody said so for all (--gpus, --gpu-price); NaN: as the pool says. */
struct side_rates {
	double gpus, price;
};

/* Reads the scope of that name in the window. Texts go into the arena; the evidence may go away behind it. */
void side_read(
	struct side *s, struct arena *arena, struct evidence *ev, const struct window *w, struct str scope, const struct side_rates *rates);
/* A side of which nothing is known. */
void side_unknown(struct side *s, struct str why);

/* Both sides as figures, cells and hit rates; all in the arena. */
void side_pair(struct given *g, struct arena *arena, const struct side *a, const struct side *b);

#endif
