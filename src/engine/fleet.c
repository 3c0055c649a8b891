/* Engines, arrivals and transfers in one order of time. */
#include "engine/fleet.h"

#include "base/vec.h"

#include <math.h>

struct member {
	struct fleet *fleet;
	struct engine *engine;
	enum fleet_role role;
	uint32_t index;
	bool usable;
	uint32_t in_flight;
	double tokens;
};

/* A request on its way through the fleet. */
struct journey {
	struct engine_request ask;
	uint32_t prefill, decode; /* members */
	engine_handle prefill_handle, decode_handle;
	double wanted; /* when the decode engine had its blocks; negative = not yet */
	double moved;  /* seconds from then to the arrival of the KV */
	bool prefilled, live;
};

enum happening_kind { HAPPENS_ARRIVAL, HAPPENS_HANDOVER, HAPPENS_KV };

struct happening {
	double time;
	uint64_t order;
	uint32_t journey;
	enum happening_kind kind;
};

struct fleet {
	struct fleet_config config;
	fleet_observer *observer;
	void *context;
	struct member *members;
	uint32_t count;
	struct balance_target *targets;
	struct balancer balance, balance_prefill;
	struct transfers transfers;
	VEC(struct journey *) journeys;
	VEC(uint32_t) idle; /* journeys that can be used again */
	VEC(struct happening) heap;
	uint64_t order;
	uint32_t inside; /* journeys that have not ended */
	double now;
};

static void on_engine(void *context, const struct engine_event *event);

bool fleet_config_check(const struct fleet_config *c, struct error *e)
{
	if (c->mixed == 0 && (c->prefill == 0 || c->decode == 0)) {
		error_set(e, EXIT_USAGE, "a fleet of %u mixed, %u prefill and %u decode engines serves nothing", c->mixed, c->prefill,
			c->decode);
		error_hint(e, "give mixed engines, or at least one for prefill and one for decode");
		return false;
	}
	if (c->mixed && (c->prefill || c->decode))
		return error_set(e, EXIT_USAGE, "mixed engines do not stand beside prefill and decode engines in one fleet");
	if (c->prefill && !(c->link.bandwidth > 0 && c->link.latency >= 0 && c->bytes_per_token > 0))
		return error_set(e, EXIT_USAGE, "a disaggregated fleet needs the link's bandwidth and the KV bytes of a token");
	if (c->prefill && c->push && c->layers == 0)
		return error_set(e, EXIT_USAGE, "pushing KV layer by layer needs the number of layers");
	return engine_config_check(&c->engine, e) && (c->decode == 0 || engine_config_check(&c->decoder, e));
}

struct fleet *fleet_new(const struct fleet_config *config, fleet_observer *observer, void *context)
{
	struct fleet *f = NEW(struct fleet);

	f->config = *config;
	f->observer = observer;
	f->context = context;
	f->count = config->mixed + config->prefill + config->decode;
	f->members = mem_zalloc(f->count, sizeof *f->members);
	f->targets = mem_zalloc(f->count, sizeof *f->targets);
	balancer_init(&f->balance, config->balance, config->seed);
	balancer_init(&f->balance_prefill, config->balance_prefill, config->seed + 1);
	transfers_init(&f->transfers, &config->link);
	for (uint32_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];
		struct engine_config engine = i < config->mixed + config->prefill ? config->engine : config->decoder;

		engine.seed += config->seed + i;
		*m = (struct member){ .fleet = f, .index = i, .usable = true };
		m->role = i < config->mixed ? FLEET_MIXED : i < config->mixed + config->prefill ? FLEET_PREFILL : FLEET_DECODE;
		m->engine = engine_new(&engine, on_engine, m);
	}
	return f;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->count; i++)
		engine_free(f->members[i].engine);
	for (size_t i = 0; i < f->journeys.count; i++)
		mem_free(f->journeys.items[i]);
	VEC_FREE(&f->journeys);
	VEC_FREE(&f->idle);
	VEC_FREE(&f->heap);
	transfers_fini(&f->transfers);
	mem_free(f->members);
	mem_free(f->targets);
	mem_free(f);
}

static bool sooner(const struct happening *a, const struct happening *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void happen(struct fleet *f, double time, enum happening_kind kind, uint32_t journey)
{
	struct happening item = { time, ++f->order, journey, kind };
	size_t at = f->heap.count;

	VEC_PUSH(&f->heap, item);
	for (; at && sooner(&item, &f->heap.items[(at - 1) / 2]); at = (at - 1) / 2)
		f->heap.items[at] = f->heap.items[(at - 1) / 2];
	f->heap.items[at] = item;
}

static struct happening next_happening(struct fleet *f)
{
	struct happening top = f->heap.items[0], item = f->heap.items[--f->heap.count];
	size_t at = 0, count = f->heap.count;

	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && sooner(&f->heap.items[child + 1], &f->heap.items[child]))
			child++;
		if (!sooner(&f->heap.items[child], &item))
			break;
		f->heap.items[at] = f->heap.items[child];
		at = child;
	}
	if (count)
		f->heap.items[at] = item;
	return top;
}

void fleet_submit(struct fleet *f, const struct engine_request *request)
{
	uint32_t index;
	struct journey *j;

	if (f->idle.count) {
		index = f->idle.items[--f->idle.count];
	} else {
		index = (uint32_t)f->journeys.count;
		VEC_PUSH(&f->journeys, NEW(struct journey));
	}
	j = f->journeys.items[index];
	*j = (struct journey){ .ask = *request, .wanted = -1, .live = true };
	if (!(j->ask.arrival >= f->now))
		j->ask.arrival = f->now;
	f->inside++;
	happen(f, j->ask.arrival, HAPPENS_ARRIVAL, index);
}

static uint64_t prefix_key(const struct engine_request *ask)
{
	return ask->content.id_count ? content_hash(&ask->content, 0, 0, ask->content.id_tokens) : 0;
}

/* The member of a role that the balancer chooses; when none is usable, any of the role: a proxy without a choice waits too. */
static struct member *choose(struct fleet *f, enum fleet_role role, const struct engine_request *ask)
{
	struct balancer *b = role == FLEET_PREFILL ? &f->balance_prefill : &f->balance;
	struct member *fallback = NULL;
	ptrdiff_t at;

	for (uint32_t i = 0; i < f->count; i++) {
		struct member *m = &f->members[i];
		struct engine_state state = { 0 };

		if (b->policy == BALANCE_LEAST_KV)
			engine_state(m->engine, &state);
		f->targets[i] = (struct balance_target){ .usable = m->usable && m->role == role,
			.in_flight = m->in_flight,
			.tokens = m->tokens,
			.kv_usage = state.kv_usage,
			.key = i };
		if (m->role == role && !fallback)
			fallback = m;
	}
	at = balance_choose(b, f->targets, f->count, b->policy == BALANCE_PREFIX ? prefix_key(ask) : 0);
	return at >= 0 ? &f->members[at] : fallback;
}

static engine_handle enter(struct member *m, const struct engine_request *ask)
{
	engine_handle handle;

	m->in_flight++;
	m->tokens += ask->prompt_tokens + (double)ask->output_tokens;
	handle = engine_submit(m->engine, ask);
	return handle;
}

static void leave(struct member *m, const struct engine_request *ask)
{
	m->in_flight--;
	m->tokens -= ask->prompt_tokens + (double)ask->output_tokens;
}

/* As the decode engine gets it. */
static void send_to_decode(struct fleet *f, uint32_t index, double time)
{
	struct journey *j = f->journeys.items[index];
	struct engine_request ask = j->ask;
	struct member *m = choose(f, FLEET_DECODE, &ask);

	ask.id = index;
	ask.arrival = time;
	ask.remote_prefill = true;
	j->decode = m->index;
	j->decode_handle = enter(m, &ask);
}

static void arrive(struct fleet *f, uint32_t index, double time)
{
	struct journey *j = f->journeys.items[index];
	struct engine_request ask = j->ask;
	struct member *m = choose(f, f->config.mixed ? FLEET_MIXED : FLEET_PREFILL, &ask);

	ask.id = index;
	j->prefill = j->decode = m->index;
	if (m->role == FLEET_PREFILL) {
		ask.output_tokens = ask.max_tokens = 1;
		ask.keep_blocks = true;
	}
	j->prefill_handle = enter(m, &ask);
	if (m->role == FLEET_PREFILL && f->config.push && j->live && j->prefill_handle)
		send_to_decode(f, index, time);
}

static void end_journey(struct fleet *f, uint32_t index, const struct engine_event *event)
{
	struct journey *j = f->journeys.items[index];
	struct engine_timeline timeline = *event->timeline;

	timeline.arrival = j->ask.arrival;
	j->live = false;
	f->inside--;
	VEC_PUSH(&f->idle, index);
	if (f->observer)
		f->observer(f->context, &(struct fleet_event){ .time = event->time,
						.id = j->ask.id,
						.timeline = &timeline,
						.engine = j->decode,
						.prefill_engine = j->prefill,
						.transfer_seconds = j->moved,
						.reason = event->reason });
}

/* Both ends are ready: the KV starts to move. Pushed, all but the last layer has gone already. */
static void move(struct fleet *f, uint32_t index, double time)
{
	struct journey *j = f->journeys.items[index];
	double share = f->config.push ? 1.0 / f->config.layers : 1;

	if (j->prefilled && j->wanted >= 0)
		transfers_start(&f->transfers, time, index, j->ask.prompt_tokens * share, f->config.bytes_per_token);
}

static void prefill_event(struct fleet *f, struct member *m, uint32_t index, const struct engine_event *event)
{
	struct journey *j = f->journeys.items[index];
	bool good = event->timeline->finish == FINISH_LENGTH || event->timeline->finish == FINISH_STOP;

	if (event->kind != ENGINE_FINISHED)
		return;
	leave(m, &(struct engine_request){ .prompt_tokens = j->ask.prompt_tokens, .output_tokens = 1 });
	if (!good) {
		end_journey(f, index, event);
	} else if (f->config.push) {
		j->prefilled = true;
		move(f, index, event->time);
	} else {
		j->prefilled = true;
		happen(f, event->time + f->config.proxy_hop, HAPPENS_HANDOVER, index);
	}
}

static void on_engine(void *context, const struct engine_event *event)
{
	struct member *m = context;
	struct fleet *f = m->fleet;
	uint32_t index = (uint32_t)event->id;
	struct journey *j = f->journeys.items[index];

	if (m->role == FLEET_PREFILL) {
		prefill_event(f, m, index, event);
		return;
	}
	if (event->kind == ENGINE_TRANSFER_WANTED) {
		j->wanted = event->time;
		move(f, index, event->time);
	} else if (event->kind == ENGINE_FINISHED) {
		leave(m, &j->ask);
		if (m->role == FLEET_DECODE)
			engine_release_kept(f->members[j->prefill].engine, j->prefill_handle);
		end_journey(f, index, event);
	}
}

/* The KV is there: the decode engine may go on, the prefill engine may forget. */
static void deliver(struct fleet *f, uint32_t index, double time)
{
	struct journey *j = f->journeys.items[index];

	j->moved = time - j->wanted;
	engine_release_kept(f->members[j->prefill].engine, j->prefill_handle);
	engine_transfer_done(f->members[j->decode].engine, j->decode_handle, time, false, f->config.recompute_failed);
}

static void play(struct fleet *f, struct happening h)
{
	switch (h.kind) {
	case HAPPENS_ARRIVAL: arrive(f, h.journey, h.time); break;
	case HAPPENS_HANDOVER: send_to_decode(f, h.journey, h.time); break;
	case HAPPENS_KV: deliver(f, h.journey, h.time); break;
	}
}

/* The next moment at which engines can influence each other. Mixed engines do only through an observer that reacts. */
static double next_moment(const struct fleet *f, double until)
{
	double next = f->heap.count && f->heap.items[0].time < until ? f->heap.items[0].time : until;

	for (uint32_t i = 0; i < f->count && (f->config.reactive || !f->config.mixed); i++)
		next = fmin(next, engine_next(f->members[i].engine));
	return fmin(next, transfers_next(&f->transfers));
}

static bool idle(const struct fleet *f)
{
	bool quiet = f->heap.count == 0 && f->transfers.active.count == 0;

	for (uint32_t i = 0; quiet && i < f->count; i++)
		quiet = engine_next(f->members[i].engine) == INFINITY;
	return quiet;
}

void fleet_advance(struct fleet *f, double until)
{
	while (!idle(f)) {
		double moment = next_moment(f, until), arrived;
		uint64_t id;

		for (uint32_t i = 0; i < f->count; i++)
			engine_advance(f->members[i].engine, moment);
		if (moment < INFINITY)
			f->now = fmax(f->now, moment);
		while (transfers_take(&f->transfers, moment, &id, &arrived))
			happen(f, arrived, HAPPENS_KV, (uint32_t)id);
		while (f->heap.count && f->heap.items[0].time <= moment)
			play(f, next_happening(f));
		if (moment >= until && !(f->heap.count && f->heap.items[0].time <= until))
			break;
	}
	if (until < INFINITY) {
		for (uint32_t i = 0; i < f->count; i++)
			engine_advance(f->members[i].engine, until);
		f->now = fmax(f->now, until);
	}
}

bool fleet_drain(struct fleet *f)
{
	while (f->inside) {
		uint32_t before = f->inside;
		uint64_t order = f->order;
		fleet_advance(f, INFINITY);
		if (f->inside == before && f->order == order)
			return false;
	}
	return true;
}

double fleet_now(const struct fleet *f)
{
	return f->now;
}

uint32_t fleet_engine_count(const struct fleet *f)
{
	return f->count;
}

struct engine *fleet_engine(const struct fleet *f, uint32_t index)
{
	return f->members[index].engine;
}

void fleet_set_usable(struct fleet *f, uint32_t index, bool usable)
{
	f->members[index].usable = usable;
}
