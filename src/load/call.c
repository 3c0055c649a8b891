/* A call: one request with its retries, from its body to its timeline. */
#include "load/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { BODY_MAX = 1 << 28, ANSWER_TEXT_MAX = 1 << 18 };
enum { RETRY_FIRST_MS = 500, RETRY_MOST_MS = 60000, REST_MS = 500 };

/* ---- life ---- */

void call_init(struct call *call, struct worker *w)
{
	call->worker = w;
	buf_init(&call->body, BODY_MAX);
	buf_init(&call->headers, 1 << 20);
	buf_init(&call->text.text, ANSWER_TEXT_MAX);
	buf_init(&call->text.reasoning, ANSWER_TEXT_MAX);
	buf_init(&call->text.tool_arguments, ANSWER_TEXT_MAX);
	timeline_init(&call->timeline);
}

void call_fini(struct call *call)
{
	openai_stream_fini(&call->answer);
	timeline_fini(&call->timeline);
	buf_fini(&call->body);
	buf_fini(&call->headers);
	buf_fini(&call->text.text);
	buf_fini(&call->text.reasoning);
	buf_fini(&call->text.tool_arguments);
}

/* ---- making the request ---- */

static bool is_in_window(const struct load *l, const struct call *call, int64_t t_ns)
{
	const struct load_options *o = l->options;

	if (call->number < o->warmup_starts && !call->item)
		return false;
	return t_ns >= o->warmup_ns && (!o->duration_ns || t_ns < o->duration_ns - o->cooldown_ns);
}

static void timeline_label(struct call *call)
{
	const struct load_options *o = call->worker->load->options;
	struct timeline *t = &call->timeline;

	t->id = call->item ? LOAD_EVALUATION_ID + (uint64_t)(call->item - o->evaluation->items.items) : call->number;
	t->turn = call->turn;
	t->session = call->more || call->turn ? (int64_t)call->number : -1;
	t->model = o->model;
	t->group = call->item ? STR("evaluation") : call->worker->scratch.group;
	t->temperature = call->item ? 0 : workload_temperature(o->workload);
	t->asked_tokens = call->item ? (uint32_t)call->item->max_tokens : call->worker->scratch.output_tokens;
}

static bool call_body(struct call *call)
{
	struct worker *w = call->worker;
	const struct load_options *o = w->load->options;

	buf_reset(&call->body);
	if (!call->item && !workload_request_make(o->workload, o->plan, call->number, call->turn, &w->scratch))
		return false;
	load_body(o, &w->scratch, call->item, &call->body);
	return true;
}

bool call_prepare(struct call *call, uint64_t number, uint32_t turn, const struct evaluation_item *item, int64_t intended_ns)
{
	call->number = number;
	call->turn = turn;
	call->item = item;
	call->attempt = 0;
	call->is_retry = call->rests = false;
	if (!call_body(call))
		return false;
	call->more = !item && call->worker->scratch.more;
	call->pause_ns = item ? 0 : call->worker->scratch.pause_ns;
	timeline_reset(&call->timeline);
	timeline_label(call);
	call->timeline.intended_ns = intended_ns;
	return true;
}

/* ---- the end ---- */

static void call_lines(struct call *call)
{
	struct worker *w = call->worker;
	const struct load_options *o = w->load->options;

	if (!o->on_records)
		return;
	records_write(&w->lines, &call->timeline);
	if (w->lines.len < 65536)
		return;
	uv_mutex_lock(&w->load->writing);
	o->on_records(o->context, buf_str(&w->lines));
	uv_mutex_unlock(&w->load->writing);
	buf_reset(&w->lines);
}

/* The timeline goes to the worker's list; its deliveries take no more memory than they need, and the call keeps its own. */
static void call_record(struct call *call)
{
	struct worker *w = call->worker;
	struct timeline t = call->timeline;

	call_lines(call);
	t.deliveries.bytes = t.deliveries.len ? (uint8_t *)mem_copy(t.deliveries.bytes, t.deliveries.len) : NULL;
	t.deliveries.cap = t.deliveries.len;
	VEC_PUSH(&w->done, t);
	count_add(timeline_is_complete(&t) ? &w->counts.complete : &w->counts.failed, 1);
	if (t.output_tokens != TIMELINE_UNKNOWN)
		count_add(&w->counts.output_tokens, t.output_tokens);
}

/* A closed loop without a count of its own would ask a server that is gone as fast as the machine can, for as long as it lasts. */
static bool is_to_rest(const struct call *call)
{
	const struct load *l = call->worker->load;
	enum timeline_error error = call->timeline.error;

	return !l->is_open_loop && !l->options->plan->requests && !call->worker->over &&
	       (error == TIMELINE_CONNECT || error == TIMELINE_DNS);
}

/* The next turn of the session, or the call is free. */
static void call_after(struct call *call)
{
	struct worker *w = call->worker;
	int64_t due = call->timeline.closed_ns + (int64_t)call->pause_ns; /* from the answer's stamp: a late reader delays no turn unseen */

	if (call->more && !w->stopped && due < w->load->starts_end_ns && timeline_is_complete(&call->timeline) &&
		call_prepare(call, call->number, call->turn + 1, NULL, w->load->is_open_loop ? due : TIMELINE_NEVER)) {
		if (w->load->is_open_loop)
			worker_place_free(w, call);
		call->due_ns = due;
		worker_hold(w, call);
	} else if (is_to_rest(call)) {
		call->rests = true;
		call->due_ns = due + REST_MS * INT64_C(1000000);
		worker_hold(w, call);
	} else {
		worker_place_free(w, call);
		worker_release(w, call);
	}
	worker_step(w);
}

void call_drop(struct call *call, enum timeline_outcome outcome)
{
	struct worker *w = call->worker;

	if (call->rests) { /* has ended already */
		worker_place_free(w, call);
		worker_release(w, call);
		return;
	}
	if (!call->is_retry) { /* a retry keeps the outcome of its last attempt */
		call->timeline.outcome = outcome;
		call->timeline.attempts = 0;
		call->timeline.warmup = !is_in_window(w->load, call, call->due_ns);
	}
	if (call->is_retry || outcome == TIMELINE_UNSENT)
		call_record(call);
	worker_place_free(w, call);
	worker_release(w, call);
}

static bool is_worth_retrying(const struct timeline *t)
{
	switch (t->error) {
	case TIMELINE_HTTP_429:
	case TIMELINE_CONNECT: return true;
	case TIMELINE_HTTP_5XX: return t->http_status >= 502 && t->http_status <= 504;
	case TIMELINE_RESET:
	case TIMELINE_TRUNCATED: return t->first_output_ns == TIMELINE_NEVER;
	default: return false;
	}
}

/* As the server says, else ever longer. */
static int64_t retry_wait_ms(const struct call *call)
{
	int64_t told_ms = call->timeline.retry_after_ms, wait_ms = RETRY_FIRST_MS << (call->attempt < 7 ? call->attempt : 7);

	if (told_ms >= 0)
		return told_ms;
	return wait_ms < RETRY_MOST_MS ? wait_ms : RETRY_MOST_MS;
}

static bool call_retry(struct call *call)
{
	struct worker *w = call->worker;
	int64_t wait_ms = retry_wait_ms(call);

	/* Who says "in an hour" is not asked sooner, nor waited for. */
	if (w->stopped || call->attempt >= w->load->options->retries || !is_worth_retrying(&call->timeline) || wait_ms > RETRY_MOST_MS ||
		!call_body(call))
		return false;
	call->attempt++;
	call->is_retry = true;
	call->due_ns = load_now(w->load) + wait_ms * 1000000;
	if (w->load->is_open_loop)
		worker_place_free(w, call);
	worker_hold(w, call);
	worker_step(w);
	return true;
}

/* Servers that speak TLS answer a plain request with a 400 that says so. */
static void call_name_tls(struct timeline *t)
{
	if (t->http_status == 400 && str_search(str_from(t->message), STR("HTTPS")) >= 0)
		t->error = TIMELINE_TLS;
}

static void call_judge(struct call *call)
{
	struct load *l = call->worker->load;

	if (!call->item || !timeline_is_complete(&call->timeline))
		return;
	uv_mutex_lock(&l->mutex); /* a regex serves one thread at a time */
	call->timeline.evaluation = evaluation_judge(call->item, buf_str(&call->text.text));
	uv_mutex_unlock(&l->mutex);
}

/* ---- the stream ---- */

static enum timeline_error error_of(enum stream_failure failure)
{
	switch (failure) {
	case STREAM_NO_HOST: return TIMELINE_DNS;
	case STREAM_REFUSED:
	case STREAM_UNREACHABLE:
	case STREAM_LOCAL: return TIMELINE_CONNECT;
	case STREAM_TLS:
	case STREAM_TLS_MISMATCH: return TIMELINE_TLS;
	case STREAM_CONNECT_TIMEOUT:
	case STREAM_HEAD_TIMEOUT:
	case STREAM_IDLE_TIMEOUT:
	case STREAM_WHOLE_TIMEOUT: return TIMELINE_TIMEOUT;
	case STREAM_RESET: return TIMELINE_RESET;
	case STREAM_CLOSED:
	case STREAM_CUT: return TIMELINE_TRUNCATED;
	default: return TIMELINE_PROTOCOL;
	}
}

static enum openai_end end_of(const struct stream_end *end)
{
	switch (end->failure) {
	case STREAM_OK: return end->by_close ? OPENAI_END_CLOSE : OPENAI_END_BODY;
	case STREAM_RESET: return OPENAI_END_RESET;
	case STREAM_CANCELLED: return OPENAI_END_CANCELLED;
	case STREAM_HEAD_TIMEOUT:
	case STREAM_IDLE_TIMEOUT:
	case STREAM_WHOLE_TIMEOUT: return OPENAI_END_DEADLINE;
	default: return OPENAI_END_CUT;
	}
}

static void on_head(void *context, struct stream *s, const struct stream_head *head, int64_t stamp)
{
	struct call *call = context;
	bool in_ms = head->retry_after_ms.len > 0;
	struct openai_head h = { .status = (uint16_t)head->status,
		.content_type = head->content_type,
		.location = head->location,
		.retry_after = in_ms ? head->retry_after_ms : head->retry_after,
		.retry_after_in_ms = in_ms,
		.now_unix = clock_now_ms() / 1e3 };

	openai_stream_head(&call->answer, &h, stamp - call->worker->load->epoch_ns);
	buf_fini(&call->body);
	buf_fini(&call->headers);
}

static void on_bytes(void *context, struct stream *s, struct str bytes, int64_t stamp)
{
	struct call *call = context;
	struct worker *w = call->worker;
	bool waited = call->timeline.first_output_ns == TIMELINE_NEVER;

	if (stream_client_lag(w->client) > (int64_t)(CLIENT_LAG_MS * 1e6))
		call->is_late = true;
	openai_stream_feed(&call->answer, bytes, stamp - w->load->epoch_ns);
	if (openai_stream_is_enough(&call->answer))
		stream_cancel(s);
	if (!waited || call->timeline.first_output_ns == TIMELINE_NEVER)
		return;
	count_add(&w->counts.first_outputs, 1);
	count_add(&w->counts.first_output_us, (uint64_t)((call->timeline.first_output_ns - call->timeline.submitted_ns) / 1000));
}

static void call_end_answer(struct call *call, const struct stream_end *end)
{
	int64_t t_ns = end->times.end - call->worker->load->epoch_ns;
	struct timeline *t = &call->timeline;

	if (end->failure == STREAM_CANCELLED || (end->times.head && end->failure != STREAM_ENCODING && end->failure != STREAM_NOT_HTTP))
		openai_stream_end(&call->answer, end_of(end), t_ns);
	else
		openai_stream_fail(&call->answer, error_of(end->failure), str_from(end->detail), t_ns);
	if (t->outcome == TIMELINE_ERROR && !t->message[0])
		timeline_set_message(t, end->detail[0] ? str_from(end->detail) : STR("the answer is whole and says nothing"));
	if (end->times.sent)
		t->sent_ns = end->times.sent - call->worker->load->epoch_ns;
	t->notes |=
		(end->reused ? TIMELINE_REUSED : 0) | (end->reconnects ? TIMELINE_RESENT : 0) | (call->is_late ? TIMELINE_CLIENT_LATE : 0);
	t->attempts = call->attempt + 1;
	call_name_tls(t);
}

static void on_end(void *context, struct stream *s, const struct stream_end *end)
{
	struct call *call = context;
	struct worker *w = call->worker;

	call->stream = NULL;
	w->local_failures += end->failure == STREAM_LOCAL;
	call_list_remove(&w->open, call);
	w->open_count--;
	atomic_fetch_sub_explicit(&w->counts.open, 1, memory_order_relaxed);
	call_end_answer(call, end);
	if (call->timeline.outcome == TIMELINE_ERROR && call_retry(call))
		return;
	call_judge(call);
	call_record(call);
	call_after(call);
}

static const struct stream_handler call_handler = { on_head, on_bytes, on_end };

/* ---- sending ---- */

static void call_headers(struct call *call)
{
	const struct load_options *o = call->worker->load->options;

	buf_reset(&call->headers);
	buf_add(&call->headers, o->headers);
	buf_printf(&call->headers, "Content-Type: application/json\r\nX-Request-Id: " STR_FMT "\r\n", STR_ARG(call->timeline.request_id));
}

static struct str call_name(struct call *call)
{
	struct str prefix = call->worker->load->options->request_prefix;
	char turn[16] = "", attempt[16] = "";

	if (call->turn)
		snprintf(turn, sizeof turn, "-t%u", call->turn);
	if (call->attempt)
		snprintf(attempt, sizeof attempt, "-r%u", call->attempt);
	return arena_printf(&call->worker->arena, STR_FMT "%s%llu%s%s", STR_ARG(prefix), call->item ? "eval-" : "",
		(unsigned long long)(call->item ? call->timeline.id - LOAD_EVALUATION_ID : call->number), turn, attempt);
}

/* A new attempt: what the last one left in the timeline goes, what the request is stays. */
static void call_renew(struct call *call)
{
	struct timeline old = call->timeline;
	struct timeline *t = &call->timeline;

	timeline_reset(t);
	t->id = old.id, t->turn = old.turn, t->session = old.session;
	t->model = old.model, t->group = old.group;
	t->temperature = old.temperature, t->asked_tokens = old.asked_tokens;
	t->intended_ns = old.intended_ns, t->submitted_ns = old.submitted_ns;
	t->resubmitted_ns = load_now(call->worker->load);
	t->warmup = old.warmup;
}

void call_send(struct call *call)
{
	struct worker *w = call->worker;
	const struct load_options *o = w->load->options;
	struct timeline *t = &call->timeline;
	struct openai_stream_options answer = {
		.api = o->api, .asked_model = o->model, .texts = call->item ? &call->text : NULL, .text_count = call->item ? 1 : 0
	};
	struct stream_request request = { .path = o->path };

	if (call->is_retry)
		call_renew(call);
	t->request_id = call_name(call);
	call_headers(call);
	if (call->item) {
		buf_reset(&call->text.text);
		buf_reset(&call->text.reasoning);
		buf_reset(&call->text.tool_arguments);
	}
	request.headers = buf_str(&call->headers);
	request.body = buf_str(&call->body);
	call->state = CALL_OPEN;
	call->is_late = false;
	call_list_add(&w->open, call);
	w->open_count++;
	count_add(&w->counts.open, 1);
	if (!call->is_retry) {
		count_add(&w->counts.started, 1);
		t->submitted_ns = load_now(w->load);
		t->warmup = !is_in_window(w->load, call, t->intended_ns == TIMELINE_NEVER ? t->submitted_ns : t->intended_ns);
	}
	openai_stream_begin(&call->answer, &answer, t);
	call->stream = stream_start(w->client, &request, &call_handler, call);
}
