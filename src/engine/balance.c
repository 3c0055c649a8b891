#include "engine/balance.h"

#include <math.h>

static const char *const names[BALANCE_COUNT] = { "round-robin", "random", "least-in-flight", "least-tokens", "least-kv", "two-choices",
	"prefix" };

const char *balance_name(enum balance_policy policy)
{
	return names[policy];
}

bool balance_parse(struct str name, enum balance_policy *policy, struct error *e)
{
	size_t best = 0, least = 40;

	for (size_t i = 0; i < BALANCE_COUNT; i++) {
		size_t distance = str_distance(name, str_from(names[i]), 40);
		if (distance < least) {
			least = distance;
			best = i;
		}
	}
	if (least == 0) {
		*policy = (enum balance_policy)best;
		return true;
	}
	error_set(e, EXIT_USAGE, "unknown balancing policy \"" STR_FMT "\"", STR_ARG(name));
	error_hint(e, "did you mean %s? Known: round-robin, random, least-in-flight, least-tokens, least-kv, two-choices, prefix",
		names[best]);
	return false;
}

void balancer_init(struct balancer *b, enum balance_policy policy, uint64_t seed)
{
	*b = (struct balancer){ .policy = policy, .rng = { seed }, .spill = 1.25 };
}

static double weight(const struct balance_target *t)
{
	return t->weight > 0 ? t->weight : 1;
}

/* Smaller is better. */
static double burden(const struct balancer *b, const struct balance_target *t)
{
	switch (b->policy) {
	case BALANCE_LEAST_TOKENS: return t->tokens / weight(t);
	case BALANCE_LEAST_KV: return t->kv_usage * 1e6 + t->in_flight / weight(t);
	default: return t->in_flight / weight(t);
	}
}

/* From the turn on, so that ties are served in turn. */
static ptrdiff_t least(struct balancer *b, const struct balance_target *targets, size_t count)
{
	ptrdiff_t best = -1;

	for (size_t i = 0; i < count; i++) {
		size_t at = (b->turn + i) % count;
		if (targets[at].usable && (best < 0 || burden(b, &targets[at]) < burden(b, &targets[best])))
			best = (ptrdiff_t)at;
	}
	if (best >= 0)
		b->turn = (size_t)best + 1;
	return best;
}

static ptrdiff_t next_in_turn(struct balancer *b, const struct balance_target *targets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = (b->turn + i) % count;
		if (targets[at].usable) {
			b->turn = at + 1;
			return (ptrdiff_t)at;
		}
	}
	return -1;
}

/* In proportion to the weights of the usable ones. */
static ptrdiff_t draw(struct balancer *b, const struct balance_target *targets, size_t count)
{
	double all = 0, at;
	ptrdiff_t last = -1;

	for (size_t i = 0; i < count; i++)
		all += targets[i].usable ? weight(&targets[i]) : 0;
	at = rng_unit(&b->rng) * all;
	for (size_t i = 0; i < count; i++) {
		if (!targets[i].usable)
			continue;
		last = (ptrdiff_t)i;
		at -= weight(&targets[i]);
		if (at < 0)
			break;
	}
	return last;
}

static ptrdiff_t better_of_two(struct balancer *b, const struct balance_target *targets, size_t count)
{
	ptrdiff_t one = draw(b, targets, count), two = draw(b, targets, count);

	return one >= 0 && burden(b, &targets[two]) < burden(b, &targets[one]) ? two : one;
}

/* Rendezvous hashing with bounded load: each target draws a number from (prefix, key); the highest wins unless it has more than
 * `spill` times the mean load. A target that comes or goes moves only its own prefixes. */
static ptrdiff_t by_prefix(struct balancer *b, const struct balance_target *targets, size_t count, uint64_t prefix)
{
	double load = 0, usable = 0, best_score = -INFINITY;
	ptrdiff_t best = -1;

	for (size_t i = 0; i < count; i++) {
		usable += targets[i].usable ? weight(&targets[i]) : 0;
		load += targets[i].usable ? targets[i].in_flight : 0;
	}
	for (size_t i = 0; i < count; i++) {
		double most = b->spill * (load + 1) / usable * weight(&targets[i]);
		double unit = ((double)(rng_mix(prefix ^ rng_mix(targets[i].key + 1)) >> 11) + 0.5) * 0x1p-53;
		double score = -weight(&targets[i]) / log(unit);

		if (targets[i].usable && targets[i].in_flight < fmax(1, most) && score > best_score) {
			best_score = score;
			best = (ptrdiff_t)i;
		}
	}
	return best;
}

ptrdiff_t balance_choose(struct balancer *b, const struct balance_target *targets, size_t count, uint64_t prefix)
{
	ptrdiff_t chosen = -1;

	if (count == 0)
		return -1;
	switch (b->policy) {
	case BALANCE_ROUND_ROBIN: return next_in_turn(b, targets, count);
	case BALANCE_RANDOM: return draw(b, targets, count);
	case BALANCE_TWO_CHOICES: return better_of_two(b, targets, count);
	case BALANCE_PREFIX:
		if (prefix)
			chosen = by_prefix(b, targets, count, prefix);
		return chosen >= 0 ? chosen : least(b, targets, count);
	default: return least(b, targets, count);
	}
}
