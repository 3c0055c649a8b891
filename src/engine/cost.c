/* The kernels of a step, summed. What depends on the number of tokens only is computed once for each number. */
#include "engine/cost.h"

#include "base/mem.h"

#include <math.h>

enum { MEMO_MAX = 65536 };

/* Shares of the full launch cost: from a CUDA graph, and launched one by one. */
static const double graph_share = 0.35, eager_share = 1;

struct cost {
	struct deployment d;
	double factor;
	uint32_t graph_max;             /* largest captured number of tokens */
	double *linear, *expert, *head; /* memo by tokens and by rows; 0 = not computed yet */
};

/* Captured sizes: 1, 2, 4, 8..248 by 8, then by 16. The tokens are padded to the next. */
static uint32_t padded(const struct cost *c, uint32_t tokens)
{
	if (tokens > c->graph_max || c->d.enforce_eager)
		return tokens;
	if (tokens <= 2)
		return tokens;
	if (tokens <= 4)
		return 4;
	return tokens <= 248 ? (tokens + 7) / 8 * 8 : (tokens + 15) / 16 * 16;
}

static double launch_share(const struct cost *c, uint32_t tokens)
{
	return tokens <= c->graph_max && !c->d.enforce_eager ? graph_share : eager_share;
}

static double attention_projections(const struct deployment *d, double t, double launch)
{
	const struct model_shape *m = d->model;
	enum precision w = deployment_linear_precision(d);
	double q = (double)m->q_heads / d->tp, h = m->hidden, kv = m->kv_heads > d->tp ? (double)m->kv_heads / d->tp : 1;

	if (m->mla_kv_rank == 0)
		return kernel_gemm(d->gpu, w, t, (q + 2 * kv) * m->head_dim, h, launch) +
		       kernel_gemm(d->gpu, w, t, h, q * m->head_dim, launch);
	/* down-projections are not divided; the absorbed up-projections stay bf16 */
	return kernel_gemm(d->gpu, w, t, m->mla_q_rank + m->mla_kv_rank + m->mla_rope, h, launch) +
	       kernel_gemm(d->gpu, w, t, q * (m->mla_nope + m->mla_rope), m->mla_q_rank, launch) +
	       kernel_gemm(d->gpu, PRECISION_BF16, t, q * (m->mla_nope + m->mla_v), m->mla_kv_rank, launch) +
	       kernel_gemm(d->gpu, w, t, h, q * m->mla_v, launch);
}

static double mlp(const struct deployment *d, double t, double intermediate, double launch)
{
	double n = intermediate / d->tp, h = d->model->hidden;
	enum precision w = deployment_linear_precision(d);

	return kernel_gemm(d->gpu, w, t, d->model->plain_mlp ? n : 2 * n, h, launch) + kernel_gemm(d->gpu, w, t, h, n, launch);
}

/* Norms, positions, residual additions, activations: traffic, and launches that no kernel above has. */
static double elementwise(const struct deployment *d, double t, double launch)
{
	const struct model_shape *m = d->model;
	double active = m->experts ? (double)m->expert_intermediate * (m->top_k + m->shared_experts) : m->intermediate;
	double bytes = 12.0 * m->hidden + 4.0 * (m->q_heads + 2.0 * m->kv_heads) * m->head_dim / d->tp + 6 * active / d->tp;

	return d->gpu->step_layer * launch / graph_share + t * bytes / (0.8 * d->gpu->hbm);
}

/* `t` tokens of all data-parallel ranks meet in the expert layers. */
static double expert_layer(const struct deployment *d, double t, double launch)
{
	const struct model_shape *m = d->model;
	bool whole = d->expert_parallel || d->dp > 1;
	double spread = whole ? (double)d->tp * d->dp : 1, local = t / d->dp;
	struct expert_shape shape = { .tokens = t,
		.hidden = m->hidden,
		.intermediate = (double)m->expert_intermediate / (whole ? 1 : d->tp),
		.top_k = m->top_k,
		.experts = m->experts / spread,
		.share = 1 / spread,
		.all_experts = m->experts };
	double seconds = kernel_experts(d->gpu, deployment_expert_precision(d), &shape, launch);

	seconds += kernel_gemm(d->gpu, PRECISION_BF16, local, m->experts, m->hidden, launch); /* router */
	if (m->shared_experts)
		seconds += mlp(d, local, (double)m->shared_experts * m->expert_intermediate, launch);
	if (d->dp > 1)
		seconds += kernel_exchange(d->gpu, d->dp * d->tp, 2 * t * m->hidden);
	return seconds;
}

static uint32_t sparse_layers(const struct deployment *d)
{
	return d->model->experts ? d->model->layers - d->model->dense_layers : 0;
}

static double experts_of(const struct cost *c, uint32_t tokens)
{
	return sparse_layers(&c->d) * expert_layer(&c->d, padded(c, tokens), launch_share(c, tokens));
}

/* Two per layer. */
static double reduce(const struct deployment *d, double t)
{
	double bytes = 2 * t * d->model->hidden;

	return 2 * kernel_all_reduce(d->gpu, d->tp, bytes) + (d->model->norm_all_reduce ? kernel_all_reduce(d->gpu, d->tp, 8 * t) : 0);
}

/* All of one rank that depends on its number of tokens only, without experts. */
static double linear_of(const struct cost *c, uint32_t tokens)
{
	const struct deployment *d = &c->d;
	const struct model_shape *m = d->model;
	double launch = launch_share(c, tokens), t = padded(c, tokens), dense = m->layers - sparse_layers(d);

	return m->layers * (attention_projections(d, t, launch) + elementwise(d, t, launch) + reduce(d, t)) +
	       (dense > 0 ? dense * mlp(d, t, m->intermediate, launch) : 0);
}

static double memoised(double *memo, uint32_t at, double (*compute)(const struct cost *, uint32_t), const struct cost *c)
{
	if (at >= MEMO_MAX)
		return compute(c, at);
	if (memo[at] == 0)
		memo[at] = compute(c, at);
	return memo[at];
}

static double head_of(const struct cost *c, uint32_t rows)
{
	return kernel_gemm(c->d.gpu, PRECISION_BF16, rows, (double)c->d.model->vocab / c->d.tp, c->d.model->hidden, graph_share);
}

struct cost *cost_new(const struct deployment *d)
{
	struct cost *c = NEW(struct cost);
	uint32_t most = 2 * d->max_num_seqs * (1 + (d->spec.method ? d->spec.drafts : 0));
	uint32_t limit = str_is(d->gpu->generation, "blackwell") ? 1024 : 512;

	c->d = *d;
	c->factor = 1;
	c->graph_max = most < limit ? most : limit;
	if (c->graph_max > d->max_num_batched_tokens)
		c->graph_max = d->max_num_batched_tokens;
	c->linear = mem_zalloc(MEMO_MAX, sizeof *c->linear);
	c->expert = mem_zalloc(MEMO_MAX, sizeof *c->expert);
	c->head = mem_zalloc(MEMO_MAX, sizeof *c->head);
	return c;
}

void cost_free(struct cost *c)
{
	if (!c)
		return;
	mem_free(c->linear);
	mem_free(c->expert);
	mem_free(c->head);
	mem_free(c);
}

void cost_scale(struct cost *c, double factor)
{
	c->factor = factor;
}

/* One layer's decode attention over `context` tokens in all. */
static double decode_layer(const struct cost *c, double context, double batch, double launch)
{
	const struct deployment *d = &c->d;
	const struct model_shape *m = d->model;
	double q = (double)m->q_heads / d->tp, element = d->kv_8bit ? 1 : 2;
	double kv = m->kv_heads > d->tp ? (double)((m->kv_heads + d->tp - 1) / d->tp) : 1;

	if (m->mla_kv_rank == 0)
		return kernel_decode_attention(d->gpu, 2 * kv * m->head_dim * element * context, batch, q, m->head_dim, d->kv_8bit, launch);
	/* absorbed: every head works on the one latent vector, so computing shows beside reading */
	return kernel_decode_attention(
		       d->gpu, (m->mla_kv_rank + m->mla_rope) * element * context, batch, q, m->mla_kv_rank, d->kv_8bit, launch) +
	       2 * q * (2.0 * m->mla_kv_rank + m->mla_rope) * context / (d->gpu->prefill_share * d->gpu->flops[0]);
}

/* DeepSeek's sparse attention: an index of 132 bytes a token is read in full to choose what is attended to. */
static double indexer(const struct cost *c, double context)
{
	return context * 132 / (0.5 * c->d.gpu->hbm);
}

static double decode_seconds(const struct cost *c, const struct step_load *load, double launch)
{
	const struct model_shape *m = c->d.model;
	double full = m->sparse_top_k ? 0 : m->full_layers, narrow = m->layers - full, tokens = load->decode_tokens;
	double seconds = 0;

	if (load->decodes == 0)
		return 0;
	if (full > 0)
		seconds += full * decode_layer(c, load->decode_context, tokens, launch);
	if (narrow > 0)
		seconds += narrow * decode_layer(c, load->decode_window, tokens, launch);
	return seconds + (m->sparse_top_k ? m->layers * indexer(c, load->decode_context) : 0);
}

/* Sparse attention works on the latent vectors in prefill too, and its kernels compute 64 heads even where a rank has fewer. The
 * indexer scores every pair in 8 bits with 64 heads of 128, on every rank. */
static double sparse_prefill_layer(const struct cost *c, const struct step_load *load)
{
	const struct deployment *d = &c->d;
	const struct model_shape *m = d->model;
	double heads = (double)m->q_heads / d->tp < 64 ? 64 : (double)m->q_heads / d->tp;
	double attention =
		2 * heads * (2.0 * m->mla_kv_rank + m->mla_rope) * load->prefill_window / (d->gpu->prefill_share * d->gpu->flops[0]);
	double index = 2.0 * 64 * 128 * load->prefill_pairs /
		       (d->gpu->prefill_share * (d->gpu->flops[1] > 0 ? d->gpu->flops[1] : d->gpu->flops[0]));

	return attention + index;
}

static double prefill_layer(const struct cost *c, double pairs, double context, double queries, double launch)
{
	const struct deployment *d = &c->d;
	const struct model_shape *m = d->model;
	double q = (double)m->q_heads / d->tp, kv = m->kv_heads > d->tp ? (double)((m->kv_heads + d->tp - 1) / d->tp) : 1;
	double width = m->mla_kv_rank ? m->mla_nope + m->mla_rope + m->mla_v : 2.0 * m->head_dim;
	double bytes = (m->mla_kv_rank ? m->mla_kv_rank + m->mla_rope : 2 * kv * m->head_dim) * (d->kv_8bit ? 1 : 2);

	return kernel_prefill_attention(d->gpu, 2 * q * width * pairs, bytes * context, queries * q * m->head_dim, launch);
}

static double prefill_seconds(const struct cost *c, const struct step_load *load, double launch)
{
	const struct model_shape *m = c->d.model;
	double full = m->full_layers, narrow = m->layers - full, queries = load->tokens - load->decode_tokens;
	double seconds = 0;

	if (load->prefills == 0)
		return 0;
	if (m->sparse_top_k)
		return m->layers * sparse_prefill_layer(c, load);
	if (full > 0)
		seconds += full * prefill_layer(c, load->prefill_pairs, load->prefill_context, queries, launch);
	if (narrow > 0)
		seconds += narrow * prefill_layer(c, load->prefill_window, load->prefill_context, queries, launch);
	return seconds;
}

/* EAGLE and MTP run one layer and the LM head for each draft token, a draft model all of its own. */
static double draft_seconds(const struct cost *c, const struct step_load *load)
{
	const struct deployment *d = &c->d;
	struct deployment small = *d;
	struct cost draft = { .d = small, .graph_max = c->graph_max };
	double head = memoised(c->head, load->decodes, head_of, c);

	if (load->drafts == 0 || d->spec.method == SPEC_NGRAM || d->spec.method == SPEC_NONE)
		return 0;
	if (d->spec.method != SPEC_DRAFT_MODEL)
		return load->drafts * ((memoised(c->linear, load->decodes, linear_of, c) +
					       (d->model->experts ? memoised(c->expert, load->decodes, experts_of, c) : 0)) /
						      d->model->layers +
					      head);
	draft.d.model = d->draft;
	draft.d.weights = PRECISION_BF16;
	return load->drafts * (linear_of(&draft, load->decodes) + head_of(&draft, load->decodes) +
				      d->draft->layers * decode_layer(&draft, load->decode_context, load->decodes, graph_share));
}

/* The scheduler's own time, per facts/engine-model.md b4. */
static double processor_seconds(const struct step_load *load)
{
	double prompt = load->tokens - load->decode_tokens;

	return 1.6e-3 + 8e-6 * load->running + 0.1e-6 * prompt;
}

/* What the busiest rank of a data-parallel group has of the group's step: all wait for it. Decodes are spread evenly, prompts are not
 * divided. */
static struct step_load local_load(const struct cost *c, const struct step_load *load)
{
	struct step_load x = *load;
	uint32_t ranks = c->d.dp, prompts = load->tokens - load->decode_tokens;
	double spread = load->prefills < ranks ? (load->prefills ? load->prefills : 1) : ranks;

	x.decodes = (load->decodes + ranks - 1) / ranks;
	x.decode_tokens = (load->decode_tokens + ranks - 1) / ranks;
	x.tokens = x.decode_tokens + (uint32_t)ceil(prompts / spread);
	x.sampled = (load->sampled + ranks - 1) / ranks;
	x.running = (load->running + ranks - 1) / ranks;
	x.prefills = (uint32_t)ceil(load->prefills / spread);
	x.decode_context /= ranks;
	x.decode_window /= ranks;
	x.prefill_pairs /= spread;
	x.prefill_window /= spread;
	x.prefill_context /= spread;
	return x;
}

void cost_explain(const struct cost *c, const struct step_load *group, struct cost_parts *p)
{
	struct step_load load = c->d.dp > 1 ? local_load(c, group) : *group;
	double launch = launch_share(c, load.tokens);

	*p = (struct cost_parts){ .fixed = c->d.gpu->step_fixed + c->d.gpu->step_sequence * (load.decodes + load.prefills) };
	p->linear = memoised(c->linear, load.tokens, linear_of, c);
	p->experts = c->d.model->experts ? memoised(c->expert, group->tokens, experts_of, c) : 0;
	p->reduce = c->d.model->layers * reduce(&c->d, padded(c, load.tokens));
	p->head = load.sampled ? memoised(c->head, load.sampled, head_of, c) : 0;
	p->decode = decode_seconds(c, &load, launch);
	p->prefill = prefill_seconds(c, &load, launch);
	p->draft = draft_seconds(c, &load);
	p->processor = processor_seconds(&load);
	p->launches = launch == eager_share ? c->d.model->layers * c->d.gpu->eager_layer : 0;
	p->device = p->linear + p->experts + p->head + p->decode + p->prefill + p->draft + p->fixed;
	if (p->device < p->launches)
		p->device = p->launches;
	p->total = !c->d.async_scheduling ? p->device + p->processor : p->device > p->processor ? p->device : p->processor;
	p->total *= c->factor;
}

double cost_seconds(const struct cost *c, const struct step_load *load)
{
	struct cost_parts parts;

	cost_explain(c, load, &parts);
	return parts.total;
}

static double step_seconds(const void *context, const struct step_load *load)
{
	return cost_seconds(context, load);
}

struct step_cost cost_function(const struct cost *c)
{
	const struct model_shape *m = c->d.model;

	return (struct step_cost){ step_seconds, c, m->sparse_top_k ? m->sparse_top_k : m->window };
}
