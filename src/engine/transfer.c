#include "engine/transfer.h"

#include <math.h>

/* A byte that is late by a nanosecond counts as there: sums of shares do not come out even. */
static const double rest = 1e-9;

void transfers_init(struct transfers *t, const struct transfer_link *link)
{
	*t = (struct transfers){ .link = *link };
}

void transfers_fini(struct transfers *t)
{
	VEC_FREE(&t->active);
}

static double work(const struct transfer_link *link, double tokens, double bytes_per_token)
{
	double bytes = tokens * bytes_per_token;
	double pieces = link->block_size ? ceil(tokens / link->block_size) * link->pieces_per_block : 0;

	return fmax(bytes, pieces * link->descriptor * link->bandwidth);
}

double transfer_seconds(const struct transfer_link *link, double tokens, double bytes_per_token)
{
	return link->latency + work(link, tokens, bytes_per_token) / link->bandwidth;
}

static void pass(struct transfers *t, double now)
{
	double moved = (now - t->now) * t->link.bandwidth / (t->active.count ? (double)t->active.count : 1);

	VEC_EACH (&t->active, transfer)
		transfer->left -= moved;
	t->now = now;
}

void transfers_start(struct transfers *t, double now, uint64_t id, double tokens, double bytes_per_token)
{
	pass(t, now);
	t->bytes += tokens * bytes_per_token;
	VEC_PUSH(&t->active, (struct transfer){ id, work(&t->link, tokens, bytes_per_token) });
}

static const struct transfer *first_to_end(const struct transfers *t)
{
	const struct transfer *first = NULL;

	for (size_t i = 0; i < t->active.count; i++)
		if (!first || t->active.items[i].left < first->left)
			first = &t->active.items[i];
	return first;
}

double transfers_next(const struct transfers *t)
{
	const struct transfer *first = first_to_end(t);

	return first ? t->now + fmax(0, first->left) * (double)t->active.count / t->link.bandwidth : INFINITY;
}

bool transfers_take(struct transfers *t, double now, uint64_t *id, double *arrived)
{
	const struct transfer *first = first_to_end(t);

	if (!first || transfers_next(t) > now + rest)
		return false;
	pass(t, now > t->now ? now : t->now);
	first = first_to_end(t);
	*id = first->id;
	*arrived = now + t->link.latency;
	t->active.items[first - t->active.items] = t->active.items[t->active.count - 1];
	t->active.count--;
	return true;
}
