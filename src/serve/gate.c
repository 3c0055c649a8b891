#include "serve/gate.h"

/* After this, reads that come later wait for the write. */
enum { WRITE_PATIENCE_MS = 500 };

static void queue_init(struct gate_queue *q)
{
	*q = (struct gate_queue){ .end = &q->first };
}

static void queue_push(struct gate_queue *q, struct gate_task *task)
{
	task->next = NULL;
	*q->end = task;
	q->end = &task->next;
	q->count++;
}

static struct gate_task *queue_pop(struct gate_queue *q)
{
	struct gate_task *task = q->first;

	q->first = task->next;
	if (!q->first)
		q->end = &q->first;
	q->count--;
	return task;
}

void gate_init(struct gate *g, size_t reading_most)
{
	*g = (struct gate){ .reading_most = reading_most };
	queue_init(&g->reads);
	queue_init(&g->writes);
}

int64_t gate_write_waits_ms(const struct gate *g, int64_t now_ms)
{
	return g->writes.first ? now_ms - g->writes.first->since_ms : 0;
}

static bool read_may_start(const struct gate *g, int64_t now_ms)
{
	return g->reads.first && g->reading < g->reading_most && gate_write_waits_ms(g, now_ms) < WRITE_PATIENCE_MS;
}

/* Tasks may come back with more: only the outermost call runs them, so that none runs inside another. */
static void pump(struct gate *g, int64_t now_ms)
{
	if (g->pumping)
		return;
	g->pumping = true;
	while (!g->held) {
		if (g->writes.first && !g->reading) {
			struct gate_task *task = queue_pop(&g->writes);

			task->run(task);
		} else if (read_may_start(g, now_ms)) {
			struct gate_task *task = queue_pop(&g->reads);

			g->reading++;
			task->run(task);
		} else {
			break;
		}
	}
	g->pumping = false;
}

void gate_read(struct gate *g, struct gate_task *task, int64_t now_ms)
{
	task->since_ms = now_ms;
	queue_push(&g->reads, task);
	pump(g, now_ms);
}

void gate_write(struct gate *g, struct gate_task *task, int64_t now_ms)
{
	task->since_ms = now_ms;
	queue_push(&g->writes, task);
	pump(g, now_ms);
}

void gate_read_done(struct gate *g, int64_t now_ms)
{
	g->reading--;
	pump(g, now_ms);
}

void gate_hold(struct gate *g)
{
	g->held = true;
}

void gate_release(struct gate *g, int64_t now_ms)
{
	g->held = false;
	pump(g, now_ms);
}

bool gate_withdraw(struct gate *g, struct gate_task *task)
{
	for (struct gate_task **at = &g->reads.first; *at; at = &(*at)->next) {
		if (*at != task)
			continue;
		*at = task->next;
		if (g->reads.end == &task->next)
			g->reads.end = at;
		g->reads.count--;
		return true;
	}
	return false;
}
