/* Updates. The first lines of each function are all that runs for a series that the thread knows. */
#include "telemetry/internal.h"

#include <math.h>
#include <time.h>

/* A cell of the calling thread alone: nobody else writes it, readers see one 8-byte store. */
static inline void add_own(double *cell, double amount)
{
	goodput_store(cell, goodput_load(cell) + amount);
}

static inline void *own_slot(const struct goodput_series *s)
{
	const uint32_t n = goodput_thread_number;

	return n < s->own ? atomic_load_explicit(&s->slots->slot[n], memory_order_relaxed) : NULL;
}

/* The shared cell, for threads beyond those that have their own. */
static inline void *shared_slot(const struct goodput_series *s)
{
	return goodput_thread_number >= s->own ? atomic_load_explicit(&s->slots->slot[s->own], memory_order_acquire) : NULL;
}

/* Under the lock: the thread's slot, or NULL and the values that wait in memory (NULL too: no memory). */
static void *slot_or_pending(struct goodput_series *s, double **pending, int *status)
{
	void *slot;

	goodput_registry_own(s->family->registry);
	slot = goodput_series_slot(s, status);
	*pending = slot ? NULL : goodput_series_pending(s);
	*status = slot ? GOODPUT_OK : *pending ? GOODPUT_UNSAVED : GOODPUT_NO_MEMORY;
	if (*pending)
		s->slots->unsaved++;
	return slot;
}

__attribute__((noinline, cold)) static int counter_add_slowly(struct goodput_series *s, double amount)
{
	double *cell = shared_slot(s), *pending;
	int status = GOODPUT_OK;

	if (cell) {
		goodput_add_shared(cell, amount);
		return GOODPUT_OK;
	}
	goodput_lock();
	cell = slot_or_pending(s, &pending, &status);
	if (cell)
		goodput_add_shared(cell, amount);
	else if (pending)
		*pending += amount;
	goodput_unlock(s->family->registry);
	return status;
}

int goodput_counter_add(goodput_counter *counter, double amount)
{
	double *cell;

	if (!counter || !(amount >= 0))
		return GOODPUT_INVALID;
	cell = own_slot(&counter->series);
	if (!cell)
		return counter_add_slowly(&counter->series, amount);
	add_own(cell, amount);
	return GOODPUT_OK;
}

int goodput_counter_inc(goodput_counter *counter)
{
	double *cell;

	if (!counter)
		return GOODPUT_INVALID;
	cell = own_slot(&counter->series);
	if (!cell)
		return counter_add_slowly(&counter->series, 1);
	add_own(cell, 1);
	return GOODPUT_OK;
}

/* The number of bounds below value, which is the bucket: the last bound is +Inf. Without branches that depend on the value. */
static inline uint32_t bucket_of(const double *bounds, uint32_t count, double value)
{
	uint32_t at = 0;

	while (count > 1) {
		const uint32_t half = count / 2;

		at += bounds[at + half - 1] < value ? half : 0;
		count -= half;
	}
	return at;
}

__attribute__((noinline, cold)) static int histogram_observe_slowly(struct goodput_series *s, uint32_t bucket, double value)
{
	double **cells = shared_slot(s), *pending;
	int status = GOODPUT_OK;
	const bool locked = !cells;

	if (locked) {
		goodput_lock();
		cells = slot_or_pending(s, &pending, &status);
	}
	if (cells) {
		goodput_add_shared(cells[0], value);
		goodput_add_shared(cells[1 + bucket], 1);
	} else if (pending) {
		pending[0] += value;
		pending[1 + bucket] += 1;
	}
	if (locked)
		goodput_unlock(s->family->registry);
	return status;
}

int goodput_histogram_observe(goodput_histogram *histogram, double value)
{
	double **cells;
	uint32_t bucket;

	if (!histogram || isnan(value))
		return GOODPUT_INVALID;
	bucket = bucket_of(histogram->series.bounds, histogram->series.bound_count, value);
	cells = own_slot(&histogram->series);
	if (!cells)
		return histogram_observe_slowly(&histogram->series, bucket, value);
	add_own(cells[0], value);
	add_own(cells[1 + bucket], 1);
	return GOODPUT_OK;
}

__attribute__((noinline, cold)) static int summary_observe_slowly(struct goodput_series *s, double value)
{
	double **cells = shared_slot(s), *pending;
	int status = GOODPUT_OK;
	const bool locked = !cells;

	if (locked) {
		goodput_lock();
		cells = slot_or_pending(s, &pending, &status);
	}
	if (cells) {
		goodput_add_shared(cells[0], 1);
		goodput_add_shared(cells[1], value);
	} else if (pending) {
		pending[0] += 1;
		pending[1] += value;
	}
	if (locked)
		goodput_unlock(s->family->registry);
	return status;
}

int goodput_summary_observe(goodput_summary *summary, double value)
{
	double **cells;

	if (!summary || isnan(value))
		return GOODPUT_INVALID;
	cells = own_slot(&summary->series);
	if (!cells)
		return summary_observe_slowly(&summary->series, value);
	add_own(cells[0], 1);
	add_own(cells[1], value);
	return GOODPUT_OK;
}

/* prometheus_client's time.time(). */
static double now_seconds(void)
{
	return (double)goodput_now_ns(CLOCK_REALTIME) / 1e9;
}

/* Two stores: a reader may see a value with the time of the set before. */
static void gauge_store(const struct goodput_series *s, double *cell, double value)
{
	goodput_store(cell, value);
	if (s->family->mode >= GOODPUT_GAUGE_MOSTRECENT)
		goodput_store(cell + 1, now_seconds());
}

/* A gauge has one cell, which all threads share. */
static inline double *gauge_cell(const goodput_gauge *gauge)
{
	return atomic_load_explicit(&gauge->series.slots->slot[0], memory_order_acquire);
}

__attribute__((noinline, cold)) static int gauge_slowly(struct goodput_series *s, double value, bool add)
{
	double *cell, *pending;
	int status = GOODPUT_OK;

	goodput_lock();
	cell = slot_or_pending(s, &pending, &status);
	if (cell && add)
		goodput_add_shared(cell, value);
	else if (cell)
		gauge_store(s, cell, value);
	else if (pending)
		*pending = value + (add ? *pending : 0);
	s->slots->pending_time = now_seconds();
	goodput_unlock(s->family->registry);
	return status;
}

int goodput_gauge_set(goodput_gauge *gauge, double value)
{
	double *cell;

	if (!gauge)
		return GOODPUT_INVALID;
	cell = gauge_cell(gauge);
	if (!cell)
		return gauge_slowly(&gauge->series, value, false);
	gauge_store(&gauge->series, cell, value);
	return GOODPUT_OK;
}

int goodput_gauge_add(goodput_gauge *gauge, double amount)
{
	double *cell;

	if (!gauge)
		return GOODPUT_INVALID;
	if (gauge->series.family->mode >= GOODPUT_GAUGE_MOSTRECENT)
		return GOODPUT_WRONG_KIND;
	cell = gauge_cell(gauge);
	if (!cell)
		return gauge_slowly(&gauge->series, amount, true);
	goodput_add_shared(cell, amount);
	return GOODPUT_OK;
}
