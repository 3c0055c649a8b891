/* serve --prometheus: requests for series and samples go on to the Prometheus as they came, and its answers come back as they are. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "serve/load.h"

enum { ANSWER_MOST = 64 << 20 };

struct passing {
	struct passing *previous, *next;
	struct daemon *daemon;
	struct exchange *exchange;
	struct arena arena;
	struct http_request request;
	struct http_answer answer;
	struct fetch *fetch;
	const char *route;
	int64_t begin_ns;
	bool cors;
};

/* "h:9090/prometheus/api/v1/" → "http://h:9090/prometheus" */
static struct str base_of(struct arena *arena, const char *url)
{
	struct str base = str_trim(str_from(url));

	while (str_ends(base, STR("/")))
		base.len--;
	if (str_ends(base, STR("/api/v1")))
		base.len -= 7;
	return arena_printf(arena, "%s" STR_FMT, str_search(base, STR("://")) < 0 ? "http://" : "", STR_ARG(base));
}

/* What is about the data, and not about who keeps it or about us. */
static bool is_passed(struct str path)
{
	static const char *const routes[] = { "/api/v1/query", "/api/v1/query_range", "/api/v1/query_exemplars", "/api/v1/series",
		"/api/v1/labels", "/api/v1/metadata", "/federate" };

	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (str_is(path, routes[i]))
			return true;
	return str_is(str_from(web_route_name(path)), "/api/v1/label/:name/values");
}

static void passing_free(struct passing *p)
{
	if (p->previous)
		p->previous->next = p->next;
	else
		p->daemon->passings = p->next;
	if (p->next)
		p->next->previous = p->previous;
	arena_fini(&p->arena);
	mem_free(p);
}

static void answer(struct passing *p, int status, const char *type, struct str body)
{
	static const char cors[] = "Access-Control-Allow-Origin: *\r\n";

	self_count_request(&p->daemon->self, p->route, status, (double)(clock_monotonic_ns() - p->begin_ns) / 1e9, body.len);
	exchange_answer(p->exchange, status, type, p->cors ? cors : NULL, body);
}

static void fail(struct passing *p, int status, const char *type, const char *why)
{
	struct buf body;

	buf_init(&body, 4096);
	buf_printf(&body, "{\"status\":\"error\",\"errorType\":\"%s\",\"error\":", type);
	buf_add_json(&body, str_from(why));
	buf_add_c(&body, '}');
	answer(p, status, "application/json", buf_str(&body));
	buf_fini(&body);
	passing_free(p);
}

/* A header's value that somebody else wrote goes into a head of ours only when it cannot end it. */
static const char *type_of(struct passing *p)
{
	struct str type = p->answer.content_type;

	for (size_t i = 0; i < type.len; i++)
		if ((unsigned char)type.ptr[i] < ' ' || type.ptr[i] == 0x7f)
			type.len = 0;
	return type.len ? arena_cstr(&p->arena, type) : "application/json";
}

static void on_fetched(void *context, struct http_answer *a)
{
	struct passing *p = context;

	if (a->failure != HTTP_OK) {
		fail(p, a->failure == HTTP_TIMEOUT ? 504 : 502, "unavailable", a->detail);
	} else if (a->status == 401 || a->status == 403) {
		/* It is us whom it did not let in. */
		fail(p, 502, "unavailable", "the Prometheus wants credentials that goodput was not given");
	} else {
		answer(p, a->status, type_of(p), a->body);
		passing_free(p);
	}
}

/* The request as it came, with what the Prometheus asks of us in place of what we ask of clients. */
static void request_fill(struct passing *p, const struct message *m)
{
	const struct remote_options *o = &p->daemon->options->watch.remote;
	const char **headers = ARENA_ARRAY(&p->arena, const char *, 4);
	struct str type = message_header(m, "Content-Type");
	size_t count = 0;

	if (o->tenant)
		headers[count++] = arena_printf(&p->arena, "X-Scope-OrgID: %s", o->tenant).ptr;
	if (type.len)
		headers[count++] = arena_printf(&p->arena, "Content-Type: " STR_FMT, STR_ARG(type)).ptr;
	headers[count++] = "User-Agent: goodput/" GOODPUT_VERSION;
	p->request = (struct http_request){
		.url = arena_printf(&p->arena, STR_FMT STR_FMT "%s" STR_FMT, STR_ARG(base_of(&p->arena, o->url)), STR_ARG(m->path),
			m->query.len ? "?" : "", STR_ARG(m->query))
			       .ptr,
		.headers = headers,
		.body = str_is(m->method, "POST") ? arena_str(&p->arena, m->body) : (struct str){ 0 },
		.bearer_token = o->bearer_token,
		.ca_file = o->ca_file,
		.insecure = o->insecure,
		.timeout_ms = p->daemon->options->query_timeout_ms,
		.max_bytes = ANSWER_MOST,
	};
}

bool passing_start(struct daemon *d, struct exchange *x, const struct message *m)
{
	struct error e = { 0 };

	if (!d->mirroring || !is_passed(m->path) || !(str_is(m->method, "GET") || str_is(m->method, "POST")))
		return false;
	struct passing *p = NEW(struct passing);

	*p = (struct passing){ .daemon = d,
		.exchange = x,
		.route = web_route_name(m->path),
		.begin_ns = clock_monotonic_ns(),
		.cors = message_header(m, "Origin").len > 0,
		.next = d->passings };
	if (p->next)
		p->next->previous = p;
	d->passings = p;
	arena_init(&p->arena);
	if (!load_take(mirroring_load(d), LOAD_API, &e)) {
		fail(p, 503, "unavailable", e.message);
		return true;
	}
	request_fill(p, m);
	exchange_set_user(x, p);
	p->fetch = fetcher_start(d->fetcher, &p->arena, &p->request, &p->answer, on_fetched, p);
	if (!p->fetch)
		fail(p, 502, "unavailable", p->answer.detail);
	return true;
}

bool passing_gone(struct daemon *d, struct exchange *x)
{
	for (struct passing *p = d->passings; p; p = p->next) {
		if (p->exchange != x)
			continue;
		fetch_cancel(p->fetch);
		d->self.queries_canceled++;
		passing_free(p);
		return true;
	}
	return false;
}

void passings_cancel(struct daemon *d)
{
	while (d->passings) {
		fetch_cancel(d->passings->fetch);
		fail(d->passings, 503, "canceled", "the monitor ends");
	}
}
