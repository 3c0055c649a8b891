/* web_config: how the listener is secured: certificate and key from options, or from a file in the form of Prometheus's --web.config.file.
 */
#ifndef GOODPUT_SERVE_WEB_CONFIG_H
#define GOODPUT_SERVE_WEB_CONFIG_H

#include "net/tls.h"

struct web_tls_options {
	const char *cert, *key, *client_ca; /* or NULL */
	const char *file;                   /* with tls_server_config; or NULL */
};
/* Reads it all. *tls is NULL when no TLS is wanted. `asks_clients`: they must show a certificate. */
bool web_tls_read(const struct web_tls_options *o, struct tls_context **tls, bool *asks_clients, struct error *e);

#endif
