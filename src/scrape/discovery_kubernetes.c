/* kubernetes_sd: the lists that a role needs, and watches that tell what changes in them. One watch for each list; the thread waits for all
 * of them at once. When one brings news, all end, what is known now is published, and a moment later they go on from where each was: so a
 * rollout costs the API server a few requests a second at most, and a quiet cluster one for each list every two minutes. */
#include "base/clock.h"
#include "base/file.h"
#include "scrape/kubernetes.h"
#include "scrape/kubernetes_watch.h"
#include "scrape/provider.h"

#include <stdio.h>
#include <stdlib.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

enum {
	LIST_MAX = 512 << 20,
	PAGES_MAX = 10000,
	SECRET_MAX = 1 << 20,
	LIST_TIMEOUT_MS = 30000,
	WATCH_S = 120,   /* that the server is asked to let one last: one that died in silence is noticed then */
	SETTLE_MS = 1000 /* between news and the next watch, so that news come together */
};

/* One list of the API: the objects of a kind, in a namespace or in all. */
struct watched {
	struct cluster *cluster;
	enum kubernetes_role role;
	struct str space;
	struct kubernetes_collection objects;
	bool is_refused; /* its watch: then it is listed again and again */
	bool has_ended;  /* the watch on its way, by itself */
	int64_t listed_ns;
};

/* How this API is asked. */
struct cluster {
	struct http_client *client;
	struct provider *provider;
	struct access access;
	struct str server;
	const struct str *namespaces;
	size_t namespace_count; /* 0: all */
	struct arena arena;     /* of one round */
	struct arena lasting;   /* of the lists' namespaces */
	VEC(struct watched *) lists;
	bool has_changed; /* since it was published, or it never was */
};

static const struct {
	const char *prefix, *name;
} resources[KUBERNETES_ROLES] = {
	[KUBERNETES_NODE] = { "/api/v1", "nodes" },
	[KUBERNETES_POD] = { "/api/v1", "pods" },
	[KUBERNETES_SERVICE] = { "/api/v1", "services" },
	[KUBERNETES_ENDPOINTS] = { "/api/v1", "endpoints" },
	[KUBERNETES_ENDPOINT_SLICE] = { "/apis/discovery.k8s.io/v1", "endpointslices" },
	[KUBERNETES_INGRESS] = { "/apis/networking.k8s.io/v1", "ingresses" },
};

/* The server and the account of the pod we run in. */
static bool find_cluster(struct cluster *c, struct error *e)
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
	c->server = arena_printf(&c->arena, "https://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
	c->access = (struct access){
		.ca_file = STR(SERVICE_ACCOUNT "ca.crt"), .auth_type = STR("Bearer"), .credentials_file = STR(SERVICE_ACCOUNT "token")
	};
	return true;
}

static bool find_namespaces(struct cluster *c, struct error *e)
{
	const struct sd *sd = c->provider->sd;
	struct str *all = ARENA_ARRAY(&c->arena, struct str, sd->name_count + 1), text;
	for (size_t i = 0; i < sd->name_count; i++)
		all[i] = sd->names[i];
	c->namespace_count = sd->name_count;
	if (sd->own_namespace) {
		if (!file_read(&c->arena, SERVICE_ACCOUNT "namespace", SECRET_MAX, &text, e))
			return false;
		all[c->namespace_count++] = str_trim(text);
	}
	c->namespaces = all;
	return true;
}

/* Before each round: a token may have been renewed, a namespace file read. */
static bool cluster_begin(struct cluster *c, struct error *e)
{
	const struct sd *sd = c->provider->sd;
	c->access = sd->access;
	c->server = sd->url;
	return (sd->url.len || find_cluster(c, e)) && find_namespaces(c, e);
}

static void list_new(struct cluster *c, enum kubernetes_role role, struct str space)
{
	struct watched *w = NEW(struct watched);
	*w = (struct watched){ .cluster = c, .role = role, .space = arena_str(&c->lasting, space) };
	kubernetes_collection_init(&w->objects);
	VEC_PUSH(&c->lists, w);
}

/* Which there are does not change any more. */
static void lists_make(struct cluster *c)
{
	const struct sd *sd = c->provider->sd;
	unsigned needs = kubernetes_needs(sd->role, sd->attach_node);
	for (int role = 0; role < KUBERNETES_ROLES; role++) {
		if (!(needs >> role & 1))
			continue;
		if (role == KUBERNETES_NODE || !c->namespace_count)
			list_new(c, (enum kubernetes_role)role, STR_EMPTY);
		for (size_t i = 0; role != KUBERNETES_NODE && i < c->namespace_count; i++)
			list_new(c, (enum kubernetes_role)role, c->namespaces[i]);
	}
}

/* ---- requests ---- */

static void add_parameter(struct buf *url, const char *name, struct str value)
{
	if (!value.len)
		return;
	buf_printf(url, "&%s=", name);
	http_encode(value, url);
}

/* `query` begins it; the selectors follow. */
static const char *url_of(const struct watched *w, const char *query, const char *name, struct str value)
{
	struct cluster *c = w->cluster;
	const struct sd *sd = c->provider->sd;
	struct buf url;
	buf_init(&url, SIZE_MAX);
	buf_printf(&url, STR_FMT "%s", STR_ARG(c->server), resources[w->role].prefix);
	if (w->space.len)
		buf_printf(&url, "/namespaces/" STR_FMT, STR_ARG(w->space));
	buf_printf(&url, "/%s?%s", resources[w->role].name, query);
	add_parameter(&url, name, value);
	add_parameter(&url, "labelSelector", sd->label_selector[w->role]);
	add_parameter(&url, "fieldSelector", sd->field_selector[w->role]);
	const char *kept = arena_cstr(&c->arena, buf_str(&url));
	buf_fini(&url);
	return kept;
}

static bool request_fill(struct cluster *c, const char *url, struct http_request *request, struct error *e)
{
	static const char *const headers[] = { "Accept: application/json", "User-Agent: goodput", NULL };
	*request = (struct http_request){ .url = url, .timeout_ms = LIST_TIMEOUT_MS, .max_bytes = LIST_MAX };
	return access_request(&c->access, headers, &c->arena, request, e);
}

static bool answer_check(const struct http_answer *answer, struct error *e)
{
	if (answer->failure != HTTP_OK)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API: %s", answer->detail);
	if (answer->status == 401 || answer->status == 403)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API refuses (HTTP %d): the token may not list this", answer->status);
	if (answer->status != 200)
		return error_set(e, EXIT_UNREACHABLE, "the Kubernetes API answers with HTTP status %d", answer->status);
	return true;
}

/* ---- lists ---- */

static bool list_page(struct watched *w, bool is_first, char *next, size_t next_size, struct error *e)
{
	struct cluster *c = w->cluster;
	struct http_request request;
	struct http_answer answer;
	/* The first from the server's cache. */
	const char *url =
		is_first ? url_of(w, "limit=500", "resourceVersion", STR("0")) : url_of(w, "limit=500", "continue", str_from(next));
	if (!request_fill(c, url, &request, e))
		return false;
	http_fetch_all(c->client, &c->arena, &request, &answer, 1, 1, &c->provider->stop);
	return answer_check(&answer, e) && kubernetes_collection_page(&w->objects, is_first, answer.body, next, next_size, e);
}

static bool list_fetch(struct watched *w, struct error *e)
{
	char next[8192] = "";
	for (int pages = 0; pages < PAGES_MAX; pages++) {
		if (!list_page(w, !pages, next, sizeof next, e))
			return false;
		if (next[0])
			continue;
		w->objects.is_listed = w->cluster->has_changed = true;
		w->listed_ns = clock_monotonic_ns();
		return true;
	}
	return error_set(e, EXIT_BAD_INPUT, "the Kubernetes API's list does not end");
}

static bool lists_fetch(struct cluster *c, struct error *e)
{
	VEC_EACH (&c->lists, w)
		if (!(*w)->objects.is_listed && !list_fetch(*w, e))
			return false;
	return true;
}

/* ---- watches ---- */

static void on_piece(void *context, struct str piece)
{
	struct watched *w = context;
	struct provider *p = w->cluster->provider;
	if (piece.len)
		kubernetes_collection_feed(&w->objects, piece);
	else if (!__atomic_load_n(&p->interrupted, __ATOMIC_SEQ_CST))
		w->has_ended = true;
	/* All others end with the one that has news: they go on from where they were. */
	if (w->objects.has_changed || !w->objects.is_listed || w->has_ended)
		__atomic_store_n(&p->interrupted, true, __ATOMIC_SEQ_CST);
}

/* What the end of a watch means. False: it did not work. */
static bool watch_ended(struct watched *w, const struct http_answer *answer, struct error *e)
{
	bool is_refused = answer->failure == HTTP_OK && (answer->status == 401 || answer->status == 403 || answer->status == 405);
	if (w->objects.has_changed)
		w->cluster->has_changed = true;
	w->objects.has_changed = false;
	if (!w->has_ended)
		return true;
	if (answer->failure == HTTP_OK && answer->status == 410) /* what was listed is too old to go on from */
		w->objects.is_listed = false;
	else if (is_refused) /* it may list, but not watch; if it may not list either, that will be told */
		w->is_refused = true;
	else
		return answer_check(answer, e);
	return true;
}

static bool watches_begin(struct cluster *c, struct http_request *requests, struct watched **of, size_t *count, struct error *e)
{
	int64_t seconds = WATCH_S;
	VEC_EACH (&c->lists, w)
		if ((*w)->is_refused)
			seconds = c->provider->sd->refresh_ms / 1000; /* then that one is listed again */
	const char *query = arena_printf(&c->arena, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%lld", (long long)seconds).ptr;
	*count = 0;
	VEC_EACH (&c->lists, w) {
		struct http_request *request = &requests[*count];
		if ((*w)->is_refused)
			continue;
		if (!request_fill(c, url_of(*w, query, "resourceVersion", str_from((*w)->objects.version)), request, e))
			return false;
		request->timeout_ms = seconds * 1000 + LIST_TIMEOUT_MS;
		request->on_body = on_piece;
		request->body_context = *w;
		(*w)->has_ended = false;
		kubernetes_collection_watch(&(*w)->objects);
		of[(*count)++] = *w;
	}
	return true;
}

/* Until something has changed or one of the watches has ended. */
static bool watches_run(struct cluster *c, struct error *e)
{
	struct http_request *requests = ARENA_ARRAY(&c->arena, struct http_request, c->lists.count);
	struct http_answer *answers = ARENA_ARRAY(&c->arena, struct http_answer, c->lists.count);
	struct watched **of = ARENA_ARRAY(&c->arena, struct watched *, c->lists.count);
	size_t count;
	bool ok = true;
	__atomic_store_n(&c->provider->interrupted, false, __ATOMIC_SEQ_CST);
	if (provider_stopped(c->provider))
		return true;
	if (!watches_begin(c, requests, of, &count, e))
		return false;
	if (count)
		http_fetch_all(c->client, &c->arena, requests, answers, count, count, &c->provider->interrupted);
	else
		provider_sleep(c->provider, c->provider->sd->refresh_ms);
	for (size_t i = 0; i < count; i++)
		ok = watch_ended(of[i], &answers[i], e) && ok;
	/* What may not be watched is listed again after a while, and then perhaps it may. */
	VEC_EACH (&c->lists, w)
		if ((*w)->is_refused && clock_monotonic_ns() - (*w)->listed_ns >= c->provider->sd->refresh_ms * 1000000)
			(*w)->is_refused = (*w)->objects.is_listed = false;
	return ok;
}

/* ---- what is found ---- */

static void publish(struct cluster *c)
{
	const struct sd *sd = c->provider->sd;
	struct kubernetes_lists lists = { 0 };
	struct harvest *h = harvest_new();
	struct yield y = { 0 };
	VEC_EACH (&c->lists, w) {
		const char *key;
		json_t *object, **items = &lists.items[(*w)->role];
		*items = *items ? *items : json_array();
		json_object_foreach((*w)->objects.objects, key, object) json_array_append(*items, object);
	}
	kubernetes_groups(&h->groups, &lists, sd->role, sd->attach_node, &h->arena);
	VEC_PUSH(&y.items, h);
	provider_publish(c->provider, &y, NULL);
	yield_clear(&y);
	for (int role = 0; role < KUBERNETES_ROLES; role++)
		json_decref(lists.items[role]);
	c->has_changed = false;
}

/* False: it is to be tried again later. */
static bool round_run(struct cluster *c)
{
	struct error e = { 0 };
	bool ok = cluster_begin(c, &e);
	if (ok && !c->lists.count)
		lists_make(c);
	ok = ok && lists_fetch(c, &e);
	if (ok && c->has_changed)
		publish(c);
	ok = ok && watches_run(c, &e);
	if (ok && c->has_changed)
		publish(c);
	if (!ok && !provider_stopped(c->provider)) {
		provider_fail(c->provider, e.message);
		c->has_changed = true; /* so that its recovery is told */
	}
	arena_reset(&c->arena);
	return ok;
}

static void cluster_fini(struct cluster *c)
{
	VEC_EACH (&c->lists, w) {
		kubernetes_collection_fini(&(*w)->objects);
		mem_free(*w);
	}
	VEC_FREE(&c->lists);
	arena_fini(&c->arena);
	arena_fini(&c->lasting);
	http_client_free(c->client);
}

void provider_run_kubernetes(struct provider *p)
{
	struct cluster c = { .client = http_client_new(), .provider = p, .has_changed = true };
	int64_t wait_ms = SETTLE_MS;
	arena_init(&c.arena);
	arena_init(&c.lasting);
	do {
		int64_t longer_ms = wait_ms * 2 < p->sd->refresh_ms ? wait_ms * 2 : p->sd->refresh_ms;
		wait_ms = round_run(&c) ? SETTLE_MS : longer_ms;
	} while (provider_sleep(p, wait_ms));
	cluster_fini(&c);
}
