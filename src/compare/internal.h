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

/* comparable.c */
bool compare_is_matched(const struct compare_side *a, const struct compare_side *b);
void compare_find_obstacles(struct compare_result *r, const struct panel_input *in);

/* signature.c */
void compare_find_signatures(struct compare_result *r, const struct panel_input *in);

/* verdict.c */
void compare_rule(struct compare_result *r, const struct panel_input *in, const struct compare_policy *policy);

/* fingerprint.c */
void compare_fingerprint(struct compare_result *r, const struct compare_side *a, const struct compare_side *b, struct arena *arena);

#endif
