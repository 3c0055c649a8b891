#include "base/base64.h"
#include "base/json.h"
#include "model/records_fields.h"

#include <math.h>

#define FIELD(name, member)                                                                                                                \
	{                                                                                                                                  \
		name, offsetof(struct timeline, member)                                                                                    \
	}
const struct record_field record_times[] = { FIELD("due", intended_ns), FIELD("submitted", submitted_ns),
	FIELD("resubmitted", resubmitted_ns), FIELD("sent", sent_ns), FIELD("first_byte", first_byte_ns), FIELD("headers", headers_ns),
	FIELD("first_output", first_output_ns), FIELD("first_content", first_content_ns), FIELD("last_output", last_output_ns),
	FIELD("completed", completed_ns), FIELD("closed", closed_ns), { 0 } };
const struct record_field record_counts[] = { FIELD("asked_tokens", asked_tokens), FIELD("prompt_tokens", prompt_tokens),
	FIELD("output_tokens", output_tokens), FIELD("cached_tokens", cached_tokens), FIELD("reasoning_tokens", reasoning_tokens),
	FIELD("first_tokens", tokens_first), { 0 } };
const struct record_field record_labels[] = { FIELD("model", model), FIELD("tenant", tenant), FIELD("pool", pool), FIELD("group", group),
	FIELD("request_id", request_id), { 0 } };
#undef FIELD
#define FIELD(name, member)                                                                                                                \
	{                                                                                                                                  \
		name, offsetof(struct records_run, member)                                                                                 \
	}
const struct record_field run_texts[] = { FIELD("label", label), FIELD("target", target), FIELD("workload", workload),
	FIELD("workload_name", workload_name), { 0 } };
const struct record_field run_numbers[] = { FIELD("start", start_unix), FIELD("rate", rate), FIELD("price_per_hour", price_per_hour),
	{ 0 } };
const struct record_field client_numbers[] = { FIELD("lag_p99_ms", client_lag_p99_ms),
	FIELD("schedule_delay_p99_ms", schedule_delay_p99_ms), FIELD("cpu_share", client_cpu_share), { 0 } };

const char *const record_notes[] = { "missing_done", "no_usage", "several_models", "other_model", "not_streamed", "several_choices",
	"reused", "resent", "after_done", "client_late", "delivery_tokens", NULL };

void records_run_init(struct records_run *run)
{
	*run = (struct records_run){ .start_unix = NAN,
		.window_start_ns = TIMELINE_NEVER,
		.window_end_ns = TIMELINE_NEVER,
		.rate = NAN,
		.concurrency = TIMELINE_UNKNOWN,
		.price_per_hour = NAN,
		.client_lag_p99_ms = NAN,
		.schedule_delay_p99_ms = NAN,
		.client_cpu_share = NAN };
}

bool records_fact_add(struct records_run *run, struct str name, struct str value)
{
	if (run->fact_count == RECORDS_FACTS_MAX)
		return false;
	run->facts[run->fact_count++] = (struct records_fact){ name, value };
	return true;
}

struct str records_fact(const struct records_run *run, const char *name)
{
	for (size_t i = 0; i < run->fact_count; i++)
		if (str_is(run->facts[i].name, name))
			return run->facts[i].value;
	return STR_EMPTY;
}

/* Exact: nanoseconds as milliseconds with up to six decimals. */
static void write_time(struct json *j, const char *key, int64_t ns)
{
	char decimals[8];
	uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	int len = 6;

	if (ns == TIMELINE_NEVER)
		return;
	snprintf(decimals, sizeof decimals, "%06u", (unsigned)(value % 1000000));
	while (len && decimals[len - 1] == '0')
		len--;
	buf_printf(j->out, "%s\"%s\":%s%llu%s%.*s", j->more ? "," : "", key, ns < 0 ? "-" : "", (unsigned long long)(value / 1000000),
		len ? "." : "", len, decimals);
	j->more = true;
}

static const void *member_of(const void *object, const struct record_field *f)
{
	return (const char *)object + f->offset;
}

static void write_texts(struct json *j, const struct record_field *fields, const void *object)
{
	for (const struct record_field *f = fields; f->name; f++)
		json_text_if(j, f->name, *(const struct str *)member_of(object, f));
}

static void write_numbers(struct json *j, const struct record_field *fields, const void *object)
{
	for (const struct record_field *f = fields; f->name; f++)
		json_number(j, f->name, *(const double *)member_of(object, f));
}

void records_write_run(struct buf *out, const struct records_run *run)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR(RECORDS_SCHEMA));
	write_texts(&j, run_texts, run);
	write_numbers(&j, run_numbers, run);
	write_time(&j, "window_start", run->window_start_ns);
	write_time(&j, "window_end", run->window_end_ns);
	if (run->concurrency != TIMELINE_UNKNOWN)
		json_integer(&j, "concurrency", run->concurrency);
	json_open(&j, "client", '{');
	write_numbers(&j, client_numbers, run);
	json_true_if(&j, "bound", run->client_bound);
	json_text_if(&j, "reason", run->client_reason);
	json_close(&j, '}');
	json_true_if(&j, "partial", run->partial);
	json_open(&j, "facts", '{');
	for (size_t i = 0; i < run->fact_count; i++) {
		if (i)
			buf_add_c(out, ',');
		buf_add_json(out, run->facts[i].name);
		buf_add_c(out, ':');
		buf_add_json(out, run->facts[i].value);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

static void write_notes(struct json *j, uint32_t notes)
{
	if (!notes)
		return;
	json_open(j, "notes", '[');
	for (size_t i = 0; record_notes[i]; i++)
		if (notes >> i & 1)
			json_text(j, NULL, str_from(record_notes[i]));
	json_close(j, ']');
}

static void write_outcome(struct json *j, const struct timeline *t)
{
	json_text(j, "outcome", str_from(timeline_outcome_name(t->outcome)));
	if (t->error != TIMELINE_NO_ERROR)
		json_text(j, "error", str_from(timeline_error_name(t->error)));
	if (t->http_status)
		json_integer(j, "status", t->http_status);
	if (t->retry_after_ms >= 0)
		json_integer(j, "retry_after", t->retry_after_ms);
	json_text_if(j, "finish", str_from(t->finish));
	json_text_if(j, "message", str_from(t->message));
}

static void write_deliveries(struct json *j, const struct deliveries *d)
{
	if (!d->count)
		return;
	json_open(j, "deliveries", '"');
	base64_add(j->out, str_of((const char *)d->bytes, d->len));
	json_close(j, '"');
}

void records_write(struct buf *out, const struct timeline *t)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_integer(&j, "id", (int64_t)t->id);
	for (const struct record_field *f = record_times; f->name; f++)
		write_time(&j, f->name, *(const int64_t *)member_of(t, f));
	write_outcome(&j, t);
	for (const struct record_field *f = record_counts; f->name; f++) {
		uint32_t count = *(const uint32_t *)member_of(t, f);

		if (count != TIMELINE_UNKNOWN)
			json_integer(&j, f->name, count);
	}
	if (t->basis != TOKENS_UNKNOWN)
		json_text(&j, "basis", str_from(token_basis_name(t->basis)));
	if (t->attempts != 1)
		json_integer(&j, "attempts", t->attempts);
	if (t->comments)
		json_integer(&j, "comments", t->comments);
	if (t->bad_events)
		json_integer(&j, "bad_events", t->bad_events);
	if (t->evaluation >= 0)
		json_bool(&j, "evaluation", t->evaluation);
	json_true_if(&j, "warmup", t->warmup);
	json_number(&j, "temperature", t->temperature);
	if (t->session >= 0) {
		json_integer(&j, "session", t->session);
		json_integer(&j, "turn", t->turn);
	}
	write_texts(&j, record_labels, t);
	write_notes(&j, t->notes);
	write_deliveries(&j, &t->deliveries);
	json_close(&j, '}');
	buf_add_c(out, '\n');
}
