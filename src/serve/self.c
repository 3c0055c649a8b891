#include "serve/self.h"

#include "base/clock.h"
#include "base/mem.h"
#include "serve/daemon.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct self_request {
	const char *handler;
	int status;
	uint64_t count, bytes;
	double seconds;
};

void self_init(struct self *s)
{
	map_init(&s->requests);
}

void self_fini(struct self *s)
{
	MAP_EACH (&s->requests, entry)
		mem_free(entry->value);
	map_fini(&s->requests);
}

void self_count_request(struct self *s, const char *handler, int status, double seconds, size_t bytes)
{
	char key[96];
	int len = snprintf(key, sizeof key, "%s %d", handler, status);
	struct map_entry *entry = map_put(&s->requests, str_of(key, (size_t)len), NULL);
	struct self_request *r = entry->value;

	if (!r) {
		entry->value = r = NEW(struct self_request);
		r->handler = handler;
		r->status = status;
	}
	r->count++;
	r->bytes += bytes;
	r->seconds += seconds;
}

static void family(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void plain(struct buf *out, const char *name, const char *type, const char *help, double value)
{
	family(out, name, type, help);
	buf_printf(out, "%s ", name);
	buf_add_double(out, value);
	buf_add_c(out, '\n');
}

static void print_requests(const struct self *s, struct buf *out)
{
	family(out, "goodput_http_requests_total", "counter", "Requests answered.");
	MAP_EACH (&s->requests, entry) {
		const struct self_request *r = entry->value;

		buf_printf(out, "goodput_http_requests_total{handler=\"%s\",code=\"%d\"} %llu\n", r->handler, r->status,
			(unsigned long long)r->count);
	}
	family(out, "goodput_http_request_duration_seconds_total", "counter", "Time from a request to its answer, waiting included.");
	MAP_EACH (&s->requests, entry) {
		const struct self_request *r = entry->value;

		buf_printf(out, "goodput_http_request_duration_seconds_total{handler=\"%s\",code=\"%d\"} ", r->handler, r->status);
		buf_add_double(out, r->seconds);
		buf_add_c(out, '\n');
	}
	plain(out, "goodput_http_requests_refused_total", "counter", "Requests refused as malformed, too large or smuggled.",
		(double)s->refused);
}

static double memory_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void print_process(const struct daemon *d, struct buf *out)
{
	struct rlimit files;

	plain(out, "process_cpu_seconds_total", "counter", "CPU time of this process.", (double)clock_cpu_ns() / 1e9);
	plain(out, "process_resident_memory_bytes", "gauge", "Resident memory.", memory_bytes());
	plain(out, "process_start_time_seconds", "gauge", "Start of this process, unix seconds.", (double)d->start_ms / 1000);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		plain(out, "process_max_fds", "gauge", "Most files that may be open.", (double)files.rlim_cur);
}

static void print_store(const struct daemon *d, struct buf *out)
{
	struct store_stats s;

	store_stats(d->store, &s);
	plain(out, "goodput_store_out_of_order_total", "counter", "Samples refused as not newer than their series.", (double)s.refused);
	if (!s.on_disk)
		return;
	plain(out, "goodput_store_head_samples", "gauge", "Samples that are in memory too.", (double)s.head_samples);
	plain(out, "goodput_store_chunks", "gauge", "Chunks in the file.", (double)s.chunks);
	plain(out, "goodput_store_file_bytes", "gauge", "Size of the file.", (double)s.file_bytes);
	plain(out, "goodput_store_free_bytes", "gauge", "Pages of the file that are not used now.", (double)s.free_bytes);
	plain(out, "goodput_store_degraded", "gauge", "1 while the file cannot be written.", s.degraded);
	plain(out, "goodput_store_dropped_total", "counter", "Samples lost because the file could not be written for too long.",
		(double)s.dropped);
}

static void print_rules(const struct daemon *d, struct buf *out)
{
	const struct rules *r = d->generation->rules;

	if (!r)
		return;
	plain(out, "goodput_rules", "gauge", "Rules of the rule files.", (double)rules_count(r));
	plain(out, "goodput_rule_evaluations_total", "counter", "Rules evaluated since the configuration was read.",
		(double)r->evaluations);
	plain(out, "goodput_rule_evaluation_failures_total", "counter", "Of them, those that failed.", (double)r->failures);
}

static void print_receivers(const struct daemon *d, struct buf *out)
{
	size_t count = notifier_receivers(d->notifier);

	if (!count)
		return;
	family(out, "goodput_notifications_waiting", "gauge", "Alerts that wait to be told to a receiver.");
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "goodput_notifications_waiting{receiver=\"%zu\"} %zu\n", i, notifier_stats(d->notifier, i).waiting);
	family(out, "goodput_notifications_told_total", "counter", "Alerts that a receiver has taken.");
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "goodput_notifications_told_total{receiver=\"%zu\"} %llu\n", i,
			(unsigned long long)notifier_stats(d->notifier, i).told);
	family(out, "goodput_notifications_dropped_total", "counter", "Alerts that a receiver refused, or that waited too long.");
	for (size_t i = 0; i < count; i++) {
		struct receiver_stats stats = notifier_stats(d->notifier, i);

		buf_printf(out, "goodput_notifications_dropped_total{receiver=\"%zu\"} %llu\n", i,
			(unsigned long long)(stats.dropped + stats.refused));
	}
}

void self_print(struct daemon *d, struct buf *out)
{
	const struct self *s = &d->self;

	family(out, "goodput_build_info", "gauge", "1, with the version.");
	buf_add_cstr(out, "goodput_build_info{version=\"" GOODPUT_VERSION "\"} 1\n");
	plain(out, "goodput_targets", "gauge", "Targets that are watched.",
		(double)(d->mirroring ? d->fleet.targets.count : d->scrapees.count));
	plain(out, "goodput_scrapes_total", "counter", "Scrapes that ended, well or not.", (double)s->scrapes);
	plain(out, "goodput_scrapes_failed_total", "counter", "Scrapes after which up was 0.", (double)s->scrapes_failed);
	plain(out, "goodput_scrapes_skipped_total", "counter", "Ticks at which the scrape before was not over.",
		(double)s->scrapes_skipped);
	plain(out, "goodput_scrape_lateness_seconds_total", "counter", "From a tick to the start of its scrape.", s->scrape_late_s);
	plain(out, "goodput_samples_appended_total", "counter", "Samples of scrapes that went into the store.", (double)s->samples);
	plain(out, "goodput_samples_refused_total", "counter", "Samples that were left out as duplicates.", (double)s->samples_refused);
	plain(out, "goodput_store_series", "gauge", "Series in the store.", (double)store_series_count(d->store));
	plain(out, "goodput_store_samples", "gauge", "Samples in the store.", (double)store_sample_count(d->store));
	plain(out, "goodput_remote_write_received_samples_total", "counter", "Samples that others wrote here.", (double)s->received);
	plain(out, "goodput_remote_write_refused_samples_total", "counter", "Of those sent, refused as older than their series.",
		(double)s->received_refused);
	sending_print(d, out);
	mirroring_print(d, out);
	print_store(d, out);
	print_rules(d, out);
	print_receivers(d, out);
	plain(out, "goodput_queries_running", "gauge", "Requests at work on the data.", (double)d->gate.reading);
	plain(out, "goodput_queries_waiting", "gauge", "Requests that wait to read the data.", (double)d->gate.reads.count);
	plain(out, "goodput_writes_waiting", "gauge", "Pages and other changes that wait until nobody reads.",
		(double)d->gate.writes.count);
	plain(out, "goodput_queries_cpu_seconds_total", "counter", "CPU time of requests that look at the data.", s->call_cpu_s);
	plain(out, "goodput_queries_canceled_total", "counter", "Requests whose client went away before the answer.",
		(double)s->queries_canceled);
	plain(out, "goodput_queries_turned_away_total", "counter", "Requests refused because too many waited.",
		(double)s->queries_turned_away);
	plain(out, "goodput_evaluations_total", "counter", "Evaluations of all signals.", (double)s->judgements);
	plain(out, "goodput_evaluations_failed_total", "counter", "Evaluations that ended with an error.", (double)s->judgements_failed);
	plain(out, "goodput_evaluation_duration_seconds_total", "counter", "Time that evaluations of signals took.", s->judgement_s);
	plain(out, "goodput_evaluation_cpu_seconds_total", "counter", "CPU time that evaluations of signals took.", s->judgement_cpu_s);
	plain(out, "goodput_config_last_reload_successful", "gauge", "1 unless the newest reload failed.", d->config_ok);
	plain(out, "goodput_config_reloads_failed_total", "counter", "Reloads that left the configuration as it was.",
		(double)s->reloads_failed);
	plain(out, "goodput_connections", "gauge", "Open connections.", (double)server_connections(d->server));
	print_requests(s, out);
	print_process(d, out);
}
