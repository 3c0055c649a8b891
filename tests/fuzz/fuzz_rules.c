/* fuzz_rules: bytes as a rule file.
 *
 * - It loads, or is refused with a message and a place in it.
 * - What loads evaluates, templates filled in: a query's canonical form parses, alerts are sorted and distinct, and none fires before its
 * time. */
#include "promql/promql.h"
#include "rules/rules.h"
#include "store/store.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096, RULES_MAX = 50 };

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void put(struct store *s, const char *job, int64_t t_ms, double value)
{
	struct sink *sink = store_sink(s);
	struct labels *l = labels_new((struct label[]){ { LABEL_NAME, STR("x") }, { STR("job"), str_from(job) } }, 2);

	sink->ops->append(sink, sink->ops->series(sink, l, METRIC_GAUGE), t_ms, value);
	labels_unref(l);
}

static void check_rule(const struct rule *rule, int64_t t_ms)
{
	struct arena arena;
	struct error e = { 0 };

	arena_init(&arena);
	REQUIRE(promql_parse(&arena, rule->query, &promql_defaults, &e));
	for (size_t i = 0; i < rule->alerts.count; i++) {
		const struct alert *alert = rule->alerts.items[i];

		REQUIRE(labels_get(alert->labels, STR("alertname")).len);
		REQUIRE(i == 0 || labels_cmp(rule->alerts.items[i - 1]->labels, alert->labels) < 0);
		REQUIRE(alert->state == ALERT_INACTIVE || t_ms - alert->active_ms >= (alert->state == ALERT_FIRING ? rule->for_ms : 0));
	}
	arena_fini(&arena);
}

static void evaluate(struct rules *r)
{
	struct store *store = store_new();
	struct backend *backend = backend_embedded_new(store);

	for (int64_t t_ms = 60000; t_ms <= 300000; t_ms += 60000) {
		put(store, "a", t_ms, (double)(t_ms / 60000));
		if (t_ms < 240000)
			put(store, "b\"\n", t_ms, 1e300);
		VEC_EACH (&r->groups, g) {
			rules_evaluate(r, *g, backend, store_sink(store), NULL, t_ms);
			REQUIRE((*g)->evaluated_ms == t_ms);
			for (size_t i = 0; i < (*g)->rule_count; i++)
				check_rule(&(*g)->rules[i], t_ms);
		}
	}
	backend_free(backend);
	store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error e = { 0 };
	struct rules *r;

	if (size > INPUT_MAX)
		return 0;
	r = rules_load_text(STR("fuzz"), str_of((const char *)data, size), &rules_defaults, &e);
	if (!r) {
		REQUIRE(e.set && e.message[0] && e.line > 0);
		return 0;
	}
	REQUIRE(rules_next(r, 1000000) > 999999);
	if (rules_count(r) <= RULES_MAX)
		evaluate(r);
	rules_free(r);
	return 0;
}
