/* demo_children: this program again, as other commands, for as long as the demo runs. */
#ifndef GOODPUT_CLI_DEMO_CHILDREN_H
#define GOODPUT_CLI_DEMO_CHILDREN_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

enum { CHILDREN_MOST = 2 };
struct demo_children {
	struct {
		pid_t pid;
		const char *name; /* "sim" */
		int log;          /* what it said on standard error, in memory */
	} items[CHILDREN_MOST];
	size_t count;
};

/* Runs goodput with these arguments (NULL-terminated) and prints the command. It ends with this process, whatever happens to it. */
bool child_start(struct demo_children *c, const char *const *arguments, struct error *e);
/* False with an error, and what it said, when one has ended. */
bool children_alive(struct demo_children *c, struct error *e);
/* Waits until a port of this machine takes connections. */
bool child_answers(struct demo_children *c, int64_t port, int64_t timeout_ms, const volatile bool *stop, struct error *e);
/* Asks all to end, waits for them; whoever takes longer than 10 s is killed. */
void children_end(struct demo_children *c);
/* The first of `count` free ports in a row of the loopback address, from `from` on; 0 when there are none. */
int64_t free_ports(int64_t from, int count);

#endif
