#include "rules/notify.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "rules/payload.h"

#include <stdio.h>

enum { BODY_MAX = 64 << 20, ANSWER_MAX = 1 << 20, HEADERS_MAX = 32 };

struct channel { /* to one receiver */
	struct notifier *notifier;
	struct receiver receiver;
	struct arena arena; /* its texts */
	struct outbox outbox;
	uv_timer_t timer;
	bool removed; /* ends when its timer is closed */
	/* the send on its way */
	struct fetch *fetch;
	struct arena scratch;
	struct buf body;
	struct http_request request;
	struct http_answer answer;
	int64_t last_told_ms;
	char last_error[300];
};

struct notifier {
	uv_loop_t *loop;
	struct fetcher *fetcher;
	struct arena arena;   /* of the options */
	struct arena lasting; /* as long as it */
	struct rules_options options;
	struct rules_receiver receiver;
	VEC(struct channel *) channels;
	const char *path;             /* of what is kept; or NULL */
	struct outbox_document *kept; /* as it was read: for receivers that are only found later; or NULL */
	uint64_t kept_changes;
	bool keep_fails;
};

/* ---- texts of a receiver ---- */

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_cstr(arena, str_from(text)) : NULL;
}

static void receiver_copy(struct channel *c, const struct receiver *from)
{
	struct arena *arena = &c->arena;
	struct http_request *r = &c->receiver.request;
	size_t count = 0;

	c->receiver = *from;
	while (from->request.headers && from->request.headers[count] && count < HEADERS_MAX)
		count++;
	const char **headers = ARENA_ARRAY(arena, const char *, count + 2);

	for (size_t i = 0; i < count; i++)
		headers[i] = copy_text(arena, from->request.headers[i]);
	headers[count] = "Content-Type: application/json";
	r->headers = headers;
	r->url = copy_text(arena, from->request.url);
	r->bearer_token = copy_text(arena, from->request.bearer_token);
	r->ca_file = copy_text(arena, from->request.ca_file);
	r->cert_file = copy_text(arena, from->request.cert_file);
	r->key_file = copy_text(arena, from->request.key_file);
	r->server_name = copy_text(arena, from->request.server_name);
	r->proxy_url = copy_text(arena, from->request.proxy_url);
	r->max_bytes = ANSWER_MAX;
	r->post = NULL;
	c->receiver.name = from->name.len ? arena_str(arena, from->name) : STR("goodput");
}

/* ---- sending ---- */

static void channel_plan(struct channel *c);

static enum outbox_result result_of(const struct http_answer *a)
{
	if (a->failure != HTTP_OK || a->status == 429 || a->status >= 500)
		return a->failure == HTTP_BAD_URL ? OUTBOX_REFUSED : OUTBOX_RETRY;
	return a->status >= 200 && a->status < 300 ? OUTBOX_TOLD : OUTBOX_REFUSED;
}

static void channel_note(struct channel *c, enum outbox_result result, int64_t now_ms)
{
	const struct http_answer *a = &c->answer;
	bool again = c->last_error[0] != '\0';

	if (result == OUTBOX_TOLD) {
		if (again)
			log_note("%s takes alerts again", c->receiver.request.url);
		c->last_error[0] = '\0';
		c->last_told_ms = now_ms;
		return;
	}
	if (a->failure != HTTP_OK)
		snprintf(c->last_error, sizeof c->last_error, "%s", a->detail);
	else
		snprintf(c->last_error, sizeof c->last_error, "HTTP status %d: " STR_FMT, a->status,
			STR_ARG(str_head(str_trim(a->body), 200)));
	/* Once, not with every attempt; what is refused is lost, so each time. */
	if (!again || result == OUTBOX_REFUSED)
		log_warning("alerts to %s: %s; %s", c->receiver.request.url, c->last_error,
			result == OUTBOX_REFUSED ? "they are dropped" : "trying again");
}

static void channel_sent(void *context, struct http_answer *answer)
{
	struct channel *c = context;
	enum outbox_result result = result_of(answer);
	int64_t now_ms = clock_now_ms();

	c->fetch = NULL;
	channel_note(c, result, now_ms);
	outbox_end(&c->outbox, result, now_ms);
	arena_reset(&c->scratch);
	channel_plan(c);
}

static void channel_send(struct channel *c)
{
	const struct notice *list[64];
	size_t count = outbox_begin(&c->outbox, list, clock_now_ms());

	if (!count)
		return;
	buf_reset(&c->body);
	if (c->receiver.kind == RECEIVER_ALERTMANAGER)
		payload_alertmanager(&c->body, list, count, c->notifier->options.external_url);
	else
		payload_webhook(&c->body, list, count, c->notifier->options.external_url, c->receiver.name);
	c->request = c->receiver.request;
	c->request.body = buf_str(&c->body);
	c->answer = (struct http_answer){ 0 };
	c->fetch = fetcher_start(c->notifier->fetcher, &c->scratch, &c->request, &c->answer, channel_sent, c);
	if (!c->fetch)
		channel_sent(c, &c->answer);
}

static void on_timer(uv_timer_t *timer)
{
	struct channel *c = timer->data;

	channel_send(c);
	channel_plan(c);
}

/* At once when something is due; in the loop's next turn, never from within the caller. */
static void channel_plan(struct channel *c)
{
	int64_t due_ms = outbox_due(&c->outbox), now_ms = clock_now_ms();

	if (c->removed || due_ms == INT64_MAX)
		uv_timer_stop(&c->timer);
	else
		uv_timer_start(&c->timer, on_timer, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

/* ---- receivers ---- */

static struct channel *channel_new(struct notifier *n, const struct receiver *receiver)
{
	struct channel *c = NEW(struct channel);
	struct outbox_options options = outbox_defaults;

	options.only_changes = receiver->kind == RECEIVER_WEBHOOK;
	options.repeat_ms = receiver->repeat_ms;
	options.without_resolved = receiver->without_resolved;
	c->notifier = n;
	arena_init(&c->arena);
	arena_init(&c->scratch);
	buf_init(&c->body, BODY_MAX);
	outbox_init(&c->outbox, &options);
	receiver_copy(c, receiver);
	uv_timer_init(n->loop, &c->timer);
	c->timer.data = c;
	return c;
}

static void on_closed(uv_handle_t *handle)
{
	struct channel *c = handle->data;

	outbox_fini(&c->outbox);
	buf_fini(&c->body);
	arena_fini(&c->scratch);
	arena_fini(&c->arena);
	mem_free(c);
}

static void channel_close(struct channel *c)
{
	c->removed = true;
	if (c->fetch)
		fetch_cancel(c->fetch);
	c->fetch = NULL;
	uv_close((uv_handle_t *)&c->timer, on_closed);
}

static struct channel *channel_find(const struct notifier *n, const struct receiver *receiver)
{
	VEC_EACH (&n->channels, c)
		if ((*c)->receiver.kind == receiver->kind && str_is(str_from((*c)->receiver.request.url), receiver->request.url))
			return *c;
	return NULL;
}

/* What waited goes over; what was on its way is sent again. */
static void channel_take_over(struct channel *c, struct channel *old)
{
	struct outbox empty;

	if (old->fetch) {
		fetch_cancel(old->fetch);
		old->fetch = NULL;
		outbox_end(&old->outbox, OUTBOX_RETRY, clock_now_ms());
		old->outbox.failures = 0;
		old->outbox.not_before_ms = 0;
	}
	empty = c->outbox;
	empty.options = c->outbox.options;
	c->outbox = old->outbox;
	c->outbox.options = empty.options;
	old->outbox = empty;
	c->last_told_ms = old->last_told_ms;
	memcpy(c->last_error, old->last_error, sizeof c->last_error);
}

/* ---- over a restart ---- */

/* A receiver's URL may hold a secret, and the file is no place for it. */
static void name_of(const struct channel *c, char *name, size_t size)
{
	const char *url = c->receiver.request.url;

	snprintf(name, size, "%s-%016llx", c->receiver.kind == RECEIVER_WEBHOOK ? "webhook" : "alertmanager",
		(unsigned long long)hash_bytes(url, strlen(url)));
}

static void channel_restore(struct channel *c)
{
	char name[64];

	name_of(c, name, sizeof name);
	if (c->notifier->kept)
		outbox_document_take(c->notifier->kept, name, &c->outbox, clock_now_ms());
}

void notifier_keep_in(struct notifier *n, const char *path)
{
	n->path = arena_cstr(&n->lasting, str_from(path));
	n->kept = file_exists(path) ? outbox_document_load(path) : NULL;
}

static void print_all(const struct notifier *n, struct buf *out)
{
	struct json j = { .out = out };
	char name[64];

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.outbox/1"));
	json_open(&j, "receivers", '{');
	VEC_EACH (&n->channels, c) {
		name_of(*c, name, sizeof name);
		outbox_print(&(*c)->outbox, &j, name);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static void write_all(struct notifier *n)
{
	struct error e = { 0 };
	struct buf text;

	buf_init(&text, SIZE_MAX / 2);
	print_all(n, &text);
	bool ok = file_write(n->path, buf_str(&text), &e);

	if (!ok && !n->keep_fails)
		log_warning("%s; alerts that wait would not survive a restart", e.message);
	n->keep_fails = !ok;
	buf_fini(&text);
}

void notifier_keep(struct notifier *n)
{
	uint64_t changes = 0;
	int64_t now_ms = clock_now_ms();

	VEC_EACH (&n->channels, c) {
		outbox_settle(&(*c)->outbox, now_ms);
		channel_plan(*c);
		changes += (*c)->outbox.changes;
	}
	if (!n->path || changes == n->kept_changes)
		return;
	n->kept_changes = changes;
	write_all(n);
}

void notifier_set_receivers(struct notifier *n, const struct receiver *receivers, size_t count)
{
	VEC(struct channel *) next = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct channel *c = channel_new(n, &receivers[i]), *old = channel_find(n, &receivers[i]);

		if (old)
			channel_take_over(c, old);
		else
			channel_restore(c);
		VEC_PUSH(&next, c);
	}
	VEC_EACH (&n->channels, c)
		channel_close(*c);
	VEC_FREE(&n->channels);
	VEC_EACH (&next, c) {
		VEC_PUSH(&n->channels, *c);
		channel_plan(*c);
	}
	VEC_FREE(&next);
}

/* ---- the notifier ---- */

/* With the external ones, over which the alert's win, and relabelled. NULL: nobody is told of it. */
static const struct labels *labels_told(const struct notifier *n, const struct labels *l)
{
	const struct labels *told = NULL;
	struct arena scratch;
	struct label_set set;

	arena_init(&scratch);
	label_set_init(&set, &scratch);
	label_set_start(&set, l->items, l->count);
	for (size_t i = 0; i < n->options.external_count; i++)
		if (!label_set_get(&set, n->options.external[i].name).len)
			label_set_set(&set, n->options.external[i].name, n->options.external[i].value);
	label_set_settle(&set);
	if (!n->options.relabel || relabel_apply(n->options.relabel, &set)) {
		label_set_settle(&set);
		told = labels_new(set.items.items, set.items.count);
	}
	label_set_fini(&set);
	arena_fini(&scratch);
	return told;
}

static void on_alert(void *context, const struct alert *alert, struct str query)
{
	struct notifier *n = context;
	int64_t now_ms = clock_now_ms();

	if (!n->channels.count)
		return;
	const struct labels *labels = labels_told(n, alert->labels);

	if (!labels)
		return;
	const struct notice notice = { .labels = labels,
		.annotations = alert->annotations,
		.resolved = alert->resolved_ms != 0,
		.starts_ms = alert->fired_ms,
		.ends_ms = alert->resolved_ms ? alert->resolved_ms : alert->valid_until_ms,
		.query = query };

	VEC_EACH (&n->channels, c) {
		outbox_put(&(*c)->outbox, &notice, now_ms);
		channel_plan(*c);
	}
	labels_unref(notice.labels);
}

void notifier_set_options(struct notifier *n, const struct rules_options *options)
{
	struct label *external;

	arena_reset(&n->arena);
	n->options = *options;
	n->options.external_url = arena_str(&n->arena, options->external_url);
	external = ARENA_ARRAY(&n->arena, struct label, options->external_count);
	for (size_t i = 0; i < options->external_count; i++)
		external[i] =
			(struct label){ arena_str(&n->arena, options->external[i].name), arena_str(&n->arena, options->external[i].value) };
	n->options.external = external;
}

struct notifier *notifier_new(uv_loop_t *loop, struct fetcher *fetcher, const struct rules_options *options)
{
	struct notifier *n = NEW(struct notifier);

	n->loop = loop;
	n->fetcher = fetcher;
	n->receiver = (struct rules_receiver){ on_alert, n };
	arena_init(&n->arena);
	arena_init(&n->lasting);
	notifier_set_options(n, options);
	return n;
}

void notifier_close(struct notifier *n)
{
	if (!n)
		return;
	notifier_keep(n);
	VEC_EACH (&n->channels, c)
		channel_close(*c);
	VEC_FREE(&n->channels);
	outbox_document_free(n->kept);
	arena_fini(&n->arena);
	arena_fini(&n->lasting);
	mem_free(n);
}

const struct rules_receiver *notifier_receiver(struct notifier *n)
{
	return &n->receiver;
}

size_t notifier_receivers(const struct notifier *n)
{
	return n->channels.count;
}

struct receiver_stats notifier_stats(const struct notifier *n, size_t which)
{
	const struct channel *c = n->channels.items[which];
	const struct outbox *o = &c->outbox;

	return (struct receiver_stats){ .url = c->receiver.request.url,
		.kind = c->receiver.kind,
		.told = o->told,
		.refused = o->refused,
		.dropped = o->dropped,
		.retried = o->retried,
		.waiting = o->waiting,
		.last_told_ms = c->last_told_ms,
		.last_error = c->last_error };
}
