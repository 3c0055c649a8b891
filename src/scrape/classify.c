#include "scrape/classify.h"

#include "net/web_page.h"

#include <stdio.h>

/* One row an outcome; the order is the enum's. */
static const struct {
	const char *name, *advice;
} outcomes[] = {
	[SCRAPE_OK] = { "ok", "The target answered with a whole, valid page." },
	[SCRAPE_PARTIAL] = { "partial",
		"The page has an error; only the lines before it were kept: fix the exporter, or what rewrites its answer on the way." },
	[SCRAPE_NO_ANSWER] = { "no-answer", "No answer in time: the server is frozen, overloaded or behind a firewall; look at the "
					    "process, then allow a longer timeout." },
	[SCRAPE_REFUSED] = { "refused", "Nothing listens on this port: the server is down, still loading its model, or on another port." },
	[SCRAPE_NO_HOST] = { "no-host", "The host name does not resolve: check the spelling, the DNS and the search domain." },
	[SCRAPE_UNREACHABLE] = { "unreachable", "No route to this host from here: check network, VPN and firewall." },
	[SCRAPE_TLS] = { "tls",
		"The TLS handshake or the certificate failed: check http against https, the CA file, and the name in the certificate." },
	[SCRAPE_UNAUTHORIZED] = { "unauthorized",
		"The server wants credentials for /metrics: give a bearer token, or let the proxy in front pass this path." },
	[SCRAPE_REDIRECT] = { "redirect", "The server sends elsewhere, often to a login page: give the final address as the target." },
	[SCRAPE_NOT_FOUND] = { "not-found",
		"There is no /metrics at this address: check path and port, and whether metrics are switched off on this server." },
	[SCRAPE_HTTP_STATUS] = { "http-status", "The server answered with an error status: read its log." },
	[SCRAPE_EMPTY] = { "empty",
		"The page holds no sample: the exporter collects nothing yet, or its multi-process directory is missing or was wiped." },
	[SCRAPE_HTML] = { "html", "This is a web page, not metrics: wrong port or path, or a login page in front." },
	[SCRAPE_JSON] = { "json", "This is JSON, not Prometheus text: another path has the metrics (TensorRT-LLM: /prometheus/metrics)." },
	[SCRAPE_CUT] = { "cut",
		"The connection ended inside the page: the server was restarted or killed, or a proxy has a size or time limit." },
	[SCRAPE_TOO_LARGE] = { "too-large",
		"The page is above the size limit: look for a label with ever new values, then raise the limit." },
	[SCRAPE_BAD_ENCODING] = { "bad-encoding",
		"The body is not what its headers say (compression or UTF-8): look at what rewrites it on the way." },
	[SCRAPE_NOT_HTTP] = { "not-http", "This port does not speak HTTP: check the port number." },
	[SCRAPE_LIMIT] = { "limit",
		"The page is above a limit of its job in the configuration: find out what grew, then raise the limit." },
	[SCRAPE_FAILED] = { "failed", "The scrape failed; the detail says how." },
};

const char *scrape_outcome_name(enum scrape_outcome o)
{
	return (size_t)o < ARRAY_LEN(outcomes) ? outcomes[o].name : "failed";
}

const char *scrape_outcome_advice(enum scrape_outcome o)
{
	return (size_t)o < ARRAY_LEN(outcomes) ? outcomes[o].advice : outcomes[SCRAPE_FAILED].advice;
}

static enum scrape_outcome outcome_of_failure(enum http_failure failure)
{
	switch (failure) {
	case HTTP_OK: return SCRAPE_OK;
	case HTTP_NO_HOST: return SCRAPE_NO_HOST;
	case HTTP_REFUSED: return SCRAPE_REFUSED;
	case HTTP_UNREACHABLE: return SCRAPE_UNREACHABLE;
	case HTTP_TIMEOUT: return SCRAPE_NO_ANSWER;
	case HTTP_TLS: return SCRAPE_TLS;
	case HTTP_CUT: return SCRAPE_CUT;
	case HTTP_TOO_LARGE: return SCRAPE_TOO_LARGE;
	case HTTP_BAD_ENCODING: return SCRAPE_BAD_ENCODING;
	case HTTP_NOT_HTTP: return SCRAPE_NOT_HTTP;
	case HTTP_BAD_URL:
	case HTTP_RESET:
	case HTTP_OTHER: break;
	}
	return SCRAPE_FAILED;
}

static enum scrape_outcome outcome_of_status(int status)
{
	if (status == 200)
		return SCRAPE_OK;
	if (status == 401 || status == 403)
		return SCRAPE_UNAUTHORIZED;
	if (status >= 300 && status < 400)
		return SCRAPE_REDIRECT;
	if (status == 404 || status == 405)
		return SCRAPE_NOT_FOUND;
	return SCRAPE_HTTP_STATUS;
}

static struct str skip_blanks(struct str s)
{
	if (str_starts(s, STR("\xef\xbb\xbf")))
		s = str_skip(s, 3);
	size_t i = 0;
	while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t' || s.ptr[i] == '\r' || s.ptr[i] == '\n'))
		i++;
	return str_skip(s, i);
}

/* An exposition line may begin with a brace too: {"my.metric"} 1. Only in JSON does a colon follow the first string. */
static bool is_json(struct str body)
{
	if (body.ptr[0] == '[')
		return true;
	if (body.ptr[0] != '{')
		return false;
	struct str s = skip_blanks(str_skip(body, 1));
	if (s.len == 0 || s.ptr[0] == '}')
		return true;
	if (s.ptr[0] != '"')
		return false;
	size_t i = 1;
	while (i < s.len && s.ptr[i] != '"')
		i += s.ptr[i] == '\\' ? 2 : 1;
	s = skip_blanks(str_skip(s, i + 1));
	return s.len > 0 && s.ptr[0] == ':';
}

/* Copies text that a server chose: one line, control characters blanked. */
static void detail_set(struct scrape_class *c, const char *before, struct str text, const char *after)
{
	int length = snprintf(c->detail, sizeof c->detail, "%s" STR_FMT "%s", before, STR_ARG(str_head(text, 200)), after);
	for (int i = 0; i < length && (size_t)i < sizeof c->detail; i++)
		if ((unsigned char)c->detail[i] < ' ')
			c->detail[i] = ' ';
}

static void detail_of_status(const struct http_answer *a, struct scrape_class *c)
{
	char before[64];
	if (c->outcome == SCRAPE_REDIRECT && a->location.len) {
		snprintf(before, sizeof before, "HTTP %d to ", a->status);
		detail_set(c, before, a->location, a->detail[0] ? "; " : "");
		size_t used = strlen(c->detail);
		snprintf(c->detail + used, sizeof c->detail - used, "%s", a->detail);
	} else if (a->server.len) {
		snprintf(before, sizeof before, "HTTP %d from ", a->status);
		detail_set(c, before, a->server, "");
	} else {
		snprintf(c->detail, sizeof c->detail, "HTTP %d", a->status);
	}
}

static void detail_of_html(struct str body, struct scrape_class *c)
{
	struct buf phrase;

	buf_init(&phrase, 4096);
	web_page_phrase(body, &phrase);
	detail_set(c, "", buf_str(&phrase), "");
	buf_fini(&phrase);
}

/* Without the line that the end of the connection cut: "x 12345" cut to "x 12" would still read as a sample. */
static struct str whole_lines(struct str body)
{
	while (body.len > 0 && body.ptr[body.len - 1] != '\n')
		body.len--;
	return body;
}

void scrape_classify(const struct http_answer *a, struct scrape_class *c)
{
	*c = (struct scrape_class){ .outcome = outcome_of_failure(a->failure) };
	if (c->outcome != SCRAPE_OK && (c->outcome != SCRAPE_CUT || a->status != 200)) {
		detail_set(c, "", str_from(a->detail), "");
		return;
	}
	enum scrape_outcome by_status = outcome_of_status(a->status);
	if (by_status != SCRAPE_OK) {
		c->outcome = by_status;
		detail_of_status(a, c);
		return;
	}
	struct str body = skip_blanks(a->body);
	if (c->outcome == SCRAPE_CUT) {
		detail_set(c, "", str_from(a->detail), "");
		c->page = whole_lines(a->body);
	} else if (body.len == 0) {
		c->outcome = SCRAPE_EMPTY;
		detail_set(c, "an empty body", STR_EMPTY, "");
	} else if (web_page_is(body)) {
		c->outcome = SCRAPE_HTML;
		detail_of_html(body, c);
	} else if (is_json(body)) {
		c->outcome = SCRAPE_JSON;
		detail_set(c, "JSON instead of metrics: ", str_head(body, 60), body.len > 60 ? " ..." : "");
	} else {
		c->page = a->body;
	}
	if (c->outcome == SCRAPE_CUT && body.len > 0 && (web_page_is(body) || is_json(body)))
		c->page = STR_EMPTY;
}
