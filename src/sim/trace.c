/* Traces of requests: the Azure CSV files and the Mooncake JSON lines. Errors name the line. */
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"
#include "sim/traffic.h"

#include <jansson.h>

enum { TRACE_MAX = 1 << 30, TOKENS_MAX = 10000000, MOONCAKE_BLOCK = 512 };

struct trace {
	struct arena *arena;
	const char *path;
	struct str text;
	VEC(struct traffic_request) requests;
	double first, last;
};

static bool bad_line(const struct trace *t, struct str line, struct error *e, const char *what)
{
	return error_at(e, str_from(t->path), t->text, (size_t)(line.ptr - t->text.ptr), "%s", what);
}

/* Adds a request at `time` of the trace's own clock. */
static bool add(struct trace *t, struct str line, double time, struct traffic_request r, struct error *e)
{
	if (!t->requests.count)
		t->first = time;
	else if (time < t->last)
		return bad_line(t, line, e, "this request is earlier than the one before: sort the trace by time");
	t->last = time;
	r.time = time - t->first;
	VEC_PUSH(&t->requests, r);
	return true;
}

static bool token_count(struct str text, uint32_t *tokens)
{
	int64_t value;

	if (!number_parse_i64(str_trim(text), &value) || value < 0 || value > TOKENS_MAX)
		return false;
	*tokens = value ? (uint32_t)value : 1;
	return true;
}

/* "2023-11-16 18:17:03.9799600" */
static bool azure_time(struct str text, double *seconds)
{
	char iso[48];
	int64_t ms;
	double fraction = 0;
	ptrdiff_t point = str_find(text, '.');
	struct str whole = point < 0 ? text : str_head(text, (size_t)point);

	if (whole.len != 19 || (whole.ptr[10] != ' ' && whole.ptr[10] != 'T'))
		return false;
	snprintf(iso, sizeof iso, "%.10sT%.8sZ", whole.ptr, whole.ptr + 11);
	if (!time_parse(str_from(iso), 0, &ms) || (point >= 0 && !number_parse(str_skip(text, (size_t)point), &fraction)))
		return false;
	*seconds = (double)ms / 1e3 + fraction;
	return true;
}

static bool azure_line(struct trace *t, struct str line, struct error *e)
{
	struct str rest = line, time, prompt, output;
	struct traffic_request r = { 0 };
	double seconds;

	if (!str_split(&rest, ',', &time) || !str_split(&rest, ',', &prompt) || !str_split(&rest, ',', &output) || rest.ptr)
		return bad_line(t, line, e, "three fields are expected: TIMESTAMP,ContextTokens,GeneratedTokens");
	if (!azure_time(str_trim(time), &seconds))
		return bad_line(t, line, e, "the first field is no time such as 2023-11-16 18:17:03.97");
	if (!token_count(prompt, &r.prompt_tokens))
		return bad_line(t, prompt, e, "ContextTokens is no number of tokens");
	if (!token_count(output, &r.output_tokens))
		return bad_line(t, output, e, "GeneratedTokens is no number of tokens");
	return add(t, line, seconds, r, e);
}

static bool hash_ids(struct trace *t, json_t *list, struct traffic_request *r)
{
	uint64_t *ids = ARENA_ARRAY(t->arena, uint64_t, json_array_size(list) + 1);
	size_t i;
	json_t *id;

	json_array_foreach(list, i, id)
	{
		if (!json_is_integer(id))
			return false;
		ids[i] = (uint64_t)json_integer_value(id) + 1;
	}
	r->ids = ids;
	r->id_count = (uint32_t)json_array_size(list);
	r->id_tokens = MOONCAKE_BLOCK;
	return true;
}

static bool mooncake_object(struct trace *t, struct str line, json_t *root, struct error *e)
{
	json_t *time = json_object_get(root, "timestamp"), *in = json_object_get(root, "input_length"),
	       *out = json_object_get(root, "output_length"), *ids = json_object_get(root, "hash_ids");
	struct traffic_request r = { 0 };

	if (!json_is_number(time) || json_number_value(time) < 0)
		return bad_line(t, line, e, "timestamp (milliseconds) is missing or no number");
	if (!json_is_integer(in) || json_integer_value(in) < 0 || json_integer_value(in) > TOKENS_MAX)
		return bad_line(t, line, e, "input_length is missing or no number of tokens");
	if (!json_is_integer(out) || json_integer_value(out) < 0 || json_integer_value(out) > TOKENS_MAX)
		return bad_line(t, line, e, "output_length is missing or no number of tokens");
	if (ids && (!json_is_array(ids) || !hash_ids(t, ids, &r)))
		return bad_line(t, line, e, "hash_ids is no list of integers");
	r.prompt_tokens = (uint32_t)json_integer_value(in) + !json_integer_value(in);
	r.output_tokens = (uint32_t)json_integer_value(out) + !json_integer_value(out);
	return add(t, line, json_number_value(time) / 1e3, r, e);
}

static bool mooncake_line(struct trace *t, struct str line, struct error *e)
{
	json_error_t at;
	json_t *root = json_loadb(line.ptr, line.len, 0, &at);
	bool ok;

	if (!json_is_object(root)) {
		json_decref(root);
		return bad_line(
			t, str_skip(line, root || at.position < 1 ? 0 : (size_t)at.position - 1), e, root ? "not a JSON object" : at.text);
	}
	ok = mooncake_object(t, line, root, e);
	json_decref(root);
	return ok;
}

static bool read_lines(struct trace *t, struct error *e)
{
	struct str rest = t->text, line;
	bool json = str_starts(str_trim(t->text), STR("{")), first = true;

	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (!line.len)
			continue;
		if (!json && first && str_starts(line, STR("TIMESTAMP"))) {
			first = false;
			continue;
		}
		first = false;
		if (!(json ? mooncake_line(t, line, e) : azure_line(t, line, e)))
			return false;
	}
	return true;
}

bool trace_read(struct arena *arena, const char *path, double speed, struct traffic_request **requests, size_t *count, struct error *e)
{
	struct trace t = { .arena = arena, .path = path };
	bool ok;

	if (!file_read(arena, path, TRACE_MAX, &t.text, e))
		return false;
	ok = read_lines(&t, e);
	if (ok && !t.requests.count) {
		ok = error_set(e, EXIT_BAD_INPUT, "%s has no requests", path);
		error_hint(e, "an Azure trace (TIMESTAMP,ContextTokens,GeneratedTokens) or Mooncake JSON lines");
	}
	if (ok) {
		*count = t.requests.count;
		*requests = ARENA_ARRAY(arena, struct traffic_request, *count);
		memcpy(*requests, t.requests.items, *count * sizeof **requests);
		for (size_t i = 0; i < *count; i++)
			(*requests)[i].time /= speed;
	}
	VEC_FREE(&t.requests);
	return ok;
}
