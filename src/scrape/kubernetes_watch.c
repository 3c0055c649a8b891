#include "scrape/kubernetes_watch.h"

#include <stdio.h>
#include <string.h>

enum { LINE_MAX_BYTES = 32 << 20 };

void kubernetes_collection_init(struct kubernetes_collection *c)
{
	*c = (struct kubernetes_collection){ .objects = json_object() };
	buf_init(&c->line, LINE_MAX_BYTES);
}

void kubernetes_collection_fini(struct kubernetes_collection *c)
{
	json_decref(c->objects);
	buf_fini(&c->line);
}

static const char *meta_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, "metadata"), key));

	return text ? text : "";
}

/* False: it has no name. */
static bool key_of(const json_t *object, char *key, size_t size)
{
	int length = snprintf(key, size, "%s/%s", meta_text(object, "namespace"), meta_text(object, "name"));

	return meta_text(object, "name")[0] && (size_t)length < size;
}

static void version_take(struct kubernetes_collection *c, const json_t *of)
{
	const char *version = meta_text(of, "resourceVersion");

	if (version[0] && strlen(version) < sizeof c->version)
		memcpy(c->version, version, strlen(version) + 1);
}

static void object_set(struct kubernetes_collection *c, json_t *object)
{
	char key[640];

	if (key_of(object, key, sizeof key))
		json_object_set(c->objects, key, object);
}

bool kubernetes_collection_page(
	struct kubernetes_collection *c, bool is_first, struct str body, char *next, size_t next_size, struct error *e)
{
	json_error_t why;
	json_t *page = json_loadb(body.ptr ? body.ptr : "", body.len, 0, &why), *item;
	const json_t *items = json_object_get(page, "items");
	size_t i;
	bool ok = page && (json_is_array(items) || json_is_null(items));

	if (!ok) {
		error_set(e, EXIT_BAD_INPUT, "the Kubernetes API's answer is no list%s%s", page ? "" : ": ", page ? "" : why.text);
	} else if (snprintf(next, next_size, "%s", meta_text(page, "continue")) >= (int)next_size) {
		ok = error_set(e, EXIT_BAD_INPUT, "the Kubernetes API's list has a token that is too long");
	} else {
		if (is_first)
			json_object_clear(c->objects);
		json_array_foreach(items, i, item) object_set(c, item);
		version_take(c, page);
	}
	json_decref(page);
	return ok;
}

static void event_apply(struct kubernetes_collection *c, const json_t *event)
{
	const char *type = json_string_value(json_object_get(event, "type"));
	json_t *object = json_object_get(event, "object");
	char key[640];

	if (!type || !json_is_object(object)) {
		c->is_listed = false;
		return;
	}
	if (strcmp(type, "BOOKMARK") == 0) {
		version_take(c, object);
	} else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0) {
		object_set(c, object);
		version_take(c, object);
		c->has_changed = true;
	} else if (strcmp(type, "DELETED") == 0) {
		if (key_of(object, key, sizeof key))
			json_object_del(c->objects, key);
		version_take(c, object);
		c->has_changed = true;
	} else {
		c->is_listed = false; /* ERROR: usually 410, the version is gone */
	}
}

static void line_apply(struct kubernetes_collection *c, struct str line)
{
	json_t *event;

	if (!str_trim(line).len)
		return;
	event = json_loadb(line.ptr, line.len, 0, NULL);
	event_apply(c, event);
	json_decref(event);
}

void kubernetes_collection_feed(struct kubernetes_collection *c, struct str bytes)
{
	ptrdiff_t end;

	while (c->is_listed && (end = str_find(bytes, '\n')) >= 0) {
		buf_add(&c->line, str_head(bytes, (size_t)end));
		if (c->line.overflowed)
			c->is_listed = false;
		else
			line_apply(c, buf_str(&c->line));
		buf_reset(&c->line);
		bytes = str_skip(bytes, (size_t)end + 1);
	}
	buf_add(&c->line, bytes);
	if (c->line.overflowed)
		c->is_listed = false;
}

void kubernetes_collection_watch(struct kubernetes_collection *c)
{
	buf_reset(&c->line);
}
