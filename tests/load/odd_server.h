/* odd_server: an HTTP server of blocking threads for tests: each path is one way to answer, most of them wrong. With a certificate it
 * speaks TLS. */
#ifndef GOODPUT_TESTS_ODD_SERVER_H
#define GOODPUT_TESTS_ODD_SERVER_H

#include <stdbool.h>

struct odd_server;
/* With `certificate_path`, speaks TLS with a certificate made for 127.0.0.1 and localhost, which is written there. */
struct odd_server *odd_server_new(const char *certificate_path);
int odd_server_port(const struct odd_server *s);
int odd_server_connections(const struct odd_server *s); /* accepted so far */
void odd_server_free(struct odd_server *s);

#endif
