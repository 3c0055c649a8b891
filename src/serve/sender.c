#include "base/clock.h"
#include "base/log.h"
#include "expo/remote_write.h"
#include "expo/snappy.h"
#include "net/http.h"
#include "serve/sender_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { PENDING_MAX = 64 << 20, LOOK_MS = 500, STEP_MS = 50 };

struct sender {
	const struct remote_write_config *config;
	const struct label *external;
	size_t external_count;
	struct queue *queue;
	/* the writer's */
	struct buf pending; /* a WriteRequest being built */
	uint32_t pending_samples;
	int64_t pending_oldest_ms;
	/* the thread's */
	pthread_t thread;
	bool runs;
	volatile bool stop;
	struct http_client *client;
	pthread_mutex_t lock; /* of the stats */
	struct sender_stats stats;
};

bool sender_labels(struct sender *s, const struct labels *labels, struct buf *out)
{
	struct arena scratch;
	struct label_set set;
	arena_init(&scratch);
	label_set_init(&set, &scratch);
	label_set_start(&set, labels->items, labels->count);
	for (size_t i = 0; i < s->external_count; i++)
		if (!label_set_get(&set, s->external[i].name).len)
			label_set_set(&set, s->external[i].name, s->external[i].value);
	label_set_settle(&set);
	bool keep = relabel_apply(&s->config->relabel, &set) && set.items.count;
	if (keep) {
		struct labels *sent = labels_new(set.items.items, set.items.count);
		remote_write_labels(out, sent);
		labels_unref(sent);
	}
	label_set_fini(&set);
	arena_fini(&scratch);
	return keep;
}

static void pending_lost(struct sender *s)
{
	pthread_mutex_lock(&s->lock);
	s->stats.samples_failed += s->pending_samples;
	pthread_mutex_unlock(&s->lock);
	log_warning("remote write to " STR_FMT ": %u samples are lost: the queue's disk takes nothing", STR_ARG(s->config->url),
		s->pending_samples);
}

bool sender_commit(struct sender *s, struct error *e)
{
	struct buf body;
	if (!s->pending_samples)
		return true;
	buf_init(&body, SIZE_MAX);
	snappy_encode(buf_str(&s->pending), &body);
	bool ok = queue_append(s->queue, buf_str(&body), s->pending_samples, s->pending_oldest_ms, e);
	buf_fini(&body);
	if (!ok && s->pending.len < PENDING_MAX / 2)
		return false;
	if (!ok)
		pending_lost(s);
	buf_reset(&s->pending);
	s->pending_samples = 0;
	return ok;
}

void sender_add(struct sender *s, struct str labels, int64_t t_ms, double value)
{
	if (!s->pending_samples || t_ms < s->pending_oldest_ms)
		s->pending_oldest_ms = t_ms;
	remote_write_encoded(&s->pending, labels, &(struct remote_sample){ value, t_ms }, 1);
	s->pending_samples++;
	/* While the disk takes nothing, it is asked once for as many again. */
	if (s->pending_samples % s->config->max_samples_per_send == 0)
		sender_commit(s, NULL);
}

/* Every text of a header list, with those of the configuration. */
static const char *const *headers_of(const struct sender *s, struct arena *arena)
{
	static const char *const own[] = { "Content-Encoding: snappy", "Content-Type: application/x-protobuf",
		"X-Prometheus-Remote-Write-Version: 0.1.0", "User-Agent: goodput/" GOODPUT_VERSION };
	const char **all = ARENA_ARRAY(arena, const char *, ARRAY_LEN(own) + s->config->header_count + 1);
	memcpy(all, own, sizeof own);
	for (size_t i = 0; i < s->config->header_count; i++) {
		const struct label *h = &s->config->headers[i];
		all[ARRAY_LEN(own) + i] = arena_printf(arena, STR_FMT ": " STR_FMT, STR_ARG(h->name), STR_ARG(h->value)).ptr;
	}
	return all;
}

static bool stopped(const struct sender *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_RELAXED);
}

enum verdict { TAKEN, AGAIN, GIVEN_UP };

static enum verdict verdict_of(const struct http_answer *a)
{
	if (a->failure != HTTP_OK || a->status >= 500 || a->status < 200)
		return AGAIN;
	if (a->status < 300)
		return TAKEN;
	switch (a->status) {
	case 401:
	case 403:
	case 404:
	case 407:
	case 408:
	case 429: return AGAIN;
	default: return GIVEN_UP;
	}
}

static enum verdict batch_post(struct sender *s, struct arena *arena, const struct queue_batch *batch, char *why, size_t why_size)
{
	struct http_answer answer;
	struct error e = { 0 };
	struct http_request request = {
		.url = s->config->url.ptr, .body = batch->body, .timeout_ms = s->config->timeout_ms, .max_bytes = 1 << 20
	};
	if (!access_request(&s->config->access, headers_of(s, arena), arena, &request, &e)) {
		snprintf(why, why_size, "%s", e.message);
		return AGAIN;
	}
	http_fetch_all(s->client, arena, &request, &answer, 1, 1, &s->stop);
	enum verdict verdict = verdict_of(&answer);
	if (answer.failure != HTTP_OK)
		snprintf(why, why_size, "%s", answer.detail);
	else
		snprintf(why, why_size, "HTTP %d: " STR_FMT, answer.status, STR_ARG(str_head(str_trim(answer.body), 200)));
	return verdict;
}

static void stats_add(struct sender *s, enum verdict verdict, const struct queue_batch *batch, const char *why)
{
	pthread_mutex_lock(&s->lock);
	bool news = strcmp(s->stats.error, verdict == TAKEN ? "" : why) != 0;
	s->stats.requests++;
	s->stats.retries += verdict == AGAIN;
	s->stats.samples_sent += verdict == TAKEN ? batch->samples : 0;
	s->stats.samples_failed += verdict == GIVEN_UP ? batch->samples : 0;
	if (verdict == TAKEN && batch->t_ms > s->stats.newest_sent_ms)
		s->stats.newest_sent_ms = batch->t_ms;
	snprintf(s->stats.error, sizeof s->stats.error, "%s", verdict == TAKEN ? "" : why);
	pthread_mutex_unlock(&s->lock);
	if (stopped(s) || !news)
		return;
	if (verdict == TAKEN)
		log_note("remote write to " STR_FMT ": goes on", STR_ARG(s->config->url));
	else
		log_warning("remote write to " STR_FMT ": %s%s", STR_ARG(s->config->url), why,
			verdict == AGAIN ? " (will be tried again)" : " (these samples are given up)");
}

static void pause_for(const struct sender *s, int64_t ms)
{
	for (int64_t until = clock_monotonic_ns() + ms * 1000000; !stopped(s) && clock_monotonic_ns() < until;) {
		int64_t left = (until - clock_monotonic_ns()) / 1000000 + 1, step = left < STEP_MS ? left : STEP_MS;
		nanosleep(&(struct timespec){ 0, step * 1000000 }, NULL);
	}
}

/* False: stopped before it was over, so that it is sent again. */
static bool batch_send(struct sender *s, struct arena *arena, const struct queue_batch *batch)
{
	int64_t backoff_ms = s->config->min_backoff_ms > 0 ? s->config->min_backoff_ms : 30, age_ms = s->config->sample_age_limit_ms;
	for (;;) {
		char why[400];
		if (age_ms > 0 && clock_now_ms() - batch->t_ms > age_ms) {
			stats_add(s, GIVEN_UP, batch, "samples older than sample_age_limit");
			return true;
		}
		enum verdict verdict = batch_post(s, arena, batch, why, sizeof why);
		if (stopped(s) && verdict != TAKEN)
			return false;
		stats_add(s, verdict, batch, why);
		if (verdict != AGAIN)
			return true;
		pause_for(s, backoff_ms);
		if (stopped(s))
			return false;
		backoff_ms = backoff_ms * 2 < s->config->max_backoff_ms ? backoff_ms * 2 : s->config->max_backoff_ms;
	}
}

static void *sender_main(void *user)
{
	struct sender *s = user;
	struct arena arena;
	arena_init(&arena);
	while (!stopped(s)) {
		struct queue_batch batch;
		if (queue_next(s->queue, &arena, &batch, LOOK_MS) && batch_send(s, &arena, &batch))
			queue_done(s->queue, &batch);
		arena_reset(&arena);
	}
	arena_fini(&arena);
	return NULL;
}

struct sender *sender_open(const struct remote_write_config *config, const struct label *external, size_t external_count,
	const char *folder, const struct queue_options *options, struct error *e)
{
	struct queue *queue = queue_open(folder, options, e);
	if (!queue)
		return NULL;
	struct sender *s = NEW(struct sender);
	*s = (struct sender){ .config = config, .external = external, .external_count = external_count, .queue = queue };
	buf_init(&s->pending, PENDING_MAX);
	pthread_mutex_init(&s->lock, NULL);
	s->client = http_client_new();
	s->runs = pthread_create(&s->thread, NULL, sender_main, s) == 0;
	if (s->runs)
		return s;
	error_set(e, EXIT_INTERNAL, "no thread can be started for remote write");
	sender_close(s);
	return NULL;
}

void sender_close(struct sender *s)
{
	struct error e = { 0 };
	if (!s)
		return;
	if (!sender_commit(s, &e))
		log_warning("%s", e.message);
	__atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
	queue_wake(s->queue);
	if (s->runs)
		pthread_join(s->thread, NULL);
	http_client_free(s->client);
	queue_close(s->queue);
	buf_fini(&s->pending);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

void sender_stats(struct sender *s, struct sender_stats *stats)
{
	pthread_mutex_lock(&s->lock);
	*stats = s->stats;
	pthread_mutex_unlock(&s->lock);
	queue_stats(s->queue, &stats->queue);
}

const struct remote_write_config *sender_config(const struct sender *s)
{
	return s->config;
}
