/* Which request does what. */
#include "sim/internal.h"

#include "base/clock.h"
#include "net/bearer.h"

#include <inttypes.h>

static void answer_json(struct replica *r, struct exchange *x, const struct message *m, const char *handler, struct str body)
{
	if (handler) /* before the answer, with which the message ends */
		web_count(&r->web, str_is(m->method, "GET") ? "GET" : "POST", handler, 200, 0.0005, m->body.len, body.len);
	exchange_answer(x, 200, "application/json", NULL, body);
}

void route_refuse(struct replica *r, struct exchange *x, const struct openai_error *e)
{
	struct buf *out = &r->sim->scratch;

	buf_reset(out);
	openai_error_write(e, flat_errors(r), out);
	exchange_answer(x, e->status, "application/json", NULL, buf_str(out));
}

/* ---- completions ---- */

static void make_id(struct answer *a, const struct message *m)
{
	struct str wanted = message_header(m, "X-Request-Id");
	struct replica *r = a->replica;
	uint64_t high = rng_next(&r->rng), low = rng_next(&r->rng);

	if (!wanted.len)
		wanted = a->request.request_id;
	a->reply = (struct reply){ .chat = a->request.chat, .model = a->request.model, .created = clock_now_ms() / 1000 };
	if (wanted.len)
		a->reply.id = arena_printf(&a->arena, "%s-" STR_FMT, a->request.chat ? "chatcmpl" : "cmpl", STR_ARG(str_head(wanted, 200)));
	else
		a->reply.id = arena_printf(&a->arena, "%s-%016" PRIx64 "%016" PRIx64, a->request.chat ? "chatcmpl" : "cmpl", high, low);
}

static bool is_json(const struct message *m)
{
	struct str type = message_header(m, "Content-Type");

	return str_eq_nocase(str_head(type, 16), STR("application/json"));
}

static bool fault_500(struct replica *r, struct openai_error *e)
{
	if (!(r->effect.http_500 > 0) || rng_unit(&r->rng) >= r->effect.http_500)
		return false;
	openai_refuse(e, 500, NULL, "EngineCore encountered an issue. See stack trace (above) for the root cause.");
	return true;
}

static void complete(struct replica *r, struct exchange *x, const struct message *m, bool chat)
{
	const char *handler = chat ? "/v1/chat/completions" : "/v1/completions";
	struct openai_error e = { 0 };
	struct answer *a = answer_new(r);
	bool bad;

	if (!is_json(m))
		bad = !openai_invalid(&e, "value_error", NULL, "Unsupported Media Type: Only application/json is allowed");
	else
		bad = !openai_parse(&a->arena, chat, m->body, &r->sim->setup->served, &a->request, &e) || fault_500(r, &e);
	if (!bad && a->request.do_remote_prefill && !r->sim->setup->transfer.on)
		bad = !openai_refuse(&e, 400, "kv_transfer_params", "this server was started without --kv-transfer-config");
	if (bad) {
		web_count(&r->web, "POST", handler, e.status, sim_now(r->sim) - a->began, m->body.len, 0);
		route_refuse(r, x, &e);
		a->next = r->over;
		r->over = a;
		return;
	}
	a->request_bytes = m->body.len;
	make_id(a, m);
	answer_start(a, x);
}

static void do_completions(struct replica *r, struct exchange *x, const struct message *m)
{
	complete(r, x, m, false);
}
static void do_chat(struct replica *r, struct exchange *x, const struct message *m)
{
	complete(r, x, m, true);
}

/* ---- the small ones ---- */

static void do_models(struct replica *r, struct exchange *x, const struct message *m)
{
	const struct openai_model *model = &r->sim->setup->served;
	struct buf *out = &r->sim->scratch;

	buf_reset(out);
	buf_add_cstr(out, "{\"object\":\"list\",\"data\":[");
	for (size_t i = 0; i < model->name_count; i++) {
		buf_add_cstr(out, i ? ",{\"id\":" : "{\"id\":");
		buf_add_json(out, model->names[i]);
		buf_printf(out, ",\"object\":\"model\",\"created\":%.0f,\"owned_by\":\"vllm\",\"root\":", r->start_time);
		buf_add_json(out, model->names[0]);
		buf_printf(out, ",\"parent\":null,\"max_model_len\":%u,\"permission\":[]}", model->max_model_len);
	}
	buf_add_cstr(out, "]}");
	answer_json(r, x, m, "/v1/models", buf_str(out));
}

static void do_version(struct replica *r, struct exchange *x, const struct message *m)
{
	struct buf *out = &r->sim->scratch;

	buf_reset(out);
	buf_printf(out, "{\"version\":\"%s\"}", mimic_version(r->release));
	answer_json(r, x, m, NULL, buf_str(out));
}

static void do_health(struct replica *r, struct exchange *x, const struct message *m)
{
	exchange_answer(x, 200, NULL, NULL, STR_EMPTY);
}

static void do_tokenize(struct replica *r, struct exchange *x, const struct message *m)
{
	struct openai_error e = { 0 };
	struct buf *out = &r->sim->scratch;
	struct arena arena;
	uint32_t tokens = 0;

	arena_init(&arena);
	if (openai_parse_tokenize(&arena, m->body, &r->sim->setup->served, &tokens, &e)) {
		buf_reset(out);
		buf_printf(out, "{\"count\":%u,\"max_model_len\":%u,\"tokens\":[],\"token_strs\":null}", tokens,
			r->sim->setup->served.max_model_len);
		answer_json(r, x, m, "/tokenize", buf_str(out));
	} else {
		web_count(&r->web, "POST", "/tokenize", e.status, 0.0005, m->body.len, 0);
		route_refuse(r, x, &e);
	}
	arena_fini(&arena);
}

static void do_reset(struct replica *r, struct exchange *x, const struct message *m)
{
	for (uint32_t i = 0; i < r->engine_count; i++)
		engine_reset_prefix_cache(r->engines[i].engine);
	answer_json(r, x, m, "/reset_prefix_cache", STR_EMPTY);
}

/* ---- the table ---- */

static const struct route {
	const char *method, *path;
	void (*run)(struct replica *r, struct exchange *x, const struct message *m);
} routes[] = {
	{ "POST", "/v1/completions", do_completions },
	{ "POST", "/v1/chat/completions", do_chat },
	{ "GET", "/v1/models", do_models },
	{ "GET", "/version", do_version },
	{ "GET", "/health", do_health },
	{ "GET", "/ping", do_health },
	{ "POST", "/ping", do_health },
	{ "GET", "/metrics", metrics_answer },
	{ "POST", "/tokenize", do_tokenize },
	{ "POST", "/reset_prefix_cache", do_reset },
	{ "POST", "/goodput/fault", control_fault },
	{ "GET", "/goodput/fault", control_fault },
	{ "DELETE", "/goodput/fault", control_fault },
};

static const struct route *find_route(const struct message *m, bool *other_method)
{
	*other_method = false;
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (!str_is(m->path, routes[i].path))
			continue;
		if (str_is(m->method, routes[i].method) || (str_is(m->method, "HEAD") && str_is(str_from(routes[i].method), "GET")))
			return &routes[i];
		*other_method = true;
	}
	return NULL;
}

static bool unauthorized(const struct replica *r, const struct message *m)
{
	struct str key = r->sim->setup->api_key;

	return key.ptr && str_starts(m->path, STR("/v1")) && !bearer_matches(message_header(m, "Authorization"), key);
}

static void answer_detail(struct replica *r, struct exchange *x, const struct message *m, int status, const char *handler, struct str body)
{
	web_count(&r->web, str_is(m->method, "GET") ? "GET" : "POST", handler, status, 0.0001, m->body.len, body.len);
	exchange_answer(x, status, "application/json", NULL, body);
}

void route_request(void *context, struct exchange *x, const struct message *m)
{
	struct replica *r = context;
	bool other_method;
	const struct route *route = find_route(m, &other_method);

	sim_advance(r->sim);
	if (unauthorized(r, m))
		answer_detail(r, x, m, 401, route ? route->path : "none", STR("{\"error\":\"Unauthorized\"}"));
	else if (route)
		route->run(r, x, m);
	else if (other_method)
		answer_detail(r, x, m, 405, "none", STR("{\"detail\":\"Method Not Allowed\"}"));
	else
		answer_detail(r, x, m, 404, "none", STR("{\"detail\":\"Not Found\"}"));
	sim_advance(r->sim);
}
