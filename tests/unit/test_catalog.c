#include "catalog/catalog.h"

#include "base/buf.h"
#include "base/file.h"
#include "catalog/expression.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define METRICS                                                                                                                            \
	"metrics:\n"                                                                                                                       \
	"- {id: running, type: gauge}\n"                                                                                                   \
	"- {id: finished, type: counter}\n"                                                                                                \
	"- {id: ttft, type: histogram, unit: s}\n"

static struct catalog load(const char *text)
{
	struct catalog c;
	struct error e = { 0 };

	if (!catalog_init_text(&c, false, STR("f.yaml"), str_from(text), &e))
		fail_msg("%d:%d: %s", e.line, e.column, e.message);
	return c;
}

static struct error refusal(const char *text)
{
	struct catalog c;
	struct error e = { 0 };

	if (catalog_init_text(&c, false, STR("f.yaml"), str_from(text), &e)) {
		catalog_fini(&c);
		fail_msg("not refused: %s", text);
	}
	return e;
}

static void assert_refused(const char *text, int line, int column, const char *message, const char *hint)
{
	struct error e = refusal(text);

	if (!strstr(e.message, message))
		fail_msg("\"%s\" is not in \"%s\"", message, e.message);
	assert_string_equal(e.source, "f.yaml");
	assert_int_equal(e.line, line);
	assert_int_equal(e.column, column);
	if (hint)
		assert_string_equal(e.hint, hint);
}

/* Writes `texts` as files and loads them after the embedded catalogue when asked. */
static bool load_files(struct catalog *c, const char *const *texts, size_t count, struct error *e)
{
	char names[4][32];
	const char *paths[4];
	bool good;

	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof names[i], "test_catalog_XXXXXX");
		int file = mkstemp(names[i]);

		assert_true(file >= 0);
		assert_int_equal(write(file, texts[i], strlen(texts[i])), strlen(texts[i]));
		close(file);
		paths[i] = names[i];
	}
	good = catalog_init(c, paths, count, e);
	for (size_t i = 0; i < count; i++)
		unlink(names[i]);
	return good;
}

/* ---- documents ---- */

static void embedded_catalogue(void **state)
{
	struct catalog c;
	struct error e = { 0 };

	if (!catalog_init(&c, NULL, 0, &e))
		fail_msg("%s:%d:%d: %s", e.source, e.line, e.column, e.message);
	assert_true(c.metrics.count > 100);
	assert_true(c.engines.count >= 20);
	assert_int_equal(catalog_metric(&c, "kv_usage")->merge, MERGE_MAX);
	assert_int_equal(catalog_metric(&c, "ttft")->type, METRIC_HISTOGRAM);
	assert_true(catalog_metric(&c, "generation_rate_gauge")->interval_gauge);
	for (size_t i = 0; i < c.metrics.count; i++)
		assert_int_equal(c.metrics.items[i]->index, i);
	catalog_fini(&c);
}

/* Every canonical metric is exported by somebody: else it is a name that no signal can use. */
static void no_orphan_metrics(void **state)
{
	struct catalog c;
	struct error e = { 0 };

	assert_true(catalog_init(&c, NULL, 0, &e));
	VEC_EACH (&c.metrics, metric) {
		bool found = false;

		VEC_EACH (&c.engines, engine)
			for (size_t i = 0; i < (*engine)->metric_count; i++)
				found = found || (*engine)->metrics[i].metric == *metric;
		if (!found)
			fail_msg("no engine exports " STR_FMT, STR_ARG((*metric)->id));
	}
	catalog_fini(&c);
}

static void documents(void **state)
{
	struct catalog c = load("");

	assert_int_equal(c.signals.count, 0);
	catalog_fini(&c);
	c = load("global: {scrape_interval: 15s}\nscrape_configs: []\nrule_files: [x]\nalerting: {}\nremote_write: []\notlp: {}\nsignals: "
		 "[]\n");
	catalog_fini(&c);
	assert_refused("signalz: []\n", 1, 1, "unknown key \"signalz\"", "did you mean \"signals\"?");
	assert_refused("- a\n", 1, 1, "a catalogue file is a map", NULL);
	assert_refused("signals: {a: b}\n", 1, 10, "signals: expected a list, found a map", NULL);
	assert_refused("signals: [a]\n", 1, 11, "expected a map", NULL);
	assert_refused("signals:\n- {id: a\n", 3, 1, "", NULL);
}

/* ---- metrics and engines ---- */

static void metrics(void **state)
{
	struct catalog c =
		load("metrics:\n- {id: a, type: gauge, unit: s, merge: max, interval: true, title: An a}\n- {id: b, type: info}\n");
	const struct metric_spec *a = catalog_metric(&c, "a");

	assert_int_equal(a->type, METRIC_GAUGE);
	assert_int_equal(a->merge, MERGE_MAX);
	assert_true(a->interval_gauge);
	assert_str(a->unit, "s");
	assert_str(a->title, "An a");
	assert_int_equal(catalog_metric(&c, "b")->index, 1);
	assert_null(catalog_metric(&c, "c"));
	catalog_fini(&c);
	assert_refused("metrics:\n- {id: a}\n", 2, 3, "needs a type", NULL);
	assert_refused("metrics:\n- {id: a, type: guage}\n", 2, 17, "\"guage\" is not known here", "did you mean \"gauge\"?");
	assert_refused("metrics:\n- {type: gauge}\n", 2, 3, "\"id\" is missing", NULL);
	assert_refused("metrics:\n- {id: a b, type: gauge}\n", 2, 8, "is no id", NULL);
	assert_refused("metrics:\n- {id: a, type: gauge, unti: s}\n", 2, 24, "unknown key", "did you mean \"unit\"?");
	assert_refused("metrics:\n- {id: a, type: gauge}\n- {id: a, type: gauge}\n", 3, 3, "already given at line 2", NULL);
}

static void engines(void **state)
{
	struct catalog c = load(METRICS "engines:\n"
					"- engine: e\n"
					"  title: E\n"
					"  prefixes: [\"e:\"]\n"
					"  variants: [\"ray_e:\"]\n"
					"  valid: [0, 100]\n"
					"  metrics:\n"
					"    running: [\"e:new\", {name: \"e:old\", until: \"1.2\", scale: 0.001, where: {kind: a|b}, "
					"labels: {x: y}, valid: [-.inf, 5],\n"
					"      invalid: off, note: n, deprecated: true}]\n"
					"    ttft: {names: [f], optional: true, hint: --flag, gone: why, not_in: {V1: never}}\n"
					"  versions:\n"
					"  - {seen: \"e:new\", label: l, from: \"1.3\"}\n"
					"  flavours:\n"
					"  - {name: V1, seen: \"e:*\", no_label: m}\n"
					"  companions:\n"
					"  - {exporter: process, why: because, not_in: [V1]}\n");
	const struct engine_spec *e = catalog_engine(&c, "e");

	assert_non_null(e);
	assert_int_equal(e->metric_count, 2);
	const struct engine_metric *running = &e->metrics[0];

	assert_int_equal(running->name_count, 4);
	assert_str(running->names[0].name, "e:new");
	assert_str(running->names[1].name, "ray_e:new");
	assert_true(running->names[0].valid_low == 0 && running->names[0].valid_high == 100);
	const struct name_spec *old = &running->names[2];

	assert_str(old->name, "e:old");
	assert_str(old->until, "1.2");
	assert_true(old->scale == 0.001);
	assert_str(old->where[0].value, "a|b");
	assert_str(name_spec_label(old, STR("x")), "y");
	assert_str(name_spec_label(old, STR("z")), "z");
	assert_true(isinf(old->valid_low) && old->valid_high == 5);
	assert_str(old->invalid_reason, "off");
	assert_true(old->deprecated);
	assert_int_equal(e->metrics[1].name_count, 1);
	assert_true(e->metrics[1].optional);
	assert_str(e->metrics[1].not_in[0].why, "never");
	assert_str(e->marks[0].when.label, "l");
	assert_str(e->flavours[0].when.no_label, "m");
	assert_str(e->companions[0].not_in[0], "V1");
	catalog_fini(&c);
}

#define ENGINE METRICS "engines:\n- engine: e\n  prefixes: [p]\n"

static void engine_errors(void **state)
{
	assert_refused(METRICS "engines:\n- engine: e\n", 6, 3, "needs prefixes or families", NULL);
	assert_refused(ENGINE "  metrics: {runing: [a]}\n", 8, 21, "no canonical metric is called \"runing\"", "did you mean \"running\"?");
	assert_refused(ENGINE "  metrics: {running: []}\n", 8, 22, "the list is empty", NULL);
	assert_refused(ENGINE "  metrics: {running: a}\n", 8, 22, "expected a map", NULL);
	assert_refused(ENGINE "  metrics: {running: [{nam: a}]}\n", 8, 24, "unknown key \"nam\"", "did you mean \"name\"?");
	assert_refused(ENGINE "  metrics: {running: [{note: a}]}\n", 8, 23, "\"name\" is missing", NULL);
	assert_refused(ENGINE "  metrics: {running: [{name: a, scale: x}]}\n", 8, 40, "", NULL);
	assert_refused(ENGINE "  metrics: {running: [{name: a, scale: 0}]}\n", 8, 23, "above 0", NULL);
	assert_refused(ENGINE "  metrics: {running: [{name: a, valid: [2, 1]}]}\n", 8, 40, "above the highest", NULL);
	assert_refused(ENGINE "  metrics: {running: [{name: a, valid: [2]}]}\n", 8, 40, "expected [lowest, highest]", NULL);
	assert_refused(ENGINE "  metrics: {running: [{name: a, where: [x]}]}\n", 8, 40, "where: expected a map", NULL);
	assert_refused(ENGINE "  versions: [{seen: a}]\n", 8, 14, "needs from or to", NULL);
	assert_refused(ENGINE "  versions: [{from: \"1\"}]\n", 8, 14, "needs seen, missing or flavour", NULL);
	assert_refused(ENGINE "  versions: [{label: a, from: \"1\"}]\n", 8, 14, "need \"seen\"", NULL);
	assert_refused(ENGINE "  flavours: [{seen: a}]\n", 8, 14, "\"name\" is missing", NULL);
	assert_refused(ENGINE "  known: [[a]]\n", 8, 11, "expected a list of texts", NULL);
	assert_refused(ENGINE "  prefixs: [a]\n", 8, 3, "unknown key", "did you mean \"prefixes\"?");
}

/* ---- signals ---- */

static void signals(void **state)
{
	struct catalog c = load(METRICS "signals:\n"
					"- {id: later, expr: early / 2}\n"
					"- id: early\n"
					"  title: Early\n"
					"  group: latency\n"
					"  unit: s\n"
					"  guard: n > 0\n"
					"  guard_reason: none\n"
					"  note: shared\n"
					"  min_events: 20\n"
					"  headline: true\n"
					"  fraction: true\n"
					"  any:\n"
					"  - {expr: \"quantile(0.9, ttft)\", note: own}\n"
					"  - {expr: mean(ttft), guard: n > 1, guard_reason: few}\n"
					"- {id: n, expr: count(ttft)}\n"
					"- {id: found, detected: true}\n");
	const struct signal_spec *early = catalog_signal(&c, "early");

	assert_int_equal(c.signals.count, 4);
	assert_int_equal(early->index, 1);
	assert_int_equal(early->line, 7);
	assert_str(early->source_file, "f.yaml");
	assert_int_equal(early->definition_count, 2);
	assert_str(early->definitions[0].note, "own");
	assert_str(early->definitions[1].note, "shared");
	assert_str(early->definitions[0].guard_reason, "none");
	assert_str(early->definitions[1].guard_reason, "few");
	assert_int_equal(early->definitions[0].guard->kind, EXPRESSION_GREATER);
	assert_true(early->min_events == 20 && early->headline && early->is_fraction);
	assert_int_equal(catalog_signal(&c, "found")->kind, SIGNAL_DETECTED);
	assert_str(catalog_nearest_signal(&c, STR("erly")), "early");
	catalog_fini(&c);
}

static void kinds(void **state)
{
	static const struct {
		const char *text;
		enum signal_kind kind;
	} cases[] = { { "level(running)", SIGNAL_LEVEL }, { "delta(running)", SIGNAL_DELTA }, { "age(finished)", SIGNAL_AGE },
		{ "count(ttft)", SIGNAL_COUNT }, { "sum(ttft)", SIGNAL_COUNT }, { "rate(finished)", SIGNAL_RATE },
		{ "mean(ttft)", SIGNAL_MEAN }, { "quantile(0.5, ttft)", SIGNAL_QUANTILE }, { "share_above(ttft, 1)", SIGNAL_SHARE },
		{ "cells(ttft)", SIGNAL_CELLS }, { "count(ttft) / count(finished)", SIGNAL_RATIO },
		{ "(n + count(ttft)) / n", SIGNAL_RATIO }, { "rate(ttft) / n", SIGNAL_FORMULA }, { "n / before(n) - 1", SIGNAL_CHANGE },
		{ "1 + n", SIGNAL_FORMULA }, { "series(ttft)", SIGNAL_LEVEL } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[400];

		snprintf(text, sizeof text, METRICS "signals:\n- {id: a, expr: \"%s\"}\n- {id: n, expr: count(finished)}\n", cases[i].text);
		struct catalog c = load(text);

		assert_string_equal(signal_kind_name(catalog_signal(&c, "a")->kind), signal_kind_name(cases[i].kind));
		catalog_fini(&c);
	}
}

#define SIGNAL METRICS "signals:\n- {id: a, "

static void signal_errors(void **state)
{
	assert_refused(SIGNAL "title: x}\n", 6, 3, "needs expr, any, or detected: true", NULL);
	assert_refused(SIGNAL "expr: \"1\", any: [{expr: \"2\"}]}\n", 6, 17, "exclude each other", NULL);
	assert_refused(SIGNAL "detected: true, expr: \"1\"}\n", 6, 3, "published by a detector", NULL);
	assert_refused(SIGNAL "any: []}\n", 6, 16, "the list is empty", NULL);
	assert_refused(SIGNAL "any: [{note: x}]}\n", 6, 17, "\"expr\" is missing", NULL);
	assert_refused(SIGNAL "expr: [x]}\n", 6, 17, "expected an expression", NULL);
	assert_refused(SIGNAL "expr: level(runing)}\n", 6, 23, "no metric is called \"runing\"", "did you mean \"running\"?");
	assert_refused(SIGNAL "expr: \"1 + level(runing)\"}\n", 6, 28, "no metric is called \"runing\"", NULL);
	assert_refused(SIGNAL "expr: 1 < 2}\n", 6, 17, "expected a number; this is a condition", NULL);
	assert_refused(SIGNAL "expr: \"1\", guard: \"2\"}\n", 6, 29, "expected a condition", NULL);
	assert_refused(SIGNAL "expr: \"1\", headline: 3}\n", 6, 32, "", NULL);
	assert_refused(SIGNAL "expr: \"1\", group: latancy}\n", 6, 29, "not known here", "did you mean \"latency\"?");
	assert_refused(SIGNAL "expr: \"1\"}\n- {id: a, expr: \"1\"}\n", 7, 3, "already given at line 6", NULL);
}

static void cycles(void **state)
{
	assert_refused(METRICS "signals:\n- {id: a, expr: b + 1}\n- {id: b, expr: c}\n- {id: c, expr: before(b)}\n", 7, 3,
		"\"b\" is defined by itself: b -> c -> b", NULL);
	assert_refused(METRICS "signals:\n- {id: a, expr: \"1\", guard: a > 1}\n", 6, 3, "defined by itself: a -> a", NULL);
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_add_cstr(&text, METRICS "signals:\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, "- {id: s%d, expr: s%d}\n", i, i + 1);
	buf_add_cstr(&text, "- {id: s1000, expr: \"1\"}\n");
	assert_refused(buf_cstr(&text), 6 + 64, 3, "in a chain", NULL);
	buf_fini(&text);
}

/* ---- findings ---- */

#define LOADED METRICS "signals:\n- {id: a, expr: level(running)}\n- {id: b, expr: a + 1}\n"

static void findings(void **state)
{
	struct catalog c = load(LOADED "findings:\n"
				       "- id: high-a\n"
				       "  title: a is {a}\n"
				       "  severity: critical\n"
				       "  when: a > 1\n"
				       "  critical: a > 2\n"
				       "  at: [engine, gpu]\n"
				       "  fresh: true\n"
				       "  symptom: true\n"
				       "  class: interactive\n"
				       "  roles: [mixed, decode]\n"
				       "  evidence: [a, b]\n"
				       "  counter: [b]\n"
				       "  suppresses: [other]\n"
				       "  now: [do this, {do: that, risk: none, run: \"kubectl\"}]\n"
				       "  later: [buy]\n"
				       "- {id: other, detector: rank-twins, at: [fleet], data: true}\n");
	const struct finding_spec *f = catalog_finding(&c, "high-a");

	assert_int_equal(c.findings.count, 2);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_int_equal(f->scopes, AT_ENGINE | AT_GPU);
	assert_non_null(f->when);
	assert_non_null(f->critical);
	assert_int_equal(f->role_count, 2);
	assert_int_equal(f->evidence_count, 2);
	assert_str(f->counter[0], "b");
	assert_str(f->suppresses[0], "other");
	assert_int_equal(f->action_count, 3);
	assert_str(f->actions[1].text, "that");
	assert_str(f->actions[1].command, "kubectl");
	assert_int_equal(f->actions[2].grade, ACTION_LATER);
	f = catalog_finding(&c, "other");
	assert_str(f->detector, "rank-twins");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_true(f->about_data);
	const char *const good[] = { "x", "rank-twins", NULL }, *const bad[] = { "rank-twin", NULL };
	struct error e = { 0 };

	assert_true(catalog_check_detectors(&c, good, &e));
	assert_false(catalog_check_detectors(&c, bad, &e));
	assert_int_equal(e.line, 24);
	assert_string_equal(e.hint, "did you mean \"rank-twin\"?");
	catalog_fini(&c);
}

#define FINDING LOADED "findings:\n- {id: f, "

static void finding_errors(void **state)
{
	assert_refused(FINDING "at: [fleet]}\n", 9, 3, "needs when (a red line) or detector", NULL);
	assert_refused(FINDING "when: a > 1}\n", 9, 3, "needs at", NULL);
	assert_refused(FINDING "when: a > 1, detector: d, at: [fleet]}\n", 9, 34, "exclude each other", NULL);
	assert_refused(FINDING "when: a + 1, at: [fleet]}\n", 9, 17, "expected a condition", NULL);
	assert_refused(FINDING "when: x > 1, at: [fleet]}\n", 9, 17, "no signal is called \"x\"", NULL);
	assert_refused(FINDING "when: a > 1, at: [flet]}\n", 9, 29, "not known here", "did you mean \"fleet\"?");
	assert_refused(FINDING "when: a > 1, at: fleet}\n", 9, 28, "expected a list", NULL);
	assert_refused(
		FINDING "when: a > 1, at: [fleet], evidence: [a, bb]}\n", 9, 51, "no signal is called \"bb\"", "did you mean \"b\"?");
	assert_refused(FINDING "when: a > 1, at: [fleet], suppresses: [g]}\n", 9, 50, "no finding is called \"g\"", NULL);
	assert_refused(FINDING "when: a > 1, at: [fleet], roles: [decod]}\n", 9, 45, "not known here", "did you mean \"decode\"?");
	assert_refused(FINDING "when: a > 1, at: [fleet], severity: bad}\n", 9, 47, "not known here", NULL);
	assert_refused(FINDING "when: a > 1, at: [fleet], now: [{risk: x}]}\n", 9, 43, "an action needs a text", NULL);
	assert_refused(FINDING "when: a > 1, at: [fleet], now: [{du: x}]}\n", 9, 44, "unknown key", "did you mean \"do\"?");
}

/* ---- pools ---- */

static void pools(void **state)
{
	struct catalog c = load("pools:\n"
				"- name: chat\n"
				"  match: {pod: \"chat-.*\", model: llama}\n"
				"  role: decode\n"
				"  class: batch\n"
				"  slo: {ttft: 500ms, tpot: 0.05, e2e: 10s}\n"
				"  memory_limit: 64GiB\n"
				"  gpus: 4\n"
				"  gpu_price: 2.5\n"
				"- name: rest\n");
	const struct pool_spec *chat = c.pools.items[0], *rest = c.pools.items[1];

	assert_int_equal(chat->match_count, 2);
	assert_true(regex_match(chat->match[0].re, STR("chat-7")));
	assert_false(regex_match(chat->match[0].re, STR("a-chat-7")));
	assert_int_equal(chat->role, ROLE_DECODE);
	assert_true(chat->slo_ttft_s == 0.5 && chat->slo_tpot_s == 0.05 && chat->slo_e2e_s == 10);
	assert_true(chat->memory_limit_bytes == 64 * 0x1p30);
	assert_true(chat->gpus == 4 && chat->gpu_price == 2.5);
	assert_str(chat->class_name, "batch");
	assert_str(rest->class_name, "interactive");
	assert_int_equal(rest->role, ROLE_MIXED);
	assert_true(isnan(rest->slo_ttft_s) && isnan(rest->memory_limit_bytes) && isnan(rest->gpus) && isnan(rest->gpu_price));
	catalog_fini(&c);
	assert_refused("pools:\n- {name: a, match: {pod: \"(\"}}\n", 2, 26, "is no regular expression", NULL);
	assert_refused("pools:\n- {name: a, slo: {ttft: fast}}\n", 2, 25, "expected a duration", NULL);
	assert_refused("pools:\n- {name: a, slo: {ttfd: 1s}}\n", 2, 19, "unknown key", "did you mean \"ttft\"?");
	assert_refused("pools:\n- {name: a, memory_limit: 64Gip}\n", 2, 27, "expected bytes", NULL);
	assert_refused("pools:\n- {name: a, gpus: 0}\n", 2, 19, "how many GPUs a replica has", NULL);
	assert_refused("pools:\n- {name: a, gpu_price: -2}\n", 2, 24, "what a GPU costs in an hour", NULL);
	assert_refused("pools:\n- {name: a, class: interactiv}\n", 2, 20, "not known here", "did you mean \"interactive\"?");
	assert_refused("pools:\n- {name: a, gpu: H100}\n", 2, 13, "unknown key", NULL);
	assert_refused("pools:\n- {name: a, success: \"(\"}\n", 2, 22, "expected finish reasons", "for example success: stop|length");
	assert_refused("pools:\n- {name: a, role: decoder}\n", 2, 19, "not known here", "did you mean \"decode\"?");
}

/* ---- several files ---- */

static void overrides(void **state)
{
	const char *const texts[] = {
		"metrics:\n- {id: mine, type: gauge}\n"
		"engines:\n- engine: vllm\n  metrics: {mine: [\"vllm:mine\"], kv_usage: [\"vllm:my_kv\"]}\n- {engine: nixl, disabled: "
		"true}\n"
		"signals:\n- {id: my_a, title: first, unit: s, expr: level(mine)}\n- {id: my_b, expr: my_a + 1}\n- {id: my_c, expr: "
		"\"1\"}\n"
		"findings:\n- {id: my_f, title: t, when: my_b > 1, at: [fleet], evidence: [my_b, my_c], now: [x], later: [y]}\n",
		"signals:\n- {id: my_a, title: second, expr: 2 * level(mine)}\n- {id: my_c, disabled: true}\n"
		"findings:\n- {id: my_f, detector: d, now: [z]}\n",
	};
	struct catalog c;
	struct error e = { 0 };

	if (!load_files(&c, texts, 2, &e))
		fail_msg("%s:%d:%d: %s", e.source, e.line, e.column, e.message);
	const struct signal_spec *a = catalog_signal(&c, "my_a");

	assert_str(a->title, "second");
	assert_str(a->unit, "s");
	assert_int_equal(a->kind, SIGNAL_FORMULA);
	assert_null(catalog_signal(&c, "my_c"));
	assert_null(catalog_engine(&c, "nixl"));
	const struct finding_spec *f = catalog_finding(&c, "my_f");

	assert_null(f->when);
	assert_str(f->detector, "d");
	assert_str(f->title, "t");
	assert_int_equal(f->evidence_count, 1);
	assert_int_equal(f->action_count, 2);
	assert_str(f->actions[1].text, "z");
	const struct engine_spec *vllm = catalog_engine(&c, "vllm");
	size_t seen = 0;

	for (size_t i = 0; i < vllm->metric_count; i++) {
		if (str_is(vllm->metrics[i].metric->id, "kv_usage")) {
			assert_str(vllm->metrics[i].names[0].name, "vllm:my_kv");
			seen++;
		}
		seen += str_is(vllm->metrics[i].metric->id, "mine") || str_is(vllm->metrics[i].metric->id, "ttft");
	}
	assert_int_equal(seen, 3);
	catalog_fini(&c);
}

/* An error in the second file names it. */
static void error_in_second_file(void **state)
{
	const char *const texts[] = { "signals:\n- {id: my_a, expr: \"1\"}\n", "signals:\n- {id: my_b, expr: my_aa}\n" };
	struct catalog c;
	struct error e = { 0 };

	assert_false(load_files(&c, texts, 2, &e));
	assert_non_null(strstr(e.source, "test_catalog_"));
	assert_int_equal(e.line, 2);
	assert_int_equal(e.column, 20);
	assert_string_equal(e.hint, "did you mean \"my_a\"?");
	const char *missing = "/nonexistent/catalog.yaml";

	assert_false(catalog_init(&c, &missing, 1, &e));
	assert_non_null(strstr(e.source, "/nonexistent/catalog.yaml"));
}

/* A disabled signal that something still computes with is an error, not a silent hole. */
static void disabled_but_used(void **state)
{
	const char *const texts[] = { "signals:\n- {id: my_a, expr: \"1\"}\n- {id: my_b, expr: my_a}\n",
		"signals:\n- {id: my_a, disabled: true}\n" };
	struct catalog c;
	struct error e = { 0 };

	assert_false(load_files(&c, texts, 2, &e));
	assert_non_null(strstr(e.message, "no signal is called \"my_a\""));
	assert_int_equal(e.line, 3);
}

/* ---- versions ---- */

static void versions(void **state)
{
	static const char *const rising[] = { "0.2.3", "0.9.0rc1", "0.9", "0.9.1", "0.9.2", "0.10.0.dev5", "0.10", "0.10.1", "0.10.1.1",
		"0.10.1.post2", "1.1.0rc2", "1.1.0rc10", "1.1.0", "24.08", "b2258" };

	for (size_t i = 0; i + 1 < ARRAY_LEN(rising); i++) {
		if (version_cmp(str_from(rising[i]), str_from(rising[i + 1])) >= 0)
			fail_msg("%s is not before %s", rising[i], rising[i + 1]);
		assert_true(version_cmp(str_from(rising[i + 1]), str_from(rising[i])) > 0);
	}
	assert_int_equal(version_cmp(STR("0.9"), STR("0.9.0")), 0);
	assert_int_equal(version_cmp(STR("v0.9.1"), STR("0.9.1")), 0);
	assert_true(version_within(STR("0.15.1"), STR("0.13"), STR("0.15")));
	assert_false(version_within(STR("0.16.0"), STR("0.13"), STR("0.15")));
	assert_false(version_within(STR("0.15.2"), STR("0.13"), STR("0.15.1")));
	assert_false(version_within(STR("0.12"), STR("0.13"), STR_EMPTY));
	assert_true(version_within(STR("9"), STR("0.13"), STR_EMPTY));
	assert_true(version_within(STR("0.1"), STR_EMPTY, STR_EMPTY));
}

/* Measured thresholds say how long they are good for, and are left out afterwards. */
static void thresholds(void **state)
{
	struct catalog fresh = load("thresholds: {workload: abc, rate: 3, expires: \"2999-01-01T00:00:00Z\"}\n" METRICS);
	struct catalog old = load("thresholds: {workload: abc, rate: 3, expires: \"2001-01-01T00:00:00Z\"}\n" METRICS);

	assert_int_equal(fresh.metrics.count, 3);
	assert_int_equal(old.metrics.count, 0);
	catalog_fini(&fresh);
	catalog_fini(&old);
	assert_refused("thresholds: {workload: abc}\n", 1, 13, "\"expires\" is a time", NULL);
	assert_refused("thresholds: {expires: soon}\n", 1, 13, "\"expires\" is a time", NULL);
	assert_refused("thresholds: {expire: now}\n", 1, 14, "unknown key", "did you mean \"expires\"?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thresholds),
		cmocka_unit_test(embedded_catalogue),
		cmocka_unit_test(no_orphan_metrics),
		cmocka_unit_test(documents),
		cmocka_unit_test(metrics),
		cmocka_unit_test(engines),
		cmocka_unit_test(engine_errors),
		cmocka_unit_test(signals),
		cmocka_unit_test(kinds),
		cmocka_unit_test(signal_errors),
		cmocka_unit_test(cycles),
		cmocka_unit_test(findings),
		cmocka_unit_test(finding_errors),
		cmocka_unit_test(pools),
		cmocka_unit_test(overrides),
		cmocka_unit_test(error_in_second_file),
		cmocka_unit_test(disabled_but_used),
		cmocka_unit_test(versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
