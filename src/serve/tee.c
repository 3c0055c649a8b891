/* Series stay those of the inner sink, so that rows pass through as they are; what a series is called is looked up only when there is
 * somebody to send it to. */
#include "base/map.h"
#include "serve/sender_internal.h"

/* A series, and as what each sender sends it. */
struct tee_series {
	uint64_t generation; /* of `sent_as` */
	struct str *sent_as; /* one for each sender; ptr NULL: not sent */
};

struct tee {
	struct sink sink;
	struct sink *inner;
	struct map by_inner; /* pointer to the series → struct tee_series; what is known of those that something was sent of */
	uint64_t forgotten;  /* of the inner sink, when they were valid */
	struct sender *const *senders;
	size_t sender_count;
	uint64_t generation;
};

static struct str key_of(struct series *const *series)
{
	return str_of((const char *)series, sizeof *series);
}

static struct series *tee_series(struct sink *sink, const struct labels *labels, enum metric_type type)
{
	struct tee *t = (struct tee *)sink;
	return t->inner->ops->series(t->inner, labels, type);
}

static void tee_hold(struct sink *sink, struct series *series, bool held)
{
	sink_hold(((struct tee *)sink)->inner, series, held);
}

static uint64_t tee_forgotten(const struct sink *sink)
{
	return sink_forgotten(((const struct tee *)sink)->inner);
}

static struct labels *tee_labels(const struct sink *sink, struct arena *arena, const struct series *series)
{
	const struct sink *inner = ((const struct tee *)sink)->inner;
	return inner->ops->labels(inner, arena, series);
}

static void series_forget(struct tee_series *s, size_t count)
{
	for (size_t i = 0; s->sent_as && i < count; i++)
		mem_free((char *)s->sent_as[i].ptr);
	mem_free(s->sent_as);
	s->sent_as = NULL;
}

static void series_encode(struct tee *t, const struct series *series, struct tee_series *s)
{
	struct arena arena;
	struct buf out;
	arena_init(&arena);
	buf_init(&out, SIZE_MAX);
	const struct labels *labels = t->inner->ops->labels(t->inner, &arena, series);
	s->sent_as = mem_zalloc(t->sender_count, sizeof *s->sent_as);
	for (size_t i = 0; i < t->sender_count; i++) {
		buf_reset(&out);
		if (sender_labels(t->senders[i], labels, &out))
			s->sent_as[i] = str_of(mem_copy(out.ptr, out.len), out.len);
	}
	s->generation = t->generation;
	buf_fini(&out);
	arena_fini(&arena);
}

static void known_drop(struct tee *t)
{
	MAP_EACH (&t->by_inner, entry) {
		series_forget(entry->value, t->sender_count);
		mem_free(entry->value);
	}
	map_fini(&t->by_inner);
	map_init(&t->by_inner);
}

static void give(struct tee *t, struct series *series, int64_t t_ms, double value)
{
	/* Another series can be where one that was forgotten stood. */
	if (t->forgotten != sink_forgotten(t->inner))
		known_drop(t);
	t->forgotten = sink_forgotten(t->inner);
	struct map_entry *entry = map_put(&t->by_inner, key_of(&series), NULL);
	struct tee_series *s = entry->value = entry->value ? entry->value : NEW(struct tee_series);
	if (s->generation != t->generation || !s->sent_as)
		series_encode(t, series, s);
	for (size_t i = 0; i < t->sender_count; i++)
		if (s->sent_as[i].ptr)
			sender_add(t->senders[i], s->sent_as[i], t_ms, value);
}

static enum append_status tee_append(struct sink *sink, struct series *series, int64_t t_ms, double value)
{
	struct tee *t = (struct tee *)sink;
	enum append_status status = t->inner->ops->append(t->inner, series, t_ms, value);
	if (status == APPEND_OK && t->sender_count)
		give(t, series, t_ms, value);
	return status;
}

/* Which samples of a row were refused is not known; the other side refuses them too. */
static size_t tee_append_row(struct sink *sink, struct series *const *series, const double *values, size_t count, int64_t t_ms)
{
	struct tee *t = (struct tee *)sink;
	size_t refused = t->inner->ops->append_row(t->inner, series, values, count, t_ms);
	for (size_t i = 0; t->sender_count && i < count && refused < count; i++)
		give(t, series[i], t_ms, values[i]);
	return refused;
}

static void tee_append_many(struct sink *sink, const struct sink_sample *samples, size_t count, uint8_t *statuses)
{
	struct tee *t = (struct tee *)sink;
	sink_append_many(t->inner, samples, count, statuses);
	for (size_t i = 0; t->sender_count && i < count; i++)
		if (statuses[i] == APPEND_OK)
			give(t, samples[i].series, samples[i].t_ms, samples[i].value);
}

struct tee *tee_new(struct sink *inner)
{
	static const struct sink_ops ops = { tee_series, tee_append, tee_append_row, tee_append_many, tee_hold, tee_forgotten, tee_labels };
	struct tee *t = NEW(struct tee);
	t->sink.ops = &ops;
	t->inner = inner;
	map_init(&t->by_inner);
	return t;
}

void tee_free(struct tee *t)
{
	if (!t)
		return;
	known_drop(t);
	mem_free(t);
}

struct sink *tee_sink(struct tee *t)
{
	return &t->sink;
}

void tee_set_senders(struct tee *t, struct sender *const *senders, size_t count)
{
	MAP_EACH (&t->by_inner, entry)
		series_forget(entry->value, t->sender_count);
	t->senders = senders;
	t->sender_count = count;
	t->generation++;
}
