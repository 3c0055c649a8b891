/* access: how an HTTP address is reached: who we are, whom we trust (Prometheus's http_config). Read once from a configuration; secrets in
 * files are read anew for each use, since they are rotated in place. */
#ifndef GOODPUT_SCRAPE_ACCESS_H
#define GOODPUT_SCRAPE_ACCESS_H

#include "base/yaml.h"
#include "net/http.h"

struct access {
	struct str username, username_file, password, password_file; /* basic_auth; both user fields empty: none */
	struct str auth_type;                                        /* "Bearer"; empty: no authorization */
	struct str credentials, credentials_file;
	struct str ca_file, cert_file, key_file, server_name, proxy_url;
	bool insecure, no_follow;
	/* What makes us unable to use it, in words; empty: nothing. `unserved_node` is where it is written. */
	struct str unserved;
	const struct yaml *unserved_node;
};

/* Reads basic_auth, authorization, bearer_token(_file), tls_config, proxy_url, follow_redirects of a map. File names are relative to
 * `folder`. Fields that we cannot serve set `unserved`. Does not check for unknown keys of the map itself: see access_keys. */
bool access_read(struct access *a, const struct yaml *map, struct str folder, struct arena *arena, struct error *e);
/* The keys that access_read knows. */
#define ACCESS_KEYS                                                                                                                        \
	"basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file", "tls_config", "follow_redirects", "enable_http2",    \
		"proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header", "http_headers"

/* Fills the request's TLS and proxy fields, and the Authorization header after those in `headers` (NULL-terminated or NULL). False when a
 * secret's file cannot be read. */
bool access_request(const struct access *a, const char *const *headers, struct arena *arena, struct http_request *request, struct error *e);
/* "a" relative to folder, unless absolute or the folder is empty. */
struct str access_path(struct arena *arena, struct str folder, struct str path);

#endif
