#include "cli/demo_children.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/loopback.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT_MS = 200, ARGUMENTS_MOST = 48, SHOWN_MOST = 180, END_MS = 10000, STEP_NS = 50000000 };

static void sleep_step(void)
{
	nanosleep(&(struct timespec){ 0, STEP_NS }, NULL);
}

int64_t free_ports(int64_t from, int count)
{
	int row = 0;

	for (int64_t port = from; port < 65000; port++) {
		row = loopback_is_free((uint16_t)port) ? row + 1 : 0;
		if (row == count)
			return port - count + 1;
	}
	return 0;
}

static bool takes_connections(int64_t port)
{
	bool open;

	loopback_probe(&(uint16_t){ (uint16_t)port }, 1, CONNECT_MS, &open);
	return open;
}

static void command_print(const char *const *arguments)
{
	size_t shown = 0;

	printf("$ goodput");
	for (; *arguments && shown < SHOWN_MOST; arguments++)
		shown += (size_t)printf(" %s", *arguments);
	printf(*arguments ? " ...\n" : "\n");
	fflush(stdout);
}

/* In the child: what it says goes to `log`; it ends when the parent does. */
static void child_become(char *const *argv, int log, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(log, STDERR_FILENO);
	dup2(log, STDOUT_FILENO);
	if (getppid() == parent)
		execv("/proc/self/exe", argv);
	_exit(127);
}

bool child_start(struct demo_children *c, const char *const *arguments, struct error *e)
{
	char *argv[ARGUMENTS_MOST] = { (char *)"goodput" };
	pid_t parent = getpid();
	int log = memfd_create("goodput-demo", MFD_CLOEXEC);

	for (size_t i = 0; arguments[i] && i + 2 < ARGUMENTS_MOST; i++)
		argv[i + 1] = (char *)arguments[i];
	command_print(arguments);
	pid_t pid = log < 0 ? -1 : fork();

	if (pid == 0)
		child_become(argv, log, parent);
	if (pid < 0)
		return error_set(e, EXIT_INTERNAL, "goodput %s does not start: %s", arguments[0], strerror(errno));
	c->items[c->count].pid = pid;
	c->items[c->count].name = arguments[0];
	c->items[c->count++].log = log;
	return true;
}

/* Its last message and hint are ours: what it could not do, the demo could not. */
static void child_ended(struct demo_children *c, size_t i, int state, struct error *e)
{
	enum exit_status status = WIFEXITED(state) ? (enum exit_status)WEXITSTATUS(state) : EXIT_INTERNAL;
	char said[4096] = "";
	ssize_t length = pread(c->items[i].log, said, sizeof said - 1, 0);
	struct str rest = str_of(said, length > 0 ? (size_t)length : 0), line, message = STR_EMPTY, hint = STR_EMPTY;

	c->items[i].pid = 0;
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, STR("goodput: "))) {
			message = str_skip(line, STR("goodput: ").len);
			hint = STR_EMPTY;
		} else if (str_starts(line, STR("  hint: "))) {
			hint = str_skip(line, STR("  hint: ").len);
		}
	error_set(e, status < EXIT_USAGE || status > EXIT_UNREACHABLE ? EXIT_INTERNAL : status, "goodput %s ended%s" STR_FMT,
		c->items[i].name, message.len ? ": " : "", STR_ARG(message));
	if (hint.len)
		error_hint(e, STR_FMT, STR_ARG(hint));
}

bool children_alive(struct demo_children *c, struct error *e)
{
	int state;

	for (size_t i = 0; i < c->count; i++) {
		if (!c->items[i].pid || waitpid(c->items[i].pid, &state, WNOHANG) != c->items[i].pid)
			continue;
		child_ended(c, i, state, e);
		return false;
	}
	return true;
}

bool child_answers(struct demo_children *c, int64_t port, int64_t timeout_ms, const volatile bool *stop, struct error *e)
{
	for (int64_t end_ns = clock_monotonic_ns() + timeout_ms * 1000000; clock_monotonic_ns() < end_ns; sleep_step()) {
		if (*stop)
			return error_set(e, EXIT_INTERRUPTED, "interrupted");
		if (!children_alive(c, e))
			return false;
		if (takes_connections(port))
			return true;
	}
	return error_set(e, EXIT_INTERNAL, "goodput serve does not answer on port %lld", (long long)port);
}

void children_end(struct demo_children *c)
{
	int64_t kill_ns = clock_monotonic_ns() + (int64_t)END_MS * 1000000;

	for (size_t i = 0; i < c->count; i++)
		if (c->items[i].pid)
			kill(c->items[i].pid, SIGTERM);
	for (size_t i = 0; i < c->count; i++) {
		while (c->items[i].pid && waitpid(c->items[i].pid, NULL, WNOHANG) == 0) {
			if (clock_monotonic_ns() > kill_ns)
				kill(c->items[i].pid, SIGKILL);
			sleep_step();
		}
		close(c->items[i].log);
	}
}
