/* Canonical metrics: what an engine may export, under the one name that signals use. */
#include "catalog/load.h"

static const char *const metric_keys[] = { "id", "title", "type", "unit", "merge", "interval", NULL };
static const char *const type_names[] = { "gauge", "counter", "histogram", "info", NULL };
static const enum metric_type types[] = { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_INFO };
static const char *const merge_names[] = { "sum", "max", "mean", NULL };

static struct metric_spec *metric_entry(struct loader *l, struct str id)
{
	struct catalog *c = l->catalog;
	struct metric_spec *metric = map_get(&c->metric_by_id, id);

	if (!metric) {
		metric = ARENA_NEW(l->arena, struct metric_spec);
		metric->id = metric->title = id;
		metric->index = c->metrics.count;
		VEC_PUSH(&c->metrics, metric);
		map_set(&c->metric_by_id, id, metric);
	}
	return metric;
}

static bool load_metric(struct loader *l, const struct yaml *map, struct error *e)
{
	struct str id;
	int type = -1;

	if (!load_is_map(map, "metrics", e) || !load_id(map, "id", &id, e) || !yaml_only(map, metric_keys, e) ||
		!load_first_in_file(l, map, "metric", id, e) || !load_choice(map, "type", type_names, &type, e))
		return false;
	bool known = map_has(&l->catalog->metric_by_id, id);

	if (!known && type < 0)
		return yaml_error(map, e, "metric \"" STR_FMT "\" needs a type: gauge, counter, histogram or info", STR_ARG(id));
	struct metric_spec *metric = metric_entry(l, id);
	int merge = (int)metric->merge;

	if (!yaml_get_str(map, "title", &metric->title, e) || !yaml_get_str(map, "unit", &metric->unit, e) ||
		!yaml_get_bool(map, "interval", &metric->interval_gauge, e) || !load_choice(map, "merge", merge_names, &merge, e))
		return false;
	metric->merge = (enum merge_rule)merge;
	if (type >= 0)
		metric->type = types[type];
	return true;
}

bool load_metrics(struct loader *l, const struct yaml *list, struct error *e)
{
	if (!load_is_list(list, "metrics", e))
		return false;
	YAML_EACH (list, map) {
		if (!load_metric(l, map, e))
			return false;
	}
	return true;
}
