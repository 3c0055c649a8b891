/* Numbers of weights, from the shape of a model. */
#include "engine/tables.h"

static double attention_weights(const struct model_shape *m)
{
	double h = m->hidden, q = m->q_heads;

	if (m->mla_kv_rank == 0)
		return h * (q + 2.0 * m->kv_heads) * m->head_dim + q * m->head_dim * h;
	return h * m->mla_q_rank + m->mla_q_rank * q * (m->mla_nope + m->mla_rope) + h * (m->mla_kv_rank + m->mla_rope) +
	       m->mla_kv_rank * q * (m->mla_nope + m->mla_v) + q * m->mla_v * h;
}

void model_weights(const struct model_shape *m, struct weight_counts *w)
{
	double matrices = m->plain_mlp ? 2 : 3, h = m->hidden;
	double dense = m->experts ? m->dense_layers : m->layers, sparse = m->layers - dense;

	*w = (struct weight_counts){ .attention = m->layers * attention_weights(m),
		.dense = dense * matrices * h * m->intermediate,
		.experts = sparse * m->experts * matrices * h * m->expert_intermediate,
		.shared = sparse * m->shared_experts * matrices * h * m->expert_intermediate,
		.router = sparse * h * m->experts,
		.embedding = h * m->vocab,
		.head = m->tied_embeddings ? 0 : h * m->vocab };
}

double model_parameters(const struct model_shape *m)
{
	struct weight_counts w;

	model_weights(m, &w);
	return w.attention + w.dense + w.experts + w.shared + w.router + w.embedding + w.head;
}
