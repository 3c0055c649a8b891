/* Every expected value of a transcript against what came out. The values are built as JSON, so that one comparison serves all. */
#include "transcript.h"

#include <math.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

static json_t *ms(int64_t ns)
{
	return ns == TIMELINE_NEVER ? json_pack("n") : json_pack("f", (double)ns / 1e6);
}

static json_t *number(double value)
{
	return isnan(value) ? json_pack("n") : json_pack("f", value);
}

static json_t *count(uint32_t value)
{
	return value == TIMELINE_UNKNOWN ? json_pack("n") : json_pack("I", (json_int_t)value);
}

static json_t *text(const struct buf *b)
{
	return json_stringn(b->ptr ? b->ptr : "", b->len);
}

static json_t *text_or_null(const char *s)
{
	return s[0] ? json_string(s) : json_pack("n");
}

/* The four lists: gaps, the longest, stalls, tokens of each event. */
static void add_deliveries(json_t *got, const struct timeline *t, double stall_ms)
{
	json_t *gaps = json_array(), *stalls = json_array(), *tokens = json_array();
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	struct delivery d;
	int64_t before = TIMELINE_NEVER;
	double longest = NAN;

	for (; deliveries_next(&cursor, &d); before = d.t_ns) {
		double gap = before == TIMELINE_NEVER ? NAN : (double)(d.t_ns - before) / 1e6;

		json_array_append_new(tokens, json_pack("I", (json_int_t)d.tokens));
		if (isnan(gap))
			continue;
		json_array_append_new(gaps, json_pack("f", gap));
		longest = isnan(longest) || gap > longest ? gap : longest;
		if (gap > stall_ms)
			json_array_append_new(stalls, json_pack("{s:o,s:f}", "start_ms", ms(before), "gap_ms", gap));
	}
	json_object_set_new(got, "gaps_ms", gaps);
	json_object_set_new(got, "max_gap_ms", number(longest));
	json_object_set_new(got, "stalls", stalls);
	json_object_set_new(got, "tokens_per_event", t->notes & TIMELINE_DELIVERY_TOKENS ? json_incref(tokens) : json_pack("n"));
	json_decref(tokens);
}

static json_t *one_choice(const struct openai_choice *c, size_t index, const struct openai_text *said)
{
	return json_pack("{s:i,s:o,s:o,s:i,s:o,s:o}", "index", (int)index, "first_ms", ms(c->first_ns), "last_ms", ms(c->last_ns), "events",
		(int)c->events, "tpot_ms", number(c->events > 1 ? (double)(c->last_ns - c->first_ns) / 1e6 / (c->events - 1) : NAN), "text",
		text(&said->text));
}

static json_t *choices(const struct outcome *o)
{
	json_t *list = json_array();

	json_array_append_new(list, one_choice(&o->stream.first, 0, &o->texts[0]));
	for (size_t i = 0; i < o->stream.other_count && i + 1 < TRANSCRIPT_CHOICES; i++)
		json_array_append_new(list, one_choice(&o->stream.others[i], i + 1, &o->texts[i + 1]));
	return list;
}

static void add_times(json_t *got, const struct timeline *t)
{
	json_object_set_new(got, "first_output_ms", ms(t->first_output_ns));
	json_object_set_new(got, "first_content_ms", ms(t->first_content_ns));
	json_object_set_new(got, "last_output_ms", ms(t->last_output_ns));
	json_object_set_new(got, "completion_ms", ms(t->completed_ns));
	json_object_set_new(got, "close_ms", ms(t->closed_ns));
	json_object_set_new(got, "headers_ms", ms(t->headers_ns));
	json_object_set_new(got, "ttft_ms", number(timeline_ttft_ms(t)));
	json_object_set_new(got, "ttft_content_ms", number(timeline_content_ttft_ms(t)));
	json_object_set_new(got, "tpot_ms", number(timeline_tpot_ms(t)));
	json_object_set_new(got, "tpot_after_first_chunk_ms", number(timeline_tpot_after_first_ms(t)));
	json_object_set_new(got, "e2e_ms", number(timeline_e2e_ms(t)));
	json_object_set_new(got, "tail_ms", number(timeline_tail_ms(t)));
	json_object_set_new(got, "schedule_delay_ms", number(timeline_schedule_delay_ms(t)));
	json_object_set_new(got, "ttft_from_schedule_ms", number(timeline_ttft_due_ms(t)));
	json_object_set_new(got, "e2e_from_schedule_ms", number(timeline_e2e_due_ms(t)));
}

static void add_counts(json_t *got, const struct outcome *o)
{
	const struct timeline *t = &o->timeline;

	json_object_set_new(got, "output_events", json_pack("I", (json_int_t)t->deliveries.count));
	json_object_set_new(got, "output_tokens", count(t->output_tokens));
	json_object_set_new(got, "prompt_tokens", count(t->prompt_tokens));
	json_object_set_new(got, "cached_tokens", count(t->cached_tokens));
	json_object_set_new(got, "reasoning_tokens", count(t->reasoning_tokens));
	json_object_set_new(got, "count_source", t->basis == TOKENS_UNKNOWN ? json_pack("n") : json_string(token_basis_name(t->basis)));
	json_object_set_new(got, "count_exact", json_boolean(t->basis != TOKENS_EVENTS));
	json_object_set_new(got, "single_delivery", json_boolean(timeline_is_single_delivery(t)));
	json_object_set_new(got, "comments", json_pack("I", (json_int_t)t->comments));
	json_object_set_new(got, "bad_events", json_pack("I", (json_int_t)t->bad_events));
}

static void add_outcome(json_t *got, const struct outcome *o)
{
	const struct timeline *t = &o->timeline;

	json_object_set_new(got, "outcome", json_string(timeline_outcome_name(t->outcome)));
	json_object_set_new(got, "error_class", t->error ? json_string(timeline_error_name(t->error)) : json_pack("n"));
	json_object_set_new(got, "http_status", t->http_status ? json_pack("I", (json_int_t)t->http_status) : json_pack("n"));
	json_object_set_new(got, "retry_after_ms", t->retry_after_ms < 0 ? json_pack("n") : json_pack("I", (json_int_t)t->retry_after_ms));
	json_object_set_new(got, "error_message", json_string(t->message));
	json_object_set_new(got, "finish_reason", text_or_null(t->finish));
	json_object_set_new(got, "missing_done", json_boolean(t->notes & TIMELINE_MISSING_DONE));
	json_object_set_new(got, "streamed", json_boolean(!(t->notes & TIMELINE_NOT_STREAMED)));
	json_object_set_new(got, "request_id", text_or_null(o->request_id));
	json_object_set_new(got, "keep_alive", json_boolean(o->keep_alive));
	json_object_set_new(got, "text_len", json_pack("I", (json_int_t)o->texts[0].text.len));
	json_object_set_new(got, "reasoning", text(&o->texts[0].reasoning));
	json_object_set_new(got, "tool_args", text(&o->texts[0].tool_arguments));
}

static bool equal(const json_t *expected, const json_t *got)
{
	size_t i;
	const char *key;
	json_t *value;

	if (json_is_number(expected) && json_is_number(got))
		return fabs(json_number_value(expected) - json_number_value(got)) < 0.0011;
	if (json_is_array(expected) && json_is_array(got)) {
		if (json_array_size(expected) != json_array_size(got))
			return false;
		json_array_foreach((json_t *)expected, i, value) if (!equal(value, json_array_get(got, i))) return false;
		return true;
	}
	if (json_is_object(expected) && json_is_object(got)) {
		json_object_foreach((json_t *)expected, key, value) if (!equal(value, json_object_get(got, key))) return false;
		return true;
	}
	return json_equal((json_t *)expected, (json_t *)got);
}

/* Of the fixture, not of the answer. */
static bool is_input(const char *key)
{
	static const char *const inputs[] = { "name", "about", "layer", "api", "scheduled_ms", "submit_ms", "stall_ms", "deadline_ms",
		NULL };

	for (size_t i = 0; inputs[i]; i++)
		if (strcmp(key, inputs[i]) == 0)
			return true;
	return false;
}

static void print_difference(const char *name, const char *key, const json_t *expected, const json_t *got, const char *how)
{
	char *a = json_dumps(expected, JSON_ENCODE_ANY | JSON_COMPACT), *b = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	printf("FAIL %s: %s: expected %.200s, got %.200s (%s)\n", name, key, a, b ? b : "no such value", how);
	free(a);
	free(b);
}

/* text_sha1 stands for a text too long to list. */
static const char *hex_digest(struct transcript *t, const struct buf *said)
{
	unsigned char bytes[SHA_DIGEST_LENGTH];

	if (t->digest[0] && str_eq(buf_str(said), buf_str(&t->known)))
		return t->digest; /* as with the cut before */
	SHA1((const unsigned char *)(said->ptr ? said->ptr : ""), said->len, bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(t->digest + 2 * i, 3, "%02x", bytes[i]);
	buf_reset(&t->known);
	buf_add(&t->known, buf_str(said));
	return t->digest;
}

size_t transcript_compare(struct transcript *t, const struct outcome *o, const char *name, const char *how)
{
	json_t *got = json_object(), *value, *stall = json_object_get(t->expected, "stall_ms");
	size_t differences = 0;
	const char *key;

	/* Long texts are costly as JSON, and made only where they are compared. */
	if (!json_object_get(t->expected, "text_sha1"))
		json_object_set_new(got, "text", text(&o->texts[0].text));
	if (json_object_get(t->expected, "choices"))
		json_object_set_new(got, "choices", choices(o));
	add_outcome(got, o);
	add_times(got, &o->timeline);
	add_counts(got, o);
	add_deliveries(got, &o->timeline, stall ? json_number_value(stall) : 500);
	json_object_set_new(got, "text_sha1", json_string(hex_digest(t, &o->texts[0].text)));
	json_object_foreach(t->expected, key, value) if (!is_input(key) &&
							 !(strcmp(key, "text") == 0 && json_object_get(t->expected, "text_sha1")) &&
							 !equal(value, json_object_get(got, key)))
	{
		differences++;
		print_difference(name, key, value, json_object_get(got, key), how);
	}
	json_decref(got);
	return differences;
}
