#include "base/base64.h"
#include "base/json_read.h"
#include "model/records_fields.h"

#include <math.h>

enum { MEMBERS_MAX = 64 };

struct loader {
	struct records *records;
	struct arena *arena;
	struct str source, text;
	struct error *error;
	struct json_reader json;
	struct buf scratch;
	struct str seen[MEMBERS_MAX]; /* of the present line */
	size_t seen_count;
	bool has_run;
	bool failed;
};

static bool fault(struct loader *l, const char *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fault(struct loader *l, const char *at, const char *format, ...)
{
	char message[200];
	va_list args;

	if (l->failed)
		return false;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	l->failed = true;
	return error_at(l->error, l->source, l->text, (size_t)(at - l->text.ptr), "%s", message);
}

static bool json_failed(struct loader *l)
{
	return fault(l, l->json.bad ? l->json.bad : l->json.at, "%s", l->json.why ? l->json.why : "no JSON");
}

/* The text in the arena, escapes resolved. */
static bool read_text(struct loader *l, struct str *text)
{
	bool escaped;
	struct str raw;

	if (!json_read_string(&l->json, &raw, &escaped))
		return json_failed(l);
	if (!escaped) {
		*text = raw; /* the file's text lives as long as the records */
		return true;
	}
	buf_reset(&l->scratch);
	json_unescape(raw, &l->scratch);
	*text = arena_str(l->arena, buf_str(&l->scratch));
	return true;
}

static bool read_double(struct loader *l, double *value)
{
	return json_read_double(&l->json, value) || json_failed(l);
}

static bool read_time(struct loader *l, int64_t *ns)
{
	const char *at = l->json.at;
	double ms;

	if (!read_double(l, &ms))
		return false;
	if (!(fabs(ms) <= 3.2e12)) /* 100 years */
		return fault(l, at, "a time of %g ms is beyond 100 years", ms);
	*ns = llround(ms * 1e6);
	return true;
}

static bool read_whole(struct loader *l, int64_t least, int64_t most, int64_t *value)
{
	const char *at = l->json.at;

	if (!json_read_integer(&l->json, value))
		return json_failed(l);
	if (*value < least || *value > most)
		return fault(l, at, "%lld is not between %lld and %lld", (long long)*value, (long long)least, (long long)most);
	return true;
}

static bool read_count(struct loader *l, uint32_t *count)
{
	int64_t value;

	if (!read_whole(l, 0, UINT32_MAX - 1, &value))
		return false;
	*count = (uint32_t)value;
	return true;
}

static bool read_bool(struct loader *l, bool *value)
{
	return json_read_bool(&l->json, value) || json_failed(l);
}

static const struct record_field *find_field(const struct record_field *fields, struct str key)
{
	for (; fields->name; fields++)
		if (str_is(key, fields->name))
			return fields;
	return NULL;
}

static void *member_of(void *object, const struct record_field *f)
{
	return (char *)object + f->offset;
}

/* The same member twice in a line is a mistake of whoever wrote it; which of them counts would be a guess. */
static bool note_member(struct loader *l, struct str key)
{
	for (size_t i = 0; i < l->seen_count; i++)
		if (str_eq(l->seen[i], key))
			return fault(l, key.ptr, "\"" STR_FMT "\" stands twice in this line", STR_ARG(key));
	if (l->seen_count < MEMBERS_MAX)
		l->seen[l->seen_count++] = key;
	return true;
}

static bool unknown_member(struct loader *l, struct str key)
{
	fault(l, key.ptr, "\"" STR_FMT "\" is no member of " RECORDS_SCHEMA, STR_ARG(str_head(key, 60)));
	error_hint(l->error, "a newer goodput may have written this file; members of your own go to \"facts\" of the first line");
	return false;
}

/* ---- the run's line ---- */

static bool read_client(struct loader *l, struct records_run *run)
{
	struct str key;
	const struct record_field *f;
	bool ok = true;

	if (!json_read_object(&l->json))
		return json_failed(l);
	while (ok && json_read_member(&l->json, &key)) {
		if ((f = find_field(client_numbers, key)))
			ok = read_double(l, member_of(run, f));
		else if (str_is(key, "bound"))
			ok = read_bool(l, &run->client_bound);
		else if (str_is(key, "reason"))
			ok = read_text(l, &run->client_reason);
		else
			ok = unknown_member(l, key);
	}
	return ok && (!l->json.bad || json_failed(l));
}

static bool read_facts(struct loader *l, struct records_run *run)
{
	struct str key, value;

	if (!json_read_object(&l->json))
		return json_failed(l);
	while (json_read_member(&l->json, &key)) {
		buf_reset(&l->scratch);
		json_unescape(key, &l->scratch);
		struct str name = arena_str(l->arena, buf_str(&l->scratch));

		if (!read_text(l, &value))
			return false;
		if (!records_fact_add(run, name, value))
			return fault(l, key.ptr, "more than %d facts", RECORDS_FACTS_MAX);
	}
	return !l->json.bad || json_failed(l);
}

static bool read_run_member(struct loader *l, struct records_run *run, struct str key)
{
	const struct record_field *f;
	struct str schema;

	if (str_is(key, "schema")) {
		if (!read_text(l, &schema))
			return false;
		return str_is(schema, RECORDS_SCHEMA) ||
		       fault(l, key.ptr, "schema \"" STR_FMT "\", and only " RECORDS_SCHEMA " is known", STR_ARG(str_head(schema, 60)));
	}
	if ((f = find_field(run_texts, key)))
		return read_text(l, member_of(run, f));
	if ((f = find_field(run_numbers, key)))
		return read_double(l, member_of(run, f));
	if (str_is(key, "window_start"))
		return read_time(l, &run->window_start_ns);
	if (str_is(key, "window_end"))
		return read_time(l, &run->window_end_ns);
	if (str_is(key, "concurrency"))
		return read_count(l, &run->concurrency);
	if (str_is(key, "client"))
		return read_client(l, run);
	if (str_is(key, "partial"))
		return read_bool(l, &run->partial);
	if (str_is(key, "facts"))
		return read_facts(l, run);
	return unknown_member(l, key);
}

static bool read_run(struct loader *l, const char *line)
{
	struct records_run run;
	struct str key;

	records_run_init(&run);
	json_read_object(&l->json);
	while (json_read_member(&l->json, &key))
		if (!note_member(l, key) || !read_run_member(l, &run, key))
			return false;
	if (!json_read_end(&l->json))
		return json_failed(l);
	if (run.window_start_ns != TIMELINE_NEVER && run.window_end_ns != TIMELINE_NEVER && run.window_end_ns < run.window_start_ns)
		return fault(l, line, "window_end is before window_start");
	l->records->run = run;
	l->has_run = true;
	return true;
}

/* ---- a request's line ---- */

static bool read_notes(struct loader *l, uint32_t *notes)
{
	struct str name;

	if (!json_read_array(&l->json))
		return json_failed(l);
	while (json_read_item(&l->json)) {
		const char *at = l->json.at;
		size_t i = 0;

		if (!json_read_string(&l->json, &name, NULL))
			return json_failed(l);
		while (record_notes[i] && !str_is(name, record_notes[i]))
			i++;
		if (!record_notes[i])
			return fault(l, at, "\"" STR_FMT "\" is no note that is known", STR_ARG(str_head(name, 40)));
		*notes |= 1u << i;
	}
	return !l->json.bad || json_failed(l);
}

/* The start is set when the line is whole: "submitted" may follow. */
static bool read_deliveries(struct loader *l, struct timeline *t)
{
	const char *at = l->json.at;
	struct str raw;

	if (!json_read_string(&l->json, &raw, NULL))
		return json_failed(l);
	buf_reset(&l->scratch);
	if (!base64_read(raw, &l->scratch))
		return fault(l, at, "the deliveries are not base64");
	if (!deliveries_load(&t->deliveries, 0, buf_str(&l->scratch)))
		return fault(l, at, "the deliveries are no list of whole varints");
	return true;
}

#define READ_NAME(l, what, find, target)                                                                                                   \
	do {                                                                                                                               \
		const char *at_ = (l)->json.at;                                                                                            \
		struct str name_;                                                                                                          \
                                                                                                                                           \
		if (!json_read_string(&(l)->json, &name_, NULL))                                                                           \
			return json_failed(l);                                                                                             \
		return find(name_, target) || fault(l, at_, "\"" STR_FMT "\" is no %s that is known", STR_ARG(str_head(name_, 40)), what); \
	} while (0)

static bool read_named(struct loader *l, struct timeline *t, struct str key, bool *known)
{
	*known = true;
	if (str_is(key, "outcome"))
		READ_NAME(l, "outcome", timeline_outcome_find, &t->outcome);
	if (str_is(key, "error"))
		READ_NAME(l, "class of errors", timeline_error_find, &t->error);
	if (str_is(key, "basis"))
		READ_NAME(l, "basis of a count", token_basis_find, &t->basis);
	return *known = false;
}

static bool read_small(struct loader *l, struct timeline *t, struct str key, bool *known)
{
	int64_t value = 0;
	bool truth = false, ok;
	struct str text;

	*known = true;
	if (str_is(key, "status")) {
		ok = read_whole(l, 100, 999, &value);
		t->http_status = (uint16_t)value;
	} else if (str_is(key, "retry_after")) {
		ok = read_whole(l, 0, INT64_MAX, &t->retry_after_ms);
	} else if (str_is(key, "attempts")) {
		ok = read_count(l, &t->attempts);
	} else if (str_is(key, "comments")) {
		ok = read_count(l, &t->comments);
	} else if (str_is(key, "bad_events")) {
		ok = read_count(l, &t->bad_events);
	} else if (str_is(key, "evaluation")) {
		ok = read_bool(l, &truth);
		t->evaluation = truth;
	} else if (str_is(key, "warmup")) {
		ok = read_bool(l, &t->warmup);
	} else if (str_is(key, "temperature")) {
		ok = read_double(l, &t->temperature);
	} else if (str_is(key, "session")) {
		ok = read_whole(l, 0, INT64_MAX, &t->session);
	} else if (str_is(key, "turn")) {
		ok = read_count(l, &t->turn);
	} else if (str_is(key, "finish")) {
		if ((ok = read_text(l, &text)))
			timeline_set_finish(t, text);
	} else if (str_is(key, "message")) {
		if ((ok = read_text(l, &text)))
			timeline_set_message(t, text);
	} else {
		*known = ok = false;
	}
	return ok;
}

static bool read_member(struct loader *l, struct timeline *t, struct str key, bool *has_id)
{
	const struct record_field *f;
	int64_t id;
	bool known, ok;

	if (str_is(key, "id")) {
		ok = read_whole(l, 0, INT64_MAX, &id);
		t->id = (uint64_t)id;
		return *has_id = ok;
	}
	if ((f = find_field(record_times, key)))
		return read_time(l, member_of(t, f));
	if ((f = find_field(record_counts, key)))
		return read_count(l, member_of(t, f));
	if ((f = find_field(record_labels, key)))
		return read_text(l, member_of(t, f));
	if (str_is(key, "notes"))
		return read_notes(l, &t->notes);
	if (str_is(key, "deliveries"))
		return read_deliveries(l, t);
	ok = read_named(l, t, key, &known);
	if (!known)
		ok = read_small(l, t, key, &known);
	return known ? ok : unknown_member(l, key);
}

static bool comes_after(int64_t later, int64_t earlier)
{
	return later == TIMELINE_NEVER || earlier == TIMELINE_NEVER || later >= earlier;
}

/* What would give times below 0, or a success that is an error. */
static bool check_record(struct loader *l, const struct timeline *t, const char *line, bool has_id)
{
	bool failed = t->outcome == TIMELINE_ERROR;

	if (!has_id)
		return fault(l, line, "the request has no id");
	if (failed != (t->error != TIMELINE_NO_ERROR))
		return fault(l, line, failed ? "outcome is error, and no error says which" : "an error, but outcome is not error");
	if (!comes_after(t->first_output_ns, t->submitted_ns))
		return fault(l, line, "first_output is before submitted");
	if (!comes_after(t->resubmitted_ns, t->submitted_ns))
		return fault(l, line, "resubmitted is before submitted");
	if (!comes_after(t->first_output_ns, t->resubmitted_ns) || !comes_after(t->completed_ns, t->resubmitted_ns))
		return fault(l, line, "first_output or completed is before resubmitted");
	if (!comes_after(t->first_content_ns, t->first_output_ns))
		return fault(l, line, "first_content is before first_output");
	if (!comes_after(t->last_output_ns, t->first_output_ns))
		return fault(l, line, "last_output is before first_output");
	if (!comes_after(t->completed_ns, t->submitted_ns))
		return fault(l, line, "completed is before submitted");
	if (t->deliveries.count && t->submitted_ns == TIMELINE_NEVER)
		return fault(l, line, "deliveries count from submitted, which is missing");
	return true;
}

static bool read_request(struct loader *l, const char *line)
{
	struct timeline t;
	struct str key;
	bool has_id = false, ok = true;

	timeline_init(&t);
	json_read_object(&l->json);
	while (ok && json_read_member(&l->json, &key))
		ok = note_member(l, key) && read_member(l, &t, key, &has_id);
	if (ok && !json_read_end(&l->json))
		ok = json_failed(l);
	if (ok)
		ok = check_record(l, &t, line, has_id);
	if (!ok) {
		timeline_fini(&t);
		return false;
	}
	t.deliveries.start_ns = t.submitted_ns == TIMELINE_NEVER ? 0 : t.submitted_ns;
	VEC_PUSH(&l->records->requests, t);
	return true;
}

/* A line of the run is told by its first member. */
static bool is_run_line(struct str line)
{
	struct json_reader r;
	struct str key;

	json_reader_init(&r, line);
	return json_read_peek(&r) == JSON_KIND_OBJECT && json_read_object(&r) && json_read_member(&r, &key) && str_is(key, "schema");
}

static bool read_line(struct loader *l, struct str line)
{
	bool is_run = is_run_line(line);

	json_reader_init(&l->json, line);
	l->seen_count = 0;
	if (json_read_peek(&l->json) != JSON_KIND_OBJECT)
		return fault(l, line.ptr, "a line must be one JSON object");
	if (!is_run && !l->has_run) {
		fault(l, line.ptr, "the first line must be the run's: {\"schema\":\"" RECORDS_SCHEMA "\", ...}");
		error_hint(l->error, "is this a file of records? Tables of other tools: see goodput bench report --help");
		return false;
	}
	return is_run ? read_run(l, line.ptr) : read_request(l, line.ptr);
}

void records_init(struct records *r)
{
	*r = (struct records){ 0 };
	records_run_init(&r->run);
}

void records_fini(struct records *r)
{
	VEC_EACH (&r->requests, t)
		timeline_fini(t);
	VEC_FREE(&r->requests);
}

/* A last line without its end, as a run leaves it that was killed while it wrote. */
static bool is_cut(struct str line)
{
	struct json_reader r;

	json_reader_init(&r, line);
	json_read_skip(&r);
	return !json_read_end(&r) && r.bad >= line.ptr + line.len;
}

bool records_read(struct records *r, struct arena *arena, struct str source, struct str text, struct error *e)
{
	struct error own;
	struct loader l = { .records = r, .arena = arena, .source = source, .text = text, .error = e ? e : &own };
	bool ok = true;
	struct str rest = text, line;

	buf_init(&l.scratch, text.len + 1);
	while (ok && rest.len) {
		ptrdiff_t end = str_find(rest, '\n');
		bool whole = end >= 0;

		line = whole ? str_head(rest, (size_t)end) : rest;
		rest = whole ? str_skip(rest, (size_t)end + 1) : STR_EMPTY;
		if (!str_trim(line).len)
			continue;
		if (!whole && l.has_run && is_cut(line))
			r->cut_bytes = line.len;
		else
			ok = read_line(&l, line);
	}
	if (ok && !l.has_run) {
		error_set(e, EXIT_BAD_INPUT, "no records: the file is empty");
		error_source(e, source);
		ok = false;
	}
	buf_fini(&l.scratch);
	return ok;
}
