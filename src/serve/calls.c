/* Requests that look at the data: answered by web_answer in a worker, under the gate. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "web/gzip.h"

enum { WAITING_MOST = 512, GZIP_FROM = 860 }; /* below, a packet is not filled either way */

struct call {
	struct gate_task read;
	uv_work_t work;
	struct call *previous, *next;
	struct daemon *daemon;
	struct exchange *exchange; /* NULL: the client is gone */
	struct arena arena;
	struct web_source source;
	struct web_request request;
	struct web_reply reply;
	struct buf packed;
	const char *route;
	const struct labels **dropped;
	size_t dropped_count;
	_Atomic bool cancel;
	bool gzip, is_packed, cors, started;
	int64_t begin_ns, deadline_ms, cpu_ns;
};

static void call_free(struct call *c)
{
	struct daemon *d = c->daemon;

	if (c->previous)
		c->previous->next = c->next;
	else
		d->calls = c->next;
	if (c->next)
		c->next->previous = c->previous;
	d->call_count--;
	for (size_t i = 0; i < c->dropped_count; i++)
		labels_unref(c->dropped[i]);
	mem_free(c->dropped);
	web_reply_fini(&c->reply);
	buf_fini(&c->packed);
	arena_fini(&c->arena);
	mem_free(c);
}

/* ---- what the worker sees: fixed while it reads ---- */

/* Only these requests show targets. */
static const struct labels **dropped_list(struct daemon *d, struct call *c, size_t *count)
{
	const struct discovery *found = d->generation->discovery;
	VEC(const struct labels *) all = { 0 };

	for (size_t i = 0; found && i < discovery_job_count(found); i++) {
		const struct discovered_job *job = discovery_job(found, i);

		for (size_t k = 0; k < job->dropped_count; k++)
			VEC_PUSH(&all, labels_new(job->dropped[k].before, job->dropped[k].before_count));
	}
	c->dropped = all.items;
	*count = c->dropped_count = all.count;
	return all.items;
}

/* Those that are scraped here, or by the Prometheus that is watched. */
static struct web_target *targets_list(const struct daemon *d, struct arena *arena, size_t *count)
{
	const struct fleet *f = &d->fleet;
	struct web_target *targets;

	*count = d->mirroring ? f->targets.count : d->scrapees.count;
	targets = ARENA_ARRAY(arena, struct web_target, *count + 1);
	for (size_t i = 0; i < *count; i++) {
		if (d->mirroring) {
			const struct target *t = f->targets.items[i];
			int64_t interval_ms = target_interval_ms(t);

			targets[i] = (struct web_target){ t, t->labels, labels_get(t->labels, STR("job")), interval_ms, interval_ms };
		} else {
			const struct scrapee *s = d->scrapees.items[i];

			targets[i] = (struct web_target){ s->target, s->discovered, s->pool, s->interval_ms, s->timeout_ms };
		}
	}
	return targets;
}

static void source_fill(struct daemon *d, struct call *c)
{
	size_t target_count;
	struct web_target *targets = targets_list(d, &c->arena, &target_count);
	const struct serve_options *o = d->options;
	const struct config *config = d->generation->config;
	size_t dropped_count = 0;
	const struct labels **dropped = str_is(c->request.path, "/api/v1/targets") ? dropped_list(d, c, &dropped_count) : NULL;
	static const char *const names[] = { "web.host", "web.port", "storage.path", "query.timeout", "query.lookback-delta",
		"query.max-samples" };
	struct web_flag *flags = ARENA_ARRAY(&c->arena, struct web_flag, ARRAY_LEN(names));
	const char *values[] = { server_host(d->server), arena_printf(&c->arena, "%d", server_port(d->server)).ptr,
		o->store_path ? o->store_path : "memory", arena_printf(&c->arena, "%lldms", (long long)o->query_timeout_ms).ptr,
		arena_printf(&c->arena, "%lldms", (long long)d->limits.lookback_ms).ptr,
		arena_printf(&c->arena, "%zu", d->limits.max_samples).ptr };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		flags[i] = (struct web_flag){ names[i], values[i] };
	const struct rules *rules[2];
	size_t rules_count = 0;

	if (d->generation->rules)
		rules[rules_count++] = d->generation->rules;
	if (o->finding_alerts)
		rules[rules_count++] = finding_rules_group(d->generation->findings);
	c->source = (struct web_source){ .backend = d->backend,
		.store = d->store,
		.elsewhere = d->mirroring ? d->options->watch.remote.url : NULL,
		.limits = &d->limits,
		.targets = targets,
		.target_count = target_count,
		.report = d->judgement ? d->judgement->report : NULL,
		.report_ms = d->judgement ? d->judgement->t_ms : 0,
		.flags = flags,
		.flag_count = ARRAY_LEN(names),
		.config_text = config ? config->text : STR_EMPTY,
		.external_labels = config ? config->external_labels : NULL,
		.external_label_count = config ? config->external_label_count : 0,
		.dropped = dropped,
		.dropped_count = dropped_count,
		.start_ms = d->start_ms,
		.config_ms = d->generation->t_ms,
		.config_ok = d->config_ok,
		.folder = d->folder,
		.rules = { rules_count ? rules[0] : NULL, rules_count > 1 ? rules[1] : NULL },
		.rules_count = rules_count,
		.retention_ms = o->store.retention_ms };
}

static void on_work(uv_work_t *work)
{
	struct call *c = work->data;
	int64_t start_ns = clock_thread_cpu_ns();

	store_lock_read(c->daemon->store);
	web_answer(&c->request, &c->reply);
	store_unlock_read(c->daemon->store);
	if (c->gzip && c->reply.body.len >= GZIP_FROM && !c->cancel)
		c->is_packed = gzip_whole(buf_str(&c->reply.body), &c->packed);
	c->cpu_ns = clock_thread_cpu_ns() - start_ns;
}

static void call_answer(struct call *c)
{
	struct buf headers;

	buf_init(&headers, 4096);
	if (c->reply.headers)
		buf_add_cstr(&headers, c->reply.headers);
	if (c->is_packed)
		buf_add_cstr(&headers, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
	if (c->cors)
		buf_add_cstr(&headers, "Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Origin\r\n"
				       "Access-Control-Allow-Methods: GET, POST, OPTIONS\r\n"
				       "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: Date\r\n");
	self_count_request(&c->daemon->self, c->route, c->reply.status, (double)(clock_monotonic_ns() - c->begin_ns) / 1e9,
		c->is_packed ? c->packed.len : c->reply.body.len);
	exchange_answer(c->exchange, c->reply.status, c->reply.content_type, buf_cstr(&headers),
		buf_str(c->is_packed ? &c->packed : &c->reply.body));
	buf_fini(&headers);
}

static void after_work(uv_work_t *work, int status)
{
	struct call *c = work->data;
	struct daemon *d = c->daemon;

	d->self.call_cpu_s += (double)c->cpu_ns / 1e9;
	if (c->exchange)
		call_answer(c);
	call_free(c);
	gate_read_done(&d->gate, daemon_now(d));
}

static void on_read(struct gate_task *task)
{
	struct call *c = (struct call *)((char *)task - offsetof(struct call, read));

	c->started = true;
	source_fill(c->daemon, c);
	c->request.source = &c->source;
	c->request.now_ms = clock_now_ms();
	c->work.data = c;
	uv_queue_work(&c->daemon->loop, &c->work, on_work, after_work);
}

/* The message ends when the client goes away; the worker may go on for a moment. */
static void request_copy(struct call *c, const struct message *m)
{
	c->request = (struct web_request){ .method = arena_str(&c->arena, m->method),
		.path = arena_str(&c->arena, m->path),
		.query = arena_str(&c->arena, m->query),
		.body = arena_str(&c->arena, m->body),
		.content_type = arena_str(&c->arena, message_header(m, "Content-Type")),
		.cancel = &c->cancel,
		.arena = &c->arena };
}

void call_start(struct daemon *d, struct exchange *x, const struct message *m)
{
	if (d->gate.reads.count >= WAITING_MOST) {
		d->self.queries_turned_away++;
		exchange_answer(x, 503, "application/json", "Retry-After: 1\r\n",
			STR("{\"status\":\"error\",\"errorType\":\"unavailable\",\"error\":\"too many requests wait for the data\"}"));
		return;
	}
	struct call *c = NEW(struct call);

	c->daemon = d;
	c->exchange = x;
	c->begin_ns = clock_monotonic_ns();
	c->route = web_route_name(m->path);
	c->gzip = gzip_is_accepted(message_header(m, "Accept-Encoding"));
	c->cors = str_starts(m->path, STR("/api/v1/")) && message_header(m, "Origin").len;
	c->read.run = on_read;
	arena_init(&c->arena);
	web_reply_init(&c->reply);
	buf_init(&c->packed, WEB_BODY_MAX);
	request_copy(c, m);
	c->next = d->calls;
	if (c->next)
		c->next->previous = c;
	d->calls = c;
	d->call_count++;
	exchange_set_user(x, c);
	gate_read(&d->gate, &c->read, daemon_now(d));
}

void call_gone(struct daemon *d, struct exchange *x)
{
	struct call *c = exchange_user(x);

	c->cancel = true;
	c->exchange = NULL;
	d->self.queries_canceled++;
	if (gate_withdraw(&d->gate, &c->read))
		call_free(c);
}

void calls_cancel(struct daemon *d)
{
	for (struct call *c = d->calls; c; c = c->next)
		c->cancel = true;
}
