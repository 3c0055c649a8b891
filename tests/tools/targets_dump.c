/* targets_dump CONFIG [SECONDS]: what discovery and relabelling make of a configuration, as JSON on standard output:
 * [{"job", "ready", "error", "targets": [{"url", "labels", "before", "interval", "timeout"}], "dropped": [{"before"}]}]. */
#include "base/clock.h"
#include "base/number.h"
#include "scrape/discovery.h"
#include "watch/config.h"

#include <stdio.h>

static void print_labels(struct buf *out, const struct label *labels, size_t count)
{
	buf_add_c(out, '{');
	for (size_t i = 0; i < count; i++) {
		buf_add_cstr(out, i ? ", " : "");
		buf_add_json(out, labels[i].name);
		buf_add_cstr(out, ": ");
		buf_add_json(out, labels[i].value);
	}
	buf_add_c(out, '}');
}

static void print_target(struct buf *out, const struct discovered *t)
{
	buf_add_cstr(out, "{\"before\": ");
	print_labels(out, t->before, t->before_count);
	if (t->labels) {
		buf_add_cstr(out, ", \"labels\": ");
		print_labels(out, t->labels->items, t->labels->count);
		buf_add_cstr(out, ", \"url\": ");
		buf_add_json(out, t->url);
		buf_printf(out, ", \"interval\": %lld, \"timeout\": %lld", (long long)t->interval_ms, (long long)t->timeout_ms);
	}
	buf_add_c(out, '}');
}

static void print_list(struct buf *out, const char *name, const struct discovered *list, size_t count)
{
	buf_printf(out, ", \"%s\": [", name);
	for (size_t i = 0; i < count; i++) {
		buf_add_cstr(out, i ? ",\n" : "");
		print_target(out, &list[i]);
	}
	buf_add_c(out, ']');
}

static void print_job(struct buf *out, const struct discovered_job *job)
{
	buf_add_cstr(out, "{\"job\": ");
	buf_add_json(out, job->job->name);
	buf_printf(out, ", \"ready\": %s, \"error\": ", job->is_ready ? "true" : "false");
	buf_add_json(out, job->error);
	print_list(out, "targets", job->targets, job->count);
	print_list(out, "dropped", job->dropped, job->dropped_count);
	buf_add_cstr(out, "}");
}

int main(int argc, char **argv)
{
	struct error e = { 0 };
	struct buf out;
	int64_t seconds = 10;
	if (argc < 2 || (argc > 2 && !number_parse_i64(str_from(argv[2]), &seconds))) {
		fprintf(stderr, "usage: targets_dump CONFIG [SECONDS]\n");
		return EXIT_USAGE;
	}
	struct config *c = config_read(argv[1], &e);
	if (!c) {
		error_print(&e, stderr);
		return e.status;
	}
	config_log_notes(c);
	struct discovery *d = discovery_new((const struct job *const *)c->jobs.items, c->jobs.count, NULL, NULL);
	discovery_wait(d, seconds * 1000, NULL);
	buf_init(&out, 1 << 30);
	buf_add_c(&out, '[');
	for (size_t i = 0; i < discovery_job_count(d); i++) {
		buf_add_cstr(&out, i ? ",\n" : "");
		print_job(&out, discovery_job(d, i));
	}
	buf_add_cstr(&out, "]\n");
	fwrite(out.ptr, 1, out.len, stdout);
	buf_fini(&out);
	discovery_free(d);
	config_free(c);
	return 0;
}
