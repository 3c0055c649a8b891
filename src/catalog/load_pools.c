/* Pools of the user's configuration. */
#include "base/clock.h"
#include "catalog/load.h"

#include <math.h>

static const char *const pool_keys[] = { "name", "match", "role", "class", "success", "slo", "memory_limit", "gpus", "gpu_price",
	"disabled", NULL };
static const char *const slo_keys[] = { "ttft", "tpot", "e2e", NULL };
static const char *const role_names[] = { "mixed", "prefill", "decode", "pooling", NULL };

static struct pool_spec *pool_find(const struct catalog *c, struct str name)
{
	VEC_EACH (&c->pools, pool) {
		if (str_eq((*pool)->name, name))
			return *pool;
	}
	return NULL;
}

static struct pool_spec *pool_entry(struct loader *l, struct str name)
{
	struct pool_spec *pool = pool_find(l->catalog, name);

	if (!pool) {
		pool = ARENA_NEW(l->arena, struct pool_spec);
		*pool = (struct pool_spec){ .name = name,
			.class_name = STR("interactive"),
			.slo_ttft_s = NAN,
			.slo_tpot_s = NAN,
			.slo_e2e_s = NAN,
			.memory_limit_bytes = NAN,
			.gpus = NAN,
			.gpu_price = NAN };
		VEC_PUSH(&l->catalog->pools, pool);
	}
	return pool;
}

static void pool_free_matchers(struct pool_spec *pool)
{
	for (size_t i = 0; i < pool->match_count; i++)
		regex_free(pool->match[i].re);
	pool->match_count = 0;
}

/* Which finish reasons are success: "stop", "stop|length". */
static bool load_success(const struct yaml *map, struct pool_spec *pool, struct error *e)
{
	const struct yaml *success = yaml_get(map, "success");
	struct error why = { 0 };

	if (!success)
		return true;
	struct regex *re = success->kind == YAML_SCALAR && success->text.len ? regex_new(success->text, &why) : NULL;

	if (!re) {
		yaml_error(success, e, "success: expected finish reasons%s%s", why.message[0] ? ": " : "", why.message);
		error_hint(e, "for example success: stop|length");
		return false;
	}
	regex_free(pool->success_re);
	pool->success_re = re;
	pool->success = success->text;
	return true;
}

static bool load_match(struct loader *l, const struct yaml *map, struct pool_spec *pool, struct error *e)
{
	const struct yaml *match = yaml_get(map, "match");

	if (!match)
		return true;
	if (!load_is_map(match, "match", e))
		return false;
	pool_free_matchers(pool);
	pool->match = arena_zalloc(l->arena, match->count, sizeof *pool->match);
	YAML_EACH (match, item) {
		struct error why = { 0 };

		if (item->kind != YAML_SCALAR)
			return yaml_error(item, e, "match: expected label: regular expression");
		struct regex *re = regex_new(item->text, &why);

		if (!re)
			return yaml_error(item, e, "match: \"" STR_FMT "\" is no regular expression: %s", STR_ARG(item->text), why.message);
		pool->match[pool->match_count].label = item->key;
		pool->match[pool->match_count].pattern = item->text;
		pool->match[pool->match_count++].re = re;
	}
	return true;
}

static bool load_seconds(const struct yaml *map, const char *key, double *seconds, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	int64_t ms;

	if (!node)
		return true;
	if (node->kind != YAML_SCALAR || !duration_parse(node->text, &ms) || ms <= 0) {
		yaml_error(node, e, "%s: expected a duration above 0", key);
		error_hint(e, "for example %s: 500ms, or seconds: 0.5", key);
		return false;
	}
	*seconds = (double)ms / 1000;
	return true;
}

static bool load_slo(const struct yaml *map, struct pool_spec *pool, struct error *e)
{
	const struct yaml *slo = yaml_get(map, "slo");

	if (!slo)
		return true;
	return load_is_map(slo, "slo", e) && yaml_only(slo, slo_keys, e) && load_seconds(slo, "ttft", &pool->slo_ttft_s, e) &&
	       load_seconds(slo, "tpot", &pool->slo_tpot_s, e) && load_seconds(slo, "e2e", &pool->slo_e2e_s, e);
}

/* "64GiB", "80GB", "1024". */
static bool bytes_parse(struct str text, double *bytes)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = { { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { "Ki", 0x1p10 }, { "Mi", 0x1p20 },
		{ "Gi", 0x1p30 }, { "Ti", 0x1p40 }, { "kB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 }, { "B", 1 } };
	double factor = 1;

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct str suffix = str_from(units[i].suffix);

		if (str_ends(text, suffix)) {
			factor = units[i].factor;
			text = str_trim(str_head(text, text.len - suffix.len));
			break;
		}
	}
	if (!number_parse(text, bytes) || !isfinite(*bytes) || *bytes <= 0)
		return false;
	*bytes *= factor;
	return true;
}

static bool load_memory_limit(const struct yaml *map, struct pool_spec *pool, struct error *e)
{
	const struct yaml *memory = yaml_get(map, "memory_limit");

	return !memory || (memory->kind == YAML_SCALAR && bytes_parse(memory->text, &pool->memory_limit_bytes)) ||
	       yaml_error(memory, e, "memory_limit: expected bytes such as 64GiB, 80GB or 68719476736");
}

/* GPUs of a replica, and the price of one for an hour: in whichever currency, which nobody here converts. */
static bool load_gpus(const struct yaml *map, struct pool_spec *pool, struct error *e)
{
	if (!yaml_get_double(map, "gpus", &pool->gpus, e) || !yaml_get_double(map, "gpu_price", &pool->gpu_price, e))
		return false;
	if (!isnan(pool->gpus) && !(pool->gpus > 0 && pool->gpus <= 1e6))
		return yaml_error(yaml_get(map, "gpus"), e, "gpus: expected how many GPUs a replica has, such as 4");
	if (!isnan(pool->gpu_price) && !(pool->gpu_price > 0 && pool->gpu_price < 1e9))
		return yaml_error(yaml_get(map, "gpu_price"), e, "gpu_price: expected what a GPU costs in an hour, such as 2.5");
	return true;
}

static bool load_pool(struct loader *l, const struct yaml *map, struct error *e)
{
	struct str name;
	int role = -1;

	if (!load_is_map(map, "pools", e) || !load_id(map, "name", &name, e) || !yaml_only(map, pool_keys, e) ||
		!load_first_in_file(l, map, "pool", name, e) || !load_choice(map, "role", role_names, &role, e))
		return false;
	struct pool_spec *pool = pool_entry(l, name);
	bool disabled = false;

	if (!yaml_get_bool(map, "disabled", &disabled, e) || !load_match(l, map, pool, e) || !load_class(map, &pool->class_name, e) ||
		!load_success(map, pool, e) || !load_slo(map, pool, e) || !load_memory_limit(map, pool, e) || !load_gpus(map, pool, e))
		return false;
	if (role >= 0) {
		pool->role = (enum pool_role)role;
		pool->role_given = true;
	}
	if (disabled) {
		pool_free_matchers(pool);
		regex_free(pool->success_re);
		size_t at = 0;

		while (l->catalog->pools.items[at] != pool)
			at++;
		for (; at + 1 < l->catalog->pools.count; at++)
			l->catalog->pools.items[at] = l->catalog->pools.items[at + 1];
		l->catalog->pools.count--;
	}
	return true;
}

bool load_pools(struct loader *l, const struct yaml *list, struct error *e)
{
	if (!load_is_list(list, "pools", e))
		return false;
	YAML_EACH (list, map) {
		if (!load_pool(l, map, e))
			return false;
	}
	return true;
}
