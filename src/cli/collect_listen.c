/* goodput collect --listen: the directory as an exporter. One merge at a time, outside of the serving processes. */
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "cli/collect.h"
#include "cli/commands.h"
#include "collect/lifecycle.h"
#include "net/server.h"
#include "web/gzip.h"

#include <stdio.h>

enum {
	PAGE_MAX = 1 << 30,
	HOUSEKEEPING_MS = 200,
	FOLD_MS = 1000 /* at most so often */
};

struct exporter {
	const struct collect_arguments *arguments;
	struct collector *collector;
	struct collect_log log;
	struct server *server;
	uv_loop_t loop;
	uv_timer_t housekeeping;
	struct buf page, packed;
	int64_t folded_ms;
	uint64_t folds, folded_files, folds_failed;
};

/* ---- folding ---- */

static void fold_failed(struct exporter *e, const struct error *error)
{
	if (!e->folds_failed++)
		log_warning("%s", error->message);
}

/* Looks at the directory also when nobody scrapes, so that files do not pile up. */
static void fold_dead(struct exporter *e)
{
	int64_t now_ms = clock_monotonic_ns() / 1000000;
	struct collect_fold folded;
	struct error error = { 0 };

	if (!e->arguments->fold || now_ms - e->folded_ms < FOLD_MS)
		return;
	e->folded_ms = now_ms;
	const struct collect_report *r = collector_scrape(e->collector);

	collect_log_report(&e->log, r);
	if (!r->writers[COLLECT_DEAD])
		return;
	do {
		if (!collector_fold(e->collector, false, &folded, &error)) {
			fold_failed(e, &error);
			return;
		}
		e->folds += folded.files > 0;
		e->folded_files += folded.files;
		e->folds_failed = 0;
		if (folded.files) {
			log_note("folded %zu file%s of dead writers", folded.files, folded.files == 1 ? "" : "s");
			collect_log_report(&e->log, collector_scrape(e->collector));
		}
	} while (folded.files && !command_stop);
}

static void own_counters(const struct exporter *e, enum collect_format format, struct buf *out)
{
	const char *suffix = format == COLLECT_TEXT ? "_total" : "";

	buf_printf(out,
		"# HELP goodput_collect_folds%s Folds of files of dead writers.\n# TYPE goodput_collect_folds%s counter\n"
		"goodput_collect_folds_total %llu\n",
		suffix, suffix, (unsigned long long)e->folds);
	buf_printf(out,
		"# HELP goodput_collect_folded_files%s Files that they removed.\n# TYPE goodput_collect_folded_files%s counter\n"
		"goodput_collect_folded_files_total %llu\n",
		suffix, suffix, (unsigned long long)e->folded_files);
	buf_printf(out,
		"# HELP goodput_collect_fold_failing Folds in a row that failed.\n# TYPE goodput_collect_fold_failing gauge\n"
		"goodput_collect_fold_failing %llu\n",
		(unsigned long long)e->folds_failed);
}

/* ---- requests ---- */

/* The first of the Accept header's types that we have and that is not refused; text when there is none. */
static enum collect_format format_of(struct str accept)
{
	struct str part;

	while (accept.len && str_split(&accept, ',', &part)) {
		ptrdiff_t semicolon = str_find(part, ';');
		struct str type = str_trim(semicolon < 0 ? part : str_head(part, (size_t)semicolon));
		struct str rest = semicolon < 0 ? STR_EMPTY : str_skip(part, (size_t)semicolon);

		if (str_eq_nocase(type, STR("application/openmetrics-text")) && str_search(rest, STR("q=0,")) < 0 &&
			!str_ends(str_trim(rest), STR("q=0")))
			return COLLECT_OPENMETRICS;
	}
	return COLLECT_TEXT;
}

static const char *content_type(enum collect_format f)
{
	return f == COLLECT_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
					: "text/plain; version=0.0.4; charset=utf-8";
}

static void answer_page(struct exporter *e, struct exchange *x, const struct message *m, int status, enum collect_format format)
{
	bool packed = gzip_is_accepted(message_header(m, "Accept-Encoding")) &&
		      (buf_reset(&e->packed), gzip_whole(buf_str(&e->page), &e->packed));

	if (e->page.overflowed)
		exchange_answer(x, 500, "text/plain; charset=utf-8", NULL, STR("the page is above 1 GiB\n"));
	else
		exchange_answer(x, status, content_type(format),
			packed ? "Content-Encoding: gzip\r\nVary: Accept, Accept-Encoding\r\n" : "Vary: Accept, Accept-Encoding\r\n",
			packed ? buf_str(&e->packed) : buf_str(&e->page));
}

/* A directory that gave nothing must not look like a server without traffic: 503, so that `up` is 0. While it waits for its first file it
 * is 200, with our own metrics. */
static int status_of(const struct collect_report *r)
{
	if (collect_read_nothing(r))
		return 503;
	return r->directory == COLLECT_READ || r->directory == COLLECT_WAITING ? 200 : 503;
}

static void answer_metrics(struct exporter *e, struct exchange *x, const struct message *m, bool own_only)
{
	enum collect_format format = format_of(message_header(m, "Accept"));
	const struct collect_report *r = collector_scrape(e->collector);

	collect_log_report(&e->log, r);
	buf_reset(&e->page);
	if (!own_only)
		collector_page(e->collector, format, &e->page);
	if (own_only || e->arguments->own_metrics || status_of(r) != 200) {
		collector_own_page(e->collector, &e->page);
		if (e->arguments->fold)
			own_counters(e, format, &e->page);
	}
	collect_page_end(format, &e->page);
	answer_page(e, x, m, own_only ? 200 : status_of(r), format);
}

static void answer_health(struct exporter *e, struct exchange *x)
{
	const struct collect_report *r = collector_scrape(e->collector);

	collect_log_report(&e->log, r);
	buf_reset(&e->page);
	buf_printf(&e->page, "%s\n", collect_directory_name(r->directory));
	for (size_t i = 0; i < r->fault_count; i++)
		buf_printf(&e->page, "%s: %s\n", r->faults[i].kind, r->faults[i].text);
	exchange_answer(x, status_of(r), "text/plain; charset=utf-8", NULL, buf_str(&e->page));
}

static void on_request(void *context, struct exchange *x, const struct message *m)
{
	struct exporter *e = context;

	if (!str_is(m->method, "GET"))
		exchange_answer(x, 405, "text/plain; charset=utf-8", "Allow: GET\r\n", STR("GET only\n"));
	else if (str_is(m->path, "/metrics"))
		answer_metrics(e, x, m, false);
	else if (str_is(m->path, "/metrics/collector"))
		answer_metrics(e, x, m, true);
	else if (str_is(m->path, "/-/healthy"))
		answer_health(e, x);
	else
		exchange_answer(x, 404, "text/plain; charset=utf-8", NULL,
			STR("/metrics            the merged metrics\n/metrics/collector  what is known of the directory, always "
			    "200\n/-/healthy          its faults in words\n"));
}

static void on_gone(void *context, struct exchange *x) {}

/* ---- start and end ---- */

static void on_housekeeping(uv_timer_t *timer)
{
	struct exporter *e = timer->data;

	if (!command_stop) {
		fold_dead(e);
		return;
	}
	uv_close((uv_handle_t *)timer, NULL);
	server_close(e->server);
}

/* "host:port", ":port", "port", "[::1]:port". */
static bool address_parse(struct arena *arena, struct str text, struct server_options *o, struct error *e)
{
	struct str host = STR_EMPTY, port = text;
	int64_t number;

	for (size_t i = text.len; i-- > 0;)
		if (text.ptr[i] == ':') {
			host = str_head(text, i);
			port = str_skip(text, i + 1);
			break;
		}
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = str_of(host.ptr + 1, host.len - 2);
	if (!port.len || !number_parse_i64(port, &number) || number < 0 || number > 65535) {
		error_set(e, EXIT_USAGE, "--listen " STR_FMT ": no address", STR_ARG(text));
		error_hint(e, "HOST:PORT, or :PORT for this machine only; 0.0.0.0:PORT for all");
		return false;
	}
	o->host = host.len ? arena_cstr(arena, host) : NULL;
	o->port = (int)number;
	return true;
}

static bool exporter_run(struct exporter *e, const char *path, struct error *error)
{
	const struct server_handler handler = { .on_request = on_request, .on_gone = on_gone, .context = e };
	struct server_options options = { 0 };
	struct arena arena;

	arena_init(&arena);
	bool ok = address_parse(&arena, str_from(e->arguments->listen), &options, error);

	if (ok) {
		uv_loop_init(&e->loop);
		e->server = server_new(&e->loop, &options, &handler, error);
		ok = e->server != NULL;
		if (ok) {
			uv_timer_init(&e->loop, &e->housekeeping);
			e->housekeeping.data = e;
			uv_timer_start(&e->housekeeping, on_housekeeping, HOUSEKEEPING_MS, HOUSEKEEPING_MS);
			log_note("%s on http://%s:%d/metrics", path, server_host(e->server), server_port(e->server));
		}
		uv_run(&e->loop, UV_RUN_DEFAULT);
		uv_loop_close(&e->loop);
	}
	arena_fini(&arena);
	return ok;
}

int collect_listen(const struct collect_arguments *a, const char *path)
{
	struct exporter e = { .arguments = a };
	struct error error = { 0 };

	buf_init(&e.page, PAGE_MAX);
	buf_init(&e.packed, PAGE_MAX);
	e.collector = collector_new(path, &a->collect);
	bool ok = exporter_run(&e, path, &error);

	collector_free(e.collector);
	collect_log_fini(&e.log);
	buf_fini(&e.page);
	buf_fini(&e.packed);
	return ok ? EXIT_FINE : command_failed(&error);
}
