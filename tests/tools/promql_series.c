#include "base/number.h"
#include "promql/syntax.h"
#include "promql_script.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct str skip_blanks(struct str s)
{
	while (s.len && is_blank(s.ptr[0]))
		s = str_skip(s, 1);
	return s;
}

/* ---- labels ---- */

static size_t quoted_length(struct str s)
{
	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] == '\\' && s.ptr[0] != '`')
			i++;
		else if (s.ptr[i] == s.ptr[0])
			return i + 1;
	}
	return 0;
}

static bool read_quoted(struct arena *arena, struct str *rest, struct str *value, struct error *e)
{
	char why[SYNTAX_WHY] = "";
	size_t len = rest->len && strchr("\"'`", rest->ptr[0]) ? quoted_length(*rest) : 0;
	if (!len || !syntax_unquote(arena, str_head(*rest, len), value, why))
		return error_set(e, EXIT_BAD_INPUT, "bad quoted text %s", why);
	*rest = skip_blanks(str_skip(*rest, len));
	return true;
}

static struct str read_name(struct str *rest)
{
	size_t len = 0;
	while (len < rest->len && !is_blank(rest->ptr[len]) && !strchr("{}=,\"", rest->ptr[len]))
		len++;
	struct str name = str_head(*rest, len);
	*rest = skip_blanks(str_skip(*rest, len));
	return name;
}

static bool read_pair(struct arena *arena, struct str *rest, struct labels_builder *b, struct error *e)
{
	struct str name, value;
	if (rest->len && rest->ptr[0] == '"') {
		if (!read_quoted(arena, rest, &name, e))
			return false;
	} else {
		name = read_name(rest);
	}
	if (!rest->len || rest->ptr[0] != '=') { /* "metric name" alone */
		labels_builder_set(b, LABEL_NAME, name);
		return true;
	}
	*rest = skip_blanks(str_skip(*rest, 1));
	if (!read_quoted(arena, rest, &value, e))
		return false;
	labels_builder_set(b, name, value);
	return true;
}

static bool read_labels(struct arena *arena, struct str *rest, struct labels **labels, struct error *e)
{
	struct labels_builder b;
	labels_builder_init(&b, NULL);
	if (rest->len && rest->ptr[0] != '{')
		labels_builder_set(&b, LABEL_NAME, read_name(rest));
	if (rest->len && rest->ptr[0] == '{' && !str_starts(*rest, STR("{{"))) {
		*rest = skip_blanks(str_skip(*rest, 1));
		while (rest->len && rest->ptr[0] != '}') {
			if (!read_pair(arena, rest, &b, e))
				return false;
			if (rest->len && rest->ptr[0] == ',')
				*rest = skip_blanks(str_skip(*rest, 1));
			else if (rest->len && rest->ptr[0] != '}')
				return error_set(e, EXIT_BAD_INPUT, "bad labels");
		}
		*rest = skip_blanks(str_skip(*rest, 1));
	}
	*labels = labels_builder_build(&b);
	return true;
}

/* ---- values ---- */

/* A blank ends an item, but not inside {{ }}. */
static struct str next_item(struct str *rest)
{
	size_t len = 0, depth = 0;
	while (len < rest->len && (depth || !is_blank(rest->ptr[len]))) {
		depth += rest->ptr[len] == '{';
		depth -= depth && rest->ptr[len] == '}';
		len++;
	}
	struct str item = str_head(*rest, len);
	*rest = skip_blanks(str_skip(*rest, len));
	return item;
}

static bool read_float(struct str s, double *value)
{
	if (str_is(s, "stale")) {
		*value = number_stale();
		return true;
	}
	return number_parse(s, value);
}

/* "a+b": where the second number starts; an exponent's sign is none. */
static size_t increment_at(struct str s)
{
	for (size_t i = 1; i < s.len; i++)
		if ((s.ptr[i] == '+' || s.ptr[i] == '-') && (s.ptr[i - 1] | 0x20) != 'e')
			return i;
	return 0;
}

static ptrdiff_t last_index(struct str s, char c)
{
	ptrdiff_t at = (ptrdiff_t)s.len - 1;
	while (at >= 0 && s.ptr[at] != c)
		at--;
	return at;
}

static bool add_floats(struct described_series *out, struct str item, int64_t times, struct error *e)
{
	double value, increment = 0;
	size_t at = increment_at(item);
	if (!read_float(at ? str_head(item, at) : item, &value) || (at && !number_parse(str_skip(item, at), &increment)))
		return error_set(e, EXIT_BAD_INPUT, "bad value \"" STR_FMT "\"", STR_ARG(item));
	for (int64_t i = 0; i <= times; i++, value += increment)
		VEC_PUSH(&out->points, (struct point){ POINT_FLOAT, value });
	return true;
}

static bool add_item(struct described_series *out, struct str item, struct error *e)
{
	int64_t times = 0;
	bool native = str_starts(item, STR("{{"));
	ptrdiff_t x = last_index(item, 'x'), brace = last_index(item, '}');
	if (x >= 0 && x > brace) {
		if (!number_parse_i64(str_skip(item, (size_t)x + 1), &times) || times < 0 || times > 1000000)
			return error_set(e, EXIT_BAD_INPUT, "bad repetition \"" STR_FMT "\"", STR_ARG(item));
		item = str_head(item, (size_t)x);
	}
	if (str_is(item, "_")) {
		for (int64_t i = 0; i < (x >= 0 ? times : 1); i++)
			VEC_PUSH(&out->points, (struct point){ POINT_NONE, 0 });
		return true;
	}
	if (!native)
		return add_floats(out, item, times, e);
	out->has_native = true;
	for (int64_t i = 0; i <= times; i++)
		VEC_PUSH(&out->points, (struct point){ POINT_NATIVE, 0 });
	return true;
}

bool described_series_init(struct described_series *s, struct arena *arena, struct str line, struct error *e)
{
	*s = (struct described_series){ 0 };
	struct str rest = line, first = line;
	first = next_item(&rest);
	rest = line;
	if (str_ends(first, STR("@st"))) {
		s->start_times = true;
		return true;
	}
	if (!read_labels(arena, &rest, &s->labels, e))
		return false;
	while (rest.len)
		if (!add_item(s, next_item(&rest), e))
			return false;
	return true;
}

void described_series_fini(struct described_series *s)
{
	labels_unref(s->labels);
	VEC_FREE(&s->points);
}
