/* bench_expo: CPU time of reading exposition pages.
 *
 *     bench_expo [--format text|openmetrics] [--rounds N] PAGE...
 *
 * The pages are successive scrapes of one target; the readers see them in turn. Prints MB of text per second of CPU, the best
 * round of each:
 *   first       a new reader on each page: the full grammar, and the series made
 *   parse       a reader that knows the target
 *   columns     the same, and each value appended to a plain array of its series: the floor of what storing can cost
 *   store       the same, and appended to the store */
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"
#include "expo/expo.h"
#include "model/sink.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

struct pages {
	struct str *bodies;
	size_t count;
	enum expo_format format;
	size_t bytes;     /* of all */
	size_t per_round; /* passes over all pages in a round */
};

/* A sink that keeps only the times of a row and a column of values for each series. */
struct series {
	VEC(double) values;
};
struct column_sink {
	struct sink sink;
	VEC(int64_t) times;
	VEC(struct series *) all;
};

static struct series *column_series(struct sink *sink, const struct labels *labels, enum metric_type type)
{
	struct column_sink *columns = (struct column_sink *)sink;
	struct series *series = NEW(struct series);

	VEC_PUSH(&columns->all, series);
	return series;
}

static size_t column_append_row(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct column_sink *columns = (struct column_sink *)sink;

	VEC_PUSH(&columns->times, t_ms);
	for (size_t i = 0; i < count; i++)
		VEC_PUSH(&series[i]->values, values[i]);
	return 0;
}

static const struct sink_ops column_ops = { .series = column_series, .append_row = column_append_row };

static void column_sink_fini(struct column_sink *columns)
{
	VEC_EACH (&columns->all, series) {
		VEC_FREE(&(*series)->values);
		mem_free(*series);
	}
	VEC_FREE(&columns->all);
	VEC_FREE(&columns->times);
}

/* A target as the scraper holds it: the row's series, found again only when the page's shape changed. */
struct row {
	VEC(struct series *) series;
	VEC(double) values;
};

static void row_append(struct row *row, struct sink *sink, const struct expo_page *page, int64_t t_ms)
{
	VEC_RESERVE(&row->series, page->sample_count);
	VEC_RESERVE(&row->values, page->sample_count);
	for (size_t i = 0; i < page->sample_count; i++) {
		struct expo_series *exposed = page->samples[i].series;

		if (!page->same_shape) {
			if (!exposed->user)
				exposed->user = sink->ops->series(sink, exposed->labels, exposed->type);
			row->series.items[i] = exposed->user;
		}
		row->values.items[i] = page->samples[i].value;
	}
	if (sink->ops->append_row(sink, row->series.items, row->values.items, page->sample_count, t_ms))
		abort();
}

static const struct expo_page *read_page(struct expo_reader *reader, const struct pages *pages, size_t i)
{
	const struct expo_page *page = expo_read(reader, STR("page"), pages->bodies[i], pages->format);

	if (page->error.set) {
		error_print(&page->error, stderr);
		exit(EXIT_BAD_INPUT);
	}
	return page;
}

static int64_t round_first(const struct pages *pages)
{
	int64_t spent = 0;

	for (size_t i = 0; i < pages->count; i++) {
		struct expo_reader *reader = expo_reader_new();
		int64_t start = clock_cpu_ns();

		read_page(reader, pages, i);
		spent += clock_cpu_ns() - start;
		expo_reader_free(reader);
	}
	return spent;
}

/* One target's reader, warmed by one pass; then `per_round` passes are timed. `sink` may be NULL. */
static int64_t round_steady(const struct pages *pages, struct sink *sink)
{
	struct expo_reader *reader = expo_reader_new();
	struct row row = { 0 };
	int64_t start = 0, t_ms = 0;

	for (size_t pass = 0; pass <= pages->per_round; pass++) {
		if (pass == 1)
			start = clock_cpu_ns();
		for (size_t i = 0; i < pages->count; i++) {
			const struct expo_page *page = read_page(reader, pages, i);

			if (sink)
				row_append(&row, sink, page, t_ms += 5000);
		}
	}
	int64_t spent = clock_cpu_ns() - start;

	VEC_FREE(&row.series);
	VEC_FREE(&row.values);
	expo_reader_free(reader);
	return spent;
}

static int64_t round_parse(const struct pages *pages)
{
	return round_steady(pages, NULL);
}

static int64_t round_columns(const struct pages *pages)
{
	struct column_sink columns = { .sink = { &column_ops } };
	int64_t spent = round_steady(pages, &columns.sink);

	column_sink_fini(&columns);
	return spent;
}

static int64_t round_store(const struct pages *pages)
{
	struct store *store = store_new();
	int64_t spent = round_steady(pages, store_sink(store));

	store_free(store);
	return spent;
}

static void report(
	const char *name, const struct pages *pages, size_t samples, int rounds, size_t passes, int64_t (*run)(const struct pages *pages))
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < rounds; i++) {
		int64_t spent = run(pages);

		best = spent < best ? spent : best;
	}
	double bytes = (double)pages->bytes * (double)passes, count = (double)samples * (double)(passes * pages->count);

	printf("%-8s %8.0f MB/s %8.1f ns/sample %8.1f us/page\n", name, bytes / (double)best * 1e3, (double)best / count,
		(double)best / 1e3 / (double)(passes * pages->count));
	fflush(stdout);
}

static size_t sample_count(const struct pages *pages)
{
	struct expo_reader *reader = expo_reader_new();
	size_t count = read_page(reader, pages, 0)->sample_count;

	expo_reader_free(reader);
	return count;
}

static void usage(void)
{
	fputs("usage: bench_expo [--format text|openmetrics] [--rounds N] PAGE...\n", stderr);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct pages pages = { .format = EXPO_TEXT };
	struct arena arena;
	struct error error = { 0 };
	int64_t rounds = 7;
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--format") == 0)
			pages.format = strcmp(argv[at + 1], "openmetrics") == 0 ? EXPO_OPENMETRICS : EXPO_TEXT;
		else if (strcmp(argv[at], "--rounds") != 0 || !number_parse_i64(str_from(argv[at + 1]), &rounds) || rounds < 1)
			usage();
	}
	if (at >= argc)
		usage();
	arena_init(&arena);
	pages.bodies = ARENA_ARRAY(&arena, struct str, (size_t)(argc - at));
	for (; at < argc; at++) {
		if (!file_read(&arena, argv[at], EXPO_PAGE_MAX, &pages.bodies[pages.count], &error)) {
			error_print(&error, stderr);
			return EXIT_BAD_INPUT;
		}
		pages.bytes += pages.bodies[pages.count++].len;
	}
	/* About 100 MB of text in a round. */
	pages.per_round = 1 + (100u << 20) / (pages.bytes + 1);
	size_t samples = sample_count(&pages);

	printf("%zu pages of %zu bytes, %zu samples\n", pages.count, pages.bytes / pages.count, samples);
	report("first", &pages, samples, (int)rounds, 1, round_first);
	report("parse", &pages, samples, (int)rounds, pages.per_round, round_parse);
	report("columns", &pages, samples, (int)rounds, pages.per_round, round_columns);
	report("store", &pages, samples, (int)rounds, pages.per_round, round_store);
	arena_fini(&arena);
	return 0;
}
