/* workload_page: workloads for people and scripts. */
#ifndef GOODPUT_CLI_WORKLOAD_PAGE_H
#define GOODPUT_CLI_WORKLOAD_PAGE_H

#include "cli/command.h"
#include "workload/workload.h"

/* Both print and return the exit status. */
int workload_show(const struct workload *w, const char *path, const struct global_arguments *global);
int workload_diff(const struct workload *a, const struct workload *b, const char *const paths[2], const struct global_arguments *global);

#endif
