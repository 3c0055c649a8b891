/* Several processes behind one address: their pages, taken as one target's, would be counters that fall and rise. A page tells its process
 * by its start time, else by counters that fall. A restart looks alike, but for one thing: the new process did not live yet when the old
 * one answered. */
#include "expo/expo.h"
#include "watch/pipeline.h"

#include <math.h>

enum { STARTS_KEPT = 16 };

struct turn {
	struct expo_reader *reader;
	VEC(double) counters;       /* by (expo_series.user - 1): the last value */
	double starts[STARTS_KEPT]; /* of the processes told apart */
	uint32_t start_count;
	double last_start;
	int64_t last_ms; /* when the last page was answered; 0: none yet */
	bool fell;
};
struct turns {
	struct turn *items;
	size_t count;
};

struct turns *turns_new(size_t targets)
{
	struct turns *t = NEW(struct turns);

	t->items = mem_zalloc(targets + 1, sizeof *t->items);
	t->count = targets;
	return t;
}

void turns_free(struct turns *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].reader)
			expo_reader_free(t->items[i].reader);
		VEC_FREE(&t->items[i].counters);
	}
	mem_free(t->items);
	mem_free(t);
}

/* The counter's value before, and the new one kept; NAN for a new series. */
static double counter_swap(struct turn *turn, struct expo_series *s, double value)
{
	if (!s->user) {
		VEC_PUSH(&turn->counters, value);
		s->user = (void *)(uintptr_t)turn->counters.count;
		return NAN;
	}
	double *kept = &turn->counters.items[(uintptr_t)s->user - 1], before = *kept;

	*kept = value;
	return before;
}

static bool same_start(double a, double b)
{
	return fabs(a - b) <= 2; /* a corrected clock moves it a little */
}

static void start_seen(struct turn *turn, double start)
{
	for (uint32_t i = 0; i < turn->start_count; i++)
		if (same_start(turn->starts[i], start))
			return;
	if (turn->start_count < STARTS_KEPT)
		turn->starts[turn->start_count++] = start;
}

void turns_add(struct turns *turns, size_t target, const struct http_answer *answer)
{
	struct turn *turn = &turns->items[target];
	double start = NAN;
	bool fell = false;

	if (answer->failure != HTTP_OK || answer->status != 200)
		return;
	if (!turn->reader)
		turn->reader = expo_reader_new();
	const struct expo_page *page =
		expo_read(turn->reader, STR("page"), answer->body, expo_format_of(answer->content_type, answer->body));

	for (size_t i = 0; i < page->sample_count; i++) {
		struct expo_series *s = page->samples[i].series;

		if (str_is(labels_name(s->labels), "process_start_time_seconds"))
			start = page->samples[i].value;
		else if (s->type == METRIC_COUNTER || s->type == METRIC_HISTOGRAM)
			fell |= page->samples[i].value < counter_swap(turn, s, page->samples[i].value);
	}
	bool other = isfinite(start) && turn->last_ms && !same_start(start, turn->last_start);
	bool lived_before = other && start * 1000 < (double)turn->last_ms;

	if (lived_before) {
		start_seen(turn, turn->last_start);
		start_seen(turn, start);
	}
	turn->fell |= fell && turn->last_ms && !other;
	turn->last_start = start;
	turn->last_ms = answer->start_ms;
}

uint32_t turns_count(const struct turns *t, size_t target)
{
	const struct turn *turn = &t->items[target];

	return turn->start_count > 1 ? turn->start_count : turn->fell ? 2 : 1;
}
