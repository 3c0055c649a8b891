#include "expo/remote_write.h"

#include "base/map.h"
#include "base/number.h"
#include "expo/snappy.h"
#include "expo/wire.h"

#include <stdio.h>

enum { SERIES_KNOWN_MAX = 4000000 };

/* Field numbers. */
enum { REQUEST_SERIES = 1, SERIES_LABEL = 1, SERIES_SAMPLE = 2, SERIES_HISTOGRAM = 4, LABEL_TEXT_NAME = 1, LABEL_TEXT_VALUE = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME = 2 };

/* One TimeSeries while it is read; used again for the next. */
struct series_reader {
	VEC(struct label) labels;
	VEC(struct remote_sample) samples;
	size_t histograms;
	struct str label_bytes; /* the encoded labels when they stand together, as all senders write them; else empty */
	bool labels_stand_together;
};

static void series_reader_fini(struct series_reader *r)
{
	VEC_FREE(&r->labels);
	VEC_FREE(&r->samples);
}

static bool read_label(struct str message, struct label *label)
{
	struct wire_field f;
	enum wire_status status;
	*label = (struct label){ STR(""), STR("") };
	while ((status = wire_next(&message, &f)) == WIRE_FIELD) {
		if (f.number <= LABEL_TEXT_VALUE && f.type != WIRE_BYTES)
			return false;
		if (f.number == LABEL_TEXT_NAME)
			label->name = f.bytes;
		else if (f.number == LABEL_TEXT_VALUE)
			label->value = f.bytes;
	}
	return status == WIRE_END;
}

/* As all senders write it: a value, then a time of six bytes (from 1978 to 2109), and nothing else. */
static bool read_usual_sample(struct str message, struct remote_sample *sample)
{
	const unsigned char *at = (const unsigned char *)message.ptr;
	if (message.len != 16 || at[0] != (SAMPLE_VALUE << 3 | WIRE_FIXED64) || at[9] != (SAMPLE_TIME << 3 | WIRE_VARINT) || at[15] >= 0x80)
		return false;
	uint64_t bits = 0, t = 0;
	unsigned more = 0x80;
	for (int i = 8; i >= 1; i--)
		bits = bits << 8 | at[i];
	for (int i = 15; i >= 10; i--) {
		t = t << 7 | (at[i] & 0x7f);
		more &= i < 15 ? at[i] : 0x80;
	}
	*sample = (struct remote_sample){ number_from_bits(bits), (int64_t)t };
	return more != 0;
}

static bool read_sample(struct str message, struct remote_sample *sample)
{
	struct wire_field f;
	enum wire_status status;
	if (read_usual_sample(message, sample))
		return true;
	*sample = (struct remote_sample){ 0 }; /* proto3 leaves zeros out */
	while ((status = wire_next(&message, &f)) == WIRE_FIELD) {
		if (f.number == SAMPLE_VALUE && f.type == WIRE_FIXED64)
			sample->value = number_from_bits(f.value);
		else if (f.number == SAMPLE_TIME && f.type == WIRE_VARINT)
			sample->t_ms = (int64_t)f.value;
		else if (f.number <= SAMPLE_TIME)
			return false;
	}
	return status == WIRE_END;
}

/* Remembers where the labels are; decoding them waits until somebody wants them. */
static void label_seen(struct series_reader *r, const char *from, struct str label)
{
	const char *end = label.ptr + label.len;
	if (!r->label_bytes.ptr)
		r->label_bytes = str_of(from, (size_t)(end - from));
	else if (r->label_bytes.ptr + r->label_bytes.len == from)
		r->label_bytes.len += (size_t)(end - from);
	else
		r->labels_stand_together = false;
}

/* With `decode` labels too, else only where they are. */
static bool read_series(struct series_reader *r, struct str message, bool decode)
{
	struct wire_field f;
	enum wire_status status;
	r->labels.count = r->samples.count = r->histograms = 0;
	r->label_bytes = STR_EMPTY;
	r->labels_stand_together = true;
	for (const char *from = message.ptr; (status = wire_next(&message, &f)) == WIRE_FIELD; from = message.ptr) {
		if (f.number <= SERIES_HISTOGRAM && f.type != WIRE_BYTES)
			return false;
		if (f.number == SERIES_SAMPLE) {
			VEC_RESERVE(&r->samples, r->samples.count + 1);
			if (!read_sample(f.bytes, &r->samples.items[r->samples.count++]))
				return false;
		} else if (f.number == SERIES_LABEL) {
			label_seen(r, from, f.bytes);
			if (!decode)
				continue;
			VEC_RESERVE(&r->labels, r->labels.count + 1);
			if (!read_label(f.bytes, &r->labels.items[r->labels.count++]))
				return false;
		}
		r->histograms += f.number == SERIES_HISTOGRAM;
	}
	return status == WIRE_END;
}

static bool not_a_request(struct error *e, struct str message, struct str rest)
{
	return error_set(
		e, EXIT_BAD_INPUT, "no valid prometheus.WriteRequest: broken before byte %zu of %zu", message.len - rest.len, message.len);
}

/* Calls `each` for all series; stops when it returns false. */
static bool series_walk(
	struct str message, bool decode, bool (*each)(void *context, struct series_reader *r), void *context, struct error *e)
{
	struct series_reader r = { 0 };
	struct str rest = message;
	struct wire_field f;
	enum wire_status status;
	bool ok = true;
	while (ok && (status = wire_next(&rest, &f)) != WIRE_END) {
		ok = status == WIRE_FIELD && (f.number != REQUEST_SERIES || f.type == WIRE_BYTES);
		if (ok && f.number == REQUEST_SERIES)
			ok = read_series(&r, f.bytes, decode) && each(context, &r);
	}
	series_reader_fini(&r);
	return ok || not_a_request(e, message, rest);
}

struct visitor {
	void (*visit)(void *, const struct remote_series *);
	void *context;
};

static bool visit_one(void *context, struct series_reader *r)
{
	struct visitor *v = context;
	struct remote_series s = { r->labels.items, r->labels.count, r->samples.items, r->samples.count, r->histograms };
	v->visit(v->context, &s);
	return true;
}

bool remote_write_read(struct str message, void (*visit)(void *context, const struct remote_series *series), void *context, struct error *e)
{
	struct visitor v = { visit, context };
	return series_walk(message, true, visit_one, &v, e);
}

static size_t varint_size(uint64_t value)
{
	size_t size = 1;
	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		buf_add_c(out, (char)(value | 0x80));
	buf_add_c(out, (char)value);
}

static size_t text_size(struct str text)
{
	return 1 + varint_size(text.len) + text.len;
}

static void put_text(struct buf *out, unsigned number, struct str text)
{
	buf_add_c(out, (char)(number << 3 | WIRE_BYTES));
	put_varint(out, text.len);
	buf_add(out, text);
}

static size_t sample_size(const struct remote_sample *s)
{
	return 9 + 1 + varint_size((uint64_t)s->t_ms);
}

static void put_sample(struct buf *out, const struct remote_sample *s)
{
	uint64_t bits = number_bits(s->value);
	buf_add_c(out, SERIES_SAMPLE << 3 | WIRE_BYTES);
	put_varint(out, sample_size(s));
	buf_add_c(out, SAMPLE_VALUE << 3 | WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		buf_add_c(out, (char)(bits >> (8 * i)));
	buf_add_c(out, SAMPLE_TIME << 3 | WIRE_VARINT);
	put_varint(out, (uint64_t)s->t_ms);
}

void remote_write_labels(struct buf *out, const struct labels *labels)
{
	for (uint32_t i = 0; i < labels->count; i++) {
		const struct label *l = &labels->items[i];
		buf_add_c(out, SERIES_LABEL << 3 | WIRE_BYTES);
		put_varint(out, text_size(l->name) + text_size(l->value));
		put_text(out, LABEL_TEXT_NAME, l->name);
		put_text(out, LABEL_TEXT_VALUE, l->value);
	}
}

void remote_write_encoded(struct buf *out, struct str labels, const struct remote_sample *samples, size_t count)
{
	size_t size = labels.len;
	for (size_t i = 0; i < count; i++)
		size += 1 + varint_size(sample_size(&samples[i])) + sample_size(&samples[i]);
	buf_add_c(out, REQUEST_SERIES << 3 | WIRE_BYTES);
	put_varint(out, size);
	buf_add(out, labels);
	for (size_t i = 0; i < count; i++)
		put_sample(out, &samples[i]);
}

void remote_write_series(struct buf *out, const struct labels *labels, const struct remote_sample *samples, size_t count)
{
	struct buf encoded;
	buf_init(&encoded, SIZE_MAX);
	remote_write_labels(&encoded, labels);
	remote_write_encoded(out, buf_str(&encoded), samples, count);
	buf_fini(&encoded);
}

/* A series of the body being read, and where its samples are. */
struct part {
	struct str labels;   /* encoded; empty: they do not stand together, or there are none */
	void *series;        /* NULL: not known yet */
	size_t first, count; /* in samples */
};

struct remote_receiver {
	struct sink *sink;
	/* Encoded labels → struct series; `refused` for labels that no series may have. */
	struct map known;
	uint64_t forgotten; /* of the sink, when they were valid */
	size_t known_at;    /* the one found last: senders keep their order */
	struct buf message;
	VEC(struct part) parts;
	VEC(struct remote_sample) samples;
	VEC(struct sink_sample) going; /* into the sink, all at once */
	VEC(uint8_t) statuses;
};

static char refused_place;
static void *const refused = &refused_place;

struct remote_receiver *remote_receiver_new(struct sink *sink)
{
	struct remote_receiver *r = NEW(struct remote_receiver);
	r->sink = sink;
	map_init(&r->known);
	buf_init(&r->message, REMOTE_WRITE_MAX);
	return r;
}

void remote_receiver_free(struct remote_receiver *r)
{
	if (!r)
		return;
	map_fini(&r->known);
	buf_fini(&r->message);
	VEC_FREE(&r->parts);
	VEC_FREE(&r->samples);
	VEC_FREE(&r->going);
	VEC_FREE(&r->statuses);
	mem_free(r);
}

/* One body going in. */
struct ingestion {
	struct remote_receiver *receiver;
	struct remote_tally *tally;
	struct error *error;
};

static const char *labels_fault(const struct labels *labels, size_t given)
{
	if (!labels_name(labels).len)
		return "a series without a metric name";
	if (labels->count != given)
		return "a label name twice in a series";
	for (uint32_t i = 0; i < labels->count; i++) {
		if (!labels->items[i].name.len || !str_is_utf8(labels->items[i].name))
			return "a label name that is empty or no UTF-8";
		if (!str_is_utf8(labels->items[i].value))
			return "a label value that is no UTF-8";
	}
	return NULL;
}

/* A first fault is told; it is the first that counts for who reads the answer. */
static __attribute__((format(printf, 2, 3))) void fault(struct ingestion *in, const char *format, ...)
{
	char text[300];
	va_list args;
	if (!in->error || in->error->set)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_set(in->error, EXIT_BAD_INPUT, "%s", text);
}

/* The series of the labels, or `refused`. */
static void *series_make(struct ingestion *in, struct str bytes)
{
	VEC(struct label) pairs = { 0 };
	struct wire_field f;
	size_t given = 0;
	bool whole = true;
	void *series = refused;
	while (whole && wire_next(&bytes, &f) == WIRE_FIELD) {
		struct label label;
		whole = read_label(f.bytes, &label);
		given += label.value.len > 0;
		VEC_PUSH(&pairs, label);
	}
	struct labels *labels = labels_new(pairs.items, pairs.count);
	const char *why = whole ? labels_fault(labels, given) : "a label that cannot be read";
	if (why)
		fault(in, "%s", why);
	else
		series = in->receiver->sink->ops->series(in->receiver->sink, labels, METRIC_UNKNOWN);
	labels_unref(labels);
	VEC_FREE(&pairs);
	return series;
}

static bool labels_read(struct str bytes)
{
	struct wire_field f;
	struct label label;
	while (wire_next(&bytes, &f) == WIRE_FIELD)
		if (!read_label(f.bytes, &label))
			return false;
	return true;
}

/* The first reading of a series: nothing is stored, but labels that were never seen must be labels. */
static bool series_collect(void *context, struct series_reader *s)
{
	struct ingestion *in = context;
	struct remote_receiver *r = in->receiver;
	in->tally->histograms += s->histograms;
	if (!s->samples.count)
		return true;
	struct part part = { .first = r->samples.count, .count = s->samples.count };
	part.labels = s->labels_stand_together ? s->label_bytes : STR_EMPTY;
	part.series = part.labels.len ? map_get_after(&r->known, part.labels, &r->known_at) : NULL;
	if (!part.series && !labels_read(s->label_bytes))
		return false;
	VEC_PUSH(&r->parts, part);
	VEC_RESERVE(&r->samples, r->samples.count + s->samples.count);
	memcpy(r->samples.items + r->samples.count, s->samples.items, s->samples.count * sizeof *s->samples.items);
	r->samples.count += s->samples.count;
	return true;
}

static void *series_find(struct ingestion *in, const struct part *part)
{
	if (!part->labels.len) {
		fault(in, "a series whose labels are missing or do not stand together");
		return refused;
	}
	if (part->series && part->series != refused)
		return part->series;
	struct map_entry *entry = map_put(&in->receiver->known, part->labels, NULL);
	if (!entry->value || entry->value == refused)
		entry->value = series_make(in, part->labels);
	return entry->value;
}

static void sample_tell(struct ingestion *in, const struct part *part, const struct remote_sample *sample, enum append_status status)
{
	struct str bytes = part->labels;
	struct wire_field f;
	struct label label;
	in->tally->out_of_order++;
	if (!in->error || in->error->set)
		return;
	while (wire_next(&bytes, &f) == WIRE_FIELD)
		if (read_label(f.bytes, &label) && str_eq(label.name, LABEL_NAME))
			fault(in, "%s: a sample of " STR_FMT " at %lld",
				status == APPEND_DUPLICATE ? "duplicate sample for timestamp" : "out of order sample",
				STR_ARG(str_head(label.value, 120)), (long long)sample->t_ms);
}

/* Its samples join those that go into the sink; samples of a series that cannot be are left out. */
static void part_resolve(struct ingestion *in, struct part *part)
{
	struct remote_receiver *r = in->receiver;
	void *series = series_find(in, part);
	if (series == refused) {
		in->tally->bad_series++;
		part->count = 0;
		return;
	}
	for (size_t i = 0; i < part->count; i++) {
		const struct remote_sample *sample = &r->samples.items[part->first + i];
		r->going.items[r->going.count++] = (struct sink_sample){ series, sample->t_ms, sample->value };
	}
}

static void part_count(struct ingestion *in, const struct part *part, const uint8_t *statuses)
{
	for (size_t i = 0; i < part->count; i++) {
		if (statuses[i] == APPEND_OK)
			in->tally->samples++;
		else if (statuses[i] == APPEND_SAME)
			in->tally->same++;
		else
			sample_tell(in, part, &in->receiver->samples.items[part->first + i], statuses[i]);
	}
}

/* What is told is the first fault in the order of the body, be it of a series or of a sample. */
static void parts_store(struct ingestion *in)
{
	struct remote_receiver *r = in->receiver;
	struct error bad_series = { 0 }, *told = in->error;
	size_t bad_part = SIZE_MAX;
	VEC_RESERVE(&r->going, r->samples.count);
	VEC_RESERVE(&r->statuses, r->samples.count);
	r->going.count = 0;
	in->error = &bad_series;
	for (size_t i = 0; i < r->parts.count; i++) {
		part_resolve(in, &r->parts.items[i]);
		if (bad_series.set && bad_part == SIZE_MAX)
			bad_part = i;
	}
	in->error = told;
	sink_append_many(r->sink, r->going.items, r->going.count, r->statuses.items);
	const uint8_t *statuses = r->statuses.items;
	for (size_t i = 0; i < r->parts.count; i++) {
		part_count(in, &r->parts.items[i], statuses);
		statuses += r->parts.items[i].count;
		if (i == bad_part && told && !told->set)
			*told = bad_series;
	}
}

bool remote_receiver_ingest(struct remote_receiver *r, struct str body, struct remote_tally *tally, struct error *e)
{
	struct ingestion in = { r, tally, e };
	*tally = (struct remote_tally){ 0 };
	buf_reset(&r->message);
	r->parts.count = r->samples.count = 0;
	if (r->forgotten != sink_forgotten(r->sink) || r->known.count > SERIES_KNOWN_MAX)
		map_clear(&r->known);
	r->forgotten = sink_forgotten(r->sink);
	if (!snappy_decode(body, REMOTE_WRITE_MAX, &r->message, e) || !series_walk(buf_str(&r->message), false, series_collect, &in, e))
		return false;
	parts_store(&in);
	return true;
}
