/* Changes of capacity from samples, and the windows around them: what came and went, restarts, times when nobody looked, events that are
 * near each other or near the ends of the data. */
#include "compare/around.h"

#include "base/mem.h"
#include "base/vec.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>

#define START_MS INT64_C(1768435200000)
enum { STEP_MS = 15000, MINUTE = 60000, VIEWS_MAX = 16 };

/* ---- samples ---- */

struct scene {
	struct arena arena;
	struct series_view up[VIEWS_MAX], starts[VIEWS_MAX], told[VIEWS_MAX];
	size_t up_count, start_count, told_count;
	struct capacity_log log;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ 0 };
	arena_init(&s->arena);
}

static void scene_fini(struct scene *s)
{
	for (size_t i = 0; i < s->up_count; i++)
		labels_unref((struct labels *)s->up[i].labels);
	for (size_t i = 0; i < s->start_count; i++)
		labels_unref((struct labels *)s->starts[i].labels);
	for (size_t i = 0; i < s->told_count; i++)
		labels_unref((struct labels *)s->told[i].labels);
	arena_fini(&s->arena);
}

static const struct labels *labels_two(struct str name, struct str value, struct str other, struct str other_value)
{
	struct label items[] = { { name, value }, { other, other_value } };

	return labels_new(items, other.len ? 2 : 1);
}

/* Minutes in which a target answers (1), does not (0), or nobody looks (-1), changed at these minutes. */
struct phase {
	int from_minute;
	int up;
};

static struct series_view *scene_target(struct scene *s, const char *name, const struct phase *phases, int end_minute)
{
	size_t count = (size_t)end_minute * MINUTE / STEP_MS + 1, n = 0;
	int64_t *t = ARENA_ARRAY(&s->arena, int64_t, count);
	double *v = ARENA_ARRAY(&s->arena, double, count);

	for (size_t i = 0; i < count; i++) {
		int64_t offset_ms = (int64_t)i * STEP_MS;

		while (phases[1].from_minute > phases[0].from_minute && offset_ms >= (int64_t)phases[1].from_minute * MINUTE)
			phases++;
		if (phases->up < 0 || offset_ms < (int64_t)phases->from_minute * MINUTE)
			continue;
		t[n] = START_MS + offset_ms;
		v[n++] = phases->up;
	}
	struct series_view *view = &s->up[s->up_count++];

	*view = (struct series_view){ labels_two(STR("instance"), str_from(name), STR_EMPTY, STR_EMPTY), t, v, n };
	return view;
}

#define TARGET(s, name, end, ...) scene_target(s, name, (const struct phase[]){ __VA_ARGS__, { 0, 0 } }, end)

static void scene_tell(struct scene *s, const char *text, const char *tags, int minute, int end_minute)
{
	int64_t *t = ARENA_NEW(&s->arena, int64_t);
	double *v = ARENA_NEW(&s->arena, double);

	*t = START_MS + (int64_t)minute * MINUTE;
	*v = end_minute > minute ? (double)(START_MS + (int64_t)end_minute * MINUTE) / 1000 : 1;
	s->told[s->told_count++] = (struct series_view){ labels_two(STR("tags"), str_from(tags), STR("text"), str_from(text)), t, v, 1 };
}

/* A target whose process began anew at these minutes. */
static void scene_restarts(struct scene *s, const int *minutes, size_t count, int end_minute)
{
	size_t samples = (size_t)end_minute * MINUTE / STEP_MS + 1, next = 0;
	int64_t *t = ARENA_ARRAY(&s->arena, int64_t, samples);
	double *v = ARENA_ARRAY(&s->arena, double, samples), start = 1000;

	for (size_t i = 0; i < samples; i++) {
		t[i] = START_MS + (int64_t)i * STEP_MS;
		if (next < count && t[i] >= START_MS + (int64_t)minutes[next] * MINUTE) {
			start = (double)t[i] / 1000;
			next++;
		}
		v[i] = start + (i % 2 ? 0.3 : 0); /* computed from an age: it trembles */
	}
	s->starts[s->start_count++] = (struct series_view){ labels_two(STR("instance"), STR("a"), STR_EMPTY, STR_EMPTY), t, v, samples };
}

static void scene_find(struct scene *s)
{
	capacity_find(&s->log, &s->arena,
		&(struct capacity_samples){ .up = s->up,
			.up_count = s->up_count,
			.starts = s->starts,
			.start_count = s->start_count,
			.annotations = s->told,
			.annotation_count = s->told_count });
}

static double minute_of(int64_t t_ms)
{
	return (double)(t_ms - START_MS) / MINUTE;
}

static const struct capacity_event *only_event(const struct scene *s)
{
	assert_int_equal(s->log.event_count, 1);
	return s->log.events;
}

/* ---- what happened ---- */

static void test_targets_come_and_go(void **state)
{
	struct scene s;

	scene_init(&s);
	TARGET(&s, "a", 60, { 0, 1 });
	TARGET(&s, "b", 60, { 0, 0 }, { 30, 1 }); /* known all the time, but it answers from then on */
	TARGET(&s, "c", 60, { 31, 1 });
	scene_find(&s);
	const struct capacity_event *e = only_event(&s);

	assert_false(e->told);
	assert_string_equal(e->text.ptr, "2 targets more");
	assert_int_equal(e->came_count, 2);
	assert_true(str_is(e->came[0], "b") && str_is(e->came[1], "c"));
	assert_int_equal(e->up_before, 1);
	assert_int_equal(e->up_after, 3);
	assert_true(fabs(minute_of(e->from_ms) - 29.75) < 0.01 && fabs(minute_of(e->to_ms) - 31) < 0.01);
	scene_fini(&s);

	scene_init(&s);
	TARGET(&s, "a", 60, { 0, 1 });
	TARGET(&s, "b", 60, { 0, 1 }, { 40, 0 });
	scene_find(&s);
	e = only_event(&s);
	assert_string_equal(e->text.ptr, "1 target fewer");
	assert_int_equal(e->went_count, 1);
	assert_int_equal(e->up_before, 2);
	assert_int_equal(e->up_after, 1);
	scene_fini(&s);

	scene_init(&s);
	TARGET(&s, "old", 60, { 0, 1 }, { 30, -1 });
	TARGET(&s, "new", 60, { 32, 1 });
	TARGET(&s, "other", 60, { 0, 1 });
	scene_find(&s);
	assert_string_equal(only_event(&s)->text.ptr, "1 target replaced");
	scene_fini(&s);
}

/* What is no change for good: a restart, a blip, a target that just went, and times at which nobody looked at all. */
static void test_what_is_no_event(void **state)
{
	struct scene s;

	scene_init(&s);
	TARGET(&s, "restarts", 60, { 0, 1 }, { 20, 0 }, { 23, 1 });
	TARGET(&s, "blip", 60, { 0, 0 }, { 30, 1 }, { 31, 0 });
	TARGET(&s, "just went", 60, { 0, 1 }, { 57, 0 });
	TARGET(&s, "just came", 60, { 0, 0 }, { 60, 1 });
	scene_find(&s);
	assert_int_equal(s.log.event_count, 0);
	assert_int_equal(s.log.interval_ms, STEP_MS);
	assert_null(capacity_last(&s.log));
	scene_fini(&s);

	scene_init(&s);
	TARGET(&s, "a", 90, { 0, 1 }, { 20, -1 }, { 50, 1 });
	TARGET(&s, "b", 90, { 0, 1 }, { 20, -1 }, { 50, 1 });
	scene_find(&s);
	assert_int_equal(s.log.event_count, 0);
	assert_int_equal(s.log.stretch_count, 2);
	scene_fini(&s);

	scene_init(&s); /* nothing at all */
	scene_find(&s);
	assert_int_equal(s.log.event_count, 0);
	assert_int_equal(capacity_newest_ms(&s.log), 0);
	scene_fini(&s);
}

/* A watch that begins finds its targets one by one: none of them came, and no window begins before all were seen. */
static void test_a_watch_begins(void **state)
{
	struct scene s;

	scene_init(&s);
	TARGET(&s, "a", 60, { 0, 1 });
	TARGET(&s, "b", 60, { 1, 1 });
	scene_tell(&s, "scaled", "capacity", 10, 0);
	scene_find(&s);
	assert_int_equal(only_event(&s)->came_count, 0);
	assert_true(fabs(minute_of(s.log.stretches[0].whole_ms) - 1) < 0.01);
	scene_fini(&s);
}

/* It came while nobody looked: when is not known, but between the two. */
static void test_change_in_the_dark(void **state)
{
	struct scene s;

	scene_init(&s);
	TARGET(&s, "a", 90, { 0, 1 }, { 20, -1 }, { 50, 1 });
	TARGET(&s, "b", 90, { 50, 1 });
	scene_find(&s);
	const struct capacity_event *e = only_event(&s);

	assert_true(fabs(minute_of(e->from_ms) - 19.75) < 0.01 && fabs(minute_of(e->to_ms) - 50) < 0.01);
	assert_int_equal(e->up_before, 1);
	assert_int_equal(e->up_after, 2);
	scene_fini(&s);
}

static void test_told_and_seen_are_one(void **state)
{
	static const int restarts[] = { 64 };
	struct scene s;

	scene_init(&s);
	TARGET(&s, "a", 120, { 0, 1 });
	TARGET(&s, "b", 120, { 34, 1 });
	scene_tell(&s, "scaled", "capacity", 30, 0);
	scene_tell(&s, "new release", "x, deploy", 60, 62);
	scene_tell(&s, "coffee", "break", 90, 0);
	scene_restarts(&s, restarts, 1, 120);
	scene_find(&s);
	assert_int_equal(s.log.event_count, 2);
	const struct capacity_event *e = s.log.events;

	assert_true(e->told && str_is(e->text, "scaled"));
	assert_int_equal(e->came_count, 1);
	assert_true(fabs(minute_of(e->t_ms) - 30) < 0.01 && fabs(minute_of(e->to_ms) - 34) < 0.01);
	assert_ptr_equal(capacity_at(&s.log, e->t_ms + 900), e);
	assert_null(capacity_at(&s.log, e->t_ms + 60000));
	/* the restart behind the deploy is a part of it */
	assert_true(fabs(minute_of(e[1].to_ms) - 64) < 0.01);
	assert_int_equal(s.log.restart_count, 0);
	assert_ptr_equal(capacity_last(&s.log), e + 1);
	scene_fini(&s);
}

/* Told while nobody looks: the number of targets is unknown, not 0. */
static void test_unknown_is_not_zero(void **state)
{
	struct scene s;

	scene_init(&s);
	TARGET(&s, "a", 30, { 0, 1 });
	scene_tell(&s, "scaled", "capacity", 50, 0);
	scene_find(&s);
	assert_true(only_event(&s)->up_before == CAPACITY_UNKNOWN && only_event(&s)->up_after == CAPACITY_UNKNOWN);
	scene_fini(&s);
}

/* ---- windows ---- */

static struct around windows_of(const struct scene *s, size_t event, int settle_minutes, int length_minutes)
{
	struct around w;

	around_choose(&w, &s->log, &s->log.events[event],
		&(struct around_wish){ (int64_t)settle_minutes * MINUTE, (int64_t)length_minutes * MINUTE });
	assert_true(w.before.from_ms <= w.before.to_ms && w.after.from_ms <= w.after.to_ms);
	assert_true(w.before.to_ms <= w.from_ms && w.after.from_ms >= w.to_ms);
	if (w.before.enough && w.after.enough)
		assert_int_equal(w.before.to_ms - w.before.from_ms, w.after.to_ms - w.after.from_ms);
	return w;
}

static void assert_window(const struct around_window *w, double from, double to, enum around_limit limit, bool enough)
{
	if (fabs(minute_of(w->from_ms) - from) > 0.3 || fabs(minute_of(w->to_ms) - to) > 0.3 || w->limit != limit)
		print_error("window %.2f to %.2f, %s; %.2f to %.2f, %s is expected\n", minute_of(w->from_ms), minute_of(w->to_ms),
			around_limit_name(w->limit), from, to, around_limit_name(limit));
	assert_true(fabs(minute_of(w->from_ms) - from) <= 0.3);
	assert_true(fabs(minute_of(w->to_ms) - to) <= 0.3);
	assert_int_equal(w->limit, limit);
	assert_int_equal(w->enough, enough);
}

static void test_windows(void **state)
{
	struct scene s;
	struct around w;

	scene_init(&s);
	TARGET(&s, "a", 200, { 0, 1 });
	TARGET(&s, "b", 200, { 100, 1 });
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 70, 100, AROUND_LENGTH, true);
	assert_window(&w.after, 103, 133, AROUND_LENGTH, true);
	assert_int_equal(w.events, 1);
	assert_int_equal(w.ready_ms, 0);
	w = windows_of(&s, 0, 3, 98);
	assert_window(&w.before, 3, 100, AROUND_OTHER_SIDE, true);
	assert_window(&w.after, 103, 200, AROUND_DATA, true);
	around_choose(&w, &s.log, s.log.events, &(struct around_wish){ -1, 0 });
	assert_int_equal(w.settle_ms, AROUND_SETTLE_MS);
	assert_int_equal(w.after.to_ms - w.after.from_ms, AROUND_LENGTH_MS);
	scene_fini(&s);
}

static void test_windows_at_the_edges(void **state)
{
	struct scene s;
	struct around w;

	scene_init(&s); /* soon behind the beginning of the data */
	TARGET(&s, "a", 100, { 0, 1 });
	scene_tell(&s, "scaled", "capacity", 5, 0);
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 0, 5, AROUND_DATA, true);
	assert_window(&w.after, 8, 13, AROUND_OTHER_SIDE, true);
	scene_fini(&s);

	scene_init(&s); /* just now: there is no time after it yet, and it is told when there will be */
	TARGET(&s, "a", 100, { 0, 1 });
	scene_tell(&s, "scaled", "capacity", 99, 0);
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 69, 99, AROUND_LENGTH, true);
	assert_window(&w.after, 102, 102, AROUND_DATA, false);
	assert_true(fabs(minute_of(w.ready_ms) - 104) < 0.3);
	scene_fini(&s);

	scene_init(&s); /* before all data, and long behind it */
	TARGET(&s, "a", 100, { 50, 1 });
	scene_tell(&s, "early", "capacity", 10, 0);
	scene_tell(&s, "late", "capacity", 180, 0);
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 10, 10, AROUND_DATA, false);
	assert_window(&w.after, 50, 80, AROUND_LENGTH, true);
	w = windows_of(&s, 1, 3, 30);
	assert_window(&w.before, 70, 100, AROUND_LENGTH, true);
	assert_window(&w.after, 183, 183, AROUND_DATA, false);
	scene_fini(&s);

	scene_init(&s); /* nobody looked for a while: a window does not reach over that */
	TARGET(&s, "a", 120, { 0, 1 }, { 30, -1 }, { 50, 1 });
	scene_tell(&s, "scaled", "capacity", 60, 0);
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 50, 60, AROUND_DATA, true);
	assert_window(&w.after, 63, 73, AROUND_OTHER_SIDE, true);
	scene_fini(&s);
}

static void test_events_near_each_other(void **state)
{
	struct scene s;
	struct around w;

	scene_init(&s); /* ten minutes apart: each has its windows, and they end at the other */
	TARGET(&s, "a", 200, { 0, 1 });
	scene_tell(&s, "first", "capacity", 90, 0);
	scene_tell(&s, "second", "capacity", 100, 0);
	scene_find(&s);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.after, 93, 100, AROUND_EVENT, true);
	assert_window(&w.before, 83, 90, AROUND_OTHER_SIDE, true);
	w = windows_of(&s, 1, 3, 30);
	assert_window(&w.before, 93, 100, AROUND_EVENT, true);
	assert_window(&w.after, 103, 110, AROUND_OTHER_SIDE, true);
	scene_fini(&s);

	scene_init(&s); /* two minutes apart, twice the same told: one, with all that lies between in neither window */
	TARGET(&s, "a", 200, { 0, 1 });
	scene_tell(&s, "first", "capacity", 100, 0);
	scene_tell(&s, "second", "deploy", 100, 0);
	scene_tell(&s, "third", "deploy", 102, 104);
	scene_find(&s);
	for (size_t i = 0; i < 3; i++) {
		w = windows_of(&s, i, 3, 30);
		assert_int_equal(w.events, 3);
		assert_window(&w.before, 70, 100, AROUND_LENGTH, true);
		assert_window(&w.after, 107, 137, AROUND_LENGTH, true);
	}
	scene_fini(&s);
}

static void test_restarts_in_windows(void **state)
{
	static const int early[] = { 80, 150 }, late[] = { 98, 105 };
	struct scene s;
	struct around w;

	scene_init(&s); /* kept out where more than half is left */
	TARGET(&s, "a", 200, { 0, 1 });
	scene_tell(&s, "scaled", "capacity", 100, 0);
	scene_restarts(&s, early, 2, 200);
	scene_find(&s);
	assert_int_equal(s.log.restart_count, 2);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 83, 100, AROUND_RESTART, true);
	assert_window(&w.after, 103, 120, AROUND_OTHER_SIDE, true);
	assert_int_equal(w.before.restarts + w.after.restarts, 0);
	scene_fini(&s);

	scene_init(&s); /* else inside, and counted; the one right behind the event is a part of it */
	TARGET(&s, "a", 200, { 0, 1 });
	scene_tell(&s, "scaled", "capacity", 100, 0);
	scene_restarts(&s, late, 2, 200);
	scene_find(&s);
	assert_int_equal(s.log.restart_count, 1);
	w = windows_of(&s, 0, 3, 30);
	assert_window(&w.before, 70, 100, AROUND_LENGTH, true);
	assert_window(&w.after, 108, 138, AROUND_LENGTH, true);
	assert_int_equal(w.before.restarts, 1);
	scene_fini(&s);
}

/* A moment that is no event has windows as well. */
static void test_any_moment(void **state)
{
	struct scene s;
	struct around w;
	struct capacity_event moment = {
		.t_ms = START_MS + 60 * MINUTE, .from_ms = START_MS + 60 * MINUTE, .to_ms = START_MS + 60 * MINUTE
	};

	scene_init(&s);
	TARGET(&s, "a", 200, { 0, 1 });
	scene_find(&s);
	around_choose(&w, &s.log, &moment, &(struct around_wish){ 0, 10 * MINUTE });
	assert_int_equal(w.events, 0);
	assert_window(&w.before, 50, 60, AROUND_LENGTH, true);
	assert_window(&w.after, 60, 70, AROUND_LENGTH, true);
	scene_fini(&s);

	scene_init(&s); /* no data at all */
	scene_find(&s);
	around_choose(&w, &s.log, &moment, &(struct around_wish){ 0, 10 * MINUTE });
	assert_false(w.before.enough || w.after.enough);
	assert_int_equal(w.ready_ms, 0);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets_come_and_go),
		cmocka_unit_test(test_what_is_no_event),
		cmocka_unit_test(test_a_watch_begins),
		cmocka_unit_test(test_change_in_the_dark),
		cmocka_unit_test(test_told_and_seen_are_one),
		cmocka_unit_test(test_unknown_is_not_zero),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_windows_at_the_edges),
		cmocka_unit_test(test_events_near_each_other),
		cmocka_unit_test(test_restarts_in_windows),
		cmocka_unit_test(test_any_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
