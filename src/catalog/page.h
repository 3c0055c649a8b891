/* page: what the steps of a binding share. Internal to this folder.
 *
 *   detect.c    which engine and exporters the page is of
 *   version.c   flavour and version window
 *   bind.c      the exposed name of each metric
 *   coverage.c  why a metric has none */
#ifndef GOODPUT_CATALOG_PAGE_H
#define GOODPUT_CATALOG_PAGE_H

#include "catalog/binding.h"

struct page {
	struct arena *arena;
	const struct catalog *catalog;
	const struct shown_family *families;
	size_t count;
	struct map by_name;      /* family name → struct shown_family */
	struct binding *binding; /* filled step by step */
};

/* The family that shows the name: itself, a counter declared without _total, or the histogram or summary of which the name is a part. */
const struct shown_family *page_family(const struct page *page, struct str name);
bool family_has_label(const struct shown_family *family, struct str label);
/* The family's name with the engine's main prefix in place of a variant. */
struct str engine_plain_name(const struct engine_spec *engine, struct arena *arena, struct str name);
/* Under one of the engine's prefixes or their variants. */
bool engine_owns(const struct engine_spec *engine, struct str name);
/* `pattern` is a name or "prefix*". */
bool pattern_matches(struct str pattern, struct str name);
bool page_condition_holds(const struct page *page, const struct engine_spec *engine, const struct page_condition *when);
/* A canonical metric's type can be read from this family under this name. */
bool family_fits(const struct shown_family *family, struct str name, enum metric_type type);
const struct engine_metric *engine_entry_of(const struct engine_spec *engine, const struct metric_spec *metric);

void page_detect(struct page *page);
void page_version(struct page *page);
void page_bind(struct page *page);
void page_coverage(struct page *page);

/* Which of two upper ends comes first: "0.10.1" before "0.10", which stands for all of 0.10.x. */
int version_until_cmp(struct str a, struct str b);
/* Whether any version in [low, high] lies in [since, until]; empty is open. */
bool versions_overlap(struct str since, struct str until, struct str low, struct str high);

#endif
