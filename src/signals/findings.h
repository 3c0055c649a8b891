/* findings: red lines and detectors make findings; causes suppress symptoms; windows are merged into one list with onsets. */
#ifndef GOODPUT_SIGNALS_FINDINGS_H
#define GOODPUT_SIGNALS_FINDINGS_H

#include "signals/evaluate.h"

/* One detector: what no expression over merged vectors can say. `publish` fills `detected` signals for every scope it knows, before any
 * expression is evaluated; `raise` adds findings. Either may be NULL. */
struct detector {
	const char *name;
	void (*publish)(struct evaluation *ev);
	void (*raise)(struct evaluation *ev);
};
extern const struct detector detectors[]; /* ends with a NULL name */
/* Their names, NULL-terminated, for catalog_check_detectors. */
extern const char *const detector_names[];

/* Adds a finding of this id at the scope (unless the catalogue disables it, or it is for other classes or roles of pools); `where` names
 * targets or engines concerned (copied; none: the scope itself), `detail` may be empty (copied). Severity as the catalogue says. Returns
 * NULL when nothing was added. */
struct finding *evaluation_raise(struct evaluation *ev, const char *id, struct scope *scope, const struct str *where, size_t where_count,
	size_t where_all, struct str detail);
/* Runs all detectors' publish steps (called by evaluation_init). */
void detectors_publish(struct evaluation *ev);
/* Runs detectors' raise steps and judges every red line at every scope it is for. ev->findings then hold spec, severity, scope, where,
 * detail and undecided; texts and readings come with finding_complete, for those that are shown. */
void findings_find(struct evaluation *ev);
/* Three-valued: is this red line crossed at the scope? FALSE for detectors, for stale gauges, and (`fresh`) while trust is unknown;
 * UNDECIDED only when every reading it rests on is known. */
enum truth finding_judge(struct evaluation *ev, const struct scope *s, const struct finding_spec *spec);
/* Fills title, evidence, counter-evidence, actions and blast radius from the evaluation in which it was raised. Texts live in `arena`; so
 * the evaluation may go. */
void finding_complete(struct evaluation *ev, struct arena *arena, struct finding *f);
/* What differs at the scope between two windows in a row: restart, engine version, arrivals, prompt lengths, cached share. Sentences. */
struct str *finding_changes(struct evaluation *before, struct evaluation *now, const struct scope *s, struct arena *arena, size_t *count);

/* A copy of a reading whose texts and cells live in `arena`. */
struct reading reading_copy(struct arena *arena, const struct reading *r);
/* The scope of this kind and name (evaluations of one fleet have the same ones); NULL when there is none. */
struct scope *evaluation_scope(const struct evaluation *ev, enum scope_kind kind, struct str name);
/* The target, engine or GPU of this name, as `where` of a finding has them. */
struct scope *evaluation_place(const struct evaluation *ev, struct str name);

#endif
