#include "scrape/fleet.h"

#include "base/clock.h"
#include "collect/collect.h"
#include "scrape/classify.h"
#include "scrape/ingest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void fleet_init(struct fleet *f, struct sink *sink)
{
	*f = (struct fleet){ .sink = sink };
	arena_init(&f->arena);
	map_init(&f->by_name);
}

/* `sink`: it keeps its series no longer for this target; NULL: it ends too. */
static void target_free(struct sink *sink, struct target *t)
{
	collector_free(t->collector);
	expo_reader_free(t->reader);
	ingest_free(sink, t->ingest);
	labels_unref(t->labels);
	VEC_FREE(&t->scrapes);
	VEC_FREE(&t->health);
	arena_fini(&t->text);
	mem_free(t);
}

void fleet_fini(struct fleet *f)
{
	VEC_EACH (&f->targets, t)
		target_free(NULL, *t);
	VEC_FREE(&f->targets);
	map_fini(&f->by_name);
	arena_fini(&f->arena);
}

struct target *fleet_find(const struct fleet *f, struct str name)
{
	return map_get(&f->by_name, name);
}

/* `labels` becomes the target's. */
static struct target *target_new(struct fleet *f, struct str name, struct str url, struct labels *labels)
{
	struct target *t = NEW(struct target);
	arena_init(&t->text);
	t->name = arena_str(&t->text, name);
	t->url = arena_str(&t->text, url);
	t->labels = labels;
	t->memory_limit_bytes = NAN;
	t->reader = expo_reader_new();
	ingest_start(f->sink, t);
	VEC_PUSH(&f->targets, t);
	map_set(&f->by_name, name, t);
	return t;
}

struct target *fleet_target(struct fleet *f, struct str name, struct str url, struct str job)
{
	struct target *t = fleet_find(f, name);
	return t ? t : target_new(f, name, url, labels_new((struct label[]){ { STR("instance"), name }, { STR("job"), job } }, 2));
}

struct target *fleet_add(struct fleet *f, struct str name, struct str url, const struct labels *labels, const struct job *job)
{
	struct str free_name = name, of_job = labels_get(labels, STR("job"));
	for (int i = 1; fleet_find(f, free_name); i++)
		free_name = i == 1 ? arena_printf(&f->arena, STR_FMT " (" STR_FMT ")", STR_ARG(name), STR_ARG(of_job))
				   : arena_printf(&f->arena, STR_FMT " (" STR_FMT ", %d)", STR_ARG(name), STR_ARG(of_job), i);
	struct target *t = target_new(f, free_name, url, labels_ref(labels));
	t->job = job;
	return t;
}

void target_set_job(struct target *t, const struct job *job)
{
	t->job = job;
	expo_reader_reset(t->reader); /* what its series were worth under the old rules is remembered there */
}

void fleet_set_sink(struct fleet *f, struct sink *sink)
{
	VEC_EACH (&f->targets, t) {
		expo_reader_reset((*t)->reader);
		ingest_free(f->sink, (*t)->ingest);
		ingest_start(sink, *t);
	}
	f->sink = sink;
}

void fleet_remove(struct fleet *f, struct target *t, int64_t t_ms)
{
	if (t->scrapes.count > 0 && t_ms <= t->scrapes.items[t->scrapes.count - 1].t_ms)
		t_ms = t->scrapes.items[t->scrapes.count - 1].t_ms + 1;
	ingest_end_none(f->sink, t->ingest, t_ms);
	if (t->scrapes.count > 0)
		ingest_end_report(f->sink, t->ingest, t_ms);
	map_remove(&f->by_name, t->name);
	size_t at = 0;
	while (f->targets.items[at] != t)
		at++;
	memmove(&f->targets.items[at], &f->targets.items[at + 1], (f->targets.count - at - 1) * sizeof *f->targets.items);
	f->targets.count--;
	target_free(f->sink, t);
}

/* Room for one line of detail while it is put together. */
struct detail {
	char text[600];
	size_t len;
};

static __attribute__((format(printf, 2, 3))) void detail_add(struct detail *d, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *separator = d->len ? "; " : "";
	if (d->len + 3 < sizeof d->text) {
		d->len += (size_t)snprintf(d->text + d->len, sizeof d->text - d->len, "%s", separator);
		int added = vsnprintf(d->text + d->len, sizeof d->text - d->len, format, args);
		size_t room = sizeof d->text - d->len - 1;
		d->len += added < 0 ? 0 : (size_t)added < room ? (size_t)added : room;
	}
	va_end(args);
}

/* The detail in the target's arena; a target that fails the same way for a day holds the text once. */
static struct str detail_keep(struct target *t, const struct detail *d)
{
	struct str text = str_of(d->text, d->len);
	if (d->len == 0)
		return STR_EMPTY;
	if (t->scrapes.count > 0 && str_eq(t->scrapes.items[t->scrapes.count - 1].detail, text))
		return t->scrapes.items[t->scrapes.count - 1].detail;
	return arena_str(&t->text, text);
}

static const struct scrape_record *record_push(struct target *t, struct scrape_record record, struct str when, const struct detail *d)
{
	record.when = when.len ? arena_str(&t->text, when) : STR_EMPTY;
	record.detail = detail_keep(t, d);
	VEC_PUSH(&t->scrapes, record);
	return &t->scrapes.items[t->scrapes.count - 1];
}

/* Nothing can be stored before the newest sample: the record says why this scrape has none. */
static const struct scrape_record *refuse_old(struct target *t, int64_t t_ms, struct str when, const struct http_answer *answer)
{
	int64_t newest_ms = t->scrapes.items[t->scrapes.count - 1].t_ms;
	struct detail d = { .len = 0 };
	char at[40], newest[40];
	time_format(t_ms, at);
	time_format(newest_ms, newest);
	if (t_ms == newest_ms)
		detail_add(&d, "a second scrape at %s: refused", at);
	else
		detail_add(&d, "the clock went back: this scrape is of %s, the one before of %s: refused", at, newest);
	return record_push(t,
		(struct scrape_record){ .t_ms = newest_ms,
			.outcome = SCRAPE_FAILED,
			.status = answer->status,
			.duration_s = answer->duration_s,
			.bytes = answer->body.len },
		when, &d);
}

/* Lines that no page has had for long are remembered in vain: a target that makes up labels would fill the memory. */
static void reader_tidy(struct sink *sink, struct target *t)
{
	const struct expo_page *last = expo_reader_page(t->reader);
	if (last->series_known <= 2 * last->sample_count + 8192)
		return;
	expo_reader_reset(t->reader);
	ingest_tidy(sink, t->ingest);
}

static const struct expo_page *page_read(
	struct sink *sink, struct target *t, struct str when, const struct http_answer *answer, struct str body)
{
	reader_tidy(sink, t);
	char source[200];
	int len = when.len ? snprintf(source, sizeof source, STR_FMT "@" STR_FMT, STR_ARG(t->name), STR_ARG(when))
			   : snprintf(source, sizeof source, STR_FMT, STR_ARG(t->name));
	size_t length = len < (int)sizeof source ? (size_t)len : sizeof source - 1;
	return expo_read(t->reader, str_of(source, length), body, expo_format_of(answer->content_type, body));
}

/* What only the parser could tell. */
static void class_refine(struct scrape_class *c, const struct expo_page *page, struct detail *d)
{
	if (c->outcome == SCRAPE_CUT) {
		detail_add(d, "%zu samples before the cut are kept", page->sample_count);
	} else if (page->error.set) {
		c->outcome = str_is_utf8(c->page) ? SCRAPE_PARTIAL : SCRAPE_BAD_ENCODING;
		char text[500];
		error_text(&page->error, text, sizeof text);
		detail_add(d, "%s", text);
	} else if (page->sample_count == 0) {
		c->outcome = SCRAPE_EMPTY;
		detail_add(d, "only comments");
	}
}

static void detail_of_tally(struct detail *d, const struct ingest_tally *tally, const struct expo_page *page)
{
	if (tally->duplicates && page->first_duplicate.len)
		detail_add(d, "%zu duplicate samples left out, first " STR_FMT, tally->duplicates,
			STR_ARG(str_head(page->first_duplicate, 200)));
	else if (tally->duplicates)
		detail_add(d, "%zu duplicate samples left out", tally->duplicates);
	if (tally->refused)
		detail_add(d, "%zu samples refused: not newer than what is stored, or over 10 min in the future", tally->refused);
	if (tally->too_many_labels)
		detail_add(d, "%zu samples refused: more than 64 labels", tally->too_many_labels);
	if (tally->limit[0])
		detail_add(d, "%s", tally->limit);
}

/* A comments-only or empty page is a successful scrape without series, as in Prometheus. */
static bool outcome_is_up(enum scrape_outcome o)
{
	return o == SCRAPE_OK || o == SCRAPE_EMPTY;
}

static void end_series(struct fleet *f, struct target *t, int64_t t_ms, enum scrape_outcome outcome, bool page)
{
	if (!page)
		ingest_end_none(f->sink, t->ingest, t_ms);
	else if (outcome_is_up(outcome))
		ingest_end_whole(f->sink, t->ingest, t_ms);
	else
		ingest_end_partial(t->ingest);
}

const struct scrape_record *fleet_ingest(struct fleet *f, struct target *t, int64_t t_ms, struct str when, const struct http_answer *answer)
{
	if (t->scrapes.count > 0 && t_ms <= t->scrapes.items[t->scrapes.count - 1].t_ms)
		return refuse_old(t, t_ms, when, answer);

	struct scrape_class class;
	struct detail detail = { .len = 0 };
	struct ingest_tally tally = { 0 };
	scrape_classify(answer, &class);
	if (class.detail[0])
		detail_add(&detail, "%s", class.detail);
	const struct expo_page *page = class.page.len ? page_read(f->sink, t, when, answer, class.page) : NULL;
	if (page) {
		class_refine(&class, page, &detail);
		ingest_page(f->sink, t, page, t_ms, &tally);
		tally.duplicates += page->duplicates;
		detail_of_tally(&detail, &tally, page);
		class.outcome = tally.limit[0] ? SCRAPE_LIMIT : class.outcome;
	}
	end_series(f, t, t_ms, class.outcome, page && class.outcome != SCRAPE_LIMIT);
	ingest_report(f->sink, t, t_ms, outcome_is_up(class.outcome), answer->duration_s, &tally);
	return record_push(t,
		(struct scrape_record){ .t_ms = t_ms,
			.outcome = class.outcome,
			.status = answer->status,
			.duration_s = answer->duration_s,
			.samples = tally.kept,
			.duplicates = tally.duplicates,
			.dropped_lines = page ? page->dropped_lines : 0,
			.bytes = answer->body.len },
		when, &detail);
}

static int gap_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

int64_t target_interval_ms(const struct target *t)
{
	int64_t gaps[255]; /* the newest are enough: an interval that was changed counts as changed */
	size_t count = 0;
	for (size_t i = t->scrapes.count; i > 1 && count < ARRAY_LEN(gaps); i--) {
		int64_t gap = t->scrapes.items[i - 1].t_ms - t->scrapes.items[i - 2].t_ms;
		if (gap > 0)
			gaps[count++] = gap;
	}
	if (count == 0)
		return 0;
	qsort(gaps, count, sizeof *gaps, gap_compare);
	return count % 2 ? gaps[count / 2] : gaps[count / 2 - 1] + (gaps[count / 2] - gaps[count / 2 - 1]) / 2;
}

void fleet_forget(struct fleet *f, int64_t before_ms)
{
	VEC_EACH (&f->targets, item) {
		struct target *t = *item;
		size_t old = 0;
		while (old + 2 < t->scrapes.count && t->scrapes.items[old].t_ms < before_ms)
			old++;
		if (!old || old < t->scrapes.count / 4) /* moves are rare */
			continue;
		t->scrapes.count -= old;
		memmove(t->scrapes.items, t->scrapes.items + old, t->scrapes.count * sizeof *t->scrapes.items);
	}
}
