/* kubernetes_watch: the objects of one list of the Kubernetes API, as a list gave them and as the events of a watch change them; sans-IO.
 */
#ifndef GOODPUT_SCRAPE_KUBERNETES_WATCH_H
#define GOODPUT_SCRAPE_KUBERNETES_WATCH_H

#include "base/buf.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

struct kubernetes_collection {
	json_t *objects;  /* "namespace/name" → object */
	struct buf line;  /* of a watch, not yet whole */
	char version[64]; /* of the newest that was seen; a watch goes on from there */
	bool is_listed;   /* false: what is known is too old to go on from: list again */
	bool has_changed; /* since whoever looks at it has cleared it */
};

void kubernetes_collection_init(struct kubernetes_collection *c);
void kubernetes_collection_fini(struct kubernetes_collection *c);
/* One page of a list; *next becomes the token of the following one, empty after the last. The first page begins anew. False with an error
 * when it is no list. */
bool kubernetes_collection_page(
	struct kubernetes_collection *c, bool is_first, struct str body, char *next, size_t next_size, struct error *e);
/* Bytes of a watch: whole lines are applied. Events that cannot be read, "gone" among them, clear is_listed. */
void kubernetes_collection_feed(struct kubernetes_collection *c, struct str bytes);
/* A new watch begins: what was left of the line before is dropped. */
void kubernetes_collection_watch(struct kubernetes_collection *c);

#endif
