/* Queues: requests that wait (linked through their slots) and requests that have not reached the scheduler yet (a heap). */
#include "engine/internal.h"

#include <math.h>

void queue_push_back(struct engine *e, struct queue *q, struct request *r)
{
	r->next = NO_SLOT;
	r->previous = q->last;
	if (q->last == NO_SLOT)
		q->first = r->slot;
	else
		request_at(e, q->last)->next = r->slot;
	q->last = r->slot;
	q->count++;
}

void queue_push_front(struct engine *e, struct queue *q, struct request *r)
{
	r->previous = NO_SLOT;
	r->next = q->first;
	if (q->first == NO_SLOT)
		q->last = r->slot;
	else
		request_at(e, q->first)->previous = r->slot;
	q->first = r->slot;
	q->count++;
}

void queue_remove(struct engine *e, struct queue *q, struct request *r)
{
	if (r->previous == NO_SLOT)
		q->first = r->next;
	else
		request_at(e, r->previous)->next = r->next;
	if (r->next == NO_SLOT)
		q->last = r->previous;
	else
		request_at(e, r->next)->previous = r->previous;
	q->count--;
	r->next = r->previous = NO_SLOT;
}

bool request_before(const struct request *a, const struct request *b)
{
	if (a->ask.priority != b->ask.priority)
		return a->ask.priority < b->ask.priority;
	if (a->timeline.arrival != b->timeline.arrival)
		return a->timeline.arrival < b->timeline.arrival;
	return a->serial < b->serial;
}

/* From the back: most arrivals belong there. */
void queue_insert(struct engine *e, struct queue *q, struct request *r)
{
	uint32_t after = q->last;

	while (after != NO_SLOT && request_before(r, request_at(e, after)))
		after = request_at(e, after)->previous;
	if (after == NO_SLOT) {
		queue_push_front(e, q, r);
	} else if (after == q->last) {
		queue_push_back(e, q, r);
	} else {
		struct request *left = request_at(e, after);
		r->previous = after;
		r->next = left->next;
		request_at(e, left->next)->previous = r->slot;
		left->next = r->slot;
		q->count++;
	}
}

static bool sooner(const struct pending *a, const struct pending *b)
{
	return a->time < b->time || (a->time == b->time && a->serial < b->serial);
}

void pending_push(struct engine *e, double time, struct request *r)
{
	struct pending item = { time, r->serial, r->slot };
	size_t at = e->pending.count;

	VEC_PUSH(&e->pending, item);
	for (; at && sooner(&item, &e->pending.items[(at - 1) / 2]); at = (at - 1) / 2)
		e->pending.items[at] = e->pending.items[(at - 1) / 2];
	e->pending.items[at] = item;
}

static struct pending pending_pop(struct engine *e)
{
	struct pending top = e->pending.items[0], item = e->pending.items[--e->pending.count];
	size_t at = 0, count = e->pending.count;

	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && sooner(&e->pending.items[child + 1], &e->pending.items[child]))
			child++;
		if (!sooner(&e->pending.items[child], &item))
			break;
		e->pending.items[at] = e->pending.items[child];
		at = child;
	}
	if (count)
		e->pending.items[at] = item;
	return top;
}

double pending_next(const struct engine *e)
{
	return e->pending.count ? e->pending.items[0].time : INFINITY;
}

void pending_admit(struct engine *e, double until)
{
	while (e->pending.count && e->pending.items[0].time <= until) {
		struct pending item = pending_pop(e);
		struct request *r = request_at(e, item.slot);

		if (r->status != REQUEST_PENDING) { /* aborted meanwhile */
			r->status = REQUEST_FREE;
			VEC_PUSH(&e->free_slots, r->slot);
			continue;
		}
		r->status = REQUEST_WAITING;
		r->timeline.queued = item.time;
		e->counters.system_seconds += e->now - item.time;
		if (e->config.policy == ENGINE_PRIORITY)
			queue_insert(e, &e->waiting, r);
		else
			queue_push_back(e, &e->waiting, r);
	}
}
