/* balance: which of several servers gets the next request. Pure: the caller keeps the targets up to date, here for engines in
 * virtual time, in the gateway for live ones. */
#ifndef GOODPUT_ENGINE_BALANCE_H
#define GOODPUT_ENGINE_BALANCE_H

#include "base/error.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum balance_policy {
	BALANCE_ROUND_ROBIN,
	BALANCE_RANDOM,
	BALANCE_LEAST_IN_FLIGHT, /* fewest requests inside; ties in turn */
	BALANCE_LEAST_TOKENS,    /* fewest tokens still to compute */
	BALANCE_LEAST_KV,        /* lowest KV usage, then fewest in flight */
	BALANCE_TWO_CHOICES,     /* the better of two drawn at random: nearly as even, without herding on stale figures */
	BALANCE_PREFIX,          /* the same prefix goes to the same server, while that is not overloaded */
	BALANCE_COUNT
};

/* "round-robin" ...; parse gives an error with the nearest name. */
const char *balance_name(enum balance_policy policy);
bool balance_parse(struct str name, enum balance_policy *policy, struct error *e);

struct balance_target {
	bool usable;
	uint32_t in_flight;
	double tokens;   /* outstanding; only BALANCE_LEAST_TOKENS reads it */
	double kv_usage; /* 0..1; only BALANCE_LEAST_KV reads it */
	double weight;   /* share of load that it should get; 0 counts as 1 */
	uint64_t key;    /* names it through restarts and changes of the list; only BALANCE_PREFIX reads it */
};

struct balancer {
	enum balance_policy policy;
	struct rng rng;
	size_t turn;
	double spill; /* BALANCE_PREFIX: a target may have so many times the mean load before others take its prefixes; 0 = 1.25 */
};
void balancer_init(struct balancer *b, enum balance_policy policy, uint64_t seed);
/* Index of the chosen target; -1 when none is usable. `prefix` identifies the start of the prompt (0 = unknown: least in flight). */
ptrdiff_t balance_choose(struct balancer *b, const struct balance_target *targets, size_t count, uint64_t prefix);

#endif
