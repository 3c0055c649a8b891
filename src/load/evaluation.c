#include "load/evaluation.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 26, ITEMS_MAX = 100000 };

/* ---- reading ---- */

struct reading_place {
	struct evaluation_set *set;
	struct str source;
	int line;
	struct error *e;
};

static bool refuse(const struct reading_place *p, const char *why)
{
	error_set(p->e, EXIT_BAD_INPUT, "%s", why);
	error_source(p->e, p->source);
	p->e->line = p->line;
	error_hint(
		p->e, "an item is {\"prompt\": \"...\", \"check\": {\"exact\" | \"contains\" | \"regex\" | \"json\" | \"choice\": ...}}");
	return false;
}

static struct str text_of(struct arena *arena, const json_t *text)
{
	return arena_str(arena, str_of(json_string_value(text), json_string_length(text)));
}

static int dump_add(const char *bytes, size_t size, void *out)
{
	buf_add(out, str_of(bytes, size));
	return 0;
}

/* The messages as JSON text, and the last one's content. */
static bool item_messages(const struct reading_place *p, json_t *root, struct evaluation_item *item)
{
	json_t *messages = json_object_get(root, "messages"), *prompt = json_object_get(root, "prompt"), *last, *content;
	struct buf text;

	buf_init(&text, FILE_MAX);
	if (json_is_string(prompt) && !messages) {
		item->prompt = text_of(&p->set->arena, prompt);
		buf_add_cstr(&text, "[{\"role\":\"user\",\"content\":");
		buf_add_json(&text, item->prompt);
		buf_add_cstr(&text, "}]");
		item->messages = arena_str(&p->set->arena, buf_str(&text));
		buf_fini(&text);
		return true;
	}
	last = json_array_get(messages, json_array_size(messages) - 1);
	content = json_object_get(last, "content");
	if (prompt || !json_is_string(content))
		return refuse(p, "an item needs a \"prompt\" (text) or \"messages\" (a list that ends with one with a text)");
	item->prompt = text_of(&p->set->arena, content);
	json_dump_callback(messages, dump_add, &text, JSON_COMPACT);
	item->messages = arena_str(&p->set->arena, buf_str(&text));
	buf_fini(&text);
	return true;
}

static bool check_contains(const struct reading_place *p, json_t *value, struct evaluation_item *item)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;

	item->parts = ARENA_ARRAY(&p->set->arena, struct str, count ? count : 1);
	for (size_t i = 0; i < count; i++) {
		json_t *part = json_is_array(value) ? json_array_get(value, i) : value;

		if (!json_is_string(part) || !json_string_length(part))
			return refuse(p, "\"contains\" is a text that is not empty, or a list of them");
		item->parts[item->part_count++] = text_of(&p->set->arena, part);
	}
	return count || refuse(p, "\"contains\" is an empty list");
}

static bool check_regex(const struct reading_place *p, struct evaluation_item *item)
{
	struct error why = { 0 };
	char text[400];

	item->regex = regex_search_new(item->wanted, &why);
	if (item->regex)
		return true;
	snprintf(text, sizeof text, "\"regex\" cannot be used: %s", why.message);
	return refuse(p, text);
}

static bool item_check(const struct reading_place *p, json_t *check, struct evaluation_item *item)
{
	static const char *const names[] = { [EVALUATION_EXACT] = "exact",
		[EVALUATION_CONTAINS] = "contains",
		[EVALUATION_REGEX] = "regex",
		[EVALUATION_JSON] = "json",
		[EVALUATION_CHOICE] = "choice" };
	json_t *value = NULL, *equals = json_object_get(check, "equals");
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		json_t *here = json_object_get(check, names[i]);

		if (here)
			found++, value = here, item->check = (enum evaluation_check)i;
	}
	if (found != 1 || json_object_size(check) != found + (equals != NULL) || (equals && item->check != EVALUATION_JSON))
		return refuse(p, "\"check\" has exactly one of exact, contains, regex, json (with \"equals\"), choice");
	if (item->check == EVALUATION_CONTAINS)
		return check_contains(p, value, item);
	if (!json_is_string(value))
		return refuse(p, "the value of a check is a text");
	item->wanted = text_of(&p->set->arena, value);
	item->value = json_incref(equals);
	if (item->check == EVALUATION_CHOICE &&
		(item->wanted.len != 1 || !((item->wanted.ptr[0] | 32) >= 'a' && (item->wanted.ptr[0] | 32) <= 'z')))
		return refuse(p, "\"choice\" is one letter");
	return item->check != EVALUATION_REGEX || check_regex(p, item);
}

static bool item_read(const struct reading_place *p, json_t *root)
{
	static const char *const known[] = { "id", "prompt", "messages", "max_tokens", "check", NULL };
	struct evaluation_item item = { .max_tokens = 256 };
	json_t *id = json_object_get(root, "id"), *most = json_object_get(root, "max_tokens"), *unused;
	const char *key;
	bool ok;

	if (!json_is_object(root))
		return refuse(p, "not an object");
	json_object_foreach(root, key, unused)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return refuse(p, arena_printf(&p->set->arena, "unknown member \"%s\"", key).ptr);
	}
	if (most && (!json_is_integer(most) || json_integer_value(most) < 1 || json_integer_value(most) > 1000000))
		return refuse(p, "\"max_tokens\" is a whole number from 1 to 1000000");
	if (most)
		item.max_tokens = json_integer_value(most);
	item.id = json_is_string(id) ? text_of(&p->set->arena, id) : arena_printf(&p->set->arena, "%zu", p->set->items.count);
	ok = item_messages(p, root, &item) && item_check(p, json_object_get(root, "check"), &item);
	VEC_PUSH(&p->set->items, item); /* also a broken one: what it holds is freed with the set */
	return ok && (p->set->items.count <= ITEMS_MAX || refuse(p, "too many items"));
}

static bool read_lines(struct reading_place *p, struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		json_error_t why;
		json_t *root;
		bool ok;

		p->line++;
		line = str_trim(line);
		if (!line.len)
			continue;
		root = json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, &why);
		ok = root ? item_read(p, root) : refuse(p, arena_printf(&p->set->arena, "not JSON: %s", why.text).ptr);
		json_decref(root);
		if (!ok)
			return false;
	}
	return true;
}

static bool read_list(struct reading_place *p, struct str text)
{
	json_error_t why;
	json_t *root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &why);
	bool ok = true;

	p->line = root ? 0 : why.line;
	if (!root)
		return refuse(p, arena_printf(&p->set->arena, "not JSON: %s", why.text).ptr);
	for (size_t i = 0; ok && i < json_array_size(root); i++) {
		ok = item_read(p, json_array_get(root, i));
	}
	json_decref(root);
	return ok;
}

bool evaluation_parse(struct evaluation_set *set, struct str source, struct str text, struct error *e)
{
	struct reading_place p = { set, source, 0, e };
	bool is_list;

	*set = (struct evaluation_set){ 0 };
	arena_init(&set->arena);
	text = str_trim(text);
	is_list = text.len && text.ptr[0] == '[';
	return (is_list ? read_list(&p, text) : read_lines(&p, text)) && (set->items.count || refuse(&p, "no items"));
}

bool evaluation_read(struct evaluation_set *set, const char *path, struct error *e)
{
	struct arena arena;
	struct str text;
	bool ok;

	*set = (struct evaluation_set){ 0 };
	arena_init(&set->arena);
	arena_init(&arena);
	ok = file_read(&arena, path, FILE_MAX, &text, e);
	if (ok) {
		arena_fini(&set->arena);
		ok = evaluation_parse(set, str_from(path), text, e);
	}
	arena_fini(&arena);
	return ok;
}

void evaluation_free(struct evaluation_set *set)
{
	VEC_EACH (&set->items, item) {
		regex_free(item->regex);
		json_decref(item->value);
	}
	VEC_FREE(&set->items);
	arena_fini(&set->arena);
}

/* ---- judging ---- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static bool holds_nocase(struct str text, struct str part)
{
	for (size_t at = 0; at + part.len <= text.len; at++)
		if (str_eq_nocase(str_of(text.ptr + at, part.len), part))
			return true;
	return false;
}

static bool judge_contains(const struct evaluation_item *item, struct str answer)
{
	for (size_t i = 0; i < item->part_count; i++)
		if (!holds_nocase(answer, item->parts[i]))
			return false;
	return true;
}

static bool is_letter_alone(struct str s, size_t at)
{
	bool before = at && ((lower(s.ptr[at - 1]) >= 'a' && lower(s.ptr[at - 1]) <= 'z') || s.ptr[at - 1] == '\'');
	bool after = at + 1 < s.len && ((lower(s.ptr[at + 1]) >= 'a' && lower(s.ptr[at + 1]) <= 'z') || s.ptr[at + 1] == '\'');

	return lower(s.ptr[at]) >= 'a' && lower(s.ptr[at]) <= 'z' && !before && !after;
}

/* "I think": a capital that stands alone and is no choice. */
static bool is_pronoun(struct str s, size_t at)
{
	return s.ptr[at] == 'I' && at + 2 < s.len && s.ptr[at + 1] == ' ' && s.ptr[at + 2] >= 'a' && s.ptr[at + 2] <= 'z';
}

/* The first capital that stands alone, or letter where the answer is hardly more; in lower case. 0: there is none. */
static char choice_from(struct str answer, size_t from)
{
	for (size_t at = from; at < answer.len; at++)
		if (is_letter_alone(answer, at) && !is_pronoun(answer, at) && (answer.ptr[at] < 'a' || at == 0 || answer.len <= 3))
			return lower(answer.ptr[at]);
	return 0;
}

/* "B", "b)", "(B) because ...", "The answer is B.", "B is the answer": behind the last word "answer", else anywhere. */
static bool judge_choice(const struct evaluation_item *item, struct str answer)
{
	struct str rest = str_trim(answer);
	size_t from = 0;
	char found;

	for (size_t at = 0; at + 6 <= rest.len; at++)
		if (str_eq_nocase(str_of(rest.ptr + at, 6), STR("answer")))
			from = at + 6;
	found = choice_from(rest, from);
	if (!found)
		found = choice_from(rest, 0);
	return found == lower(item->wanted.ptr[0]);
}

/* The answer, its first fenced block, or from its first brace to its last. */
static json_t *json_inside(struct str answer)
{
	ptrdiff_t fence = str_search(answer, STR("```")), open, close;
	json_t *root = json_loadb(answer.ptr, answer.len, JSON_DECODE_ANY, NULL);
	struct str inside = answer;

	if (root)
		return root;
	if (fence >= 0) {
		inside = str_skip(answer, (size_t)fence + 3);
		fence = str_search(inside, STR("```"));
		inside = fence >= 0 ? str_head(inside, (size_t)fence) : inside;
	}
	open = str_find(inside, '{');
	for (close = (ptrdiff_t)inside.len - 1; close > open && inside.ptr[close] != '}'; close--)
		;
	return open >= 0 && close > open ? json_loadb(inside.ptr + open, (size_t)(close - open + 1), 0, NULL) : NULL;
}

/* "a.b.0.c" */
static json_t *json_at(json_t *root, struct str path)
{
	struct str name;

	while (root && str_split(&path, '.', &name)) {
		int64_t index;

		if (json_is_array(root))
			root = number_parse_i64(name, &index) && index >= 0 ? json_array_get(root, (size_t)index) : NULL;
		else
			root = json_object_getn(root, name.ptr, name.len);
	}
	return root;
}

static bool json_same(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b))
		return json_number_value(a) == json_number_value(b);
	return json_equal(a, b);
}

static bool judge_json(const struct evaluation_item *item, struct str answer)
{
	json_t *root = json_inside(answer), *value = json_at(root, item->wanted);
	bool ok = value && (!item->value || json_same(value, item->value));

	json_decref(root);
	return ok;
}

bool evaluation_judge(const struct evaluation_item *item, struct str answer)
{
	size_t start, end;

	switch (item->check) {
	case EVALUATION_EXACT: return str_eq(str_trim(answer), str_trim(item->wanted));
	case EVALUATION_CONTAINS: return judge_contains(item, answer);
	case EVALUATION_REGEX: return regex_find(item->regex, answer, 0, &start, &end);
	case EVALUATION_JSON: return judge_json(item, answer);
	case EVALUATION_CHOICE: return judge_choice(item, answer);
	}
	return false;
}
