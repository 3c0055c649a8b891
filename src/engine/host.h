/* host: the Python process around the engine: its memory, and the garbage collector's pauses.
 *
 * Memory = base + what live requests hold + what leaked. A full (generation 2) collection stops the process once every
 * `gc_every` finished requests for gc_base + gc_per_request * (requests alive): its cost grows with what is reachable. */
#ifndef GOODPUT_ENGINE_HOST_H
#define GOODPUT_ENGINE_HOST_H

#include <stdint.h>

struct host_config {
	double base_bytes, bytes_per_request, bytes_per_token;
	uint32_t gc_every;              /* 0 = never (vLLM freezes the heap at start, so a healthy server rarely collects) */
	double gc_base, gc_per_request; /* seconds */
};

struct host_state {
	double bytes, leaked_bytes;
	uint64_t collections;
	double pause_seconds; /* sum of all pauses */
};

void host_config_default(struct host_config *config);

struct host {
	struct host_config config;
	struct host_state state;
	uint32_t since_collection;
};
void host_init(struct host *host, const struct host_config *config);
/* A request has finished with this many tokens. */
void host_finished(struct host *host, uint32_t tokens, double leak_per_token);
/* The pause that is due now (0 = none). `extra` seconds come on top of each; with them collections happen (every 50
 * requests) even when none are configured. */
double host_pause(struct host *host, uint32_t alive, double extra);
/* Memory with that many live requests and tokens. */
double host_bytes(const struct host *host, uint32_t alive, double tokens);

#endif
