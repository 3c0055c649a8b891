/* proxy: what the environment says about proxies, read as libcurl reads it. For connections that use none, to say so. */
#ifndef GOODPUT_NET_PROXY_H
#define GOODPUT_NET_PROXY_H

#include "base/str.h"

/* The variable ("https_proxy") that names a proxy for this host; NULL: there is none, or no_proxy exempts the host. */
const char *proxy_variable(struct str host, bool is_tls);

#endif
