/* endpoint: where a stream client connects to; its inside, for stream*.c only. */
#ifndef GOODPUT_NET_ENDPOINT_H
#define GOODPUT_NET_ENDPOINT_H

#include "net/stream.h"

#include <openssl/ssl.h>

struct endpoint {
	char *host;      /* without brackets */
	char *prefix;    /* path in front of the requests'; "" when none */
	char *authority; /* Host header */
	char place[300]; /* host:port, for messages */
	char port[8];
	bool is_tls, fresh, host_is_address;
	SSL_CTX *tls; /* NULL for plain */
	int64_t connect_timeout_ms, head_timeout_ms, idle_timeout_ms, whole_timeout_ms;
};

#endif
