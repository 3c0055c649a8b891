#include "scrape/scrape.h"

#include "base/number.h"
#include "base/vec.h"
#include "scrape/job.h"
#include "scrape/metric_files.h"

#include <stdio.h>

/* Prometheus 3.14's own header: engines that offer OpenMetrics send it, as they would to the server that they are built for. */
static const char accept_header[] =
	"Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
	"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

static bool not_a_target(struct error *e, struct str text, const char *why)
{
	error_set(e, EXIT_USAGE, "\"" STR_FMT "\" cannot be a target: %s", STR_ARG(str_head(text, 120)), why);
	error_hint(e, "give a URL, host:port, :port, a saved page or the folder of a recording");
	return false;
}

static bool port_is_valid(struct str port)
{
	int64_t number;
	return port.len > 0 && port.ptr[0] >= '0' && port.ptr[0] <= '9' && number_parse_i64(port, &number) && number > 0 && number <= 65535;
}

/* Splits "host:port" or "[v6]:port"; the port may be absent. NULL when fine, else why not. */
static const char *authority_check(struct str authority)
{
	struct str host = authority;
	ptrdiff_t end = str_starts(authority, STR("[")) ? str_find(authority, ']') : 0;
	if (end < 0)
		return "\"[\" without \"]\"";
	ptrdiff_t colon = str_find(str_skip(authority, (size_t)end), ':');
	if (colon >= 0) {
		host = str_head(authority, (size_t)(end + colon));
		struct str port = str_skip(authority, (size_t)(end + colon) + 1);
		if (!port_is_valid(port))
			return str_find(port, ':') >= 0 ? "an IPv6 address needs brackets: [::1]:8000"
							: "the port is no number from 1 to 65535";
	}
	if (host.len == 0)
		return "no host";
	for (size_t i = 0; i < host.len; i++)
		if ((unsigned char)host.ptr[i] <= ' ' || strchr("\"<>\\^`{|}", host.ptr[i]))
			return "a character that no host name has";
	return NULL;
}

/* "scheme://user@host:port/path", each as written; absent parts are empty. */
struct target_text {
	struct str scheme, user, authority, path;
};

static void target_split(struct str text, struct target_text *parts)
{
	ptrdiff_t at = str_search(text, STR("://"));
	struct str rest = at >= 0 ? str_skip(text, (size_t)at + 3) : text;
	size_t len = 0;
	while (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?' && rest.ptr[len] != '#')
		len++;
	parts->scheme = at >= 0 ? str_head(text, (size_t)at) : STR("http");
	parts->authority = str_head(rest, len);
	parts->path = str_skip(rest, len);
	ptrdiff_t user = str_find(parts->authority, '@');
	parts->user = str_head(parts->authority, (size_t)(user + 1));
	parts->authority = str_skip(parts->authority, (size_t)(user + 1));
}

static const char *target_check(const struct target_text *parts)
{
	struct str a = parts->authority;
	if (!str_eq_nocase(parts->scheme, STR("http")) && !str_eq_nocase(parts->scheme, STR("https")))
		return "only http:// and https:// are spoken";
	for (size_t i = 0; i < parts->path.len; i++)
		if ((unsigned char)parts->path.ptr[i] <= ' ')
			return "it has a blank inside";
	if (!str_starts(a, STR(":")))
		return authority_check(a);
	return port_is_valid(str_skip(a, 1)) ? NULL : "the port is no number from 1 to 65535";
}

bool scrape_url(struct arena *arena, struct str text, struct str *url, struct str *name, struct error *e)
{
	struct target_text parts;
	if (metric_files_named(text)) {
		*name = arena_str(arena, str_starts(text, METRIC_FILES_SCHEME) ? str_skip(text, METRIC_FILES_SCHEME.len) : text);
		*url = arena_printf(arena, "multiproc:" STR_FMT, STR_ARG(*name));
		return true;
	}
	target_split(str_trim(text), &parts);
	const char *why = target_check(&parts);
	if (why)
		return not_a_target(e, text, why);
	const char *scheme = str_eq_nocase(parts.scheme, STR("https")) ? "https" : "http";
	const char *host = str_starts(parts.authority, STR(":")) ? "localhost" : ""; /* ":8000" */
	struct str path = parts.path.len == 0 || str_is(parts.path, "/") ? STR("/metrics") : parts.path;
	struct str shown = str_is(path, "/metrics") ? STR_EMPTY : path;
	*url = arena_printf(
		arena, "%s://" STR_FMT "%s" STR_FMT STR_FMT, scheme, STR_ARG(parts.user), host, STR_ARG(parts.authority), STR_ARG(path));
	*name = arena_printf(arena, "%s" STR_FMT STR_FMT, host, STR_ARG(parts.authority), STR_ARG(shown));
	return true;
}

void scrape_request(struct arena *arena, struct str url, const struct scrape_options *o, struct http_request *request)
{
	int64_t timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : 10000;
	char timeout_text[40];
	number_format((double)timeout_ms / 1000, timeout_text);
	const char **headers = ARENA_ARRAY(arena, const char *, 4);
	headers[0] = accept_header;
	headers[1] = arena_printf(arena, "X-Prometheus-Scrape-Timeout-Seconds: %s", timeout_text).ptr;
	headers[2] = "User-Agent: goodput/" GOODPUT_VERSION;
	*request = (struct http_request){
		.url = url.ptr,
		.headers = headers,
		.bearer_token = o->bearer_token,
		.ca_file = o->ca_file,
		.insecure = o->insecure,
		.follow = true,
		.timeout_ms = timeout_ms,
		.max_bytes = o->max_bytes,
	};
}

bool target_request(
	struct arena *arena, const struct target *t, const struct scrape_options *o, struct http_request *request, struct error *e)
{
	struct scrape_options mine = *o;
	if (mine.timeout_ms <= 0)
		mine.timeout_ms = t->timeout_ms;
	scrape_request(arena, t->url, &mine, request);
	if (!t->job)
		return true;
	const struct access *access = &t->job->access;
	if (access->auth_type.len || access->username.len || access->username_file.len)
		request->bearer_token = NULL;
	if (!request->max_bytes)
		request->max_bytes = t->job->limits.body_bytes;
	return access_request(access, request->headers, arena, request, e);
}

void scrape_all(struct http_client *c, struct arena *arena, const struct fleet *f, const struct scrape_options *o,
	struct http_answer *answers, const volatile bool *stop)
{
	size_t count = f->targets.count;
	struct http_request *requests = ARENA_ARRAY(arena, struct http_request, count + 1);
	const char **failures = ARENA_ARRAY(arena, const char *, count + 1);
	for (size_t i = 0; i < count; i++) {
		struct error e = { 0 };
		if (target_is_metric_files(f->targets.items[i])) {
			requests[i].url = ""; /* is not asked */
			continue;
		}
		if (target_request(arena, f->targets.items[i], o, &requests[i], &e))
			continue;
		failures[i] = arena_printf(arena, "%s", e.message).ptr;
		requests[i].url = ""; /* is not asked */
	}
	http_fetch_all(c, arena, requests, answers, count, o->parallel, stop);
	for (size_t i = 0; i < count && !(stop && *stop); i++)
		if (target_is_metric_files(f->targets.items[i]))
			metric_files_scrape(f->targets.items[i], arena, &answers[i]);
	for (size_t i = 0; i < count; i++) {
		if (!failures[i])
			continue;
		answers[i].failure = HTTP_OTHER;
		snprintf(answers[i].detail, sizeof answers[i].detail, "%s", failures[i]);
	}
}
