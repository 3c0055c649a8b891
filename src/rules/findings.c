#include "rules/findings.h"

#include "base/clock.h"
#include "base/map.h"
#include "rules/finding_text.h"
#include "rules/pass.h"

#include <stdlib.h>

#define BLIND "watcher-blind"

const struct finding_options finding_defaults = {
	.rules = { .interval_ms = 15000, .resend_ms = 60000, .outage_tolerance_ms = 3600000, .grace_ms = 600000 },
	.least = SEVERITY_WARNING,
	.hold_critical_ms = 60000,
	.hold_ms = 120000,
	.keep_firing_ms = 300000,
	.churn_ms = 600000,
	.pause_ms = 60000,
};

struct place { /* "finding\0target": since when it is named without a pause */
	int64_t first_ms, last_ms;
};

struct pulse { /* of a pending alert, by its labels: how much of the time since it became pending it was true */
	int64_t last_ms;
	unsigned looked, raised;
};

struct finding_rules {
	const struct catalog *catalog; /* its findings have the rules' indices */
	struct finding_options options;
	struct rules *rules;
	struct map targets; /* names in the newest report */
	bool seen_targets;
	int64_t changing_until_ms;
	struct map places;
	struct map pulses;
};

/* ---- the group ---- */

static struct rule_text severity_text(enum severity s)
{
	return (struct rule_text){ .name = STR("severity"), .text = str_from(severity_name(s)) };
}

static void rule_init(struct finding_rules *f, struct rule *rule, struct str id, enum severity severity)
{
	struct arena *arena = &f->rules->arena;

	rule->is_alert = true;
	rule->restored = true;
	rule->name = arena_str(arena, id);
	rule->query = arena_printf(arena, "ALERTS{alertname=\"" STR_FMT "\",source=\"goodput\"}", STR_ARG(id));
	rule->for_ms = severity == SEVERITY_CRITICAL ? f->options.hold_critical_ms : f->options.hold_ms;
	rule->keep_firing_ms = f->options.keep_firing_ms;
	rule->labels = ARENA_NEW(arena, struct rule_text);
	rule->labels[0] = severity_text(severity);
	rule->label_count = 1;
}

struct finding_rules *finding_rules_new(const struct catalog *c, const struct finding_options *options)
{
	struct finding_rules *f = NEW(struct finding_rules);

	f->options = *options;
	f->catalog = c;
	f->rules = rules_load_text(STR("findings"), STR(""), &options->rules, NULL);
	f->options.command = arena_str(&f->rules->arena, options->command);
	map_init(&f->targets);
	map_init(&f->places);
	map_init(&f->pulses);
	struct rule_group *g = ARENA_NEW(&f->rules->arena, struct rule_group);

	g->name = STR("goodput");
	g->file = STR("findings");
	g->interval_ms = options->rules.interval_ms;
	g->rules = ARENA_ARRAY(&f->rules->arena, struct rule, c->findings.count + 1);
	for (size_t i = 0; i < c->findings.count; i++)
		rule_init(f, &g->rules[g->rule_count++], c->findings.items[i]->id, c->findings.items[i]->severity);
	rule_init(f, &g->rules[g->rule_count++], STR(BLIND), SEVERITY_CRITICAL);
	VEC_PUSH(&f->rules->groups, g);
	return f;
}

static void values_free(struct map *m)
{
	MAP_EACH (m, entry)
		mem_free(entry->value);
	map_fini(m);
}

void finding_rules_free(struct finding_rules *f)
{
	if (!f)
		return;
	values_free(&f->places);
	values_free(&f->pulses);
	map_fini(&f->targets);
	rules_free(f->rules);
	mem_free(f);
}

const struct rules *finding_rules_group(const struct finding_rules *f)
{
	return f->rules;
}

void finding_rules_take_over(struct finding_rules *f, struct finding_rules *old)
{
	rules_take_over(f->rules, old->rules);
	values_free(&f->places);
	values_free(&f->pulses);
	map_fini(&f->targets);
	f->targets = old->targets;
	f->places = old->places;
	f->pulses = old->pulses;
	f->seen_targets = old->seen_targets;
	f->changing_until_ms = old->changing_until_ms;
	map_init(&old->targets);
	map_init(&old->places);
	map_init(&old->pulses);
}

void finding_rules_expect_changes(struct finding_rules *f, int64_t until_ms)
{
	f->changing_until_ms = until_ms > f->changing_until_ms ? until_ms : f->changing_until_ms;
}

/* ---- a rollout ---- */

/* Have targets come or gone since the report before? */
static void note_targets(struct finding_rules *f, const struct report *r, int64_t t_ms)
{
	size_t known = 0;

	for (size_t i = 0; i < r->target_count; i++)
		known += map_has(&f->targets, r->targets[i].target->name);
	if (f->seen_targets && (known != r->target_count || known != f->targets.live))
		finding_rules_expect_changes(f, t_ms + f->options.churn_ms);
	map_clear(&f->targets);
	for (size_t i = 0; i < r->target_count; i++)
		map_set(&f->targets, r->targets[i].target->name, f);
	f->seen_targets = true;
}

static void note_versions(struct finding_rules *f, const struct report *r, int64_t t_ms)
{
	for (size_t i = 0; i < r->finding_count; i++)
		if (r->findings[i].now && str_is(r->findings[i].spec->id, "version-mix"))
			finding_rules_expect_changes(f, t_ms + f->options.churn_ms);
}

/* How long one of the places of the finding has had it; notes that they have it now. */
static int64_t longest_at_a_place(struct finding_rules *f, const struct finding *finding, int64_t t_ms)
{
	int64_t longest = 0, pause_ms = 3 * f->options.rules.interval_ms;

	for (size_t i = 0; i < finding->where_count; i++) {
		char key[256];
		int length = snprintf(key, sizeof key, STR_FMT "\n" STR_FMT, STR_ARG(finding->spec->id), STR_ARG(finding->where[i]));
		bool made;
		struct map_entry *entry =
			map_put(&f->places, str_of(key, (size_t)length < sizeof key ? (size_t)length : sizeof key - 1), &made);

		if (made)
			entry->value = mem_zalloc(1, sizeof(struct place));
		struct place *place = entry->value;

		if (made || t_ms - place->last_ms > pause_ms)
			place->first_ms = t_ms;
		place->last_ms = t_ms;
		longest = t_ms - place->first_ms > longest ? t_ms - place->first_ms : longest;
	}
	return longest;
}

/* Keeps the entries that were looked at lately. */
static void forget(struct map *m, int64_t (*last_ms)(const void *value), int64_t since_ms)
{
	struct map kept;

	map_init(&kept);
	MAP_EACH (m, entry) {
		if (last_ms(entry->value) < since_ms)
			mem_free(entry->value);
		else
			map_set(&kept, entry->key, entry->value);
	}
	map_fini(m);
	*m = kept;
}

static int64_t place_last_ms(const void *value)
{
	return ((const struct place *)value)->last_ms;
}

static int64_t pulse_last_ms(const void *value)
{
	return ((const struct pulse *)value)->last_ms;
}

/* What is about the data or the watch comes with every rollout; what is about the service does not. */
static bool is_churn(struct finding_rules *f, const struct finding *finding, int64_t t_ms)
{
	int64_t longest = longest_at_a_place(f, finding, t_ms);
	bool most = finding->where_all > 1 && finding->where_count * 2 > finding->where_all;

	return finding->spec->about_data && t_ms < f->changing_until_ms && longest < f->options.churn_ms && !most;
}

/* ---- candidates ---- */

static struct str pool_of(const struct finding *finding)
{
	const struct scope *s = finding->scope;

	return !s ? STR_EMPTY : s->pool ? s->pool->name : s->kind == SCOPE_POOL ? s->name : STR_EMPTY;
}

static bool is_shown(const struct finding_rules *f, const struct finding *finding)
{
	return finding->now && !finding->suppressed_by && !finding->undecided && finding->severity >= f->options.least;
}

static const struct labels *labels_of(struct str id, enum severity severity, struct str pool)
{
	const struct label pairs[] = { { STR("alertname"), id }, { STR("severity"), str_from(severity_name(severity)) },
		{ STR("pool"), pool }, { STR("source"), STR("goodput") } };

	return labels_new(pairs, ARRAY_LEN(pairs));
}

/* An alert of this id and pool that is active under another severity ends at once: the new one takes its place, true since the same moment.
 */
static int64_t supersede(struct rule *rule, struct str pool, const struct labels *labels)
{
	int64_t since = 0;

	for (size_t i = 0; i < rule->alerts.count; i++) {
		struct alert *alert = rule->alerts.items[i];

		if (alert->state == ALERT_INACTIVE || labels_eq(alert->labels, labels) ||
			!str_eq(labels_get(alert->labels, STR("pool")), pool))
			continue;
		since = !since || alert->active_ms < since ? alert->active_ms : since;
		alert->keep_firing_since_ms = 1; /* long ago */
	}
	return since;
}

/* The gravest finding of a kind in a pool speaks for the others of the pool. */
static bool speaks(const struct finding_rules *f, const struct report *r, size_t which)
{
	const struct finding *mine = &r->findings[which];

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *other = &r->findings[i];

		if (i == which || other->spec != mine->spec || !is_shown(f, other) || !str_eq(pool_of(other), pool_of(mine)))
			continue;
		if (other->severity > mine->severity || (other->severity == mine->severity && i < which))
			return false;
	}
	return true;
}

static void add_candidate(struct pass *p, const struct finding_rules *f, const struct finding *finding, candidates *list)
{
	struct str pool = pool_of(finding);
	struct pairs annotations = finding_annotations(p->arena, finding, f->options.command, p->t_ms);
	struct candidate c = { .labels = labels_of(finding->spec->id, finding->severity, pool),
		.annotations = pairs_copy(annotations.items, annotations.count),
		.value = (double)(finding->where_count ? finding->where_count : 1),
		.hold_ms = finding->severity == SEVERITY_CRITICAL ? f->options.hold_critical_ms : f->options.hold_ms };

	c.since_ms = supersede(p->rule, pool, c.labels);
	VEC_PUSH(list, c);
}

static void add_blind(struct pass *p, const struct finding_rules *f, const char *why, candidates *list)
{
	struct pairs annotations = blind_annotations(p->arena, str_from(why), f->options.command, p->t_ms);

	VEC_PUSH(list, (struct candidate){ .labels = labels_of(STR(BLIND), SEVERITY_CRITICAL, STR_EMPTY),
			       .annotations = pairs_copy(annotations.items, annotations.count),
			       .value = 1,
			       .hold_ms = f->options.hold_critical_ms });
}

/* ---- pending with pauses: a finding near its red line comes and goes ---- */

static struct pulse *pulse_of(struct finding_rules *f, const struct labels *l, bool make)
{
	struct buf key;
	struct pulse *pulse;

	buf_init(&key, SIZE_MAX / 2);
	labels_print(l, &key);
	pulse = map_get(&f->pulses, buf_str(&key));
	if (!pulse && make) {
		pulse = NEW(struct pulse);
		map_set(&f->pulses, buf_str(&key), pulse);
	}
	buf_fini(&key);
	return pulse;
}

/* A candidate that is true less than half of the time does not fire. */
static void pulse_candidates(struct finding_rules *f, candidates *list, int64_t t_ms)
{
	VEC_EACH (list, c) {
		struct pulse *pulse = pulse_of(f, c->labels, true);

		pulse->last_ms = t_ms;
		pulse->raised++;
		pulse->looked++;
		if (pulse->raised * 2 < pulse->looked)
			c->hold_ms = INT64_MAX;
	}
}

static bool is_candidate(const candidates *list, const struct labels *l)
{
	VEC_EACH (list, c)
		if (labels_eq(c->labels, l))
			return true;
	return false;
}

static void add_again(const struct alert *alert, candidates *list)
{
	VEC_PUSH(list, (struct candidate){ .labels = labels_ref(alert->labels),
			       .annotations = pairs_copy(alert->annotations.items, alert->annotations.count),
			       .value = alert->value,
			       .hold_ms = INT64_MAX });
}

/* A pending alert that is not true now, but was a moment ago, stays pending. */
static void add_paused(struct finding_rules *f, const struct rule *rule, candidates *list)
{
	for (size_t i = 0; i < rule->alerts.count; i++) {
		const struct alert *alert = rule->alerts.items[i];
		struct pulse *pulse = alert->state == ALERT_PENDING && !alert->keep_firing_since_ms && !is_candidate(list, alert->labels)
					      ? pulse_of(f, alert->labels, false)
					      : NULL;

		if (!pulse)
			continue;
		pulse->looked++;
		add_again(alert, list);
	}
}

/* Causes whose alert fires go on taking their symptoms, also at moments at which the cause itself is not found. */
static bool has_firing_cause(const struct finding_rules *f, const struct finding *finding)
{
	const struct rule_group *g = f->rules->groups.items[0];

	for (size_t i = 0; i < f->catalog->findings.count && !finding->spec->about_data; i++) {
		const struct finding_spec *cause = f->catalog->findings.items[i];
		const struct alerts *alerts = &g->rules[i].alerts;

		for (size_t k = 0; alerts->count && k < cause->suppresses_count; k++) {
			if (!str_eq(cause->suppresses[k], finding->spec->id))
				continue;
			for (size_t n = 0; n < alerts->count; n++)
				if (alerts->items[n]->state == ALERT_FIRING &&
					str_eq(labels_get(alerts->items[n]->labels, STR("pool")), pool_of(finding)))
					return true;
		}
	}
	return false;
}

/* ---- an evaluation ---- */

/* Why nothing can be judged; NULL: it can. In the arena. */
static const char *blindness(struct arena *arena, const struct report *r, const char *why)
{
	if (!r)
		return why && *why ? why : "there is no report";
	if (!r->target_count)
		return "there is no target";
	if (!r->targets_up)
		return arena_printf(arena, "none of %zu targets answers", r->target_count).ptr;
	if (!r->targets_judged)
		return arena_printf(arena, "%zu of %zu targets answer, and none shows an engine or exporter that is known", r->targets_up,
			r->target_count)
			.ptr;
	return NULL;
}

static void collect(struct finding_rules *f, struct pass *p, const struct report *r, const bool *churn, const char *blind, candidates *list)
{
	if (str_is(p->rule->name, BLIND)) {
		if (blind)
			add_blind(p, f, blind, list);
		return;
	}
	/* Blind: what is active stays so, what is pending goes no further. */
	for (size_t i = 0; blind && i < p->rule->alerts.count; i++)
		if (p->rule->alerts.items[i]->state != ALERT_INACTIVE)
			add_again(p->rule->alerts.items[i], list);
	if (blind)
		return;
	for (size_t i = 0; i < r->finding_count; i++)
		if (str_eq(r->findings[i].spec->id, p->rule->name) && !churn[i] && is_shown(f, &r->findings[i]) && speaks(f, r, i) &&
			!has_firing_cause(f, &r->findings[i]))
			add_candidate(p, f, &r->findings[i], list);
	pulse_candidates(f, list, p->t_ms);
	add_paused(f, p->rule, list);
}

void finding_rules_evaluate(struct finding_rules *f, const struct report *report, const char *why, struct sink *sink,
	const struct rules_receiver *to, int64_t t_ms)
{
	struct rule_group *g = f->rules->groups.items[0];
	int64_t start_ns = clock_monotonic_ns();
	bool *churn = NULL;
	struct arena arena;

	arena_init(&arena);
	const char *blind = blindness(&arena, report, why);

	if (report) {
		note_targets(f, report, t_ms);
		note_versions(f, report, t_ms);
		churn = mem_zalloc(report->finding_count + 1, sizeof *churn);
		for (size_t i = 0; i < report->finding_count; i++)
			churn[i] = report->findings[i].now && is_churn(f, &report->findings[i], t_ms);
		forget(&f->places, place_last_ms, t_ms - f->options.churn_ms);
		forget(&f->pulses, pulse_last_ms, t_ms - f->options.pause_ms);
	}
	for (size_t i = 0; i < g->rule_count; i++) {
		struct pass p = {
			.rules = f->rules, .group = g, .rule = &g->rules[i], .sink = sink, .arena = &arena, .t_ms = t_ms, .sample_ms = t_ms
		};
		candidates list = { 0 };
		int64_t rule_start_ns = clock_monotonic_ns();

		collect(f, &p, report, churn, blind, &list);
		bool ok = pass_alerts(&p, &list);

		candidates_free(&list);
		pass_end(&p, ok, to, rule_start_ns);
	}
	mem_free(churn);
	arena_fini(&arena);
	g->evaluated_ms = t_ms;
	g->evaluations++;
	g->took_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
}
