/* The engines' virtual time follows the monotonic clock: a timer descriptor, which is exact to microseconds where the loop's own timers
 * are to milliseconds, fires when the next thing happens. */
#include "sim/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Late by more than this at the 99th percentile: the program, not the model, is what clients measure. */
static const double late_limit = 0.005;
enum { REPORT_EVERY_S = 10, REPORT_LEAST = 200 };

double sim_now(const struct simulator *sim)
{
	return (double)(clock_monotonic_ns() - sim->origin_ns) / 1e9;
}

/* ---- lateness ---- */

static void lateness_init(struct bucketed *b)
{
	static const double bounds[] = { 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
		1, 5 };

	*b = (struct bucketed){ .bound_count = ARRAY_LEN(bounds) };
	memcpy(b->bounds, bounds, sizeof bounds);
}

void sim_note_lateness(struct simulator *sim, double due)
{
	double late = sim_now(sim) - due;

	bucketed_add(&sim->lateness, late, 1);
	bucketed_add(&sim->lateness_recent, late, 1);
}

void sim_report_lateness(struct simulator *sim)
{
	double now = sim_now(sim), p99;

	if (now - sim->recent_since < REPORT_EVERY_S)
		return;
	p99 = bucketed_quantile(&sim->lateness_recent, 0.99);
	if (sim->lateness_recent.count >= REPORT_LEAST && p99 > late_limit && now - sim->reported >= 3 * REPORT_EVERY_S) {
		log_warning("this program is late itself: P99 of token to send() above %g ms in the last %.0f s (%llu deliveries); clients "
			    "measure that too. Use fewer streams or a machine with a free core",
			p99 == INFINITY ? 5000 : p99 * 1e3, now - sim->recent_since, (unsigned long long)sim->lateness_recent.count);
		sim->reported = now;
	}
	lateness_init(&sim->lateness_recent);
	sim->recent_since = now;
}

/* ---- playing what is due ---- */

static void play_engine(struct sim_engine *at, double now)
{
	struct engine_state state;
	double next;

	engine_state(at->engine, &state);
	uint64_t empty_waits = state.counters->empty_waits;

	/* one event at a time, so that each step is seen on its own */
	while ((next = engine_next(at->engine)) <= now) {
		engine_advance(at->engine, next);
		engine_state(at->engine, &state);
		meter_step(&at->meter, &state, next);
		/* A head that does not fit, whatever ends: its time stays now until something from outside changes. */
		if (state.counters->empty_waits != empty_waits)
			break;
	}
	at->is_stuck = state.counters->empty_waits != empty_waits;
	engine_advance(at->engine, now);
}

static void play_traffic(struct simulator *sim, double now)
{
	struct traffic_request t;

	while (sim->traffic && traffic_next(sim->traffic) <= now) {
		struct replica *r = &sim->replicas[sim->self_requests++ % sim->replica_count];

		traffic_take(sim->traffic, &t);
		answer_self(r, &t);
	}
}

static double next_event(const struct simulator *sim)
{
	double next = sim->traffic ? traffic_next(sim->traffic) : INFINITY;

	for (uint32_t r = 0; r < sim->replica_count; r++)
		for (uint32_t i = 0; i < sim->replicas[r].engine_count; i++) {
			const struct engine *e = sim->replicas[r].engines[i].engine;
			/* One that is stuck is looked at again when the housekeeping comes round. */
			double at = e && !sim->replicas[r].engines[i].is_stuck ? engine_next(e) : INFINITY;

			next = at < next ? at : next;
		}
	return next;
}

static void arm(struct simulator *sim)
{
	double next = next_event(sim);
	struct itimerspec when = { 0 };
	int64_t ns;

	if (isfinite(next)) {
		ns = sim->origin_ns + (int64_t)(next * 1e9);
		when.it_value = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	}
	timerfd_settime(sim->clock_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void sim_advance(struct simulator *sim)
{
	double now;

	if (sim->advancing || sim->closing)
		return;
	sim->advancing = true;
	now = sim_now(sim);
	play_traffic(sim, now);
	for (uint32_t r = 0; r < sim->replica_count; r++)
		for (uint32_t i = 0; i < sim->replicas[r].engine_count; i++)
			if (sim->replicas[r].engines[i].engine)
				play_engine(&sim->replicas[r].engines[i], now);
	answers_hand_out(sim);
	sim->advancing = false;
	for (uint32_t r = 0; r < sim->replica_count; r++)
		answers_free_over(&sim->replicas[r]);
	arm(sim);
}

static void on_clock(uv_poll_t *poll, int status, int events)
{
	struct simulator *sim = poll->data;
	uint64_t fired;

	if (read(sim->clock_fd, &fired, sizeof fired) < 0 && errno != EAGAIN)
		log_error("the timer cannot be read: %s", strerror(errno));
	sim_advance(sim);
}

bool sim_clock_init(struct simulator *sim, struct error *e)
{
	sim->origin_ns = clock_monotonic_ns();
	lateness_init(&sim->lateness);
	lateness_init(&sim->lateness_recent);
	sim->clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (sim->clock_fd < 0)
		return error_set(e, EXIT_INTERNAL, "no timer: %s", strerror(errno));
	uv_poll_init(&sim->loop, &sim->clock, sim->clock_fd);
	sim->clock.data = sim;
	uv_poll_start(&sim->clock, UV_READABLE, on_clock);
	return true;
}

void sim_clock_close(struct simulator *sim)
{
	uv_poll_stop(&sim->clock);
	uv_close((uv_handle_t *)&sim->clock, NULL);
	close(sim->clock_fd);
}
