/* collect: the parts of goodput collect. */
#ifndef GOODPUT_CLI_COLLECT_H
#define GOODPUT_CLI_COLLECT_H

#include "cli/command.h"
#include "collect/collect.h"

struct collect_arguments {
	struct global_arguments global;
	struct collect_options collect;
	const char *listen;
	int format; /* enum collect_format */
	int as;
	bool own_metrics, fold, force;
};

/* Tells of faults once: when they come, and when they are gone. */
struct collect_log {
	struct {
		char *text;
		bool seen;
	} * items;
	size_t count, cap;
};
void collect_log_report(struct collect_log *log, const struct collect_report *r);
void collect_log_fini(struct collect_log *log);

/* `goodput collect init|clean|mark-dead|fold DIR ...`; -1 when the operands are none of these. */
int collect_action(const struct command *self, const struct collect_arguments *a, const struct option_strings *operands);

/* The exporter. Returns the exit status. */
int collect_listen(const struct collect_arguments *a, const char *path);

#endif
