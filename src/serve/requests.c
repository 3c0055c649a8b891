/* Requests: who may ask, what the loop answers itself. */
#include "serve/daemon.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "compare/capacity.h"
#include "net/bearer.h"
#include "web/annotation.h"

#include <stdio.h>

/* ---- who may ask ---- */

enum { CREDENTIALS_MOST = 1024 };

/* Basic authentication: any user, and the token as the password. */
static bool basic_matches(struct str header, struct str token)
{
	struct buf bearer, plain;
	bool matches = false;

	buf_init(&plain, CREDENTIALS_MOST);
	buf_init(&bearer, 2 * CREDENTIALS_MOST); /* whatever fits in the other, and a word */
	if (str_eq_nocase(str_head(header, 6), STR("Basic ")) && base64_read(str_trim(str_skip(header, 6)), &plain) && !plain.overflowed) {
		ptrdiff_t colon = str_find(buf_str(&plain), ':');
		/* The one comparison that takes the same time whatever was sent. */
		buf_add_cstr(&bearer, "Bearer ");
		buf_add(&bearer, str_skip(buf_str(&plain), (size_t)(colon + 1)));
		matches = colon >= 0 && bearer_matches(buf_str(&bearer), token);
	}
	buf_fini(&plain);
	buf_fini(&bearer);
	return matches;
}

static bool is_authorized(const struct daemon *d, const struct message *m)
{
	struct str header = message_header(m, "Authorization"), token = str_from(d->options->token);

	return !token.ptr || bearer_matches(header, token) || basic_matches(header, token);
}

/* A web page elsewhere that makes a browser of this machine send a request: its Origin is not the host that was asked. */
static bool is_foreign(const struct message *m)
{
	struct str origin = message_header(m, "Origin"), host = message_header(m, "Host");
	ptrdiff_t at = str_search(origin, STR("://"));

	return origin.len && (at < 0 || !str_eq_nocase(str_skip(origin, (size_t)at + 3), host));
}

/* ---- what the loop answers itself ---- */

static void answer_text(struct daemon *d, struct exchange *x, const char *handler, int status, const char *headers, const char *text)
{
	self_count_request(&d->self, handler, status, 0, strlen(text));
	exchange_answer(x, status, "text/plain; charset=utf-8", headers, str_from(text));
}

static void do_healthy(struct daemon *d, struct exchange *x, const struct message *m)
{
	answer_text(d, x, "/-/healthy", 200, NULL, "goodput is healthy.\n");
}

static void do_ready(struct daemon *d, struct exchange *x, const struct message *m)
{
	answer_text(d, x, "/-/ready", 200, NULL, "goodput is ready.\n");
}

static void do_reload(struct daemon *d, struct exchange *x, const struct message *m)
{
	if (is_foreign(m) || (!d->options->token && !d->asks_clients && !exchange_is_local(x)))
		answer_text(d, x, "/-/reload", 403, NULL, "reload from this machine, or with the token\n");
	else
		daemon_reload(d, x);
}

static void do_metrics(struct daemon *d, struct exchange *x, const struct message *m)
{
	struct buf page;

	buf_init(&page, 1 << 24);
	self_print(d, &page);
	self_count_request(&d->self, "/metrics", 200, 0, page.len);
	exchange_answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, buf_str(&page));
	buf_fini(&page);
}

/* ---- annotations ---- */

enum { CHANGE_LASTS_MS = 30 * 60 * 1000 };

struct annotating {
	struct gate_task write;
	struct daemon *daemon;
	struct annotation annotation;
};

static void on_annotate(struct gate_task *task)
{
	struct annotating *a = (struct annotating *)((char *)task - offsetof(struct annotating, write));
	struct sink *sink = tee_sink(a->daemon->tee);
	struct series *series = sink->ops->series(sink, a->annotation.labels, METRIC_GAUGE);

	sink->ops->append(sink, series, a->annotation.t_ms, a->annotation.value);
	if (capacity_is_announced(a->annotation.labels))
		finding_rules_expect_changes(a->daemon->generation->findings, a->annotation.t_ms + CHANGE_LASTS_MS);
	labels_unref(a->annotation.labels);
	mem_free(a);
}

static void annotation_tell(struct daemon *d, const struct annotation *a)
{
	struct buf data;
	struct json j = { .out = &data };

	buf_init(&data, 1 << 16);
	json_open(&j, NULL, '{');
	json_number(&j, "time", (double)a->t_ms / 1000);
	for (uint32_t i = 0; i < a->labels->count; i++)
		json_text(&j, a->labels->items[i].name.ptr, a->labels->items[i].value);
	json_close(&j, '}');
	events_send(d, "annotation", buf_str(&data));
	buf_fini(&data);
}

static void do_annotate(struct daemon *d, struct exchange *x, const struct message *m)
{
	struct annotating *a = NEW(struct annotating);
	struct error e = { 0 };
	struct arena arena;
	char text[400];

	arena_init(&arena);
	*a = (struct annotating){ .write.run = on_annotate, .daemon = d };
	if (is_foreign(m) || !str_eq_nocase(str_head(message_header(m, "Content-Type"), 16), STR("application/json"))) {
		answer_text(d, x, "/api/goodput/v1/annotations", 415, NULL, "an annotation is sent as application/json\n");
		mem_free(a);
	} else if (annotation_read(&a->annotation, &arena, m->body, clock_now_ms(), &e)) {
		annotation_tell(d, &a->annotation);
		answer_text(d, x, "/api/goodput/v1/annotations", 204, NULL, "");
		gate_write(&d->gate, &a->write, daemon_now(d));
	} else {
		snprintf(text, sizeof text, "%s\n", e.message);
		answer_text(d, x, "/api/goodput/v1/annotations", 400, NULL, text);
		mem_free(a);
	}
	arena_fini(&arena);
}

static void do_events(struct daemon *d, struct exchange *x, const struct message *m)
{
	events_open(d, x);
}

enum { GET = 1, POST = 2, PUT = 4 };

static const struct own_route {
	const char *path;
	int methods;
	const char *allow; /* NULL: other methods of the path are a call's */
	bool open;         /* for probes, which have no token */
	void (*run)(struct daemon *d, struct exchange *x, const struct message *m);
} own_routes[] = {
	{ "/-/healthy", GET, "Allow: GET\r\n", true, do_healthy },
	{ "/-/ready", GET, "Allow: GET\r\n", true, do_ready },
	{ "/-/reload", POST | PUT, "Allow: POST, PUT\r\n", false, do_reload },
	{ "/metrics", GET, "Allow: GET\r\n", false, do_metrics },
	{ "/api/v1/write", POST, "Allow: POST\r\n", false, receiving_start },
	{ "/api/goodput/v1/annotations", POST, NULL, false, do_annotate },
	{ "/api/goodput/v1/events", GET, "Allow: GET\r\n", false, do_events },
};

static int method_of(const struct message *m)
{
	return str_is(m->method, "GET") ? GET : str_is(m->method, "POST") ? POST : str_is(m->method, "PUT") ? PUT : 0;
}

static const struct own_route *own_route(struct str path)
{
	for (size_t i = 0; i < ARRAY_LEN(own_routes); i++)
		if (str_is(path, own_routes[i].path))
			return &own_routes[i];
	return NULL;
}

void request_answer(void *context, struct exchange *x, const struct message *m)
{
	struct daemon *d = context;
	const struct own_route *route = own_route(m->path);

	if (!(route && route->open) && !is_authorized(d, m))
		answer_text(d, x, "unauthorized", 401, "WWW-Authenticate: Basic realm=\"goodput\", Bearer\r\n", "Unauthorized\n");
	else if (!route && (page_answer(d, x, m) || passing_start(d, x, m)))
		return;
	else if (!route || (!route->allow && !(route->methods & method_of(m))))
		call_start(d, x, m);
	else if (route->methods & method_of(m))
		route->run(d, x, m);
	else
		answer_text(d, x, route->path, 405, route->allow, "Method Not Allowed\n");
}

void request_gone(void *context, struct exchange *x)
{
	struct daemon *d = context;

	if (!events_gone(d, x) && !receiving_gone(d, x) && !reload_gone(d, x) && !passing_gone(d, x))
		call_gone(d, x);
}

void request_refused(void *context, int status)
{
	struct daemon *d = context;

	d->self.refused++;
}
