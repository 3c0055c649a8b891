/* goodput store: looks into the file that serve keeps its samples in. */
#include "store/store.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "cli/commands.h"
#include "expo/expo.h"
#include "promql/promql.h"
#include "promql/syntax.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { DUMP_WINDOW_MS = 2 * 3600 * 1000, IMPORT_SLICE = 4 << 20, IMPORT_COMMIT = 1 << 20 };

struct store_arguments {
	struct global_arguments global;
	const char *match, *since, *until;
	int format; /* enum expo_format */
};

#define AT(field) offsetof(struct store_arguments, field)
static const char *const formats[] = { "text", "openmetrics", NULL };
static const struct option_spec store_option_list[] = {
	{ "match", 0, OPTION_STRING, AT(match), .argument = "SELECTOR", .help = "dump: only series that match, such as {job=\"vllm\"}." },
	{ "since", 0, OPTION_STRING, AT(since), .argument = "TIME", .help = "dump: from this time, or age, on." },
	{ "until", 0, OPTION_STRING, AT(until), .argument = "TIME", .help = "dump: up to this time." },
	{ "format", 0, OPTION_CHOICE, AT(format), .argument = "FORMAT", .choices = formats, .preset = "text",
		.help = "dump: text, or openmetrics, which promtool makes blocks of (tsdb create-blocks-from)." },
	{ 0 },
};
static const struct option_table store_tables[] = { { "What to dump", store_option_list, 0 }, { "Common options", global_options, 0 },
	{ 0 } };
#undef AT

/* ---- verify ---- */

static void fault_print(void *context, const char *what)
{
	fprintf(stderr, "goodput: %s: %s\n", (const char *)context, what);
}

static struct store *open_to_read(const char *path, struct error *e)
{
	struct store *s = store_open(path, &(struct store_options){ .read_only = true }, e);

	if (!s && *path && str_search(str_from(path), STR("://")) < 0 && !file_exists(path))
		error_hint(e, "goodput serve --store %s TARGET... makes it, or goodput store import %s PAGE", path, path);
	return s;
}

static void verified_print(const struct store_verified *v, bool as_json, struct buf *out)
{
	struct json j = { .out = out };

	if (!as_json) {
		buf_printf(out, "%s: %zu chunks, %zu sections, %llu samples, %zu rows of the log\n", v->faults ? "damaged" : "whole",
			v->chunks, v->sections, (unsigned long long)v->samples, v->log_rows);
		return;
	}
	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.store-verify/1"));
	json_integer(&j, "faults", (int64_t)v->faults);
	json_integer(&j, "chunks", (int64_t)v->chunks);
	json_integer(&j, "sections", (int64_t)v->sections);
	json_integer(&j, "columns", (int64_t)v->columns);
	json_integer(&j, "samples_in_chunks", (int64_t)v->samples);
	json_integer(&j, "log_rows", (int64_t)v->log_rows);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static int store_verify_run(const struct store_arguments *a, const char *path)
{
	struct error e = { 0 };
	struct store_verified verified;
	struct buf out;
	struct store *s = open_to_read(path, &e);

	if (!s)
		return command_failed(&e);
	store_verify(s, fault_print, (void *)(uintptr_t)path, &verified);
	store_free(s);
	if (verified.faults)
		fprintf(stderr, "  hint: `goodput store dump %s` saves what can be read; import it into a new file\n", path);
	buf_init(&out, 65536);
	verified_print(&verified, a->global.json, &out);
	int status = command_output(buf_str(&out), verified.faults ? EXIT_BAD_INPUT : EXIT_FINE);
	buf_fini(&out);
	return status;
}

/* ---- stats ---- */

static void stats_json(const struct store *s, const struct store_stats *stats, struct buf *out)
{
	struct json j = { .out = out };
	int64_t oldest_ms, newest_ms;

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.store-stats/1"));
	json_integer(&j, "series", (int64_t)stats->series);
	json_integer(&j, "samples", (int64_t)stats->samples);
	json_integer(&j, "samples_in_head", (int64_t)stats->head_samples);
	json_integer(&j, "chunks", (int64_t)stats->chunks);
	json_integer(&j, "file_bytes", (int64_t)stats->file_bytes);
	json_integer(&j, "free_bytes", (int64_t)stats->free_bytes);
	if (store_bounds(s, &oldest_ms, &newest_ms)) {
		json_time(&j, "oldest", oldest_ms);
		json_time(&j, "newest", newest_ms);
	}
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static void stats_text(const struct store *s, const struct store_stats *stats, struct buf *out)
{
	int64_t oldest_ms, newest_ms;
	char from[40], to[40];

	buf_printf(out, "series           %zu\n", stats->series);
	buf_printf(out, "samples          %zu, of these %zu in the head\n", stats->samples, stats->head_samples);
	if (store_bounds(s, &oldest_ms, &newest_ms)) {
		time_format(oldest_ms, from);
		time_format(newest_ms, to);
		buf_printf(out, "time             %s to %s\n", from, to);
	}
	buf_printf(out, "chunks           %zu\n", stats->chunks);
	buf_printf(
		out, "file             %.1f MB, of these %.1f MB free\n", (double)stats->file_bytes / 1e6, (double)stats->free_bytes / 1e6);
	if (stats->samples)
		buf_printf(out, "bytes a sample   %.2f\n", (double)(stats->file_bytes - stats->free_bytes) / (double)stats->samples);
}

static int store_stats_run(const struct store_arguments *a, const char *path)
{
	struct error e = { 0 };
	struct store_stats stats;
	struct buf out;
	struct store *s = open_to_read(path, &e);

	if (!s)
		return command_failed(&e);
	store_stats(s, &stats);
	buf_init(&out, 65536);
	if (a->global.json)
		stats_json(s, &stats, &out);
	else
		stats_text(s, &stats, &out);
	store_free(s);
	int status = command_output(buf_str(&out), EXIT_FINE);
	buf_fini(&out);
	return status;
}

/* ---- dump ---- */

struct dump {
	struct store *store;
	struct arena arena, window;
	struct matcher *matchers;
	size_t matcher_count;
	int64_t from_ms, to_ms;
	enum expo_format format;
	struct map typed; /* names whose TYPE was written */
};

static bool dump_matchers(struct dump *d, const char *text, struct error *e)
{
	struct promql_node *node = promql_parse(&d->arena, str_from(text), &promql_defaults, e);

	if (!node)
		return false;
	if (node->kind != NODE_SELECTOR) {
		error_set(e, EXIT_USAGE, "--match wants a selector, and \"%s\" is more than one", text);
		error_hint(e, "such as {job=\"vllm\"} or up");
		return false;
	}
	d->matchers = ARENA_ARRAY(&d->arena, struct matcher, node->selector.matcher_count + 1);
	for (size_t i = 0; i < node->selector.matcher_count; i++) {
		const struct selector_matcher *m = &node->selector.matchers[i];
		if (!matcher_init(&d->matchers[i], m->name, m->op, m->value, e))
			return false;
		d->matcher_count++;
	}
	return true;
}

static bool dump_time(const char *text, const char *option, int64_t *t_ms, struct error *e)
{
	if (!text || time_parse(str_from(text), clock_now_ms(), t_ms))
		return true;
	error_set(e, EXIT_USAGE, "--%s: \"%s\" is no time", option, text);
	error_hint(e, "such as 2026-01-15T00:00:00Z, Unix seconds, or an age such as -2h");
	return false;
}

static bool dump_init(struct dump *d, const struct store_arguments *a, struct error *e)
{
	int64_t oldest_ms, newest_ms;

	if (!store_bounds(d->store, &oldest_ms, &newest_ms))
		return true;
	d->from_ms = oldest_ms;
	d->to_ms = newest_ms;
	return dump_time(a->since, "since", &d->from_ms, e) && dump_time(a->until, "until", &d->to_ms, e) &&
	       (!a->match || dump_matchers(d, a->match, e));
}

/* Types of whole families need their lines together; those of single names are written. */
static void dump_type(struct dump *d, struct expo_writer *writer, const struct labels *labels)
{
	enum metric_type type = store_series_type(d->store, labels);
	bool made;

	if (type != METRIC_COUNTER && type != METRIC_GAUGE)
		return;
	if (d->format == EXPO_OPENMETRICS && type == METRIC_COUNTER && !str_ends(labels_name(labels), STR("_total")))
		return; /* a counter must be called so there */
	map_put(&d->typed, labels_name(labels), &made);
	if (made)
		expo_write_family(writer, labels_name(labels), type, STR_EMPTY, STR_EMPTY);
}

static int compare_views(const void *a, const void *b)
{
	return labels_cmp(((const struct series_view *)a)->labels, ((const struct series_view *)b)->labels);
}

static bool dump_window(struct dump *d, struct expo_writer *writer, struct str name, int64_t from_ms, int64_t to_ms)
{
	struct matcher *matchers = ARENA_ARRAY(&d->window, struct matcher, d->matcher_count + 1);
	size_t count;

	for (size_t i = 0; i < d->matcher_count; i++)
		matchers[i] = d->matchers[i];
	matchers[d->matcher_count] = (struct matcher){ .name = LABEL_NAME, .value = name, .op = MATCH_EQ };
	struct series_view *views = store_select(d->store, &d->window, matchers, d->matcher_count + 1, from_ms, to_ms, &count);
	qsort(views, count, sizeof *views, compare_views);
	for (size_t i = 0; i < count; i++) {
		dump_type(d, writer, views[i].labels);
		for (size_t k = 0; k < views[i].count; k++)
			if (!number_is_stale(views[i].v[k]))
				expo_write_sample(writer, views[i].labels, views[i].v[k], views[i].t[k]);
		if (writer->out->len > 1 << 20) {
			if (command_output(buf_str(writer->out), EXIT_FINE))
				return false;
			buf_reset(writer->out);
		}
	}
	return true;
}

static int dump_all(struct dump *d)
{
	struct buf out;
	struct expo_writer writer = { .out = &out, .format = d->format };
	size_t name_count;
	struct str *names = store_label_values(d->store, &d->arena, LABEL_NAME, d->matchers, d->matcher_count, &name_count);
	bool ok = true;

	buf_init(&out, (size_t)1 << 30);
	map_init(&d->typed);
	for (int64_t from = d->from_ms, to;
		ok && !command_stop && !ferror(stdout) && store_next_time(d->store, from, &from) && from <= d->to_ms; from = to + 1) {
		to = d->to_ms - DUMP_WINDOW_MS < from ? d->to_ms : from + DUMP_WINDOW_MS - 1;
		for (size_t i = 0; ok && i < name_count && !command_stop && !ferror(stdout); i++) {
			ok = dump_window(d, &writer, names[i], from, to);
			arena_reset(&d->window);
		}
		if (to == d->to_ms)
			break;
	}
	if (ok && !command_stop)
		expo_write_end(&writer);
	int status = ok ? command_output(buf_str(&out), command_stop ? EXIT_INTERRUPTED : EXIT_FINE) : EXIT_INTERNAL;
	map_fini(&d->typed);
	buf_fini(&out);
	return status;
}

static int store_dump_run(const struct store_arguments *a, const char *path)
{
	struct error e = { 0 };
	struct dump d = { .store = open_to_read(path, &e), .to_ms = -1, .format = (enum expo_format)a->format };
	int status;

	if (!d.store)
		return command_failed(&e);
	arena_init(&d.arena);
	arena_init(&d.window);
	status = dump_init(&d, a, &e) ? dump_all(&d) : command_failed(&e);
	for (size_t i = 0; i < d.matcher_count; i++)
		matcher_fini(&d.matchers[i]);
	arena_fini(&d.window);
	arena_fini(&d.arena);
	store_free(d.store);
	return status;
}

/* ---- import ---- */

struct import {
	struct store *store;
	struct expo_reader *reader;
	const char *source;
	enum expo_format format;
	size_t lines, samples, refused, uncommitted;
	struct buf page;
};

static bool import_page(struct import *in, struct str text, struct error *e)
{
	struct sink *sink = store_sink(in->store);

	buf_reset(&in->page);
	buf_add(&in->page, text);
	if (in->format == EXPO_OPENMETRICS)
		buf_add(&in->page, STR("# EOF\n"));
	const struct expo_page *page = expo_read(in->reader, str_from(in->source), buf_str(&in->page), in->format);
	if (page->error.set) {
		*e = page->error;
		e->line += (int)in->lines;
		return false;
	}
	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_sample *sample = &page->samples[i];
		if (sample->t_ms == EXPO_NO_TIME) {
			error_set(e, EXIT_BAD_INPUT, "a sample without a time cannot be imported");
			error_source(e, str_from(in->source));
			e->line = (int)(in->lines + sample->line);
			error_hint(e, "each line needs one: name{labels} value milliseconds, or seconds in OpenMetrics; `goodput record` "
				      "keeps pages as they are");
			return false;
		}
		struct series *series = sink->ops->series(sink, sample->series->labels, sample->series->type);
		enum append_status status = sink->ops->append(sink, series, sample->t_ms, sample->value);
		in->samples += status <= APPEND_SAME;
		in->refused += status >= APPEND_DUPLICATE;
	}
	in->uncommitted += page->sample_count;
	if (in->uncommitted < IMPORT_COMMIT)
		return true;
	in->uncommitted = 0;
	return store_commit(in->store, e);
}

/* Slices end with a line; the last "# EOF" is taken off, each slice gets its own. */
static bool import_text(struct import *in, struct str text, struct error *e)
{
	if (in->format == EXPO_OPENMETRICS) {
		text = str_trim(text);
		text.len -= str_ends(text, STR("# EOF")) ? sizeof "# EOF" - 1 : 0;
	}
	while (text.len && !command_stop) {
		size_t size = text.len < IMPORT_SLICE ? text.len : IMPORT_SLICE;
		const char *end = size < text.len ? memrchr(text.ptr, '\n', size) : NULL;
		struct str slice = str_head(text, end ? (size_t)(end - text.ptr) + 1 : size);
		if (!import_page(in, slice, e))
			return false;
		for (size_t i = 0; i < slice.len; i++)
			in->lines += slice.ptr[i] == '\n';
		text = str_skip(text, slice.len);
		log_progress("%zu samples", in->samples);
	}
	log_progress(NULL);
	return store_commit(in->store, e);
}

static int store_import_run(const struct store_arguments *a, const char *path, const char *source)
{
	struct error e = { 0 };
	struct arena arena;
	struct str text;
	struct import in = { .source = source };
	char line[160];
	bool ok;

	arena_init(&arena);
	buf_init(&in.page, (size_t)1 << 30);
	ok = file_read(&arena, source, EXPO_PAGE_MAX, &text, &e) && (in.store = store_open(path, &(struct store_options){ 0 }, &e));
	if (ok) {
		in.reader = expo_reader_new();
		in.format = expo_format_of(STR_EMPTY, text);
		ok = import_text(&in, text, &e);
		expo_reader_free(in.reader);
	}
	store_free(in.store);
	buf_fini(&in.page);
	arena_fini(&arena);
	if (!ok)
		return command_failed(&e);
	if (in.refused)
		log_warning("%zu samples are refused: not newer than what their series have in %s", in.refused, path);
	snprintf(line, sizeof line, a->global.json ? "{\"samples\": %zu, \"refused\": %zu}\n" : "%zu samples imported, %zu refused\n",
		in.samples, in.refused);
	return command_output(str_from(line), command_stop ? EXIT_INTERRUPTED : EXIT_FINE);
}

/* ---- the command ---- */

static const char *const store_words[] = { "verify", "stats", "dump", "import", NULL };

static bool is_action(const char *word)
{
	for (const char *const *known = store_words; *known; known++)
		if (!strcmp(word, *known))
			return true;
	return false;
}

static int store_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	const struct store_arguments *a = arguments;
	const char *action = operands->count ? operands->items[0] : NULL;

	if (!action)
		return command_usage(self, "verify, stats, dump or import?");
	if (!is_action(action))
		return command_unknown_action(self, action);
	if (operands->count < 2)
		return command_usage(self, "which file?");
	bool import = strcmp(action, "import") == 0;
	if (operands->count > (import ? 3u : 2u))
		return command_usage(self, "too many operands");
	if (import && operands->count < 3)
		return command_usage(self, "import what? Name a page with times, or - for standard input, after the store");
	if (strcmp(action, "dump") != 0 && (a->match || a->since || a->until))
		return command_usage(self, "--match, --since and --until are for dump");
	if (import)
		return store_import_run(a, operands->items[1], operands->items[2]);
	if (strcmp(action, "verify") == 0)
		return store_verify_run(a, operands->items[1]);
	if (strcmp(action, "stats") == 0)
		return store_stats_run(a, operands->items[1]);
	return store_dump_run(a, operands->items[1]);
}

const struct command command_store = {
	.name = "store",
	.summary = "check, describe, write out and fill the file of samples that serve keeps",
	.synopsis = (const char *const[]){ "verify FILE", "stats FILE", "dump [OPTIONS] FILE", "import FILE PAGE", NULL },
	.description =
		"verify reads everything and compares it with its checksums; 65 when something is damaged. stats says how much there is. "
		"dump "
		"prints samples with their times, as text that import reads; stale markers have no text and are left out. import appends a "
		"page "
		"of that kind, or an OpenMetrics file with times, to a store, and makes it when there is none; what is not newer than the "
		"newest sample of its series is refused and counted.\n\n"
		"All but import can be done while serve writes the file: they see what was committed when they began.",
	.examples = (const struct example[]){ { "goodput store stats goodput.db", "How much is in it." },
		{ "goodput store verify goodput.db", "Is all of it readable?" },
		{ "goodput store dump --match up --since -1h goodput.db", "An hour of one metric." },
		{ "goodput store dump old.db | goodput store import new.db -", "Save what can be read of a damaged file." },
		{ NULL, NULL } },
	.tables = store_tables,
	.arguments_size = sizeof(struct store_arguments),
	.operands = store_words,
	.files_too = true,
	.run = store_run,
};
