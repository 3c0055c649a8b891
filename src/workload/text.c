/* Tokens as text and as ids. */
#include "base/number.h"
#include "workload/content.h"
#include "workload/random.h"

enum { WORDS = 128, WORD_BYTES = 3 };

/* Each is one token, with and without a blank before it, in cl100k, o200k, r50k, Llama 2's and Llama 3's vocabularies (README.md). Part of
 * the format: a changed word changes what a hash stands for. */
static const char words[] = "actaddageagoaidaimairallandanyarmartaskbagbarbedbetbigbitboxboybusbutbuycancapcarcatcupcutdaydog"
			    "dotdrydueeareateggendeyefanfarfeefewfitfixflyforfungetgothadhasherhimhishithothowiceitsjobkeykid"
			    "lablawlayledlegletlotlowmanmapmaymenmetmixnetnewnornotnownutoffoldoneouroutownpaypenperpetputran"
			    "redrowrunsayseaseesetshesitsixskysonsuntaxtenthetietootoptrytwouseviawaswaywebwhowhywinyesyetyou";
_Static_assert(sizeof words == WORDS * WORD_BYTES + 1, "128 words of three letters");

static uint64_t token_draw(uint64_t stream, uint32_t index)
{
	return rng_mix(stream + (uint64_t)index * 0x9e3779b97f4a7c15ULL);
}

static char *piece_text(const struct workload_piece *p, char *to)
{
	for (uint32_t i = p->from; i < p->to; i++) {
		*to++ = ' ';
		memcpy(to, words + (token_draw(p->stream, i) >> 57) * WORD_BYTES, WORD_BYTES);
		to += WORD_BYTES;
	}
	return to;
}

void workload_text(const struct workload_request *r, uint32_t index, struct buf *out)
{
	const struct workload_message *m = &r->messages[index];
	size_t size = (size_t)m->tokens * (WORD_BYTES + 1);
	char *start = size ? buf_reserve(out, size) : NULL, *to = start;

	if (!start)
		return;
	for (uint32_t i = 0; i < m->count; i++)
		to = piece_text(&r->pieces[m->first + i], to);
	memmove(start, start + 1, size - 1); /* no blank at the start */
	out->len += size - 1;
}

void workload_token_ids(const struct workload *w, const struct workload_request *r, struct buf *out)
{
	bool more = false;

	for (uint32_t i = 0; i < r->piece_count; i++)
		for (uint32_t k = r->pieces[i].from; k < r->pieces[i].to; k++) {
			uint64_t draw = token_draw(r->pieces[i].stream, k) >> 32;

			if (more)
				buf_add_c(out, ',');
			buf_add_i64(out, w->id_first + (int64_t)(draw * w->id_count >> 32));
			more = true;
		}
}

size_t workload_content_ids(const struct workload_request *r, uint32_t block, uint64_t *ids, size_t cap)
{
	uint64_t id = 0;
	uint32_t filled = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < r->piece_count; i++) {
		const struct workload_piece *p = &r->pieces[i];

		for (uint32_t at = p->from; at < p->to;) {
			uint32_t take = p->to - at < block - filled ? p->to - at : block - filled;

			id = rng_mix(id ^ rng_mix(p->stream ^ ((uint64_t)at << 32 | take)));
			at += take;
			filled += take;
			if (filled < block)
				continue;
			if (count < cap)
				ids[count] = id;
			count++;
			filled = 0;
		}
	}
	return count;
}
