/* fuzz_remote_write: bodies of remote write. Input: 'b', then a body as it comes; 'm', then a message before compression.
 *
 * What reads once reads again when compressed; a message that does not read stores nothing; compression returns what it was given. */
#include "expo/remote_write.h"
#include "expo/snappy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

/* Counts; keeps nothing. */
struct counter {
	struct sink sink;
	size_t appended;
};

static struct series *count_series(struct sink *sink, const struct labels *labels, enum metric_type type)
{
	return (struct series *)sink;
}

static enum append_status count_append(struct sink *sink, struct series *series, int64_t t_ms, double value)
{
	((struct counter *)sink)->appended++;
	return APPEND_OK;
}

static size_t count_row(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	return 0;
}

static void visit(void *context, const struct remote_series *s)
{
	*(size_t *)context += s->sample_count;
}

static void take(struct str body)
{
	static const struct sink_ops ops = { count_series, count_append, count_row };
	struct counter counter = { .sink.ops = &ops };
	struct remote_receiver *r = remote_receiver_new(&counter.sink);
	struct remote_tally tally;
	struct error e = { 0 };
	bool ok = remote_receiver_ingest(r, body, &tally, &e);
	REQUIRE(ok || (e.set && counter.appended == 0));
	REQUIRE(counter.appended == tally.samples);
	remote_receiver_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char *bytes = malloc(size); /* in its own block, so that reading beyond it is seen */
	REQUIRE(bytes);
	memcpy(bytes, data + 1, size - 1);
	struct str text = str_of(bytes, size - 1);
	if (data[0] == 'b') {
		take(text);
	} else {
		struct buf body, back;
		size_t samples = 0;
		buf_init(&body, SIZE_MAX);
		buf_init(&back, SIZE_MAX);
		snappy_encode(text, &body);
		REQUIRE(snappy_decode(buf_str(&body), text.len, &back, NULL) && str_eq(buf_str(&back), text));
		remote_write_read(text, visit, &samples, NULL);
		take(buf_str(&body));
		buf_fini(&body);
		buf_fini(&back);
	}
	free(bytes);
	return 0;
}
