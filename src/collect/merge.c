/* Adds up the values of all files, as the plan says. The loop that a warm scrape consists of. */
#include "base/number.h"
#include "collect/internal.h"

#include <math.h>

/* The writer stores 8 aligned bytes at once: one load never sees half of them. */
static inline uint64_t load_bits(const char *at)
{
	return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
}

/* ... and what is loaded after it is not older. */
static inline uint64_t load_bits_first(const char *at)
{
	return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

static uint64_t add_mapped(const struct metric_file *f, double *values)
{
	const struct entry *entries = f->entries.items;
	const uint32_t *cells = f->cells;
	size_t count = f->entries.count;
	const char *map = f->map;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t bits = load_bits(map + entries[i].at);

		sum += bits;
		values[cells[i]] += number_from_bits(bits);
	}
	return sum;
}

static uint64_t add_read(const struct metric_file *f, double *values)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->entries.count; i++) {
		sum += number_bits(f->values[i]);
		values[f->cells[i]] += f->values[i];
	}
	return sum;
}

static double time_of(const struct metric_file *f, size_t i)
{
	if (f->step != 16)
		return 0;
	if (f->map)
		return number_from_bits(load_bits_first(f->map + f->entries.items[i].at + 8));
	return f->name.mode == MODE_MOSTRECENT ? f->times[i] : 0;
}

/* Time and value are two stores. When the time moved while the value was read, both are read again. */
static double stamped_value(const struct metric_file *f, size_t i, double *time)
{
	for (int attempt = 0;; attempt++) {
		*time = time_of(f, i);
		double value = f->map ? number_from_bits(load_bits_first(f->map + f->entries.items[i].at)) : f->values[i];

		if (attempt == 3 || number_bits(time_of(f, i)) == number_bits(*time))
			return value;
	}
}

static void fold_value(struct plan *p, enum entry_op op, uint32_t cell, double value, double time)
{
	double *at = &p->values.items[cell];

	if (op == OP_ADD)
		*at += value;
	else if (op == OP_SET || (op == OP_MIN && value < *at) || (op == OP_MAX && value > *at))
		*at = value;
	else if (op == OP_NEWEST && p->times.items[cell] < time) {
		*at = value;
		p->times.items[cell] = time;
	}
}

static uint64_t fold_all(struct plan *p, const struct metric_file *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->entries.count; i++) {
		double time = 0, value = stamped_value(f, i, &time);

		sum += number_bits(value) + number_bits(time);
		fold_value(p, (enum entry_op)f->ops[i], f->cells[i], value, time);
	}
	return sum;
}

static bool merge_file(struct plan *p, struct metric_file *f, struct reader *r, int64_t now_ms)
{
	uint64_t sum;

	if (f->map)
		guard_begin(f->map, f->map_size);
	if (!f->only_adds)
		sum = fold_all(p, f);
	else
		sum = f->map ? add_mapped(f, p->values.items) : add_read(f, p->values.items);
	if (f->map && guard_end()) {
		metric_file_cut(f, r);
		return false;
	}
	if (sum != f->sum) {
		f->moved_ms = now_ms;
		f->moves++;
	}
	f->sum = sum;
	return true;
}

/* Buckets as Prometheus has them: each with all below it. */
static void accumulate(struct plan *p)
{
	double running = 0;

	VEC_EACH (&p->lines, line) {
		if (line->kind != LINE_BUCKET)
			continue;
		running = (line->first ? 0 : running) + p->values.items[line->cell];
		p->values.items[line->cell] = running;
		p->totals.items[line->group] = running;
	}
}

bool plan_merge(struct plan *p, struct metric_file *const *files, size_t count, struct reader *r, int64_t now_ms)
{
	bool whole = true;

	memset(p->values.items, 0, p->cells.count * sizeof *p->values.items);
	if (p->stamped)
		memset(p->times.items, 0, p->cells.count * sizeof *p->times.items);
	for (size_t i = 0; i < count; i++)
		if (files[i]->entries.count && !merge_file(p, files[i], r, now_ms))
			whole = false;
	if (whole)
		accumulate(p);
	return whole;
}
