#include "scrape/relabel.h"

#include "base/md5.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <wctype.h>

void label_set_init(struct label_set *s, struct arena *scratch)
{
	*s = (struct label_set){ .scratch = scratch };
}

void label_set_fini(struct label_set *s)
{
	VEC_FREE(&s->items);
}

static int by_name(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

void label_set_settle(struct label_set *s)
{
	if (s->items.count)
		qsort(s->items.items, s->items.count, sizeof *s->items.items, by_name);
	s->base_count = s->items.count;
}

void label_set_start(struct label_set *s, const struct label *labels, size_t count)
{
	s->items.count = s->base_count = 0;
	for (size_t i = 0; i < count; i++)
		if (labels[i].value.len)
			VEC_PUSH(&s->items, labels[i]);
	label_set_settle(s);
}

static size_t label_set_index(const struct label_set *s, struct str name)
{
	size_t i = 0;
	while (i < s->items.count && !str_eq(s->items.items[i].name, name))
		i++;
	return i;
}

struct str label_set_get(const struct label_set *s, struct str name)
{
	size_t i = label_set_index(s, name);
	return i < s->items.count ? s->items.items[i].value : STR_EMPTY;
}

static void label_set_cut(struct label_set *s, size_t i)
{
	struct label *items = s->items.items;
	memmove(&items[i], &items[i + 1], (s->items.count - i - 1) * sizeof *items);
	s->items.count--;
	s->base_count -= i < s->base_count;
}

void label_set_remove(struct label_set *s, struct str name)
{
	size_t i = label_set_index(s, name);
	if (i < s->items.count)
		label_set_cut(s, i);
}

void label_set_set(struct label_set *s, struct str name, struct str value)
{
	size_t i = label_set_index(s, name);
	if (i < s->base_count || (i < s->items.count && !value.len)) {
		label_set_cut(s, i);
		i = s->items.count;
	}
	if (!value.len)
		return;
	if (i < s->items.count)
		s->items.items[i].value = value;
	else
		VEC_PUSH(&s->items, (struct label){ name, value });
}

/* The source labels' values, joined. */
static struct str source_text(const struct relabel_rule *rule, const struct label_set *s)
{
	struct str only = rule->source_count == 1 ? label_set_get(s, rule->source[0]) : STR_EMPTY;
	if (rule->source_count <= 1)
		return only.ptr ? only : STR("");
	struct buf text;
	buf_init(&text, SIZE_MAX);
	for (size_t i = 0; i < rule->source_count; i++) {
		if (i)
			buf_add(&text, rule->separator);
		buf_add(&text, label_set_get(s, rule->source[i]));
	}
	struct str kept = arena_str(s->scratch, buf_str(&text));
	buf_fini(&text);
	return kept;
}

/* The template with the groups of the match; false when the text does not match. */
static bool expand(const struct relabel_rule *rule, const struct label_set *s, struct str text, struct str template, struct str *out)
{
	struct buf b;
	buf_init(&b, SIZE_MAX);
	bool matched = regex_expand(rule->re, text, template, &b);
	*out = matched ? arena_str(s->scratch, buf_str(&b)) : STR_EMPTY;
	buf_fini(&b);
	return matched;
}

static void replace(const struct relabel_rule *rule, struct label_set *s, struct str text)
{
	struct str target, value;
	if (!expand(rule, s, text, rule->target, &target) || !target.len || !str_is_utf8(target))
		return;
	expand(rule, s, text, rule->replacement, &value);
	label_set_set(s, target, value);
}

static void hashmod(const struct relabel_rule *rule, struct label_set *s, struct str text)
{
	uint8_t digest[16];
	uint64_t number = 0;
	md5(text.ptr, text.len, digest);
	for (int i = 8; i < 16; i++)
		number = number << 8 | digest[i];
	label_set_set(s, rule->target, arena_printf(s->scratch, "%" PRIu64, number % rule->modulus));
}

static locale_t letters; /* all of Unicode's, whatever the process's locale */

static void letters_open(void)
{
	letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
}

static uint32_t change_rune(uint32_t rune, bool upper)
{
	if (rune < 0x80 || !letters) {
		bool other = upper ? rune >= 'a' && rune <= 'z' : rune >= 'A' && rune <= 'Z';
		return other ? rune ^ 0x20 : rune;
	}
	return (uint32_t)(upper ? towupper_l((wint_t)rune, letters) : towlower_l((wint_t)rune, letters));
}

static size_t put_rune(char *out, uint32_t rune)
{
	size_t more = rune < 0x80 ? 0 : rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
	static const unsigned char heads[] = { 0, 0xc0, 0xe0, 0xf0 };
	out[0] = (char)(heads[more] | rune >> (6 * more));
	for (size_t i = 1; i <= more; i++)
		out[i] = (char)(0x80 | (rune >> (6 * (more - i)) & 0x3f));
	return more + 1;
}

/* As Go's ToLower and ToUpper: letter by letter. */
static struct str change_case(struct arena *arena, struct str text, bool upper)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *out = arena_alloc(arena, text.len * 4 + 1);
	size_t done = 0, length;
	uint32_t rune;
	pthread_once(&once, letters_open);
	for (; (length = str_rune(text, &rune)); text = str_skip(text, length))
		done += put_rune(out + done, rune == STR_RUNE_INVALID ? 0xfffd : change_rune(rune, upper));
	out[done] = '\0';
	return str_of(out, done);
}

/* New names come after the walk over the old ones, as in Prometheus. */
static void labelmap(const struct relabel_rule *rule, struct label_set *s)
{
	size_t count = s->items.count;
	struct label *before = ARENA_ARRAY(s->scratch, struct label, count + 1);
	if (count)
		memcpy(before, s->items.items, count * sizeof *before);
	for (size_t i = 0; i < count; i++) {
		struct str name;
		if (expand(rule, s, before[i].name, rule->replacement, &name))
			label_set_set(s, name, before[i].value);
	}
}

static void labels_filter(const struct relabel_rule *rule, struct label_set *s, bool matching_go)
{
	for (size_t i = s->items.count; i > 0; i--)
		if (regex_match(rule->re, s->items.items[i - 1].name) == matching_go)
			label_set_cut(s, i - 1);
}

static bool rule_apply(const struct relabel_rule *rule, struct label_set *s)
{
	struct str text = source_text(rule, s);
	switch (rule->action) {
	case RELABEL_REPLACE: replace(rule, s, text); break;
	case RELABEL_KEEP: return regex_match(rule->re, text);
	case RELABEL_DROP: return !regex_match(rule->re, text);
	case RELABEL_KEEP_EQUAL: return str_eq(label_set_get(s, rule->target), text);
	case RELABEL_DROP_EQUAL: return !str_eq(label_set_get(s, rule->target), text);
	case RELABEL_HASHMOD: hashmod(rule, s, text); break;
	case RELABEL_LABELMAP: labelmap(rule, s); break;
	case RELABEL_LABELDROP: labels_filter(rule, s, true); break;
	case RELABEL_LABELKEEP: labels_filter(rule, s, false); break;
	case RELABEL_LOWERCASE: label_set_set(s, rule->target, change_case(s->scratch, text, false)); break;
	case RELABEL_UPPERCASE: label_set_set(s, rule->target, change_case(s->scratch, text, true)); break;
	}
	return true;
}

bool relabel_apply(const struct relabel *r, struct label_set *s)
{
	for (size_t i = 0; i < r->count; i++)
		if (!rule_apply(&r->rules[i], s))
			return false;
	return true;
}
