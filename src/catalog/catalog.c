#include "catalog/catalog.h"

#include "base/file.h"
#include "catalog/embedded.h"
#include "catalog/load.h"

enum { CATALOG_FILE_MAX = 16 << 20 };

const char *signal_kind_name(enum signal_kind kind)
{
	static const char *const names[] = { "level", "delta", "age", "count", "rate", "ratio", "mean", "quantile", "share", "cells",
		"change", "formula", "detected" };

	return names[kind];
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "info", "warning", "critical" };

	return names[s];
}

const char *action_grade_name(enum action_grade grade)
{
	static const char *const names[] = { "now", "shift", "later" };

	return names[grade];
}

const char *pool_role_name(enum pool_role role)
{
	static const char *const names[] = { "mixed", "prefill", "decode", "pooling" };

	return names[role];
}

static void catalog_start(struct catalog *c)
{
	*c = (struct catalog){ 0 };
	arena_init(&c->arena);
	map_init(&c->metric_by_id);
	map_init(&c->signal_by_id);
	map_init(&c->finding_by_id);
}

void catalog_fini(struct catalog *c)
{
	VEC_EACH (&c->pools, pool) {
		for (size_t i = 0; i < (*pool)->match_count; i++)
			regex_free((*pool)->match[i].re);
		regex_free((*pool)->success_re);
	}
	VEC_EACH (&c->regexes, re)
		regex_free(*re);
	VEC_FREE(&c->regexes);
	VEC_FREE(&c->metrics);
	VEC_FREE(&c->engines);
	VEC_FREE(&c->signals);
	VEC_FREE(&c->findings);
	VEC_FREE(&c->pools);
	map_fini(&c->metric_by_id);
	map_fini(&c->signal_by_id);
	map_fini(&c->finding_by_id);
	arena_fini(&c->arena);
}

static bool load_embedded(struct loader *l, struct error *e)
{
	for (size_t i = 0; i < catalog_embedded_count; i++) {
		const struct embedded_file *file = &catalog_embedded[i];

		if (!load_text(l, str_from(file->name), str_of(file->text, file->length), e))
			return false;
	}
	return true;
}

static bool load_file(struct loader *l, const char *path, struct error *e)
{
	struct str text;

	return file_read(l->arena, path, CATALOG_FILE_MAX, &text, e) && load_text(l, str_from(path), text, e);
}

/* Finishes a load that went well until now (`good`); a failed one leaves nothing to free. */
static bool catalog_finish(struct catalog *c, struct loader *l, bool good, struct error *e)
{
	good = good && load_resolve(l, e);
	loader_fini(l);
	if (!good)
		catalog_fini(c);
	return good;
}

bool catalog_init(struct catalog *c, const char *const *files, size_t file_count, struct error *e)
{
	struct loader l;

	catalog_start(c);
	loader_init(&l, c);
	bool good = load_embedded(&l, e);

	for (size_t i = 0; good && i < file_count; i++)
		good = load_file(&l, files[i], e);
	return catalog_finish(c, &l, good, e);
}

bool catalog_init_text(struct catalog *c, bool embedded, struct str source, struct str text, struct error *e)
{
	struct loader l;

	catalog_start(c);
	loader_init(&l, c);
	return catalog_finish(c, &l, (!embedded || load_embedded(&l, e)) && load_text(&l, source, text, e), e);
}

const struct metric_spec *catalog_metric(const struct catalog *c, const char *id)
{
	return map_get(&c->metric_by_id, str_from(id));
}

const struct signal_spec *catalog_signal(const struct catalog *c, const char *id)
{
	return map_get(&c->signal_by_id, str_from(id));
}

const struct finding_spec *catalog_finding(const struct catalog *c, const char *id)
{
	return map_get(&c->finding_by_id, str_from(id));
}

const struct engine_spec *catalog_engine(const struct catalog *c, const char *id)
{
	VEC_EACH (&c->engines, engine) {
		if (str_is((*engine)->id, id))
			return *engine;
	}
	return NULL;
}

struct str catalog_nearest_signal(const struct catalog *c, struct str id)
{
	struct nearest near = nearest_start(id);

	VEC_EACH (&c->signals, signal)
		nearest_offer(&near, (*signal)->id);
	return near.best;
}

struct str name_spec_label(const struct name_spec *name, struct str canonical)
{
	for (size_t i = 0; i < name->label_count; i++) {
		if (str_eq(name->labels[i].canonical, canonical))
			return name->labels[i].exposed;
	}
	return canonical;
}

bool catalog_check_detectors(const struct catalog *c, const char *const *names, struct error *e)
{
	VEC_EACH (&c->findings, finding) {
		const struct finding_spec *spec = *finding;
		struct nearest near = nearest_start(spec->detector);
		size_t i = 0;

		if (!spec->detector.len)
			continue;
		for (; names[i] && !str_is(spec->detector, names[i]); i++)
			nearest_offer(&near, str_from(names[i]));
		if (names[i])
			continue;
		error_set(e, EXIT_BAD_INPUT, "finding \"" STR_FMT "\": no detector is called \"" STR_FMT "\"", STR_ARG(spec->id),
			STR_ARG(spec->detector));
		error_source(e, spec->source_file);
		if (e) {
			e->line = spec->line;
			e->column = spec->column;
		}
		nearest_hint(&near, e);
		return false;
	}
	return true;
}
