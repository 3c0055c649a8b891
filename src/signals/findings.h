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

/* Adds a finding of this id at the scope (unless the catalogue disables it); `where` names targets or engines concerned (copied), `detail`
 * may be empty. Returns NULL when disabled. */
struct finding *evaluation_raise(struct evaluation *ev, const char *id, struct scope *scope, const struct str *where, size_t where_count,
	size_t where_all, struct str detail);
/* Runs all detectors' publish steps (called by evaluation_init). */
void detectors_publish(struct evaluation *ev);
/* Runs detectors' raise steps and judges every red line at every scope it is for. Findings are complete (title, evidence, actions) but not
 * yet suppressed or merged. */
void findings_find(struct evaluation *ev);
/* Merges the findings of several evaluations by id and scope (onset, last), then marks suppressed ones. `into` is the report's array. */
struct finding *findings_merge(struct arena *arena, struct evaluation *const *evaluations, size_t count, size_t *finding_count);
void findings_suppress(struct arena *arena, struct finding *findings, size_t count, const struct report *report);

#endif
