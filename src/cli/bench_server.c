/* goodput bench: the server's own figures meanwhile. A thread saves scrapes of /metrics as a recording; at the end that is read as check
 * reads one, over the time between the first and the last scrape. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "net/http.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRAPE_EVERY_MS = 5000, TARGETS_MAX = 64 };

struct server_watch {
	struct arena arena;
	struct scrape_options scrape;
	struct str urls[TARGETS_MAX], names[TARGETS_MAX];
	size_t count;
	char *folder;
	bool folder_is_ours, failed;
	struct recorder *recorder;
	uv_thread_t thread;
	uv_mutex_t mutex;
	uv_cond_t wake;
	bool stopping;
	size_t rounds, pages;
	char trouble[400];
	struct watch watch;
	bool has_watch;
};

/* ---- scraping ---- */

static void scrape_round(struct server_watch *s)
{
	struct http_client *client = http_client_new();
	struct http_request requests[TARGETS_MAX] = { 0 };
	struct http_answer answers[TARGETS_MAX] = { 0 };
	struct arena arena;
	struct error e = { 0 };
	struct str when;

	arena_init(&arena);
	for (size_t i = 0; i < s->count; i++)
		scrape_request(&arena, s->urls[i], &s->scrape, &requests[i]);
	http_fetch_all(client, &arena, requests, answers, s->count, 0, NULL);
	when = arena_printf(&arena, "t%zu", s->rounds++);
	for (size_t i = 0; i < s->count; i++) {
		if (answers[i].failure == HTTP_OK && answers[i].status == 200)
			s->pages++;
		else if (answers[i].failure == HTTP_OK)
			snprintf(s->trouble, sizeof s->trouble, "%s answers %d", requests[i].url, answers[i].status);
		else
			snprintf(s->trouble, sizeof s->trouble, "%s", answers[i].detail);
		if (!s->failed && !recorder_add(s->recorder, when, s->names[i], &answers[i], &e)) {
			s->failed = true;
			snprintf(s->trouble, sizeof s->trouble, "%s", e.message);
		}
	}
	http_client_free(client);
	arena_fini(&arena);
}

static void watch_run(void *watch)
{
	struct server_watch *s = watch;

	uv_mutex_lock(&s->mutex);
	while (!s->stopping) {
		uv_cond_timedwait(&s->wake, &s->mutex, SCRAPE_EVERY_MS * 1000000ULL);
		uv_mutex_unlock(&s->mutex);
		scrape_round(s);
		uv_mutex_lock(&s->mutex);
	}
	uv_mutex_unlock(&s->mutex);
}

/* ---- start ---- */

static bool targets_add(struct server_watch *s, const struct bench *b, struct error *e)
{
	const struct option_strings *given = &b->a->metrics;
	struct str own =
		arena_printf(&s->arena, "%s://%s/metrics", endpoint_is_tls(b->endpoint) ? "https" : "http", endpoint_place(b->endpoint));

	if (given->count > TARGETS_MAX)
		return error_set(e, EXIT_USAGE, "at most %d --metrics-url", TARGETS_MAX);
	for (size_t i = 0; i < given->count || !s->count; i++) {
		if (!scrape_url(&s->arena, given->count ? str_from(given->items[i]) : own, &s->urls[s->count], &s->names[s->count], e))
			return false;
		s->count++;
	}
	return true;
}

static bool folder_open(struct server_watch *s, const char *wanted, struct error *e)
{
	const char *base = getenv("TMPDIR");

	if (wanted)
		s->folder = arena_cstr(&s->arena, str_from(wanted));
	else {
		s->folder = (char *)arena_printf(&s->arena, "%s/goodput-bench-XXXXXX", base && *base ? base : "/tmp").ptr;
		if (!mkdtemp(s->folder))
			return error_set(e, EXIT_INTERNAL, "no temporary folder: %s", s->folder);
		s->folder_is_ours = true;
	}
	s->recorder = recorder_new(s->folder, &(struct recorder_options){ .redact = false }, e);
	return s->recorder;
}

struct server_watch *server_watch_start(const struct bench *b, struct error *e)
{
	struct server_watch *s = NEW(struct server_watch);

	arena_init(&s->arena);
	uv_mutex_init(&s->mutex);
	uv_cond_init(&s->wake);
	s->scrape = (struct scrape_options){ .bearer_token = b->token, .ca_file = b->a->ca_file, .insecure = b->a->insecure };
	if (!targets_add(s, b, e) || !folder_open(s, b->a->record, e)) {
		server_watch_free(s);
		return NULL;
	}
	scrape_round(s);
	uv_thread_create(&s->thread, watch_run, s);
	return s;
}

/* ---- end ---- */

static void watch_read(struct server_watch *s)
{
	const char *targets[] = { s->folder };
	const struct watch_options o = { .targets = targets, .target_count = 1, .now_ms = clock_now_ms() };
	struct error e = { 0 };

	if (!watch_open(&s->watch, &o, &e)) {
		snprintf(s->trouble, sizeof s->trouble, "%s", e.message);
		return;
	}
	s->has_watch = watch_gather(&s->watch, &e) && watch_report(&s->watch, &e);
	if (s->has_watch)
		return;
	snprintf(s->trouble, sizeof s->trouble, "%s", e.message);
	watch_close(&s->watch);
}

void server_watch_stop(struct server_watch *s)
{
	struct error e = { 0 };
	struct recorder *recorder = s->recorder;

	uv_mutex_lock(&s->mutex);
	s->stopping = true;
	uv_cond_signal(&s->wake);
	uv_mutex_unlock(&s->mutex);
	uv_thread_join(&s->thread);
	s->recorder = NULL;
	if (!recorder_close(recorder, &e) && !s->failed)
		snprintf(s->trouble, sizeof s->trouble, "%s", e.message);
	else if (s->pages > s->count && !s->failed) { /* two rounds at least */
		s->trouble[0] = '\0';
		watch_read(s);
	}
}

static void folder_remove(struct server_watch *s)
{
	struct error e = { 0 };
	size_t count = 0;
	struct str *names = folder_list(&s->arena, s->folder, &count, &e);

	for (size_t i = 0; names && i < count; i++)
		unlink(path_join(&s->arena, s->folder, names[i]));
	rmdir(s->folder);
}

void server_watch_free(struct server_watch *s)
{
	if (!s)
		return;
	if (s->recorder)
		recorder_close(s->recorder, NULL);
	if (s->has_watch)
		watch_close(&s->watch);
	if (s->folder_is_ours)
		folder_remove(s);
	uv_cond_destroy(&s->wake);
	uv_mutex_destroy(&s->mutex);
	arena_fini(&s->arena);
	mem_free(s);
}

/* ---- what it says ---- */

static const struct reading *reading_of(const struct server_watch *s, const char *signal)
{
	const struct scope *fleet = s && s->has_watch ? report_scope(s->watch.report, STR("fleet")) : NULL;

	return fleet ? report_reading(s->watch.report, fleet, signal) : NULL;
}

double server_watch_value(const struct server_watch *s, const char *signal)
{
	const struct reading *r = reading_of(s, signal);

	return r && r->kind == READING_VALUE ? r->low : NAN;
}

bool server_watch_phrase(const struct server_watch *s, const char *signal, struct buf *out)
{
	const struct reading *r = reading_of(s, signal);
	const struct signal_spec *spec = r ? catalog_signal(s->watch.report->catalog, signal) : NULL;

	if (!r || !spec)
		return false;
	reading_print(r, spec->unit, out);
	return reading_known(r);
}

size_t server_watch_targets(const struct server_watch *s)
{
	return s->count;
}

const char *server_watch_trouble(const struct server_watch *s)
{
	if (s->has_watch)
		return NULL;
	return s->trouble[0] ? s->trouble : "the server was scraped once only";
}
