/* An outbox as text. Reading it back is outbox_read.c. */
#include "base/json.h"
#include "rules/api.h"
#include "rules/outbox_internal.h"

/* Longer than it takes rules with an ordinary `for` to fire again. */
enum { SETTLE_MS = 15 * 60 * 1000 };

static void print_entry(struct json *j, const struct entry *entry)
{
	const struct notice *n = entry->has_next ? &entry->next : &entry->notice;

	json_open(j, NULL, '{');
	rules_print_labels(j, "labels", n->labels->items, n->labels->count);
	rules_print_labels(j, "annotations", n->annotations.items, n->annotations.count);
	json_bool(j, "resolved", n->resolved);
	json_integer(j, "starts_ms", n->starts_ms);
	json_integer(j, "ends_ms", n->ends_ms);
	json_text(j, "query", n->query);
	json_bool(j, "waiting", entry->waiting || entry->has_next);
	json_bool(j, "was_told", entry->was_told);
	json_bool(j, "told_resolved", entry->told_resolved);
	json_integer(j, "told_ms", entry->told_ms);
	json_close(j, '}');
}

void outbox_print(const struct outbox *o, struct json *j, const char *key)
{
	json_open(j, key, '[');
	MAP_EACH (&o->entries, m)
		print_entry(j, m->value);
	json_close(j, ']');
}

void outbox_settle(struct outbox *o, int64_t now_ms)
{
	if (!o->restored_ms || now_ms - o->restored_ms < SETTLE_MS)
		return;
	o->restored_ms = 0;
	MAP_EACH (&o->entries, m) {
		struct entry *entry = m->value;

		if (!entry->is_restored || entry->sending || entry->notice.resolved)
			continue;
		entry->notice.resolved = true;
		entry->notice.ends_ms = now_ms;
		outbox_set_waiting(o, entry, !o->options.without_resolved);
		o->changes++;
	}
}
