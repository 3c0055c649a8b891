/* Families and their series: declared, found by label values without a lock. */
#include "telemetry/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 64, NAME_SIZE_MAX = 1024 };

static const double default_bounds[] = { .005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10 };

/* What a family is declared with. */
struct declaration {
	enum goodput_kind kind;
	enum goodput_gauge_mode mode;
	const char *name, *help;
	const char *const *labels;
	const double *bounds;
	size_t bound_count;
};

static bool label_valid(enum goodput_kind kind, const char *name)
{
	static const char *const reserved[] = {
		[GOODPUT_COUNTER] = "", [GOODPUT_GAUGE] = "pid", [GOODPUT_HISTOGRAM] = "le", [GOODPUT_SUMMARY] = "quantile"
	};

	return goodput_name_valid(name, false) && strcmp(name, reserved[kind]);
}

static int declaration_check(const struct goodput_registry *r, const struct declaration *d)
{
	if (!r || !goodput_name_valid(d->name, true) || !strcmp(d->name, "_total") || !d->help)
		return GOODPUT_INVALID;
	for (size_t i = 0; d->labels && d->labels[i]; i++) {
		if (i >= LABELS_MAX || strlen(d->labels[i]) > NAME_SIZE_MAX)
			return GOODPUT_TOO_LARGE;
		if (!label_valid(d->kind, d->labels[i]))
			return GOODPUT_INVALID;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(d->labels[i], d->labels[j]))
				return GOODPUT_INVALID;
	}
	if (strlen(d->name) > NAME_SIZE_MAX || strlen(d->help) > GOODPUT_TEXT_MAX)
		return GOODPUT_TOO_LARGE;
	if (d->bound_count > GOODPUT_BOUNDS_MAX)
		return GOODPUT_INVALID;
	for (size_t i = 0; i < d->bound_count; i++)
		if (isnan(d->bounds[i]) || (i && !(d->bounds[i - 1] < d->bounds[i])))
			return GOODPUT_INVALID;
	if (d->kind == GOODPUT_GAUGE && d->mode > GOODPUT_GAUGE_LIVEMOSTRECENT)
		return GOODPUT_INVALID;
	if (d->kind == GOODPUT_GAUGE && d->mode >= GOODPUT_GAUGE_MOSTRECENT && r->value_size == 8)
		return GOODPUT_WRONG_KIND;
	return goodput_utf8(d->help) ? GOODPUT_OK : GOODPUT_NOT_UTF8;
}

static void family_free(struct goodput_family *f)
{
	struct goodput_table *t = atomic_load(&f->table);

	while (f->series) {
		struct goodput_series *s = f->series;

		f->series = s->next;
		free(s);
	}
	while (t) {
		struct goodput_table *older = t->older;

		free(t);
		t = older;
	}
	for (size_t i = 0; f->labels && i < f->label_count; i++)
		free(f->labels[i]);
	free(f->labels);
	free(f->sorted);
	free(f->bounds);
	free(f->name);
	free(f->help);
	free(f);
}

void goodput_families_free(struct goodput_registry *r)
{
	while (r->families) {
		struct goodput_family *f = r->families;

		r->families = f->next;
		family_free(f);
	}
}

static struct goodput_table *table_new(size_t size)
{
	struct goodput_table *t = calloc(1, sizeof *t + size * sizeof t->entry[0]);

	if (t)
		t->mask = size - 1;
	return t;
}

static bool labels_copy(struct goodput_family *f, const char *const *labels)
{
	while (labels && labels[f->label_count])
		f->label_count++;
	f->labels = calloc(f->label_count + 1, sizeof *f->labels);
	f->sorted = calloc(f->label_count + 1, sizeof *f->sorted);
	if (!f->labels || !f->sorted)
		return false;
	for (size_t i = 0; i < f->label_count; i++) {
		size_t at = i;

		f->labels[i] = strdup(labels[i]);
		if (!f->labels[i])
			return false;
		for (; at && strcmp(labels[f->sorted[at - 1]], labels[i]) > 0; at--)
			f->sorted[at] = f->sorted[at - 1];
		f->sorted[at] = (unsigned)i;
	}
	return true;
}

static bool bounds_copy(struct goodput_family *f, const double *bounds, size_t count)
{
	f->bounds = malloc((count + 1) * sizeof *f->bounds);
	if (!f->bounds)
		return false;
	if (count)
		memcpy(f->bounds, bounds, count * sizeof *bounds);
	if (!count || bounds[count - 1] != HUGE_VAL)
		f->bounds[count++] = HUGE_VAL;
	f->bound_count = count;
	return true;
}

static struct goodput_family *family_new(struct goodput_registry *r, const struct declaration *d)
{
	struct goodput_family *f = calloc(1, sizeof *f);
	size_t length = strlen(d->name);

	if (!f)
		return NULL;
	if (d->kind == GOODPUT_COUNTER && length > 6 && !strcmp(d->name + length - 6, "_total"))
		length -= 6;
	f->registry = r;
	f->kind = d->kind;
	f->mode = d->mode;
	f->name = strndup(d->name, length);
	f->help = strdup(d->help);
	atomic_store(&f->table, table_new(16));
	if (!f->name || !f->help || !atomic_load(&f->table) || !labels_copy(f, d->labels) ||
		(d->kind == GOODPUT_HISTOGRAM && !bounds_copy(f, d->bounds, d->bound_count))) {
		family_free(f);
		return NULL;
	}
	f->cells = d->kind == GOODPUT_HISTOGRAM ? 1 + (unsigned)f->bound_count : d->kind == GOODPUT_SUMMARY ? 2 : 1;
	return f;
}

static bool same(const struct goodput_family *a, const struct goodput_family *b)
{
	if (a->kind != b->kind || a->mode != b->mode || strcmp(a->help, b->help) || a->label_count != b->label_count ||
		a->bound_count != b->bound_count || (a->bound_count && memcmp(a->bounds, b->bounds, a->bound_count * sizeof *a->bounds)))
		return false;
	for (size_t i = 0; i < a->label_count; i++)
		if (strcmp(a->labels[i], b->labels[i]))
			return false;
	return true;
}

static bool joined_equal(const char *a, const char *a_end, const char *b, const char *b_end)
{
	const size_t x = strlen(a), y = strlen(b);

	if (x > y)
		return joined_equal(b, b_end, a, a_end);
	/* b = a + middle, a_end = middle + b_end */
	return !strncmp(a, b, x) && !strncmp(b + x, a_end, y - x) && !strcmp(a_end + (y - x), b_end);
}

/* Do they share a name on the page: x_count of a summary x, and a gauge x_count? */
static bool clash(const struct goodput_family *a, const struct goodput_family *b)
{
	static const char *const ends[][4] = { [GOODPUT_COUNTER] = { "", "_total" },
		[GOODPUT_GAUGE] = { "" },
		[GOODPUT_HISTOGRAM] = { "", "_bucket", "_sum", "_count" },
		[GOODPUT_SUMMARY] = { "", "_sum", "_count" } };

	for (unsigned i = 0; i < 4 && ends[a->kind][i]; i++)
		for (unsigned j = 0; j < 4 && ends[b->kind][j]; j++)
			if (joined_equal(a->name, ends[a->kind][i], b->name, ends[b->kind][j]))
				return true;
	return false;
}

static int family_add(struct goodput_registry *r, struct goodput_family *f, struct goodput_family **out)
{
	struct goodput_family **at = &r->families;

	for (; *at; at = &(*at)->next) {
		if (!strcmp((*at)->name, f->name) && same(*at, f)) {
			*out = *at;
			family_free(f);
			return GOODPUT_OK;
		}
		if (clash(*at, f)) {
			family_free(f);
			return GOODPUT_EXISTS;
		}
	}
	*at = f;
	*out = f;
	return GOODPUT_OK;
}

static int declare(struct goodput_registry *r, const struct declaration *d, struct goodput_family **out)
{
	struct goodput_family *f;
	int status = out ? declaration_check(r, d) : GOODPUT_INVALID;

	if (out)
		*out = NULL;
	if (status)
		return status;
	f = family_new(r, d);
	if (!f)
		return GOODPUT_NO_MEMORY;
	goodput_lock();
	status = family_add(r, f, out);
	goodput_unlock(r);
	return status;
}

static uint64_t values_hash(const struct goodput_family *f, const char *const *values)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < f->label_count; i++) {
		for (const char *c = values[i]; *c; c++)
			h = (h ^ (unsigned char)*c) * 0x100000001b3u;
		h = (h ^ 0xff) * 0x100000001b3u;
	}
	return h ^ h >> 32;
}

static struct goodput_series *find(const struct goodput_family *f, const char *const *values, uint64_t hash)
{
	struct goodput_table *t = atomic_load_explicit(&f->table, memory_order_acquire);

	for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
		struct goodput_series *s = atomic_load_explicit(&t->entry[i], memory_order_acquire);
		size_t same_values = 0;

		if (!s)
			return NULL;
		if (s->hash != hash)
			continue;
		while (same_values < f->label_count && !strcmp(s->values[same_values], values[same_values]))
			same_values++;
		if (same_values == f->label_count)
			return s;
	}
}

static void table_put(struct goodput_table *t, struct goodput_series *s)
{
	size_t i = s->hash & t->mask;

	while (atomic_load_explicit(&t->entry[i], memory_order_relaxed))
		i = (i + 1) & t->mask;
	atomic_store_explicit(&t->entry[i], s, memory_order_release);
}

/* At most half full. Threads may still read the table that is replaced, so it stays. */
static bool table_room(struct goodput_family *f)
{
	struct goodput_table *t = atomic_load_explicit(&f->table, memory_order_relaxed), *larger;

	if ((f->series_count + 1) * 2 <= t->mask + 1)
		return true;
	larger = table_new((t->mask + 1) * 2);
	if (!larger)
		return false;
	for (struct goodput_series *s = f->series; s; s = s->next)
		table_put(larger, s);
	larger->older = t;
	atomic_store_explicit(&f->table, larger, memory_order_release);
	return true;
}

static struct goodput_series *series_new(struct goodput_family *f, const char *const *values, uint64_t hash)
{
	const uint32_t own = f->kind == GOODPUT_GAUGE ? 0 : f->registry->thread_cells + 1;
	size_t size = sizeof(struct goodput_series) + (f->label_count + 1) * sizeof(char *), text = 0;
	struct goodput_series *s;
	char *at;

	for (size_t i = 0; i < f->label_count; i++)
		text += strlen(values[i]) + 1;
	s = malloc(size + text);
	if (!s)
		return NULL;
	*s = (struct goodput_series){ .own = own, .family = f, .hash = hash, .bounds = f->bounds, .bound_count = (uint32_t)f->bound_count };
	s->slots = goodput_arena_take(&f->registry->arena, sizeof *s->slots + (own + 1) * sizeof s->slots->slot[0]);
	if (!s->slots) {
		free(s);
		return NULL;
	}
	at = (char *)s + size;
	for (size_t i = 0; i < f->label_count; i++) {
		const size_t length = strlen(values[i]) + 1;

		s->values[i] = memcpy(at, values[i], length);
		at += length;
	}
	return s;
}

static int series_make(struct goodput_family *f, const char *const *values, uint64_t hash, struct goodput_series **out)
{
	size_t text = 0;

	for (size_t i = 0; i < f->label_count; i++) {
		text += strlen(values[i]);
		if (!goodput_utf8(values[i]))
			return GOODPUT_NOT_UTF8;
	}
	if (text > GOODPUT_TEXT_MAX)
		return GOODPUT_TOO_LARGE;
	goodput_lock();
	goodput_registry_own(f->registry);
	*out = find(f, values, hash);
	if (!*out && table_room(f) && (*out = series_new(f, values, hash))) {
		(*out)->next = f->series;
		f->series = *out;
		f->series_count++;
		table_put(atomic_load_explicit(&f->table, memory_order_relaxed), *out);
		goodput_series_show(*out); /* as 0 at once; if not, it is counted in memory */
	}
	goodput_unlock(f->registry);
	return *out ? GOODPUT_OK : GOODPUT_NO_MEMORY;
}

static int child(struct goodput_family *f, enum goodput_kind kind, const char *const *values, struct goodput_series **out)
{
	uint64_t hash;

	if (!f || (f->label_count && !values))
		return GOODPUT_INVALID;
	if (f->kind != kind)
		return GOODPUT_WRONG_KIND;
	for (size_t i = 0; i < f->label_count; i++)
		if (!values[i])
			return GOODPUT_INVALID;
	hash = values_hash(f, values);
	*out = find(f, values, hash);
	return *out ? GOODPUT_OK : series_make(f, values, hash, out);
}

int goodput_counter_family(
	goodput_registry *registry, const char *name, const char *help, const char *const *label_names, goodput_family **family)
{
	const struct declaration d = { .kind = GOODPUT_COUNTER, .name = name, .help = help, .labels = label_names };

	return declare(registry, &d, family);
}

int goodput_gauge_family(goodput_registry *registry, const char *name, const char *help, const char *const *label_names,
	enum goodput_gauge_mode mode, goodput_family **family)
{
	const struct declaration d = { .kind = GOODPUT_GAUGE, .mode = mode, .name = name, .help = help, .labels = label_names };

	return declare(registry, &d, family);
}

int goodput_histogram_family(goodput_registry *registry, const char *name, const char *help, const char *const *label_names,
	const double *bounds, size_t bound_count, goodput_family **family)
{
	const struct declaration d = { .kind = GOODPUT_HISTOGRAM,
		.name = name,
		.help = help,
		.labels = label_names,
		.bounds = bounds ? bounds : default_bounds,
		.bound_count = bounds ? bound_count : sizeof default_bounds / sizeof *default_bounds };

	return declare(registry, &d, family);
}

int goodput_summary_family(
	goodput_registry *registry, const char *name, const char *help, const char *const *label_names, goodput_family **family)
{
	const struct declaration d = { .kind = GOODPUT_SUMMARY, .name = name, .help = help, .labels = label_names };

	return declare(registry, &d, family);
}

/* The typed handles are the series themselves. */
#define CHILD(type, kind)                                                                                                                  \
	int goodput_##type##_child(goodput_family *family, const char *const *label_values, goodput_##type **type)                         \
	{                                                                                                                                  \
		struct goodput_series *s = NULL;                                                                                           \
		int status = type ? child(family, kind, label_values, &s) : GOODPUT_INVALID;                                               \
                                                                                                                                           \
		if (type)                                                                                                                  \
			*type = (goodput_##type *)s;                                                                                       \
		return status;                                                                                                             \
	}

CHILD(counter, GOODPUT_COUNTER)
CHILD(gauge, GOODPUT_GAUGE)
CHILD(histogram, GOODPUT_HISTOGRAM)
CHILD(summary, GOODPUT_SUMMARY)

int goodput_counter_new(goodput_registry *registry, const char *name, const char *help, goodput_counter **counter)
{
	goodput_family *f;
	int status = goodput_counter_family(registry, name, help, NULL, &f);

	if (counter)
		*counter = NULL;
	return status ? status : goodput_counter_child(f, NULL, counter);
}

int goodput_gauge_new(goodput_registry *registry, const char *name, const char *help, enum goodput_gauge_mode mode, goodput_gauge **gauge)
{
	goodput_family *f;
	int status = goodput_gauge_family(registry, name, help, NULL, mode, &f);

	if (gauge)
		*gauge = NULL;
	return status ? status : goodput_gauge_child(f, NULL, gauge);
}

int goodput_histogram_new(goodput_registry *registry, const char *name, const char *help, const double *bounds, size_t bound_count,
	goodput_histogram **histogram)
{
	goodput_family *f;
	int status = goodput_histogram_family(registry, name, help, NULL, bounds, bound_count, &f);

	if (histogram)
		*histogram = NULL;
	return status ? status : goodput_histogram_child(f, NULL, histogram);
}

int goodput_summary_new(goodput_registry *registry, const char *name, const char *help, goodput_summary **summary)
{
	goodput_family *f;
	int status = goodput_summary_family(registry, name, help, NULL, &f);

	if (summary)
		*summary = NULL;
	return status ? status : goodput_summary_child(f, NULL, summary);
}
