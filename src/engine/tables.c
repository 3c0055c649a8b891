/* Reading the two tables. */
#include "engine/tables.h"

#include "base/number.h"
#include "base/vec.h"
#include "base/yaml.h"
#include "catalog/embedded.h"

extern const struct embedded_file engine_embedded[];
extern const size_t engine_embedded_count;

static bool get_count(const struct yaml *node, const char *key, uint32_t *value, struct error *e)
{
	double number = *value;

	if (!yaml_get_double(node, key, &number, e))
		return false;
	if (!(number >= 0 && number < 4e9) || number != (double)(uint32_t)number)
		return yaml_error(yaml_get(node, key), e, "%s: expected a whole number", key);
	*value = (uint32_t)number;
	return true;
}

static bool get_numbers(const struct yaml *node, double *values, size_t count, struct error *e)
{
	const struct yaml *child = node->first;

	if (node->kind != YAML_LIST || node->count != count)
		return yaml_error(node, e, "expected a list of %zu numbers", count);
	for (size_t i = 0; i < count; i++, child = child->next) {
		if (child->kind != YAML_SCALAR || !number_parse(child->text, &values[i]))
			return yaml_error(child, e, "expected a number");
	}
	return true;
}

static bool read_mla(const struct yaml *node, struct model_shape *m, struct error *e)
{
	static const char *const keys[] = { "kv_rank", "rope", "nope", "v", "q_rank", NULL };

	return !node || (yaml_only(node, keys, e) && get_count(node, "kv_rank", &m->mla_kv_rank, e) &&
				get_count(node, "rope", &m->mla_rope, e) && get_count(node, "nope", &m->mla_nope, e) &&
				get_count(node, "v", &m->mla_v, e) && get_count(node, "q_rank", &m->mla_q_rank, e));
}

static bool model_complete(const struct yaml *node, const struct model_shape *m, struct error *e)
{
	if (m->name.len == 0 || m->layers == 0 || m->hidden == 0 || m->q_heads == 0 || m->kv_heads == 0 || m->head_dim == 0 ||
		m->vocab == 0)
		return yaml_error(node, e, "a model needs name, layers, hidden, q_heads, kv_heads, head_dim and vocab");
	if (m->experts ? m->top_k == 0 || m->top_k > m->experts || m->expert_intermediate == 0 : m->intermediate == 0)
		return yaml_error(node, e, "a model needs intermediate, or experts with top_k and expert_intermediate");
	if (m->dense_layers > m->layers || m->full_layers > m->layers || (m->dense_layers && m->intermediate == 0))
		return yaml_error(node, e, "dense_layers and full_layers are at most layers; dense layers need intermediate");
	return true;
}

static bool read_experts(const struct yaml *node, struct model_shape *m, struct error *e)
{
	struct str precision = STR_EMPTY;

	if (!get_count(node, "experts", &m->experts, e) || !get_count(node, "top_k", &m->top_k, e) ||
		!get_count(node, "expert_intermediate", &m->expert_intermediate, e) ||
		!get_count(node, "shared_experts", &m->shared_experts, e) || !get_count(node, "dense_layers", &m->dense_layers, e) ||
		!yaml_get_str(node, "experts_precision", &precision, e))
		return false;
	m->experts_fixed = precision.len > 0;
	return precision.len == 0 || precision_parse(precision, &m->experts_precision, e) ||
	       yaml_error(yaml_get(node, "experts_precision"), e, "unknown precision \"" STR_FMT "\"", STR_ARG(precision));
}

static bool read_model(const struct yaml *node, struct model_shape *m, struct error *e)
{
	static const char *const keys[] = { "name", "layers", "hidden", "q_heads", "kv_heads", "head_dim", "intermediate", "vocab", "mlp",
		"tied_embeddings", "experts", "top_k", "expert_intermediate", "shared_experts", "dense_layers", "mla", "window",
		"full_layers", "sparse_top_k", "experts_precision", "fp8", "norm_all_reduce", "parameters", NULL };
	struct str mlp = STR("gated"), fp8 = STR("tensor");

	*m = (struct model_shape){ 0 };
	if (!yaml_only(node, keys, e) || !yaml_get_str(node, "name", &m->name, e) || !get_count(node, "layers", &m->layers, e) ||
		!get_count(node, "hidden", &m->hidden, e) || !get_count(node, "q_heads", &m->q_heads, e) ||
		!get_count(node, "kv_heads", &m->kv_heads, e) || !get_count(node, "head_dim", &m->head_dim, e) ||
		!get_count(node, "intermediate", &m->intermediate, e) || !get_count(node, "vocab", &m->vocab, e) ||
		!yaml_get_str(node, "mlp", &mlp, e) || !yaml_get_bool(node, "tied_embeddings", &m->tied_embeddings, e) ||
		!get_count(node, "window", &m->window, e) || !get_count(node, "full_layers", &m->full_layers, e) ||
		!get_count(node, "sparse_top_k", &m->sparse_top_k, e) || !yaml_get_double(node, "parameters", &m->parameters, e) ||
		!yaml_get_str(node, "fp8", &fp8, e) || !yaml_get_bool(node, "norm_all_reduce", &m->norm_all_reduce, e) ||
		!read_experts(node, m, e) || !read_mla(yaml_get(node, "mla"), m, e))
		return false;
	if (!str_is(mlp, "gated") && !str_is(mlp, "plain"))
		return yaml_error(yaml_get(node, "mlp"), e, "mlp is gated or plain");
	if (!str_is(fp8, "tensor") && !str_is(fp8, "block"))
		return yaml_error(yaml_get(node, "fp8"), e, "fp8 is tensor or block");
	m->plain_mlp = str_is(mlp, "plain");
	m->block_fp8 = str_is(fp8, "block");
	if (m->window == 0)
		m->full_layers = m->layers;
	return model_complete(node, m, e);
}

static const char *const type_names[] = { "bf16", "fp8", "fp4", "fp8_block", "w4", NULL };

static bool read_kernels(const struct yaml *gpu, const char *key, struct kernel_speed *speeds, struct error *e)
{
	const struct yaml *node = yaml_get(gpu, key);

	if (!node || !yaml_get(node, "bf16"))
		return yaml_error(gpu, e, "%s needs at least bf16", key);
	if (!yaml_only(node, type_names, e))
		return false;
	for (size_t i = 0; i < GPU_TYPES; i++) {
		const struct yaml *list = yaml_get(node, type_names[i]);
		double v[5];

		if (!list)
			continue;
		if (!get_numbers(list, v, 5, e))
			return false;
		if (!(v[0] >= 0 && v[1] > 0 && v[2] > 0 && v[3] >= 1 && v[4] >= 0))
			return yaml_error(list, e, "launch_us, shares above 0, an order of at least 1 and a factor are expected");
		speeds[i] = (struct kernel_speed){ v[0] * 1e-6, v[1], v[2], v[3], v[4] };
	}
	return true;
}

static bool read_flops(const struct yaml *gpu, struct gpu *g, struct error *e)
{
	const struct yaml *node = yaml_get(gpu, "tflops");

	if (!node || !yaml_only(node, type_names, e))
		return node ? false : yaml_error(gpu, e, "a GPU needs tflops");
	for (size_t i = 0; i < GPU_TYPES; i++) {
		double teraflops = 0;
		if (!yaml_get_double(node, type_names[i], &teraflops, e))
			return false;
		g->flops[i] = teraflops * 1e12;
	}
	g->flops[3] = g->flops[1];
	g->flops[4] = g->flops[0];
	return g->flops[0] > 0 || yaml_error(node, e, "bf16 must be above 0");
}

/* Members of a map that are all numbers: key, where to, unit. */
struct number_field {
	const char *key;
	double *to, unit;
};

static bool read_fields(const struct yaml *node, const struct number_field *fields, size_t count, struct error *e)
{
	for (size_t i = 0; i < count; i++) {
		double value = -1;
		if (!yaml_get_double(node, fields[i].key, &value, e))
			return false;
		if (!(value >= 0))
			return yaml_error(node, e, "%s is missing or below 0", fields[i].key);
		*fields[i].to = value * fields[i].unit;
	}
	return true;
}

static bool read_attention(const struct yaml *gpu, struct gpu *g, struct error *e)
{
	const struct yaml *node = yaml_get(gpu, "attention");
	const struct number_field fields[] = { { "launch_us", &g->attention_launch, 1e-6 }, { "decode", &g->decode_share, 1 },
		{ "decode_8bit", &g->decode_share_8bit, 1 }, { "prefill", &g->prefill_share, 1 } };

	return node ? read_fields(node, fields, ARRAY_LEN(fields), e) : yaml_error(gpu, e, "a GPU needs attention");
}

static bool read_all_reduce(const struct yaml *gpu, struct gpu *g, struct error *e)
{
	static const char *const sizes[] = { "tp2", "tp4", "tp8" };
	const struct yaml *node = yaml_get(gpu, "all_reduce");

	if (!node)
		return yaml_error(gpu, e, "a GPU needs all_reduce");
	for (size_t i = 0; i < 3; i++) {
		const struct yaml *list = yaml_get(node, sizes[i]);
		double v[2];
		if (!list)
			return yaml_error(node, e, "%s is missing", sizes[i]);
		if (!get_numbers(list, v, 2, e))
			return false;
		g->all_reduce[i] = (struct link_speed){ v[0] * 1e-6, v[1] * 1e9 };
	}
	return read_fields(node, &(struct number_field){ "skew_us", &g->skew, 1e-6 }, 1, e);
}

static bool read_step(const struct yaml *gpu, struct gpu *g, struct error *e)
{
	const struct yaml *node = yaml_get(gpu, "step");
	const struct number_field fields[] = { { "fixed_us", &g->step_fixed, 1e-6 }, { "per_sequence_us", &g->step_sequence, 1e-6 },
		{ "per_layer_us", &g->step_layer, 1e-6 }, { "eager_layer_us", &g->eager_layer, 1e-6 } };

	return node ? read_fields(node, fields, ARRAY_LEN(fields), e) : yaml_error(gpu, e, "a GPU needs step");
}

static bool read_gpu(const struct yaml *node, struct gpu *g, struct error *e)
{
	static const char *const keys[] = { "name", "aliases", "generation", "memory_gib", "tflops", "hbm_gb_s", "scaleup_gb_s",
		"pcie_gb_s", "nic_gb_s", "gemm", "moe", "attention", "all_reduce", "step", "calibrated", "source", NULL };
	const struct number_field fields[] = { { "memory_gib", &g->memory, 1073741824.0 }, { "hbm_gb_s", &g->hbm, 1e9 },
		{ "scaleup_gb_s", &g->scaleup, 1e9 }, { "pcie_gb_s", &g->pcie, 1e9 }, { "nic_gb_s", &g->nic, 1e9 } };

	*g = (struct gpu){ 0 };
	return yaml_only(node, keys, e) && yaml_get_str(node, "name", &g->name, e) && yaml_get_str(node, "generation", &g->generation, e) &&
	       (g->name.len || yaml_error(node, e, "a GPU needs a name")) && yaml_get_bool(node, "calibrated", &g->calibrated, e) &&
	       read_fields(node, fields, ARRAY_LEN(fields), e) && read_flops(node, g, e) && read_kernels(node, "gemm", g->gemm, e) &&
	       read_kernels(node, "moe", g->moe, e) && read_attention(node, g, e) && read_all_reduce(node, g, e) && read_step(node, g, e);
}

/* Room for `more` entries behind the old ones; old names may be replaced, so the count is set by the caller. */
static void *grow(struct arena *arena, const void *old, size_t count, size_t more, size_t size)
{
	char *items = arena_zalloc(arena, count + more ? count + more : 1, size);

	if (count)
		memcpy(items, old, count * size);
	return items;
}

static bool add_models(struct tables *t, const struct yaml *list, struct error *e)
{
	t->models = grow(&t->arena, t->models, t->model_count, list->count, sizeof *t->models);
	YAML_EACH (list, node) {
		struct model_shape model;
		size_t at = 0;

		if (!read_model(node, &model, e))
			return false;
		while (at < t->model_count && !str_eq_nocase(t->models[at].name, model.name))
			at++;
		t->models[at] = model;
		t->model_count += at == t->model_count;
	}
	return true;
}

static void add_aliases(struct tables *t, const struct yaml *list, struct str name)
{
	t->aliases = grow(&t->arena, t->aliases, 2 * t->alias_count, list ? 2 * list->count : 0, sizeof *t->aliases);
	YAML_EACH (list, alias) {
		t->aliases[2 * t->alias_count] = alias->text;
		t->aliases[2 * t->alias_count++ + 1] = name;
	}
}

static bool add_gpus(struct tables *t, const struct yaml *list, struct error *e)
{
	t->gpus = grow(&t->arena, t->gpus, t->gpu_count, list->count, sizeof *t->gpus);
	YAML_EACH (list, node) {
		struct gpu gpu;
		size_t at = 0;

		if (!read_gpu(node, &gpu, e))
			return false;
		while (at < t->gpu_count && !str_eq_nocase(t->gpus[at].name, gpu.name))
			at++;
		t->gpus[at] = gpu;
		t->gpu_count += at == t->gpu_count;
		add_aliases(t, yaml_get(node, "aliases"), gpu.name);
	}
	return true;
}

bool tables_add(struct tables *t, struct str source, struct str text, struct error *e)
{
	static const char *const keys[] = { "models", "gpus", NULL };
	const struct yaml *root = yaml_parse(&t->arena, source, text, e), *list;

	if (!root || !yaml_only(root, keys, e))
		return false;
	list = yaml_get(root, "models");
	if (list && !(list->kind == YAML_LIST ? add_models(t, list, e) : yaml_error(list, e, "models: expected a list")))
		return false;
	list = yaml_get(root, "gpus");
	return !list || (list->kind == YAML_LIST ? add_gpus(t, list, e) : yaml_error(list, e, "gpus: expected a list"));
}

bool tables_init(struct tables *t, struct error *e)
{
	*t = (struct tables){ 0 };
	arena_init(&t->arena);
	for (size_t i = 0; i < engine_embedded_count; i++) {
		const struct embedded_file *file = &engine_embedded[i];
		if (!tables_add(t, str_from(file->name), str_of(file->text, file->length), e)) {
			tables_fini(t);
			return false;
		}
	}
	return true;
}

void tables_fini(struct tables *t)
{
	arena_fini(&t->arena);
	*t = (struct tables){ 0 };
}
