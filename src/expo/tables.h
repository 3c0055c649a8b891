/* tables: the families of a page and the series of a target. */
#ifndef GOODPUT_EXPO_TABLES_H
#define GOODPUT_EXPO_TABLES_H

#include "base/map.h"
#include "expo/grammar.h"

/* The families of one page. */
struct family_table {
	VEC(struct expo_family) list; /* in order of first mention */
	VEC(bool) typed;              /* had a TYPE line */
	struct map by_name;           /* index in list plus one */
	struct arena texts;
};
void family_table_init(struct family_table *t);
void family_table_fini(struct family_table *t);
void family_table_clear(struct family_table *t);
/* HELP, TYPE or UNIT. A later line of the same kind wins. */
void family_table_add(struct family_table *t, const struct metadata *m);
/* The family with a TYPE line so far that a sample's name belongs to: its own name, else without the suffix that the type
 * has. False: none; `name` is then the sample's. */
bool family_table_find(const struct family_table *t, struct str sample_name, struct str *name, enum metric_type *type);

struct series_record {
	struct expo_series shown; /* first: what callers hold */
	struct str name;          /* __name__ */
	uint64_t page;            /* number of the last page with a sample of it */
	uint64_t untimed_page;    /* the same, of a sample without own time */
	uint32_t line;            /* index of its remembered line, or more than there are */
};
struct series_table {
	struct series_record **slots;
	size_t slot_count, count;
	struct arena memory;
};
void series_table_init(struct series_table *t);
void series_table_fini(struct series_table *t);
void series_table_clear(struct series_table *t);
/* The record of a series as read, made when new; its type and family are set to these;
 * `*changed` tells that it had others. Normalises le and quantile. */
struct series_record *series_table_put(
	struct series_table *t, struct series_text *s, struct str family, enum metric_type type, bool *changed);

#endif
