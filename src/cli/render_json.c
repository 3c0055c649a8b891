#include "base/json.h"
#include "cli/render.h"
#include "web/report.h"

static void print_window(struct json *j, const char *key, const struct window *window, enum span_kind kind)
{
	json_open(j, key, '{');
	json_number(j, "from", (double)window->from_ms / 1000);
	json_number(j, "to", (double)window->to_ms / 1000);
	json_number(j, "seconds", (double)(window->to_ms - window->from_ms) / 1000);
	json_text(j, "kind", str_from(span_kind_name(kind)));
	json_close(j, '}');
}

static void print_backend(struct json *j, const struct watch *w)
{
	const struct remote_stats *s = backend_remote_stats(w->remote);

	json_open(j, "backend", '{');
	json_text(j, "url", str_from(w->options.remote.url));
	json_text_if(j, "server", s->server);
	json_integer(j, "requests", (int64_t)s->requests);
	json_integer(j, "bytes", (int64_t)s->bytes);
	json_integer(j, "samples", (int64_t)s->samples);
	json_number(j, "elapsed_s", (double)s->elapsed_ms / 1000);
	json_number(j, "budget_s", (double)w->options.remote.budget_ms / 1000);
	json_number(j, "scrape_interval_s", (double)w->interval_ms / 1000);
	json_integer(j, "replicas_dropped", (int64_t)s->replicas_dropped);
	json_text_if(j, "replica_label", s->replica_label);
	json_list(j, "warnings", s->warnings, s->warning_count);
	json_close(j, '}');
}

void render_json(const struct watch *w, struct buf *out)
{
	const struct report *r = w->report;
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.check/1"));
	report_print_verdict(&j, r);
	print_window(&j, "window", &w->span.window, w->span.kind);
	if (r->has_reference)
		print_window(&j, "reference", &w->reference.window, w->reference.kind);
	json_open(&j, "moments", '{');
	json_integer(&j, "evaluated", (int64_t)r->moments_evaluated);
	json_integer(&j, "all", (int64_t)r->moments_all);
	json_close(&j, '}');
	report_print_targets(&j, r);
	report_print_scopes(&j, r, NULL);
	report_print_findings(&j, r);
	if (w->lifetime_report) {
		json_open(&j, "since_start", '{');
		print_window(&j, "window", &w->lifetime_span.window, SPAN_SINCE_START);
		json_bool(&j, "start_known", w->start_known);
		report_print_scopes(&j, w->lifetime_report, NULL);
		report_print_findings(&j, w->lifetime_report);
		json_close(&j, '}');
	}
	if (w->kind == WATCH_REMOTE)
		print_backend(&j, w);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}
