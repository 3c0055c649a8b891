/* The keys of a series in its file: ["family", "sample", {"label": "value"}, "help"], names of labels in order. */
#include "telemetry/key.h"
#include "telemetry/internal.h"

#include <string.h>

static const char *const suffixes[][2] = { [GOODPUT_COUNTER] = { "_total", "_total" },
	[GOODPUT_GAUGE] = { "", "" },
	[GOODPUT_HISTOGRAM] = { "_sum", "_bucket" },
	[GOODPUT_SUMMARY] = { "_count", "_sum" } };

static void add_label(struct goodput_text *t, bool *first, const char *name, const char *value)
{
	if (!*first)
		goodput_text_string(t, ", ");
	*first = false;
	goodput_text_json(t, name);
	goodput_text_string(t, ": ");
	goodput_text_json(t, value);
}

static void add_edge(struct goodput_text *t, bool *first, double bound)
{
	if (!*first)
		goodput_text_string(t, ", ");
	*first = false;
	goodput_text_string(t, "\"le\": \"");
	goodput_text_number(t, bound);
	goodput_text_string(t, "\"");
}

void goodput_key(struct goodput_text *t, const struct goodput_series *s, unsigned cell)
{
	const struct goodput_family *f = s->family;
	const bool bucket = f->kind == GOODPUT_HISTOGRAM && cell;
	bool first = true, edge = bucket;

	goodput_text_string(t, "[\"");
	goodput_text_string(t, f->name);
	goodput_text_string(t, "\", \"");
	goodput_text_string(t, f->name);
	goodput_text_string(t, suffixes[f->kind][cell > 0]);
	goodput_text_string(t, "\", {");
	for (size_t i = 0; i < f->label_count; i++) {
		const char *name = f->labels[f->sorted[i]];

		if (edge && strcmp(name, "le") > 0) {
			add_edge(t, &first, s->bounds[cell - 1]);
			edge = false;
		}
		add_label(t, &first, name, s->values[f->sorted[i]]);
	}
	if (edge)
		add_edge(t, &first, s->bounds[cell - 1]);
	goodput_text_string(t, "}, ");
	goodput_text_json(t, f->help);
	goodput_text_string(t, "]");
}
