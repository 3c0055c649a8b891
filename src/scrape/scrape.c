#include "scrape/scrape.h"

#include "base/number.h"
#include "base/vec.h"

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
	struct str host = authority, port = STR_EMPTY;
	ptrdiff_t end = str_starts(authority, STR("[")) ? str_find(authority, ']') : 0;
	if (end < 0)
		return "\"[\" without \"]\"";
	ptrdiff_t colon = str_find(str_skip(authority, (size_t)end), ':');
	if (colon >= 0) {
		host = str_head(authority, (size_t)(end + colon));
		port = str_skip(authority, (size_t)(end + colon) + 1);
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

bool scrape_url(struct arena *arena, struct str text, struct str *url, struct str *name, struct error *e)
{
	struct str trimmed = str_trim(text);
	ptrdiff_t at = str_search(trimmed, STR("://"));
	struct str scheme = at >= 0 ? str_head(trimmed, (size_t)at) : STR("http");
	struct str rest = at >= 0 ? str_skip(trimmed, (size_t)at + 3) : trimmed;
	if (!str_eq_nocase(scheme, STR("http")) && !str_eq_nocase(scheme, STR("https")))
		return not_a_target(e, text, "only http:// and https:// are spoken");
	for (size_t i = 0; i < rest.len; i++)
		if ((unsigned char)rest.ptr[i] <= ' ')
			return not_a_target(e, text, "it has a blank inside");
	size_t authority_len = rest.len;
	for (size_t i = 0; i < rest.len && authority_len == rest.len; i++)
		if (rest.ptr[i] == '/' || rest.ptr[i] == '?' || rest.ptr[i] == '#')
			authority_len = i;
	struct str authority = str_head(rest, authority_len), path = str_skip(rest, authority_len);
	ptrdiff_t user = str_find(authority, '@');
	struct str userinfo = user >= 0 ? str_head(authority, (size_t)user + 1) : STR_EMPTY;
	authority = user >= 0 ? str_skip(authority, (size_t)user + 1) : authority;
	const char *local = str_starts(authority, STR(":")) ? "localhost" : "";
	const char *why = local[0] ? (port_is_valid(str_skip(authority, 1)) ? NULL : "the port is no number from 1 to 65535")
				   : authority_check(authority);
	if (why)
		return not_a_target(e, text, why);
	bool bare = path.len == 0 || str_is(path, "/");
	*name = arena_printf(
		arena, "%s" STR_FMT "" STR_FMT, local, STR_ARG(authority), STR_ARG(bare || str_is(path, "/metrics") ? STR_EMPTY : path));
	*url = arena_printf(arena, "%s://" STR_FMT "%s" STR_FMT STR_FMT, str_eq_nocase(scheme, STR("https")) ? "https" : "http",
		STR_ARG(userinfo), local, STR_ARG(authority), STR_ARG(bare ? STR("/metrics") : path));
	return true;
}

void scrape_all(struct http_client *c, struct arena *arena, const struct fleet *f, const struct scrape_options *o,
	struct http_answer *answers, const volatile bool *stop)
{
	int64_t timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : 10000;
	char timeout_text[40];
	number_format((double)timeout_ms / 1000, timeout_text);
	const char *timeout_header = arena_printf(arena, "X-Prometheus-Scrape-Timeout-Seconds: %s", timeout_text).ptr;
	const char *const headers[] = { accept_header, timeout_header, "User-Agent: goodput/" GOODPUT_VERSION, NULL };
	struct http_request *requests = ARENA_ARRAY(arena, struct http_request, f->targets.count + 1);
	for (size_t i = 0; i < f->targets.count; i++)
		requests[i] = (struct http_request){
			.url = f->targets.items[i]->url.ptr,
			.headers = headers,
			.bearer_token = o->bearer_token,
			.ca_file = o->ca_file,
			.insecure = o->insecure,
			.follow = true,
			.timeout_ms = timeout_ms,
			.max_bytes = o->max_bytes,
		};
	http_fetch_all(c, arena, requests, answers, f->targets.count, o->parallel, stop);
}
