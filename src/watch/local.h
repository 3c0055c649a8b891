/* local: engines on this machine, for commands that were given nothing to look at. */
#ifndef GOODPUT_WATCH_LOCAL_H
#define GOODPUT_WATCH_LOCAL_H

#include "base/arena.h"
#include "base/error.h"
#include "catalog/catalog.h"

struct local_found {
	const char **targets; /* "127.0.0.1:8000"; in the arena */
	size_t count;
	const char *serve; /* the address of a goodput serve or a Prometheus, when no engine was found; NULL */
};
/* Asks the ports that engines listen on by default. False with an error that says what was tried when nothing was found. */
bool local_find(struct arena *arena, const struct catalog *c, struct local_found *found, struct error *e);

#endif
