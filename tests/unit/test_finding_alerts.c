/* Findings as alerts: one per cause and pool, silent in a rollout, unmoved while the watcher is blind. Reports are made by hand. */
#include "base/number.h"
#include "promql/promql.h"
#include "rules/findings.h"
#include "store/store.h"
#include "unit.h"

#include <stdio.h>

enum { STEP = 15000, MINUTE = 60000, TARGETS_MAX = 16 };

struct fixture {
	struct catalog catalog;
	struct store *store;
	struct finding_rules *rules;
	struct report report;
	struct finding findings[8];
	struct target targets[TARGETS_MAX];
	struct target_report target_reports[TARGETS_MAX];
	struct scope fleet, pools[2];
	struct pool_spec specs[2];
	struct str where[TARGETS_MAX];
	int64_t now_ms;
	unsigned told;
};

static void use_targets(struct fixture *f, size_t first, size_t count)
{
	static const char *const names[] = { "pod-0", "pod-1", "pod-2", "pod-3", "pod-4", "pod-5", "pod-6", "pod-7", "pod-8", "pod-9",
		"pod-10", "pod-11", "pod-12", "pod-13", "pod-14", "pod-15" };

	for (size_t i = 0; i < count; i++) {
		f->targets[i].name = str_from(names[first + i]);
		f->where[i] = f->targets[i].name;
		f->target_reports[i].target = &f->targets[i];
	}
	f->report.target_count = f->report.targets_up = f->report.targets_judged = count;
}

static int setup(void **state)
{
	static struct fixture f;
	struct finding_options options = finding_defaults;
	struct error e = { 0 };

	f = (struct fixture){ .store = store_new(), .now_ms = 1000 * MINUTE };
	assert_true(catalog_init(&f.catalog, NULL, 0, &e));
	options.command = STR("goodput check --prometheus http://127.0.0.1:9470");
	f.rules = finding_rules_new(&f.catalog, &options);
	f.report.targets = f.target_reports;
	f.report.findings = f.findings;
	f.fleet = (struct scope){ .kind = SCOPE_FLEET, .name = STR("fleet") };
	for (int i = 0; i < 2; i++) {
		f.specs[i].name = i ? STR("batch") : STR("chat");
		f.pools[i] = (struct scope){ .kind = SCOPE_POOL, .name = f.specs[i].name, .pool = &f.specs[i] };
	}
	use_targets(&f, 0, 8);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	finding_rules_free(f->rules);
	store_free(f->store);
	catalog_fini(&f->catalog);
	return 0;
}

static struct finding *add(struct fixture *f, const char *id, struct scope *scope, size_t where)
{
	struct finding *x = &f->findings[f->report.finding_count++];

	*x = (struct finding){ .spec = catalog_finding(&f->catalog, id),
		.scope = scope,
		.title = STR("something is wrong"),
		.now = true,
		.where = f->where,
		.where_count = where,
		.where_all = f->report.target_count };
	assert_non_null(x->spec);
	x->severity = x->spec->severity;
	return x;
}

static void on_tell(void *context, const struct alert *alert, struct str query)
{
	((struct fixture *)context)->told++;
}

static void pass(struct fixture *f, int64_t ms)
{
	const struct rules_receiver to = { on_tell, f };

	for (int64_t end = f->now_ms + ms; f->now_ms < end; f->now_ms += STEP)
		finding_rules_evaluate(f->rules, &f->report, NULL, store_sink(f->store), &to, f->now_ms);
}

/* Active alerts of this state: "name/severity/pool name/severity/pool". */
static const char *active(struct fixture *f, enum alert_state state)
{
	static char text[1000];
	const struct rule_group *g = finding_rules_group(f->rules)->groups.items[0];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < g->rule_count; i++)
		for (size_t k = 0; k < g->rules[i].alerts.count; k++) {
			const struct alert *a = g->rules[i].alerts.items[k];

			if (a->state != state)
				continue;
			used += (size_t)snprintf(text + used, sizeof text - used, "%s" STR_FMT "/" STR_FMT "/" STR_FMT, used ? " " : "",
				STR_ARG(g->rules[i].name), STR_ARG(labels_get(a->labels, STR("severity"))),
				STR_ARG(labels_get(a->labels, STR("pool"))));
		}
	return text;
}

static struct str annotation(struct fixture *f, const char *id, const char *name)
{
	const struct rule_group *g = finding_rules_group(f->rules)->groups.items[0];

	for (size_t i = 0; i < g->rule_count; i++)
		for (size_t k = 0; str_is(g->rules[i].name, id) && k < g->rules[i].alerts.count; k++) {
			const struct pairs *p = &g->rules[i].alerts.items[k]->annotations;

			for (size_t n = 0; n < p->count; n++)
				if (str_is(p->items[n].name, name))
					return p->items[n].value;
		}
	return STR_EMPTY;
}

static void one_alert_for_a_cause_and_pool(void **state)
{
	struct fixture *f = *state;
	struct finding *symptom;

	add(f, "kv-thrash", &f->pools[0], 2);
	symptom = add(f, "preemptions", &f->pools[0], 2);
	symptom->suppressed_by = f->findings[0].spec;
	add(f, "slow-replica", &f->pools[1], 1);
	add(f, "slow-replica", &f->pools[1], 1); /* the same pool again */
	add(f, "slow-replica", &f->pools[0], 1)->undecided = true;
	add(f, "heavy-tail", &f->pools[0], 0); /* info */
	add(f, "ttft-high", &f->pools[0], 0)->now = false;
	pass(f, MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "");
	pass(f, STEP);
	assert_string_equal(active(f, ALERT_FIRING), "kv-thrash/critical/chat");
	assert_string_equal(active(f, ALERT_PENDING), "slow-replica/warning/batch");
	pass(f, MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "kv-thrash/critical/chat slow-replica/warning/batch");
	assert_int_equal(f->told, 2);
}

static void says_what_and_what_to_do(void **state)
{
	struct fixture *f = *state;
	struct action now = { ACTION_NOW, STR("Drain it"), STR("capacity falls"), STR("kubectl drain x") };
	struct finding *x = add(f, "kv-thrash", &f->pools[0], 2);

	x->actions = &now;
	x->action_count = 1;
	x->onset_ms = 999 * MINUTE;
	x->detail = STR("seen twice");
	pass(f, STEP);
	assert_str(annotation(f, "kv-thrash", "summary"), "2 of 8: pod-0, pod-1: something is wrong");
	assert_str(annotation(f, "kv-thrash", "description"), "seen twice.");
	assert_str(annotation(f, "kv-thrash", "command"), "goodput check --prometheus http://127.0.0.1:9470 --at 1970-01-01T16:40:00Z");
	assert_str(annotation(f, "kv-thrash", "onset"), "1970-01-01T16:39:00Z");
	assert_true(str_ends(annotation(f, "kv-thrash", "runbook"), STR("\nNow: Drain it (risk: capacity falls)\n  $ kubectl drain x")));
	assert_true(str_starts(annotation(f, "kv-thrash", "runbook"), str_head(x->spec->explain, 40)));
}

static void worse_takes_the_place_of_bad(void **state)
{
	struct fixture *f = *state;
	struct finding *x = add(f, "slow-replica", &f->pools[0], 1);

	pass(f, 3 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "slow-replica/warning/chat");
	x->severity = SEVERITY_CRITICAL;
	pass(f, STEP);
	assert_string_equal(active(f, ALERT_FIRING), "slow-replica/critical/chat");
	assert_string_equal(active(f, ALERT_INACTIVE), "slow-replica/warning/chat");
}

static void flapping_is_one_alert(void **state)
{
	struct fixture *f = *state;

	add(f, "slow-replica", &f->pools[0], 1);
	pass(f, 3 * MINUTE);
	for (int i = 0; i < 3; i++) {
		f->report.finding_count = 0;
		pass(f, 2 * MINUTE);
		assert_string_equal(active(f, ALERT_FIRING), "slow-replica/warning/chat");
		f->report.finding_count = 1;
		pass(f, STEP);
	}
	f->report.finding_count = 0;
	pass(f, 6 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "");
}

/* Near its red line a finding comes and goes: found at every second evaluation it fires, at every fourth it does not. */
static void what_comes_and_goes_fires_when_it_is_there_half_of_the_time(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 40; i++) {
		f->report.finding_count = 0;
		if (i % 2 == 0)
			add(f, "slow-replica", &f->pools[0], 1);
		if (i % 4 == 0)
			add(f, "slow-replica", &f->pools[1], 1);
		pass(f, STEP);
		if (i < 8)
			assert_string_equal(active(f, ALERT_FIRING), "");
	}
	assert_string_equal(active(f, ALERT_FIRING), "slow-replica/warning/chat");
	assert_string_equal(active(f, ALERT_PENDING), "slow-replica/warning/batch");
	f->report.finding_count = 0;
	pass(f, 90000);
	assert_string_equal(active(f, ALERT_PENDING), "");
}

static void a_firing_cause_keeps_its_symptoms(void **state)
{
	struct fixture *f = *state;

	add(f, "dp-imbalance", &f->pools[0], 1);
	pass(f, 3 * MINUTE);
	f->report.finding_count = 0;
	add(f, "slow-replica", &f->pools[0], 1); /* dp-imbalance suppresses it, and is not found at the moment */
	add(f, "slow-replica", &f->pools[1], 1); /* another pool */
	pass(f, 4 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "dp-imbalance/warning/chat slow-replica/warning/batch");
}

/* 8 replicas are replaced one by one, 2 minutes each; the one that is away and the one that has restarted are told by findings about the
 * data; one replica is really slow. */
static void a_rollout_raises_nothing_of_its_own(void **state)
{
	struct fixture *f = *state;

	pass(f, MINUTE);
	for (size_t i = 1; i <= 8; i++) {
		use_targets(f, i, 8);
		f->report.finding_count = 0;
		add(f, "scrape-partial", &f->fleet, 1)->where = &f->where[7];
		add(f, "restart", &f->pools[0], 1)->where = &f->where[7];
		add(f, "version-mix", &f->pools[0], 0);
		add(f, "slow-replica", &f->pools[0], 1);
		pass(f, 2 * MINUTE);
		if (i > 1)
			assert_string_equal(active(f, ALERT_FIRING), "slow-replica/warning/chat");
	}
	/* The last one stays away: that is no rollout. */
	f->report.finding_count = 0;
	add(f, "scrape-partial", &f->fleet, 1)->where = &f->where[7];
	pass(f, 11 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "scrape-partial/warning/");
}

static void most_of_the_fleet_away_is_no_rollout(void **state)
{
	struct fixture *f = *state;

	finding_rules_expect_changes(f->rules, f->now_ms + 60 * MINUTE);
	add(f, "scrape-partial", &f->fleet, 5);
	pass(f, 3 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "scrape-partial/warning/");
}

static void churn_without_a_rollout_is_told(void **state)
{
	struct fixture *f = *state;

	add(f, "restart", &f->pools[0], 1);
	pass(f, 3 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "restart/warning/chat");
}

static void blindness_is_an_alert_and_moves_no_other(void **state)
{
	struct fixture *f = *state;

	add(f, "kv-thrash", &f->pools[0], 2);
	pass(f, 2 * MINUTE);
	add(f, "slow-replica", &f->pools[1], 1);
	pass(f, STEP);
	f->report.finding_count = 0;
	add(f, "scrape-partial", &f->fleet, 8);
	f->report.targets_up = f->report.targets_judged = 0;
	pass(f, 20 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "kv-thrash/critical/chat watcher-blind/critical/");
	assert_string_equal(active(f, ALERT_PENDING), "slow-replica/warning/batch");
	assert_str(annotation(f, "watcher-blind", "summary"), "the watcher is blind: none of 8 targets answers");
	/* It sees again, and all is well. */
	f->report.finding_count = 0;
	f->report.targets_up = f->report.targets_judged = 8;
	pass(f, 6 * MINUTE);
	assert_string_equal(active(f, ALERT_FIRING), "");
}

static void no_report_is_blindness(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 6; i++, f->now_ms += STEP)
		finding_rules_evaluate(f->rules, NULL, "the store is away", store_sink(f->store), NULL, f->now_ms);
	assert_string_equal(active(f, ALERT_FIRING), "watcher-blind/critical/");
	assert_str(annotation(f, "watcher-blind", "summary"), "the watcher is blind: the store is away");
}

static void writes_the_series_of_alerts(void **state)
{
	struct fixture *f = *state;
	struct backend *backend = backend_embedded_new(f->store);
	struct promql_value v;
	struct arena arena;
	struct error e = { 0 };

	arena_init(&arena);
	add(f, "kv-thrash", &f->pools[0], 2);
	pass(f, 2 * MINUTE);
	assert_true(backend->ops->query(backend, &arena, STR("ALERTS{alertname=\"kv-thrash\",source=\"goodput\"}"), f->now_ms, &v, &e));
	assert_int_equal(v.count, 1);
	assert_str(labels_get(v.elements[0].labels, STR("alertstate")), "firing");
	arena_fini(&arena);
	backend_free(backend);
}

static void reload_keeps_alerts(void **state)
{
	struct fixture *f = *state;
	struct finding_rules *next = finding_rules_new(&f->catalog, &finding_defaults);

	add(f, "kv-thrash", &f->pools[0], 2);
	pass(f, 2 * MINUTE);
	finding_rules_take_over(next, f->rules);
	finding_rules_free(f->rules);
	f->rules = next;
	assert_string_equal(active(f, ALERT_FIRING), "kv-thrash/critical/chat");
	pass(f, STEP);
	assert_string_equal(active(f, ALERT_FIRING), "kv-thrash/critical/chat");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(one_alert_for_a_cause_and_pool), TEST(says_what_and_what_to_do),
		TEST(worse_takes_the_place_of_bad), TEST(flapping_is_one_alert),
		TEST(what_comes_and_goes_fires_when_it_is_there_half_of_the_time), TEST(a_firing_cause_keeps_its_symptoms),
		TEST(a_rollout_raises_nothing_of_its_own), TEST(most_of_the_fleet_away_is_no_rollout),
		TEST(churn_without_a_rollout_is_told), TEST(blindness_is_an_alert_and_moves_no_other), TEST(no_report_is_blindness),
		TEST(writes_the_series_of_alerts), TEST(reload_keeps_alerts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
