/* A worker: a loop, a heap of calls that wait for their time, a queue of those that wait for a place. */
#include "load/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- lists ---- */

void call_list_add(struct call_list *l, struct call *call)
{
	call->next = NULL;
	call->previous = l->last;
	if (l->last)
		l->last->next = call;
	else
		l->first = call;
	l->last = call;
}

void call_list_remove(struct call_list *l, struct call *call)
{
	if (call->previous)
		call->previous->next = call->next;
	else
		l->first = call->next;
	if (call->next)
		call->next->previous = call->previous;
	else
		l->last = call->previous;
	call->next = call->previous = NULL;
}

struct call *worker_call(struct worker *w)
{
	struct call *call = w->spare.first;

	if (call) {
		call_list_remove(&w->spare, call);
		return call;
	}
	call = NEW(struct call);
	call_init(call, w);
	return call;
}

void worker_release(struct worker *w, struct call *call)
{
	call->state = CALL_FREE;
	call_list_add(&w->spare, call);
}

/* ---- the heap ---- */

static void heap_push(struct worker *w, struct call *call)
{
	size_t at = w->heap.count;

	VEC_PUSH(&w->heap, call);
	for (size_t up; at && w->heap.items[up = (at - 1) / 2]->due_ns > call->due_ns; at = up)
		w->heap.items[at] = w->heap.items[up];
	w->heap.items[at] = call;
}

static struct call *heap_pop(struct worker *w)
{
	struct call *top = w->heap.items[0], *last = w->heap.items[--w->heap.count];
	size_t at = 0, count = w->heap.count;

	for (size_t child = 1; child < count; at = child, child = 2 * at + 1) {
		if (child + 1 < count && w->heap.items[child + 1]->due_ns < w->heap.items[child]->due_ns)
			child++;
		if (w->heap.items[child]->due_ns >= last->due_ns)
			break;
		w->heap.items[at] = w->heap.items[child];
	}
	if (count)
		w->heap.items[at] = last;
	return top;
}

/* libuv's timers know milliseconds; arrivals are kept to the microsecond. */
static void alarm_set(struct worker *w)
{
	int64_t wanted = w->heap.count ? w->heap.items[0]->due_ns + w->load->epoch_ns : 0;
	struct itimerspec when = { .it_value = { wanted / 1000000000, wanted % 1000000000 } };

	if (wanted == w->alarm_ns)
		return;
	w->alarm_ns = wanted;
	timerfd_settime(w->alarm_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void worker_hold(struct worker *w, struct call *call)
{
	call->state = CALL_HELD;
	heap_push(w, call);
	alarm_set(w);
}

/* ---- places ---- */

void worker_place_free(struct worker *w, struct call *call)
{
	if (!call->has_place)
		return;
	call->has_place = false;
	w->places_taken--;
}

static bool place_take(struct worker *w, struct call *call)
{
	if (call->has_place)
		return true;
	if (w->places && w->places_taken >= w->places)
		return false;
	call->has_place = true;
	w->places_taken++;
	return true;
}

/* ---- what starts ---- */

static bool is_start(const struct call *call)
{
	return !call->turn && !call->is_retry && !call->rests;
}

/* The next start, made ready before it is due. False: there is none. */
static struct call *start_next(struct worker *w)
{
	struct job job;
	struct call *call;

	if (w->over || !load_next_job(w->load, load_now(w->load), &job)) {
		w->over = true;
		return NULL;
	}
	call = worker_call(w);
	if (!call_prepare(call, job.number, 0, job.item, w->load->is_open_loop ? job.due_ns : TIMELINE_NEVER)) {
		worker_release(w, call);
		w->over = true;
		return NULL;
	}
	call->due_ns = job.due_ns;
	return call;
}

static void starts_hold(struct worker *w)
{
	while (!w->over && !w->held_starts) {
		struct call *call = start_next(w);

		if (!call)
			return;
		w->held_starts++;
		worker_hold(w, call);
	}
}

static void queue_send(struct worker *w)
{
	while (w->queued.first && place_take(w, w->queued.first)) {
		struct call *call = w->queued.first;

		call_list_remove(&w->queued, call);
		call_send(call);
	}
}

static void due_send(struct worker *w)
{
	while (w->heap.count && w->heap.items[0]->due_ns <= load_now(w->load)) {
		struct call *call = heap_pop(w);

		if (call->rests) {
			call_drop(call, TIMELINE_CANCELLED);
			continue;
		}
		if (is_start(call))
			w->held_starts--;
		call->state = CALL_QUEUED;
		call_list_add(&w->queued, call);
		queue_send(w);
		if (w->load->is_open_loop)
			starts_hold(w);
	}
	alarm_set(w);
}

/* Closed loop: every free place starts the next. */
static void places_fill(struct worker *w)
{
	while (!w->over && w->places_taken < w->places && load_now(w->load) >= 0) {
		struct call *call = start_next(w);

		if (!call)
			return;
		place_take(w, call);
		call_send(call);
	}
}

/* ---- the end ---- */

static void worker_close(struct worker *w)
{
	if (w->closed)
		return;
	w->closed = true;
	w->health = *stream_client_health(w->client);
	stream_client_close(w->client);
	uv_close((uv_handle_t *)&w->grace, NULL);
	uv_close((uv_handle_t *)&w->end, NULL);
	uv_close((uv_handle_t *)&w->alarm, NULL);
}

/* What was due counts as unsent; what is not due yet never was. */
static void held_drop(struct worker *w)
{
	int64_t now = load_now(w->load);

	while (w->heap.count) {
		struct call *call = heap_pop(w);

		w->held_starts -= is_start(call); /* or the worker waits for it for ever */
		call_drop(call, call->due_ns <= now ? TIMELINE_UNSENT : TIMELINE_CANCELLED);
	}
	while (w->queued.first) {
		struct call *call = w->queued.first;

		call_list_remove(&w->queued, call);
		call_drop(call, TIMELINE_UNSENT);
	}
}

static void worker_stop(struct worker *w)
{
	if (w->stopped)
		return;
	w->stopped = w->over = true;
	held_drop(w);
	for (struct call *call = w->open.first; call; call = call->next)
		if (call->stream)
			stream_cancel(call->stream);
	worker_step(w);
}

/* The grace begins when the time to start requests is over, or sooner where there is none left to start. A worker can know long before that
 * its next start would be too late. */
static bool is_grace_due(const struct worker *w)
{
	return w->load->options->grace_ns >= 0 && !uv_is_active((const uv_handle_t *)&w->grace) &&
	       (w->time_over || load_plan_over(w->load));
}

/* Also for a closed loop all of whose places are taken: it asks for no start until one is free. */
static void on_starts_end(uv_timer_t *timer)
{
	struct worker *w = timer->data;

	w->over = w->time_over = true;
	worker_step(w);
}

static void on_grace(uv_timer_t *timer)
{
	worker_stop(timer->data);
}

void worker_step(struct worker *w)
{
	if (w->closed)
		return;
	queue_send(w);
	if (!w->load->is_open_loop)
		places_fill(w);
	if (!w->over || w->held_starts)
		return;
	if (!w->open_count && !w->heap.count && !w->queued.first)
		worker_close(w);
	else if (is_grace_due(w))
		uv_timer_start(&w->grace, on_grace, (uint64_t)(w->load->options->grace_ns / 1000000), 0);
}

/* ---- the thread ---- */

static void on_wake(uv_async_t *wake)
{
	struct worker *w = wake->data;

	if (atomic_load(&w->load->stopping))
		worker_stop(w);
}

static void on_alarm(uv_poll_t *poll, int status, int events)
{
	struct worker *w = poll->data;
	uint64_t times;

	if (read(w->alarm_fd, &times, sizeof times) < 0 && errno == EAGAIN)
		return;
	w->alarm_ns = 0;
	due_send(w);
	worker_step(w);
}

static double thread_cpu_s(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static uint32_t share_of(uint32_t all, unsigned index, unsigned count)
{
	return all / count + (index < all % count);
}

static bool worker_refuse(const struct worker *w, int code, struct error *e)
{
	error_set(e, EXIT_INTERNAL, "thread %u of %u cannot be set up: %s", w->index + 1, w->load->worker_count, uv_strerror(code));
	error_hint(e, "fewer --threads, or more open files: ulimit -n");
	return false;
}

/* The loop with the handles that stay until the thread has ended. */
static int worker_loop(struct worker *w)
{
	int code;

	w->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (w->alarm_fd < 0)
		return -errno;
	code = uv_loop_init(&w->loop);
	if (code < 0) {
		close(w->alarm_fd);
		return code;
	}
	code = uv_poll_init(&w->loop, &w->alarm, w->alarm_fd);
	if (code < 0) {
		uv_loop_close(&w->loop);
		close(w->alarm_fd);
		return code;
	}
	uv_async_init(&w->loop, &w->wake, on_wake); /* cannot fail: the loop has its descriptor already */
	uv_unref((uv_handle_t *)&w->wake);          /* stays until the thread has ended: the main thread may use it at any time */
	uv_timer_init(&w->loop, &w->grace);
	uv_timer_init(&w->loop, &w->end);
	w->wake.data = w->grace.data = w->end.data = w->alarm.data = w;
	return 0;
}

bool worker_init(struct worker *w, struct load *l, unsigned index, struct error *e)
{
	int code;

	w->load = l;
	w->index = index;
	w->places = share_of(l->options->plan->arrivals.concurrency, index, l->worker_count);
	code = worker_loop(w);
	if (code < 0)
		return worker_refuse(w, code, e);
	uv_poll_start(&w->alarm, UV_READABLE, on_alarm);
	w->client = stream_client_new(&w->loop, l->options->endpoint);
	workload_request_init(&w->scratch);
	arena_init(&w->arena);
	buf_init(&w->lines, SIZE_MAX / 2);
	return true;
}

bool worker_start(struct worker *w, struct error *e)
{
	int code = uv_thread_create(&w->thread, worker_run, w);

	return code == 0 || worker_refuse(w, code, e);
}

/* The first starts wait for the epoch, so that all workers begin together. A closed loop has a call that only wakes it. */
static void worker_begin(struct worker *w)
{
	struct itimerspec when = { .it_value = { w->load->epoch_ns / 1000000000, w->load->epoch_ns % 1000000000 } };

	if (w->load->options->duration_ns) {
		uv_update_time(&w->loop); /* whole milliseconds, rounded down, as the difference: never before the last start is due */
		uv_timer_start(&w->end, on_starts_end, (uint64_t)((w->load->starts_end_ns - load_now(w->load)) / 1000000 + 2), 0);
	}
	if (w->load->is_open_loop)
		starts_hold(w);
	else
		timerfd_settime(w->alarm_fd, TFD_TIMER_ABSTIME, &when, NULL);
	if (w->load->is_open_loop)
		worker_step(w);
}

void worker_run(void *worker)
{
	struct worker *w = worker;
	const struct load_options *o = w->load->options;
	double cpu = thread_cpu_s();
	int64_t elapsed;

	worker_begin(w);
	uv_run(&w->loop, UV_RUN_DEFAULT);
	elapsed = load_now(w->load);
	w->cpu_share = elapsed > 0 ? (thread_cpu_s() - cpu) / ((double)elapsed / 1e9) : 0;
	uv_mutex_lock(&w->load->writing);
	if (o->on_records && w->lines.len)
		o->on_records(o->context, buf_str(&w->lines));
	uv_mutex_unlock(&w->load->writing);
	uv_mutex_lock(&w->load->mutex);
	w->load->running--;
	uv_cond_signal(&w->load->ended);
	uv_mutex_unlock(&w->load->mutex);
}

static void call_free(struct call *call)
{
	call_fini(call);
	mem_free(call);
}

static void calls_free(struct worker *w)
{
	while (w->spare.first) {
		struct call *call = w->spare.first;

		call_list_remove(&w->spare, call);
		call_free(call);
	}
	VEC_EACH (&w->heap, held) /* of one that never ran */
		call_free(*held);
}

void worker_fini(struct worker *w)
{
	calls_free(w);
	uv_close((uv_handle_t *)&w->wake, NULL);
	worker_close(w); /* of one that never ran */
	uv_run(&w->loop, UV_RUN_DEFAULT);
	uv_loop_close(&w->loop);
	if (w->alarm_fd >= 0)
		close(w->alarm_fd);
	workload_request_fini(&w->scratch);
	buf_fini(&w->lines);
	VEC_FREE(&w->heap);
	VEC_FREE(&w->done);
	arena_fini(&w->arena);
}
