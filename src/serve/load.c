#include "serve/load.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>

static const int64_t minute_ns = 60000000000;
static const char *const names[] = { [LOAD_SIGNALS] = "signals", [LOAD_RULES] = "rules", [LOAD_API] = "api" };

struct load {
	pthread_mutex_t lock;
	size_t per_minute;
	int64_t *times; /* of the newest per_minute requests, a ring; 0: none yet */
	size_t next;
	uint64_t requests[LOAD_PURPOSES], refused[LOAD_PURPOSES];
};

struct load *load_new(size_t per_minute)
{
	struct load *l = NEW(struct load);

	l->per_minute = per_minute;
	l->times = mem_zalloc(per_minute, sizeof *l->times);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void load_free(struct load *l)
{
	if (!l)
		return;
	pthread_mutex_destroy(&l->lock);
	mem_free(l->times);
	mem_free(l);
}

/* How many of the requests of a minute a purpose may find there. */
static size_t most_of(const struct load *l, enum load_purpose purpose)
{
	static const size_t left_to_others[] = { [LOAD_RULES] = 8, [LOAD_API] = 4 }; /* one in so many */
	size_t most = purpose == LOAD_SIGNALS ? l->per_minute : l->per_minute - l->per_minute / left_to_others[purpose];

	return most ? most : 1;
}

/* When the newest but `most` - 1 was made: as long as that is less than a minute ago, there have been that many. */
static int64_t time_of(const struct load *l, size_t most)
{
	return l->times[(l->next + l->per_minute - most) % l->per_minute];
}

static void note(struct load *l, enum load_purpose purpose, int64_t now_ns)
{
	l->times[l->next] = now_ns;
	l->next = (l->next + 1) % l->per_minute;
	l->requests[purpose]++;
}

bool load_take(struct load *l, enum load_purpose purpose, struct error *e)
{
	size_t most = most_of(l, purpose);
	int64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&l->lock);
	int64_t then_ns = time_of(l, most), wait_ns = then_ns ? then_ns + minute_ns - now_ns : 0;
	bool free = wait_ns <= 0;

	if (free)
		note(l, purpose, now_ns);
	else
		l->refused[purpose]++;
	pthread_mutex_unlock(&l->lock);
	if (free)
		return true;
	error_set(e, EXIT_UNREACHABLE, "the Prometheus has been asked %zu times in a minute%s; ask again in %lld s", most,
		purpose == LOAD_SIGNALS ? "" : ", the rest is for the signals", (long long)(wait_ns / 1000000000 + 1));
	error_hint(e, "--backend-requests allows more");
	return false;
}

void load_add(struct load *l, enum load_purpose purpose, size_t requests)
{
	int64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < requests; i++)
		note(l, purpose, now_ns);
	pthread_mutex_unlock(&l->lock);
}

uint64_t load_requests(struct load *l)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < LOAD_PURPOSES; i++)
		sum += l->requests[i];
	pthread_mutex_unlock(&l->lock);
	return sum;
}

static void print_each(struct buf *out, const char *name, const char *help, const uint64_t *values)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
	for (size_t i = 0; i < LOAD_PURPOSES; i++)
		buf_printf(out, "%s{purpose=\"%s\"} %llu\n", name, names[i], (unsigned long long)values[i]);
}

void load_print(struct load *l, struct buf *out)
{
	pthread_mutex_lock(&l->lock);
	print_each(out, "goodput_backend_requests_total", "Requests to the Prometheus that is watched through.", l->requests);
	print_each(out, "goodput_backend_refused_total", "Requests that were not made, since there had been enough.", l->refused);
	buf_printf(out,
		"# HELP goodput_backend_requests_per_minute_limit Requests that are made in any 60 seconds, at most.\n"
		"# TYPE goodput_backend_requests_per_minute_limit gauge\ngoodput_backend_requests_per_minute_limit %zu\n",
		l->per_minute);
	pthread_mutex_unlock(&l->lock);
}
