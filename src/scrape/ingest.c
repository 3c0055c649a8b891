#include "scrape/ingest.h"

#include "scrape/job.h"

#include <math.h>
#include <stdio.h>

enum { FUTURE_MAX_MS = 10 * 60 * 1000 }; /* explicit timestamps beyond it are refused, as Prometheus does */

static const char *const report_names[REPORT_COUNT] = {
	[REPORT_UP] = "up",
	[REPORT_DURATION] = "scrape_duration_seconds",
	[REPORT_SAMPLES] = "scrape_samples_scraped",
	[REPORT_POST_RELABEL] = "scrape_samples_post_metric_relabeling",
	[REPORT_ADDED] = "scrape_series_added",
};

static struct ingest *ingest_new(void)
{
	struct ingest *in = NEW(struct ingest);
	map_init(&in->by_store);
	return in;
}

static void nowhere_free(struct ingest *in)
{
	VEC_EACH (&in->nowhere, s)
		mem_free(*s);
	in->nowhere.count = 0;
}

void ingest_free(struct sink *sink, struct ingest *in)
{
	if (!in)
		return;
	MAP_EACH (&in->by_store, entry) {
		struct scraped *s = entry->value;
		if (sink)
			sink_hold(sink, s->store, false);
		mem_free(s);
	}
	map_fini(&in->by_store);
	nowhere_free(in);
	VEC_FREE(&in->nowhere);
	VEC_FREE(&in->row);
	VEC_FREE(&in->row_scraped);
	VEC_FREE(&in->values);
	VEC_FREE(&in->row_from);
	VEC_FREE(&in->live);
	mem_free(in);
}

static struct scraped *scraped_of(struct sink *sink, struct ingest *in, struct series *store)
{
	struct map_entry *entry = map_put(&in->by_store, str_of((const char *)&store, sizeof store), NULL);
	if (!entry->value) {
		struct scraped *s = NEW(struct scraped);
		s->store = store;
		sink_hold(sink, store, true);
		entry->value = s;
	}
	return entry->value;
}

void ingest_tidy(struct sink *sink, struct ingest *in)
{
	nowhere_free(in);
	MAP_EACH (&in->by_store, entry) {
		struct scraped *s = entry->value;
		if (s->live || s->reserved || (s->page && s->page == in->pages))
			continue;
		sink_hold(sink, s->store, false);
		mem_free(s);
		map_remove(&in->by_store, entry->key);
	}
}

struct conflict {
	struct str name, value;
};

/* The page's own value of a label that the target has too moves to exported_NAME, and further while that is taken. Shorter names first, so
 * that the result does not depend on their order in the page. */
static void conflicts_rename(struct labels_builder *b, struct conflict *conflicts, size_t count, struct arena *scratch)
{
	for (size_t done = 0; done < count; done++) {
		size_t shortest = done;
		for (size_t i = done + 1; i < count; i++)
			if (conflicts[i].name.len < conflicts[shortest].name.len)
				shortest = i;
		struct conflict c = conflicts[shortest];
		memmove(&conflicts[done + 1], &conflicts[done], (shortest - done) * sizeof *conflicts);
		struct str name = c.name;
		do
			name = arena_printf(scratch, "exported_" STR_FMT, STR_ARG(name));
		while (labels_builder_get(b, name).len > 0);
		labels_builder_set(b, name, c.value);
	}
}

static bool is_named(const struct str *names, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

/* honor_labels: what the page says wins, also when it says that there is no such label. */
static void attach_honoring(struct labels_builder *b, const struct expo_series *exposed, const struct labels *target)
{
	for (uint32_t i = 0; i < target->count; i++) {
		struct str name = target->items[i].name;
		if (!labels_get(exposed->labels, name).len && !is_named(exposed->empty, exposed->empty_count, name))
			labels_builder_set(b, name, target->items[i].value);
	}
}

static void attach_renaming(struct labels_builder *b, const struct labels *exposed, const struct labels *target, struct arena *scratch)
{
	struct conflict conflicts[64];
	size_t count = 0;
	for (uint32_t i = 0; i < target->count; i++) {
		struct str had = labels_get(exposed, target->items[i].name);
		if (had.len > 0 && count < ARRAY_LEN(conflicts))
			conflicts[count++] = (struct conflict){ target->items[i].name, had };
		labels_builder_set(b, target->items[i].name, target->items[i].value);
	}
	conflicts_rename(b, conflicts, count, scratch);
}

/* metric_relabel_configs. NULL: the sample is dropped. */
static struct labels *labels_relabel(const struct labels_builder *b, const struct relabel *rules, struct arena *scratch)
{
	struct label_set set;
	struct labels *labels = NULL;
	label_set_init(&set, scratch);
	label_set_start(&set, b->items, b->count);
	if (relabel_apply(rules, &set) && set.items.count)
		labels = labels_new(set.items.items, set.items.count);
	label_set_fini(&set);
	return labels;
}

/* Exposed labels with the target's attached, relabelled. NULL when there are too many, or when the sample is *dropped. */
static struct labels *labels_attach(const struct expo_series *exposed, const struct target *t, bool *dropped)
{
	struct labels_builder b;
	struct arena scratch;
	struct labels *all = NULL;
	labels_builder_init(&b, exposed->labels);
	arena_init(&scratch);
	if (t->job && t->job->honor_labels)
		attach_honoring(&b, exposed, t->labels);
	else
		attach_renaming(&b, exposed->labels, t->labels, &scratch);
	bool relabelled = t->job && t->job->metric_relabel.count && !b.overflowed;
	if (!b.overflowed)
		all = relabelled ? labels_relabel(&b, &t->job->metric_relabel, &scratch) : labels_builder_build(&b);
	*dropped = relabelled && !all;
	arena_fini(&scratch);
	return all;
}

/* Within the job's label limits, and with a name? */
static bool labels_fit(const struct labels *l, const struct job *job)
{
	if (!job)
		return true;
	if (!labels_name(l).len || (job->limits.labels && l->count > job->limits.labels))
		return false;
	for (uint32_t i = 0; i < l->count; i++)
		if ((job->limits.label_name_length && l->items[i].name.len > job->limits.label_name_length) ||
			(job->limits.label_value_length && l->items[i].value.len > job->limits.label_value_length))
			return false;
	return true;
}

static struct scraped *scraped_find(struct sink *sink, struct target *t, struct expo_series *exposed)
{
	if (exposed->user)
		return exposed->user;
	bool dropped;
	struct labels *labels = labels_attach(exposed, t, &dropped);
	if (labels && labels_fit(labels, t->job)) {
		exposed->user = scraped_of(sink, t->ingest, sink->ops->series(sink, labels, exposed->type));
	} else {
		struct scraped *none = NEW(struct scraped);
		VEC_PUSH(&t->ingest->nowhere, none);
		none->dropped = dropped;
		none->against_limit = labels != NULL;
		exposed->user = none;
	}
	labels_unref(labels);
	return exposed->user;
}

static void append_timed(struct sink *sink, struct scraped *s, const struct expo_sample *sample, int64_t t_ms, struct ingest_tally *tally)
{
	bool future = sample->t_ms > t_ms && sample->t_ms - t_ms > FUTURE_MAX_MS;
	enum append_status status = future ? APPEND_OUT_OF_ORDER : sink->ops->append(sink, s->store, sample->t_ms, sample->value);
	/* An exporter repeats the same sample until it has a newer one: no fault, and no new sample. */
	tally->refused += status == APPEND_OUT_OF_ORDER || status == APPEND_DUPLICATE;
	tally->kept += status == APPEND_OK || status == APPEND_SAME;
}

/* The page's values into the row; true when some sample has its own time. */
static bool values_take(struct ingest *in, const struct expo_page *page)
{
	double *values = in->values.items;
	bool timed = false;
	if (in->row.count == page->sample_count) {
		for (size_t i = 0; i < page->sample_count; i++) {
			values[i] = page->samples[i].value;
			timed |= page->samples[i].t_ms != EXPO_NO_TIME;
		}
		return timed;
	}
	/* The rest is dropped by relabelling. */
	for (size_t i = 0; i < in->row.count; i++) {
		const struct expo_sample *sample = &page->samples[in->row_from.items[i]];
		values[i] = sample->value;
		timed |= sample->t_ms != EXPO_NO_TIME;
	}
	return timed;
}

/* False when the page must go the slow way. */
static bool append_same_shape(struct sink *sink, struct target *t, const struct expo_page *page, int64_t t_ms, struct ingest_tally *tally)
{
	struct ingest *in = t->ingest;
	if (!page->same_shape || !in->row_is_page || page->sample_count != in->page_samples)
		return false;
	if (values_take(in, page) && !(t->job && t->job->ignore_timestamps))
		return false;
	double *values = in->values.items;
	for (size_t i = 0; !in->row_is_live && i < in->row_scraped.count; i++)
		tally->added += !in->row_scraped.items[i]->live;
	tally->refused = sink->ops->append_row(sink, in->row.items, values, in->row.count, t_ms);
	tally->kept = in->row.count - tally->refused;
	tally->dropped = page->sample_count - in->row.count;
	return true;
}

/* Nothing may be appended of a page that is beyond a limit, so this is known before. */
static bool limits_hold(struct sink *sink, struct target *t, const struct expo_page *page, struct ingest_tally *tally)
{
	size_t samples = 0;
	for (size_t i = 0; i < page->sample_count; i++) {
		const struct scraped *s = scraped_find(sink, t, page->samples[i].series);
		samples += !s->dropped && !s->reserved;
		if (!s->against_limit)
			continue;
		const struct labels *l = page->samples[i].series->labels;
		snprintf(tally->limit, sizeof tally->limit,
			STR_FMT ": its labels are beyond a label limit of the job, or it has no name after relabelling",
			STR_ARG(str_head(labels_name(l), 100)));
		return false;
	}
	if (!t->job->limits.samples || samples <= t->job->limits.samples)
		return true;
	snprintf(tally->limit, sizeof tally->limit, "%zu samples are above the job's sample_limit of %llu", samples,
		(unsigned long long)t->job->limits.samples);
	return false;
}

static void row_add(struct ingest *in, struct scraped *s, size_t from, double value, struct ingest_tally *tally)
{
	s->page = in->pages;
	tally->added += !s->live;
	VEC_PUSH(&in->row, s->store);
	VEC_PUSH(&in->row_scraped, s);
	VEC_PUSH(&in->row_from, (uint32_t)from);
	VEC_PUSH(&in->values, value);
}

static void append_new_shape(struct sink *sink, struct target *t, const struct expo_page *page, int64_t t_ms, struct ingest_tally *tally)
{
	struct ingest *in = t->ingest;
	in->pages++;
	in->row.count = in->row_scraped.count = in->row_from.count = in->values.count = 0;
	in->row_is_live = in->row_is_page = false;
	in->page_samples = page->sample_count;
	if (t->job && !limits_hold(sink, t, page, tally))
		return;
	bool own_times = !(t->job && t->job->ignore_timestamps);
	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_sample *sample = &page->samples[i];
		struct scraped *s = scraped_find(sink, t, sample->series);
		if (s->dropped)
			tally->dropped++;
		else if (!s->store)
			tally->too_many_labels++;
		else if (s->reserved)
			tally->duplicates++;
		else if (own_times && sample->t_ms != EXPO_NO_TIME)
			append_timed(sink, s, sample, t_ms, tally);
		else if (s->page == in->pages)
			tally->duplicates++; /* two exposed series that are one with the target's labels */
		else
			row_add(in, s, i, sample->value, tally);
	}
	in->row_is_page = in->row.count + tally->dropped == page->sample_count;
	size_t refused = sink->ops->append_row(sink, in->row.items, in->values.items, in->row.count, t_ms);
	tally->refused += refused;
	tally->kept += in->row.count - refused;
}

void ingest_page(struct sink *sink, struct target *t, const struct expo_page *page, int64_t t_ms, struct ingest_tally *tally)
{
	if (!append_same_shape(sink, t, page, t_ms, tally))
		append_new_shape(sink, t, page, t_ms, tally);
}

static void live_add(struct ingest *in, struct scraped *s)
{
	if (s->live)
		return;
	s->live = true;
	VEC_PUSH(&in->live, s);
}

static void live_end(struct sink *sink, struct scraped *s, int64_t t_ms)
{
	sink->ops->append(sink, s->store, t_ms, number_stale());
	s->live = false;
}

void ingest_end_whole(struct sink *sink, struct ingest *in, int64_t t_ms)
{
	if (in->row_is_live)
		return;
	/* The page number tells members of the row from the rest, also when this page had the shape of the one before. */
	size_t kept = 0;
	VEC_EACH (&in->live, item) {
		if ((*item)->page == in->pages)
			in->live.items[kept++] = *item;
		else
			live_end(sink, *item, t_ms);
	}
	in->live.count = kept;
	VEC_EACH (&in->row_scraped, item)
		live_add(in, *item);
	in->row_is_live = true;
}

void ingest_end_partial(struct ingest *in)
{
	VEC_EACH (&in->row_scraped, item)
		live_add(in, *item);
	in->row_is_live = in->live.count == in->row_scraped.count;
}

void ingest_end_none(struct sink *sink, struct ingest *in, int64_t t_ms)
{
	VEC_EACH (&in->live, item)
		live_end(sink, *item, t_ms);
	in->live.count = 0;
	in->row_is_live = false;
}

void ingest_start(struct sink *sink, struct target *t)
{
	t->ingest = ingest_new();
	for (int i = 0; i < REPORT_COUNT; i++) {
		struct labels_builder b;
		labels_builder_init(&b, t->labels);
		labels_builder_set(&b, LABEL_NAME, str_from(report_names[i]));
		struct labels *labels = labels_builder_build(&b);
		t->ingest->report[i] = sink->ops->series(sink, labels, METRIC_GAUGE);
		scraped_of(sink, t->ingest, t->ingest->report[i])->reserved = true;
		labels_unref(labels);
	}
}

void ingest_end_report(struct sink *sink, struct ingest *in, int64_t t_ms)
{
	for (int i = 0; i < REPORT_COUNT; i++)
		sink->ops->append(sink, in->report[i], t_ms, number_stale());
}

void ingest_report(struct sink *sink, struct target *t, int64_t t_ms, bool up, double duration_s, const struct ingest_tally *tally)
{
	struct series *const *report = t->ingest->report;
	sink->ops->append(sink, report[REPORT_UP], t_ms, up);
	if (!isnan(duration_s))
		sink->ops->append(sink, report[REPORT_DURATION], t_ms, duration_s);
	size_t scraped = tally->dropped + tally->kept + tally->duplicates + tally->refused + tally->too_many_labels;
	sink->ops->append(sink, report[REPORT_SAMPLES], t_ms, (double)scraped);
	sink->ops->append(sink, report[REPORT_POST_RELABEL], t_ms, (double)tally->kept);
	sink->ops->append(sink, report[REPORT_ADDED], t_ms, (double)tally->added);
}
