/* annotation: a thing that happened, told by whoever did it: a deploy, a change of capacity. Kept as a sample of `goodput_annotation`
 * whose labels say what; its value is 1, or the unix time at which it ended. */
#ifndef GOODPUT_WEB_ANNOTATION_H
#define GOODPUT_WEB_ANNOTATION_H

#include "base/arena.h"
#include "base/error.h"
#include "model/labels.h"

struct annotation {
	struct labels *labels; /* the caller unreferences it */
	int64_t t_ms;
	double value;
};
/* {"text": "vLLM 0.11 rolled out", "tags": ["deploy"], "time": 1767225600, "end": …, "labels": {"pool": "chat"}}: text is needed; time is
 * now when it is not given. */
bool annotation_read(struct annotation *a, struct arena *arena, struct str json, int64_t now_ms, struct error *e);

#endif
