/* outbox_internal: what the files of the outbox share. */
#ifndef GOODPUT_RULES_OUTBOX_INTERNAL_H
#define GOODPUT_RULES_OUTBOX_INTERNAL_H

#include "rules/outbox.h"

struct entry {
	struct notice notice;
	bool waiting, sending; /* sending: `notice` is on its way; `next` is what came meanwhile */
	bool has_next, ended;  /* ended: to be forgotten once it is told */
	struct notice next;
	bool was_told, told_resolved;
	int64_t told_ms;
	bool is_restored; /* of the process before; nobody has spoken of it in this one */
};

void outbox_set_waiting(struct outbox *o, struct entry *entry, bool waiting);

#endif
