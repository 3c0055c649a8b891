/* goodput demo: a small simulated fleet under load, watched by a serve, and a story that repeats: what goes wrong, is found, and gets well.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/demo_children.h"
#include "signals/phrase.h"
#include "watch/follow.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	REPLICAS = 4,
	ROUND_S = 300, /* one telling of the story */
	ROUNDS = 12,   /* then the traffic ends */
	READY_MS = 20000,
	LOOK_MS = 2000,
	TRACE_BLOCK = 512, /* tokens of a Mooncake block */
	SYSTEM_PROMPTS = 4
};
/* KV blocks of a replica: few enough that long prompts fill them. */
#define BLOCKS "3500"

struct demo_arguments {
	struct global_arguments global;
	int64_t port, length_ms;
};

#define AT(field) offsetof(struct demo_arguments, field)
static const struct option_spec demo_options[] = {
	{ "port", 'p', OPTION_INTEGER, AT(port), .argument = "PORT", .preset = "9470", .least = 0,
		.help = "Of the serve's page and API; 0 takes any free one." },
	{ "for", 0, OPTION_DURATION, AT(length_ms), .argument = "DURATION", .preset = "0", .least = 0,
		.help = "End by itself after this time; 0 does not." },
	{ 0 },
};
#undef AT
static const struct option_table demo_tables[] = { { "The demo", demo_options, 0 },
	{ "Common options", plain_options, offsetof(struct demo_arguments, global) }, { 0 } };

/* ---- the story ---- */

static const struct phase {
	int start_s;
	const char *what;
	double rate;           /* of requests to the whole fleet, 1/s */
	double prompt, answer; /* mean tokens */
} phases[] = {
	{ 0, "healthy: short prompts, four equal replicas", 16, 900, 160 },
	{ 60, "long prompts arrive: the KV caches fill, running requests are preempted", 6, 6000, 700 },
	{ 130, "they are gone again", 16, 900, 160 },
	{ 180, "one replica of the four becomes slow", 16, 900, 160 },
	{ 255, "it is well again", 16, 900, 160 },
};
/* The slow replica, in each telling. */
#define SLOW_START_S 180
#define SLOW_S 75

static const struct phase *phase_at(double t_s)
{
	const struct phase *now = phases;

	for (size_t i = 1; i < ARRAY_LEN(phases); i++)
		if (fmod(t_s, ROUND_S) >= phases[i].start_s)
			now = &phases[i];
	return now;
}

/* One request as a Mooncake trace has it: a block of 512 tokens that one of a few system prompts has, the rest its own. */
static void request_write(struct buf *out, struct rng *rng, double t_s, const struct phase *p, uint64_t *next_block)
{
	double spread = 0.5 + rng_unit(rng);
	int tokens = (int)(p->prompt * spread), blocks = (tokens + TRACE_BLOCK - 1) / TRACE_BLOCK;

	buf_printf(out, "{\"timestamp\":%.0f,\"input_length\":%d,\"output_length\":%d,\"hash_ids\":[%d", t_s * 1000, tokens,
		(int)(p->answer * (0.5 + rng_unit(rng))), (int)rng_below(rng, SYSTEM_PROMPTS));
	for (int i = 1; i < blocks; i++)
		buf_printf(out, ",%llu", (unsigned long long)(*next_block)++);
	buf_add_cstr(out, "]}\n");
}

/* The requests of all rounds, in memory; the file descriptor stays open over exec. */
static int traffic_write(struct error *e)
{
	int fd = memfd_create("goodput-demo-traffic", 0);
	struct rng rng = { 1 };
	uint64_t next_block = SYSTEM_PROMPTS;
	struct buf text;

	buf_init(&text, (size_t)64 << 20);
	for (double t_s = 0; t_s < (double)ROUND_S * ROUNDS;) {
		const struct phase *p = phase_at(t_s);

		request_write(&text, &rng, t_s, p, &next_block);
		t_s += -log(1 - rng_unit(&rng)) / p->rate;
	}
	bool ok = fd >= 0 && !text.overflowed && write(fd, text.ptr, text.len) == (ssize_t)text.len;

	buf_fini(&text);
	if (ok)
		return fd;
	if (fd >= 0)
		close(fd);
	error_set(e, EXIT_INTERNAL, "the demo's traffic cannot be written to memory");
	return -1;
}

/* ---- who takes part ---- */

static bool fleet_start(struct demo_children *c, int fd, int64_t *base, struct error *e)
{
	char trace[64], port[16], replicas[8], faults[ROUNDS][64];
	const char *argv[16 + 2 * ROUNDS] = { "sim", "--replicas", replicas, "--num-gpu-blocks-override", BLOCKS, "--port", port,
		"--self-traffic", trace };
	size_t count = 9;

	*base = free_ports(8000, REPLICAS);
	if (!*base)
		return error_set(e, EXIT_INTERNAL, "no four free ports in a row from 8000 on");
	snprintf(trace, sizeof trace, "trace=/proc/self/fd/%d", fd);
	snprintf(port, sizeof port, "%lld", (long long)*base);
	snprintf(replicas, sizeof replicas, "%d", REPLICAS);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(faults[i], sizeof faults[i], "slow:factor=5,replica=2@%ds+%ds", i * ROUND_S + SLOW_START_S, SLOW_S);
		argv[count++] = "--fault";
		argv[count++] = faults[i];
	}
	return child_start(c, argv, e);
}

static bool watcher_start(struct demo_children *c, int64_t base, int64_t port, struct error *e)
{
	char targets[REPLICAS][32], listen[16];
	const char *argv[16] = { "serve", "--port", listen, "--scrape-interval", "2s", "--evaluation-interval", "2s", "--window", "30s" };
	size_t count = 9;

	snprintf(listen, sizeof listen, "%lld", (long long)port);
	for (int i = 0; i < REPLICAS; i++) {
		snprintf(targets[i], sizeof targets[i], "127.0.0.1:%lld", (long long)base + i);
		argv[count++] = targets[i];
	}
	return child_start(c, argv, e);
}

/* ---- telling ---- */

struct teller {
	struct follow *follow;
	const struct phase *told;
	char last[1024]; /* the verdict told last */
	int64_t start_ns;
};

static void tell(const struct teller *t, const char *label, const char *text)
{
	int seconds = (int)((clock_monotonic_ns() - t->start_ns) / 1000000000);

	printf("%02d:%02d  %-9s%s\n", seconds / 60, seconds % 60, label, text);
	fflush(stdout);
}

static void tell_verdict(struct teller *t)
{
	struct error e = { 0 };
	char text[1024];
	size_t count;

	if (!follow_look(t->follow, &e))
		return; /* serve has nothing yet */
	follow_moments(t->follow, &count);
	const struct report *r = count ? follow_judge(t->follow, count - 1, true, &e) : NULL;

	if (!r)
		return;
	struct str sentence = verdict_sentence(r);

	snprintf(text, sizeof text, "%s: " STR_FMT, verdict_severity(r), STR_ARG(sentence));
	/* Figures in the sentence move; what is told is another verdict. */
	size_t same = strcspn(text, ":(");

	if (strncmp(text, t->last, same + 1) == 0 && strlen(t->last) > same)
		return;
	snprintf(t->last, sizeof t->last, "%s", text);
	tell(t, "goodput", text);
}

static bool story(struct teller *t, struct demo_children *c, int64_t length_ms, struct error *e)
{
	int64_t look_ns = t->start_ns + 4000000000;

	while (!command_stop) {
		int64_t now_ns = clock_monotonic_ns();
		const struct phase *now = phase_at((double)(now_ns - t->start_ns) / 1e9);

		if (length_ms && now_ns - t->start_ns > length_ms * 1000000)
			return true;
		if (command_reader_gone()) /* goodput demo | head: nobody is told any more */
			return true;
		if (!children_alive(c, e))
			return command_stop; /* Ctrl-C reaches them too */
		if (now != t->told)
			tell(t, "story", now->what);
		t->told = now;
		if (now_ns >= look_ns) {
			tell_verdict(t);
			look_ns = now_ns + (int64_t)LOOK_MS * 1000000;
		}
		nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
	}
	return true;
}

static bool run(struct demo_children *c, const struct demo_arguments *a, int64_t *port, struct error *e)
{
	int64_t base;
	int fd = traffic_write(e);
	char url[64];
	struct watch_options options = { .remote = { .url = url, .budget_ms = 30000 }, .now_ms = clock_now_ms(), .stop = &command_stop };
	struct teller t = { 0 };

	if (fd < 0)
		return false;
	*port = a->port ? a->port : free_ports(9470, 1);
	bool ok = fleet_start(c, fd, &base, e) && watcher_start(c, base, *port, e) && child_answers(c, *port, READY_MS, &command_stop, e);

	close(fd);
	if (!ok)
		return false;
	snprintf(url, sizeof url, "http://127.0.0.1:%lld", (long long)*port);
	printf("\n  Open          %s\n  or run        goodput top %s\n  or            goodput check %s\n  Ctrl-C ends everything.\n\n", url,
		url, url);
	t.follow = follow_new(&options, 30000, e);
	if (!t.follow)
		return false;
	t.start_ns = clock_monotonic_ns();
	log_set_level(LOG_ERROR);
	ok = story(&t, c, a->length_ms, e);
	follow_free(t.follow);
	return ok;
}

static int demo_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct demo_arguments *a = arguments;
	struct demo_children c = { 0 };
	struct error e = { 0 };
	int64_t port;

	if (operands->count)
		return command_usage(self, "it takes no operands");
	bool ok = run(&c, a, &port, &e);

	children_end(&c);
	return ok ? EXIT_FINE : command_failed(&e);
}

const struct command command_demo = {
	.name = "demo",
	.summary = "a simulated fleet under load, watched, with a story of troubles",
	.synopsis = (const char *const[]){ "[OPTIONS]", NULL },
	.description = "Starts four simulated vLLM servers with traffic of their own and a goodput serve that watches them, and tells what "
		       "happens: "
		       "a healthy minute, long prompts that fill the KV caches until requests are preempted, a slow replica, recovery; "
		       "five minutes, "
		       "then again. Whenever the diagnosis changes it is printed.\n\n"
		       "No GPU, no network, no root. Ctrl-C ends all of it.",
	.examples = (const struct example[]){ { "goodput demo", "Page and API on http://127.0.0.1:9470." },
		{ "goodput demo --for 5m", "The story once." }, { NULL, NULL } },
	.tables = demo_tables,
	.arguments_size = sizeof(struct demo_arguments),
	.run = demo_run,
};
