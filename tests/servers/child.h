/* child: a server that a test starts and ends: its standard input and output are pipes, and it ends when the test closes them. */
#ifndef GOODPUT_TESTS_CHILD_H
#define GOODPUT_TESTS_CHILD_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int to;
	FILE *from;
};

/* False when the program cannot be started; then nothing is left behind. `quiet`: what it prints is thrown away. */
static inline bool child_start(struct child *c, const char *const *command, bool quiet)
{
	int in[2], out[2];
	if (pipe(in) != 0 || pipe(out) != 0)
		return false;
	c->pid = fork();
	if (c->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		if (quiet && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
			_exit(127);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execvp(command[0], (char *const *)command);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c->to = in[1];
	c->from = fdopen(out[0], "r");
	return c->pid > 0;
}

static inline void child_end(struct child *c)
{
	close(c->to);
	fclose(c->from);
	kill(c->pid, SIGTERM);
	waitpid(c->pid, NULL, 0);
}

/* Is there such a program? */
static inline bool program_exists(const char *name)
{
	char command[128];
	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

#endif
