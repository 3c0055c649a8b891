/* Traces as JSON: Mooncake's lines, vLLM's detailed results, ShareGPT's conversations. */
#include "workload/trace_reader.h"

#include <math.h>
#include <stdlib.h>

enum { MOONCAKE_BLOCK = 512, BYTES_PER_TOKEN = 4 };

static bool json_tokens(struct trace_reader *t, const json_t *value, uint32_t *tokens)
{
	return json_is_integer(value) && trace_tokens(t, json_integer_value(value), tokens);
}

/* ---- Mooncake ---- */

static bool hash_ids(struct trace_reader *t, const json_t *list, struct workload_row *row)
{
	uint64_t *ids = ARENA_ARRAY(t->arena, uint64_t, json_array_size(list) + 1);
	size_t i;
	json_t *id;

	json_array_foreach(list, i, id)
	{
		if (!json_is_integer(id) || json_integer_value(id) < 0)
			return false;
		ids[i] = (uint64_t)json_integer_value(id);
	}
	row->ids = ids;
	row->id_count = (uint32_t)json_array_size(list);
	t->trace->block = MOONCAKE_BLOCK;
	return true;
}

static bool mooncake_object(struct trace_reader *t, struct str line, const json_t *root)
{
	const json_t *time = json_object_get(root, "timestamp"), *ids = json_object_get(root, "hash_ids");
	struct workload_row row = { 0 };

	if (!json_is_number(time) || !(json_number_value(time) >= 0))
		return trace_bad(t, line, "timestamp (milliseconds) is missing or no number");
	if (!json_tokens(t, json_object_get(root, "input_length"), &row.prompt))
		return trace_bad(t, line, "input_length is missing or no number of tokens");
	if (!json_tokens(t, json_object_get(root, "output_length"), &row.output))
		return trace_bad(t, line, "output_length is missing or no number of tokens");
	if (ids && (!json_is_array(ids) || !hash_ids(t, ids, &row)))
		return trace_bad(t, line, "hash_ids is no list of integers");
	return trace_add(t, line, json_number_value(time) / 1e3, row);
}

static bool mooncake_line(struct trace_reader *t, struct str line)
{
	json_error_t at;
	json_t *root = json_loadb(line.ptr, line.len, 0, &at);
	bool ok;

	if (!json_is_object(root)) {
		json_decref(root);
		return trace_bad(
			t, str_skip(line, root || at.position < 1 ? 0 : (size_t)at.position - 1), root ? "not a JSON object" : at.text);
	}
	ok = mooncake_object(t, line, root);
	json_decref(root);
	return ok;
}

bool trace_mooncake(struct trace_reader *t)
{
	struct str rest = t->text, line;

	t->trace->kind = "mooncake";
	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (line.len && !mooncake_line(t, line))
			return false;
	}
	return true;
}

/* ---- vLLM's results ---- */

struct timed_row {
	double seconds;
	size_t index;
	struct workload_row row;
};

static int by_time(const void *a, const void *b)
{
	const struct timed_row *x = a, *y = b;

	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool vllm_row(struct trace_reader *t, const json_t *root, size_t i, struct timed_row *r, bool *failed)
{
	const json_t *error = json_array_get(json_object_get(root, "errors"), i),
		     *start = json_array_get(json_object_get(root, "start_times"), i);

	*failed = json_is_string(error) && *json_string_value(error);
	*r = (struct timed_row){ .index = i, .seconds = json_number_value(start) };
	if (*failed)
		return true;
	return isfinite(r->seconds) && json_tokens(t, json_array_get(json_object_get(root, "input_lens"), i), &r->row.prompt) &&
	       json_tokens(t, json_array_get(json_object_get(root, "output_lens"), i), &r->row.output);
}

/* The lists are in the order of the prompts, not of time. */
static bool vllm_rows(struct trace_reader *t, const json_t *root, struct timed_row *rows, size_t count)
{
	char what[120];
	size_t kept = 0;
	bool failed;

	for (size_t i = 0; i < count; i++) {
		if (!vllm_row(t, root, i, &rows[kept], &failed)) {
			snprintf(what, sizeof what,
				"entry %zu of input_lens, output_lens or start_times is missing or not what it should be", i);
			return trace_bad(t, t->text, what);
		}
		t->trace->failed += failed;
		kept += !failed;
	}
	qsort(rows, kept, sizeof *rows, by_time);
	for (size_t i = 0; i < kept; i++)
		if (!trace_add(t, t->text, rows[i].seconds, rows[i].row))
			return false;
	return true;
}

bool trace_vllm(struct trace_reader *t, json_t *root)
{
	size_t count = json_array_size(json_object_get(root, "input_lens"));
	struct timed_row *rows;
	bool ok;

	t->trace->kind = "vllm-result";
	t->trace->timed = json_array_size(json_object_get(root, "start_times")) > 0;
	if (!count) {
		trace_bad(t, t->text, "this result has no input_lens: the length of each request is not in it");
		error_hint(t->e, "run vllm bench serve with --save-result --save-detailed");
		return false;
	}
	rows = mem_zalloc(count, sizeof *rows);
	ok = vllm_rows(t, root, rows, count);
	mem_free(rows);
	return ok;
}

/* ---- ShareGPT ---- */

static bool is_question(const json_t *message)
{
	const char *from = json_string_value(json_object_get(message, "from"));

	from = from ? from : json_string_value(json_object_get(message, "role"));
	return from && (!strcmp(from, "human") || !strcmp(from, "user") || !strcmp(from, "system"));
}

static size_t message_bytes(const json_t *message)
{
	const json_t *value = json_object_get(message, "value");

	return json_string_length(value ? value : json_object_get(message, "content"));
}

static uint32_t estimate(size_t bytes)
{
	size_t tokens = (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;

	return tokens < 1 ? 1 : tokens > WORKLOAD_TOKENS_MAX ? WORKLOAD_TOKENS_MAX : (uint32_t)tokens;
}

/* A turn is what was asked since the last answer, and the answer. */
static bool conversation(struct trace_reader *t, const json_t *messages, uint32_t session)
{
	size_t asked = 0, i, turns = 0;
	json_t *message;

	json_array_foreach(messages, i, message)
	{
		if (is_question(message)) {
			asked += message_bytes(message);
			continue;
		}
		if (!asked || !message_bytes(message) || turns == WORKLOAD_TURNS_MAX)
			continue;
		struct workload_row row = {
			.prompt = estimate(asked), .output = estimate(message_bytes(message)), .session = session, .follows = turns > 0
		};

		if (!trace_add(t, t->text, 0, row))
			return false;
		asked = 0;
		turns++;
	}
	return true;
}

bool trace_sharegpt(struct trace_reader *t, json_t *root)
{
	char what[80];
	size_t i;
	json_t *item;

	t->trace->kind = "sharegpt";
	t->trace->timed = false;
	t->trace->estimated = true;
	json_array_foreach(root, i, item)
	{
		const json_t *messages = json_object_get(item, "conversations");

		messages = messages ? messages : json_object_get(item, "messages");
		if (!json_is_array(messages)) {
			snprintf(what, sizeof what, "entry %zu has no list \"conversations\"", i);
			return trace_bad(t, t->text, what);
		}
		if (!conversation(t, messages, (uint32_t)i + 1))
			return false;
	}
	return true;
}
