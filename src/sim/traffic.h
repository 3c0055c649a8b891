/* traffic: requests that the server makes to itself: at a rate, or from a trace. */
#ifndef GOODPUT_SIM_TRAFFIC_H
#define GOODPUT_SIM_TRAFFIC_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* One request of it. */
struct traffic_request {
	double time; /* seconds since the traffic's start */
	uint32_t prompt_tokens, output_tokens;
	const uint64_t *ids; /* contents of `id_tokens` tokens each; NULL: all its own */
	uint32_t id_count, id_tokens;
	float temperature;
};

struct traffic;
/* rate=8,prompt=800,output=150[,prefix=0.3][,temperature=0][,spread=0.6][,seed=N], trace=FILE[,speed=2], or a file name alone. A trace is
 * an Azure CSV (TIMESTAMP,ContextTokens,GeneratedTokens) or a Mooncake JSONL. NULL with an error that names the line. */
struct traffic *traffic_new(const char *spec, struct error *e);
void traffic_free(struct traffic *t);
/* When the next request is due, in seconds since the start; INFINITY when the trace is over. */
double traffic_next(const struct traffic *t);
/* The next request. Its ids are valid until the traffic is freed. */
void traffic_take(struct traffic *t, struct traffic_request *r);

#endif
