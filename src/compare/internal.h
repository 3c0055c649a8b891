/* internal: what the files of compare share; not for other folders. */
#ifndef GOODPUT_COMPARE_INTERNAL_H
#define GOODPUT_COMPARE_INTERNAL_H

#include "compare/sample.h"

struct panel_input {
	const struct compare_side *a, *b;
	const struct blocks *blocks_a, *blocks_b;
	const struct slo_set *slo;
	bool matched;
};

/* panels.c. False: a side has nothing to show. */
bool panel_make(struct compare_panel *p, const struct panel_input *in, const struct compare_spec *spec, double confidence);

/* The change, from both sides' intervals, which have this confidence; of quantiles too. */
void panel_set_change(struct compare_panel *p, double confidence);

/* The change of events per request. Such events come in bursts: their variance is taken to be four times Poisson's. Half an event more on
 * both sides keeps none finite. */
void panel_set_counts(struct compare_panel *p, double events_a, double requests_a, double events_b, double requests_b, double confidence);

/* comparable.c */
bool compare_is_matched(const struct compare_side *a, const struct compare_side *b);
void compare_find_obstacles(struct compare_result *r, const struct panel_input *in);

/* Total variation distance of two lists of counts, and what chance alone gives two samples of one mix. NaN where one is empty. */
double compare_distance(const double *a, const double *b, size_t count, double *by_chance);

void compare_add_reason(struct compare_result *r, enum compare_obstacle o, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* signature.c */
void compare_find_signatures(struct compare_result *r, const struct panel_input *in);

/* verdict.c */
void compare_rule(struct compare_result *r, const struct panel_input *in, const struct compare_policy *policy);

/* The same from panels as they are, whose intervals have this tail on each side. */
void compare_rule_panels(struct compare_result *r, const struct compare_policy *policy, double tail);

/* fingerprint.c */
void compare_fingerprint(struct compare_result *r, const struct compare_side *a, const struct compare_side *b, struct arena *arena);

#endif
