/* tally_render: a tally for people and for scripts; what bench, bench report and compare print of a run. */
#ifndef GOODPUT_CLI_TALLY_RENDER_H
#define GOODPUT_CLI_TALLY_RENDER_H

#include "base/json.h"
#include "cli/page.h"
#include "slo/estimate_print.h"
#include "slo/tally.h"

/* Members of the object that is open. price_per_hour NaN: no cost. */
void tally_json(struct json *j, const struct tally *t, double price_per_hour);

/* Without limits every request that completed counts as good: then it says that they are missing. */
void tally_page(struct page *p, const struct tally *t, bool has_limits, double price_per_hour);
/* Figures with percentiles and the interval of the last of them. */
void tally_page_figures(struct page *p, const struct tally *t);
/* These of them, each under a name of its own, with the intervals of all percentiles below. */
struct tally_row {
	enum tally_figure figure;
	const char *name;
};
void tally_page_intervals(struct page *p, const struct tally *t, const struct tally_row *rows, size_t count);
void tally_page_errors(struct page *p, const struct tally *t);

#endif
