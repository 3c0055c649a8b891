/* Finding models, GPUs and precisions by the names that people use. */
#include "engine/tables.h"

#include "base/mem.h"

static const struct {
	const char *name;
	enum precision precision;
} precision_names[] = { { "bf16", PRECISION_BF16 }, { "fp16", PRECISION_BF16 }, { "bfloat16", PRECISION_BF16 },
	{ "float16", PRECISION_BF16 }, { "half", PRECISION_BF16 }, { "auto", PRECISION_BF16 }, { "fp8", PRECISION_FP8 },
	{ "fp8_block", PRECISION_FP8_BLOCK }, { "fp4", PRECISION_FP4 }, { "nvfp4", PRECISION_FP4 }, { "mxfp4", PRECISION_MXFP4 },
	{ "int4", PRECISION_INT4 }, { "awq", PRECISION_INT4 }, { "gptq", PRECISION_INT4 } };

bool precision_parse(struct str name, enum precision *precision, struct error *e)
{
	const char *nearest = NULL;
	size_t best = 3;

	for (size_t i = 0; i < ARRAY_LEN(precision_names); i++) {
		size_t distance = str_distance(name, str_from(precision_names[i].name), 3);
		if (str_eq_nocase(name, str_from(precision_names[i].name))) {
			*precision = precision_names[i].precision;
			return true;
		}
		if (distance < best) {
			best = distance;
			nearest = precision_names[i].name;
		}
	}
	error_set(e, EXIT_USAGE, "unknown precision \"" STR_FMT "\"", STR_ARG(name));
	if (nearest)
		error_hint(e, "did you mean %s? Known: bf16, fp8, fp4, mxfp4, int4", nearest);
	else
		error_hint(e, "known: bf16, fp8, fp4, mxfp4, int4");
	return false;
}

const char *precision_name(enum precision precision)
{
	static const char *const names[] = { "bf16", "fp8", "fp4", "mxfp4", "int4", "fp8_block" };

	return names[precision];
}

double precision_bytes(enum precision precision)
{
	static const double bytes[] = { 2, 1, 0.5 + 1 / 16.0, 0.5 + 1 / 32.0, 0.5 + 2 / 32.0, 1 };

	return bytes[precision];
}

static struct str without_organisation(struct str name)
{
	ptrdiff_t slash;

	while ((slash = str_find(name, '/')) >= 0)
		name = str_skip(name, (size_t)slash + 1);
	return name;
}

/* How many bytes of `given` the known name explains: all, or a start that "-" follows; 0 = another model. */
static size_t explains(struct str known, struct str given)
{
	known = without_organisation(known);
	given = without_organisation(given);
	if (known.len > given.len || !str_eq_nocase(known, str_head(given, known.len)))
		return 0;
	return known.len == given.len || given.ptr[known.len] == '-' ? known.len : 0;
}

const struct model_shape *tables_model(const struct tables *t, struct str name, struct error *e)
{
	const struct model_shape *best = NULL, *nearest = NULL;
	size_t most = 0, least = 40;

	for (size_t i = 0; i < t->model_count; i++) {
		size_t length = explains(t->models[i].name, name);
		size_t distance = str_distance(without_organisation(t->models[i].name), without_organisation(name), 40);
		if (length > most) {
			most = length;
			best = &t->models[i];
		}
		if (distance < least) {
			least = distance;
			nearest = &t->models[i];
		}
	}
	if (best)
		return best;
	error_set(e, EXIT_USAGE, "the shape of model \"" STR_FMT "\" is not known", STR_ARG(name));
	if (nearest)
		error_hint(e, "the nearest known one is " STR_FMT "; others can be added in a file like catalog/models.yaml",
			STR_ARG(nearest->name));
	return NULL;
}

static const struct gpu *gpu_named(const struct tables *t, struct str name)
{
	for (size_t i = 0; i < t->gpu_count; i++)
		if (str_eq_nocase(t->gpus[i].name, name))
			return &t->gpus[i];
	return NULL;
}

const struct gpu *tables_gpu(const struct tables *t, struct str name, struct error *e)
{
	const struct gpu *gpu = gpu_named(t, name);
	struct str nearest = STR_EMPTY;
	size_t least = 40;

	for (size_t i = 0; i < t->alias_count && !gpu; i++)
		if (str_eq_nocase(t->aliases[2 * i], name))
			gpu = gpu_named(t, t->aliases[2 * i + 1]);
	if (gpu)
		return gpu;
	for (size_t i = 0; i < t->gpu_count; i++) {
		size_t distance = str_distance(t->gpus[i].name, name, 40);
		if (distance < least) {
			least = distance;
			nearest = t->gpus[i].name;
		}
	}
	error_set(e, EXIT_USAGE, "the GPU \"" STR_FMT "\" is not known", STR_ARG(name));
	if (nearest.len)
		error_hint(
			e, "the nearest known one is " STR_FMT "; others can be added in a file like catalog/gpus.yaml", STR_ARG(nearest));
	return NULL;
}
