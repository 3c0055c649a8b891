/* tally_render: a tally for people and for scripts; what bench report and compare print of a run. */
#ifndef GOODPUT_CLI_TALLY_RENDER_H
#define GOODPUT_CLI_TALLY_RENDER_H

#include "base/json.h"
#include "cli/page.h"
#include "slo/estimate_print.h"
#include "slo/tally.h"

/* Members of the object that is open. price_per_hour NaN: no cost. */
void tally_json(struct json *j, const struct tally *t, double price_per_hour);

void tally_page(struct page *p, const struct tally *t, double price_per_hour);
/* Figures with percentiles and the interval of the last of them. */
void tally_page_figures(struct page *p, const struct tally *t);
void tally_page_errors(struct page *p, const struct tally *t);

#endif
