#include "base/number.h"
#include "model/records.h"

#include <math.h>

enum { COLUMNS_MAX = 128 };

enum column {
	COLUMN_NONE,
	COLUMN_ID,
	COLUMN_START, /* times: the unit is beside */
	COLUMN_DUE,
	COLUMN_TTFT,
	COLUMN_TPOT,
	COLUMN_E2E,
	COLUMN_OUTPUT,
	COLUMN_PROMPT,
	COLUMN_CACHED,
	COLUMN_STATUS,
	COLUMN_OUTCOME,
	COLUMN_ERROR,
	COLUMN_MESSAGE,
	COLUMN_FINISH,
	COLUMN_MODEL,
	COLUMN_TENANT,
	COLUMN_POOL,
	COLUMN_GROUP,
	COLUMN_TEMPERATURE,
	COLUMN_ATTEMPTS,
	COLUMN_COUNT
};

static const struct {
	const char *name;
	enum column column;
} names[] = {
	{ "id", COLUMN_ID },
	{ "request_id", COLUMN_ID },
	{ "output_tokens", COLUMN_OUTPUT },
	{ "completion_tokens", COLUMN_OUTPUT },
	{ "output_len", COLUMN_OUTPUT },
	{ "prompt_tokens", COLUMN_PROMPT },
	{ "input_tokens", COLUMN_PROMPT },
	{ "prompt_len", COLUMN_PROMPT },
	{ "input_len", COLUMN_PROMPT },
	{ "cached_tokens", COLUMN_CACHED },
	{ "http_status", COLUMN_STATUS },
	{ "status", COLUMN_STATUS },
	{ "outcome", COLUMN_OUTCOME },
	{ "error", COLUMN_ERROR },
	{ "error_class", COLUMN_ERROR },
	{ "message", COLUMN_MESSAGE },
	{ "error_message", COLUMN_MESSAGE },
	{ "finish_reason", COLUMN_FINISH },
	{ "finish", COLUMN_FINISH },
	{ "model", COLUMN_MODEL },
	{ "tenant", COLUMN_TENANT },
	{ "pool", COLUMN_POOL },
	{ "group", COLUMN_GROUP },
	{ "route", COLUMN_GROUP },
	{ "temperature", COLUMN_TEMPERATURE },
	{ "attempts", COLUMN_ATTEMPTS },
};

/* With a unit behind: start_s, ttft_ms ... */
static const struct {
	const char *name;
	enum column column;
} times[] = {
	{ "start", COLUMN_START },
	{ "submitted", COLUMN_START },
	{ "due", COLUMN_DUE },
	{ "scheduled", COLUMN_DUE },
	{ "intended", COLUMN_DUE },
	{ "ttft", COLUMN_TTFT },
	{ "tpot", COLUMN_TPOT },
	{ "e2e", COLUMN_E2E },
	{ "e2el", COLUMN_E2E },
	{ "latency", COLUMN_E2E },
	{ "request_latency", COLUMN_E2E },
};

static const struct {
	const char *suffix;
	double ns;
} units[] = { { "_s", 1e9 }, { "_ms", 1e6 }, { "_us", 1e3 }, { "_ns", 1 } };

struct table {
	struct arena *arena;
	struct str source, text;
	struct error *error;
	char separator;
	enum column columns[COLUMNS_MAX];
	double unit_ns[COLUMNS_MAX];
	size_t count;
	bool has[COLUMN_COUNT];
};

/* One row's values, before they are put together. NEVER where the field is empty. */
struct row {
	int64_t time_ns[COLUMN_COUNT];
	struct str outcome, error;
};

/* Lower case, '-' and blanks as '_'. */
static struct str plain_name(struct arena *arena, struct str name)
{
	char *text = arena_cstr(arena, str_trim(name));

	for (char *c = text; *c; c++) {
		if (*c == '-' || *c == ' ')
			*c = '_';
		else if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c + ('a' - 'A'));
	}
	return str_from(text);
}

static enum column find_column(struct str name, double *unit_ns)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_is(name, names[i].name))
			return names[i].column;
	for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
		struct str suffix = str_from(units[u].suffix);

		if (!str_ends(name, suffix))
			continue;
		for (size_t i = 0; i < sizeof times / sizeof *times; i++)
			if (str_is(str_head(name, name.len - suffix.len), times[i].name)) {
				*unit_ns = units[u].ns;
				return times[i].column;
			}
	}
	return COLUMN_NONE;
}

static bool fault(struct table *t, struct str field, const char *what)
{
	return error_at(t->error, t->source, t->text, (size_t)(field.ptr - t->text.ptr), "%s", what);
}

static struct str unquoted(struct str field)
{
	field = str_trim(field);
	if (field.len >= 2 && field.ptr[0] == '"' && field.ptr[field.len - 1] == '"')
		field = str_of(field.ptr + 1, field.len - 2);
	return field;
}

static bool read_header(struct table *t, struct str line, struct buf *ignored)
{
	struct str rest = line, field;

	t->separator = str_find(line, '\t') >= 0 ? '\t' : ',';
	while (str_split(&rest, t->separator, &field)) {
		if (t->count == COLUMNS_MAX)
			return fault(t, field, "more than 128 columns");
		struct str name = plain_name(t->arena, unquoted(field));
		enum column c = find_column(name, &t->unit_ns[t->count]);

		if (c != COLUMN_NONE && t->has[c])
			return fault(t, field, "a second column for the same thing");
		if (c == COLUMN_NONE)
			buf_printf(ignored, "%s" STR_FMT, ignored->len ? ", " : "", STR_ARG(name));
		t->has[c] = c != COLUMN_NONE;
		t->columns[t->count++] = c;
	}
	if (t->has[COLUMN_TTFT] || t->has[COLUMN_E2E] || t->has[COLUMN_OUTCOME])
		return true;
	fault(t, line, "no column that is known: neither ttft_ms nor e2e_ms nor outcome");
	error_hint(t->error, "the first line names the columns: id, start_s, ttft_ms, e2e_ms, output_tokens, http_status, outcome");
	return false;
}

static bool set_time(struct table *t, struct row *row, enum column c, struct str field, double unit_ns)
{
	double value;

	if (!number_parse(field, &value) || !isfinite(value) || fabs(value * unit_ns) > 3.2e18)
		return fault(t, field, "a time that is no number");
	if (value < 0 && c != COLUMN_START && c != COLUMN_DUE)
		return fault(t, field, "a duration below 0");
	row->time_ns[c] = llround(value * unit_ns);
	return true;
}

static bool set_count(struct table *t, struct str field, int64_t most, uint32_t *count)
{
	double value;

	if (!number_parse(field, &value) || value != floor(value) || value < 0 || value > (double)most)
		return fault(t, field, "a count that is no whole number in its bounds");
	*count = (uint32_t)value;
	return true;
}

static bool set_field(struct table *t, struct timeline *r, struct row *row, size_t column, struct str field)
{
	uint32_t count = 0;
	int64_t id;

	switch (t->columns[column]) {
	case COLUMN_ID:
		r->request_id = field;
		if (number_parse_i64(field, &id) && id >= 0)
			r->id = (uint64_t)id;
		return true;
	case COLUMN_START:
	case COLUMN_DUE:
	case COLUMN_TTFT:
	case COLUMN_TPOT:
	case COLUMN_E2E: return set_time(t, row, t->columns[column], field, t->unit_ns[column]);
	case COLUMN_OUTPUT: return set_count(t, field, TIMELINE_UNKNOWN - 1, &r->output_tokens);
	case COLUMN_PROMPT: return set_count(t, field, TIMELINE_UNKNOWN - 1, &r->prompt_tokens);
	case COLUMN_CACHED: return set_count(t, field, TIMELINE_UNKNOWN - 1, &r->cached_tokens);
	case COLUMN_ATTEMPTS: return set_count(t, field, TIMELINE_UNKNOWN - 1, &r->attempts);
	case COLUMN_STATUS:
		if (!set_count(t, field, 999, &count))
			return false;
		r->http_status = (uint16_t)count;
		return true;
	case COLUMN_TEMPERATURE: return number_parse(field, &r->temperature) || fault(t, field, "a temperature that is no number");
	case COLUMN_OUTCOME: row->outcome = field; return true;
	case COLUMN_ERROR: row->error = field; return true;
	case COLUMN_MESSAGE: timeline_set_message(r, field); return true;
	case COLUMN_FINISH: timeline_set_finish(r, field); return true;
	case COLUMN_MODEL: r->model = field; return true;
	case COLUMN_TENANT: r->tenant = field; return true;
	case COLUMN_POOL: r->pool = field; return true;
	case COLUMN_GROUP: r->group = field; return true;
	case COLUMN_NONE:
	case COLUMN_COUNT: break;
	}
	return true;
}

static void set_times(struct timeline *r, const struct row *row)
{
	const int64_t *ns = row->time_ns;

	r->intended_ns = ns[COLUMN_DUE];
	r->submitted_ns = ns[COLUMN_START] != TIMELINE_NEVER ? ns[COLUMN_START] : ns[COLUMN_DUE] != TIMELINE_NEVER ? ns[COLUMN_DUE] : 0;
	if (ns[COLUMN_TTFT] != TIMELINE_NEVER)
		r->first_output_ns = r->submitted_ns + ns[COLUMN_TTFT];
	if (ns[COLUMN_E2E] != TIMELINE_NEVER)
		r->completed_ns = r->closed_ns = r->submitted_ns + ns[COLUMN_E2E];
	if (r->first_output_ns == TIMELINE_NEVER)
		return;
	if (ns[COLUMN_TPOT] != TIMELINE_NEVER && r->output_tokens != TIMELINE_UNKNOWN && r->output_tokens > 1)
		r->last_output_ns = r->first_output_ns + ns[COLUMN_TPOT] * (r->output_tokens - 1);
	else
		r->last_output_ns = r->completed_ns;
}

static enum timeline_error status_error(uint16_t status)
{
	if (status == 429)
		return TIMELINE_HTTP_429;
	if (status >= 400 && status < 500)
		return TIMELINE_HTTP_4XX;
	return status >= 500 && status < 600 ? TIMELINE_HTTP_5XX : TIMELINE_OTHER;
}

/* Other people's words for how a request ended. */
static const struct {
	const char *word;
	enum timeline_outcome outcome;
	enum timeline_error error; /* NO_ERROR of an error: by the status */
} outcome_words[] = {
	{ "success", TIMELINE_OK, TIMELINE_NO_ERROR },
	{ "successful", TIMELINE_OK, TIMELINE_NO_ERROR },
	{ "completed", TIMELINE_OK, TIMELINE_NO_ERROR },
	{ "true", TIMELINE_OK, TIMELINE_NO_ERROR },
	{ "1", TIMELINE_OK, TIMELINE_NO_ERROR },
	{ "empty", TIMELINE_ERROR, TIMELINE_EMPTY },
	{ "fail", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "failed", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "failure", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "errored", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "rejected", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "false", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "0", TIMELINE_ERROR, TIMELINE_NO_ERROR },
	{ "timed_out", TIMELINE_ERROR, TIMELINE_TIMEOUT },
	{ "refused", TIMELINE_ERROR, TIMELINE_CONNECT },
	{ "incomplete", TIMELINE_ERROR, TIMELINE_TRUNCATED },
	{ "partial", TIMELINE_ERROR, TIMELINE_TRUNCATED },
	{ "disconnected", TIMELINE_ERROR, TIMELINE_RESET },
	{ "cancelled_by_client", TIMELINE_ERROR, TIMELINE_OTHER }, /* a user who gave up is not served well */
	{ "cancelled_by_user", TIMELINE_ERROR, TIMELINE_OTHER },
	{ "canceled", TIMELINE_CANCELLED, TIMELINE_NO_ERROR },
	{ "cancelled_by_run", TIMELINE_CANCELLED, TIMELINE_NO_ERROR },
	{ "canceled_by_run", TIMELINE_CANCELLED, TIMELINE_NO_ERROR },
	{ "dropped", TIMELINE_UNSENT, TIMELINE_NO_ERROR },
	{ "not_sent", TIMELINE_UNSENT, TIMELINE_NO_ERROR },
};

/* False: no word that is known. Without a word the status and the times tell. */
static bool find_outcome(struct timeline *r, struct str word)
{
	enum timeline_error error;

	if (!word.len) {
		bool nothing = r->first_output_ns == TIMELINE_NEVER && r->completed_ns == TIMELINE_NEVER;

		r->outcome = r->http_status >= 400 || nothing || r->error != TIMELINE_NO_ERROR ? TIMELINE_ERROR : TIMELINE_OK;
		return true;
	}
	if (timeline_outcome_find(word, &r->outcome))
		return true;
	for (size_t i = 0; i < sizeof outcome_words / sizeof *outcome_words; i++)
		if (str_eq_nocase(word, str_from(outcome_words[i].word))) {
			r->outcome = outcome_words[i].outcome;
			if (outcome_words[i].error != TIMELINE_NO_ERROR)
				r->error = outcome_words[i].error;
			return true;
		}
	if (!timeline_error_find(word, &error) || error == TIMELINE_NO_ERROR)
		return false;
	r->outcome = TIMELINE_ERROR; /* "reset", "truncated" as an outcome */
	r->error = error;
	return true;
}

static bool set_outcome(struct table *t, struct timeline *r, const struct row *row)
{
	bool named = row->error.len && timeline_error_find(row->error, &r->error) && r->error != TIMELINE_NO_ERROR;

	if (!find_outcome(r, row->outcome)) {
		fault(t, row->outcome, "no outcome that is known");
		error_hint(t->error,
			"ok, error, timeout, rejected, cancelled_by_run, unsent ..., or a class of errors (docs/formats/records.md)");
		return false;
	}
	if (r->outcome == TIMELINE_OK && r->http_status >= 400)
		r->outcome = TIMELINE_ERROR; /* the status knows better */
	if (r->outcome != TIMELINE_ERROR)
		r->error = TIMELINE_NO_ERROR;
	else if (r->error == TIMELINE_NO_ERROR)
		r->error = status_error(r->http_status);
	if (r->outcome == TIMELINE_ERROR && !named && row->error.len && !r->message[0])
		timeline_set_message(r, row->error);
	if (r->output_tokens != TIMELINE_UNKNOWN)
		r->basis = TOKENS_ELSEWHERE;
	return true;
}

static bool read_row(struct table *t, struct records *records, struct str line)
{
	struct str rest = line, field;
	struct timeline r;
	struct row row = { 0 };
	size_t column = 0;

	timeline_init(&r);
	r.id = records->requests.count;
	for (int c = 0; c < COLUMN_COUNT; c++)
		row.time_ns[c] = TIMELINE_NEVER;
	for (; str_split(&rest, t->separator, &field); column++) {
		field = unquoted(field);
		if (column >= t->count) {
			if (field.len)
				return fault(t, field, "more fields than the header has columns");
			continue;
		}
		if (field.len && !set_field(t, &r, &row, column, field))
			return false;
	}
	set_times(&r, &row);
	if (!set_outcome(t, &r, &row))
		return false;
	if (r.first_output_ns != TIMELINE_NEVER && r.completed_ns != TIMELINE_NEVER && r.completed_ns < r.first_output_ns)
		return fault(t, line, "e2e is below ttft");
	VEC_PUSH(&records->requests, r);
	return true;
}

bool records_read_table(struct records *r, struct arena *arena, struct str source, struct str text, struct buf *ignored, struct error *e)
{
	struct table t = { .arena = arena, .source = source, .text = text, .error = e };
	struct str rest = text, line;
	bool has_header = false;

	while (str_split(&rest, '\n', &line)) {
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (!str_trim(line).len || line.ptr[0] == '#')
			continue;
		if (!(has_header ? read_row(&t, r, line) : read_header(&t, line, ignored)))
			return false;
		has_header = true;
	}
	if (r->requests.count)
		return true;
	error_set(e, EXIT_BAD_INPUT, "no requests: %s", has_header ? "only a header line" : "the file is empty");
	error_source(e, source);
	return false;
}
