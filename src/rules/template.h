/* template: the texts of labels and annotations: the part of Go's text/template that they use, with Prometheus's functions.
 *
 * Actions: pipelines, variables, if, else if, with, range, break, continue, comments, trim marks. Not: define, template, block, and
 * methods. What cannot be read is refused when the file is loaded; what fails when filled in is an error of that text alone. */
#ifndef GOODPUT_RULES_TEMPLATE_H
#define GOODPUT_RULES_TEMPLATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "model/labels.h"
#include "promql/backend.h"

struct template;

struct template_data {
	const struct labels *labels;  /* $labels; NULL: none */
	double value;                 /* $value */
	const struct label *external; /* $externalLabels */
	size_t external_count;
	struct str external_url;
	struct backend *backend; /* of the function query; NULL: it fails */
	int64_t t_ms;            /* when it is filled in */
};

enum { TEMPLATE_OUTPUT_MAX = 1 << 20 };

/* NULL with an error ("1:12: function "foo" not defined"); in the arena, `text` is copied. */
struct template *template_parse(struct arena *arena, struct str text, struct error *e);
/* Appends the text. False with an error; then `out` holds what was written before. */
bool template_execute(const struct template *t, const struct template_data *data, struct arena *scratch, struct buf *out, struct error *e);
/* Does a text hold an action at all? */
static inline bool template_is_needed(struct str text)
{
	return str_search(text, STR("{{")) >= 0;
}

#endif
