#include "net/transfer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"

#include <stdio.h>

enum { TIMEOUT_MS = 10000, BODY_MAX = 64 << 20 };

/* The parts of a URL that decisions are made by. */
struct url_parts {
	char scheme[8], host[128], port[8];
};

static bool url_part(CURLU *u, CURLUPart what, unsigned flags, char *text, size_t size)
{
	char *part = NULL;
	bool ok = curl_url_get(u, what, &part, flags) == CURLUE_OK && strlen(part) < size;
	if (ok)
		memcpy(text, part, strlen(part) + 1);
	curl_free(part);
	return ok;
}

static bool url_read(const char *url, struct url_parts *parts, const char **why)
{
	CURLU *u = curl_url();
	CURLUcode code = u ? curl_url_set(u, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
	*why = code == CURLUE_OK ? "too long" : curl_url_strerror(code);
	bool ok = code == CURLUE_OK && url_part(u, CURLUPART_SCHEME, 0, parts->scheme, sizeof parts->scheme) &&
		  url_part(u, CURLUPART_HOST, 0, parts->host, sizeof parts->host) &&
		  url_part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, parts->port, sizeof parts->port);
	if (ok && strcmp(parts->scheme, "http") != 0 && strcmp(parts->scheme, "https") != 0) {
		*why = "only http:// and https:// are spoken here";
		ok = false;
	}
	curl_url_cleanup(u);
	return ok;
}

static bool host_is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

/* Is a URL on the same host and port as the request's own? Only there go its secrets. */
static bool url_is_home(const struct transfer *t, const struct url_parts *here)
{
	struct url_parts home;
	const char *why;
	return url_read(t->request->url, &home, &why) && strcmp(home.host, here->host) == 0 && strcmp(home.port, here->port) == 0;
}

static struct str header_value(struct str line, struct str name)
{
	if (line.len <= name.len || line.ptr[name.len] != ':' || !str_eq_nocase(str_head(line, name.len), name))
		return STR_EMPTY;
	return str_trim(str_skip(line, name.len + 1));
}

static void coding_set(struct transfer *t, struct str coding)
{
	t->is_gzip = str_eq_nocase(coding, STR("gzip")) || str_eq_nocase(coding, STR("x-gzip"));
	t->is_unknown_coding = !t->is_gzip && !str_eq_nocase(coding, STR("identity"));
}

static void answer_begin(struct transfer *t)
{
	t->answer->content_type = t->answer->location = t->answer->server = STR_EMPTY;
	t->answer->status = 0;
	t->is_gzip = t->is_unknown_coding = t->head_is_whole = false;
	buf_reset(&t->body);
	gunzip_fini(&t->gunzip);
	gunzip_init(&t->gunzip);
}

static void status_read(struct transfer *t, struct str line)
{
	int64_t status;
	ptrdiff_t blank = str_find(line, ' ');
	answer_begin(t);
	if (blank > 0 && number_parse_i64(str_head(str_skip(line, (size_t)blank + 1), 3), &status))
		t->answer->status = (int)status;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
	struct transfer *t = user;
	struct str line = str_trim(str_of(bytes, size * count)), value;
	if (str_starts(line, STR("HTTP/")))
		status_read(t, line);
	else if (line.len == 0)
		t->head_is_whole = true;
	else if ((value = header_value(line, STR("content-type"))).len)
		t->answer->content_type = arena_str(t->arena, value);
	else if ((value = header_value(line, STR("location"))).len)
		t->answer->location = arena_str(t->arena, value);
	else if ((value = header_value(line, STR("server"))).len)
		t->answer->server = arena_str(t->arena, value);
	else if ((value = header_value(line, STR("content-encoding"))).len)
		coding_set(t, value);
	return size * count;
}

static enum http_failure body_collect(struct transfer *t, struct str bytes)
{
	if (t->is_unknown_coding)
		return HTTP_BAD_ENCODING;
	if (t->is_gzip) {
		enum gunzip_status status = gunzip_feed(&t->gunzip, bytes, &t->body);
		return status == GUNZIP_OK ? HTTP_OK : status == GUNZIP_TOO_LARGE ? HTTP_TOO_LARGE : HTTP_BAD_ENCODING;
	}
	curl_off_t promised = 0;
	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &promised);
	if (promised > 0 && (size_t)promised > t->max_bytes)
		return HTTP_TOO_LARGE; /* known before it has cost anything */
	buf_add(&t->body, bytes);
	return t->body.overflowed ? HTTP_TOO_LARGE : HTTP_OK;
}

static enum http_failure body_add(struct transfer *t, struct str bytes)
{
	enum http_failure failure = body_collect(t, bytes);
	if (failure == HTTP_OK && t->request->on_body && t->answer->status == 200) {
		if (t->body.len)
			t->request->on_body(t->request->body_context, buf_str(&t->body));
		buf_reset(&t->body);
	}
	return failure;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
	struct transfer *t = user;
	t->abort = body_add(t, str_of(bytes, size * count));
	return t->abort == HTTP_OK ? size * count : CURL_WRITEFUNC_ERROR;
}

static bool header_is_secret(const char *header)
{
	struct str line = str_from(header);
	return header_value(line, STR("authorization")).len || header_value(line, STR("cookie")).len ||
	       header_value(line, STR("x-api-key")).len;
}

static void headers_build(struct transfer *t, bool home)
{
	curl_slist_free_all(t->headers);
	t->headers = curl_slist_append(NULL, "Accept-Encoding: gzip");
	t->headers = curl_slist_append(t->headers, "Expect:"); /* no pause before a POST body */
	for (const char *const *h = t->request->headers; h && *h; h++)
		if (home || !header_is_secret(*h))
			t->headers = curl_slist_append(t->headers, *h);
	if (t->connect_to) {
		struct str line = arena_printf(t->arena, "Host: %s", t->place);
		t->headers = curl_slist_append(t->headers, line.ptr);
	}
	if (t->request->bearer_token && home) {
		struct str line = arena_printf(t->arena, "Authorization: Bearer %s", t->request->bearer_token);
		t->headers = curl_slist_append(t->headers, line.ptr);
	}
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

static void method_set(struct transfer *t)
{
	if (t->is_post && t->request->body.ptr) {
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->request->body.len);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->request->body.ptr);
	} else if (t->is_post) {
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(t->request->post));
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->request->post);
	} else {
		curl_easy_setopt(t->easy, CURLOPT_HTTPGET, 1L);
	}
}

/* libcurl checks the certificate against the host of the URL: so that is the wanted name, connected to where the real URL leads. */
static void name_set(struct transfer *t, const struct url_parts *parts)
{
	CURLU *u;
	char *url = NULL;
	if (!t->request->server_name || strcmp(parts->scheme, "https") != 0 || !url_is_home(t, parts) || !(u = curl_url()))
		return;
	if (curl_url_set(u, CURLUPART_URL, t->url.ptr, 0) == CURLUE_OK &&
		curl_url_set(u, CURLUPART_HOST, t->request->server_name, 0) == CURLUE_OK &&
		curl_url_get(u, CURLUPART_URL, &url, 0) == CURLUE_OK) {
		struct str to = arena_printf(t->arena, "::%s:%s", parts->host, parts->port);
		curl_slist_free_all(t->connect_to);
		t->connect_to = curl_slist_append(NULL, to.ptr);
		curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
		curl_easy_setopt(t->easy, CURLOPT_URL, url);
	}
	curl_free(url);
	curl_url_cleanup(u);
}

/* Sets the handle up for t->url, with what is left of the time. */
static void hop_begin(struct transfer *t, const struct url_parts *parts)
{
	int64_t left_ms = (t->timeout_ns - (clock_monotonic_ns() - t->start_ns)) / 1000000;
	snprintf(t->place, sizeof t->place, "%s:%s", parts->host, parts->port);
	t->curl_words[0] = '\0';
	t->abort = HTTP_OK;
	answer_begin(t);
	curl_easy_setopt(t->easy, CURLOPT_URL, t->url.ptr);
	name_set(t, parts);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)(left_ms > 1 ? left_ms : 1));
	const char *proxy = t->request->proxy_url;
	curl_easy_setopt(t->easy, CURLOPT_PROXY,
		proxy                           ? proxy
		: host_is_loopback(parts->host) ? ""
						: NULL); /* NULL: as the environment says */
	method_set(t);
	headers_build(t, url_is_home(t, parts));
}

static void easy_set(struct transfer *t)
{
	const struct http_request *r = t->request;
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->curl_words);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, r->insecure ? 0L : 1L);
	curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, r->insecure ? 0L : 2L);
	if (r->ca_file)
		curl_easy_setopt(t->easy, CURLOPT_CAINFO, r->ca_file);
	if (r->cert_file)
		curl_easy_setopt(t->easy, CURLOPT_SSLCERT, r->cert_file);
	if (r->key_file)
		curl_easy_setopt(t->easy, CURLOPT_SSLKEY, r->key_file);
}

/* A line break in a secret would end its header line and begin another. */
static bool token_is_clean(const char *token)
{
	for (; token && *token; token++)
		if ((unsigned char)*token < ' ' || *token == 0x7f)
			return false;
	return true;
}

bool transfer_init(struct transfer *t, struct arena *arena, const struct http_request *request, struct http_answer *answer)
{
	struct url_parts parts;
	const char *why;
	*t = (struct transfer){ .request = request, .answer = answer, .arena = arena, .is_post = request->post || request->body.ptr };
	*answer = (struct http_answer){ .start_ms = clock_now_ms() };
	t->start_ns = clock_monotonic_ns();
	t->timeout_ns = (request->timeout_ms > 0 ? request->timeout_ms : TIMEOUT_MS) * 1000000;
	t->max_bytes = request->max_bytes ? request->max_bytes : BODY_MAX;
	t->url = str_from(request->url);
	buf_init(&t->body, t->max_bytes);
	gunzip_init(&t->gunzip);
	if (!url_read(request->url, &parts, &why)) {
		failure_set(t, HTTP_BAD_URL, "no valid URL: %s", why); /* not the URL: it may hold a password */
		return false;
	}
	if (!token_is_clean(request->bearer_token)) {
		failure_set(t, HTTP_OTHER, "the bearer token holds a line break or another control character");
		return false;
	}
	t->easy = curl_easy_init();
	if (!t->easy) {
		failure_set(t, HTTP_OTHER, "libcurl cannot start a request");
		return false;
	}
	easy_set(t);
	hop_begin(t, &parts);
	return true;
}

void transfer_fini(struct transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->connect_to);
	buf_fini(&t->body);
	gunzip_fini(&t->gunzip);
}

static void failure_of_abort(struct transfer *t)
{
	if (t->abort == HTTP_TOO_LARGE)
		failure_set(t, HTTP_TOO_LARGE, "the answer of %s is above the limit of %zu bytes%s", t->place, t->max_bytes,
			t->is_gzip ? " when decompressed" : "");
	else if (t->is_gzip)
		failure_set(t, HTTP_BAD_ENCODING, "the answer of %s is no gzip: %s", t->place, t->gunzip.error);
	else
		failure_set(t, HTTP_BAD_ENCODING, "the answer of %s has a content encoding that was not asked for", t->place);
}

/* Where a redirect leads, when it may be followed. Otherwise the answer keeps its 3xx, with the reason as its detail. */
static bool redirect_follow(struct transfer *t)
{
	int status = t->answer->status;
	char *next = NULL;
	struct url_parts from, to;
	const char *why;
	if (!t->request->follow || status < 301 || status > 308 || (status > 303 && status < 307))
		return false;
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &next);
	if (!next)
		return false;
	if (t->redirects == REDIRECTS_MAX)
		failure_set(t, HTTP_OK, "more than %d redirects", REDIRECTS_MAX);
	else if (!url_read(next, &to, &why) || !url_read(t->url.ptr, &from, &why))
		failure_set(t, HTTP_OK, "a redirect that cannot be followed: %s", why);
	else if (strcmp(from.scheme, "https") == 0 && strcmp(to.scheme, "http") == 0)
		failure_set(t, HTTP_OK, "a redirect from https to http is not followed");
	else {
		t->url = arena_str(t->arena, str_from(next));
		t->redirects++;
		t->is_post = t->is_post && status >= 307;
		hop_begin(t, &to);
		return true;
	}
	return false;
}

static void answer_close(struct transfer *t)
{
	t->answer->duration_s = (double)(clock_monotonic_ns() - t->start_ns) / 1e9;
	t->answer->body = arena_str(t->arena, buf_str(&t->body));
	t->answer->body_is_partial = t->answer->failure != HTTP_OK && t->body.len > 0;
	log_debug("%s: %s, HTTP %d, %zu bytes in %.3f s", t->place, http_failure_name(t->answer->failure), t->answer->status, t->body.len,
		t->answer->duration_s);
	if (t->request->on_body)
		t->request->on_body(t->request->body_context, STR_EMPTY);
}

bool transfer_end(struct transfer *t, CURLcode code)
{
	if (t->abort != HTTP_OK)
		failure_of_abort(t);
	else
		failure_of_curl(t, code);
	/* libcurl takes a connection that ends inside the head for an answer without a body. */
	if (t->answer->failure == HTTP_OK && !t->head_is_whole)
		failure_set(t, HTTP_CUT, "%s closed the connection inside the answer's head", t->place);
	if (t->answer->failure == HTTP_OK && t->is_gzip && !gunzip_is_whole(&t->gunzip))
		failure_set(t, HTTP_BAD_ENCODING, "the gzip answer of %s ends too early", t->place);
	if (t->answer->failure == HTTP_OK && redirect_follow(t))
		return true;
	answer_close(t);
	return false;
}

void transfer_give_up(struct transfer *t, const char *why)
{
	failure_set(t, HTTP_OTHER, "%s", why);
	answer_close(t);
}
