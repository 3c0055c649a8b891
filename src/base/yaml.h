/* yaml: a YAML document (one) as a tree whose every node knows its line and column. On libyaml.
 * Scalars stay text; aliases, tags, several documents and duplicate keys are refused with a position. */
#ifndef GOODPUT_BASE_YAML_H
#define GOODPUT_BASE_YAML_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_kind kind;
	bool quoted;      /* scalar: was quoted, so "null" and "" are text */
	int line, column; /* 1-based; the column counts characters */
	struct str text;  /* scalar */
	struct str key;   /* when a member of a map */
	int key_line, key_column;
	struct yaml *first, *next; /* children of a list or map, in order; siblings */
	size_t count;
	const struct yaml_document *document; /* source and text, for errors */
};

/* The tree lives in `arena`; `text` must outlive nothing (copied). An empty document is an empty map.
 * Depth and number of nodes are limited (64, 1,000,000). */
struct yaml *yaml_parse(struct arena *arena, struct str source, struct str text, struct error *e);
/* The same with texts and keys of scalars in an arena of their own: a tree is many times as large as what is taken from it. */
struct yaml *yaml_parse_apart(struct arena *arena, struct arena *texts, struct str source, struct str text, struct error *e);
struct yaml *yaml_get(const struct yaml *map, const char *key); /* NULL when absent or not a map */
/* Unquoted nothing, "~" or "null". */
bool yaml_is_null(const struct yaml *node);
/* Reads a member; false with a positioned error when it has another type. Absent or null: *value is left alone,
 * true. Numbers and truth values must not be quoted. */
bool yaml_get_str(const struct yaml *map, const char *key, struct str *value, struct error *e);
bool yaml_get_double(const struct yaml *map, const char *key, double *value, struct error *e);
bool yaml_get_bool(const struct yaml *map, const char *key, bool *value, struct error *e);
/* false with an error at the first key that is not in `known` (NULL-terminated), naming the nearest known one. */
bool yaml_only(const struct yaml *map, const char *const *known, struct error *e);
/* An error at a node. The source is the one given to yaml_parse. Returns false. */
bool yaml_error(const struct yaml *node, struct error *e, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same at byte `at` of the text of a literal block ("key: |"); of another scalar: at its start. */
bool yaml_error_in(const struct yaml *node, size_t at, struct error *e, const char *format, ...) __attribute__((format(printf, 4, 5)));

#define YAML_EACH(node, child) for (const struct yaml *child = (node) ? (node)->first : NULL; child; child = child->next)

#endif
