/* fleet: several engines in one virtual time: replicas behind a balancer, or prefill and decode engines with KV transfers between.
 *
 * Disaggregated, pull (NIXL): a prefill engine computes the prompt and holds its KV; after the proxy's hop a decode engine allocates
 * blocks, pulls the KV, computes the last prompt token again and goes on. Push: the decode engine has the request from the start
 * and the KV follows layer by layer, so that only the last layer's part is waited for. */
#ifndef GOODPUT_ENGINE_FLEET_H
#define GOODPUT_ENGINE_FLEET_H

#include "engine/balance.h"
#include "engine/engine.h"
#include "engine/transfer.h"

enum fleet_role { FLEET_MIXED, FLEET_PREFILL, FLEET_DECODE };

struct fleet_config {
	uint32_t mixed, prefill, decode; /* engines of each role: mixed alone, or prefill and decode together */
	struct engine_config engine;     /* mixed and prefill engines */
	struct engine_config decoder;    /* decode engines */
	enum balance_policy balance;     /* for mixed and decode engines */
	enum balance_policy balance_prefill;
	struct transfer_link link; /* one, shared by all transfers */
	double bytes_per_token;    /* see kv_transfer_bytes_per_token */
	double proxy_hop;          /* seconds between the end of prefill and the decode engine's admission queue */
	uint32_t layers;           /* push: this many parts, all but the last hidden behind prefill */
	bool push, recompute_failed;
	bool reactive; /* the observer submits requests (a closed loop): no engine may then run ahead of the others. Slower */
	uint64_t seed;
};

struct fleet_event {
	double time;
	uint64_t id;
	const struct engine_timeline *timeline; /* arrival is the client's; tokens are those that the client sees */
	uint32_t engine, prefill_engine;        /* indices; prefill_engine = engine for a mixed one */
	double transfer_seconds;                /* from allocation on the decode engine to the arrival of the KV; 0 for mixed */
	const char *reason;
};
/* Told at the end of each request. May submit more. */
typedef void fleet_observer(void *context, const struct fleet_event *event);

struct fleet;
bool fleet_config_check(const struct fleet_config *config, struct error *e);
struct fleet *fleet_new(const struct fleet_config *config, fleet_observer *observer, void *context);
void fleet_free(struct fleet *fleet);

/* In any order of arrival; the choice of the engine is made at the arrival. Contents are borrowed until the end of the request. */
void fleet_submit(struct fleet *fleet, const struct engine_request *request);
void fleet_advance(struct fleet *fleet, double time);
/* False: something waits for ever (a stalled engine). */
bool fleet_drain(struct fleet *fleet);
double fleet_now(const struct fleet *fleet);

/* For states and faults. Engines stand in the order mixed, prefill, decode. */
uint32_t fleet_engine_count(const struct fleet *fleet);
struct engine *fleet_engine(const struct fleet *fleet, uint32_t index);
/* Takes an engine out of the balancer's choice, or back in; what is inside goes on. */
void fleet_set_usable(struct fleet *fleet, uint32_t index, bool usable);

#endif
