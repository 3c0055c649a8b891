/* fuzz_store: what a store reads back from its file. Input: 't' + the times of a chunk; 's' + the size of the summary in two bytes, the
 * summary and the data of a section over times of 0 .. 99 (list 0) and 0, 2 .. 98 (list 1); 'c' + a deflated blob; 'r' + values, eight
 * bytes each, that are packed and must come back bit for bit; 'd' + the size of a digest's entries in two bytes, a number of columns, the
 * entries, a section of the digest.
 *
 * Damaged bytes give an error, never a read outside; what is accepted is packed again and must read the same. */
#include "base/mem.h"
#include "store/compress.h"
#include "store/digest.h"
#include "store/section.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

enum { ROWS = 100, COLUMNS = 64 };

static void fuzz_times(struct str packed, struct arena *arena)
{
	size_t count, again_count;
	struct times_list *lists = times_unpack(packed, arena, &count), *again;
	struct buf out;

	if (!lists)
		return;
	buf_init(&out, (size_t)1 << 30);
	times_pack(lists, count, &out);
	again = times_unpack(buf_str(&out), arena, &again_count);
	REQUIRE(again && again_count == count);
	for (size_t i = 0; i < count; i++)
		REQUIRE(again[i].count == lists[i].count && memcmp(again[i].t, lists[i].t, lists[i].count * sizeof *lists[i].t) == 0);
	buf_fini(&out);
}

/* Some rows read alone are those of all. */
static void compare_rows(
	const struct section *section, struct str data, double *const *all, const struct times_list *lists, struct arena *arena)
{
	static const uint32_t wanted[] = { 0, 1, 7, 31, 32, 33, 64, 98, 99 };
	double **out = ARENA_ARRAY(arena, double *, section->count + 1);
	size_t rows = 0;

	while (rows < sizeof wanted / sizeof *wanted && wanted[rows] < lists[0].count)
		rows++;
	for (size_t i = 0; i < section->count; i++)
		if (section_list(section, i) == 0 && i % 3)
			out[i] = arena_alloc(arena, rows * sizeof(double));
	REQUIRE(section_rows(section, data, wanted, rows, out, arena));
	for (size_t i = 0; i < section->count; i++)
		for (size_t k = 0; out[i] && k < rows; k++)
			REQUIRE(memcmp(&out[i][k], &all[i][wanted[k]], sizeof(double)) == 0);
}

static double **read_section(
	struct str summary, struct str data, const struct times_list *lists, size_t *count, struct section *section, struct arena *arena)
{
	if (!section_open(section, summary, lists, 2, arena))
		return NULL;
	*count = section->count;
	double **out = ARENA_ARRAY(arena, double *, *count + 1);
	for (size_t i = 0; i < *count; i++) {
		(void)section_summary(section, i);
		if (section_list(section, i) != SECTION_ABSENT)
			out[i] = arena_alloc(arena, lists[section_list(section, i)].count * sizeof(double));
	}
	if (!section_values(section, data, lists, out, arena))
		return NULL;
	compare_rows(section, data, out, lists, arena);
	return out;
}

static void pack_again(
	double *const *values, const struct section *section, size_t count, const struct times_list *lists, struct arena *arena)
{
	struct column *columns = ARENA_ARRAY(arena, struct column, count + 1);
	struct buf summary, packed;
	struct section again;
	size_t again_count;

	for (size_t i = 0; i < count; i++)
		if (values[i])
			columns[i] = (struct column){ values[i], section_list(section, i), i % 2 };
	buf_init(&summary, (size_t)1 << 30);
	buf_init(&packed, (size_t)1 << 30);
	section_pack(columns, count, lists, &summary, &packed);
	double **out = read_section(buf_str(&summary), buf_str(&packed), lists, &again_count, &again, arena);
	REQUIRE(out && again_count == count);
	for (size_t i = 0; i < count; i++) {
		REQUIRE(!out[i] == !values[i]);
		REQUIRE(!out[i] || memcmp(out[i], values[i], lists[columns[i].list].count * sizeof(double)) == 0);
	}
	buf_fini(&summary);
	buf_fini(&packed);
}

static void fuzz_section(struct str input, const struct times_list *lists, struct arena *arena)
{
	struct section section;
	size_t count, size = input.len < 2 ? 0 : (uint8_t)input.ptr[0] | (size_t)(uint8_t)input.ptr[1] << 8;

	input = str_skip(input, 2);
	double **values = read_section(str_head(input, size), str_skip(input, size), lists, &count, &section, arena);
	if (values)
		pack_again(values, &section, count, lists, arena);
}

/* The entries, their size in two bytes before them; then a section of so many columns. */
static void fuzz_digest(struct str input, struct arena *arena)
{
	size_t size = input.len < 3 ? 0 : (uint8_t)input.ptr[0] | (size_t)(uint8_t)input.ptr[1] << 8,
	       columns = input.len < 3 ? 1 : (uint8_t)input.ptr[2] % 32;
	struct digest_head *head = digest_head_unpack(str_head(str_skip(input, 3), size), arena), *again;
	bool above[32] = { false };
	struct buf out;

	if (!head)
		return;
	buf_init(&out, (size_t)1 << 30);
	digest_head_pack(head, &out);
	again = digest_head_unpack(buf_str(&out), arena);
	REQUIRE(again && memcmp(again, head, sizeof *head) == 0);
	struct digest_section *s = digest_section_unpack(str_skip(input, 3 + size), columns, head->count, arena), *same;
	if (s) {
		buf_reset(&out);
		digest_section_pack(s, above, head->count, &out);
		same = digest_section_unpack(buf_str(&out), columns, head->count, arena);
		REQUIRE(same);
		for (size_t i = 0; i < columns; i++)
			REQUIRE(same->columns[i].look == s->columns[i].look && same->columns[i].falls == s->columns[i].falls &&
				memcmp(same->columns[i].ends, s->columns[i].ends, head->count * 2 * sizeof(double)) == 0);
	}
	buf_fini(&out);
}

static void fuzz_values(struct str input, const struct times_list *lists, struct arena *arena)
{
	size_t rows = input.len / sizeof(double) < ROWS ? input.len / sizeof(double) : ROWS, count = input.len / sizeof(double) / ROWS + 1;
	struct section section = { 0 };
	struct times_list cut[2] = { { lists[0].t, (uint32_t)rows }, lists[1] };

	count = count < COLUMNS ? count : COLUMNS;
	if (!rows)
		return;
	double **values = ARENA_ARRAY(arena, double *, count);
	struct column *columns = ARENA_ARRAY(arena, struct column, count);
	struct buf summary, packed;
	size_t read;
	for (size_t i = 0; i < count; i++) {
		values[i] = arena_zalloc(arena, rows, sizeof(double));
		size_t from = i * rows * sizeof(double),
		       left = input.len - from < rows * sizeof(double) ? input.len - from : rows * sizeof(double);
		memcpy(values[i], input.ptr + from, left);
		columns[i] = (struct column){ values[i], 0, i % 3 != 0 };
	}
	buf_init(&summary, (size_t)1 << 30);
	buf_init(&packed, (size_t)1 << 30);
	section_pack(columns, count, cut, &summary, &packed);
	double **out = read_section(buf_str(&summary), buf_str(&packed), cut, &read, &section, arena);
	REQUIRE(out && read == count);
	for (size_t i = 0; i < count; i++)
		REQUIRE(memcmp(out[i], values[i], rows * sizeof(double)) == 0);
	buf_fini(&summary);
	buf_fini(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = str_skip(str_of((const char *)data, size), 1), plain;
	struct arena arena;
	int64_t all[ROWS], even[ROWS / 2];

	if (!size)
		return 0;
	arena_init(&arena);
	for (int i = 0; i < ROWS; i++) {
		all[i] = i;
		even[i / 2] = i / 2 * 2;
	}
	const struct times_list lists[] = { { all, ROWS }, { even, ROWS / 2 } };
	/* In its own block, so that reading beyond it is seen. */
	char *body = mem_copy(input.len ? input.ptr : "", input.len);
	input.ptr = mem_resize(body, input.len + !input.len, 1);
	switch (data[0]) {
	case 't': fuzz_times(input, &arena); break;
	case 's': fuzz_section(input, lists, &arena); break;
	case 'r': fuzz_values(input, lists, &arena); break;
	case 'd': fuzz_digest(input, &arena); break;
	case 'c': {
		struct compressor *c = compressor_new(false);
		(void)compressor_unpack(c, input, &plain);
		compressor_free(c);
		break;
	}
	}
	mem_free((char *)(uintptr_t)input.ptr);
	arena_fini(&arena);
	return 0;
}
