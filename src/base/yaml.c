#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/yaml_document.h"

#include <math.h>

size_t yaml_offset(struct str text, size_t line, size_t column)
{
	size_t at = 0;

	for (; line; line--) {
		ptrdiff_t end = str_find(str_skip(text, at), '\n');

		if (end < 0)
			return text.len;
		at += (size_t)end + 1;
	}
	for (; column && at < text.len && text.ptr[at] != '\n'; column--) {
		uint32_t rune;

		at += str_rune(str_skip(text, at), &rune);
	}
	return at;
}

bool yaml_is_null(const struct yaml *node)
{
	if (node->kind != YAML_SCALAR || node->quoted)
		return false;
	return node->text.len == 0 || str_is(node->text, "~") || str_eq_nocase(node->text, STR("null"));
}

struct yaml *yaml_get(const struct yaml *map, const char *key)
{
	struct str name = str_from(key);

	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (struct yaml *member = map->first; member; member = member->next) {
		if (str_eq(member->key, name))
			return member;
	}
	return NULL;
}

static const char *kind_name(const struct yaml *node)
{
	return node->kind == YAML_LIST ? "a list" : node->kind == YAML_MAP ? "a map" : node->quoted ? "quoted text" : "text";
}

bool yaml_error(const struct yaml *node, struct error *e, const char *format, ...)
{
	char message[sizeof e->message];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	size_t offset = yaml_offset(node->document->text, (size_t)node->line - 1, (size_t)node->column - 1);

	return error_at(e, node->document->source, node->document->text, offset, "%s", message);
}

/* Where byte `at` of a literal block's text is in the document. Its lines are those below the '|', less their indentation. */
static size_t block_offset(const struct yaml *node, size_t at)
{
	struct str document = node->document->text, text = str_head(node->text, at);
	size_t lines = 0, column = text.len;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\n') {
			lines++;
			column = text.len - i - 1;
		}
	}
	size_t start = yaml_offset(document, (size_t)node->line + lines, 0), indent = start;

	while (indent < document.len && document.ptr[indent] == ' ')
		indent++;
	struct str rest = str_skip(node->text, at - column), line;

	/* a line may begin with blanks of its own: the indentation is what is too much */
	str_split(&rest, '\n', &line);
	while (line.len && line.ptr[0] == ' ' && indent > start) {
		line = str_skip(line, 1);
		indent--;
	}
	return indent + column < document.len ? indent + column : document.len;
}

bool yaml_error_in(const struct yaml *node, size_t at, struct error *e, const char *format, ...)
{
	struct str document = node->document->text;
	size_t offset = yaml_offset(document, (size_t)node->line - 1, (size_t)node->column - 1);
	char message[sizeof e->message];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	if (offset < document.len && document.ptr[offset] == '|' && at <= node->text.len)
		offset = block_offset(node, at);
	return error_at(e, node->document->source, document, offset, "%s", message);
}

/* The member when it is there and not null. */
static const struct yaml *member_given(const struct yaml *map, const char *key)
{
	const struct yaml *member = yaml_get(map, key);

	return member && !yaml_is_null(member) ? member : NULL;
}

bool yaml_get_str(const struct yaml *map, const char *key, struct str *value, struct error *e)
{
	const struct yaml *member = member_given(map, key);

	if (!member)
		return true;
	if (member->kind != YAML_SCALAR)
		return yaml_error(member, e, "\"%s\" must be text, not %s", key, kind_name(member));
	*value = member->text;
	return true;
}

static bool wrong_type(const struct yaml *member, struct error *e, const char *key, const char *wanted)
{
	if (member->kind != YAML_SCALAR)
		return yaml_error(member, e, "\"%s\" must be %s, not %s", key, wanted, kind_name(member));
	yaml_error(member, e, "\"%s\" must be %s, not %s \"%.*s\"", key, wanted, kind_name(member),
		(int)(member->text.len < 60 ? member->text.len : 60), member->text.ptr);
	if (member->quoted)
		error_hint(e, "remove the quotes");
	return false;
}

bool yaml_get_double(const struct yaml *map, const char *key, double *value, struct error *e)
{
	const struct yaml *member = member_given(map, key);

	if (!member)
		return true;
	if (member->kind == YAML_SCALAR && !member->quoted) {
		bool negative = str_starts(member->text, STR("-"));
		struct str word = str_skip(member->text, negative || str_starts(member->text, STR("+")));

		if (number_parse(member->text, value))
			return true;
		if (str_eq_nocase(word, STR(".inf"))) {
			*value = negative ? -INFINITY : INFINITY;
			return true;
		}
		if (str_eq_nocase(member->text, STR(".nan"))) {
			*value = number_nan();
			return true;
		}
	}
	return wrong_type(member, e, key, "a number");
}

bool yaml_get_bool(const struct yaml *map, const char *key, bool *value, struct error *e)
{
	static const char *const words[][2] = { { "false", "true" }, { "no", "yes" }, { "off", "on" } };
	const struct yaml *member = member_given(map, key);

	if (!member)
		return true;
	for (size_t i = 0; member->kind == YAML_SCALAR && !member->quoted && i < ARRAY_LEN(words) * 2; i++) {
		if (str_eq_nocase(member->text, str_from(words[i / 2][i % 2]))) {
			*value = i % 2;
			return true;
		}
	}
	return wrong_type(member, e, key, "true or false");
}

static const char *nearest_known(struct str key, const char *const *known)
{
	const char *nearest = NULL;
	size_t limit = key.len < 6 ? 2 : 3, least = limit + 1;

	for (; *known; known++) {
		size_t distance = str_distance(key, str_from(*known), limit);

		if (distance < least) {
			least = distance;
			nearest = *known;
		}
	}
	return nearest;
}

static void hint_known(struct error *e, struct str key, const char *const *known)
{
	const char *nearest = nearest_known(key, known);
	struct buf names;

	if (nearest) {
		error_hint(e, "did you mean \"%s\"?", nearest);
		return;
	}
	buf_init(&names, 4096);
	for (const char *const *at = known; *at; at++)
		buf_printf(&names, "%s%s", at == known ? "" : ", ", *at);
	error_hint(e, "known here: %s", buf_cstr(&names));
	buf_fini(&names);
}

bool yaml_only(const struct yaml *map, const char *const *known, struct error *e)
{
	YAML_EACH (map, member) {
		const char *const *at = known;

		while (*at && !str_is(member->key, *at))
			at++;
		if (*at)
			continue;
		struct yaml key = { .document = member->document, .line = member->key_line, .column = member->key_column };

		yaml_error(&key, e, "unknown key \"%.*s\"", (int)(member->key.len < 80 ? member->key.len : 80), member->key.ptr);
		hint_known(e, member->key, known);
		return false;
	}
	return true;
}
