/* setup: what the command line comes to: one checked configuration that all replicas share. */
#ifndef GOODPUT_SIM_SETUP_H
#define GOODPUT_SIM_SETUP_H

#include "engine/cost.h"
#include "engine/engine.h"
#include "openai/request.h"
#include "sim/page.h"
#include "sim/sim.h"

/* A step of fixed cost: --step-time. */
struct step_line {
	double fixed, per_sequence, per_token; /* seconds */
};

/* Pulling KV from another server, as NIXL does. */
struct transfer_config {
	bool on, recompute;
	double bytes_per_token; /* over all ranks */
	double descriptors_per_block;
};

struct setup {
	struct arena arena;
	enum mimic_release release;
	struct engine_config engine;
	struct tables tables;
	struct deployment deployment;
	struct memory_ledger ledger;
	bool has_ledger; /* false with --num-gpu-blocks-override */
	struct cost *cost;
	struct step_line line;
	struct transfer_config transfer;
	struct openai_model served;
	struct str label;   /* first served name, escaped for a label value */
	struct str api_key; /* ptr NULL: none asked for */
	struct page_config page;
	uint32_t data_parallel, api_servers;
	double answer_tokens;
	uint64_t seed;
};

bool setup_init(struct setup *s, const struct sim_options *o, struct error *e);
void setup_fini(struct setup *s);

/* setup_json.c */
bool setup_speculation(struct setup *s, const char *json, struct error *e);
bool setup_transfer(struct setup *s, const char *json, struct error *e);

#endif
