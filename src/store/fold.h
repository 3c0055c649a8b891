/* fold: what a series has in each window, put together run by run. Internal to the store; pure.
 *
 * A run is a piece of a series in time: a chunk, an hour's summary, the rows of a group. Runs come in order of time. Of a run whose ends
 * only are known nothing more is needed while no window begins or ends inside of it. */
#ifndef GOODPUT_STORE_FOLD_H
#define GOODPUT_STORE_FOLD_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/series.h"

struct run {
	const int64_t *t; /* NULL: only its ends are known */
	int64_t t_first, t_last;
	uint32_t count;
};
struct run run_of(const int64_t *t, size_t count);

/* Is there a window with a place between these times? */
bool windows_meet(const struct series_windows *w, int64_t t_first, int64_t t_last);
/* Does one begin or end between them, so that it has some of these samples only? */
bool windows_cut(const struct series_windows *w, int64_t t_first, int64_t t_last);

/* The windows of series that have the same times. */
struct fold_times {
	uint32_t *count; /* of an open window: the samples before its first one */
	int64_t *t_first, *t_last;
	size_t opened, closed; /* windows below `opened` have begun, those below `closed` are done */
	uint32_t seen;
	int64_t before_ms; /* the newest sample seen, if there is one */
	uint64_t id;
};
void fold_times_init(struct fold_times *f, struct arena *arena, const struct series_windows *w);
struct fold_times *fold_times_copy(const struct fold_times *f, struct arena *arena, size_t windows);

/* What a run means for the windows. Its samples are named by places: place 0 is the first sample, 1 the last, 2 + i is row rows[i]. */
enum { PLACE_FIRST, PLACE_LAST, PLACE_INNER };
struct moves {
	size_t open_from, open_to;           /* windows that begin in the run; their first sample is open_place[i - open_from] */
	size_t close_from, close_to, end_to; /* up to close_to: ended before the run; up to end_to: inside, at end_place[i - close_to] */
	uint32_t *open_row, *end_row;
	uint32_t *open_place, *end_place;
	uint32_t *rows; /* rising */
	size_t row_count;
};
void moves_init(struct moves *m, struct arena *arena, size_t windows);

enum moves_status { MOVES_FOUND, MOVES_NEED_TIMES, MOVES_OUT_OF_ORDER };
enum moves_status moves_find(struct moves *m, const struct series_windows *w, const struct fold_times *f, const struct run *run);
/* The run is behind. */
void fold_times_move(struct fold_times *f, const struct moves *m, const struct run *run);
/* There is no more run. */
void fold_times_end(struct fold_times *f, size_t windows);

/* The values of one series in the windows. */
struct fold_values {
	double *first, *last, before;
	VEC(struct series_fall) falls;
};
void fold_values_init(struct fold_values *f, struct arena *arena, size_t windows);
void fold_values_fini(struct fold_values *f);
/* `at`: the values at the places; `times` and the moves are those from before the run. A fall to its first sample is found here, those
 * inside are to be added after it by fold_values_falls. */
void fold_values_move(
	struct fold_values *f, const struct fold_times *times, const struct moves *m, const struct run *run, const double *at);
void fold_values_end(struct fold_values *f, const struct fold_times *times, size_t windows);
void fold_values_falls(struct fold_values *f, const int64_t *t, const double *v, size_t count);

#endif
