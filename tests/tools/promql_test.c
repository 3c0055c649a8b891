/* promql_test [--list-skipped] [--names-at-once] FILE...: runs promqltest files against the embedded engine. With --names-at-once the
 * metric name is dropped by each operation, as is the default everywhere but in these tests; a few cases need the other way.
 *
 * Prints each failure with its place and the reason; what needs native histograms, start timestamps or experimental syntax that the engine
 * does not have is skipped and counted by reason. Exit 1 when anything failed. */
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "promql/functions.h"
#include "promql/promql.h"
#include "promql/syntax.h"
#include "promql_check.h"
#include "promql_script.h"
#include "store/store.h"

#include <stdlib.h>

enum { REASONS_MAX = 16 };
static struct promql_options test_options = {
	.lookback_ms = 300000,
	.subquery_step_ms = 60000,
	.max_samples = 10000,
	.experimental = true,
	.delayed_name_removal = true,
};

/* The float samples, and beside them a store with the times of samples that the engine cannot hold. A select that would have met one of
 * those marks the eval. */
struct runner {
	struct backend backend;                   /* first: what the engine sees */
	struct store *floats, *foreign, *samples; /* samples: all of them, what is no float as a NaN */
	struct backend *embedded;
	bool counting; /* selects see `samples` */
	bool touched, notes_missing;
	const char *file;
	size_t passed, failed, skipped;
	size_t without_notes; /* passed, but what native histograms would have added as annotations was not there to check */
	size_t empty;         /* passed with an empty result where only native histograms were selected */
	struct {
		const char *reason;
		size_t count;
	} reasons[REASONS_MAX];
	bool list_skipped;
};

/* ---- the store behind the engine ---- */

static bool runner_select(struct backend *b, struct arena *arena, const struct matcher *matchers, size_t matcher_count, int64_t from_ms,
	int64_t to_ms, struct series_view **series, size_t *count, struct error *e)
{
	struct runner *r = (struct runner *)b;
	size_t foreign;
	store_select(r->foreign, arena, matchers, matcher_count, from_ms, to_ms, &foreign);
	r->touched |= foreign > 0;
	if (r->counting) {
		*series = store_select(r->samples, arena, matchers, matcher_count, from_ms, to_ms, count);
		return true;
	}
	return r->embedded->ops->select(r->embedded, arena, matchers, matcher_count, from_ms, to_ms, series, count, e);
}

static const struct backend_ops runner_ops = { .select = runner_select };

static void runner_clear(struct runner *r)
{
	backend_free(r->embedded);
	store_free(r->floats);
	store_free(r->foreign);
	store_free(r->samples);
	r->floats = store_new();
	r->foreign = store_new();
	r->samples = store_new();
	r->embedded = backend_embedded_new(r->floats);
}

static void append(struct store *store, const struct labels *labels, int64_t t_ms, double value)
{
	struct sink *sink = store_sink(store);
	sink->ops->append(sink, sink->ops->series(sink, labels, METRIC_UNKNOWN), t_ms, value);
}

/* The native histogram that load_with_nhcb makes out of classic buckets: the base name without "le". */
static void append_converted(struct runner *r, const struct described_series *s, int64_t step_ms)
{
	static const char *const endings[] = { "_bucket", "_count", "_sum" };
	struct str name = labels_name(s->labels);
	struct labels_builder b;
	for (size_t i = 0; i < 3; i++) {
		if (!str_ends(name, str_from(endings[i])))
			continue;
		labels_builder_init(&b, s->labels);
		labels_builder_remove(&b, STR("le"));
		labels_builder_set(&b, LABEL_NAME, str_head(name, name.len - strlen(endings[i])));
		struct labels *labels = labels_builder_build(&b);
		for (size_t k = 0; k < s->points.count; k++)
			append(r->foreign, labels, (int64_t)k * step_ms, 0);
		labels_unref(labels);
		return;
	}
}

static void load_series(struct runner *r, const struct described_series *s, int64_t step_ms, bool start_times)
{
	for (size_t k = 0; k < s->points.count; k++) {
		const struct point *p = &s->points.items[k];
		if (p->kind == POINT_FLOAT)
			append(r->floats, s->labels, (int64_t)k * step_ms, p->value);
		if (p->kind == POINT_NATIVE || (p->kind == POINT_FLOAT && start_times))
			append(r->foreign, s->labels, (int64_t)k * step_ms, 0);
		if (p->kind != POINT_NONE)
			append(r->samples, s->labels, (int64_t)k * step_ms, p->kind == POINT_NATIVE ? number_nan() : p->value);
	}
}

/* A later line for the same labels replaces the earlier one. */
static bool run_load(struct runner *r, struct script *script, int64_t step_ms, bool with_native, struct error *e)
{
	VEC(struct described_series) list = { 0 };
	struct str line;
	bool ok = true, start_times = false;
	while (ok && script_block_line(script, &line)) {
		struct described_series s;
		ok = described_series_init(&s, script->arena, line, e);
		s.start_times |= start_times;
		start_times = s.start_times && !s.labels;
		for (size_t i = 0; ok && s.labels && i < list.count; i++)
			if (labels_eq(list.items[i].labels, s.labels)) {
				described_series_fini(&list.items[i]);
				list.items[i] = list.items[--list.count];
			}
		if (s.labels)
			VEC_PUSH(&list, s);
	}
	for (size_t i = 0; ok && i < list.count; i++) {
		load_series(r, &list.items[i], step_ms, list.items[i].start_times);
		if (with_native)
			append_converted(r, &list.items[i], step_ms);
	}
	for (size_t i = 0; i < list.count; i++)
		described_series_fini(&list.items[i]);
	VEC_FREE(&list);
	return ok;
}

/* ---- what the engine does not have ---- */

static bool has_word(struct str text, const char *word)
{
	size_t len = strlen(word);
	for (size_t i = 0; i + len <= text.len; i++) {
		bool starts = i == 0 || !label_name_is_classic(str_of(text.ptr + i - 1, 1), true);
		bool ends = i + len == text.len || !label_name_is_classic(str_of(text.ptr + i + len, 1), true);
		if (starts && ends && memcmp(text.ptr + i, word, len) == 0)
			return true;
	}
	return false;
}

static const char *unsupported(const struct eval_command *c)
{
	static const char *const words[] = { "info", "start_timestamp", "anchored", "smoothed", "fill", "fill_left", "fill_right" };
	if (c->mentions_native)
		return "native histogram in the expectation";
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (has_word(c->query, words[i]))
			return words[i];
	if (str_search(c->query, STR("</")) >= 0 || str_search(c->query, STR(">/")) >= 0)
		return "histogram trim operator";
	return NULL;
}

/* ---- the same with @ ---- */

static bool is_unsafe_with_at(const char *function)
{
	static const char *const names[] = { "days_in_month", "day_of_month", "day_of_week", "day_of_year", "hour", "minute", "month",
		"year", "predict_linear", "time", "timestamp", "start", "end", "range", "step" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_is(str_from(function), names[i]))
			return true;
	return false;
}

static void pin(struct shift *shift, int64_t t_ms)
{
	if (shift->at == AT_NONE) {
		shift->at = AT_TIME;
		shift->at_ms = t_ms;
	}
}

/* Puts "@ t" on all selectors that have none, but not inside subqueries. False when a function depends on the evaluation's time. */
static bool pin_all(struct promql_node *n, int64_t t_ms, bool inside)
{
	bool ok = true;
	switch (n->kind) {
	case NODE_NUMBER:
	case NODE_STRING: return true;
	case NODE_SELECTOR:
		if (!inside)
			pin(&n->selector.shift, t_ms);
		return true;
	case NODE_RANGE:
		if (!inside)
			pin(&n->range.selector->selector.shift, t_ms);
		return !n->range.range.expression;
	case NODE_SUBQUERY:
		if (!inside)
			pin(&n->subquery.shift, t_ms);
		return pin_all(n->subquery.expression, t_ms, true) && !n->subquery.range.expression && !n->subquery.step.expression;
	case NODE_CALL:
		ok = !is_unsafe_with_at(n->call.function->name);
		for (size_t i = 0; i < n->call.arg_count; i++)
			ok = pin_all(n->call.args[i], t_ms, inside) && ok;
		return ok;
	case NODE_AGGREGATE:
		ok = !n->aggregate.parameter || pin_all(n->aggregate.parameter, t_ms, inside);
		return pin_all(n->aggregate.expression, t_ms, inside) && ok;
	case NODE_BINARY: ok = pin_all(n->binary.left, t_ms, inside); return pin_all(n->binary.right, t_ms, inside) && ok;
	case NODE_UNARY: return pin_all(n->unary.expression, t_ms, inside);
	case NODE_PAREN: return pin_all(n->inner, t_ms, inside);
	}
	return false;
}

/* ---- evals ---- */

enum verdict { PASSED, FAILED, SKIPPED };

static bool has_query_time(struct str query)
{
	return has_word(query, "start()") || str_search(query, STR("start()")) >= 0 || str_search(query, STR("end()")) >= 0 ||
	       str_search(query, STR("range()")) >= 0 || str_search(query, STR("step()")) >= 0;
}

/* Where native histograms were met the annotations about them are missing, which is no failure of the float part. */
static bool notes_ok(struct runner *r, const struct eval_command *c, const struct promql_value *value, struct buf *why)
{
	if (check_annotations(c, value, why))
		return true;
	if (r->touched)
		buf_reset(why);
	r->notes_missing |= r->touched;
	return r->touched;
}

/* The query as range, one minute around. */
static bool run_as_range(
	struct runner *r, struct arena *arena, const struct eval_command *c, struct str query, int64_t t_ms, struct buf *why)
{
	struct promql_value value;
	struct error e = { 0 };
	struct promql_node *node = promql_parse(arena, query, &test_options, &e);
	if (!node || !promql_range(&r->backend, arena, node, &test_options, t_ms - 60000, t_ms + 60000, 60000, &value, &e)) {
		buf_printf(why, "as range: %s", e.message);
		return false;
	}
	if (c->ordered)
		return true;
	bool ok = check_range_at(c, &value, t_ms, why);
	if (!ok)
		buf_add_cstr(why, " (as range)");
	return ok;
}

static bool run_instant(
	struct runner *r, struct arena *arena, const struct eval_command *c, struct str query, int64_t t_ms, struct buf *why)
{
	struct promql_value value;
	struct error e = { 0 };
	struct promql_node *node = promql_parse(arena, query, &test_options, &e);
	bool ok = node && promql_instant(&r->backend, arena, node, &test_options, t_ms, &value, &e);
	if (!ok && c->fails)
		return check_failure(c, &e, why);
	if (!ok || c->fails) {
		buf_add_cstr(why, ok ? "did not fail" : e.message);
		return false;
	}
	if (!notes_ok(r, c, &value, why) || !check_instant(c, &value, c->ordered, why))
		return false;
	return c->is_matrix || c->has_string || has_query_time(query) || run_as_range(r, arena, c, query, t_ms, why);
}

static bool run_pinned(struct runner *r, struct arena *arena, const struct eval_command *c, struct buf *why)
{
	struct error e;
	int64_t t = c->start_ms;
	int64_t times[] = { t ? -10 * t : -1000, 0, t ? t / 5 : 1000, t, 10 * t };
	struct promql_node *node = promql_parse(arena, c->query, &test_options, &e);
	if (!node || c->is_matrix || has_query_time(c->query) || !pin_all(node, t, false))
		return true;
	struct buf query;
	buf_init(&query, 1 << 20);
	promql_print(node, &query);
	bool ok = true;
	for (size_t i = 0; ok && i < ARRAY_LEN(times); i++) {
		ok = run_instant(r, arena, c, buf_str(&query), times[i], why);
		if (!ok)
			buf_printf(why, " (as " STR_FMT " at %.3f s)", STR_ARG(buf_str(&query)), (double)times[i] / 1000);
	}
	buf_fini(&query);
	return ok;
}

static bool run_range(struct runner *r, struct arena *arena, const struct eval_command *c, struct buf *why)
{
	struct promql_value value;
	struct error e = { 0 };
	struct promql_node *node = promql_parse(arena, c->query, &test_options, &e);
	bool ok = node && promql_range(&r->backend, arena, node, &test_options, c->start_ms, c->end_ms, c->step_ms, &value, &e);
	if (!ok && c->fails)
		return check_failure(c, &e, why);
	if (!ok || c->fails) {
		buf_add_cstr(why, ok ? "did not fail" : e.message);
		return false;
	}
	return notes_ok(r, c, &value, why) && check_range(c, &value, why);
}

static void count_skip(struct runner *r, const struct eval_command *c, const char *reason)
{
	r->skipped++;
	if (r->list_skipped)
		printf("%s:%d: skipped (%s): " STR_FMT "\n", r->file, c->line, reason, STR_ARG(c->query));
	for (size_t i = 0; i < REASONS_MAX; i++) {
		if (r->reasons[i].reason && strcmp(r->reasons[i].reason, reason) != 0)
			continue;
		r->reasons[i].reason = reason;
		r->reasons[i].count++;
		return;
	}
}

/* Functions that look at whether there is a sample, not at what it is. */
static bool counts_samples(struct str query)
{
	return str_starts(query, STR("count_over_time(")) || str_starts(query, STR("absent_over_time(")) ||
	       str_starts(query, STR("present_over_time("));
}

static bool run_query(struct runner *r, struct arena *arena, const struct eval_command *c, struct buf *why)
{
	if (c->range)
		return run_range(r, arena, c, why);
	return run_instant(r, arena, c, c->query, c->start_ms, why) && run_pinned(r, arena, c, why);
}

static void run_eval(struct runner *r, const struct eval_command *c)
{
	struct arena arena;
	struct buf why;
	const char *reason = unsupported(c);
	if (reason) {
		count_skip(r, c, reason);
		return;
	}
	arena_init(&arena);
	buf_init(&why, 1 << 16);
	r->touched = r->notes_missing = false;
	bool ok = run_query(r, &arena, c, &why);
	if (!ok && r->touched && counts_samples(c->query)) {
		buf_reset(&why);
		r->counting = true;
		ok = run_query(r, &arena, c, &why);
		r->counting = false;
	}
	if (ok) {
		r->passed++;
		r->empty += r->touched && !c->series.count && !c->has_scalar && !c->fails;
		r->without_notes += r->notes_missing;
	} else if (r->touched) {
		count_skip(r, c, "meets native histograms or start timestamps");
	} else {
		r->failed++;
		printf("%s:%d: " STR_FMT "\n    %s\n", r->file, c->line, STR_ARG(c->query), buf_cstr(&why));
	}
	buf_fini(&why);
	arena_fini(&arena);
}

static bool run_file(struct runner *r, const char *path)
{
	struct arena arena;
	struct str text;
	struct error e = { 0 };
	arena_init(&arena);
	bool ok = file_read(&arena, path, 1 << 26, &text, &e);
	struct script script;
	script_init(&script, &arena, str_from(path), text);
	r->file = path;
	runner_clear(r);
	while (ok) {
		struct eval_command c = { 0 };
		int64_t step_ms;
		bool with_native;
		enum command_kind kind = script_next(&script, &c, &step_ms, &with_native, &e);
		if (kind == COMMAND_END)
			break;
		if (kind == COMMAND_LOAD)
			ok = run_load(r, &script, step_ms, with_native, &e);
		else if (kind == COMMAND_CLEAR)
			runner_clear(r);
		else if (kind == COMMAND_EVAL)
			run_eval(r, &c);
		ok = ok && kind != COMMAND_ERROR;
		eval_command_fini(&c);
	}
	if (!ok) {
		if (!e.line)
			e.line = script.line;
		error_print(&e, stderr);
	}
	arena_fini(&arena);
	return ok;
}

int main(int argc, char **argv)
{
	struct runner r = { .backend = { &runner_ops } };
	bool ok = true;
	int first = 1;
	for (; first < argc && argv[first][0] == '-'; first++) {
		r.list_skipped |= strcmp(argv[first], "--list-skipped") == 0;
		if (strcmp(argv[first], "--names-at-once") == 0)
			test_options.delayed_name_removal = false;
		else if (strcmp(argv[first], "--list-skipped") != 0)
			first = argc;
	}
	if (first >= argc) {
		fprintf(stderr, "usage: promql_test [--list-skipped] [--names-at-once] FILE...\n");
		return EXIT_USAGE;
	}
	for (int i = first; i < argc; i++)
		ok = run_file(&r, argv[i]) && ok;
	for (size_t i = 0; i < REASONS_MAX && r.reasons[i].reason; i++)
		printf("skipped %zu: %s\n", r.reasons[i].count, r.reasons[i].reason);
	if (r.without_notes)
		printf("passed %zu without their annotations, which are about native histograms\n", r.without_notes);
	if (r.empty)
		printf("passed %zu with the expected empty result where native histograms were selected\n", r.empty);
	printf("%zu passed, %zu failed, %zu skipped\n", r.passed, r.failed, r.skipped);
	backend_free(r.embedded);
	store_free(r.floats);
	store_free(r.foreign);
	store_free(r.samples);
	return ok && !r.failed ? EXIT_FINE : 1;
}
