#include "openai/words.h"

#include "base/mem.h"

static const char *const vocabulary[] = { "the", "of", "and", "a", "to", "in", "is", "that", "it", "was", "for", "on", "are", "with", "as",
	"at", "be", "this", "from", "have", "or", "by", "one", "not", "but", "what", "all", "when", "can", "there", "each", "which", "do",
	"how", "if", "will", "up", "other", "about", "out", "many", "then", "them", "these", "so", "some", "would", "make", "like", "into",
	"time", "has", "look", "two", "more", "write", "go", "see", "number", "way", "could", "people", "than", "first", "water", "been",
	"call", "who", "its", "now", "find", "long", "down", "day", "did", "get", "come", "made", "may", "part" };

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 27;
	x *= UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

void words_add(struct buf *out, uint64_t seed, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		uint64_t draw = mix(seed + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15));

		if (i % 16 == 15) {
			buf_add_c(out, '.');
			continue;
		}
		if (i)
			buf_add_c(out, ' ');
		buf_add_cstr(out, vocabulary[draw % ARRAY_LEN(vocabulary)]);
	}
}

/* Earliest end of a stop string that lies in the text after `from` bytes; 0 = none. */
static size_t find_stop(struct str text, size_t from, const struct str *stops, size_t count, size_t *start)
{
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		size_t begin = from >= stops[i].len ? from - stops[i].len + 1 : 0;
		ptrdiff_t at = str_search(str_skip(text, begin), stops[i]);
		size_t end = at < 0 ? 0 : begin + (size_t)at + stops[i].len;

		if (end && (!best || end < best)) {
			best = end;
			*start = end - stops[i].len;
		}
	}
	return best;
}

struct words_end words_find_stop(uint64_t seed, uint32_t tokens, uint32_t keep, const struct str *stops, size_t stop_count, bool include)
{
	struct words_end end = { .tokens = tokens, .bytes = SIZE_MAX };
	struct buf text;
	size_t start = 0, stop;

	if (!stop_count)
		return end;
	buf_init(&text, SIZE_MAX / 2);
	for (uint32_t i = 0; i < tokens && !end.stopped; i++) {
		size_t before = text.len;

		words_add(&text, seed, i, i + 1);
		stop = i + 1 >= keep ? find_stop(buf_str(&text), before, stops, stop_count, &start) : 0;
		if (stop)
			end = (struct words_end){ i + 1, include ? stop : start, true };
	}
	buf_fini(&text);
	return end;
}
