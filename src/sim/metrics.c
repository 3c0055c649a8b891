/* GET /metrics: the page of one replica. */
#include "sim/internal.h"

#include "base/clock.h"

#include <sys/resource.h>

static double own_cpu(const struct replica *r)
{
	return (double)clock_cpu_ns() / 1e9 / r->sim->replica_count;
}

static void fill_process(const struct replica *r, const struct page_engine *engines, struct page_process *p)
{
	struct rlimit files = { 0 };
	double bytes = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	*p = (struct page_process){ .start_time = r->start_time,
		.cpu_seconds = own_cpu(r),
		.open_fds = 40 + (uint32_t)(r->server ? server_connections(r->server) : 0),
		.max_fds = (uint32_t)(files.rlim_cur < 1048576 ? files.rlim_cur : 1048576) };
	for (uint32_t i = 0; i < r->engine_count; i++) {
		/* one process: its base counts once, what requests hold and what leaks adds up */
		bytes += i ? engines[i].state.host.bytes - r->sim->setup->engine.host.base_bytes : engines[i].state.host.bytes;
		p->gen2_collections += engines[i].state.host.collections;
	}
	p->resident_bytes = bytes;
	p->virtual_bytes = bytes + 12e9;
}

static void fill_engines(const struct replica *r, struct page_engine *engines)
{
	for (uint32_t i = 0; i < r->engine_count; i++) {
		engine_state(r->engines[i].engine, &engines[i].state);
		engines[i].meter = &r->engines[i].meter;
		/* the next step writes the gauges again */
		if (r->stale && engines[i].state.counters->steps == r->engines[i].frozen_steps) {
			engines[i].state.running = r->engines[i].frozen.running;
			engines[i].state.waiting = r->engines[i].frozen.waiting;
			engines[i].state.deferred = r->engines[i].frozen.deferred;
			engines[i].state.kv_usage = r->engines[i].frozen.kv_usage;
		}
	}
}

static bool wants_openmetrics(const struct message *m)
{
	struct str accept = message_header(m, "Accept");

	return str_search(accept, STR("application/openmetrics-text")) >= 0;
}

void metrics_write(struct replica *r, bool openmetrics, struct buf *out)
{
	const struct setup *s = r->sim->setup;
	struct page_engine *engines = mem_zalloc(r->engine_count, sizeof *engines);
	struct page page = { .release = r->release,
		.openmetrics = openmetrics,
		.one_process = s->api_servers == 1 && !mimic_is_v0(r->release),
		.have = (s->engine.spec.method != SPEC_NONE ? NEEDS_SPECULATION : 0) | (s->transfer.on ? NEEDS_TRANSFER : 0),
		.model = s->label,
		.drafts = s->engine.spec.drafts,
		.engines = engines,
		.engine_count = r->engine_count,
		.config = s->page,
		.web = &r->web,
		.own = { &r->sim->lateness },
		.missing = str_from(r->effect.missing) };

	fill_engines(r, engines);
	fill_process(r, engines, &page.process);
	page_write(&page, out);
	mem_free(engines);
}

void metrics_answer(struct replica *r, struct exchange *x, const struct message *m)
{
	bool openmetrics = wants_openmetrics(m);
	struct buf *out = &r->sim->scratch;

	buf_reset(out);
	metrics_write(r, openmetrics, out);
	exchange_answer(x, 200,
		openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8",
		NULL, buf_str(out));
}
