/* Values, and the forms that a length can have. */
#include "base/number.h"
#include "workload/read.h"

bool read_whole(const struct yaml *map, const char *key, uint64_t least, uint64_t most, uint64_t *value, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	int64_t v;

	if (!node || yaml_is_null(node))
		return true;
	if (node->kind != YAML_SCALAR || node->quoted || !number_parse_i64(node->text, &v) || v < 0 || (uint64_t)v < least ||
		(uint64_t)v > most)
		return yaml_error(node, e, "\"%s\" must be a whole number from %llu to %llu", key, (unsigned long long)least,
			(unsigned long long)most);
	*value = (uint64_t)v;
	return true;
}

bool read_u32(const struct yaml *map, const char *key, uint32_t least, uint32_t most, uint32_t *value, struct error *e)
{
	uint64_t wide = *value;
	bool ok = read_whole(map, key, least, most, &wide, e);

	*value = (uint32_t)wide;
	return ok;
}

bool read_number(const struct yaml *map, const char *key, double least, double most, double *value, struct error *e)
{
	if (!yaml_get_double(map, key, value, e))
		return false;
	if (*value >= least && *value <= most)
		return true;
	return yaml_error(yaml_get(map, key), e, "\"%s\" must be from %g to %g, not %g", key, least, most, *value);
}

bool read_choice(const struct yaml *map, const char *key, const char *const *names, int *value, struct error *e)
{
	struct str text = STR_EMPTY;

	if (!yaml_get_str(map, key, &text, e))
		return false;
	if (!text.ptr)
		return true;
	for (int i = 0; names[i]; i++)
		if (str_is(text, names[i])) {
			*value = i;
			return true;
		}
	yaml_error(yaml_get(map, key), e, "\"%s\" cannot be \"" STR_FMT "\"", key, STR_ARG(str_head(text, 60)));
	struct buf list;

	buf_init(&list, 1000);
	for (int i = 0; names[i]; i++)
		buf_printf(&list, "%s%s", i ? ", " : "one of: ", names[i]);
	error_hint(e, "%s", buf_cstr(&list));
	buf_fini(&list);
	return false;
}

bool read_map_of(const struct yaml *node, const char *const *known, struct error *e)
{
	if (node->kind != YAML_MAP)
		return yaml_error(node, e, "\"" STR_FMT "\" must be a map", STR_ARG(node->key));
	return yaml_only(node, known, e);
}

bool read_tokens(const struct yaml *node, uint32_t *tokens)
{
	int64_t v;

	if (node->kind != YAML_SCALAR || node->quoted || !number_parse_i64(node->text, &v) || v < 1 || v > WORKLOAD_TOKENS_MAX)
		return false;
	*tokens = (uint32_t)v;
	return true;
}

static bool read_bucket(const struct yaml *node, struct length *l, struct error *e)
{
	struct length_bucket *b = &l->buckets[l->bucket_count];
	uint32_t before = l->bucket_count ? b[-1].most : 0;

	if (node->kind != YAML_LIST || node->count != 2 || !read_tokens(node->first, &b->most))
		return yaml_error(node, e, "a bucket is [most, weight]: its largest length and how often it comes");
	if (b->most <= before)
		return yaml_error(node, e, "buckets must grow: %u comes after %u", b->most, before);
	if (node->first->next->kind != YAML_SCALAR || !number_parse(node->first->next->text, &b->weight) ||
		!(b->weight >= 0 && b->weight <= 1e15))
		return yaml_error(node->first->next, e, "a bucket's weight is a number from 0");
	l->weight += b->weight;
	l->bucket_count++;
	return true;
}

static bool read_buckets(const struct yaml *list, struct arena *arena, struct length *l, struct error *e)
{
	if (list->kind != YAML_LIST || !list->count || list->count > WORKLOAD_BUCKETS_MAX)
		return yaml_error(list, e, "\"buckets\" must be a list of 1 to %d buckets", WORKLOAD_BUCKETS_MAX);
	l->kind = LENGTH_BUCKETS;
	l->buckets = ARENA_ARRAY(arena, struct length_bucket, list->count);
	YAML_EACH (list, node) {
		if (!read_bucket(node, l, e))
			return false;
	}
	return l->weight > 0 || yaml_error(list, e, "no bucket has a weight above 0");
}

static bool read_lognormal(const struct yaml *map, struct length *l, struct error *e)
{
	l->kind = LENGTH_LOGNORMAL;
	l->least = 1;
	l->most = WORKLOAD_TOKENS_MAX;
	l->mean = l->cv = -1;
	if (!yaml_get(map, "mean") || !yaml_get(map, "cv"))
		return yaml_error(map, e, "a length is a number, [least, most], {mean, cv}, or {buckets}");
	return read_number(map, "mean", 1, WORKLOAD_TOKENS_MAX, &l->mean, e) && read_number(map, "cv", 0, 20, &l->cv, e) &&
	       read_u32(map, "least", 1, WORKLOAD_TOKENS_MAX, &l->least, e) &&
	       read_u32(map, "most", l->least, WORKLOAD_TOKENS_MAX, &l->most, e);
}

static bool length_of_node(const struct yaml *node, struct arena *arena, struct length *l, struct error *e)
{
	static const char *const known[] = { "mean", "cv", "least", "most", "buckets", "slope", NULL };

	if (node->kind == YAML_MAP) {
		if (!yaml_only(node, known, e))
			return false;
		if (!yaml_get(node, "buckets"))
			return read_lognormal(node, l, e);
		return read_buckets(yaml_get(node, "buckets"), arena, l, e) && read_number(node, "slope", -1, 1, &l->slope, e);
	}
	if (node->kind == YAML_LIST) {
		l->kind = LENGTH_UNIFORM;
		if (node->count != 2 || !read_tokens(node->first, &l->least) || !read_tokens(node->first->next, &l->most) ||
			l->least > l->most)
			return yaml_error(node, e, "a range of lengths is [least, most]");
		return true;
	}
	if (!read_tokens(node, &l->least))
		return yaml_error(
			node, e, "a length is a whole number from 1 to %d, [least, most], {mean, cv}, or {buckets}", WORKLOAD_TOKENS_MAX);
	l->most = l->least;
	return true;
}

bool read_length(const struct yaml *map, const char *key, struct arena *arena, struct length *l, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	return node ? length_of_node(node, arena, l, e) : yaml_error(map, e, "\"%s\" is missing", key);
}
