#include "base/number.h"
#include "expo/remote_write.h"
#include "expo/snappy.h"
#include "store/store.h"
#include "unit.h"

static void snappy_returns(struct str text)
{
	struct buf packed, unpacked;
	struct error e = { 0 };
	buf_init(&packed, SIZE_MAX);
	buf_init(&unpacked, SIZE_MAX);
	snappy_encode(text, &packed);
	assert_true(packed.len <= text.len + text.len / 60 + 10);
	assert_true(snappy_decode(buf_str(&packed), text.len, &unpacked, &e));
	assert_int_equal(unpacked.len, text.len);
	if (text.len)
		assert_memory_equal(unpacked.ptr, text.ptr, text.len);
	buf_fini(&packed);
	buf_fini(&unpacked);
}

static void test_snappy_returns(void **state)
{
	size_t size = 200000;
	char *text = mem_zalloc(size, 1);
	uint32_t seed = 1;
	snappy_returns(STR(""));
	snappy_returns(STR("a"));
	snappy_returns(str_of(text, size)); /* one run */
	for (int noise = 1; noise <= 256; noise *= 4) {
		for (size_t i = 0; i < size; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = (char)((seed >> 16) % (uint32_t)noise);
		}
		snappy_returns(str_of(text, size));
		for (size_t length = 1; length < 200; length += 7)
			snappy_returns(str_of(text, length));
	}
	mem_free(text);
}

/* Blocks as the format's description gives them: every kind of element. */
static void test_snappy_reads(void **state)
{
	static const struct {
		struct str block;
		const char *text;
	} rows[] = {
		{ STR("\x00"), "" },
		{ STR("\x03\x08"
		      "abc"),
			"abc" },
		{ STR("\x08\x04"
		      "ab\x09\x02\x00"),
			NULL }, /* breaks off */
		{ STR("\x08\x04"
		      "ab\x09\x02"),
			"abababab" }, /* 11-bit offset, overlapping */
		{ STR("\x06\x08"
		      "abc\x0a\x03\x00"),
			"abcabc" }, /* 16-bit offset */
		{ STR("\x06\x08"
		      "abc\x0b\x03\x00\x00\x00"),
			"abcabc" }, /* 32-bit offset */
		{ STR("\x02\xf0\x01"
		      "ab"),
			"ab" },            /* a length of its own byte */
		{ STR("\x03\x08"), NULL }, /* no literal */
		{ STR("\x06\x08"
		      "abc\x0a\x04\x00"),
			NULL }, /* from before the beginning */
		{ STR("\x06\x08"
		      "abc\x0a\x00\x00"),
			NULL }, /* from itself */
		{ STR("\x04\x08"
		      "abc"),
			NULL }, /* shorter than it says */
		{ STR("\x02\x08"
		      "abc"),
			NULL },                        /* longer */
		{ STR("\xff\xff\xff\xff\x7f"), NULL }, /* a length that cannot be */
		{ STR("\xff\xff\xff\x0f\x00"), NULL },
		{ STR(""), NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out;
		struct error e = { 0 };
		buf_init(&out, SIZE_MAX);
		assert_int_equal(snappy_decode(rows[i].block, 1 << 20, &out, &e), rows[i].text != NULL);
		if (rows[i].text)
			assert_str(buf_str(&out), rows[i].text);
		else
			assert_true(e.set && out.len == 0);
		buf_fini(&out);
	}
}

struct fixture {
	struct store *store;
	struct remote_receiver *receiver;
	struct remote_tally tally;
	struct error error;
	struct buf message, body;
};

static int setup(void **state)
{
	struct fixture *f = NEW(struct fixture);
	f->store = store_new();
	f->receiver = remote_receiver_new(store_sink(f->store));
	buf_init(&f->message, SIZE_MAX);
	buf_init(&f->body, SIZE_MAX);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	remote_receiver_free(f->receiver);
	store_free(f->store);
	buf_fini(&f->message);
	buf_fini(&f->body);
	mem_free(f);
	return 0;
}

static void add(struct fixture *f, const char *name, const char *pod, int64_t t_ms, double value)
{
	struct label pairs[] = { { STR("__name__"), str_from(name) }, { STR("pod"), str_from(pod) } };
	struct labels *labels = labels_new(pairs, 2);
	remote_write_series(&f->message, labels, &(struct remote_sample){ value, t_ms }, 1);
	labels_unref(labels);
}

static bool send(struct fixture *f)
{
	error_clear(&f->error);
	buf_reset(&f->body);
	snappy_encode(buf_str(&f->message), &f->body);
	buf_reset(&f->message);
	return remote_receiver_ingest(f->receiver, buf_str(&f->body), &f->tally, &f->error);
}

static void test_round_trip(void **state)
{
	struct fixture *f = *state;
	struct arena arena;
	size_t count;
	arena_init(&arena);
	add(f, "up", "a", 1000, 1);
	add(f, "up", "b", 1000, 0); /* a zero is written all the same */
	add(f, "up", "a", 2000, -0.0);
	add(f, "up", "a", 3000, number_stale());
	assert_true(send(f));
	assert_false(f->error.set);
	assert_int_equal(f->tally.samples, 4);
	struct series_view *views = store_select(f->store, &arena, NULL, 0, 0, 10000, &count);
	assert_int_equal(count, 2);
	const struct series_view *a = str_is(labels_get(views[0].labels, STR("pod")), "a") ? &views[0] : &views[1];
	assert_int_equal(a->count, 3);
	assert_int_equal(number_bits(a->v[1]), number_bits(-0.0));
	assert_true(number_is_stale(a->v[2]));
	/* Sent again after a lost answer: nothing new, and the newest is no fault. */
	add(f, "up", "a", 3000, number_stale());
	assert_true(send(f));
	assert_false(f->error.set);
	assert_int_equal(f->tally.same, 1);
	arena_fini(&arena);
}

static void test_refused_samples(void **state)
{
	struct fixture *f = *state;
	add(f, "up", "a", 2000, 1);
	add(f, "up", "a", 1000, 1);
	add(f, "up", "a", 2000, 7);
	add(f, "", "a", 2000, 1);
	add(f, "up", "\xff", 2000, 1);
	add(f, "up", "c", 2000, 1);
	assert_true(send(f));
	assert_int_equal(f->tally.samples, 2);
	assert_int_equal(f->tally.out_of_order, 2);
	assert_int_equal(f->tally.bad_series, 2);
	assert_string_equal(f->error.message, "out of order sample: a sample of up at 1000");
}

static void refuse_message(struct fixture *f, struct str message)
{
	buf_add(&f->message, message);
	assert_false(send(f));
	assert_true(f->error.set);
	assert_int_equal(store_sample_count(f->store), 0);
}

/* All is read before anything is stored. */
static void test_broken_messages(void **state)
{
	struct fixture *f = *state;
	add(f, "up", "a", 2000, 1);
	refuse_message(f, STR("\x0a\x7f"));                 /* longer than the message */
	refuse_message(f, STR("\x0b"));                     /* a group */
	refuse_message(f, STR("\x0a\x02\x08\x01"));         /* a label that is a number */
	refuse_message(f, STR("\x0a\x04\x12\x02\x08\x01")); /* a value that is a varint */
	refuse_message(f, STR("\x00"));
	assert_false(remote_receiver_ingest(f->receiver, STR("junk"), &f->tally, &f->error));
}

/* A zero value and a zero time may be left out, unknown fields are skipped, empty label values are absent labels. */
static void test_proto3(void **state)
{
	struct fixture *f = *state;
	static const char message[] = "\x0a\x1e"
				      "\x0a\x0e\x0a\x08__name__\x12\x02up"
				      "\x0a\x06\x0a\x01"
				      "a\x12\x01"
				      "b"
				      "\x12\x02\x10\x05"  /* no value */
				      "\x38\x01"          /* field 7 */
				      "\x1a\x02\x08\x01"; /* metadata */
	buf_add(&f->message, str_of(message, sizeof message - 1));
	assert_true(send(f));
	assert_false(f->error.set);
	assert_int_equal(f->tally.samples, 1);
	int64_t oldest, newest;
	assert_true(store_bounds(f->store, &oldest, &newest));
	assert_int_equal(oldest, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snappy_returns),
		cmocka_unit_test(test_snappy_reads),
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proto3, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
