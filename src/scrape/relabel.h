/* relabel: relabel_configs and metric_relabel_configs, exactly as Prometheus applies them.
 *
 *   rules = relabel_read(yaml_list, arena, e);   each rule checked as Prometheus 3 checks it
 *   label_set_init(&set, labels, scratch);
 *   keep = relabel_apply(&rules, &set);
 *
 * A rule's regular expression serves one thread at a time, so rules do. */
#ifndef GOODPUT_SCRAPE_RELABEL_H
#define GOODPUT_SCRAPE_RELABEL_H

#include "base/arena.h"
#include "base/regex.h"
#include "base/vec.h"
#include "base/yaml.h"
#include "model/labels.h"

enum relabel_action {
	RELABEL_REPLACE,
	RELABEL_KEEP,
	RELABEL_DROP,
	RELABEL_KEEP_EQUAL,
	RELABEL_DROP_EQUAL,
	RELABEL_HASHMOD,
	RELABEL_LABELMAP,
	RELABEL_LABELDROP,
	RELABEL_LABELKEEP,
	RELABEL_LOWERCASE,
	RELABEL_UPPERCASE
};
const char *relabel_action_name(enum relabel_action a);

struct relabel_rule {
	enum relabel_action action;
	const struct str *source;
	size_t source_count;
	struct str separator, target, replacement;
	struct regex *re; /* owned */
	uint64_t modulus;
};

struct relabel {
	struct relabel_rule *rules; /* in the arena given to relabel_read */
	size_t count;
};

/* Reads a list of rules (NULL: none). Texts and rules live in the arena; relabel_fini frees the expressions. */
bool relabel_read(struct relabel *r, const struct yaml *list, struct arena *arena, struct error *e);
void relabel_fini(struct relabel *r);

/* Labels being changed: any number, no empty values, in the order in which Prometheus's builder walks them (labelmap can tell): those of
 * the beginning, then those set since. Texts given to label_set_set are borrowed. */
struct label_set {
	VEC(struct label) items;
	size_t base_count;     /* items before it are of the beginning and unchanged */
	struct arena *scratch; /* for texts that rules make */
};
void label_set_init(struct label_set *s, struct arena *scratch);
void label_set_fini(struct label_set *s);
/* Starts again with these labels, sorted by name. */
void label_set_start(struct label_set *s, const struct label *labels, size_t count);
/* {NULL, 0} when absent. */
struct str label_set_get(const struct label_set *s, struct str name);
void label_set_set(struct label_set *s, struct str name, struct str value); /* an empty value removes */
void label_set_remove(struct label_set *s, struct str name);
/* Sorts by name; what was set counts as of the beginning from now on. */
void label_set_settle(struct label_set *s);

/* False: the target or sample is dropped. */
bool relabel_apply(const struct relabel *r, struct label_set *s);

#endif
