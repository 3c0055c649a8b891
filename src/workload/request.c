/* What a request is: a pure function of workload, plan, number and turn. */
#include "workload/content.h"
#include "workload/random.h"

/* What a generator is for: draws of one never move those of another. The values are part of the format. */
enum { DRAW_REQUEST = 1, DRAW_ORDER = 3, STREAM_SHARED = 16, STREAM_OWN, STREAM_ANSWER, STREAM_BLOCK };

void workload_request_init(struct workload_request *r)
{
	*r = (struct workload_request){ 0 };
}

void workload_request_fini(struct workload_request *r)
{
	mem_free(r->pieces);
	mem_free(r->messages);
	*r = (struct workload_request){ 0 };
}

static uint64_t stream_of(const struct workload_plan *p, uint64_t what, uint64_t a, uint64_t b)
{
	struct rng rng = random_keyed(rng_mix(p->seed) ^ rng_mix(p->salt + 1), what, a);

	return rng_mix(rng.state + b * 0xd6e8feb86659fd93ULL);
}

/* ---- building ---- */

static void message_open(struct workload_request *r, enum workload_role role)
{
	if (r->message_count == r->message_cap) {
		r->message_cap = r->message_cap * 2 + 2;
		r->messages = mem_resize(r->messages, r->message_cap, sizeof *r->messages);
	}
	r->messages[r->message_count++] = (struct workload_message){ .role = role, .first = r->piece_count };
}

static void piece_add(struct workload_request *r, uint64_t stream, uint32_t tokens)
{
	struct workload_message *m = &r->messages[r->message_count - 1];

	if (!tokens)
		return;
	if (r->piece_count == r->piece_cap) {
		r->piece_cap = r->piece_cap * 2 + 4;
		r->pieces = mem_resize(r->pieces, r->piece_cap, sizeof *r->pieces);
	}
	r->pieces[r->piece_count++] = (struct workload_piece){ stream, 0, tokens };
	m->count++;
	m->tokens += tokens;
}

/* Tokens of text in a message that is to have `tokens` with what the template adds; at least one. */
static uint32_t text_tokens(const struct workload *w, uint32_t tokens)
{
	return tokens > w->template_tokens ? tokens - w->template_tokens : 1;
}

static void answer_add(const struct workload *w, const struct workload_plan *p, struct workload_request *r, uint32_t turn, uint32_t tokens)
{
	message_open(r, WORKLOAD_ASSISTANT);
	piece_add(r, stream_of(p, STREAM_ANSWER, r->number, turn), tokens);
	r->prompt_tokens += tokens + w->template_tokens;
}

/* ---- of a mix ---- */

static const struct workload_class *class_draw(const struct workload *w, struct rng *rng)
{
	double at = rng_unit(rng) * w->class_weight;
	size_t i = 0;

	while (i + 1 < w->classes.count && at >= w->classes.items[i].share)
		at -= w->classes.items[i++].share;
	return &w->classes.items[i];
}

/* Of the first message's text: what it has in common with others; at least one token is its own. */
static uint32_t shared_tokens(const struct workload *w, uint32_t tokens)
{
	uint32_t wanted = w->prefix.tokens ? w->prefix.tokens : (uint32_t)(w->prefix.share * tokens);

	return wanted < tokens ? wanted : tokens - 1;
}

static void question_add(const struct workload *w, const struct workload_plan *p, struct workload_request *r, uint64_t prefix,
	uint32_t turn, uint32_t tokens)
{
	uint32_t text = text_tokens(w, tokens), shared = 0;

	message_open(r, WORKLOAD_USER);
	if (!turn && w->prefix.groups) {
		shared = shared_tokens(w, text);
		piece_add(r, stream_of(p, STREAM_SHARED, prefix, 0), shared);
	}
	piece_add(r, stream_of(p, STREAM_OWN, r->number, turn), text - shared);
	r->prompt_tokens += text + w->template_tokens;
}

static bool make_of_mix(const struct workload *w, const struct workload_plan *p, uint32_t turn, struct workload_request *r)
{
	struct rng rng = random_keyed(p->seed, DRAW_REQUEST, r->number);
	const struct workload_class *c = class_draw(w, &rng);
	uint64_t prefix = w->prefix.groups ? rng_below(&rng, w->prefix.groups) : 0;
	uint32_t turns = w->sessions.turns.most ? length_draw(&w->sessions.turns, &rng) : 1;

	if (turn >= turns)
		return false;
	for (uint32_t i = 0; i <= turn; i++) {
		question_add(w, p, r, prefix, i, length_draw(&c->prompt, &rng));
		r->output_tokens = length_draw(&c->output, &rng);
		if (i < turn)
			answer_add(w, p, r, i, r->output_tokens);
	}
	r->group = c->name;
	r->more = turn + 1 < turns;
	r->pause_ns = r->more ? (uint64_t)(w->sessions.pause * 1e9) : 0;
	return true;
}

/* ---- of rows ---- */

static void row_question(const struct workload *w, const struct workload_plan *p, struct workload_request *r,
	const struct workload_row *row, uint64_t pass, uint32_t turn)
{
	uint32_t text = text_tokens(w, row->prompt), left = text;

	message_open(r, WORKLOAD_USER);
	for (uint32_t i = 0; i < row->id_count && left; i++) {
		uint32_t tokens = left < w->block ? left : w->block;

		piece_add(r, stream_of(p, STREAM_BLOCK, row->ids[i], pass), tokens);
		left -= tokens;
	}
	piece_add(r, stream_of(p, STREAM_OWN, r->number, turn), left);
	r->prompt_tokens += text + w->template_tokens;
}

static bool make_of_rows(const struct workload *w, const struct workload_plan *p, uint32_t turn, struct workload_request *r)
{
	uint64_t count = w->starts.count, pass = r->number / count, index = r->number % count;

	if (w->shuffled && p->arrivals.process != WORKLOAD_TRACE)
		index = random_permute(random_keyed(p->seed, DRAW_ORDER, pass).state, index, count);
	uint32_t at = w->starts.items[index];

	for (uint32_t i = 0;; i++) {
		const struct workload_row *row = &w->rows.items[at];

		row_question(w, p, r, row, pass, i);
		r->output_tokens = row->output;
		at = row->next;
		if (i == turn)
			break;
		if (!at)
			return false;
		answer_add(w, p, r, i, row->output);
	}
	r->more = at != 0;
	r->pause_ns = at ? w->rows.items[at].time_us * 1000 : 0;
	r->group = STR_EMPTY;
	return true;
}

bool workload_request_make(
	const struct workload *w, const struct workload_plan *plan, uint64_t number, uint32_t turn, struct workload_request *r)
{
	r->number = number;
	r->turn = turn;
	r->prompt_tokens = r->output_tokens = 0;
	r->piece_count = r->message_count = 0;
	return w->starts.count ? make_of_rows(w, plan, turn, r) : make_of_mix(w, plan, turn, r);
}
