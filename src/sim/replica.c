/* One simulated server: engines, a listener, a life. */
#include "sim/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>

/* ---- engines ---- */

static void start_engines(struct replica *r)
{
	const struct setup *s = r->sim->setup;

	for (uint32_t i = 0; i < r->engine_count; i++) {
		struct sim_engine *at = &r->engines[i];
		struct engine_config config = s->engine;

		config.seed = s->seed * 1000003 + r->index * 1009 + i;
		*at = (struct sim_engine){ .replica = r, .rank = i };
		at->engine = engine_new(&config, answer_observe, at);
		engine_want_tokens(at->engine, true);
		engine_advance(at->engine, sim_now(r->sim));
		meter_init(&at->meter, r->release, config.max_model_len);
		at->meter.rate.since = sim_now(r->sim);
	}
	r->web = (struct web_meter){ 0 };
	r->start_time = (double)clock_now_ms() / 1e3;
	r->stale = false;
}

static void stop_engines(struct replica *r)
{
	for (uint32_t i = 0; i < r->engine_count; i++) {
		engine_free(r->engines[i].engine);
		r->engines[i].engine = NULL;
	}
	answer_drop_all(r);
}

struct sim_engine *replica_pick(struct replica *r)
{
	struct sim_engine *best = &r->engines[0];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < r->engine_count; i++) {
		/* the start rotates, so that equals share */
		struct sim_engine *at = &r->engines[(i + r->serial) % r->engine_count];
		struct engine_state state;
		uint64_t load;

		engine_state(at->engine, &state);
		load = state.waiting * 4ull + state.running;
		if (load < least) {
			least = load;
			best = at;
		}
	}
	return best;
}

/* ---- listening ---- */

static void on_gone(void *context, struct exchange *x)
{
	struct answer *a = exchange_user(x);

	answer_abandon(a);
	sim_advance(((struct replica *)context)->sim);
}

/* A slow client has caught up: what was said meanwhile comes as one event a choice. */
static void on_drained(void *context, struct exchange *x)
{
	struct answer *a = exchange_user(x);

	if (!a)
		return;
	a->blocked = false;
	answer_changed(a);
	sim_advance(a->replica->sim);
}

static void on_refused(void *context, int status)
{
	struct replica *r = context;

	web_count(&r->web, "POST", "none", status, 0, 0, 0);
}

bool replica_listen(struct replica *r, struct error *e)
{
	const struct server_handler handler = {
		.on_request = route_request, .on_gone = on_gone, .on_drained = on_drained, .on_refused = on_refused, .context = r
	};
	const struct server_options options = { .host = r->host, .port = r->port, .limits = { .body = 64 << 20 } };

	r->server = server_new(&r->sim->loop, &options, &handler, e);
	if (r->server)
		r->port = server_port(r->server);
	return r->server != NULL;
}

bool replica_init(struct replica *r, struct simulator *sim, uint32_t index, const struct sim_options *o, struct error *e)
{
	const struct setup *s = sim->setup;

	*r = (struct replica){ .sim = sim,
		.index = index,
		.port = o->port ? (int)o->port + (int)index : 0,
		.host = o->host,
		.release = s->release,
		.engine_count = s->data_parallel,
		.rng = { .state = s->seed * 77 + index } };
	if (!replica_listen(r, e))
		return false;
	r->engines = mem_zalloc(r->engine_count, sizeof *r->engines);
	start_engines(r);
	return true;
}

void replica_fini(struct replica *r)
{
	if (r->engines)
		stop_engines(r);
	if (r->server)
		server_close(r->server);
	r->server = NULL;
	mem_free(r->engines);
	r->engines = NULL;
	r->engine_count = 0;
}

/* ---- crashing ---- */

void replica_crash(struct replica *r, double down, enum mimic_release release)
{
	log_note("replica %u: the process dies%s", r->index, release != r->release ? ", for an upgrade" : "");
	stop_engines(r);
	if (r->server)
		server_close(r->server);
	r->server = NULL;
	r->release = release;
	start_engines(r); /* fresh and out of reach until it listens again */
	r->up_at = sim_now(r->sim) + down;
}

void replica_revive(struct replica *r)
{
	struct error e = { 0 };

	if (r->server || r->sim->stop_at || sim_now(r->sim) < r->up_at)
		return;
	if (!replica_listen(r, &e)) {
		log_warning("replica %u cannot listen again: %s", r->index, e.message);
		r->up_at = sim_now(r->sim) + 1;
		return;
	}
	r->start_time = (double)clock_now_ms() / 1e3;
	log_note("replica %u: back on port %d as vLLM %s", r->index, r->port, mimic_version(r->release));
}
