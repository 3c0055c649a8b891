/* rules_run RULES.yml INTERVAL_S END_S [EXTERNAL=value...] < SAMPLES: evaluates a rule file in virtual time, as `promtool test rules` does:
 * all groups at 0, INTERVAL, 2 INTERVAL ..., after the samples of that time. SAMPLES: lines "ms <tab> value <tab> label=value <tab> ...",
 * by time; the value "stale" is a stale marker. Prints a JSON line for each time: what the rules have written by then, as an instant query
 * sees it, and the alerts. tests/run-rules compares that with promtool. */
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "promql/promql.h"
#include "rules/rules.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES_MAX = 256 << 20, LABELS_MAX = 30 };

struct run {
	struct arena arena;
	struct store *store;
	struct backend *backend;
	struct rules *rules;
	struct str samples;
	struct buf out;
	struct error error;
};

static bool add_sample(struct run *r, struct str line, int64_t t_ms)
{
	struct str field, value;
	struct label pairs[LABELS_MAX];
	size_t count = 0;
	double number = number_stale();

	if (!str_split(&line, '\t', &value) || (!str_is(value, "stale") && !number_parse(value, &number)))
		return error_set(&r->error, EXIT_BAD_INPUT, "bad value in a sample at %ld", (long)t_ms);
	while (count < LABELS_MAX && str_split(&line, '\t', &field)) {
		ptrdiff_t at = str_find(field, '=');

		if (at < 0)
			return error_set(&r->error, EXIT_BAD_INPUT, "bad label in a sample at %ld", (long)t_ms);
		pairs[count++] = (struct label){ str_head(field, (size_t)at), str_skip(field, (size_t)at + 1) };
	}
	struct sink *sink = store_sink(r->store);
	struct labels *labels = labels_new(pairs, count);
	enum append_status status = sink->ops->append(sink, sink->ops->series(sink, labels, METRIC_UNKNOWN), t_ms, number);

	labels_unref(labels);
	return status == APPEND_OK || error_set(&r->error, EXIT_BAD_INPUT, "a sample at %ld is refused", (long)t_ms);
}

/* All samples up to t. */
static bool add_samples(struct run *r, int64_t t_ms)
{
	for (struct str rest = r->samples, line, time; str_split(&rest, '\n', &line); r->samples = rest) {
		int64_t at_ms;

		if (!line.len)
			continue;
		if (!str_split(&line, '\t', &time) || !number_parse_i64(time, &at_ms))
			return error_set(&r->error, EXIT_BAD_INPUT, "bad time in a sample");
		if (at_ms > t_ms)
			return true;
		if (!add_sample(r, line, at_ms))
			return false;
	}
	return true;
}

static void print_labels(struct json *j, const char *key, const struct label *items, size_t count)
{
	json_open(j, key, '{');
	for (size_t i = 0; i < count; i++)
		json_text(j, items[i].name.ptr, items[i].value);
	json_close(j, '}');
}

static bool print_series(struct run *r, struct json *j, int64_t t_ms)
{
	struct promql_value v;
	char text[NUMBER_TEXT_MAX];

	if (!r->backend->ops->query(r->backend, &r->arena, STR("{__name__=~\".+\"}"), t_ms, &v, &r->error))
		return false;
	json_open(j, "series", '[');
	for (size_t i = 0; i < v.count; i++) {
		json_open(j, NULL, '{');
		print_labels(j, "labels", v.elements[i].labels->items, v.elements[i].labels->count);
		json_text(j, "value", str_of(text, number_format(v.elements[i].value, text)));
		json_close(j, '}');
	}
	json_close(j, ']');
	return true;
}

static void print_alerts(struct json *j, const struct rule *rule)
{
	for (size_t i = 0; i < rule->alerts.count; i++) {
		const struct alert *a = rule->alerts.items[i];

		json_open(j, NULL, '{');
		json_text(j, "state", str_from(alert_state_name(a->state)));
		print_labels(j, "labels", a->labels->items, a->labels->count);
		print_labels(j, "annotations", a->annotations.items, a->annotations.count);
		json_integer(j, "active_ms", a->active_ms);
		json_close(j, '}');
	}
}

static bool print_time(struct run *r, int64_t t_ms)
{
	struct json j = { .out = &r->out };

	buf_reset(&r->out);
	json_open(&j, NULL, '{');
	json_integer(&j, "t_ms", t_ms);
	if (!print_series(r, &j, t_ms))
		return false;
	json_open(&j, "alerts", '[');
	VEC_EACH (&r->rules->groups, g)
		for (size_t i = 0; i < (*g)->rule_count; i++)
			print_alerts(&j, &(*g)->rules[i]);
	json_close(&j, ']');
	json_open(&j, "errors", '[');
	VEC_EACH (&r->rules->groups, g)
		for (size_t i = 0; i < (*g)->rule_count; i++)
			if ((*g)->rules[i].error[0])
				json_text(&j, NULL, str_from((*g)->rules[i].error));
	json_close(&j, ']');
	json_close(&j, '}');
	puts(buf_cstr(&r->out));
	arena_reset(&r->arena);
	return true;
}

static bool run(struct run *r, int64_t interval_ms, int64_t end_ms)
{
	for (int64_t t = 0; t <= end_ms; t += interval_ms) {
		if (!add_samples(r, t))
			return false;
		VEC_EACH (&r->rules->groups, g)
			rules_evaluate(r->rules, *g, r->backend, store_sink(r->store), NULL, t);
		if (!print_time(r, t))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct run r = { 0 };
	struct rules_options options = rules_defaults;
	struct label external[LABELS_MAX];
	struct arena input;
	int64_t interval_s, end_s;
	bool ok = false;

	if (argc < 4 || argc - 4 > LABELS_MAX || !number_parse_i64(str_from(argv[2]), &interval_s) || interval_s <= 0 ||
		!number_parse_i64(str_from(argv[3]), &end_s)) {
		fputs("usage: rules_run RULES.yml INTERVAL_S END_S [EXTERNAL=value...] < SAMPLES\n", stderr);
		return EXIT_USAGE;
	}
	for (int i = 4; i < argc; i++) {
		struct str pair = str_from(argv[i]);
		ptrdiff_t at = str_find(pair, '=');

		external[options.external_count++] =
			(struct label){ str_head(pair, at < 0 ? 0 : (size_t)at), str_skip(pair, (size_t)at + 1) };
	}
	options.external = external;
	arena_init(&r.arena);
	arena_init(&input);
	buf_init(&r.out, SIZE_MAX / 2);
	r.store = store_new();
	r.backend = backend_embedded_new(r.store);
	r.rules = rules_load((const char *const[]){ argv[1] }, 1, &options, &r.error);
	if (r.rules && file_read(&input, "-", SAMPLES_MAX, &r.samples, &r.error))
		ok = run(&r, interval_s * 1000, end_s * 1000);
	if (!ok)
		error_print(&r.error, stderr);
	rules_free(r.rules);
	backend_free(r.backend);
	store_free(r.store);
	buf_fini(&r.out);
	arena_fini(&input);
	arena_fini(&r.arena);
	return ok ? EXIT_FINE : r.error.status;
}
