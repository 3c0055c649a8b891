/* The steady state: a page whose text between the numbers is that of the page before. */
#include "expo/reader.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
static inline __m128i load(const char *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* A bit for each of 32 bytes. */
static inline uint32_t equal_bits(const char *a, const char *b)
{
	uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(load(a), load(b)));
	uint32_t high = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(load(a + 16), load(b + 16)));

	return low | high << 16;
}

static inline uint32_t feed_bits(const char *at)
{
	__m128i feed = _mm_set1_epi8('\n');
	uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(load(at), feed));
	uint32_t high = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(load(at + 16), feed));

	return low | high << 16;
}

/* Both texts have READ_AHEAD readable bytes behind them. */
static inline bool same_text(const char *a, const char *b, size_t length)
{
	__m128i same = _mm_set1_epi8(-1);
	size_t at = 0;

	for (; at + 32 <= length; at += 32) {
		same = _mm_and_si128(same, _mm_cmpeq_epi8(load(a + at), load(b + at)));
		same = _mm_and_si128(same, _mm_cmpeq_epi8(load(a + at + 16), load(b + at + 16)));
	}
	uint32_t differs = ~equal_bits(a + at, b + at) & ((1u << (length - at)) - 1);

	return _mm_movemask_epi8(same) == 0xffff && !differs;
}

static inline bool same_number(const char *at, const struct line *line)
{
	return line->number_len && !(~equal_bits(at, line->number) & (uint32_t)((2ULL << line->number_len) - 1));
}

/* The length of what precedes the line feed; 32 when it is farther off. */
static inline size_t length_to_feed(const char *at)
{
	return __builtin_ctzll(feed_bits(at) | 1ULL << 32);
}
#else
static inline bool same_text(const char *a, const char *b, size_t length)
{
	return memcmp(a, b, length) == 0;
}

static inline bool same_number(const char *at, const struct line *line)
{
	return line->number_len && memcmp(at, line->number, line->number_len + 1u) == 0;
}

static inline size_t length_to_feed(const char *at)
{
	const char *feed = memchr(at, '\n', 32);

	return feed ? (size_t)(feed - at) : 32;
}
#endif

static bool set_sample(struct expo_reader *r, const struct line *line, double value)
{
	if (line->sample != LINE_NO_SAMPLE)
		r->samples.items[line->sample].value = value;
	return true;
}

/* A line with a time, an exemplar or blanks behind the value; or one that had them. */
static bool read_tail(struct expo_reader *r, struct grammar *g, const struct line *line)
{
	struct sample_tail tail;

	if (!grammar_tail(g, line->record->name, &tail, &r->exemplar_text))
		return false;
	/* Whether a sample is a second one depends on its having an own time. */
	if (line->timed != (tail.t_ms != EXPO_NO_TIME))
		return false;
	if (line->sample != LINE_NO_SAMPLE) {
		r->samples.items[line->sample].t_ms = tail.t_ms;
		if (tail.has_exemplar)
			reader_add_exemplar(r, (size_t)line->sample, &tail);
	}
	return set_sample(r, line, tail.value);
}

/* From the value, which is `length` bytes before a line feed, to behind that. */
static bool read_number(struct expo_reader *r, struct grammar *g, struct line *line, size_t length)
{
	double value;

	if (length > LINE_NUMBER_MAX || line->timed || !value_parse(str_of(g->at, length), &value)) {
		line->number_len = 0;
		return read_tail(r, g, line);
	}
	memcpy(line->number, g->at, length);
	line->number[length] = '\n';
	line->number_len = (uint8_t)length;
	g->at += length + 1;
	return set_sample(r, line, value);
}

/* Near the end of the page, where reading ahead would leave it. */
static bool read_last_line(struct expo_reader *r, struct grammar *g, struct line *line)
{
	size_t left = (size_t)(g->end - g->at);

	if (left < line->text_len || memcmp(g->at, r->memory.text.ptr + line->text, line->text_len) != 0)
		return false;
	g->at += line->text_len;
	const char *feed = memchr(g->at, '\n', left - line->text_len);

	if (!feed) {
		line->number_len = 0;
		return read_tail(r, g, line);
	}
	return read_number(r, g, line, (size_t)(feed - g->at));
}

bool reader_read_fast(struct expo_reader *r, struct grammar *g)
{
	struct memory *m = &r->memory;

	VEC_EACH (&m->lines, line) {
		size_t left = (size_t)(g->end - g->at);

		if (left < line->text_len + (size_t)READ_AHEAD) {
			if (!read_last_line(r, g, line))
				return false;
			continue;
		}
		if (!same_text(g->at, m->text.ptr + line->text, line->text_len))
			return false;
		g->at += line->text_len;
		if (same_number(g->at, line)) {
			g->at += line->number_len + 1;
			continue;
		}
		if (!read_number(r, g, line, length_to_feed(g->at)))
			return false;
	}
	return (size_t)(g->end - g->at) == m->tail_len && memcmp(g->at, m->text.ptr + m->tail, m->tail_len) == 0;
}
