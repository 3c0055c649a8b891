/* fuzz_promql: any text as a query. What parses is printed, and what is printed must parse to the same; then it is evaluated over a small
 * fixed store, as instant and as range, with and without delayed removal of names, under a small limit of samples. */
#include "base/buf.h"
#include "base/number.h"
#include "promql/promql.h"
#include "store/store.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store *store;
static struct backend *backend;

static void add_series(const char *name, const char *job, const char *le, int kind)
{
	struct sink *sink = store_sink(store);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("job"), str_from(job) }, { STR("le"), str_from(le) } };
	struct labels *labels = labels_new(pairs, 3);
	struct series *series = sink->ops->series(sink, labels, METRIC_UNKNOWN);
	static const double odd[] = { 1, 3, 2, NAN, 7, INFINITY, -INFINITY, 0, -1, 1e308 };
	for (int i = 0; i < 40; i++) {
		double value = kind == 0 ? i * 2 : kind == 1 ? odd[i % 10] : i % 13;
		if (kind == 2 && i % 11 == 5)
			value = number_stale();
		if (kind != 2 || i % 7)
			sink->ops->append(sink, series, (int64_t)i * 15000, value);
	}
	labels_unref(labels);
}

static void setup(void)
{
	static const char *const bounds[] = { "0.1", "1", "1.0", "5", "+Inf", "bad" };
	store = store_new();
	backend = backend_embedded_new(store);
	for (int i = 0; i < 6; i++)
		add_series("h_bucket", i % 2 ? "a" : "b", bounds[i], i % 3);
	for (int i = 0; i < 3; i++) {
		add_series("m", i ? "a" : "b", i == 2 ? "x" : "", i);
		add_series("n", i ? "a" : "b", i == 2 ? "y" : "", i);
		add_series("o_total", i ? "a" : "c", "", 0);
	}
}

static void fail(const char *what, struct str a, struct str b)
{
	fprintf(stderr, "%s: \"" STR_FMT "\" and \"" STR_FMT "\"\n", what, STR_ARG(a), STR_ARG(b));
	abort();
}

/* print(parse(print(tree))) is print(tree). */
static void check_print(struct arena *arena, const struct promql_node *node, const struct promql_options *options)
{
	struct buf first, second;
	struct error e = { 0 };
	buf_init(&first, 1 << 24);
	buf_init(&second, 1 << 24);
	promql_print(node, &first);
	struct promql_node *again = promql_parse(arena, buf_str(&first), options, &e);
	if (!again)
		fail(e.message, buf_str(&first), STR("no tree"));
	promql_print(again, &second);
	if (!str_eq(buf_str(&first), buf_str(&second)))
		fail("printed differently", buf_str(&first), buf_str(&second));
	buf_fini(&first);
	buf_fini(&second);
}

/* Times rise, labels are there and differ. */
static void check_value(const struct promql_value *v)
{
	for (size_t i = 0; v->type == PROMQL_MATRIX && i < v->count; i++) {
		for (size_t k = 1; k < v->series[i].count; k++)
			if (v->series[i].t[k] <= v->series[i].t[k - 1])
				fail("times do not rise", STR(""), STR(""));
		if (!v->series[i].labels || !v->series[i].count)
			fail("a series without labels or points", STR(""), STR(""));
	}
	for (size_t i = 0; v->type == PROMQL_VECTOR && i < v->count; i++)
		for (size_t k = 0; k < i; k++)
			if (labels_eq(v->elements[i].labels, v->elements[k].labels))
				fail("equal label sets in a vector", STR(""), STR(""));
}

static void check_evaluation(struct arena *arena, const struct promql_node *node, const struct promql_options *options)
{
	struct promql_value value;
	struct error e = { 0 };
	if (promql_instant(backend, arena, node, options, 400000, &value, &e))
		check_value(&value);
	if (promql_range(backend, arena, node, options, 0, 600000, 60000, &value, &e))
		check_value(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct error e = { 0 };
	struct promql_options options = promql_defaults;
	if (!store)
		setup();
	if (size > 4096)
		return 0;
	arena_init(&arena);
	options.experimental = true;
	options.max_samples = 5000;
	options.timeout_ms = 2000;
	struct promql_node *node = promql_parse(&arena, str_of((const char *)data, size), &options, &e);
	if (node) {
		check_print(&arena, node, &options);
		check_evaluation(&arena, node, &options);
		options.delayed_name_removal = true;
		check_evaluation(&arena, node, &options);
	}
	arena_fini(&arena);
	return 0;
}
