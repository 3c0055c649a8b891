#include "sim/sim.h"

#include "base/log.h"
#include "sim/internal.h"

#include <sys/resource.h>

enum { HOUSEKEEPING_MS = 100, GRACE_S = 3 };

/* ---- housekeeping ---- */

static void close_all(struct simulator *sim)
{
	sim->closing = true;
	for (uint32_t i = 0; i < sim->replica_count; i++)
		replica_fini(&sim->replicas[i]);
	uv_close((uv_handle_t *)&sim->housekeeping, NULL);
	sim_clock_close(sim);
}

static bool somebody_waits(const struct simulator *sim)
{
	for (uint32_t i = 0; i < sim->replica_count; i++)
		for (const struct answer *a = sim->replicas[i].answers; a; a = a->next)
			if (a->exchange)
				return true;
	return false;
}

/* No new requests; those in progress have a moment to end. */
static void begin_stop(struct simulator *sim)
{
	sim->stop_at = sim_now(sim) + GRACE_S;
	traffic_free(sim->traffic);
	sim->traffic = NULL;
	for (uint32_t i = 0; i < sim->replica_count; i++)
		if (sim->replicas[i].server)
			server_stop(sim->replicas[i].server);
}

static void on_housekeeping(uv_timer_t *timer)
{
	struct simulator *sim = timer->data;

	if (*sim->stop && !sim->stop_at)
		begin_stop(sim);
	if (sim->stop_at && (!somebody_waits(sim) || sim_now(sim) >= sim->stop_at)) {
		close_all(sim);
		return;
	}
	sim_advance(sim);
	sim_apply_faults(sim);
	sim_advance(sim);
	sim_report_lateness(sim);
}

/* ---- start ---- */

static bool add_faults(struct simulator *sim, const struct sim_options *o, struct error *e)
{
	for (size_t i = 0; i < o->fault_count; i++)
		if (!sim_add_fault(sim, str_from(o->faults[i]), 0, -1, e))
			return false;
	return true;
}

static bool start_replicas(struct simulator *sim, const struct sim_options *o, struct error *e)
{
	uint32_t count = o->replicas ? (uint32_t)o->replicas : 1;

	if (o->port && o->port + count > 65536)
		return error_set(e, EXIT_USAGE, "--port %lld and %u replicas need ports above 65535", (long long)o->port, count);
	sim->replicas = mem_zalloc(count, sizeof *sim->replicas);
	for (sim->replica_count = 0; sim->replica_count < count; sim->replica_count++)
		if (!replica_init(&sim->replicas[sim->replica_count], sim, sim->replica_count, o, e))
			return false;
	return true;
}

static void announce(const struct simulator *sim, const struct sim_options *o)
{
	const struct setup *s = sim->setup;
	const struct replica *first = &sim->replicas[0], *last = &sim->replicas[sim->replica_count - 1];

	if (s->has_ledger)
		log_note("%s on %u x %s: weights %.1f GiB, KV %.1f GiB = %u blocks of %u tokens (each of %.1f GiB usable)", o->model,
			s->deployment.tp, s->deployment.gpu->name.ptr ? s->deployment.gpu->name.ptr : "", s->ledger.weights / 1073741824,
			s->ledger.kv / 1073741824, s->ledger.blocks, s->engine.block_size, s->ledger.usable / 1073741824);
	if (sim->replica_count == 1) {
		log_note(
			"a simulated server (vLLM %s) on http://%s:%d", mimic_version(s->release), server_host(first->server), first->port);
	} else if (last->port - first->port == (int)sim->replica_count - 1) {
		log_note("%u simulated servers (vLLM %s) on http://%s:%d to :%d", sim->replica_count, mimic_version(s->release),
			server_host(first->server), first->port, last->port);
	} else { /* --port 0: wherever there was room */
		for (uint32_t i = 0; i < sim->replica_count; i++)
			log_note("a simulated server (vLLM %s) on http://%s:%d", mimic_version(s->release),
				server_host(sim->replicas[i].server), sim->replicas[i].port);
	}
}

/* A stream takes a descriptor. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static bool serve(struct simulator *sim, const struct sim_options *o, struct error *e)
{
	bool ok = sim_clock_init(sim, e);

	if (!ok)
		return false;
	uv_timer_init(&sim->loop, &sim->housekeeping);
	sim->housekeeping.data = sim;
	ok = start_replicas(sim, o, e) && add_faults(sim, o, e);
	if (ok && o->self_traffic)
		ok = (sim->traffic = traffic_new(o->self_traffic, e)) != NULL;
	if (ok) {
		announce(sim, o);
		uv_timer_start(&sim->housekeeping, on_housekeeping, 0, HOUSEKEEPING_MS);
	} else {
		close_all(sim);
	}
	uv_run(&sim->loop, UV_RUN_DEFAULT);
	return ok;
}

bool sim_run(const struct sim_options *o, const volatile bool *stop, struct error *e)
{
	struct simulator *sim;
	struct setup setup;
	bool ok;

	if (!setup_init(&setup, o, e)) {
		setup_fini(&setup);
		return false;
	}
	raise_file_limit();
	sim = NEW(struct simulator);
	sim->setup = &setup;
	sim->stop = stop;
	buf_init(&sim->scratch, 1 << 30);
	buf_init(&sim->text, 1 << 30);
	uv_loop_init(&sim->loop);
	ok = serve(sim, o, e);
	uv_loop_close(&sim->loop);
	traffic_free(sim->traffic);
	VEC_FREE(&sim->faults.items);
	buf_fini(&sim->scratch);
	buf_fini(&sim->text);
	mem_free(sim->replicas);
	mem_free(sim);
	setup_fini(&setup);
	return ok;
}
