#include "engine/host.h"

/* A fault without a configured collector still needs collections to happen: this often, in finished requests. */
enum { FAULT_EVERY = 50 };

void host_config_default(struct host_config *config)
{
	/* an API process and an engine core of vLLM 0.19 idle at about 2.5 GB together; the per-request figure is the output
	 * processor's and the scheduler's objects, ours from their fields */
	*config = (struct host_config){ .base_bytes = 2.5e9, .bytes_per_request = 40e3, .bytes_per_token = 64 };
}

void host_init(struct host *host, const struct host_config *config)
{
	*host = (struct host){ .config = *config };
	host->state.bytes = config->base_bytes;
}

void host_finished(struct host *host, uint32_t tokens, double leak_per_token)
{
	host->since_collection++;
	host->state.leaked_bytes += leak_per_token * tokens;
}

double host_pause(struct host *host, uint32_t alive, double extra)
{
	uint32_t every = host->config.gc_every ? host->config.gc_every : extra > 0 ? FAULT_EVERY : 0;
	double pause;

	if (every == 0 || host->since_collection < every)
		return 0;
	host->since_collection = 0;
	pause = host->config.gc_base + host->config.gc_per_request * alive + extra;
	host->state.collections++;
	host->state.pause_seconds += pause;
	return pause;
}

double host_bytes(const struct host *host, uint32_t alive, double tokens)
{
	const struct host_config *c = &host->config;

	return c->base_bytes + c->bytes_per_request * alive + c->bytes_per_token * tokens + host->state.leaked_bytes;
}
