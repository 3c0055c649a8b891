/* binding: which exposed name carries which canonical metric on one page. By presence: the prefix names the engine, then the newest present
 * name of each metric wins; twins of one metric (old and new name side by side) are never added. Versions explain, they do not decide. */
#ifndef GOODPUT_CATALOG_BINDING_H
#define GOODPUT_CATALOG_BINDING_H

#include "base/buf.h"
#include "catalog/catalog.h"

/* What a page shows: a family's name (histogram base name, other names as printed), its type, and label names seen on it. */
struct shown_family {
	struct str name;
	enum metric_type type; /* METRIC_UNKNOWN when no TYPE line was kept (remote) */
	struct str *labels;    /* distinct label names, sorted */
	size_t label_count;
	bool has_samples;
};

enum coverage { COVERAGE_PRESENT, COVERAGE_ABSENT, COVERAGE_NOT_ENABLED, COVERAGE_NOT_APPLICABLE };
const char *coverage_name(enum coverage c);

struct bound_metric {
	const struct engine_spec *engine; /* NULL when unbound */
	const struct engine_metric *entry;
	const struct name_spec *name; /* NULL when unbound */
	const struct name_spec *twin; /* an older name of the same metric on the same page; not read */
	enum coverage coverage;
	struct str why; /* in words, when not present: "gone after 0.8.2: V1 preempts by recomputation", "needs
			   --enable-metrics"; when present: "declared, no sample yet", or empty */
};

struct binding {
	const struct engine_spec *engine;     /* the serving engine; NULL: none recognised */
	const struct engine_spec **exporters; /* recognised on the page beside it, in catalogue order */
	size_t exporter_count;
	struct str flavour;                   /* "V1", "Ray", "Rust frontend", "behind Triton" ...; may be empty */
	struct str version_low, version_high; /* what the names say; empty = open */
	struct bound_metric *metrics;         /* by metric_spec.index */
	struct str *unknown_families;         /* exposed with the engine's prefix but unknown to the catalogue */
	size_t unknown_count;
	bool complete;      /* the page shows all that a whole page of the engine has */
	bool multi_process; /* no process_* or python_* though the engine has them in single-process mode, or pid labels */
};

/* Binds one page. The result lives in the arena. */
struct binding *binding_new(struct arena *arena, const struct catalog *c, const struct shown_family *families, size_t count);
/* "vLLM 0.11.1 to 0.12 (V1)"; "vLLM 0.24.0 or later (V1)"; "DCGM exporter" on a page without an engine; "unknown engine". */
void binding_print_engine(const struct binding *b, struct buf *out);
/* All exposed family names that any engine's binding could read (for select on a remote backend). Sorted, distinct; histogram families as
 * base names with `is_histogram`; a part of a histogram read as a counter ("..._count") is a plain name. */
struct exposed_name {
	struct str name;
	bool is_histogram;
};
struct exposed_name *catalog_exposed_names(const struct catalog *c, struct arena *arena, size_t *count);

#endif
