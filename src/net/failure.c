#include "base/mem.h"
#include "net/transfer.h"

#include <errno.h>
#include <stdio.h>

const char *http_failure_name(enum http_failure f)
{
	static const char *const names[] = {
		[HTTP_OK] = "ok",
		[HTTP_BAD_URL] = "bad-url",
		[HTTP_NO_HOST] = "no-host",
		[HTTP_REFUSED] = "refused",
		[HTTP_UNREACHABLE] = "unreachable",
		[HTTP_TIMEOUT] = "timeout",
		[HTTP_TLS] = "tls",
		[HTTP_RESET] = "reset",
		[HTTP_CUT] = "cut",
		[HTTP_TOO_LARGE] = "too-large",
		[HTTP_BAD_ENCODING] = "bad-encoding",
		[HTTP_NOT_HTTP] = "not-http",
		[HTTP_OTHER] = "other",
	};
	return (size_t)f < ARRAY_LEN(names) ? names[f] : "other";
}

void failure_set(struct transfer *t, enum http_failure failure, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	t->answer->failure = failure;
	vsnprintf(t->answer->detail, sizeof t->answer->detail, format, args);
	va_end(args);
}

static const char *curl_words(const struct transfer *t, CURLcode code)
{
	return t->curl_words[0] ? t->curl_words : curl_easy_strerror(code);
}

static long info_long(const struct transfer *t, CURLINFO what)
{
	long value = 0;
	curl_easy_getinfo(t->easy, what, &value);
	return value;
}

static void failure_of_connect(struct transfer *t, CURLcode code)
{
	long os = info_long(t, CURLINFO_OS_ERRNO);
	switch (os) {
	case ECONNREFUSED: failure_set(t, HTTP_REFUSED, "connection refused by %s", t->place); return;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case EADDRNOTAVAIL:
	case EACCES:
	case EPERM: failure_set(t, HTTP_UNREACHABLE, "%s cannot be reached: %s", t->place, strerror((int)os)); return;
	case ETIMEDOUT: failure_set(t, HTTP_TIMEOUT, "no connection to %s: %s", t->place, strerror((int)os)); return;
	default: failure_set(t, HTTP_OTHER, "no connection to %s: %s", t->place, curl_words(t, code));
	}
}

static void failure_of_timeout(struct transfer *t)
{
	curl_off_t connected = 0;
	curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &connected);
	double seconds = (double)t->timeout_ns / 1e9;
	if (connected == 0)
		failure_set(t, HTTP_TIMEOUT, "no connection to %s within %g s", t->place, seconds);
	else if (t->answer->status == 0)
		failure_set(t, HTTP_TIMEOUT, "%s took the connection but did not answer within %g s", t->place, seconds);
	else
		failure_set(
			t, HTTP_TIMEOUT, "the answer of %s was not whole within %g s: %zu bytes so far", t->place, seconds, t->body.len);
}

static void failure_of_tls(struct transfer *t, CURLcode code)
{
	const char *words = curl_words(t, code);
	if (strstr(words, "wrong version number") || strstr(words, "packet length too long"))
		failure_set(t, HTTP_TLS, "%s does not speak TLS: use http:// (%s)", t->place, words);
	else
		failure_set(t, HTTP_TLS, "TLS with %s: %s", t->place, words);
}

/* The connection broke: before the answer, inside it, or the answer's framing is wrong. */
static void failure_of_receive(struct transfer *t, CURLcode code)
{
	long os = info_long(t, CURLINFO_OS_ERRNO);
	bool closed = code == CURLE_PARTIAL_FILE || os == ECONNRESET || os == EPIPE || os == ECONNABORTED;
	if (t->answer->status == 0)
		failure_set(t, HTTP_RESET, "%s closed the connection without an answer (%s)", t->place, curl_words(t, code));
	else if (closed)
		failure_set(t, HTTP_CUT, "%s closed the connection inside the answer, after %zu bytes (%s)", t->place, t->body.len,
			curl_words(t, code));
	else
		failure_set(
			t, HTTP_BAD_ENCODING, "the answer of %s is broken after %zu bytes: %s", t->place, t->body.len, curl_words(t, code));
}

void failure_of_curl(struct transfer *t, CURLcode code)
{
	switch (code) {
	case CURLE_OK: failure_set(t, HTTP_OK, "%s", ""); return;
	case CURLE_URL_MALFORMAT: failure_set(t, HTTP_BAD_URL, "no valid URL: %s", curl_words(t, code)); return;
	case CURLE_COULDNT_RESOLVE_HOST: failure_set(t, HTTP_NO_HOST, "the name of %s does not resolve", t->place); return;
	case CURLE_COULDNT_RESOLVE_PROXY:
		failure_set(t, HTTP_NO_HOST, "the name of the proxy does not resolve (%s)", curl_words(t, code));
		return;
	case CURLE_COULDNT_CONNECT: failure_of_connect(t, code); return;
	case CURLE_OPERATION_TIMEDOUT: failure_of_timeout(t); return;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_USE_SSL_FAILED: failure_of_tls(t, code); return;
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE: failure_of_receive(t, code); return;
	case CURLE_UNSUPPORTED_PROTOCOL: /* how libcurl names an answer without a status line */
	case CURLE_WEIRD_SERVER_REPLY: failure_set(t, HTTP_NOT_HTTP, "%s does not speak HTTP (%s)", t->place, curl_words(t, code)); return;
	default: failure_set(t, HTTP_OTHER, "%s: %s", t->place, curl_words(t, code));
	}
}
