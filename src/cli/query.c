/* goodput query: PromQL over whatever check can look at. */
#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/page.h"
#include "promql/promql.h"
#include "store/store.h"

#include <stddef.h>
#include <stdio.h>

enum { STEP_MS = 15000 };

struct query_arguments {
	struct global_arguments global;
	struct source_arguments source;
	const char *window, *at, *since;
	int64_t step_ms;
};

#define AT(field) offsetof(struct query_arguments, field)
static const struct option_spec query_options[] = {
	{ "at", 0, OPTION_STRING, AT(at), .argument = "TIME",
		.help = "Evaluate at this time, age (-2h) or moment of the recording; else at the newest sample, or now on a Prometheus." },
	{ "since", 0, OPTION_STRING, AT(since), .argument = "TIME", .help = "Evaluate at each step from this time or age to the end." },
	{ "step", 0, OPTION_DURATION, AT(step_ms), .argument = "DURATION", .least = 1, .help = "The step of --since (15s)." },
	{ "window", 'w', OPTION_STRING, AT(window), .argument = "DURATION",
		.help = "Live targets: scrape for this long, so that rate() has two samples; else once." },
	{ 0 },
};
#undef AT
static const struct option_table query_tables[] = { { "What to evaluate", query_options, 0 }, SOURCE_TABLES(struct query_arguments, source),
	GLOBAL_TABLE(struct query_arguments), { 0 } };

/* ---- for people ---- */

static void print_number(double v, struct buf *out)
{
	char text[NUMBER_TEXT_MAX];

	buf_add(out, str_of(text, number_format(v, text)));
}

static void print_labels(const struct labels *l, struct buf *out)
{
	if (l && l->count)
		labels_print(l, out);
	else
		buf_add_cstr(out, "{}");
}

static void text_vector(const struct promql_value *v, struct page *p)
{
	size_t width = 0;
	struct buf text;

	buf_init(&text, 1 << 20);
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < v->count; i++) {
			buf_reset(&text);
			print_labels(v->elements[i].labels, &text);
			size_t columns = str_columns(buf_str(&text));

			if (!pass) {
				width = columns > width && columns < 100 ? columns : width;
				continue;
			}
			page_add(p, buf_str(&text), STYLE_PLAIN);
			buf_add_repeat(&p->out, ' ', (columns < width ? width - columns : 0) + 2);
			buf_reset(&text);
			print_number(v->elements[i].value, &text);
			page_add(p, buf_str(&text), STYLE_BOLD);
			page_line(p);
		}
	buf_fini(&text);
}

static void text_matrix(const struct promql_value *v, struct page *p)
{
	struct buf text;
	char when[40];

	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < v->count; i++) {
		buf_reset(&text);
		print_labels(v->series[i].labels, &text);
		page_add(p, buf_str(&text), STYLE_BOLD);
		page_line(p);
		for (size_t k = 0; k < v->series[i].count; k++) {
			time_format(v->series[i].t[k], when);
			buf_reset(&text);
			print_number(v->series[i].v[k], &text);
			page_print(p, STYLE_PLAIN, "  %s  %s", when, buf_cstr(&text));
			page_line(p);
		}
	}
	buf_fini(&text);
}

static void text_value(const struct promql_value *v, struct page *p)
{
	switch (v->type) {
	case PROMQL_SCALAR:
		print_number(v->scalar, &p->out);
		page_line(p);
		break;
	case PROMQL_STRING:
		page_add(p, v->text, STYLE_PLAIN);
		page_line(p);
		break;
	case PROMQL_VECTOR: text_vector(v, p); break;
	case PROMQL_MATRIX: text_matrix(v, p); break;
	}
}

/* ---- Prometheus's API envelope ---- */

static void json_point(struct json *j, const char *key, int64_t t_ms, struct str text)
{
	json_open(j, key, '[');
	json_number(j, NULL, (double)t_ms / 1000);
	json_text(j, NULL, text);
	json_close(j, ']');
}

static void json_sample(struct json *j, const char *key, int64_t t_ms, double value)
{
	char text[NUMBER_TEXT_MAX];

	json_point(j, key, t_ms, str_of(text, number_format(value, text)));
}

static void json_metric(struct json *j, const struct labels *l)
{
	json_open(j, "metric", '{');
	for (uint32_t i = 0; l && i < l->count; i++)
		json_text(j, l->items[i].name.ptr, l->items[i].value);
	json_close(j, '}');
}

static void json_result(struct json *j, const struct promql_value *v)
{
	if (v->type == PROMQL_SCALAR) {
		json_sample(j, "result", v->t_ms, v->scalar);
		return;
	}
	if (v->type == PROMQL_STRING) {
		json_point(j, "result", v->t_ms, v->text);
		return;
	}
	json_open(j, "result", '[');
	for (size_t i = 0; i < v->count; i++) {
		json_open(j, NULL, '{');
		json_metric(j, v->type == PROMQL_VECTOR ? v->elements[i].labels : v->series[i].labels);
		if (v->type == PROMQL_VECTOR) {
			json_sample(j, "value", v->elements[i].t_ms, v->elements[i].value);
		} else {
			json_open(j, "values", '[');
			for (size_t k = 0; k < v->series[i].count; k++)
				json_sample(j, NULL, v->series[i].t[k], v->series[i].v[k]);
			json_close(j, ']');
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_texts(struct json *j, const char *key, const struct str *texts, size_t count)
{
	if (!count)
		return;
	json_open(j, key, '[');
	for (size_t i = 0; i < count; i++)
		json_text(j, NULL, texts[i]);
	json_close(j, ']');
}

static void json_value(const struct promql_value *v, struct buf *out)
{
	static const char *const types[] = {
		[PROMQL_SCALAR] = "scalar", [PROMQL_STRING] = "string", [PROMQL_VECTOR] = "vector", [PROMQL_MATRIX] = "matrix"
	};
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "status", STR("success"));
	json_open(&j, "data", '{');
	json_text(&j, "resultType", str_from(types[v->type]));
	json_result(&j, v);
	json_close(&j, '}');
	json_texts(&j, "warnings", v->warnings, v->warning_count);
	json_texts(&j, "infos", v->infos, v->info_count);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static int json_failed(const struct error *e)
{
	struct buf out;
	struct json j = { .out = &out };
	char text[512];

	buf_init(&out, 65536);
	error_text(e, text, sizeof text);
	json_open(&j, NULL, '{');
	json_text(&j, "status", STR("error"));
	json_text(&j, "errorType", e->status == EXIT_BAD_INPUT ? STR("bad_data") : STR("execution"));
	json_text(&j, "error", str_from(text));
	json_close(&j, '}');
	buf_add_c(&out, '\n');
	int status = command_output(buf_str(&out), e->status);

	buf_fini(&out);
	return status;
}

/* ---- the command ---- */

static bool evaluate(const struct query_arguments *a, struct watch *w, const char *query, struct promql_value *v, struct error *e)
{
	struct backend *b = w->remote ? w->remote : w->data.backend;
	const struct window *window = &w->span.window;

	if (a->since)
		return b->ops->query_range(
			b, &w->arena, str_from(query), window->from_ms, window->to_ms, a->step_ms ? a->step_ms : STEP_MS, v, e);
	return b->ops->query(b, &w->arena, str_from(query), window->to_ms, v, e);
}

static void print_annotations(const struct promql_value *v)
{
	for (size_t i = 0; i < v->warning_count; i++)
		fprintf(stderr, "goodput: warning: " STR_FMT "\n", STR_ARG(v->warnings[i]));
	for (size_t i = 0; i < v->info_count; i++)
		fprintf(stderr, "goodput: info: " STR_FMT "\n", STR_ARG(v->infos[i]));
}

/* A file of serve's samples: evaluated as it was committed last. */
static bool evaluate_store(
	const struct query_arguments *a, struct arena *arena, struct store *s, const char *query, struct promql_value *v, struct error *e)
{
	int64_t oldest_ms = 0, newest_ms = clock_now_ms(), at_ms, since_ms;
	bool ok;

	store_bounds(s, &oldest_ms, &newest_ms);
	at_ms = newest_ms;
	since_ms = oldest_ms;
	if (a->at && !time_parse(str_from(a->at), newest_ms, &at_ms))
		return error_set(e, EXIT_USAGE, "--at: \"%s\" is no time, and a store has no named moments", a->at);
	if (a->since && !time_parse(str_from(a->since), at_ms, &since_ms))
		return error_set(e, EXIT_USAGE, "--since: \"%s\" is no time", a->since);
	struct backend *b = backend_embedded_new(s);
	if (a->since)
		ok = b->ops->query_range(b, arena, str_from(query), since_ms, at_ms, a->step_ms, v, e);
	else
		ok = b->ops->query(b, arena, str_from(query), at_ms, v, e);
	backend_free(b);
	return ok;
}

static int query_print(const struct query_arguments *a, const struct promql_value *v)
{
	struct page page;
	int status;

	page_init(&page, (enum color_when)a->global.color);
	if (a->global.json) {
		json_value(v, &page.out);
		status = page_output_document(&page, EXIT_FINE);
	} else {
		print_annotations(v);
		text_value(v, &page);
		if (!page.out.len && !a->global.quiet)
			fputs("goodput: the result is empty: no series matches at that time\n", stderr);
		status = page_output(&page, EXIT_FINE);
	}
	page_fini(&page);
	return status;
}

/* A target that gave nothing may be why the answer is empty or too small. */
static int query_live_print(const struct query_arguments *a, const struct watch *w, const struct promql_value *v)
{
	if (!a->global.quiet)
		source_tell_silent(w);
	return query_print(a, v);
}

static int query_store(const struct query_arguments *a, const char *query, const char *path)
{
	const struct store_options options = { .read_only = true };
	struct promql_value value = { 0 };
	struct error e = { 0 };
	struct arena arena;
	struct store *s = store_open(path, &options, &e);
	int status;

	arena_init(&arena);
	if (s && evaluate_store(a, &arena, s, query, &value, &e))
		status = query_print(a, &value);
	else
		status = a->global.json && e.status != EXIT_USAGE ? json_failed(&e) : command_failed(&e);
	arena_fini(&arena);
	store_free(s);
	return status;
}

static int query_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	struct query_arguments *a = arguments;
	struct promql_value value = { 0 };
	struct watch_options options;
	struct error e = { 0 };
	struct arena arena;
	struct watch w;
	bool open = false;
	int status;

	if (!operands->count)
		return command_usage(self, "which expression?");
	if (operands->count == 2 && store_is(operands->items[1]))
		return query_store(a, operands->items[0], operands->items[1]);
	const struct option_strings targets = { operands->items + 1, operands->count - 1, 0 };

	if (!source_is_named(&a->source, &targets))
		return command_usage(self, "on what? Name a recording or targets after the expression, or give --prometheus URL");
	if (a->step_ms && !a->since)
		return command_usage(self, "--step is for --since");
	if (a->window && a->since)
		return command_usage(self, "--window or --since, not both");
	arena_init(&arena);
	if (source_to_options(&a->source, &arena, &targets, &options, &e)) {
		options.window = a->window;
		options.at = a->at;
		options.since = a->since;
		options.only_samples = true;
		open = watch_open(&w, &options, &e);
	}
	if (open && watch_gather(&w, &e) && evaluate(a, &w, operands->items[0], &value, &e))
		status = query_live_print(a, &w, &value);
	else
		status = a->global.json && e.status != EXIT_USAGE ? json_failed(&e) : command_failed(&e);
	if (open)
		watch_close(&w);
	arena_fini(&arena);
	return status;
}

const struct command command_query = {
	.name = "query",
	.summary = "evaluate PromQL on a recording, a store, live targets or a Prometheus",
	.synopsis = (const char *const[]){ "[OPTIONS] EXPRESSION RECORDING", "[OPTIONS] EXPRESSION STORE", "[OPTIONS] EXPRESSION TARGET...",
		"[OPTIONS] EXPRESSION --prometheus URL", NULL },
	.description = "Evaluates a PromQL expression with the semantics of Prometheus 3. With --json the answer has the form of "
		       "Prometheus's API.",
	.examples = (const struct example[]){ { "goodput query 'sum(vllm:num_requests_waiting)' incident/",
						      "At the newest sample of a recording." },
		{ "goodput query 'rate(vllm:num_preemptions_total[1m])' incident/ --since 5m --step 30s", "Over its last five minutes." },
		{ "goodput query 'sum(rate(vllm:generation_tokens_total[5m]))' goodput.db --since -6h --step 1m",
			"Six hours of what serve kept." },
		{ "goodput query up --prometheus http://prom:9090 --at -1h", "An hour ago, on a Prometheus." }, { NULL, NULL } },
	.tables = query_tables,
	.arguments_size = sizeof(struct query_arguments),
	.run = query_run,
};
