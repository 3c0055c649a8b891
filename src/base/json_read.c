#include "base/json_read.h"
#include "base/number.h"

void json_reader_init(struct json_reader *r, struct str text)
{
	*r = (struct json_reader){ .at = text.ptr, .start = text.ptr, .end = text.len ? text.ptr + text.len : text.ptr };
}

bool json_read_fault(struct json_reader *r, const char *why)
{
	if (!r->bad) {
		r->bad = r->at ? r->at : "";
		r->why = r->at == r->end ? "the text ends inside a value" : why;
		r->at = r->end;
	}
	return false;
}

static inline void skip_blanks(struct json_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
		r->at++;
}

enum json_kind json_read_peek(struct json_reader *r)
{
	skip_blanks(r);
	if (r->at == r->end)
		return JSON_KIND_NOTHING;
	switch (*r->at) {
	case '{': return JSON_KIND_OBJECT;
	case '[': return JSON_KIND_ARRAY;
	case '"': return JSON_KIND_STRING;
	case 'n': return JSON_KIND_NULL;
	case 't':
	case 'f': return JSON_KIND_BOOL;
	default: return *r->at == '-' || (*r->at >= '0' && *r->at <= '9') ? JSON_KIND_NUMBER : JSON_KIND_NOTHING;
	}
}

static bool open_bracket(struct json_reader *r, char bracket, const char *why)
{
	skip_blanks(r);
	if (r->at == r->end || *r->at != bracket)
		return json_read_fault(r, why);
	if (r->depth == JSON_DEPTH_MAX)
		return json_read_fault(r, "nested too deeply");
	r->at++;
	r->depth++;
	return r->fresh = true;
}

bool json_read_object(struct json_reader *r)
{
	return open_bracket(r, '{', "an object is wanted");
}

bool json_read_array(struct json_reader *r)
{
	return open_bracket(r, '[', "a list is wanted");
}

/* Before the next value of an open bracket: false when it is closed here, or at a fault. */
static bool more_follows(struct json_reader *r, char closing)
{
	skip_blanks(r);
	if (r->at == r->end)
		return json_read_fault(r, "the text ends inside a value");
	if (*r->at == closing) {
		r->at++;
		r->depth--;
		return r->fresh = false;
	}
	if (!r->fresh) {
		if (*r->at != ',')
			return json_read_fault(r, "a comma or a closing bracket is wanted");
		r->at++;
		skip_blanks(r);
	}
	r->fresh = false;
	return true;
}

static inline uint64_t load8(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

/* The high bit of every byte that ends the plain part of a string: a quote, a backslash, a control byte. May also mark bytes behind the
 * first such byte; never misses the first. */
static inline uint64_t special_bytes(uint64_t w)
{
	const uint64_t ones = 0x0101010101010101ULL, highs = 0x8080808080808080ULL;
	uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');

	return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w)) & highs;
}

static inline const char *find_special(const char *at, const char *end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t found = special_bytes(load8(at));

		if (found) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return at + (__builtin_ctzll(found) >> 3);
#else
			break;
#endif
		}
	}
	while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
		at++;
	return at;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The length of the escape at `at`; 0 = none that JSON knows. */
static size_t escape_length(const char *at, const char *end)
{
	if (end - at < 2)
		return 0;
	if (at[1] && strchr("\"\\/bfnrt", at[1]))
		return 2;
	if (at[1] != 'u' || end - at < 6)
		return 0;
	for (int i = 2; i < 6; i++)
		if (!is_hex(at[i]))
			return 0;
	return 6;
}

static bool take_string(struct json_reader *r, struct str *raw, bool *escaped)
{
	const char *from = ++r->at;

	*escaped = false;
	for (;;) {
		r->at = find_special(r->at, r->end);
		if (r->at == r->end)
			return json_read_fault(r, "the text ends inside a string");
		if (*r->at == '"')
			break;
		if (*r->at != '\\')
			return json_read_fault(r, "a control byte inside a string");
		size_t length = escape_length(r->at, r->end);

		if (!length && r->end - r->at < (r->end - r->at > 1 && r->at[1] == 'u' ? 6 : 2)) {
			r->at = r->end;
			return json_read_fault(r, "the text ends inside a string");
		}
		if (!length)
			return json_read_fault(r, "no escape that JSON knows");
		*escaped = true;
		r->at += length;
	}
	*raw = str_of(from, (size_t)(r->at - from));
	r->at++;
	return true;
}

bool json_read_string(struct json_reader *r, struct str *raw, bool *escaped)
{
	bool ignored;

	skip_blanks(r);
	if (r->at == r->end || *r->at != '"')
		return json_read_fault(r, "a text is wanted");
	return take_string(r, raw, escaped ? escaped : &ignored);
}

bool json_read_member(struct json_reader *r, struct str *key)
{
	if (!more_follows(r, '}') || !json_read_string(r, key, NULL))
		return false;
	skip_blanks(r);
	if (r->at == r->end || *r->at != ':')
		return json_read_fault(r, "a colon is wanted after the name");
	r->at++;
	return true;
}

bool json_read_item(struct json_reader *r)
{
	return more_follows(r, ']');
}

static const char *digits(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

/* Digits from `at` on, at least one; NULL with a fault there. */
static const char *some_digits(struct json_reader *r, const char *at, const char *why)
{
	const char *end = digits(at, r->end);

	if (end == at) {
		r->at = at;
		json_read_fault(r, at == r->end ? "the text ends inside a number" : why);
		return NULL;
	}
	return end;
}

/* The number's text, by JSON's grammar. */
static bool take_number(struct json_reader *r, struct str *text)
{
	const char *from = r->at, *at = from;

	if (*at == '-')
		at++;
	if (at + 1 < r->end && *at == '0' && at[1] >= '0' && at[1] <= '9')
		return json_read_fault(r, "a number must not begin with 0");
	if (!(at = some_digits(r, at, "no number that JSON knows")))
		return false;
	if (at < r->end && *at == '.' && !(at = some_digits(r, at + 1, "digits are wanted after the decimal point")))
		return false;
	if (at < r->end && (*at == 'e' || *at == 'E')) {
		at++;
		if (at < r->end && (*at == '+' || *at == '-'))
			at++;
		if (!(at = some_digits(r, at, "digits are wanted in the exponent")))
			return false;
	}
	*text = str_of(from, (size_t)(at - from));
	r->at = at;
	return true;
}

static bool number_text(struct json_reader *r, struct str *text)
{
	return json_read_peek(r) == JSON_KIND_NUMBER ? take_number(r, text) : json_read_fault(r, "a number is wanted");
}

bool json_read_double(struct json_reader *r, double *value)
{
	const char *from = (skip_blanks(r), r->at);
	struct str text;

	if (!number_text(r, &text))
		return false;
	if (number_parse(text, value))
		return true;
	r->at = from;
	return json_read_fault(r, "the number is beyond the largest there is");
}

bool json_read_integer(struct json_reader *r, int64_t *value)
{
	const char *from = (skip_blanks(r), r->at);
	struct str text;

	if (!number_text(r, &text))
		return false;
	if (number_parse_i64(text, value))
		return true;
	r->at = from;
	return json_read_fault(r, "a whole number is wanted");
}

static bool take_word(struct json_reader *r, struct str word)
{
	size_t left = (size_t)(r->end - r->at), common = left < word.len ? left : word.len;

	if (memcmp(r->at, word.ptr, common) != 0)
		return json_read_fault(r, "no value that JSON knows");
	if (common < word.len) {
		r->at = r->end;
		return json_read_fault(r, "the text ends inside a value");
	}
	r->at += word.len;
	return true;
}

bool json_read_bool(struct json_reader *r, bool *value)
{
	if (json_read_peek(r) != JSON_KIND_BOOL)
		return json_read_fault(r, "true or false is wanted");
	*value = *r->at == 't';
	return take_word(r, *value ? STR("true") : STR("false"));
}

bool json_read_null(struct json_reader *r)
{
	return json_read_peek(r) == JSON_KIND_NULL && take_word(r, STR("null"));
}

static void skip_container(struct json_reader *r, bool is_object)
{
	struct str key;

	if (is_object) {
		if (json_read_object(r))
			while (json_read_member(r, &key))
				json_read_skip(r);
	} else if (json_read_array(r)) {
		while (json_read_item(r))
			json_read_skip(r);
	}
}

struct str json_read_skip(struct json_reader *r)
{
	struct str text;
	bool truth;
	enum json_kind kind = json_read_peek(r);
	const char *from = r->at;

	switch (kind) {
	case JSON_KIND_STRING: json_read_string(r, &text, NULL); break;
	case JSON_KIND_NUMBER: take_number(r, &text); break;
	case JSON_KIND_NULL: take_word(r, STR("null")); break;
	case JSON_KIND_BOOL: json_read_bool(r, &truth); break;
	case JSON_KIND_OBJECT:
	case JSON_KIND_ARRAY: skip_container(r, kind == JSON_KIND_OBJECT); break;
	case JSON_KIND_NOTHING: json_read_fault(r, "a value is wanted"); break;
	}
	return r->bad ? STR_EMPTY : str_of(from, (size_t)(r->at - from));
}

bool json_read_end(struct json_reader *r)
{
	if (r->bad)
		return false;
	skip_blanks(r);
	return r->at == r->end ? r->depth == 0 : json_read_fault(r, "something follows the value");
}

static uint32_t hex4(const char *at)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 4 | (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 0x20) - 'a' + 10);
	return value;
}

static void add_rune(struct buf *out, uint32_t rune)
{
	if (rune < 0x80) {
		buf_add_c(out, (char)rune);
		return;
	}
	char bytes[4];
	size_t len = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;

	for (size_t i = len; i-- > 1; rune >>= 6)
		bytes[i] = (char)(0x80 | (rune & 0x3f));
	bytes[0] = (char)((0xf00 >> len & 0xff) | rune);
	buf_add(out, str_of(bytes, len));
}

/* \uXXXX at `at`, or two of them that are one character. Returns the bytes taken. */
static size_t add_unicode(const char *at, const char *end, struct buf *out)
{
	uint32_t rune = hex4(at + 2), low;

	if (rune < 0xd800 || rune > 0xdfff) {
		add_rune(out, rune);
		return 6;
	}
	if (rune < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' && (low = hex4(at + 8)) >= 0xdc00 && low <= 0xdfff) {
		add_rune(out, 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00));
		return 12;
	}
	add_rune(out, 0xfffd);
	return 6;
}

void json_unescape(struct str raw, struct buf *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	if (!raw.len)
		return;
	const char *at = raw.ptr, *end = raw.ptr + raw.len;

	while (at < end) {
		const char *slash = memchr(at, '\\', (size_t)(end - at));

		buf_add(out, str_of(at, (size_t)((slash ? slash : end) - at)));
		if (!slash)
			return;
		if (slash[1] == 'u') {
			at = slash + add_unicode(slash, end, out);
			continue;
		}
		const char *known = strchr(from, slash[1]);

		buf_add_c(out, known ? to[known - from] : slash[1]);
		at = slash + 2;
	}
}
