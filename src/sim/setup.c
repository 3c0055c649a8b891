#include "sim/setup.h"

#include "base/number.h"

#include <math.h>

/* ---- --step-time ---- */

static double line_seconds(const void *context, const struct step_load *load)
{
	const struct step_line *line = context;

	return line->fixed + line->per_sequence * load->running + line->per_token * load->tokens;
}

static bool parse_step_time(struct setup *s, const char *text, struct error *e)
{
	double *parts[] = { &s->line.fixed, &s->line.per_sequence, &s->line.per_token };
	struct str rest = str_from(text), part;
	size_t count = 0;
	double ms;

	while (str_split(&rest, ',', &part)) {
		if (count == 3 || !number_parse(str_trim(part), &ms) || !(ms >= 0 && ms <= 1e6)) {
			error_set(e, EXIT_USAGE, "--step-time \"%s\": \"" STR_FMT "\" is no number of milliseconds", text, STR_ARG(part));
			error_hint(e, "FIXED[,PER_SEQUENCE[,PER_TOKEN]], such as 8,0.02,0.003");
			return false;
		}
		*parts[count++] = ms / 1e3;
	}
	if (!(s->line.fixed > 0))
		return error_set(e, EXIT_USAGE, "--step-time \"%s\": a step cannot take no time", text);
	s->engine.cost = (struct step_cost){ .seconds = line_seconds, .context = &s->line };
	return true;
}

/* ---- model, GPU, memory ---- */

static bool parse_share(const char *flag, const char *text, double least, double most, double *value, struct error *e)
{
	if (!text)
		return true;
	if (!number_parse(str_from(text), value) || !(*value >= least && *value <= most))
		return error_set(e, EXIT_USAGE, "%s \"%s\" is not a number from %g to %g", flag, text, least, most);
	return true;
}

static bool find_model(struct setup *s, const struct sim_options *o, struct error *e)
{
	struct deployment *d = &s->deployment;
	const struct model_shape *model;
	const struct gpu *gpu;

	if (!tables_init(&s->tables, e))
		return false;
	model = tables_model(&s->tables, str_from(o->model), e);
	gpu = model ? tables_gpu(&s->tables, str_from(o->gpu), e) : NULL;
	if (!gpu)
		return false;
	deployment_default(d, model, gpu);
	if (s->release <= MIMIC_0_19)
		d->gpu_memory_utilization = 0.9; /* the default until about 0.20 */
	return true;
}

static bool parse_quantization(struct deployment *d, const char *text, struct error *e)
{
	if (!text || precision_parse(str_from(text), &d->weights, e))
		return true;
	return false;
}

static bool parse_kv_dtype(struct deployment *d, const char *text, struct error *e)
{
	struct str s = str_from(text);

	if (!text || str_is(s, "auto") || str_is(s, "bfloat16") || str_is(s, "float16"))
		return true;
	d->kv_8bit = str_starts(s, STR("fp8"));
	if (d->kv_8bit)
		return true;
	error_set(e, EXIT_USAGE, "--kv-cache-dtype \"%s\" is not known", text);
	error_hint(e, "auto, fp8, fp8_e4m3 or fp8_e5m2");
	return false;
}

#define TAKE(field, value)                                                                                                                 \
	do {                                                                                                                               \
		if (value)                                                                                                                 \
			(field) = (__typeof__(field))(value);                                                                              \
	} while (0)

static bool fill_deployment(struct setup *s, const struct sim_options *o, struct error *e)
{
	struct deployment *d = &s->deployment;

	TAKE(d->tp, o->tensor_parallel);
	TAKE(d->dp, o->data_parallel);
	TAKE(d->max_num_seqs, o->max_num_seqs);
	TAKE(d->max_num_batched_tokens, o->max_num_batched_tokens);
	TAKE(d->block_size, o->block_size);
	if (o->max_num_batched_tokens && !o->max_num_seqs && d->max_num_seqs > d->max_num_batched_tokens)
		d->max_num_seqs = d->max_num_batched_tokens;
	d->enforce_eager = o->enforce_eager;
	d->async_scheduling = o->async_scheduling;
	d->expert_parallel = o->expert_parallel;
	d->spec = s->engine.spec;
	return parse_share("--gpu-memory-utilization", o->gpu_memory_utilization, 0.01, 1, &d->gpu_memory_utilization, e) &&
	       parse_quantization(d, o->quantization, e) && parse_kv_dtype(d, o->kv_cache_dtype, e) && deployment_check(d, e);
}

static bool plan_memory(struct setup *s, const struct sim_options *o, struct error *e)
{
	s->page.blocks_overridden = o->num_gpu_blocks != 0;
	if (o->num_gpu_blocks) {
		s->engine.num_gpu_blocks = (uint32_t)o->num_gpu_blocks;
		return true;
	}
	s->has_ledger = memory_plan(&s->deployment, s->engine.max_model_len, &s->ledger, e);
	s->engine.num_gpu_blocks = s->ledger.blocks;
	return s->has_ledger;
}

static bool fill_engine(struct setup *s, const struct sim_options *o, struct error *e)
{
	struct engine_config *c = &s->engine;
	const struct deployment *d = &s->deployment;

	c->max_num_seqs = d->max_num_seqs;
	c->max_num_batched_tokens = d->max_num_batched_tokens;
	c->block_size = d->block_size;
	TAKE(c->max_model_len, o->max_model_len);
	TAKE(c->long_prefill_token_threshold, o->long_prefill_token_threshold);
	c->policy = (enum engine_policy)o->policy;
	c->chunked_prefill = o->chunked_prefill;
	c->prefix_caching = o->prefix_caching;
	c->async_scheduling = o->async_scheduling;
	c->reserve_full_isl = o->reserve_full_isl;
	c->seed = (uint64_t)o->seed;
	if (!parse_share("--watermark", o->watermark, 0, 0.99, &c->watermark, e) || !plan_memory(s, o, e))
		return false;
	if (o->step_time) {
		if (!parse_step_time(s, o->step_time, e))
			return false;
	} else {
		s->cost = cost_new(d);
		c->cost = cost_function(s->cost);
	}
	return engine_config_check(c, e);
}

/* ---- names ---- */

static struct str escape_label(struct arena *arena, struct str text)
{
	struct buf out;
	struct str escaped;

	buf_init(&out, 4096);
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			buf_add_c(&out, '\\');
		if (text.ptr[i] == '\n')
			buf_add(&out, STR("\\n"));
		else
			buf_add_c(&out, text.ptr[i]);
	}
	escaped = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return escaped;
}

static bool fill_names(struct setup *s, const struct sim_options *o, struct error *e)
{
	size_t count = o->served_count ? o->served_count : 1;
	struct str *names = ARENA_ARRAY(&s->arena, struct str, count);

	for (size_t i = 0; i < count; i++) {
		names[i] = arena_str(&s->arena, str_from(o->served_count ? o->served_names[i] : o->model));
		if (!names[i].len || names[i].len > 200 || !str_is_utf8(names[i]))
			return error_set(e, EXIT_USAGE, "a model's name has 1 to 200 bytes of UTF-8");
	}
	s->served = (struct openai_model){
		.names = names, .name_count = count, .max_model_len = s->engine.max_model_len, .block_size = s->engine.block_size
	};
	s->label = escape_label(&s->arena, names[0]);
	if (o->api_key && !*o->api_key)
		return error_set(e, EXIT_USAGE, "--api-key is empty");
	s->api_key = o->api_key ? arena_str(&s->arena, str_from(o->api_key)) : STR_EMPTY;
	return true;
}

static void fill_page(struct setup *s, const struct sim_options *o)
{
	s->page.block_size = s->engine.block_size;
	s->page.num_gpu_blocks = s->engine.num_gpu_blocks;
	s->page.max_model_len = s->engine.max_model_len;
	s->page.gpu_memory_utilization = s->deployment.gpu_memory_utilization;
	s->page.prefix_caching = s->engine.prefix_caching;
	s->page.kv_8bit = s->deployment.kv_8bit;
	s->data_parallel = s->deployment.dp ? s->deployment.dp : 1;
	s->api_servers = o->api_servers ? (uint32_t)o->api_servers : s->release >= MIMIC_0_16 ? s->data_parallel : 1;
}

bool setup_init(struct setup *s, const struct sim_options *o, struct error *e)
{
	*s = (struct setup){ .answer_tokens = o->answer_tokens ? (double)o->answer_tokens : 180, .seed = (uint64_t)o->seed };
	arena_init(&s->arena);
	engine_config_default(&s->engine);
	if (!mimic_parse(str_from(o->mimic ? o->mimic : "latest"), &s->release, e) || !setup_speculation(s, o->speculative_config, e) ||
		!find_model(s, o, e) || !fill_deployment(s, o, e) || !fill_engine(s, o, e) ||
		!setup_transfer(s, o->kv_transfer_config, e) || !fill_names(s, o, e))
		return false;
	fill_page(s, o);
	return true;
}

void setup_fini(struct setup *s)
{
	cost_free(s->cost);
	tables_fini(&s->tables);
	arena_fini(&s->arena);
}
