/* kubernetes: objects of the API as target groups with the __meta_kubernetes_ labels of Prometheus; sans-IO, on parsed JSON. */
#ifndef GOODPUT_SCRAPE_KUBERNETES_H
#define GOODPUT_SCRAPE_KUBERNETES_H

#include "base/map.h"
#include "scrape/job.h"

#include <jansson.h>

/* Objects of the lists that a role needs, by kind: arrays of objects. Absent ones are NULL. */
struct kubernetes_lists {
	json_t *items[KUBERNETES_ROLES];
};
/* Groups of all objects of the role. The texts are copied into the arena. */
void kubernetes_groups(
	struct groups *g, const struct kubernetes_lists *lists, enum kubernetes_role role, bool attach_node, struct arena *arena);
/* Which lists a role needs, as bits 1 << role. */
unsigned kubernetes_needs(enum kubernetes_role role, bool attach_node);

#endif
