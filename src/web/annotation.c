#include "web/annotation.h"

#include "base/buf.h"
#include "base/mem.h"
#include "compare/capacity.h"

#include <jansson.h>
#include <math.h>

enum { TEXT_MOST = 2000, LABELS_MOST = 16, AGE_MOST_MS = 3600000 };

static bool refuse(struct error *e, const char *text)
{
	return error_set(e, EXIT_BAD_INPUT, "%s", text);
}

static bool add_text(struct labels_builder *b, struct arena *arena, const char *name, const json_t *value, struct error *e)
{
	struct str text = str_of(json_string_value(value), json_string_length(value));

	if (!text.ptr || text.len > TEXT_MOST)
		return error_set(e, EXIT_BAD_INPUT, "\"%s\" is not a text of at most %d bytes", name, TEXT_MOST);
	labels_builder_set(b, arena_str(arena, str_from(name)), arena_str(arena, text));
	return true;
}

static bool add_tags(struct labels_builder *b, struct arena *arena, const json_t *tags, struct error *e)
{
	struct buf joined;
	size_t i;
	json_t *tag;

	if (!json_is_array(tags) || json_array_size(tags) > LABELS_MOST)
		return refuse(e, "\"tags\" is not a list of at most 16 texts");
	buf_init(&joined, TEXT_MOST);
	json_array_foreach(tags, i, tag)
	{
		if (i)
			buf_add_c(&joined, ',');
		buf_add_cstr(&joined, json_is_string(tag) ? json_string_value(tag) : "");
	}
	bool fits = !joined.overflowed;

	if (fits)
		labels_builder_set(b, STR("tags"), arena_str(arena, buf_str(&joined)));
	buf_fini(&joined);
	return fits || refuse(e, "\"tags\" are too long");
}

static bool add_labels(struct labels_builder *b, struct arena *arena, json_t *labels, struct error *e)
{
	const char *name;
	json_t *value;

	if (!json_is_object(labels) || json_object_size(labels) > LABELS_MOST)
		return refuse(e, "\"labels\" is not an object of at most 16 texts");
	json_object_foreach(labels, name, value)
	{
		if (!label_name_is_classic(str_from(name), false) || strncmp(name, "__", 2) == 0)
			return error_set(e, EXIT_BAD_INPUT, "\"%.100s\" cannot be the name of a label", name);
		if (!add_text(b, arena, name, value, e))
			return false;
	}
	return true;
}

static bool time_of(const json_t *value, const char *name, int64_t now_ms, int64_t *t_ms, struct error *e)
{
	double seconds = json_number_value(value);

	if (!json_is_number(value) || !(fabs(seconds) < 1e11))
		return error_set(e, EXIT_BAD_INPUT, "\"%s\" is not a time in unix seconds", name);
	*t_ms = llround(seconds * 1000);
	if (*t_ms > now_ms + AGE_MOST_MS || *t_ms < now_ms - AGE_MOST_MS)
		return error_set(e, EXIT_BAD_INPUT, "\"%s\" is more than an hour away from now", name);
	return true;
}

static bool read_object(struct annotation *a, struct arena *arena, json_t *root, int64_t now_ms, struct labels_builder *b, struct error *e)
{
	static const char *const known[] = { "text", "tags", "labels", "time", "end" };
	json_t *tags = json_object_get(root, "tags"), *labels = json_object_get(root, "labels"), *time = json_object_get(root, "time"),
	       *end = json_object_get(root, "end");
	int64_t end_ms = 0;
	const char *key;
	json_t *value;

	if (!json_is_object(root))
		return refuse(e, "an annotation is a JSON object: {\"text\": \"...\"}");
	json_object_foreach(root, key, value)
	{
		size_t i = 0;

		while (i < ARRAY_LEN(known) && strcmp(key, known[i]) != 0)
			i++;
		if (i == ARRAY_LEN(known))
			return error_set(e, EXIT_BAD_INPUT, "unknown member \"%.100s\": text, tags, labels, time and end are known", key);
	}
	a->t_ms = now_ms;
	if (labels && !add_labels(b, arena, labels, e))
		return false;
	if (!add_text(b, arena, "text", json_object_get(root, "text"), e) || (tags && !add_tags(b, arena, tags, e)) ||
		(time && !time_of(time, "time", now_ms, &a->t_ms, e)) || (end && !time_of(end, "end", now_ms, &end_ms, e)))
		return false;
	if (end && end_ms < a->t_ms)
		return refuse(e, "\"end\" is before \"time\"");
	a->value = end ? (double)end_ms / 1000 : 1;
	labels_builder_set(b, LABEL_NAME, str_from(annotation_metric));
	a->labels = labels_builder_build(b);
	return true;
}

bool annotation_read(struct annotation *a, struct arena *arena, struct str text, int64_t now_ms, struct error *e)
{
	struct labels_builder *b = NEW(struct labels_builder);
	json_error_t why;
	json_t *root = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &why);
	bool ok;

	*a = (struct annotation){ 0 };
	labels_builder_init(b, NULL);
	if (root)
		ok = read_object(a, arena, root, now_ms, b, e);
	else
		ok = error_set(e, EXIT_BAD_INPUT, "%d:%d: not JSON: %s", why.line, why.column, why.text);
	json_decref(root);
	mem_free(b);
	return ok;
}
