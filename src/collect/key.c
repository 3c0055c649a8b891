/* The JSON text of a key: [family, sample, {labels}, help]. A small reader of its own, since a key is read where 8,000 of them are new at
 * once, and since what json.loads refuses must be refused here. */
#include "collect/internal.h"

struct cursor {
	struct arena *arena;
	const struct key *before; /* plain; or NULL */
	struct str rest;
	bool plain; /* no escape and no control byte in all of it */
};

static bool take_after_blanks(struct cursor *c, char wanted)
{
	const char *at = c->rest.ptr, *end = at + c->rest.len;

	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	bool found = at < end && *at == wanted;

	at += found;
	c->rest = str_of(at, (size_t)(end - at));
	return found;
}

/* json.dumps puts one blank behind commas and colons, and none elsewhere. */
static inline bool take(struct cursor *c, char wanted)
{
	size_t blank = c->rest.len && c->rest.ptr[0] == ' ';

	if (c->rest.len <= blank || c->rest.ptr[blank] != wanted)
		return take_after_blanks(c, wanted);
	c->rest = str_of(c->rest.ptr + blank + 1, c->rest.len - blank - 1);
	return true;
}

static bool hex4(struct str s, uint32_t *unit)
{
	*unit = 0;
	if (s.len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		char c = s.ptr[i];
		uint32_t digit = c >= '0' && c <= '9'                 ? (uint32_t)(c - '0')
				 : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a') + 10
								      : 16;

		if (digit > 15)
			return false;
		*unit = *unit << 4 | digit;
	}
	return true;
}

static size_t utf8_put(uint32_t rune, char *to)
{
	if (rune < 0x80) {
		to[0] = (char)rune;
		return 1;
	}
	if (rune < 0x800) {
		to[0] = (char)(0xc0 | rune >> 6);
		to[1] = (char)(0x80 | (rune & 63));
		return 2;
	}
	size_t at = 0;

	if (rune >= 0x10000) {
		to[at++] = (char)(0xf0 | rune >> 18);
		to[at++] = (char)(0x80 | (rune >> 12 & 63));
	} else {
		to[at++] = (char)(0xe0 | rune >> 12);
	}
	to[at++] = (char)(0x80 | (rune >> 6 & 63));
	to[at++] = (char)(0x80 | (rune & 63));
	return at;
}

/* Behind "\u". A surrogate that stands alone cannot be printed as UTF-8. */
static bool unicode_escape(struct cursor *c, uint32_t *rune)
{
	uint32_t low;

	if (!hex4(c->rest, rune))
		return false;
	c->rest = str_skip(c->rest, 4);
	if (*rune < 0xd800 || *rune > 0xdfff)
		return true;
	if (*rune > 0xdbff || !str_starts(c->rest, STR("\\u")) || !hex4(str_skip(c->rest, 2), &low) || low < 0xdc00 || low > 0xdfff)
		return false;
	c->rest = str_skip(c->rest, 6);
	*rune = 0x10000 + ((*rune - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static bool escape(struct cursor *c, char *to, size_t *len)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	uint32_t rune;

	if (!c->rest.len)
		return false;
	char name = c->rest.ptr[0];
	const char *known = name ? strchr(names, name) : NULL;

	c->rest = str_skip(c->rest, 1);
	if (known) {
		to[(*len)++] = bytes[known - names];
		return true;
	}
	if (name != 'u' || !unicode_escape(c, &rune))
		return false;
	*len += utf8_put(rune, to + *len);
	return true;
}

/* A string with escapes, from `start` on; never longer decoded than written. */
static bool text_decode(struct cursor *c, struct str start, struct str *text)
{
	char *to = arena_alloc(c->arena, start.len + 1);
	size_t len = 0;

	c->rest = start;
	while (c->rest.len) {
		char byte = c->rest.ptr[0];

		c->rest = str_skip(c->rest, 1);
		if (byte == '"') {
			to[len] = '\0';
			*text = str_of(to, len);
			return true;
		}
		if ((unsigned char)byte < ' ' || (byte == '\\' && !escape(c, to, &len)))
			return false;
		if (byte != '\\')
			to[len++] = byte;
	}
	return false;
}

static bool take_text(struct cursor *c, struct str *text)
{
	size_t len = 0;

	if (!take(c, '"'))
		return false;
	if (c->plain) {
		const char *end = c->rest.len ? memchr(c->rest.ptr, '"', c->rest.len) : NULL;

		if (!end)
			return false;
		*text = str_head(c->rest, (size_t)(end - c->rest.ptr));
		c->rest = str_skip(c->rest, text->len + 1);
		return true;
	}
	while (len < c->rest.len && c->rest.ptr[len] != '"' && c->rest.ptr[len] != '\\' && (unsigned char)c->rest.ptr[len] >= ' ')
		len++;
	if (len == c->rest.len || c->rest.ptr[len] != '"')
		return text_decode(c, c->rest, text);
	*text = str_head(c->rest, len);
	c->rest = str_skip(c->rest, len + 1);
	return true;
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

static inline bool any_set(bytes16 v)
{
	words2 words = (words2)v;

	return (words[0] | words[1]) != 0;
}

/* The 16 bytes from `at` on; the last 16 where fewer are left; all of a shorter text, with `filler` behind it. */
static inline bytes16 bytes_load(struct str text, size_t at, uint8_t filler)
{
	bytes16 v = (bytes16){ 0 } + filler;

	if (text.len < sizeof v)
		memcpy(&v, text.ptr, text.len);
	else
		memcpy(&v, text.ptr + (at < text.len - sizeof v ? at : text.len - sizeof v), sizeof v);
	return v;
}

/* As label_name_is_classic, for names by the thousand. */
static bool is_classic(struct str name, bool metric)
{
	const uint8_t colon = metric ? ':' : '_';
	bytes16 odd = { 0 };

	if (!name.len || (name.ptr[0] >= '0' && name.ptr[0] <= '9'))
		return false;
	for (size_t at = 0; at < name.len; at += sizeof odd) {
		bytes16 v = bytes_load(name, at, '_');
		bytes16 known = (bytes16)((v | 32) - 'a' < 26) | (bytes16)(v - '0' < 10) | (bytes16)(v == '_');

		odd |= ~(known | (bytes16)(v == colon));
	}
	return !any_set(odd);
}

/* What no exposition format can hold becomes '_', as prometheus_client 0.22 and later print it. */
static struct str name_escape(struct arena *arena, struct str name, bool metric)
{
	uint32_t rune;

	if (is_classic(name, metric) || !name.len)
		return name;
	char *to = arena_alloc(arena, name.len + 2);
	size_t len = 0;

	for (size_t at = 0, step; (step = str_rune(str_skip(name, at), &rune)); at += step) {
		bool digit = rune >= '0' && rune <= '9', letter = (rune | 32) >= 'a' && (rune | 32) <= 'z';

		bool fits = (letter && rune < 128) || (digit && len) || (metric && rune == ':');

		to[len++] = fits ? (char)rune : '_';
	}
	return str_of(to, len);
}

/* Sorted by name; of a name given twice the last one wins, as in a Python dict. */
static void label_insert(struct key_parts *p, struct label *labels, const struct label *l)
{
	uint32_t at = p->label_count;
	int order = 1;

	while (at && (order = str_cmp(labels[at - 1].name, l->name)) > 0)
		at--;
	if (at && order == 0) {
		labels[at - 1].value = l->value;
		p->plain = false;
		return;
	}
	if (at < p->label_count)
		memmove(&labels[at + 1], &labels[at], (p->label_count - at) * sizeof *labels);
	labels[at] = *l;
	p->label_count++;
}

enum { LABELS_MAX = 256 };

/* The label of the key before, at this place, if it is written here again. Name and value of a plain key's label stand as they were
 * written, one behind the other. */
static const struct label *take_again(struct cursor *c, uint32_t at)
{
	size_t blank = c->rest.len && c->rest.ptr[0] == ' ';

	if (!c->plain || !c->before || at >= c->before->label_count)
		return NULL;
	const struct label *l = &c->before->labels[at];
	struct str written = str_of(l->name.ptr - 1, l->name.len + l->value.len + 6);

	if (!str_starts(str_skip(c->rest, blank), written))
		return NULL;
	c->rest = str_skip(c->rest, blank + written.len);
	return l;
}

static const char *take_label(struct cursor *c, struct key_parts *p, struct label *labels)
{
	struct label l;

	if (!take_text(c, &l.name) || !take(c, ':'))
		return "the labels are no JSON object";
	if (!take_text(c, &l.value))
		return "a label's value is no text";
	if (p->label_count == LABELS_MAX)
		return "more than 256 labels";
	l.name = name_escape(c->arena, l.name, false);
	p->plain = p->plain && l.value.ptr == l.name.ptr + l.name.len + strlen("\": \"");
	label_insert(p, labels, &l);
	return NULL;
}

static const char *take_pairs(struct cursor *c, struct key_parts *p)
{
	struct label found[LABELS_MAX + 1], *labels;
	uint32_t again = 0;

	do {
		const struct label *same = take_again(c, p->label_count);
		const char *why = same ? NULL : take_label(c, p, found);

		if (why)
			return why;
		if (same)
			label_insert(p, found, same);
		again += same != NULL;
	} while (take(c, ','));
	if (p->plain && c->before && again == p->label_count && again == c->before->label_count) {
		p->labels = c->before->labels;
		return NULL;
	}
	labels = arena_alloc(c->arena, p->label_count * sizeof *labels);
	memcpy(labels, found, p->label_count * sizeof *labels);
	p->labels = labels;
	return NULL;
}

static const char *take_labels(struct cursor *c, struct key_parts *p)
{
	size_t len = c->rest.len;
	const char *why;

	if (!take(c, '{'))
		return "the third element is no object of labels";
	p->head += (uint32_t)(len - c->rest.len);
	p->tail = (uint32_t)c->rest.len;
	if (take(c, '}'))
		return NULL;
	if ((why = take_pairs(c, p)))
		return why;
	p->tail = (uint32_t)c->rest.len;
	return take(c, '}') ? NULL : "the labels are no JSON object";
}

/* 16 bytes at a time: is any above 127, or a backslash or control byte? Nearly every key has neither. */
static void text_scan(struct str text, bool *ascii, bool *plain)
{
	bytes16 high = { 0 }, odd = { 0 };

	for (size_t at = 0; at < text.len; at += sizeof high) {
		bytes16 v = bytes_load(text, at, ' ');

		high |= v;
		odd |= (bytes16)(v < ' ') | (bytes16)(v == '\\');
	}
	*ascii = !any_set(high & 0x80);
	*plain = !any_set(odd);
}

static struct str labels_written(const struct key *key)
{
	return str_of(key->text.ptr + key->head, key->text.len - key->head - key->tail);
}

bool key_is_alike(const struct key *key, struct str text)
{
	return key->plain && text.len >= key->head + key->tail && memcmp(text.ptr, key->text.ptr, key->head) == 0 &&
	       memcmp(text.ptr + text.len - key->tail, key->text.ptr + key->text.len - key->tail, key->tail) == 0;
}

/* False when it is no plain text of labels that stands between what both have. */
static bool parse_alike(struct arena *arena, struct str text, const struct key *before, const struct key *alike, struct key_parts *p)
{
	struct cursor c = { .arena = arena, .before = before && before->plain ? before : NULL };
	bool ascii;

	*p = (struct key_parts){ .family = alike->family->name, .sample = alike->sample, .help = alike->help, .plain = true };
	p->head = alike->head;
	p->tail = alike->tail;
	c.rest = str_of(text.ptr + p->head, text.len - p->head - p->tail);
	if (c.before && str_eq(c.rest, labels_written(before))) {
		p->labels = before->labels;
		p->label_count = before->label_count;
		return true;
	}
	text_scan(c.rest, &ascii, &c.plain);
	return ascii && c.plain && !take_pairs(&c, p) && !c.rest.len;
}

const char *key_parse(struct arena *arena, struct str text, const struct key *before, const struct key *alike, struct key_parts *p)
{
	struct cursor c = { .arena = arena, .before = before && before->plain ? before : NULL, .rest = text };
	bool ascii;

	if (alike && parse_alike(arena, text, before, alike, p))
		return NULL;
	*p = (struct key_parts){ 0 };
	text_scan(text, &ascii, &c.plain);
	p->plain = c.plain;
	if (!ascii && !str_is_utf8(text))
		return "the key is not UTF-8";
	if (!take(&c, '['))
		return "the key is no JSON array";
	if (!take_text(&c, &p->family) || !take(&c, ',') || !take_text(&c, &p->sample) || !take(&c, ','))
		return "the key does not begin with two names";
	/* [family, sample, [names], [values]] of releases before 0.4, and of GitLab's. */
	p->foreign = c.rest.len && str_starts(str_trim(c.rest), STR("["));
	if (p->foreign)
		return "keys as prometheus_client before 0.4 and prometheus-client-mmap write them";
	p->head = (uint32_t)(text.len - c.rest.len);
	const char *why = take_labels(&c, p);

	if (why)
		return why;
	p->foreign = take(&c, ']') && !str_trim(c.rest).len;
	if (p->foreign)
		return "keys without a help text, as prometheus_client 0.4 to 0.15 writes them";
	if (!take(&c, ',') || !take_text(&c, &p->help) || !take(&c, ']') || str_trim(c.rest).len)
		return "the key does not end with a help text";
	if (!p->family.len || !p->sample.len)
		return "the key has an empty name";
	p->family = name_escape(arena, p->family, true);
	p->sample = name_escape(arena, p->sample, true);
	return NULL;
}
