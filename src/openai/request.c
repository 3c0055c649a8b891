#include "openai/request.h"

#include "base/hash.h"
#include "openai/body.h"
#include "openai/field.h"

enum { TOKENS_MAX = 1 << 30, SAFE_DEPTH_TEXT = 200 };

/* ---- what is refused by name ---- */

static bool asks_for(json_t *v)
{
	if (!v || json_is_false(v))
		return false;
	if (json_is_array(v) || json_is_object(v))
		return json_array_size(v) || json_object_size(v);
	if (json_is_integer(v))
		return json_integer_value(v) != 0;
	return !(json_is_string(v) && str_is(json_str(v), "none"));
}

static bool refuse_unsupported(json_t *root, struct openai_error *e)
{
	static const struct {
		const char *name, *what;
	} refused[] = { { "tools", "tool calls" }, { "tool_choice", "tool calls" }, { "functions", "function calls" },
		{ "function_call", "function calls" }, { "logprobs", "log probabilities" }, { "top_logprobs", "log probabilities" },
		{ "prompt_logprobs", "log probabilities" }, { "echo", "echoing the prompt" }, { "suffix", "insertion" },
		{ "use_beam_search", "beam search" }, { "guided_json", "guided output" }, { "guided_regex", "guided output" },
		{ "guided_choice", "guided output" }, { "guided_grammar", "guided output" }, { "structured_outputs", "guided output" },
		{ "prompt_embeds", "prompts as embeddings" }, { "audio", "audio" }, { "return_token_ids", "token ids of its words" },
		{ "return_tokens_as_token_ids", "token ids of its words" }, { "truncate_prompt_tokens", "truncation of prompts" } };

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (asks_for(field_get(root, refused[i].name)))
			return openai_refuse(e, 400, refused[i].name,
				"%s: this is a simulated engine, which does not do %s. Leave the field out.", refused[i].name,
				refused[i].what);
	json_t *format = field_get(root, "response_format"), *type = format ? field_get(format, "type") : NULL;

	if (format && !(json_is_string(type) && str_is(json_str(type), "text")))
		return openai_refuse(e, 400, "response_format",
			"response_format: this is a simulated engine, which does not do guided output; only {\"type\": \"text\"}.");
	return true;
}

/* ---- parts of a body ---- */

static bool parse_model(
	struct arena *arena, json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e)
{
	struct str name = STR_EMPTY;

	if (!field_string(root, "model", &name, e))
		return false;
	r->model = model->names[0];
	if (!name.ptr || !name.len)
		return true;
	for (size_t i = 0; i < model->name_count; i++)
		if (str_eq(name, model->names[i])) {
			r->model = model->names[i];
			return true;
		}
	return openai_refuse(e, 404, "model", "The model `" STR_FMT "` does not exist.", STR_ARG(str_head(name, SAFE_DEPTH_TEXT)));
}

static bool parse_stops(struct arena *arena, json_t *root, struct openai_request *r, struct openai_error *e)
{
	json_t *stop = field_get(root, "stop");
	size_t count = json_is_array(stop) ? json_array_size(stop) : stop ? 1 : 0;

	if (count > OPENAI_STOPS_MAX)
		return openai_refuse(e, 400, "stop", "stop: at most %d strings, got %zu.", OPENAI_STOPS_MAX, count);
	for (size_t i = 0; i < count; i++) {
		json_t *one = json_is_array(stop) ? json_array_get(stop, i) : stop;

		if (!json_is_string(one))
			return openai_invalid(e, "string_type", "stop", "Input should be a valid string");
		if (!json_string_length(one))
			return openai_refuse(e, 400, "stop", "stop cannot contain an empty string.");
		r->stops[r->stop_count++] = arena_str(arena, json_str(one));
	}
	return field_bool(root, "include_stop_str_in_output", &r->include_stop, e);
}

static bool parse_stream(json_t *root, struct openai_request *r, struct openai_error *e)
{
	json_t *options = field_get(root, "stream_options");

	if (!field_bool(root, "stream", &r->stream, e))
		return false;
	if (!options)
		return true;
	if (!json_is_object(options))
		return openai_invalid(e, "model_type", "stream_options", "Input should be a valid dictionary");
	if (!r->stream)
		return openai_refuse(e, 400, "stream_options", "Stream options can only be defined when `stream=True`.");
	return field_bool(options, "include_usage", &r->include_usage, e) &&
	       field_bool(options, "continuous_usage_stats", &r->continuous_usage, e);
}

static bool parse_sampling(json_t *root, struct openai_request *r, struct openai_error *e)
{
	int64_t n = 1, best_of = 0, priority = 0;
	double top_p = 1;
	struct str salt = STR_EMPTY;

	r->temperature = 1;
	if (!field_integer(root, "n", 1, OPENAI_CHOICES_MAX, &n, e) ||
		!field_integer(root, "best_of", 1, OPENAI_CHOICES_MAX, &best_of, e) ||
		!field_integer(root, "priority", INT32_MIN, INT32_MAX, &priority, e) ||
		!field_number(root, "temperature", &r->temperature, e) || !field_number(root, "top_p", &top_p, e) ||
		!field_bool(root, "ignore_eos", &r->ignore_eos, e) || !field_string(root, "cache_salt", &salt, e))
		return false;
	if (best_of && best_of != n)
		return openai_refuse(e, 400, "best_of", "best_of must equal n here: a simulated engine has nothing to rank by.");
	if (!(r->temperature >= 0))
		return openai_refuse(e, 400, "temperature", "temperature must be non-negative, got %g.", r->temperature);
	if (!(top_p > 0 && top_p <= 1))
		return openai_refuse(e, 400, "top_p", "top_p must be in (0, 1], got %g.", top_p);
	if (!r->temperature && n > 1)
		return openai_refuse(e, 400, "n", "n must be 1 when using greedy sampling, got %d.", (int)n);
	r->n = (uint32_t)n;
	r->priority = (int32_t)priority;
	r->salt = salt.len ? hash_bytes(salt.ptr, salt.len) : 0;
	return true;
}

static uint32_t longest_prompt(const struct openai_request *r)
{
	uint32_t longest = 0;

	for (size_t i = 0; i < r->prompt_count; i++)
		longest = r->prompts[i].tokens > longest ? r->prompts[i].tokens : longest;
	return longest;
}

static bool check_context(const struct openai_request *r, const struct openai_model *model, struct openai_error *e)
{
	uint32_t prompt = longest_prompt(r);
	const char *where = r->chat ? "messages" : "prompt";

	if (prompt >= model->max_model_len)
		return openai_refuse(e, 400, NULL,
			"This model's maximum context length is %u tokens. However, your request has %u input tokens. Please reduce the "
			"length of "
			"the input messages.",
			model->max_model_len, prompt);
	if (r->max_tokens_given && (uint64_t)prompt + r->max_tokens > model->max_model_len)
		return openai_refuse(e, 400, NULL,
			"This model's maximum context length is %u tokens. However, you requested %llu tokens (%u in the %s, %u in the "
			"completion). Please reduce the length of the %s or completion.",
			model->max_model_len, (unsigned long long)prompt + r->max_tokens, prompt, where, r->max_tokens, where);
	return true;
}

static bool parse_lengths(json_t *root, const struct openai_model *model, struct openai_request *r, struct openai_error *e)
{
	int64_t most = -1, least = 0;

	if (!field_integer(root, "max_tokens", 1, TOKENS_MAX, &most, e) ||
		(r->chat && !field_integer(root, "max_completion_tokens", 1, TOKENS_MAX, &most, e)) ||
		!field_integer(root, "min_tokens", 0, TOKENS_MAX, &least, e))
		return false;
	r->max_tokens_given = most >= 0;
	r->max_tokens = most >= 0 ? (uint32_t)most : r->chat ? model->max_model_len : 16;
	r->max_tokens_given |= !r->chat; /* completions: 16 unless given */
	r->min_tokens = (uint32_t)least;
	if (r->max_tokens_given && r->min_tokens > r->max_tokens)
		return openai_refuse(e, 400, "min_tokens", "min_tokens must be less than or equal to max_tokens=%u, got %u.", r->max_tokens,
			r->min_tokens);
	return check_context(r, model, e);
}

static bool parse_transfer(json_t *root, struct openai_request *r, struct openai_error *e)
{
	json_t *params = field_get(root, "kv_transfer_params");
	bool decode = false;

	if (!params)
		return true;
	if (!json_is_object(params))
		return openai_invalid(e, "dict_type", "kv_transfer_params", "Input should be a valid dictionary");
	if (!field_bool(params, "do_remote_prefill", &r->do_remote_prefill, e) || !field_bool(params, "do_remote_decode", &decode, e))
		return false;
	if (decode)
		return openai_refuse(e, 400, "kv_transfer_params",
			"do_remote_decode: this simulated engine does not hold KV blocks for another server; it is a decode or mixed one.");
	return true;
}

/* ---- the whole ---- */

static json_t *load(struct str body, struct openai_error *e)
{
	json_error_t error;
	json_t *root = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_ALLOW_NUL, &error);

	if (!root) {
		openai_invalid(e, "json_invalid", NULL, "JSON decode error at line %d column %d (char %d): %s", error.line, error.column,
			error.position, error.text);
	} else if (!json_is_object(root)) {
		json_decref(root);
		root = NULL;
		openai_invalid(e, "model_attributes_type", NULL, "Input should be a valid dictionary or object to extract fields from");
	}
	return root;
}

bool openai_parse(
	struct arena *arena, bool chat, struct str body, const struct openai_model *model, struct openai_request *r, struct openai_error *e)
{
	struct str id = STR_EMPTY;
	json_t *root = load(body, e);
	bool ok;

	if (!root)
		return false;
	*r = (struct openai_request){ .chat = chat, .n = 1 };
	ok = parse_model(arena, root, model, r, e) && refuse_unsupported(root, e) &&
	     (chat ? body_messages(arena, root, model, r, e) : body_prompts(arena, root, model, r, e)) && parse_stream(root, r, e) &&
	     parse_sampling(root, r, e) && parse_stops(arena, root, r, e) && parse_lengths(root, model, r, e) &&
	     parse_transfer(root, r, e) && field_string(root, "request_id", &id, e);
	if (ok && id.ptr)
		r->request_id = arena_str(arena, str_head(id, SAFE_DEPTH_TEXT));
	json_decref(root);
	return ok;
}

uint32_t openai_room(const struct openai_request *r, const struct prompt *p, uint32_t max_model_len)
{
	uint32_t room = max_model_len - p->tokens;

	return r->max_tokens < room ? r->max_tokens : room;
}

bool openai_parse_tokenize(struct arena *arena, struct str body, const struct openai_model *model, uint32_t *tokens, struct openai_error *e)
{
	struct openai_request r = { 0 };
	json_t *root = load(body, e);
	bool ok;

	if (!root)
		return false;
	r.chat = field_get(root, "messages") != NULL;
	ok = parse_model(arena, root, model, &r, e) &&
	     (r.chat ? body_messages(arena, root, model, &r, e) : body_prompts(arena, root, model, &r, e));
	for (size_t i = 0; ok && i < r.prompt_count; i++)
		*tokens += r.prompts[i].tokens;
	json_decref(root);
	return ok;
}
