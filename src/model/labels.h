/* labels: the identity of a series: label pairs sorted by name (byte order), names unique, no empty values. The metric
 * name is the label __name__. Immutable, reference-counted (not atomic), one block of memory. */
#ifndef GOODPUT_MODEL_LABELS_H
#define GOODPUT_MODEL_LABELS_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define LABEL_NAME STR("__name__")

struct label {
	struct str name, value; /* '\0'-terminated when inside struct labels */
};

struct labels {
	uint64_t hash; /* of all pairs, in order */
	uint32_t count;
	uint32_t refs; /* LABELS_IN_ARENA: it goes with its arena; who refers to it gets a copy */
	struct label items[];
};
enum { LABELS_IN_ARENA = 0 };

/* Any order; an empty value is dropped; of a name given twice the last one wins. */
struct labels *labels_new(const struct label *pairs, size_t count);
struct labels *labels_ref(const struct labels *l);
void labels_unref(const struct labels *l);
bool labels_eq(const struct labels *a, const struct labels *b);
/* Order of Prometheus results: pair by pair, name then value; the shorter first. */
int labels_cmp(const struct labels *a, const struct labels *b);
/* The value, or {NULL, 0} when absent. */
struct str labels_get(const struct labels *l, struct str name);
static inline struct str labels_name(const struct labels *l)
{
	return labels_get(l, LABEL_NAME);
}

/* [a-zA-Z_][a-zA-Z0-9_]*; a metric's name may hold ':' too. */
bool label_name_is_classic(struct str name, bool metric);
/* A label's name, quoted when it is not classic; a value, quoted. Escapes are those of PromQL (\\ \" \n \t \r \x1b), so that no
 * control byte of a target reaches a terminal; the exposition formats know fewer and are written by expo. */
void label_print_name(struct str name, struct buf *out);
void label_print_value(struct str value, struct buf *out);

/* name{a="b",c="d"}; values escaped; a name or label that is no legal classic name is quoted: {"my.metric","a b"="c"} */
void labels_print(const struct labels *l, struct buf *out);

/* Building one set out of another. */
struct labels_builder {
	struct label items[64];
	size_t count;
	bool overflowed; /* more than 64 labels */
};
void labels_builder_init(struct labels_builder *b, const struct labels *from /* or NULL */);
void labels_builder_set(struct labels_builder *b, struct str name, struct str value); /* empty value removes */
void labels_builder_remove(struct labels_builder *b, struct str name);
struct str labels_builder_get(const struct labels_builder *b, struct str name);
struct labels *labels_builder_build(const struct labels_builder *b);

#endif
