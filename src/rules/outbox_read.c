/* Outboxes back from the text that an earlier process left. */
#include "base/log.h"
#include "rules/outbox_internal.h"

#include <jansson.h>

enum { PAIRS_MAX = 256 };

static struct str text_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return str_of(json_string_value(value), json_string_length(value));
}

/* How many pairs there are; the texts are the document's. */
static size_t pairs_read(const json_t *map, struct label *pairs)
{
	const char *name;
	json_t *value;
	size_t count = 0;

	json_object_foreach((json_t *)map, name, value)
	{
		if (json_is_string(value) && count < PAIRS_MAX)
			pairs[count++] = (struct label){ str_from(name), str_of(json_string_value(value), json_string_length(value)) };
	}
	return count;
}

static int64_t time_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void entry_read(struct outbox *o, const json_t *item, int64_t now_ms)
{
	struct label labels[PAIRS_MAX], annotations[PAIRS_MAX];
	size_t count = pairs_read(json_object_get(item, "labels"), labels);
	struct labels *l = labels_new(labels, count);
	struct notice n = { .labels = l,
		.annotations = { annotations, pairs_read(json_object_get(item, "annotations"), annotations) },
		.resolved = json_is_true(json_object_get(item, "resolved")),
		.starts_ms = time_of(item, "starts_ms"),
		.ends_ms = time_of(item, "ends_ms"),
		.query = text_of(item, "query") };
	struct buf key;

	buf_init(&key, SIZE_MAX / 2);
	labels_print(l, &key);
	/* What this process has said already is newer. */
	if (count && !map_has(&o->entries, buf_str(&key)))
		outbox_put(o, &n, now_ms);
	struct entry *entry = map_get(&o->entries, buf_str(&key));

	if (entry && !entry->sending && entry->notice.starts_ms == n.starts_ms) {
		entry->was_told = json_is_true(json_object_get(item, "was_told"));
		entry->told_resolved = json_is_true(json_object_get(item, "told_resolved"));
		entry->told_ms = time_of(item, "told_ms");
		entry->is_restored = true;
		outbox_set_waiting(o, entry, json_is_true(json_object_get(item, "waiting")));
	}
	buf_fini(&key);
	labels_unref(l);
}

void outbox_document_take(struct outbox_document *d, const char *name, struct outbox *o, int64_t now_ms)
{
	json_t *receivers = json_object_get((json_t *)d, "receivers"), *list = json_object_get(receivers, name), *item;
	size_t i;

	if (!json_is_array(list))
		return;
	json_array_foreach(list, i, item) entry_read(o, item, now_ms);
	o->restored_ms = now_ms;
	json_object_del(receivers, name);
}

struct outbox_document *outbox_document_load(const char *path)
{
	json_error_t why;
	json_t *root = json_load_file(path, 0, &why);

	if (!root)
		log_warning("%s: %s (line %d): alerts that waited are not told", path, why.text, why.line);
	return (struct outbox_document *)root;
}

void outbox_document_free(struct outbox_document *d)
{
	json_decref((json_t *)d);
}
