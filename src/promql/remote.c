/* The remote backend: opening, whole queries, label values. */
#include "promql/remote.h"

#include "promql/remote_internal.h"
#include "promql/syntax.h"

enum { TIMEOUT_MS = 30000 };

/* "h:9090/prometheus/api/v1/" → "http://h:9090/prometheus"; also what people copy from a browser. */
static struct str base_url(struct arena *arena, struct str url)
{
	static const char *const tails[] = { "/api/v1/query", "/api/v1", "/graph", "/query" };
	struct str base = str_trim(url);
	ptrdiff_t question = str_find(base, '?');
	if (question >= 0)
		base = str_head(base, (size_t)question);
	while (str_ends(base, STR("/")))
		base.len--;
	for (size_t i = 0; i < ARRAY_LEN(tails); i++)
		if (str_ends(base, str_from(tails[i])))
			base.len -= strlen(tails[i]);
	return arena_printf(arena, "%s" STR_FMT, str_search(base, STR("://")) < 0 ? "http://" : "", STR_ARG(base));
}

static struct str without_password(struct arena *arena, struct str base)
{
	size_t start = (size_t)str_search(base, STR("://")) + 3;
	struct str rest = str_skip(base, start);
	ptrdiff_t slash = str_find(rest, '/'), user = str_find(slash < 0 ? rest : str_head(rest, (size_t)slash), '@');
	if (user < 0)
		return base;
	return arena_printf(arena, STR_FMT STR_FMT, STR_ARG(str_head(base, start)), STR_ARG(str_skip(rest, (size_t)user + 1)));
}

/* Every select adds a metric name, so a match may be one that Prometheus refuses alone ({pod!="x"}): it is parsed behind a name. */
static bool match_parse(struct remote *r, const char *match, struct error *e)
{
	struct str text = str_trim(str_from(match));
	bool bare = str_starts(text, STR("{"));
	struct str whole = arena_printf(&r->arena, "%s" STR_FMT, bare ? "x" : "", STR_ARG(text));
	struct error why;
	error_clear(&why);
	struct promql_node *n = promql_parse(&r->arena, whole, &promql_defaults, &why);
	if (!n) {
		size_t shift = 1 + bare, offset = (size_t)why.column > shift ? (size_t)why.column - shift : 0;
		return error_at(e, STR("match"), text, offset, "%s", why.message);
	}
	if (n->kind != NODE_SELECTOR || n->selector.shift.has_offset || n->selector.shift.at != AT_NONE) {
		error_at(e, STR("match"), text, 0, "only matchers are possible here");
		error_hint(e, "for example {job=\"vllm\",namespace=~\"prod-.*\"}");
		return false;
	}
	const struct selector_matcher *list = n->selector.matchers + bare;
	r->match_count = n->selector.matcher_count - bare;
	r->match = ARENA_ARRAY(&r->arena, struct matcher, r->match_count + 1);
	for (size_t i = 0; i < r->match_count; i++)
		r->match[i] = (struct matcher){ list[i].name, list[i].value, list[i].op, NULL };
	return true;
}

static const char *kept(struct remote *r, const char *text)
{
	return text ? arena_cstr(&r->arena, str_from(text)) : NULL;
}

static void options_take(struct remote *r, const struct remote_options *o)
{
	size_t headers = 0;
	r->options = *o;
	r->options.tenant = kept(r, o->tenant);
	r->options.bearer_token = kept(r, o->bearer_token);
	r->options.ca_file = kept(r, o->ca_file);
	r->options.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
	r->base = base_url(&r->arena, str_from(o->url));
	r->shown = without_password(&r->arena, r->base);
	r->headers[headers++] = "Accept: application/json";
	r->headers[headers++] = "User-Agent: goodput/" GOODPUT_VERSION;
	if (r->options.tenant)
		r->headers[headers++] = arena_printf(&r->arena, "X-Scope-OrgID: %s", r->options.tenant).ptr;
	for (size_t i = 0; o->replica_labels && o->replica_labels[i] && i + 1 < ARRAY_LEN(r->replica_labels); i++)
		r->replica_labels[i] = kept(r, o->replica_labels[i]);
	r->replica_labels_known = o->replica_labels != NULL;
}

static bool options_check(const struct remote_options *o, struct error *e)
{
	for (const char *c = o->tenant; c && *c; c++)
		if ((unsigned char)*c < ' ')
			return error_set(e, EXIT_USAGE, "the tenant holds a line break or another control character");
	return true;
}

static void remote_free(struct backend *b)
{
	struct remote *r = (struct remote *)b;
	http_client_free(r->client);
	label_pool_fini(&r->pool);
	map_fini(&r->warnings);
	map_fini(&r->twins);
	arena_fini(&r->arena);
	mem_free(r);
}

/* Texts of an envelope's list, for the value. */
static void texts_take(struct arena *arena, json_t *root, const char *field, struct str **texts, size_t *count)
{
	json_t *list = json_object_get(root, field);
	if (json_array_size(list) > 0)
		*texts = remote_strings_read(arena, list, count);
}

static bool value_fetch(struct remote *r, struct arena *arena, const char *path, struct buf *form, struct str query,
	struct promql_value *value, struct error *e)
{
	form_add(form, "nocache", STR("1")); /* VictoriaMetrics: also show the newest half minute */
	struct call call = { .path = path, .form = buf_str(form), .query = query, .max_bytes = ANSWER_MAX };
	if (form->overflowed)
		return error_set(e, EXIT_BAD_INPUT, "the query is longer than a megabyte");
	if (remote_call(r, &call, e) != CALL_OK)
		return false;
	bool ok = remote_value_read(&r->pool, arena, call.data, value, e);
	if (ok) {
		texts_take(arena, call.root, "warnings", &value->warnings, &value->warning_count);
		texts_take(arena, call.root, "infos", &value->infos, &value->info_count);
	}
	json_decref(call.root);
	return ok;
}

static bool remote_query(
	struct backend *b, struct arena *arena, struct str query, int64_t t_ms, struct promql_value *value, struct error *e)
{
	struct buf form;
	buf_init(&form, 3 << 20);
	form_add(&form, "query", query);
	form_add_time(&form, "time", t_ms);
	bool ok = value_fetch((struct remote *)b, arena, "query", &form, query, value, e);
	buf_fini(&form);
	return ok;
}

static bool remote_query_range(struct backend *b, struct arena *arena, struct str query, int64_t start_ms, int64_t end_ms, int64_t step_ms,
	struct promql_value *value, struct error *e)
{
	struct buf form;
	buf_init(&form, 3 << 20);
	form_add(&form, "query", query);
	form_add_time(&form, "start", start_ms);
	form_add_time(&form, "end", end_ms);
	form_add_time(&form, "step", step_ms);
	bool ok = value_fetch((struct remote *)b, arena, "query_range", &form, query, value, e);
	buf_fini(&form);
	return ok;
}

static bool remote_label_values(struct backend *b, struct arena *arena, struct str label, const struct matcher *matchers,
	size_t matcher_count, int64_t from_ms, int64_t to_ms, struct str **values, size_t *count, struct error *e)
{
	struct remote *r = (struct remote *)b;
	struct buf form, selector, path;
	buf_init(&form, 3 << 20);
	buf_init(&selector, 1 << 20);
	buf_init(&path, 4096);
	form_add_time(&form, "start", from_ms);
	form_add_time(&form, "end", to_ms);
	if (matcher_count + r->match_count > 0) {
		remote_print_matchers(matchers, matcher_count, r->match, r->match_count, &selector);
		form_add(&form, "match[]", buf_str(&selector));
	}
	buf_add_cstr(&path, "label/");
	http_encode(label, &path);
	buf_add_cstr(&path, "/values");
	struct call call = { .path = buf_cstr(&path), .form = buf_str(&form), .max_bytes = ANSWER_MAX, .only_get = true };
	bool ok = remote_call(r, &call, e) == CALL_OK;
	if (ok) {
		*values = remote_strings_read(arena, call.data, count);
		json_decref(call.root);
	}
	buf_fini(&form);
	buf_fini(&selector);
	buf_fini(&path);
	return ok;
}

static const struct backend_ops remote_ops = {
	.query = remote_query,
	.query_range = remote_query_range,
	.select = remote_select,
	.label_values = remote_label_values,
	.free = remote_free,
};

/* VictoriaMetrics answers without the fields that every build of Prometheus and its kin has. */
static void server_name(struct remote *r)
{
	struct call call = { .path = "status/buildinfo", .max_bytes = 1 << 20, .only_get = true };
	struct error ignored;
	if (remote_call(r, &call, &ignored) != CALL_OK)
		return; /* optional: a frontend may not have it */
	const char *version = json_string_value(json_object_get(call.data, "version"));
	const char *application = json_string_value(json_object_get(call.data, "application"));
	if (!json_object_get(call.data, "revision"))
		r->stats.server = STR("VictoriaMetrics");
	else if (version)
		r->stats.server = arena_printf(&r->arena, "%s %s",
			application                      ? application
			: strncmp(version, "0.", 2) == 0 ? "Thanos"
							 : "Prometheus",
			version);
	json_decref(call.root);
}

struct backend *backend_remote_new(const struct remote_options *options, struct error *e)
{
	if (!options_check(options, e))
		return NULL;
	struct remote *r = NEW(struct remote);
	r->backend.ops = &remote_ops;
	arena_init(&r->arena);
	label_pool_init(&r->pool);
	map_init(&r->warnings);
	map_init(&r->twins);
	r->client = http_client_new();
	options_take(r, options);
	struct call call = { .path = "query", .form = STR("query=1"), .max_bytes = 1 << 20 };
	bool ok = (!options->match || match_parse(r, options->match, e)) && remote_call(r, &call, e) == CALL_OK;
	if (!ok) {
		remote_free(&r->backend);
		return NULL;
	}
	json_decref(call.root);
	server_name(r);
	return &r->backend;
}

const struct remote_stats *backend_remote_stats(const struct backend *b)
{
	return &((const struct remote *)b)->stats;
}

bool backend_remote_probe(const struct remote_options *options)
{
	struct remote r = { .options = { 0 } };
	struct http_answer answer;
	if (!options_check(options, NULL))
		return false;
	arena_init(&r.arena);
	options_take(&r, options);
	struct http_client *client = http_client_new();
	struct http_request request = {
		.url = arena_printf(&r.arena, STR_FMT "/api/v1/query?query=1", STR_ARG(r.base)).ptr,
		.headers = r.headers,
		.bearer_token = r.options.bearer_token,
		.ca_file = r.options.ca_file,
		.insecure = r.options.insecure,
		.follow = true,
		.timeout_ms = r.options.timeout_ms,
		.max_bytes = 1 << 20,
	};
	http_fetch_all(client, &r.arena, &request, &answer, 1, 1, r.options.stop);
	bool is = remote_answers(&answer);
	http_client_free(client);
	arena_fini(&r.arena);
	return is;
}
