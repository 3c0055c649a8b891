#include "workload/trace.h"

#include "base/file.h"
#include "workload/trace_reader.h"

#include <math.h>

enum { TRACE_MAX = 1 << 30, FIRST_KEYS = 4096 };

bool trace_bad(struct trace_reader *t, struct str at, const char *what)
{
	return error_at(t->e, t->source, t->text, at.ptr ? (size_t)(at.ptr - t->text.ptr) : 0, "%s", what);
}

bool trace_add(struct trace_reader *t, struct str line, double seconds, struct workload_row row)
{
	if (!t->rows.count)
		t->first = seconds;
	else if (seconds < t->last)
		return trace_bad(t, line, "this request is earlier than the one before: sort the trace by time");
	if (!(seconds - t->first < 1e9))
		return trace_bad(t, line, "this time is more than thirty years after the first one");
	t->last = seconds;
	row.time_us = (uint64_t)((seconds - t->first) * 1e6 + 0.5);
	VEC_PUSH(&t->rows, row);
	return true;
}

bool trace_tokens(struct trace_reader *t, int64_t value, uint32_t *tokens)
{
	if (value < 0 || value > WORKLOAD_TOKENS_MAX)
		return false;
	t->trace->raised += value == 0;
	*tokens = value ? (uint32_t)value : 1;
	return true;
}

/* One JSON document, as conversations and results are. */
static bool read_document(struct trace_reader *t)
{
	json_error_t at;
	json_t *root = json_loadb(t->text.ptr, t->text.len, 0, &at);
	bool ok;

	if (!root)
		return trace_bad(t, str_skip(t->text, at.position > 0 ? (size_t)at.position - 1 : 0), at.text);
	ok = json_is_array(root) ? trace_sharegpt(t, root) : trace_vllm(t, root);
	json_decref(root);
	return ok;
}

static bool read_format(struct trace_reader *t)
{
	struct str start = str_head(str_trim(t->text), FIRST_KEYS);

	if (str_starts(start, STR("[")))
		return read_document(t);
	if (!str_starts(start, STR("{")))
		return trace_csv(t);
	if (str_search(start, STR("\"goodput.records/")) >= 0)
		return trace_records(t);
	if (str_search(start, STR("\"input_length\"")) >= 0 && str_search(start, STR("\"input_lens\"")) < 0)
		return trace_mooncake(t);
	if (str_search(t->text, STR("\"input_lens\"")) >= 0 || str_search(start, STR("\"request_throughput\"")) >= 0)
		return read_document(t);
	return trace_mooncake(t);
}

bool trace_parse(struct arena *arena, struct str source, struct str text, struct trace *trace, struct error *e)
{
	struct trace_reader t = { .arena = arena, .source = source, .text = text, .trace = trace, .e = e };
	bool ok;

	*trace = (struct trace){ .timed = true };
	ok = read_format(&t);
	if (ok && !t.rows.count) {
		ok = error_set(e, EXIT_BAD_INPUT, STR_FMT " has no requests", STR_ARG(source));
		error_hint(e, "read are: Azure's and BurstGPT's CSV, Mooncake's JSON lines, ShareGPT's list, vLLM's detailed results, run "
			      "records");
	}
	if (ok) {
		trace->count = t.rows.count;
		trace->rows = ARENA_ARRAY(arena, struct workload_row, t.rows.count);
		memcpy(trace->rows, t.rows.items, t.rows.count * sizeof *trace->rows);
	}
	VEC_FREE(&t.rows);
	return ok;
}

bool trace_read(struct arena *arena, const char *path, struct trace *trace, struct error *e)
{
	struct str text;

	return file_read(arena, path, TRACE_MAX, &text, e) && trace_parse(arena, str_from(path), text, trace, e);
}
