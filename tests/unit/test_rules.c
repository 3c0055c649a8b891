/* Rules in virtual time: the state machine of alerts, what is written and marked stale, restarts, reloads, the schedule; what a wrong file
 * is told. That results are Prometheus's is tested by tests/run-rules. */
#include "base/json.h"
#include "base/number.h"
#include "promql/promql.h"
#include "rules/api.h"
#include "rules/rules.h"
#include "store/store.h"
#include "unit.h"

#include <stdio.h>

enum { MINUTE = 60000 };

struct fixture {
	struct store *store;
	struct backend *backend;
	struct rules *rules;
	struct error error;
	unsigned told, told_resolved;
	int64_t valid_until_ms;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .store = store_new() };
	f.backend = backend_embedded_new(f.store);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rules_free(f->rules);
	backend_free(f->backend);
	store_free(f->store);
	return 0;
}

static void load_with(struct fixture *f, const char *text, const struct rules_options *options)
{
	f->rules = rules_load_text(STR("r.yml"), str_from(text), options, &f->error);
	if (!f->rules)
		fail_msg("%d:%d: %s", f->error.line, f->error.column, f->error.message);
}

static void load(struct fixture *f, const char *text)
{
	load_with(f, text, &rules_defaults);
}

static void put(struct fixture *f, const char *name, const char *job, int64_t t_ms, double value)
{
	struct sink *sink = store_sink(f->store);
	struct labels *l = labels_new((struct label[]){ { LABEL_NAME, str_from(name) }, { STR("job"), str_from(job) } }, 2);

	assert_int_equal(sink->ops->append(sink, sink->ops->series(sink, l, METRIC_GAUGE), t_ms, value), APPEND_OK);
	labels_unref(l);
}

static void on_tell(void *context, const struct alert *alert, struct str query)
{
	struct fixture *f = context;

	f->told++;
	f->told_resolved += alert->resolved_ms != 0;
	f->valid_until_ms = alert->valid_until_ms;
}

static void evaluate_at(struct fixture *f, int64_t t_ms)
{
	const struct rules_receiver to = { on_tell, f };

	VEC_EACH (&f->rules->groups, g)
		rules_evaluate(f->rules, *g, f->backend, store_sink(f->store), &to, t_ms);
}

/* "name{...} value, ..." of an instant query, in its order. */
static const char *ask(struct fixture *f, const char *query, int64_t t_ms)
{
	static char text[2000];
	struct promql_value v;
	struct arena arena;
	struct buf out;

	arena_init(&arena);
	buf_init(&out, sizeof text - 1);
	if (!f->backend->ops->query(f->backend, &arena, str_from(query), t_ms, &v, &f->error))
		fail_msg("%s", f->error.message);
	for (size_t i = 0; i < v.count; i++) {
		buf_add_cstr(&out, i ? ", " : "");
		labels_print(v.elements[i].labels, &out);
		buf_add_c(&out, ' ');
		buf_add_double(&out, v.elements[i].value);
	}
	snprintf(text, sizeof text, "%s", buf_cstr(&out));
	buf_fini(&out);
	arena_fini(&arena);
	return text;
}

static const struct alert *first_alert(const struct fixture *f)
{
	const struct alerts *all = &f->rules->groups.items[0]->rules[0].alerts;

	return all->count ? all->items[0] : NULL;
}

#define ALERT_RULE(more) "groups:\n- name: g\n  rules:\n  - alert: High\n    expr: load > 5\n" more

/* ---- alerts ---- */

static void fires_after_for(void **state)
{
	struct fixture *f = *state;

	load(f, ALERT_RULE("    for: 2m\n"));
	for (int minute = 0; minute <= 3; minute++) {
		put(f, "load", "a", minute * MINUTE, 9);
		evaluate_at(f, minute * MINUTE);
		assert_string_equal(
			ask(f, "ALERTS", minute * MINUTE), minute < 2 ? "ALERTS{alertname=\"High\",alertstate=\"pending\",job=\"a\"} 1"
								      : "ALERTS{alertname=\"High\",alertstate=\"firing\",job=\"a\"} 1");
	}
	assert_int_equal(first_alert(f)->active_ms, 0);
	assert_int_equal(first_alert(f)->fired_ms, 2 * MINUTE);
	assert_string_equal(ask(f, "ALERTS_FOR_STATE", 3 * MINUTE), "ALERTS_FOR_STATE{alertname=\"High\",job=\"a\"} 0");
}

static void pending_is_forgotten_at_once(void **state)
{
	struct fixture *f = *state;

	load(f, ALERT_RULE("    for: 2m\n"));
	put(f, "load", "a", 0, 9);
	evaluate_at(f, 0);
	put(f, "load", "a", MINUTE, 1);
	evaluate_at(f, MINUTE);
	assert_null(first_alert(f));
	assert_string_equal(ask(f, "ALERTS", MINUTE), "");
	put(f, "load", "a", 2 * MINUTE, 9);
	evaluate_at(f, 2 * MINUTE);
	assert_int_equal(first_alert(f)->active_ms, 2 * MINUTE);
	assert_int_equal(f->told, 0);
}

static void resolved_is_told_and_kept_for_a_while(void **state)
{
	struct fixture *f = *state;

	load(f, ALERT_RULE(""));
	put(f, "load", "a", MINUTE, 9);
	evaluate_at(f, MINUTE);
	assert_int_equal(f->told, 1);
	assert_int_equal(f->valid_until_ms, MINUTE + 4 * MINUTE);
	put(f, "load", "a", 2 * MINUTE, 1);
	evaluate_at(f, 2 * MINUTE);
	assert_int_equal(f->told_resolved, 1);
	assert_int_equal(first_alert(f)->state, ALERT_INACTIVE);
	assert_int_equal(first_alert(f)->resolved_ms, 2 * MINUTE);
	for (int minute = 3; minute <= 17; minute++) {
		put(f, "load", "a", minute * MINUTE, 1);
		evaluate_at(f, minute * MINUTE);
	}
	assert_non_null(first_alert(f));
	assert_true(f->told_resolved > 5); /* again, in case one got lost */
	put(f, "load", "a", 18 * MINUTE, 1);
	evaluate_at(f, 18 * MINUTE);
	assert_null(first_alert(f));
}

static void firing_is_told_again_after_the_delay(void **state)
{
	struct fixture *f = *state;

	load(f, ALERT_RULE(""));
	for (int second = 0; second <= 120; second += 20) {
		put(f, "load", "a", second * 1000 + 1, 9);
		evaluate_at(f, second * 1000 + 1);
	}
	assert_int_equal(f->told, 2); /* at 0 s; not before more than 60 s are over: at 80 s */
}

static void keeps_firing(void **state)
{
	struct fixture *f = *state;

	load(f, ALERT_RULE("    keep_firing_for: 2m\n"));
	put(f, "load", "a", 0, 9);
	evaluate_at(f, 0);
	for (int minute = 1; minute <= 4; minute++) {
		put(f, "load", "a", minute * MINUTE, 1);
		evaluate_at(f, minute * MINUTE);
		assert_int_equal(first_alert(f)->state, minute < 3 ? ALERT_FIRING : ALERT_INACTIVE);
	}
	put(f, "load", "a", 5 * MINUTE, 9);
	evaluate_at(f, 5 * MINUTE);
	assert_int_equal(first_alert(f)->state, ALERT_FIRING);
	assert_int_equal(first_alert(f)->active_ms, 5 * MINUTE);
	assert_int_equal(first_alert(f)->keep_firing_since_ms, 0);
}

static void limit_clears_alerts(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  limit: 1\n  rules:\n  - alert: High\n    expr: load > 5\n");
	put(f, "load", "a", 0, 9);
	evaluate_at(f, 0);
	assert_int_equal(alerts_active(&f->rules->groups.items[0]->rules[0].alerts), 1);
	put(f, "load", "a", MINUTE, 9);
	put(f, "load", "b", MINUTE, 9);
	evaluate_at(f, MINUTE);
	assert_null(first_alert(f));
	assert_string_equal(f->rules->groups.items[0]->rules[0].error, "exceeded limit of 1 with 2 alerts");
	assert_int_equal(f->rules->groups.items[0]->rules[0].health, RULE_ERROR);
}

/* ---- recording ---- */

static void records_and_marks_stale(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  rules:\n  - record: job:load\n    expr: load > 0\n    labels: {team: x, job: \"\"}\n"
		"  - record: twice\n    expr: job:load * 2\n");
	put(f, "load", "a", 0, 3);
	evaluate_at(f, 0);
	assert_string_equal(ask(f, "{__name__=~\"job:load|twice\"}", 0), "job:load{team=\"x\"} 3, twice{team=\"x\"} 6");
	put(f, "load", "a", MINUTE, 0);
	evaluate_at(f, MINUTE);
	assert_string_equal(ask(f, "{__name__=~\"job:load|twice\"}", MINUTE), "");
	assert_string_equal(ask(f, "{__name__=~\"job:load|twice\"}", MINUTE - 1), "job:load{team=\"x\"} 3, twice{team=\"x\"} 6");
}

static void a_failing_rule_stops_nobody(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  rules:\n  - record: bad\n    expr: load\n    labels: {job: same}\n  - record: good\n    expr: "
		"sum(load)\n");
	put(f, "load", "a", 0, 1);
	put(f, "load", "b", 0, 2);
	evaluate_at(f, 0);
	assert_string_equal(ask(f, "{__name__=~\"bad|good\"}", 0), "good 3");
	assert_string_equal(
		f->rules->groups.items[0]->rules[0].error, "vector contains metrics with the same labelset after applying rule labels");
	assert_int_equal(f->rules->groups.items[0]->rules[1].health, RULE_OK);
	assert_int_equal(f->rules->failures, 1);
}

static void query_offset_looks_and_writes_earlier(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  query_offset: 30s\n  rules:\n  - record: r\n    expr: load\n  - alert: High\n    expr: load > 5\n");
	put(f, "load", "a", 0, 7);
	put(f, "load", "a", 50000, 8);
	evaluate_at(f, MINUTE);
	assert_string_equal(ask(f, "r", 29999), "");
	assert_string_equal(ask(f, "r", 30000), "r{job=\"a\"} 7");
	assert_string_equal(ask(f, "timestamp(ALERTS)", MINUTE), "{alertname=\"High\",alertstate=\"firing\",job=\"a\"} 30");
	assert_int_equal(f->rules->groups.items[0]->rules[1].alerts.items[0]->active_ms, MINUTE);
}

static void group_labels_give_way(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  labels: {team: x, tier: one}\n  rules:\n  - record: r\n    expr: vector(1)\n    labels: {team: "
		"y}\n");
	evaluate_at(f, 0);
	assert_string_equal(ask(f, "r", 0), "r{team=\"y\",tier=\"one\"} 1");
}

/* ---- restart and reload ---- */

static const char slow_rule[] = ALERT_RULE("    for: 30m\n");

static void restart(struct fixture *f, int64_t t_ms, int64_t last_ms)
{
	struct rules_options options = rules_defaults;

	options.restore = true;
	rules_free(f->rules);
	load_with(f, slow_rule, &options);
	for (; t_ms <= last_ms; t_ms += MINUTE) {
		put(f, "load", "a", t_ms, 9);
		evaluate_at(f, t_ms);
	}
}

static void for_is_restored_after_a_restart(void **state)
{
	struct fixture *f = *state;

	load(f, slow_rule);
	for (int minute = 0; minute <= 10; minute++) {
		put(f, "load", "a", minute * MINUTE, 9);
		evaluate_at(f, minute * MINUTE);
	}
	/* Away from 10 to 15; seen at 15 and 16, so the time away, 6 minutes, does not count. */
	restart(f, 15 * MINUTE, 15 * MINUTE);
	assert_string_equal(ask(f, "ALERTS_FOR_STATE", 14 * MINUTE), "ALERTS_FOR_STATE{alertname=\"High\",job=\"a\"} 0");
	restart(f, 16 * MINUTE, 18 * MINUTE);
	assert_int_equal(first_alert(f)->active_ms, 7 * MINUTE);
	assert_string_equal(ask(f, "ALERTS_FOR_STATE", 18 * MINUTE), "ALERTS_FOR_STATE{alertname=\"High\",job=\"a\"} 420");
}

static void grace_after_a_restart(void **state)
{
	struct fixture *f = *state;

	load(f, slow_rule);
	for (int minute = 0; minute <= 25; minute++) {
		put(f, "load", "a", minute * MINUTE, 9);
		evaluate_at(f, minute * MINUTE);
	}
	/* 5 minutes were left: it gets the 10 of the grace. */
	restart(f, 27 * MINUTE, 28 * MINUTE);
	assert_int_equal(first_alert(f)->active_ms, 28 * MINUTE + 10 * MINUTE - 30 * MINUTE);
}

static void too_long_an_outage_begins_anew(void **state)
{
	struct fixture *f = *state;

	load(f, slow_rule);
	put(f, "load", "a", 0, 9);
	evaluate_at(f, 0);
	restart(f, 90 * MINUTE, 92 * MINUTE);
	assert_int_equal(first_alert(f)->active_ms, 90 * MINUTE);
}

static void reload_keeps_what_is_the_same(void **state)
{
	struct fixture *f = *state;

	load(f, "groups:\n- name: g\n  rules:\n  - alert: High\n    expr: load > 5\n    for: 5m\n  - record: gone\n    expr: load\n  - "
		"record: kept\n    expr: load\n");
	put(f, "load", "a", 0, 9);
	evaluate_at(f, 0);
	struct rules *old = f->rules;

	load(f, "groups:\n- name: g\n  rules:\n  - record: kept\n    expr: load * 2\n  - alert: High\n    expr: load > 6\n    for: 5m\n");
	rules_take_over(f->rules, old);
	rules_free(old);
	put(f, "load", "a", MINUTE, 9);
	evaluate_at(f, MINUTE);
	assert_int_equal(f->rules->groups.items[0]->rules[1].alerts.items[0]->active_ms, 0);
	assert_string_equal(ask(f, "{__name__=~\"gone|kept\"}", MINUTE), "kept{job=\"a\"} 18");
}

/* ---- the schedule ---- */

static void groups_come_at_their_times(void **state)
{
	struct fixture *f = *state;
	int64_t t, first = 0, before = 0;
	size_t due = 0;

	load(f, "groups:\n- name: g\n  interval: 10s\n  rules: []\n");
	struct rule_group *g = f->rules->groups.items[0];

	for (int64_t now = 1000000; now < 1100000; now += 500)
		if (rules_due(f->rules, now, &t)) {
			assert_int_equal(t % 10000, g->offset_ms);
			assert_true(t <= now && now - t < 500);
			assert_true(!before || t == before + 10000);
			first = first ? first : t;
			before = t;
			due++;
		}
	assert_in_range(due, 9, 10);
	assert_int_equal(g->missed, 0);
	/* 35 seconds of sleep: the newest time only. */
	assert_non_null(rules_due(f->rules, before + 35000, &t));
	assert_int_equal(t, before + 30000);
	assert_int_equal(g->missed, 2);
	assert_null(rules_due(f->rules, before + 35001, &t));
	assert_int_equal(rules_next(f->rules, before + 35001), before + 40000);
	/* The clock is set back by an hour. */
	assert_true(rules_next(f->rules, before - 3600000) <= before - 3600000 + 10000);
}

/* ---- files ---- */

static void wrong_files_say_where(void **state)
{
	static const struct {
		const char *text;
		int line, column;
		const char *message, *hint;
	} cases[] = {
		{ "groups:\n- name: g\n  rules:\n  - record: r\n    expr: sum(load\n", 5, 19, "parse error: unclosed left parenthesis",
			"" },
		{ "groups:\n- name: g\n  rules:\n  - record: r\n    expr: |\n      sum(\n        load) by )\n", 7, 19, NULL, NULL },
		{ "groups:\n- name: g\n  rules:\n  - record: r\n    expr: \"sum(load))\"\n", 5, 22, NULL, NULL },
		{ "groups:\n- name: g\n  rule: []\n", 3, 3, "unknown key \"rule\"", "did you mean \"rules\"?" },
		{ "groups:\n- rules: []\n", 2, 3, "Groupname must not be empty", "add name:" },
		{ "groups:\n- name: g\n- name: g\n", 3, 3, "groupname: \"g\" is repeated in the same file", NULL },
		{ "groups:\n- name: g\n  interval: 5\n", 3, 13, "interval: not a valid duration string: \"5\"", "add the unit: 5s" },
		{ "groups:\n- name: g\n  rules:\n  - record: r\n    expr: x\n    for: 1m\n", 6, 5, "invalid field 'for' in recording rule",
			NULL },
		{ "groups:\n- name: g\n  rules:\n  - record: 9r\n    expr: x\n", 4, 13, "invalid recording rule name: 9r", NULL },
		{ "groups:\n- name: g\n  rules:\n  - record: r\n    alert: A\n    expr: x\n", 5, 12,
			"only one of 'record' and 'alert' must be set", NULL },
		{ "groups:\n- name: g\n  rules:\n  - expr: x\n", 4, 5, "one of 'record' or 'alert' must be set", NULL },
		{ "groups:\n- name: g\n  rules:\n  - alert: A\n", 4, 5, "field 'expr' must be set in rule", NULL },
		{ "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x[5m]\n", 5, 11,
			"a rule's query must give a vector or a scalar, not a range vector", NULL },
		{ "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x\n    labels: {a-b: c}\n", 6, 14, "invalid label name: \"a-b\"",
			NULL },
		{ "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x\n    annotations: {s: \"{{ nothing }}\"}\n", 6, 22,
			"annotation \"s\": template: 1:4: function \"nothing\" not defined", NULL },
		{ "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x\n    annotations: {s: \"{{ if .Value }}x\"}\n", 6, 22, NULL,
			NULL },
		{ "apiVersion: v1\nkind: PrometheusRule\nspec: {}\n", 1, 1, "unknown key \"apiVersion\"",
			"this is a Kubernetes resource (PrometheusRule): the rule file is what its spec holds" },
		{ "groups: {}\n", 1, 9, "groups must be a list, not a map", NULL },
		{ "- a\n", 1, 1, "a rule file must be a map, not a list", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error e = { 0 };

		if (rules_load_text(STR("r.yml"), str_from(cases[i].text), &rules_defaults, &e))
			fail_msg("loaded: %s", cases[i].text);
		if (e.line != cases[i].line || e.column != cases[i].column ||
			(cases[i].message && strcmp(e.message, cases[i].message) != 0) ||
			(cases[i].hint && strcmp(e.hint, cases[i].hint) != 0))
			fail_msg("%s%d:%d: %s (%s)", cases[i].text, e.line, e.column, e.message, e.hint);
		assert_string_equal(e.source, "r.yml");
	}
}

static void empty_files_are_fine(void **state)
{
	static const char *const texts[] = { "", "groups:\n", "groups: []\n", "# nothing\n", "groups:\n- name: g\n",
		"groups:\n- name: g\n  rules:\n" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct error e = { 0 };
		struct rules *r = rules_load_text(STR("r.yml"), str_from(texts[i]), &rules_defaults, &e);

		assert_non_null(r);
		assert_int_equal(rules_count(r), 0);
		rules_free(r);
	}
}

/* ---- the API ---- */

static void shows_what_the_api_shows(void **state)
{
	struct fixture *f = *state;
	struct buf out;

	load(f, "groups:\n- name: g\n  interval: 30s\n  rules:\n  - alert: High\n    expr: load>5\n    for: 90s\n    labels: {severity: "
		"page}\n"
		"    annotations: {s: \"{{ $value }}\"}\n  - record: r\n    expr: sum(load)\n");
	put(f, "load", "a", 1500, 42);
	evaluate_at(f, 1500);
	f->rules->groups.items[0]->took_s = f->rules->groups.items[0]->rules[0].took_s = f->rules->groups.items[0]->rules[1].took_s = 0.5;
	buf_init(&out, 1 << 20);
	struct json j = { .out = &out };
	const struct rules *sets[] = { f->rules };

	rules_print_groups(&j, NULL, sets, 1, NULL);
	assert_string_equal(buf_cstr(&out),
		"{\"groups\":[{\"name\":\"g\",\"file\":\"r.yml\",\"rules\":[{\"state\":\"pending\",\"name\":\"High\",\"query\":\"load > "
		"5\",\"duration\":90,"
		"\"keepFiringFor\":0,\"labels\":{\"severity\":\"page\"},\"annotations\":{\"s\":\"{{ $value }}\"},\"alerts\":[{\"labels\":{"
		"\"alertname\":\"High\",\"job\":\"a\",\"severity\":\"page\"},\"annotations\":{\"s\":\"42\"},\"state\":\"pending\","
		"\"activeAt\":"
		"\"1970-01-01T00:00:01.5Z\",\"value\":\"4.2e+01\"}],\"health\":\"ok\",\"evaluationTime\":0.5,\"lastEvaluation\":"
		"\"1970-01-01T00:00:01.5Z\",\"type\":\"alerting\"},{\"name\":\"r\",\"query\":\"sum(load)\",\"health\":\"ok\","
		"\"evaluationTime\":0.5,"
		"\"lastEvaluation\":\"1970-01-01T00:00:01.5Z\",\"type\":\"recording\"}],\"interval\":30,\"limit\":0,\"evaluationTime\":0.5,"
		"\"lastEvaluation\":\"1970-01-01T00:00:01.5Z\"}]}");
	buf_reset(&out);
	j.more = false;
	rules_print_groups(&j, NULL, sets, 1, &(struct rules_filter){ .names = (struct str[]){ STR("other") }, .name_count = 1 });
	assert_string_equal(buf_cstr(&out), "{\"groups\":[]}");
	buf_reset(&out);
	j.more = false;
	rules_print_alerts(&j, NULL, sets, 1);
	assert_non_null(strstr(buf_cstr(&out), "\"state\":\"pending\""));
	buf_fini(&out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(fires_after_for), TEST(pending_is_forgotten_at_once),
		TEST(resolved_is_told_and_kept_for_a_while), TEST(firing_is_told_again_after_the_delay), TEST(keeps_firing),
		TEST(limit_clears_alerts), TEST(records_and_marks_stale), TEST(a_failing_rule_stops_nobody),
		TEST(query_offset_looks_and_writes_earlier), TEST(group_labels_give_way), TEST(for_is_restored_after_a_restart),
		TEST(grace_after_a_restart), TEST(too_long_an_outage_begins_anew), TEST(reload_keeps_what_is_the_same),
		TEST(groups_come_at_their_times), TEST(wrong_files_say_where), TEST(empty_files_are_fine), TEST(shows_what_the_api_shows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
