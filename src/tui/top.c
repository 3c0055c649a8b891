#include "tui/top.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tui/draw.h"
#include "tui/terminal.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { KEY_WAIT_MS = 33, WHEEL_ROWS = 3 };

/* What the two threads share. The lock guards all of it but `follow`, `history` and `chosen_ms`, which are the gatherer's. */
struct top {
	struct follow *follow;
	struct view_history history;
	const struct top_options *options;
	int64_t chosen_ms; /* the moment shown; 0: the newest */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct view *ready; /* newest, not yet taken */
	bool ready_history;
	char trouble[512]; /* why the last look gave nothing; empty: it did */
	int64_t looked_ns; /* monotonic; when the last good look was */
	int64_t interval_ms;
	int steps; /* asked: so many moments later (or earlier) */
	bool newest, refresh, paused, quit, failed;
};

/* ---- gathering ---- */

static size_t moment_chosen(struct top *t, int steps, bool newest)
{
	size_t count, at;
	const int64_t *moments = follow_moments(t->follow, &count);
	int64_t wanted;

	if (newest)
		t->chosen_ms = 0;
	for (at = count - 1; at && t->chosen_ms && moments[at] > t->chosen_ms;)
		at--;
	wanted = (int64_t)at + steps;
	wanted = wanted < 0 ? 0 : wanted >= (int64_t)count ? (int64_t)count - 1 : wanted;
	if (steps)
		t->chosen_ms = wanted == (int64_t)count - 1 ? 0 : moments[wanted];
	return (size_t)wanted;
}

/* Trends of what was there before the first look. */
static bool history_fill(struct top *t, struct error *e)
{
	size_t count, first;

	follow_moments(t->follow, &count);
	first = count > TREND_POINTS ? count - TREND_POINTS : 0;
	for (size_t i = first; i < count; i++) {
		const struct report *r = follow_judge(t->follow, i, true, e);

		if (!r)
			return false;
		view_history_add(&t->history, r);
	}
	return true;
}

static struct view *view_of(struct top *t, size_t moment, struct error *e)
{
	const struct report *r = follow_judge(t->follow, moment, false, e);
	struct view *v = r ? view_new(r, &t->history) : NULL;

	if (!v)
		return NULL;
	v->moment = moment;
	follow_moments(t->follow, &v->moment_count);
	v->moment_name = arena_str(&v->arena, follow_moment_name(t->follow, moment));
	return v;
}

static bool look(struct top *t, struct error *e)
{
	bool first = !t->looked_ns;
	size_t count;

	if (!follow_look(t->follow, e))
		return false;
	follow_moments(t->follow, &count);
	if (!count)
		return error_set(e, EXIT_UNKNOWN, "there is nothing of an engine in it");
	if (first)
		return history_fill(t, e);
	const struct report *r = follow_judge(t->follow, count - 1, true, e);

	if (r)
		view_history_add(&t->history, r);
	return r != NULL;
}

static bool is_live(const struct top *t)
{
	return follow_goes_on(t->follow);
}

static void publish(struct top *t, struct view *v, const struct error *e, bool looked)
{
	pthread_mutex_lock(&t->lock);
	if (v) {
		view_free(t->ready);
		t->ready = v;
		t->ready_history = t->chosen_ms != 0;
	}
	if (looked && v) {
		t->trouble[0] = '\0';
		t->looked_ns = clock_monotonic_ns();
	} else if (!v) {
		snprintf(t->trouble, sizeof t->trouble, "%s", e->message);
		t->failed = !t->looked_ns && !is_live(t);
	}
	pthread_mutex_unlock(&t->lock);
}

struct request {
	bool look, quit, newest;
	int steps;
};

/* Waits until something is asked or it is time to look again. */
static struct request request_next(struct top *t, int64_t due_ns)
{
	struct request r = { 0 };

	pthread_mutex_lock(&t->lock);
	for (;;) {
		int64_t left = due_ns - clock_monotonic_ns();
		struct timespec until;

		r = (struct request){ t->refresh || (!t->paused && left <= 0), t->quit, t->newest, t->steps };
		if (r.look || r.quit || r.newest || r.steps)
			break;
		clock_gettime(CLOCK_MONOTONIC, &until);
		left = t->paused || left > 1000000000 ? 1000000000 : left;
		until.tv_nsec += (long)left;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&t->wake, &t->lock, &until);
	}
	t->refresh = t->newest = false;
	t->steps = 0;
	pthread_mutex_unlock(&t->lock);
	return r;
}

static int64_t pace_of(struct top *t)
{
	pthread_mutex_lock(&t->lock);
	int64_t pace_ms = t->interval_ms;

	pthread_mutex_unlock(&t->lock);
	return pace_ms > follow_pace_ms(t->follow) ? pace_ms : follow_pace_ms(t->follow);
}

static void *gather(void *argument)
{
	struct top *t = argument;
	int64_t due_ns = 0;

	for (struct request r; r = request_next(t, due_ns), !r.quit;) {
		struct error e = { 0 };
		struct view *v = NULL;

		if (r.look)
			due_ns = clock_monotonic_ns();
		if (!r.look || look(t, &e)) {
			size_t count;

			follow_moments(t->follow, &count);
			if (count)
				v = view_of(t, moment_chosen(t, r.steps, r.newest), &e);
		}
		publish(t, v, &e, r.look);
		if (r.look)
			due_ns = is_live(t) ? due_ns + pace_of(t) * 1000000 : INT64_MAX;
	}
	return NULL;
}

/* ---- the person ---- */

struct session {
	struct top *top;
	struct top_state state;
	struct view *view;
	struct frame frame;
	char trouble[512];
};

static void frame_resize(struct session *s)
{
	int rows, columns;

	terminal_size(&rows, &columns);
	struct layout l = layout_of(rows, columns);

	frame_fini(&s->frame);
	frame_init(&s->frame, l.rows, l.columns);
	s->frame.ascii = s->top->options->ascii;
	s->frame.graph = s->top->options->graph;
}

/* Takes what the gatherer has; true when there is something new. */
static bool take(struct session *s)
{
	struct top *t = s->top;
	bool fresh;

	pthread_mutex_lock(&t->lock);
	fresh = t->ready != NULL || strcmp(s->trouble, t->trouble) != 0;
	if (t->ready) {
		view_free(s->view);
		s->view = t->ready;
		s->state.in_history = t->ready_history;
		t->ready = NULL;
	}
	memcpy(s->trouble, t->trouble, sizeof s->trouble);
	s->state.trouble = s->trouble[0] ? s->trouble : NULL;
	s->state.age_ms = t->looked_ns ? (clock_monotonic_ns() - t->looked_ns) / 1000000 : 0;
	pthread_mutex_unlock(&t->lock);
	return fresh || s->state.trouble;
}

static void ask(struct session *s, enum top_ask what)
{
	struct top *t = s->top;

	pthread_mutex_lock(&t->lock);
	switch (what) {
	case ASK_QUIT: t->quit = true; break;
	case ASK_REFRESH: t->refresh = true; break;
	case ASK_PAUSE: t->paused = s->state.paused; break;
	case ASK_EARLIER: t->steps--; break;
	case ASK_LATER: t->steps++; break;
	case ASK_NEWEST: t->newest = true; break;
	case ASK_INTERVAL: t->interval_ms = s->state.interval_ms; break;
	case ASK_NOTHING: break;
	}
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

static void show(struct session *s)
{
	if (s->view)
		draw(&s->frame, s->view, &s->state);
	else
		draw_waiting(&s->frame, &s->state, "looking for the first time: figures that need two looks come with the second");
	terminal_show(&s->frame);
}

static void on_mouse(struct session *s, const struct terminal_key *k)
{
	struct layout l = layout_of(s->frame.rows, s->frame.columns);
	int page = l.table_rows - 1;

	for (int i = 0; i < WHEEL_ROWS && (k->wheel_up || k->wheel_down); i++)
		top_key(&s->state, s->view, k->wheel_up ? TOP_KEY_UP : TOP_KEY_DOWN, page);
	if (k->click && s->state.screen == SCREEN_FLEET && k->row > l.table && k->row < l.keys) {
		size_t *rows = mem_zalloc(s->view->scope_count + 1, sizeof *rows), count = rows_of(s->view, &s->state, rows);
		size_t at = rows_selected(s->view, &s->state, rows, count), first = at >= (size_t)page ? at - (size_t)page + 1 : 0;

		top_select_row(&s->state, s->view, first + (size_t)(k->row - l.table - 1));
		mem_free(rows);
	}
}

static void session_key(struct session *s, const struct terminal_key *k)
{
	struct layout l = layout_of(s->frame.rows, s->frame.columns);

	if (k->resized)
		frame_resize(s);
	else if (!s->view)
		ask(s, k->key == 'q' ? ASK_QUIT : ASK_NOTHING);
	else if (k->key)
		ask(s, top_key(&s->state, s->view, k->key, l.table_rows - 1));
	else
		on_mouse(s, k);
}

static bool is_over(struct session *s)
{
	pthread_mutex_lock(&s->top->lock);
	bool over = s->top->quit || s->top->failed;

	pthread_mutex_unlock(&s->top->lock);
	return over || *s->top->options->stop || terminal_ended();
}

static void session_run(struct session *s)
{
	frame_resize(s);
	show(s);
	while (!is_over(s)) {
		struct terminal_key k = terminal_key(KEY_WAIT_MS);
		bool acted = k.key || k.click || k.wheel_up || k.wheel_down || k.resized;

		if (acted)
			session_key(s, &k);
		if (take(s) || acted)
			show(s);
	}
	ask(s, ASK_QUIT);
}

static void top_init(struct top *t, struct follow *follow, const struct top_options *options)
{
	pthread_condattr_t monotonic;

	*t = (struct top){ .follow = follow, .options = options, .interval_ms = options->interval_ms };
	view_history_init(&t->history);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void top_fini(struct top *t)
{
	view_free(t->ready);
	view_history_fini(&t->history);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}

static void state_init(struct top_state *s, const struct top *t)
{
	*s = (struct top_state){
		.sort = SORT_TROUBLE, .interval_ms = t->options->interval_ms, .source = t->options->source, .live = is_live(t)
	};
}

int top_run(struct follow *follow, const struct top_options *options, struct error *e)
{
	struct session s = { 0 };
	struct top t;
	pthread_t thread;

	if (!terminal_open(options->color, options->mouse, e))
		return -1;
	/* Notes on standard error would be written over the screen. */
	log_set_level(LOG_ERROR);
	top_init(&t, follow, options);
	s.top = &t;
	state_init(&s.state, &t);
	pthread_create(&thread, NULL, gather, &t);
	session_run(&s);
	terminal_close();
	pthread_join(thread, NULL);
	log_set_level(LOG_NOTE);
	bool failed = t.failed;

	if (failed)
		error_set(e, EXIT_BAD_INPUT, "%s", t.trouble);
	view_free(s.view);
	frame_fini(&s.frame);
	top_fini(&t);
	return failed ? -1 : terminal_ended();
}

bool top_once(
	struct follow *follow, const struct top_options *options, int rows, int columns, struct buf *out, int *exit_status, struct error *e)
{
	struct top_state state;
	struct layout l = layout_of(rows, columns);
	struct frame frame;
	struct view *v = NULL;
	struct top t;
	size_t count;

	top_init(&t, follow, options);
	bool ok = look(&t, e);

	t.looked_ns = clock_monotonic_ns();
	if (ok && follow_kind(follow) == WATCH_LIVE) {
		for (int64_t end = t.looked_ns + options->interval_ms * 1000000; clock_monotonic_ns() < end && !*options->stop;)
			nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		ok = look(&t, e);
	}
	follow_moments(follow, &count);
	v = ok ? view_of(&t, count - 1, e) : NULL;
	if (v) {
		state_init(&state, &t);
		state.live = false;
		frame_init(&frame, l.rows, l.columns);
		frame.ascii = options->ascii;
		frame.graph = options->graph;
		draw(&frame, v, &state);
		frame_export(&frame, out);
		frame_fini(&frame);
		*exit_status = v->exit_status;
	}
	view_free(v);
	top_fini(&t);
	return v != NULL;
}
