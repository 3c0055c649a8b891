/* page: the /metrics page of a simulated server, as prometheus_client prints it. */
#ifndef GOODPUT_SIM_PAGE_H
#define GOODPUT_SIM_PAGE_H

#include "base/buf.h"
#include "sim/meter.h"

/* What prometheus-fastapi-instrumentator counts, for one handler. */
enum { WEB_HANDLERS_MAX = 12, WEB_HIGH_BOUNDS = 21, WEB_LOW_BOUNDS = 3 };
struct web_handler {
	const char *method, *handler;
	uint64_t by_class[6]; /* index: status / 100 */
	struct bucketed duration;
	double request_bytes, response_bytes;
};
struct web_meter {
	struct web_handler handlers[WEB_HANDLERS_MAX];
	size_t count;
	struct bucketed all;
};
void web_count(struct web_meter *w, const char *method, const char *handler, int status, double seconds, size_t request_bytes,
	size_t response_bytes);

/* One engine of the page. */
struct page_engine {
	struct engine_state state;
	const struct meter *meter;
};

/* The Python process that runs the API. */
struct page_process {
	double start_time; /* Unix seconds */
	double cpu_seconds, resident_bytes, virtual_bytes;
	uint32_t open_fds, max_fds;
	uint64_t gen2_collections;
};

struct page_config {
	uint32_t block_size, num_gpu_blocks, max_model_len;
	double gpu_memory_utilization;
	bool prefix_caching, kv_8bit, blocks_overridden;
};

/* The program's own lateness, shared by all replicas. */
struct page_own {
	const struct bucketed *lateness;
};

struct page {
	enum mimic_release release;
	bool openmetrics, one_process;
	int have; /* NEEDS_... */
	struct str model;
	uint32_t drafts; /* positions of speculation */
	const struct page_engine *engines;
	size_t engine_count;
	struct page_process process;
	struct page_config config;
	const struct web_meter *web;
	struct page_own own;
	struct str missing; /* families whose name contains this are left out; ptr NULL: none */
};

void page_write(const struct page *page, struct buf *out);
/* A double as Python prints it: "675.0", "3.907584e+07". */
void page_number(double value, struct buf *out);

#endif
