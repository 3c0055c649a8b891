#include "net/endpoint.h"

#include "base/mem.h"
#include "net/proxy.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <openssl/err.h>
#include <stdio.h>

static bool is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static bool url_part(CURLU *url, CURLUPart part, unsigned flags, char **text)
{
	char *found = NULL;

	if (curl_url_get(url, part, &found, flags) != CURLUE_OK)
		return false;
	*text = mem_copy(found, strlen(found));
	curl_free(found);
	return true;
}

static char *host_bare(char *host)
{
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[') {
		memmove(host, host + 1, len - 2);
		host[len - 2] = '\0';
	}
	return host;
}

static bool url_has(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static bool endpoint_parts(struct endpoint *p, CURLU *url, struct error *e)
{
	char *scheme = NULL, *port = NULL;
	bool ok = url_part(url, CURLUPART_SCHEME, 0, &scheme) && url_part(url, CURLUPART_HOST, 0, &p->host) &&
		  url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port) && url_part(url, CURLUPART_PATH, 0, &p->prefix);

	if (ok && strcmp(scheme, "http") && strcmp(scheme, "https"))
		ok = error_set(e, EXIT_USAGE, "cannot speak \"%s\"", scheme);
	else if (!ok)
		error_set(e, EXIT_USAGE, "not a URL with a host");
	if (ok && (url_has(url, CURLUPART_USER) || url_has(url, CURLUPART_QUERY)))
		ok = error_set(e, EXIT_USAGE, "a user, password or query in the URL would not be sent: a header can say who asks");
	if (ok) {
		size_t end = strlen(p->prefix);

		p->is_tls = !strcmp(scheme, "https");
		snprintf(p->port, sizeof p->port, "%s", port);
		snprintf(p->place, sizeof p->place, "%.280s:%s", p->host, port);
		p->authority = mem_copy(p->place, strlen(p->place));
		host_bare(p->host);
		p->host_is_address = is_address(p->host);
		while (end && p->prefix[end - 1] == '/')
			p->prefix[--end] = '\0';
	}
	mem_free(scheme);
	mem_free(port);
	return ok;
}

static bool endpoint_read_url(struct endpoint *p, const char *text, struct error *e)
{
	CURLU *url = curl_url();
	bool ok = curl_url_set(url, CURLUPART_URL, text, CURLU_GUESS_SCHEME) == CURLUE_OK ? endpoint_parts(p, url, e)
											  : error_set(e, EXIT_USAGE, "not a URL");

	if (!ok) {
		error_source(e, str_from(text));
		error_hint(e, "give it as http://host:8000 or https://host");
	}
	curl_url_cleanup(url);
	return ok;
}

static bool endpoint_make_tls(struct endpoint *p, const struct endpoint_options *o, struct error *e)
{
	p->tls = SSL_CTX_new(TLS_client_method());
	if (!p->tls)
		return error_set(e, EXIT_INTERNAL, "OpenSSL does not start");
	SSL_CTX_set_min_proto_version(p->tls, TLS1_2_VERSION);
	SSL_CTX_set_mode(p->tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(p->tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(p->tls, o->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (!o->ca_file)
		SSL_CTX_set_default_verify_paths(p->tls);
	else if (SSL_CTX_load_verify_locations(p->tls, o->ca_file, NULL) != 1) {
		const char *why = ERR_reason_error_string(ERR_get_error());

		error_set(e, EXIT_BAD_INPUT, "cannot read certificates: %s", why ? why : "not PEM");
		error_source(e, str_from(o->ca_file));
		return false;
	}
	return true;
}

static int64_t or_preset(int64_t given_ms, int64_t preset_ms)
{
	return given_ms ? given_ms : preset_ms;
}

struct endpoint *endpoint_new(const struct endpoint_options *o, struct error *e)
{
	struct endpoint *p = NEW(struct endpoint);

	p->fresh = o->fresh;
	p->connect_timeout_ms = or_preset(o->connect_timeout_ms, 10000);
	p->head_timeout_ms = or_preset(o->head_timeout_ms, 600000);
	p->idle_timeout_ms = or_preset(o->idle_timeout_ms, 120000);
	p->whole_timeout_ms = o->whole_timeout_ms;
	if (endpoint_read_url(p, o->url, e) && (!p->is_tls || endpoint_make_tls(p, o, e)))
		return p;
	endpoint_free(p);
	return NULL;
}

void endpoint_free(struct endpoint *p)
{
	if (!p)
		return;
	if (p->tls)
		SSL_CTX_free(p->tls);
	mem_free(p->host);
	mem_free(p->prefix);
	mem_free(p->authority);
	mem_free(p);
}

const char *endpoint_place(const struct endpoint *p)
{
	return p->place;
}

const char *endpoint_unused_proxy(const struct endpoint *p)
{
	return proxy_variable(str_from(p->host), p->is_tls);
}

bool endpoint_is_tls(const struct endpoint *p)
{
	return p->is_tls;
}
