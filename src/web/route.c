/* Which path does what. */
#include "web/web.h"

enum { GET = 1, POST = 2 };

static const struct route {
	const char *path; /* '*' is one segment that is not empty */
	const char *name;
	int methods;
	web_handler *run;
} routes[] = {
	{ "/api/v1/query", NULL, GET | POST, web_query },
	{ "/api/v1/query_range", NULL, GET | POST, web_query_range },
	{ "/api/v1/query_exemplars", NULL, GET | POST, web_query_exemplars },
	{ "/api/v1/format_query", NULL, GET | POST, web_format_query },
	{ "/api/v1/parse_query", NULL, GET | POST, web_parse_query },
	{ "/api/v1/series", NULL, GET | POST, web_series },
	{ "/api/v1/labels", NULL, GET | POST, web_labels },
	{ "/api/v1/label/*/values", "/api/v1/label/:name/values", GET, web_label_values },
	{ "/api/v1/metadata", NULL, GET, web_metadata },
	{ "/api/v1/targets", NULL, GET, web_targets },
	{ "/api/v1/targets/metadata", NULL, GET, web_targets_metadata },
	{ "/api/v1/rules", NULL, GET, web_rules },
	{ "/api/v1/alerts", NULL, GET, web_alerts },
	{ "/api/v1/status/buildinfo", NULL, GET, web_buildinfo },
	{ "/api/v1/status/runtimeinfo", NULL, GET, web_runtimeinfo },
	{ "/api/v1/status/config", NULL, GET, web_config },
	{ "/api/v1/status/flags", NULL, GET, web_flags },
	{ "/api/v1/status/tsdb", NULL, GET, web_tsdb },
	{ "/api/v1/status/walreplay", NULL, GET, web_walreplay },
	{ "/api/goodput/v1/readings", NULL, GET, web_own_readings },
	{ "/api/goodput/v1/findings", NULL, GET, web_own_findings },
	{ "/api/goodput/v1/coverage", NULL, GET, web_own_coverage },
	{ "/api/goodput/v1/annotations", NULL, GET, web_own_annotations },
	{ "/api/goodput/v1/changes", NULL, GET, web_own_changes },
	{ "/api/goodput/v1/changes/*", "/api/goodput/v1/changes/:time", GET, web_own_change },
	{ "/api/goodput/v1/signals", NULL, GET, web_own_signals },
	{ "/federate", NULL, GET, web_federate },
};

static bool path_matches(struct str path, const char *pattern, struct str *rest)
{
	const char *star = strchr(pattern, '*');

	if (!star)
		return str_is(path, pattern);
	struct str before = str_of(pattern, (size_t)(star - pattern)), after = str_from(star + 1);

	if (!str_starts(path, before) || !str_ends(path, after) || path.len <= before.len + after.len)
		return false;
	*rest = str_of(path.ptr + before.len, path.len - before.len - after.len);
	return str_find(*rest, '/') < 0;
}

static const struct route *route_find(struct str path, struct str *rest)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (path_matches(path, routes[i].path, rest))
			return &routes[i];
	return NULL;
}

const char *web_route_name(struct str path)
{
	struct str rest;
	const struct route *route = route_find(path, &rest);

	return !route ? "other" : route->name ? route->name : route->path;
}

static void answer_text(struct web_reply *r, int status, const char *headers, const char *text)
{
	r->status = status;
	r->content_type = "text/plain; charset=utf-8";
	r->headers = headers;
	buf_add_cstr(&r->body, text);
}

static bool form_of(struct web_request *q, struct web_reply *r)
{
	static const struct str form_type = { "application/x-www-form-urlencoded", 33 };
	bool form = str_is(q->method, "POST") && str_eq_nocase(str_head(q->content_type, form_type.len), form_type);
	const char *why = "";

	if (form_parse(&q->form, q->arena, form ? q->body : STR(""), q->query, &why))
		return true;
	web_fail(r, WEB_BAD_DATA, "error parsing form values: %s", why);
	return false;
}

void web_answer(struct web_request *q, struct web_reply *r)
{
	const struct route *route = route_find(q->path, &q->rest);
	int method = str_is(q->method, "GET") ? GET : str_is(q->method, "POST") ? POST : 0;

	if (!route) {
		answer_text(r, 404, NULL, "404 page not found\n");
	} else if (str_is(q->method, "OPTIONS") && str_starts(q->path, STR("/api/"))) {
		r->status = 204;
		r->content_type = NULL;
	} else if (!(route->methods & method)) {
		answer_text(r, 405, route->methods & POST ? "Allow: GET, OPTIONS, POST\r\n" : "Allow: GET, OPTIONS\r\n",
			"Method Not Allowed\n");
	} else {
		q->rest = q->rest.len ? form_decode(q->arena, q->rest, false) : STR("");
		if (form_of(q, r))
			route->run(q, r);
	}
}
