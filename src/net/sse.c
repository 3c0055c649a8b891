#include "net/sse.h"

enum { MARK_PAST = 4 };
static const char byte_order_mark[] = "\xef\xbb\xbf";

void sse_init(struct sse *s, size_t max)
{
	*s = (struct sse){ 0 };
	buf_init(&s->line, max);
	buf_init(&s->data, max);
}

void sse_fini(struct sse *s)
{
	buf_fini(&s->line);
	buf_fini(&s->data);
}

void sse_reset(struct sse *s)
{
	struct buf line = s->line, data = s->data;

	buf_reset(&line);
	buf_reset(&data);
	*s = (struct sse){ .line = line, .data = data };
}

bool sse_is_inside(const struct sse *s)
{
	return s->line.len || s->has_data || s->type_len;
}

/* Drops the event that is being gathered. */
static void clear_event(struct sse *s)
{
	buf_reset(&s->data);
	s->held = STR_EMPTY;
	s->has_data = s->in_buf = s->clear_first = false;
	s->type_len = 0;
}

static void add_data(struct sse *s, struct str value)
{
	if (!s->has_data) {
		s->has_data = true;
		s->held = value;
		s->too_long |= value.len > s->data.max;
		return;
	}
	if (!s->in_buf) {
		buf_add(&s->data, s->held);
		s->in_buf = true;
	}
	buf_add_c(&s->data, '\n');
	buf_add(&s->data, value);
	s->too_long |= s->data.overflowed;
}

static void take_field(struct sse *s, struct str name, struct str value)
{
	if (str_eq(name, STR("data"))) {
		add_data(s, value);
	} else if (str_eq(name, STR("event"))) {
		s->type_len = (uint8_t)(value.len < sizeof s->type ? value.len : sizeof s->type);
		if (s->type_len)
			memcpy(s->type, value.ptr, s->type_len);
	}
}

/* True when the line ends an event that counts. */
static bool take_line(struct sse *s, struct str line)
{
	ptrdiff_t colon;

	if (!line.len) {
		if (s->has_data)
			return true;
		clear_event(s);
		return false;
	}
	if (line.len > s->line.max) { /* seen sooner where reads are small: nothing of it counts */
		s->too_long = true;
		return false;
	}
	if (line.ptr[0] == ':') {
		s->comments++;
		return false;
	}
	colon = str_find(line, ':');
	if (colon < 0) {
		take_field(s, line, STR_EMPTY);
		return false;
	}
	struct str value = str_skip(line, (size_t)colon + 1);

	if (value.len && value.ptr[0] == ' ')
		value = str_skip(value, 1);
	take_field(s, str_head(line, (size_t)colon), value);
	return false;
}

/* The first LF or CR; -1 = none. */
static ptrdiff_t find_line_end(struct str bytes)
{
	const char *lf = memchr(bytes.ptr, '\n', bytes.len);
	const char *cr = memchr(bytes.ptr, '\r', lf ? (size_t)(lf - bytes.ptr) : bytes.len);

	return cr ? cr - bytes.ptr : lf ? lf - bytes.ptr : -1;
}

/* The input ends: what was borrowed from it is copied. */
static void keep_held(struct sse *s)
{
	if (s->has_data && !s->in_buf) {
		buf_reset(&s->data);
		buf_add(&s->data, s->held);
		s->in_buf = true;
	}
}

static void skip_mark(struct sse *s, struct str *bytes)
{
	while (s->mark < MARK_PAST && bytes->len) {
		if (s->mark < 3 && bytes->ptr[0] == byte_order_mark[s->mark]) {
			s->mark++;
			*bytes = str_skip(*bytes, 1);
			if (s->mark == 3)
				s->mark = MARK_PAST;
		} else {
			buf_add(&s->line, str_of(byte_order_mark, s->mark)); /* it only began like one */
			s->mark = MARK_PAST;
		}
	}
}

/* The next whole line of the input; the unfinished rest is kept. */
static bool next_line(struct sse *s, struct str *bytes, struct str *line)
{
	if (s->after_cr && bytes->len) {
		s->after_cr = false;
		if (bytes->ptr[0] == '\n')
			*bytes = str_skip(*bytes, 1);
	}
	if (!bytes->len)
		return false;
	ptrdiff_t end = find_line_end(*bytes);

	*line = end < 0 ? *bytes : str_head(*bytes, (size_t)end);
	if (end < 0 || s->line.len) {
		buf_add(&s->line, *line);
		s->too_long |= s->line.overflowed;
		*line = buf_str(&s->line);
		if (s->too_long)
			return false;
	}
	if (end < 0) {
		*bytes = STR_EMPTY;
		return false;
	}
	s->after_cr = bytes->ptr[end] == '\r';
	*bytes = str_skip(*bytes, (size_t)end + 1);
	return true;
}

enum sse_status sse_next(struct sse *s, struct str *bytes, struct sse_event *event)
{
	struct str line;

	if (s->clear_first)
		clear_event(s);
	if (s->mark < MARK_PAST)
		skip_mark(s, bytes);
	while (!s->too_long && next_line(s, bytes, &line)) {
		bool from_buf = s->line.len > 0, whole = take_line(s, line);

		if (from_buf) {
			keep_held(s); /* the line's memory is used again */
			buf_reset(&s->line);
		}
		if (whole && !s->too_long) {
			*event = (struct sse_event){ str_of(s->type, s->type_len), s->in_buf ? buf_str(&s->data) : s->held };
			s->clear_first = true;
			return SSE_EVENT;
		}
	}
	if (s->too_long)
		return SSE_TOO_LONG;
	keep_held(s);
	return SSE_MORE;
}
