#include "base/map.h"
#include "base/yaml_document.h"

#include <yaml.h>

enum { DEPTH_MAX = 64, NODES_MAX = 1000000, LINEAR_KEYS_MAX = 16 };

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; deleted when the next is read */
	bool event_held;
	struct arena *arena, *texts;
	struct yaml_document *document;
	struct error *error;
	size_t nodes;
};

static bool reader_error(struct reader *r, yaml_mark_t mark, const char *problem, const char *hint)
{
	size_t offset = yaml_offset(r->document->text, mark.line, mark.column);

	error_at(r->error, r->document->source, r->document->text, offset, "%s", problem);
	if (hint)
		error_hint(r->error, "%s", hint);
	return false;
}

static bool reader_parser_error(struct reader *r)
{
	yaml_parser_t *parser = &r->parser;
	const char *problem = parser->problem ? parser->problem : "not readable as YAML";

	if (parser->error == YAML_READER_ERROR) {
		error_at(r->error, r->document->source, r->document->text, parser->problem_offset, "not valid YAML: %s", problem);
		return false;
	}
	size_t offset = yaml_offset(r->document->text, parser->problem_mark.line, parser->problem_mark.column);

	error_at(r->error, r->document->source, r->document->text, offset, "not valid YAML: %s%s%s", problem, parser->context ? ", " : "",
		parser->context ? parser->context : "");
	if (offset < r->document->text.len && r->document->text.ptr[offset] == '\t')
		error_hint(r->error, "YAML indents with blanks; replace the tab");
	else if (parser->context && parser->context_mark.line != parser->problem_mark.line)
		error_hint(r->error, "it begins in line %zu", parser->context_mark.line + 1);
	return false;
}

static bool reader_next(struct reader *r)
{
	if (r->event_held)
		yaml_event_delete(&r->event);
	r->event_held = yaml_parser_parse(&r->parser, &r->event) != 0;
	return r->event_held ? true : reader_parser_error(r);
}

/* Members that only carry memory structure or types are refused: nothing that we read needs them, and what a reader sees
 * is what is meant. */
static bool reader_check_plain(struct reader *r)
{
	const yaml_event_t *event = &r->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_ALIAS_EVENT: return reader_error(r, event->start_mark, "aliases (*name) are not supported", "write the value out");
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	default: break;
	}
	if (anchor)
		return reader_error(r, event->start_mark, "anchors (&name) are not supported", "write the value out where it is needed");
	if (tag)
		return reader_error(r, event->start_mark, "tags (!type) are not supported", "remove the tag");
	return true;
}

static struct yaml *node_new(struct reader *r, enum yaml_kind kind)
{
	struct yaml *node = ARENA_NEW(r->arena, struct yaml);

	node->kind = kind;
	node->document = r->document;
	node->line = (int)r->event.start_mark.line + 1;
	node->column = (int)r->event.start_mark.column + 1;
	return node;
}

static struct str event_text(const struct reader *r)
{
	return str_of((const char *)r->event.data.scalar.value, r->event.data.scalar.length);
}

static struct yaml *read_node(struct reader *r, int depth);

static bool read_list(struct reader *r, struct yaml *list, int depth)
{
	struct yaml **tail = &list->first;

	for (;;) {
		if (!reader_next(r))
			return false;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return true;
		*tail = read_node(r, depth + 1);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
		list->count++;
	}
}

/* The earlier member of this key, or NULL. Few keys are compared one by one; `seen` is filled when there are more. */
static const struct yaml *key_seen(struct map *seen, const struct yaml *map, struct str key)
{
	if (map->count < LINEAR_KEYS_MAX) {
		YAML_EACH (map, member) {
			if (str_eq(member->key, key))
				return member;
		}
		return NULL;
	}
	if (map->count == LINEAR_KEYS_MAX) {
		for (struct yaml *member = map->first; member; member = member->next)
			map_set(seen, member->key, member);
	}
	return map_get(seen, key);
}

static bool read_key(struct reader *r, const struct yaml *map, struct map *seen, struct str *key)
{
	if (!reader_check_plain(r))
		return false;
	if (r->event.type != YAML_SCALAR_EVENT)
		return reader_error(r, r->event.start_mark, "a key must be plain text, not a list or map", NULL);
	if (event_text(r).len == 0)
		return reader_error(r, r->event.start_mark, "a key is missing before ':'", NULL);
	const struct yaml *earlier = key_seen(seen, map, event_text(r));

	if (earlier) {
		char problem[200];

		snprintf(problem, sizeof problem, "key \"%.120s\" is given twice; the first is in line %d", earlier->key.ptr,
			earlier->key_line);
		return reader_error(r, r->event.start_mark, problem, "keep one of them");
	}
	*key = arena_str(r->texts, event_text(r));
	return true;
}

static bool read_members(struct reader *r, struct yaml *map, struct map *seen, int depth)
{
	struct yaml **tail = &map->first;

	for (;;) {
		struct str key;

		if (!reader_next(r))
			return false;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return true;
		if (!read_key(r, map, seen, &key))
			return false;
		yaml_mark_t mark = r->event.start_mark;
		struct yaml *member = reader_next(r) ? read_node(r, depth + 1) : NULL;

		if (!member)
			return false;
		member->key = key;
		member->key_line = (int)mark.line + 1;
		member->key_column = (int)mark.column + 1;
		*tail = member;
		tail = &member->next;
		if (map->count++ >= LINEAR_KEYS_MAX)
			map_set(seen, key, member);
	}
}

static bool read_map(struct reader *r, struct yaml *map, int depth)
{
	struct map seen;

	map_init(&seen);
	bool ok = read_members(r, map, &seen, depth);

	map_fini(&seen);
	return ok;
}

/* The node that starts at the current event; NULL with an error. */
static struct yaml *read_node(struct reader *r, int depth)
{
	struct yaml *node = NULL;
	bool ok = false;

	if (!reader_check_plain(r))
		return NULL;
	if (depth > DEPTH_MAX || ++r->nodes > NODES_MAX) {
		reader_error(r, r->event.start_mark,
			depth > DEPTH_MAX ? "nested deeper than 64 levels" : "more than 1,000,000 values in one document", NULL);
		return NULL;
	}
	switch (r->event.type) {
	case YAML_SCALAR_EVENT:
		node = node_new(r, YAML_SCALAR);
		node->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		node->text = arena_str(r->texts, event_text(r));
		ok = true;
		break;
	case YAML_SEQUENCE_START_EVENT:
		node = node_new(r, YAML_LIST);
		ok = read_list(r, node, depth);
		break;
	case YAML_MAPPING_START_EVENT:
		node = node_new(r, YAML_MAP);
		ok = read_map(r, node, depth);
		break;
	default: reader_error(r, r->event.start_mark, "a value is missing here", NULL); break;
	}
	return ok ? node : NULL;
}

static struct yaml *empty_map(struct reader *r)
{
	struct yaml *map = ARENA_NEW(r->arena, struct yaml);

	*map = (struct yaml){ .kind = YAML_MAP, .line = 1, .column = 1, .document = r->document };
	return map;
}

static struct yaml *read_document(struct reader *r)
{
	/* The stream's start, then the document's. */
	if (!reader_next(r) || !reader_next(r))
		return NULL;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return empty_map(r);
	struct yaml *root = reader_next(r) ? read_node(r, 1) : NULL;

	if (!root)
		return NULL;
	/* The document's end, then the stream's. */
	if (!reader_next(r) || !reader_next(r))
		return NULL;
	if (r->event.type != YAML_STREAM_END_EVENT) {
		reader_error(r, r->event.start_mark, "a second document starts here; one is expected", "put it into a file of its own");
		return NULL;
	}
	return yaml_is_null(root) ? empty_map(r) : root;
}

struct yaml *yaml_parse(struct arena *arena, struct str source, struct str text, struct error *e)
{
	return yaml_parse_apart(arena, arena, source, text, e);
}

struct yaml *yaml_parse_apart(struct arena *arena, struct arena *texts, struct str source, struct str text, struct error *e)
{
	struct reader r = { .arena = arena, .texts = texts, .error = e };
	struct yaml *root = NULL;

	if (str_starts(text, STR("\xef\xbb\xbf"))) /* the encoding is fixed, so libyaml does not skip the mark */
		text = str_skip(text, 3);
	r.document = ARENA_NEW(arena, struct yaml_document);
	r.document->source = arena_str(arena, source);
	r.document->text = arena_str(arena, text);
	if (!yaml_parser_initialize(&r.parser)) {
		error_set(e, EXIT_INTERNAL, "out of memory while reading YAML");
		return NULL;
	}
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.document->text.ptr, text.len);
	root = read_document(&r);
	if (r.event_held)
		yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return root;
}
