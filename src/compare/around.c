#include "compare/around.h"

const char *around_limit_name(enum around_limit l)
{
	static const char *const names[] = { "length", "event", "data", "restart", "other-side" };

	return names[l];
}

const char *around_limit_text(enum around_limit l)
{
	static const char *const texts[] = { "as long as wanted", "another event is near", "nothing was seen beyond it",
		"a target restarted beyond it", "the other side has no more" };

	return texts[l];
}

struct choosing {
	const struct capacity_log *log;
	int64_t from_ms, to_ms; /* of the event, and of those that are too near to be told from it */
	int64_t settle_ms, length_ms, least_ms;
};

/* Between two events there has to be time to settle and to be seen. Where there is not, the windows are around both. */
static size_t join_near(struct choosing *c)
{
	const struct capacity_event *events = c->log->events;
	int64_t apart_ms = c->settle_ms + c->least_ms;
	size_t joined, before = 0;

	for (;; before = joined) {
		joined = 0;
		for (size_t i = 0; i < c->log->event_count; i++) {
			if (events[i].to_ms + apart_ms <= c->from_ms || events[i].from_ms >= c->to_ms + apart_ms)
				continue;
			joined++;
			c->from_ms = events[i].from_ms < c->from_ms ? events[i].from_ms : c->from_ms;
			c->to_ms = events[i].to_ms > c->to_ms ? events[i].to_ms : c->to_ms;
		}
		if (joined == before)
			return joined;
	}
}

static const struct capacity_stretch *stretch_before(const struct capacity_log *log, int64_t t_ms)
{
	const struct capacity_stretch *found = NULL;

	for (size_t i = 0; i < log->stretch_count; i++)
		if (log->stretches[i].from_ms < t_ms)
			found = &log->stretches[i];
	return found;
}

/* The first one that reaches beyond t. */
static const struct capacity_stretch *stretch_after(const struct capacity_log *log, int64_t t_ms)
{
	for (size_t i = 0; i < log->stretch_count; i++)
		if (log->stretches[i].to_ms > t_ms)
			return &log->stretches[i];
	return NULL;
}

/* The time before begins no earlier than this, whatever the wish is. */
static void begin_no_earlier(struct around_window *w, int64_t t_ms, enum around_limit limit)
{
	if (t_ms <= w->from_ms)
		return;
	w->from_ms = t_ms < w->to_ms ? t_ms : w->to_ms;
	w->limit = limit;
}

static void end_no_later(struct around_window *w, int64_t t_ms, enum around_limit limit)
{
	if (t_ms >= w->to_ms)
		return;
	w->to_ms = t_ms > w->from_ms ? t_ms : w->from_ms;
	w->limit = limit;
}

static size_t restarts_in(const struct capacity_log *log, const struct around_window *w)
{
	size_t count = 0;

	for (size_t i = 0; i < log->restart_count; i++)
		count += log->restarts[i] > w->from_ms && log->restarts[i] <= w->to_ms;
	return count;
}

static void choose_before(struct around_window *w, const struct choosing *c)
{
	const struct capacity_log *log = c->log;
	const struct capacity_stretch *s = stretch_before(log, c->from_ms);

	*w = (struct around_window){ c->from_ms, c->from_ms, AROUND_DATA, false, 0 };
	if (!s)
		return;
	if (s->to_ms < w->to_ms)
		w->to_ms = s->to_ms;
	w->from_ms = w->to_ms - c->length_ms;
	w->limit = AROUND_LENGTH;
	begin_no_earlier(w, s->whole_ms, AROUND_DATA);
	for (size_t i = 0; i < log->event_count; i++)
		if (log->events[i].to_ms < c->from_ms)
			begin_no_earlier(w, log->events[i].to_ms + c->settle_ms, AROUND_EVENT);
	/* A restart is kept out where that leaves half of the window: what is cold then is not what is looked for. */
	for (size_t i = log->restart_count; i-- > 0;) {
		int64_t settled_ms = log->restarts[i] + c->settle_ms;

		if (settled_ms > w->from_ms && log->restarts[i] <= w->to_ms && (w->to_ms - settled_ms) * 2 >= w->to_ms - w->from_ms)
			begin_no_earlier(w, settled_ms, AROUND_RESTART);
	}
}

static void choose_after(struct around_window *w, const struct choosing *c)
{
	const struct capacity_log *log = c->log;
	int64_t settled_ms = c->to_ms + c->settle_ms;
	const struct capacity_stretch *s = stretch_after(log, settled_ms);

	*w = (struct around_window){ settled_ms, settled_ms, AROUND_DATA, false, 0 };
	if (!s)
		return;
	if (s->whole_ms > settled_ms)
		w->from_ms = s->whole_ms;
	w->to_ms = w->from_ms + c->length_ms;
	w->limit = AROUND_LENGTH;
	end_no_later(w, s->to_ms, AROUND_DATA);
	for (size_t i = 0; i < log->event_count; i++)
		if (log->events[i].from_ms > c->to_ms)
			end_no_later(w, log->events[i].from_ms, AROUND_EVENT);
	for (size_t i = 0; i < log->restart_count; i++)
		if (log->restarts[i] > w->from_ms && log->restarts[i] <= w->to_ms &&
			(log->restarts[i] - 1 - w->from_ms) * 2 >= w->to_ms - w->from_ms)
			end_no_later(w, log->restarts[i] - 1, AROUND_RESTART);
}

static void make_equal(struct around *w)
{
	int64_t before_ms = w->before.to_ms - w->before.from_ms, after_ms = w->after.to_ms - w->after.from_ms;

	if (before_ms > after_ms)
		begin_no_earlier(&w->before, w->before.to_ms - after_ms, AROUND_OTHER_SIDE);
	else
		end_no_later(&w->after, w->after.from_ms + before_ms, AROUND_OTHER_SIDE);
}

void around_choose(struct around *w, const struct capacity_log *log, const struct capacity_event *event, const struct around_wish *wish)
{
	struct choosing c = { .log = log,
		.from_ms = event->from_ms,
		.to_ms = event->to_ms,
		.settle_ms = wish->settle_ms < 0 ? AROUND_SETTLE_MS : wish->settle_ms,
		.length_ms = wish->length_ms > 0 ? wish->length_ms : AROUND_LENGTH_MS,
		.least_ms = AROUND_SCRAPES_LEAST * log->interval_ms };

	/* Who went is looked at no more: a scrape later it is not missing, it is not there. */
	c.settle_ms = c.settle_ms < log->interval_ms ? log->interval_ms : c.settle_ms;

	*w = (struct around){ .settle_ms = c.settle_ms, .least_ms = c.least_ms };
	w->events = join_near(&c);
	w->from_ms = c.from_ms;
	w->to_ms = c.to_ms;
	choose_before(&w->before, &c);
	choose_after(&w->after, &c);
	w->before.enough = c.least_ms && w->before.to_ms - w->before.from_ms >= c.least_ms;
	w->after.enough = c.least_ms && w->after.to_ms - w->after.from_ms >= c.least_ms;
	if (w->before.enough && w->after.enough)
		make_equal(w);
	else if (!w->after.enough && w->after.limit == AROUND_DATA && c.least_ms)
		w->ready_ms = w->after.from_ms + c.least_ms;
	w->before.restarts = restarts_in(log, &w->before);
	w->after.restarts = restarts_in(log, &w->after);
}
