/* bench_report: `goodput bench report FILE…`: judges request records that someone measured, here or elsewhere. */
#ifndef GOODPUT_CLI_BENCH_REPORT_H
#define GOODPUT_CLI_BENCH_REPORT_H

#include "cli/command.h"

#include <stdint.h>

/* What the run part's options say too, and what only a report needs. */
struct bench_report_options {
	const struct global_arguments *global;
	const struct option_strings *objectives; /* values of --goodput */
	const struct option_strings *operands;   /* "report", files, and more objectives */
	const struct option_strings *by;         /* keys to group by */
	int64_t window_ms;                       /* 0: as the records say */
	const char *price;                       /* per hour; NULL: none */
	bool each;                               /* every request */
};

/* Returns the exit status: 2 when goodput was asked for and nothing was good, 3 when nothing was judged. */
int bench_report(const struct command *self, const struct bench_report_options *o);

#endif
