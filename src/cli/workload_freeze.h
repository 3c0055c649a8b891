/* workload_freeze: arguments of goodput workload, and the making of workloads from what they name; not for other commands. */
#ifndef GOODPUT_CLI_WORKLOAD_FREEZE_H
#define GOODPUT_CLI_WORKLOAD_FREEZE_H

#include "cli/arguments.h"
#include "workload/content.h"

struct workload_arguments {
	struct global_arguments global;
	struct source_arguments source;
	const char *output, *name;
	const char *window, *at, *since, *scope;
	int64_t from_ms, to_ms, limit, prompt_most, output_most;
	int over, spread, process, ramp, format;
	const char *rate, *burstiness, *speed, *ramp_from, *concurrency, *requests, *seed, *template_tokens;
	int64_t ramp_ms;
	const char *temperature, *top_p;
	bool no_ignore_eos;
};

/* A trace, a workload whose load is changed, or metrics. NULL with an error. */
struct workload *workload_freeze(
	const struct workload_arguments *a, struct arena *arena, const struct option_strings *from, struct error *e);

#endif
