/* run_parts: the sections of a run's page; not for other folders. */
#ifndef GOODPUT_REPORT_RUN_PARTS_H
#define GOODPUT_REPORT_RUN_PARTS_H

#include "report/run_report.h"

/* "412 ms", "1.24 s"; "" for NaN. Text lives in the arena. */
struct str run_ms(struct arena *arena, double ms);
struct str run_number(struct arena *arena, double value, const char *unit);

void run_charts_over_time(struct buf *out, struct arena *arena, const struct run_report *r);
void run_charts_distributions(struct buf *out, struct arena *arena, const struct run_report *r);
void run_charts_worst(struct buf *out, struct arena *arena, const struct run_report *r);

#endif
