/* A fleet that an existing Prometheus scrapes: who it is, when it was scraped, and the samples that the catalogue can use, copied into the
 * store. From there on nothing differs from a live watch. */
#include "base/clock.h"
#include "base/log.h"
#include "watch/pipeline.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW_MS = 300000, MARGIN_MS = 300000, NAMES_MAX = 1 << 20, QUERY_MAX = 2 << 20 };

struct fetch {
	struct watch *w;
	struct backend *b;
	struct error *e;
	struct moment_frame frame;
	int64_t from_ms, to_ms;                     /* the window asked for */
	int64_t reference_from_ms, reference_to_ms; /* 0: none */
	int64_t oldest_ms;                          /* of what is fetched */
	struct matcher job;                         /* jobs with engines; job_count 0: all */
	size_t job_count;
	struct map targets; /* "job\ninstance" → struct target */
};

struct times {
	int64_t *items;
	size_t count, cap;
};

static bool times_resolve(struct fetch *f)
{
	const struct watch_options *o = &f->w->options;

	f->frame.now_ms = f->to_ms = o->now_ms;
	if (o->at && !moment_parse(&f->frame, "at", o->at, &f->to_ms, f->e))
		return false;
	f->frame.end_ms = f->to_ms;
	f->from_ms = f->to_ms - WINDOW_MS;
	if (o->since && !since_parse(&f->frame, o->since, &f->from_ms, f->e))
		return false;
	if (o->window && !window_parse(&f->frame, "window", o->window, &f->from_ms, &f->to_ms, f->e))
		return false;
	if (o->against && !window_parse(&f->frame, "against", o->against, &f->reference_from_ms, &f->reference_to_ms, f->e))
		return false;
	if (f->from_ms > f->to_ms)
		return error_set(f->e, EXIT_USAGE, "the window ends before it begins");
	f->oldest_ms = f->from_ms - MARGIN_MS;
	if (f->reference_from_ms && f->reference_from_ms - MARGIN_MS < f->oldest_ms)
		f->oldest_ms = f->reference_from_ms - MARGIN_MS;
	return true;
}

/* ---- which jobs and names ---- */

static void regex_quote(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr("\\.+*?()|[]{}^$", text.ptr[i]))
			buf_add_c(out, '\\');
		buf_add_c(out, text.ptr[i]);
	}
}

static bool tells_engines(const struct engine_spec *engine)
{
	/* What any program exports (process_, http_) tells nothing; GPUs do. */
	return !engine->exporter || str_is(engine->id, "dcgm");
}

bool is_engine_name(const struct catalog *c, struct str name)
{
	VEC_EACH (&c->engines, engine) {
		for (size_t i = 0; tells_engines(*engine) && i < (*engine)->prefix_count; i++)
			if (str_starts(name, (*engine)->prefixes[i]))
				return true;
	}
	return false;
}

/* "vllm:.+|sglang:.+|..." */
static void engine_names(const struct catalog *c, struct buf *out)
{
	VEC_EACH (&c->engines, engine) {
		for (size_t i = 0; tells_engines(*engine) && i < (*engine)->prefix_count; i++) {
			buf_add_cstr(out, out->len ? "|" : "");
			regex_quote(out, (*engine)->prefixes[i]);
			buf_add_cstr(out, ".+");
		}
	}
}

/* The values as one regular expression, in the arena. */
static struct str alternation(struct arena *arena, const struct str *values, size_t count)
{
	struct buf text;

	buf_init(&text, QUERY_MAX);
	for (size_t i = 0; i < count; i++) {
		buf_add_cstr(&text, i ? "|" : "");
		regex_quote(&text, values[i]);
	}
	struct str kept = arena_str(arena, buf_str(&text));

	buf_fini(&text);
	return kept;
}

/* Values of a label in the time fetched; where there are none, of all time: samples that came out of order are found by queries, but not by
 * this. */
static bool values_find(
	struct fetch *f, struct str label, const struct matcher *matchers, size_t matcher_count, struct str **values, size_t *count)
{
	const struct backend_ops *ops = f->b->ops;
	struct arena *arena = &f->w->arena;

	if (!ops->label_values(f->b, arena, label, matchers, matcher_count, f->oldest_ms, f->to_ms, values, count, f->e))
		return false;
	return *count || ops->label_values(f->b, arena, label, matchers, matcher_count, 0, f->w->options.now_ms, values, count, f->e);
}

/* The jobs that show an engine's families; none where series have no job, or where there is no engine. */
static bool jobs_find(struct fetch *f)
{
	struct buf names;
	struct str *jobs;
	size_t count;

	buf_init(&names, NAMES_MAX);
	engine_names(&f->w->catalog, &names);
	const struct matcher matcher = { LABEL_NAME, buf_str(&names), MATCH_RE, NULL };
	bool ok = values_find(f, STR("job"), &matcher, 1, &jobs, &count);

	if (ok && count) {
		f->job = (struct matcher){ STR("job"), alternation(&f->w->arena, jobs, count), MATCH_RE, NULL };
		f->job_count = 1;
	}
	buf_fini(&names);
	return ok;
}

static void known_names(struct fetch *f, struct map *known)
{
	static const char *const parts[] = { "_bucket", "_sum", "_count" };
	struct arena *arena = &f->w->arena;
	size_t count;
	const struct exposed_name *names = catalog_exposed_names(&f->w->catalog, arena, &count);

	for (size_t i = 0; i < count; i++) {
		if (!names[i].is_histogram)
			map_set(known, names[i].name, f);
		for (size_t k = 0; names[i].is_histogram && k < ARRAY_LEN(parts); k++)
			map_set(known, arena_printf(arena, STR_FMT "%s", STR_ARG(names[i].name), parts[k]), f);
	}
}

/* Exposed by an engine, but not in the catalogue: coverage tells. */
static bool is_unknown_of_engine(const struct catalog *c, struct str name)
{
	return !str_ends(name, STR("_created")) && !str_ends(name, STR("_bucket")) && is_engine_name(c, name);
}

/* Names that are there and of use, as one alternation; empty when there are none. */
static bool names_find(struct fetch *f, struct str *names)
{
	struct map known;
	struct str *there;
	size_t count, kept = 0;

	if (!values_find(f, LABEL_NAME, &f->job, f->job_count, &there, &count))
		return false;
	map_init(&known);
	known_names(f, &known);
	for (size_t i = 0; i < count; i++)
		if (map_has(&known, there[i]) || is_unknown_of_engine(&f->w->catalog, there[i]))
			there[kept++] = there[i];
	map_fini(&known);
	*names = alternation(&f->w->arena, there, kept);
	return true;
}

static bool fetch_series(struct fetch *f, struct str names, struct series_view **series, size_t *count)
{
	struct matcher matchers[2] = { { LABEL_NAME, names, MATCH_RE, NULL }, f->job };

	return f->b->ops->select(f->b, &f->w->arena, matchers, 1 + f->job_count, f->oldest_ms, f->to_ms, series, count, f->e);
}

/* ---- who is in the fleet, and when it was scraped ---- */

static struct str target_key(struct fetch *f, const struct labels *l)
{
	struct str job = labels_get(l, STR("job")), instance = labels_get(l, STR("instance"));

	return arena_printf(&f->w->arena, STR_FMT "\n" STR_FMT, STR_ARG(job), STR_ARG(instance));
}

/* "10.2.3.4:8000" is no name for people where there is a pod's. */
static struct str target_name(struct fetch *f, const struct labels *l)
{
	struct str instance = labels_get(l, STR("instance")), pod = labels_get(l, STR("pod")), name = instance;
	bool numeric = instance.len && strspn(instance.ptr, "0123456789.:[]abcdef") == instance.len;

	if (!instance.len)
		name = labels_get(l, STR("job")).len ? labels_get(l, STR("job")) : STR("all");
	else if (numeric && pod.len && !fleet_find(&f->w->data.fleet, pod))
		name = pod;
	if (fleet_find(&f->w->data.fleet, name))
		name = arena_printf(&f->w->arena, STR_FMT " (" STR_FMT ")", STR_ARG(name), STR_ARG(labels_get(l, STR("job"))));
	return name;
}

/* Labels that the Prometheus gave the target: those of its `up`. */
static struct target *target_of(struct fetch *f, const struct labels *l, bool is_up)
{
	struct str key = target_key(f, l);
	struct target *t = map_get(&f->targets, key);
	struct labels_builder *b;

	if (t)
		return t;
	t = fleet_target(&f->w->data.fleet, target_name(f, l), STR_EMPTY, STR_EMPTY);
	b = NEW(struct labels_builder);
	if (is_up)
		labels_builder_init(b, l);
	labels_builder_remove(b, LABEL_NAME);
	labels_builder_set(b, STR("job"), labels_get(l, STR("job")));
	labels_builder_set(b, STR("instance"), labels_get(l, STR("instance")));
	labels_unref(t->labels);
	t->labels = labels_builder_build(b);
	mem_free(b);
	map_set(&f->targets, key, t);
	return t;
}

static struct scrape_record *record_at(struct target *t, int64_t t_ms)
{
	for (size_t i = t->scrapes.count; i-- > 0 && t->scrapes.items[i].t_ms >= t_ms;)
		if (t->scrapes.items[i].t_ms == t_ms)
			return &t->scrapes.items[i];
	return NULL;
}

static void record_add(struct target *t, int64_t t_ms, bool up)
{
	struct scrape_record record = { .t_ms = t_ms, .outcome = up ? SCRAPE_OK : SCRAPE_FAILED, .duration_s = NAN };

	if (!up)
		record.detail = STR("its Prometheus says up = 0");
	VEC_PUSH(&t->scrapes, record);
}

/* A page without samples is up to a Prometheus, but it is no answer. */
static void samples_tell(struct scrape_record *record, double samples)
{
	record->samples = samples > 0 ? (size_t)samples : 0;
	if (record->outcome == SCRAPE_OK && samples == 0)
		record->outcome = SCRAPE_EMPTY;
}

static void records_of_up(struct fetch *f, const struct series_view *series, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!str_is(labels_name(series[i].labels), "up"))
			continue;
		struct target *t = target_of(f, series[i].labels, true);

		for (size_t k = 0; k < series[i].count; k++)
			if (!t->scrapes.count || t->scrapes.items[t->scrapes.count - 1].t_ms < series[i].t[k])
				record_add(t, series[i].t[k], series[i].v[k] > 0);
	}
	/* What else the scrape told. */
	for (size_t i = 0; i < count; i++) {
		struct str name = labels_name(series[i].labels);
		struct target *t = map_get(&f->targets, target_key(f, series[i].labels));

		for (size_t k = 0; t && k < series[i].count; k++) {
			struct scrape_record *record = record_at(t, series[i].t[k]);

			if (record && str_is(name, "scrape_duration_seconds"))
				record->duration_s = series[i].v[k];
			else if (record && str_is(name, "scrape_samples_scraped"))
				samples_tell(record, series[i].v[k]);
		}
	}
}

static bool up_fetch(struct fetch *f)
{
	struct series_view *series;
	size_t count;

	if (!fetch_series(f, STR("up|scrape_duration_seconds|scrape_samples_scraped"), &series, &count))
		return false;
	records_of_up(f, series, count);
	return true;
}

/* Adds a time to a rising list, once. Nearly all are there already. */
static void time_add(struct times *times, int64_t t_ms)
{
	size_t low = times_after(times->items, times->count, t_ms - 1);

	if (low < times->count && times->items[low] == t_ms)
		return;
	VEC_PUSH(times, t_ms);
	memmove(times->items + low + 1, times->items + low, (times->count - 1 - low) * sizeof *times->items);
	times->items[low] = t_ms;
}

/* A target without `up` (pushed, or behind a filter) was scraped whenever any of its series has a sample: none needs to live all the time.
 */
static void records_of_series(struct fetch *f, const struct series_view *series, size_t count)
{
	struct map without_up;

	map_init(&without_up);
	for (size_t i = 0; i < count; i++) {
		struct str key = target_key(f, series[i].labels);

		if (!map_has(&f->targets, key))
			target_of(f, series[i].labels, false);
		else if (!map_has(&without_up, key))
			continue;
		struct map_entry *entry = map_put(&without_up, key, NULL);

		if (!entry->value)
			entry->value = NEW(struct times);
		for (size_t k = 0; k < series[i].count; k++)
			time_add(entry->value, series[i].t[k]);
	}
	MAP_EACH (&without_up, entry) {
		struct times *times = entry->value;

		for (size_t k = 0; k < times->count; k++)
			record_add(map_get(&f->targets, entry->key), times->items[k], true);
		VEC_FREE(times);
		mem_free(times);
	}
	map_fini(&without_up);
}

/* ---- samples ---- */

static void copy_series(struct fetch *f, const struct series_view *view)
{
	struct sink *sink = f->w->data.fleet.sink;
	struct series *s = sink->ops->series(sink, view->labels, METRIC_UNKNOWN);

	for (size_t i = 0; i < view->count; i++)
		sink->ops->append(sink, s, view->t[i], view->v[i]);
}

static bool samples_fetch(struct fetch *f)
{
	struct series_view *series = NULL;
	struct str names;
	size_t count = 0;

	if (!names_find(f, &names) || (names.len && !fetch_series(f, names, &series, &count)))
		return false;
	records_of_series(f, series, count);
	for (size_t i = 0; i < count; i++)
		copy_series(f, &series[i]);
	return true;
}

/* ---- the window ---- */

static int interval_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of the targets' scrape intervals. */
static int64_t interval_of(const struct fleet *fleet)
{
	VEC(int64_t) all = { 0 };
	int64_t median = 0;

	VEC_EACH (&fleet->targets, t)
		if (target_interval_ms(*t) > 0)
			VEC_PUSH(&all, target_interval_ms(*t));
	if (all.count) {
		qsort(all.items, all.count, sizeof *all.items, interval_compare);
		median = all.items[all.count / 2];
	}
	VEC_FREE(&all);
	return median;
}

/* The window begins and ends with a scrape where there is one near: what was really seen is what is said. */
static struct window window_fit(const struct watch *w, int64_t from_ms, int64_t to_ms)
{
	int64_t first_ms = w->moments.items[0], slack_ms = w->interval_ms + w->interval_ms / 2, newest_ms = 0;

	VEC_EACH (&w->moments, moment)
		if (*moment <= to_ms)
			newest_ms = *moment;
	if (newest_ms > from_ms && to_ms - newest_ms <= slack_ms)
		to_ms = newest_ms;
	if (from_ms == to_ms)
		return (struct window){ from_ms, to_ms, first_ms < from_ms ? first_ms : from_ms };
	if (first_ms > from_ms && first_ms < to_ms)
		from_ms = first_ms;
	return (struct window){ from_ms, to_ms, first_ms < from_ms ? first_ms : from_ms };
}

static bool spans_fit(struct fetch *f)
{
	struct watch *w = f->w;

	moments_find(w);
	w->interval_ms = interval_of(&w->data.fleet);
	if (!w->moments.count) {
		error_set(f->e, EXIT_UNKNOWN, "%s has nothing of an LLM server in that window%s%s", w->options.remote.url,
			w->options.remote.match ? " that matches " : "", w->options.remote.match ? w->options.remote.match : "");
		error_hint(f->e, "goodput query 'count by (job) (up)' --prometheus %s lists its jobs", w->options.remote.url);
		return false;
	}
	w->span.window = window_fit(w, f->from_ms, f->to_ms);
	w->span.kind = span_kind_of(w, w->span.window.from_ms, w->span.window.to_ms);
	/* A window with two ends is asked about alone, as of a recording. */
	w->span.asked = w->options.window && strstr(w->options.window, "..");
	if (!f->reference_from_ms)
		return true;
	w->reference.window = window_fit(w, f->reference_from_ms, f->reference_to_ms);
	w->reference.kind = span_kind_of(w, w->reference.window.from_ms, w->reference.window.to_ms);
	return true;
}

static bool fleet_fetch(struct fetch *f)
{
	log_progress("asking %s who is in the fleet", f->w->options.remote.url);
	if (!jobs_find(f) || !up_fetch(f))
		return false;
	log_progress("asking %s for samples of %zu targets", f->w->options.remote.url, f->w->data.fleet.targets.count);
	return samples_fetch(f) && spans_fit(f);
}

bool remote_gather(struct watch *w, struct error *e)
{
	struct fetch f = { .w = w, .e = e };

	if (!times_resolve(&f))
		return false;
	w->remote = f.b = backend_remote_new(&w->options.remote, e);
	if (!f.b)
		return false;
	w->span.window = (struct window){ f.from_ms, f.to_ms, f.from_ms };
	if (w->options.only_samples && !w->options.only_names)
		return true;
	map_init(&f.targets);
	bool ok = fleet_fetch(&f);

	map_fini(&f.targets);
	log_progress(NULL);
	return ok;
}
