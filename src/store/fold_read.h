/* fold_read: what the parts of folding from disk share. Internal to the store.
 *
 * What a series is in one window needs two of its samples: values are unpacked only where a window begins or ends inside of a chunk, and
 * only at those rows, unless the series fell or has gaps there.
 *
 * Series that are scraped together have equal times, and so windows of equal times, as long as each has every row of its set. One that has
 * not (another list of times, a stale marker, two sets) has times of its own from there on. */
#ifndef GOODPUT_STORE_FOLD_READ_H
#define GOODPUT_STORE_FOLD_READ_H

#include "store/fold.h"
#include "store/internal.h"

struct track { /* a series asked for */
	const struct series *series;
	struct fold_values values;
	struct fold_times *own; /* NULL: those of its set */
	struct part *part;      /* one that has it; NULL: none */
	uint32_t selections;    /* bits of those that it is in */
	bool odd;               /* its parts are not in order: to be read sample by sample */
};

struct part { /* a set with columns that are asked for */
	struct set *set;
	struct part *home;     /* of all parts that share series, one */
	struct track **wanted; /* by column */
	struct fold_times times;
	bool out_of_order;
	VEC(struct part *) parts; /* of a home */
	VEC(struct track *) tracks;
};

struct folding {
	const struct store *store;
	const struct fold_request *request;
	const struct series_windows *windows;
	bool falls;
	struct arena scratch, home, piece; /* for all, a home, a piece */
	struct track *tracks;
	size_t track_count;
	struct part **by_set;
	VEC(struct part *) homes;
	struct moves moves, own_moves;
	double *at; /* values at the places */
	uint64_t last_times;
	bool stopped;
};

struct piece { /* of a part: a chunk, all chunks of a digest, or the rows of its group */
	struct part *part;
	const struct chunk *chunk; /* the first; NULL: the group */
	size_t chunk_count;        /* more than one: a digest's */
	int64_t t_first;
};

/* fold_piece.c */
void piece_fold(struct folding *f, const struct piece *piece);
/* The loose samples of a home's tracks, which are newer than all of its pieces, as a rule. */
void loose_fold(struct folding *f, struct part *home);
/* From here on its times are its own. */
void track_part(struct folding *f, struct track *x, const struct part *part);
/* A run of which all samples are at hand. `whole`: it has the times of the piece. `v` may be changed. */
void track_samples(struct folding *f, struct track *x, const struct part *part, const int64_t *t, double *v, size_t count, bool whole);

#endif
