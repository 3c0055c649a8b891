/* load: what the loaders of the catalogue's files share. Internal to this folder.
 *
 * Two passes: the files, in order, leave drafts (a later file replaces fields of an earlier one's entry); then load_resolve looks up every
 * reference and parses every expression, so that entries may refer to later ones and to other files. */
#ifndef GOODPUT_CATALOG_LOAD_H
#define GOODPUT_CATALOG_LOAD_H

#include "catalog/catalog.h"

/* A scalar to be parsed as an expression, or a list of references, with the file it came from. */
struct draft_text {
	const struct yaml *node; /* NULL: not given */
	struct str source;
};

struct definition_draft {
	struct draft_text expression, guard;
	struct str guard_reason, note;
};

struct signal_draft {
	struct signal_spec spec;
	const struct yaml *node; /* where it was first declared */
	struct definition_draft *alternatives;
	size_t alternative_count;
	struct definition_draft shared; /* guard and texts for alternatives that have none */
	bool detected, disabled;
};

struct finding_draft {
	struct finding_spec spec;
	const struct yaml *node;
	struct draft_text when, critical, evidence, counter, suppresses;
	bool disabled;
};

struct loader {
	struct catalog *catalog;
	struct arena *arena; /* the catalogue's: texts live as long as it does */
	struct arena trees;  /* ... YAML nodes until it is loaded */
	struct str source;   /* file being read */
	struct map in_file;  /* "signal ttft": ids declared in this file */
	VEC(struct signal_draft *) signals;
	VEC(struct finding_draft *) findings;
	struct map signal_drafts, finding_drafts;
};

void loader_init(struct loader *l, struct catalog *c);
void loader_fini(struct loader *l);
bool load_text(struct loader *l, struct str source, struct str text, struct error *e);
/* Pass 2 (resolve.c). */
bool load_resolve(struct loader *l, struct error *e);

/* One file's section each. */
bool load_metrics(struct loader *l, const struct yaml *list, struct error *e);
bool load_engine(struct loader *l, const struct yaml *map, struct error *e);
bool load_signals(struct loader *l, const struct yaml *list, struct error *e);
bool load_findings(struct loader *l, const struct yaml *list, struct error *e);
bool load_pools(struct loader *l, const struct yaml *list, struct error *e);

/* Parts of an engine. What its names share unless they say otherwise: */
struct engine_defaults {
	double valid_low, valid_high;
	struct str invalid_reason;
};
/* valid: [low, high]; either may be ".inf" or "-.inf". */
bool load_valid(const struct yaml *map, double *low, double *high, struct error *e);
bool load_entry(struct loader *l, const struct yaml *node, const struct engine_spec *engine, const struct engine_defaults *defaults,
	struct engine_metric *entry, struct error *e);
bool load_versions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e);
bool load_flavours(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e);
bool load_companions(struct loader *l, const struct yaml *map, struct engine_spec *engine, struct error *e);

/* ---- reading nodes; each is false with a positioned error ---- */

bool load_is_list(const struct yaml *node, const char *what, struct error *e);
bool load_is_map(const struct yaml *node, const char *what, struct error *e);
/* The member `id` (or another key) of an entry: present, not empty, of letters, digits and _ - . */
bool load_id(const struct yaml *map, const char *key, struct str *id, struct error *e);
/* A list of texts; absent: left alone. */
bool load_strings(struct loader *l, const struct yaml *map, const char *key, struct str **items, size_t *count, struct error *e);
/* A text that must be one of `names` (NULL-terminated); absent: left alone. */
bool load_choice(const struct yaml *map, const char *key, const char *const *names, int *value, struct error *e);
/* The class of a pool: interactive or batch; absent: left alone. */
bool load_class(const struct yaml *map, struct str *name, struct error *e);
/* False when the id was already declared in this file. */
bool load_first_in_file(struct loader *l, const struct yaml *node, const char *kind, struct str id, struct error *e);
/* Sets *text when the key is given; it must be a scalar. */
bool load_draft_text(struct loader *l, const struct yaml *map, const char *key, struct draft_text *text, struct error *e);

/* "did you mean": remembers the nearest of the names offered. */
struct nearest {
	struct str wanted, best;
	size_t distance;
};
struct nearest nearest_start(struct str wanted);
void nearest_offer(struct nearest *n, struct str name);
/* Adds the hint `did you mean "best"?` when something is near. */
void nearest_hint(const struct nearest *n, struct error *e);
struct str nearest_metric(const struct catalog *c, struct str id);

#endif
