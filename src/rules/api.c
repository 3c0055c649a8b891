#include "rules/api.h"

#include <stdio.h>
#include <time.h>

#include "rules/template_tree.h"

/* Go's RFC3339Nano: no more digits of the fraction than there are. */
static void json_date(struct json *j, const char *key, int64_t t_ms)
{
	time_t seconds = (time_t)(t_ms / 1000);
	int rest = (int)(t_ms % 1000), length;
	char date[32], text[48];
	struct tm tm;

	if (!t_ms) {
		json_text(j, key, STR("0001-01-01T00:00:00Z"));
		return;
	}
	gmtime_r(&seconds, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	length = snprintf(text, sizeof text, "%s.%03d", date, rest);
	while (text[length - 1] == '0' || text[length - 1] == '.')
		if (text[--length] == '.')
			break;
	text[length] = 'Z';
	json_text(j, key, str_of(text, (size_t)length + 1));
}

void rules_print_labels(struct json *j, const char *key, const struct label *items, size_t count)
{
	json_open(j, key, '{');
	for (size_t i = 0; i < count; i++)
		json_text(j, items[i].name.ptr, items[i].value);
	json_close(j, '}');
}

static void json_texts(struct json *j, const char *key, const struct rule_text *texts, size_t count)
{
	json_open(j, key, '{');
	for (size_t i = 0; i < count; i++)
		json_text(j, texts[i].name.ptr, texts[i].text);
	json_close(j, '}');
}

static void print_alert(struct json *j, const struct alert *alert)
{
	struct buf value;

	buf_init(&value, 64);
	go_float(alert->value, 'e', -1, &value);
	json_open(j, NULL, '{');
	rules_print_labels(j, "labels", alert->labels->items, alert->labels->count);
	rules_print_labels(j, "annotations", alert->annotations.items, alert->annotations.count);
	json_text(j, "state", str_from(alert_state_name(alert->state)));
	json_date(j, "activeAt", alert->active_ms);
	if (alert->keep_firing_since_ms)
		json_date(j, "keepFiringSince", alert->keep_firing_since_ms);
	json_text(j, "value", buf_str(&value));
	json_close(j, '}');
	buf_fini(&value);
}

static void print_active(struct json *j, const struct alerts *alerts)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (alerts->items[i]->state != ALERT_INACTIVE)
			print_alert(j, alerts->items[i]);
}

static void print_rule(struct json *j, const struct rule *rule, bool exclude_alerts)
{
	json_open(j, NULL, '{');
	if (rule->is_alert)
		json_text(j, "state", str_from(alert_state_name(alerts_state(&rule->alerts))));
	json_text(j, "name", rule->name);
	json_text(j, "query", rule->query);
	if (rule->is_alert) {
		json_number(j, "duration", (double)rule->for_ms / 1000);
		json_number(j, "keepFiringFor", (double)rule->keep_firing_ms / 1000);
	}
	if (rule->is_alert || rule->label_count)
		json_texts(j, "labels", rule->labels, rule->label_count);
	if (rule->is_alert) {
		json_texts(j, "annotations", rule->annotations, rule->annotation_count);
		json_open(j, "alerts", '[');
		if (!exclude_alerts)
			print_active(j, &rule->alerts);
		json_close(j, ']');
	}
	json_text(j, "health", str_from(rule_health_name(rule->health)));
	json_text_if(j, "lastError", str_from(rule->error));
	json_number(j, "evaluationTime", rule->took_s);
	json_date(j, "lastEvaluation", rule->evaluated_ms);
	json_text(j, "type", rule->is_alert ? STR("alerting") : STR("recording"));
	json_close(j, '}');
}

/* ---- filters ---- */

static bool is_among(struct str text, const struct str *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(text, list[i]))
			return true;
	return count == 0;
}

static struct str text_of(const struct rule *rule, struct str name)
{
	for (size_t i = 0; i < rule->label_count; i++)
		if (str_eq(rule->labels[i].name, name))
			return rule->labels[i].text;
	return STR_EMPTY;
}

static bool matches(const struct rule *rule, const struct rules_filter *f)
{
	for (size_t i = 0; i < f->match_count; i++) {
		bool all = true;

		for (size_t k = 0; k < f->match_counts[i] && all; k++)
			all = matcher_matches(&f->matches[i][k], text_of(rule, f->matches[i][k].name));
		if (all)
			return true;
	}
	return f->match_count == 0;
}

static bool is_shown(const struct rule *rule, const struct rules_filter *f)
{
	return !(f->only_alerts && !rule->is_alert) && !(f->only_recordings && rule->is_alert) &&
	       is_among(rule->name, f->names, f->name_count) && matches(rule, f);
}

static bool any_shown(const struct rule_group *g, const struct rules_filter *f)
{
	for (size_t i = 0; i < g->rule_count; i++)
		if (is_shown(&g->rules[i], f))
			return true;
	return g->rule_count == 0 && !f->name_count && !f->match_count;
}

/* ---- all ---- */

static void print_group(struct json *j, const struct rule_group *g, const struct rules_filter *f)
{
	json_open(j, NULL, '{');
	json_text(j, "name", g->name);
	json_text(j, "file", g->file);
	json_open(j, "rules", '[');
	for (size_t i = 0; i < g->rule_count; i++)
		if (is_shown(&g->rules[i], f))
			print_rule(j, &g->rules[i], f->exclude_alerts);
	json_close(j, ']');
	json_number(j, "interval", (double)g->interval_ms / 1000);
	json_integer(j, "limit", (int64_t)g->limit);
	json_number(j, "evaluationTime", g->took_s);
	json_date(j, "lastEvaluation", g->evaluated_ms);
	json_close(j, '}');
}

void rules_print_groups(struct json *j, const char *key, const struct rules *const *sets, size_t count, const struct rules_filter *filter)
{
	static const struct rules_filter everything;
	const struct rules_filter *f = filter ? filter : &everything;

	json_open(j, key, '{');
	json_open(j, "groups", '[');
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; sets[i] && k < sets[i]->groups.count; k++) {
			const struct rule_group *g = sets[i]->groups.items[k];

			if (is_among(g->name, f->groups, f->group_count) && is_among(g->file, f->files, f->file_count) && any_shown(g, f))
				print_group(j, g, f);
		}
	json_close(j, ']');
	json_close(j, '}');
}

void rules_print_alerts(struct json *j, const char *key, const struct rules *const *sets, size_t count)
{
	json_open(j, key, '{');
	json_open(j, "alerts", '[');
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; sets[i] && k < sets[i]->groups.count; k++)
			for (size_t r = 0; r < sets[i]->groups.items[k]->rule_count; r++)
				print_active(j, &sets[i]->groups.items[k]->rules[r].alerts);
	json_close(j, ']');
	json_close(j, '}');
}
