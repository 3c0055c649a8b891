/* bench_remote_write SERIES ROUNDS [STORE]: bodies of 2,000 samples, one of each series a round, through the receiver into a store in
 * memory, and into a sink that keeps nothing, and into a store on disk where its file is named. Prints samples per CPU-second, and bytes
 * per sample of the bodies. */
#include "base/clock.h"
#include "base/number.h"
#include "expo/remote_write.h"
#include "expo/snappy.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { PER_BODY = 2000, COMMIT_BODIES = 4 };
static const int64_t start_ms = 1768435200000;

struct bodies {
	VEC(struct str) items;
	size_t bytes;
};

static void body_add(struct bodies *b, struct buf *message)
{
	struct buf body;
	buf_init(&body, SIZE_MAX);
	snappy_encode(buf_str(message), &body);
	VEC_PUSH(&b->items, buf_str(&body));
	b->bytes += body.len;
	buf_reset(message);
}

static struct labels *labels_of(int64_t series)
{
	char worker[32], pod[32];
	snprintf(worker, sizeof worker, "%lld", (long long)series % 600);
	snprintf(pod, sizeof pod, "vllm-%lld", (long long)series / 600);
	struct label pairs[] = { { LABEL_NAME, STR("vllm:request_latency_seconds_bucket") }, { STR("job"), STR("vllm") },
		{ STR("le"), str_from(worker) }, { STR("instance"), str_from(pod) },
		{ STR("model_name"), STR("meta-llama/Llama-3.1-8B-Instruct") } };
	return labels_new(pairs, ARRAY_LEN(pairs));
}

static double make(struct bodies *b, int64_t series, int64_t rounds)
{
	struct buf message;
	struct labels **labels = mem_zalloc((size_t)series, sizeof *labels);
	buf_init(&message, SIZE_MAX);
	for (int64_t s = 0; s < series; s++)
		labels[s] = labels_of(s);
	int64_t begin = clock_cpu_ns();
	for (int64_t r = 0; r < rounds; r++)
		for (int64_t s = 0; s < series; s++) {
			remote_write_series(&message, labels[s], &(struct remote_sample){ (double)(r * (s % 50)), start_ms + r * 5000 }, 1);
			if ((r * series + s + 1) % PER_BODY == 0 || (r + 1 == rounds && s + 1 == series))
				body_add(b, &message);
		}
	double seconds = (double)(clock_cpu_ns() - begin) / 1e9;
	for (int64_t s = 0; s < series; s++)
		labels_unref(labels[s]);
	mem_free(labels);
	buf_fini(&message);
	return seconds;
}

static struct series *nothing_series(struct sink *sink, const struct labels *labels, enum metric_type type)
{
	return (struct series *)sink;
}

static enum append_status nothing_append(struct sink *sink, struct series *series, int64_t t_ms, double value)
{
	return APPEND_OK;
}

static size_t nothing_row(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	return 0;
}

/* With a store on disk, a commit after COMMIT_BODIES of them: about a second's of the fleet. */
static void receive(const struct bodies *b, struct sink *sink, struct store *commit, const char *what, int64_t samples)
{
	struct remote_receiver *r = remote_receiver_new(sink);
	struct remote_tally tally;
	int64_t taken = 0, begin = clock_cpu_ns();
	struct error e = { 0 };
	for (size_t i = 0; i < b->items.count; i++) {
		remote_receiver_ingest(r, b->items.items[i], &tally, &e);
		taken += (int64_t)tally.samples;
		if (commit && (i + 1) % COMMIT_BODIES == 0)
			store_commit(commit, &e);
	}
	double seconds = (double)(clock_cpu_ns() - begin) / 1e9;
	printf("received, %s: %.2f M samples per CPU-second%s\n", what, (double)samples / seconds / 1e6,
		taken == samples ? "" : " (some were refused)");
	remote_receiver_free(r);
}

static void receive_on_disk(const struct bodies *b, const char *path, int64_t samples)
{
	const struct store_options options = { 0 };
	struct store_stats stats;
	struct error e = { 0 };
	struct store *store = store_open(path, &options, &e);
	if (!store) {
		error_print(&e, stderr);
		exit(EXIT_FAILURE);
	}
	receive(b, store_sink(store), store, "into a file", samples);
	store_stats(store, &stats);
	printf("file: %.3f bytes a sample\n", (double)stats.file_bytes / (double)samples);
	store_free(store);
}

int main(int argc, char **argv)
{
	static const struct sink_ops ops = { nothing_series, nothing_append, nothing_row };
	struct sink nothing = { &ops };
	struct bodies b = { 0 };
	int64_t series = 38400, rounds = 50;
	if ((argc > 1 && !number_parse_i64(str_from(argv[1]), &series)) || (argc > 2 && !number_parse_i64(str_from(argv[2]), &rounds)) ||
		series < 1 || rounds < 1) {
		fprintf(stderr, "usage: bench_remote_write [SERIES [ROUNDS [STORE]]]\n");
		return EXIT_USAGE;
	}
	int64_t samples = series * rounds;
	double seconds = make(&b, series, rounds);
	printf("written: %.2f M samples per CPU-second, %.1f bytes a sample\n", (double)samples / seconds / 1e6,
		(double)b.bytes / (double)samples);
	receive(&b, &nothing, NULL, "kept nowhere", samples);
	struct store *store = store_new();
	receive(&b, store_sink(store), NULL, "into memory", samples);
	store_free(store);
	if (argc > 3)
		receive_on_disk(&b, argv[3], samples);
	VEC_EACH (&b.items, body)
		mem_free((char *)body->ptr);
	VEC_FREE(&b.items);
	return 0;
}
