/* loopback: who listens on this machine. */
#ifndef GOODPUT_NET_LOOPBACK_H
#define GOODPUT_NET_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which of these ports of 127.0.0.1 take connections; all are asked at once, and what has not answered after `timeout_ms` does not. */
void loopback_probe(const uint16_t *ports, size_t count, int timeout_ms, bool *open);
/* Can be listened on: nobody does. */
bool loopback_is_free(uint16_t port);

#endif
