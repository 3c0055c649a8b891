/* kubernetes_sd: the lists that a role needs, asked of the API server again and again, from its cache. */
#include "base/file.h"
#include "base/hash.h"
#include "scrape/kubernetes.h"
#include "scrape/provider.h"

#include <stdio.h>
#include <stdlib.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

enum { LIST_MAX = 512 << 20, PAGES_MAX = 10000, SECRET_MAX = 1 << 20 };

/* How this API is asked. */
struct api {
	struct http_client *client;
	struct provider *provider;
	struct access access;
	struct str server;
	const struct str *namespaces;
	size_t namespace_count; /* 0: all */
	struct arena arena;     /* of one round */
	uint64_t hash;          /* of all bodies of the round */
};

static const struct {
	const char *prefix, *name;
} resources[KUBERNETES_ROLES] = {
	[KUBERNETES_NODE] = { "/api/v1", "nodes" },
	[KUBERNETES_POD] = { "/api/v1", "pods" },
	[KUBERNETES_SERVICE] = { "/api/v1", "services" },
	[KUBERNETES_ENDPOINTS] = { "/api/v1", "endpoints" },
	[KUBERNETES_ENDPOINT_SLICE] = { "/apis/discovery.k8s.io/v1", "endpointslices" },
};

/* The server and the account of the pod we run in. */
static bool find_cluster(struct api *api, struct error *e)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	if (!host || !port || !*host) {
		error_set(e, EXIT_BAD_INPUT,
			"kubernetes_sd_configs: no api_server is given and this is no pod of a cluster (KUBERNETES_SERVICE_HOST is not "
			"set)");
		error_hint(e, "give api_server, for example http://127.0.0.1:8001 of kubectl proxy");
		return false;
	}
	bool six = strchr(host, ':') != NULL;
	api->server = arena_printf(&api->arena, "https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
	api->access = (struct access){
		.ca_file = STR(SERVICE_ACCOUNT "ca.crt"), .auth_type = STR("Bearer"), .credentials_file = STR(SERVICE_ACCOUNT "token")
	};
	return true;
}

static bool find_namespaces(struct api *api, struct error *e)
{
	const struct sd *sd = api->provider->sd;
	struct str *all = ARENA_ARRAY(&api->arena, struct str, sd->name_count + 1), text;
	for (size_t i = 0; i < sd->name_count; i++)
		all[i] = sd->names[i];
	api->namespace_count = sd->name_count;
	if (sd->own_namespace) {
		if (!file_read(&api->arena, SERVICE_ACCOUNT "namespace", SECRET_MAX, &text, e))
			return false;
		all[api->namespace_count++] = str_trim(text);
	}
	api->namespaces = all;
	return true;
}

static bool api_begin(struct api *api, struct error *e)
{
	const struct sd *sd = api->provider->sd;
	api->hash = 0;
	api->access = sd->access;
	api->server = sd->url;
	return (sd->url.len || find_cluster(api, e)) && find_namespaces(api, e);
}

static void add_parameter(struct buf *url, const char *name, struct str value)
{
	if (!value.len)
		return;
	buf_printf(url, "&%s=", name);
	http_encode(value, url);
}

static struct str list_url(struct api *api, enum kubernetes_role role, struct str space, struct str next)
{
	const struct sd *sd = api->provider->sd;
	struct buf url;
	buf_init(&url, SIZE_MAX);
	buf_printf(&url, STR_FMT "%s", STR_ARG(api->server), resources[role].prefix);
	if (space.len)
		buf_printf(&url, "/namespaces/" STR_FMT, STR_ARG(space));
	buf_printf(&url, "/%s?limit=500", resources[role].name);
	if (next.len)
		add_parameter(&url, "continue", next);
	else
		add_parameter(&url, "resourceVersion", STR("0")); /* from the server's cache */
	add_parameter(&url, "labelSelector", sd->label_selector[role]);
	add_parameter(&url, "fieldSelector", sd->field_selector[role]);
	struct str kept = arena_str(&api->arena, buf_str(&url));
	buf_fini(&url);
	return kept;
}

static bool fetch(struct api *api, struct str url, struct http_answer *answer, struct error *e)
{
	static const char *const headers[] = { "Accept: application/json", "User-Agent: goodput", NULL };
	struct http_request request = { .url = url.ptr, .timeout_ms = 30000, .max_bytes = LIST_MAX };
	if (!access_request(&api->access, headers, &api->arena, &request, e))
		return false;
	http_fetch_all(api->client, &api->arena, &request, answer, 1, 1, &api->provider->stop);
	if (answer->failure != HTTP_OK)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API: %s", answer->detail);
	if (answer->status == 401 || answer->status == 403)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API refuses (HTTP %d): the token may not list this", answer->status);
	if (answer->status != 200)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API answers with HTTP status %d", answer->status);
	api->hash = hash_seeded(answer->body.ptr, answer->body.len, api->hash);
	return true;
}

/* Appends the items of one page; *next is the token of the following one. */
static bool page_add(struct api *api, struct str body, json_t *items, struct str *next, struct error *e)
{
	json_error_t why;
	json_t *page = json_loadb(body.ptr ? body.ptr : "", body.len, 0, &why);
	const json_t *list = json_object_get(page, "items"), *token = json_object_get(json_object_get(page, "metadata"), "continue");
	bool ok = page && (json_is_array(list) || json_is_null(list));
	if (!ok)
		error_set(e, EXIT_BAD_INPUT, "the Kubernetes API's answer is no list%s%s", page ? "" : ": ", page ? "" : why.text);
	else
		json_array_extend(items, (json_t *)list);
	*next = token ? arena_str(&api->arena, str_of(json_string_value(token), json_string_length(token))) : STR_EMPTY;
	json_decref(page);
	return ok;
}

static bool list_add(struct api *api, enum kubernetes_role role, struct str space, json_t *items, struct error *e)
{
	struct str next = STR_EMPTY;
	for (int pages = 0; pages < PAGES_MAX; pages++) {
		struct http_answer answer;
		if (!fetch(api, list_url(api, role, space, next), &answer, e) || !page_add(api, answer.body, items, &next, e))
			return false;
		if (!next.len)
			return true;
	}
	return error_set(e, EXIT_BAD_INPUT, "the Kubernetes API's list does not end");
}

static bool list_all(struct api *api, enum kubernetes_role role, json_t *items, struct error *e)
{
	if (role == KUBERNETES_NODE || !api->namespace_count)
		return list_add(api, role, STR_EMPTY, items, e);
	for (size_t i = 0; i < api->namespace_count; i++)
		if (!list_add(api, role, api->namespaces[i], items, e))
			return false;
	return true;
}

static bool lists_fetch(struct api *api, struct kubernetes_lists *lists, struct error *e)
{
	const struct sd *sd = api->provider->sd;
	unsigned needs = kubernetes_needs(sd->role, sd->attach_node);
	if (!api_begin(api, e))
		return false;
	for (int role = 0; role < KUBERNETES_ROLES; role++) {
		if (!(needs >> role & 1))
			continue;
		lists->items[role] = json_array();
		if (!list_all(api, (enum kubernetes_role)role, lists->items[role], e))
			return false;
	}
	return true;
}

/* One round; `last` is the hash of the last one that was published. */
static void round_run(struct api *api, uint64_t *last)
{
	struct kubernetes_lists lists = { 0 };
	struct error e = { 0 };
	struct yield y = { 0 };
	if (!lists_fetch(api, &lists, &e)) {
		provider_fail(api->provider, e.message);
		*last = 0;
	} else if (!*last || *last != api->hash) {
		struct harvest *h = harvest_new();
		kubernetes_groups(&h->groups, &lists, api->provider->sd->role, api->provider->sd->attach_node, &h->arena);
		VEC_PUSH(&y.items, h);
		provider_publish(api->provider, &y, NULL);
		yield_clear(&y);
		*last = api->hash;
	}
	for (int role = 0; role < KUBERNETES_ROLES; role++)
		json_decref(lists.items[role]);
	arena_reset(&api->arena);
}

void provider_run_kubernetes(struct provider *p)
{
	struct api api = { .client = http_client_new(), .provider = p };
	uint64_t last = 0;
	arena_init(&api.arena);
	do
		round_run(&api, &last);
	while (provider_sleep(p, p->sd->refresh_ms));
	arena_fini(&api.arena);
	http_client_free(api.client);
}
