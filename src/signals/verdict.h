/* verdict: worst severity, exit status and the one sentence of a report. Private to src/signals. */
#ifndef GOODPUT_SIGNALS_VERDICT_H
#define GOODPUT_SIGNALS_VERDICT_H

#include "base/arena.h"
#include "signals/report.h"

/* Fills worst, any_finding, verdict and exit_status from findings and targets. */
void report_judge(struct arena *arena, struct report *r);

#endif
