/* Answers of the API as values. */
#include "base/number.h"
#include "promql/remote_internal.h"

#include <math.h>

void label_pool_init(struct label_pool *p)
{
	*p = (struct label_pool){ .all = { 0 } };
	map_init(&p->by_hash);
}

void label_pool_fini(struct label_pool *p)
{
	VEC_EACH (&p->all, l)
		labels_unref(*l);
	VEC_FREE(&p->all);
	map_fini(&p->by_hash);
}

const struct labels *label_pool_take(struct label_pool *p, struct labels *l)
{
	struct map_entry *entry = map_put(&p->by_hash, str_of((const char *)&l->hash, sizeof l->hash), NULL);
	if (entry->value && labels_eq(entry->value, l)) {
		labels_unref(l);
		return entry->value;
	}
	/* Two sets with one hash: the second is kept, and just not found again. */
	if (!entry->value)
		entry->value = l;
	VEC_PUSH(&p->all, l);
	return l;
}

static struct str json_text(json_t *string)
{
	return str_of(json_string_value(string), json_string_length(string));
}

static bool bad_answer(struct error *e, const char *what)
{
	return error_set(e, EXIT_UNREACHABLE, "the server's answer has a form that is not Prometheus's: %s", what);
}

static const struct labels *labels_read(struct label_pool *pool, json_t *metric)
{
	VEC(struct label) pairs = { 0 };
	const char *name;
	json_t *value;
	json_object_foreach(metric, name, value) VEC_PUSH(&pairs, (struct label){ str_from(name), json_text(value) });
	struct labels *l = labels_new(pairs.items, pairs.count);
	VEC_FREE(&pairs);
	return label_pool_take(pool, l);
}

/* [seconds, "value"] */
static bool sample_read(json_t *pair, int64_t *t_ms, double *value)
{
	json_t *t = json_array_get(pair, 0), *v = json_array_get(pair, 1);
	if (!json_is_number(t) || !json_is_string(v) || !number_parse(json_text(v), value))
		return false;
	*t_ms = llround(json_number_value(t) * 1000);
	return true;
}

static bool vector_read(struct label_pool *pool, struct arena *arena, json_t *result, struct promql_value *value, struct error *e)
{
	size_t i;
	json_t *item;
	value->count = json_array_size(result);
	value->elements = ARENA_ARRAY(arena, struct promql_element, value->count + 1);
	json_array_foreach(result, i, item)
	{
		struct promql_element *element = &value->elements[i];
		if (json_object_get(item, "histogram"))
			return bad_answer(e, "a native histogram, which is not supported");
		if (!sample_read(json_object_get(item, "value"), &element->t_ms, &element->value))
			return bad_answer(e, "a vector without values");
		element->labels = labels_read(pool, json_object_get(item, "metric"));
	}
	return true;
}

static bool series_read(struct arena *arena, json_t *values, struct series_view *view)
{
	size_t i, count = json_array_size(values);
	int64_t *t = arena_alloc(arena, (count + 1) * sizeof *t);
	double *v = arena_alloc(arena, (count + 1) * sizeof *v);
	json_t *pair;
	view->t = t;
	view->v = v;
	json_array_foreach(values, i, pair)
	{
		int64_t t_ms;
		double value;
		if (!sample_read(pair, &t_ms, &value))
			return false;
		if (view->count > 0 && t_ms <= t[view->count - 1])
			continue; /* VictoriaMetrics without deduplication repeats times */
		t[view->count] = t_ms;
		v[view->count++] = value;
	}
	return true;
}

static bool matrix_read(struct label_pool *pool, struct arena *arena, json_t *result, struct promql_value *value, struct error *e)
{
	size_t i;
	json_t *item;
	value->series = ARENA_ARRAY(arena, struct series_view, json_array_size(result) + 1);
	json_array_foreach(result, i, item)
	{
		json_t *values = json_object_get(item, "values");
		if (!values && json_object_get(item, "histograms")) {
			value->warnings = value->warnings ? value->warnings : ARENA_ARRAY(arena, struct str, 1);
			value->warnings[0] = STR("native histograms are left out");
			value->warning_count = 1;
			continue;
		}
		struct series_view *view = &value->series[value->count];
		if (!series_read(arena, values, view))
			return bad_answer(e, "a matrix without values");
		view->labels = labels_read(pool, json_object_get(item, "metric"));
		value->count++;
	}
	return true;
}

bool remote_value_read(struct label_pool *pool, struct arena *arena, json_t *data, struct promql_value *value, struct error *e)
{
	struct str type = json_text(json_object_get(data, "resultType"));
	json_t *result = json_object_get(data, "result");
	*value = (struct promql_value){ 0 };
	if (!json_is_array(result))
		return bad_answer(e, "no result");
	if (str_is(type, "vector")) {
		value->type = PROMQL_VECTOR;
		return vector_read(pool, arena, result, value, e);
	}
	if (str_is(type, "matrix")) {
		value->type = PROMQL_MATRIX;
		return matrix_read(pool, arena, result, value, e);
	}
	if (str_is(type, "scalar")) {
		value->type = PROMQL_SCALAR;
		return sample_read(result, &value->t_ms, &value->scalar) || bad_answer(e, "a scalar without a value");
	}
	if (str_is(type, "string")) {
		value->type = PROMQL_STRING;
		value->t_ms = llround(json_number_value(json_array_get(result, 0)) * 1000);
		value->text = arena_str(arena, json_text(json_array_get(result, 1)));
		return true;
	}
	return bad_answer(e, "an unknown result type");
}

struct str *remote_strings_read(struct arena *arena, json_t *list, size_t *count)
{
	struct str *texts = ARENA_ARRAY(arena, struct str, json_array_size(list) + 1);
	size_t i;
	json_t *item;
	*count = 0;
	json_array_foreach(list, i, item) if (json_is_string(item)) texts[(*count)++] = arena_str(arena, json_text(item));
	return texts;
}
