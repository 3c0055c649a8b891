/* Copies of what a Prometheus has of a fleet. */
#include "watch/mirror.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/number.h"
#include "base/vec.h"
#include "catalog/binding.h"

#include <math.h>
#include <string.h>

enum { NAMES_MAX = 1 << 20, QUERY_MAX = 2 << 20, PART_MAX = 16 << 10 };

struct mirror {
	struct backend *b;
	const struct catalog *catalog;
	bool only_engines, is_local;
	struct arena arena; /* what is known of jobs and names */
	bool known;         /* jobs and names have been asked for */
	struct matcher job; /* jobs with engines; job_count 0: all */
	size_t job_count;
	struct str names; /* an alternation; empty: none is of use */
	bool any_engine;
	struct map targets, with_up; /* "job\ninstance" → struct target; of them, those that have an `up` */
	struct map present;          /* keys of those that have one now */
};

struct times {
	int64_t *items;
	size_t count, cap;
};

struct texts {
	struct str *items;
	size_t count;
};

static void job_clear(struct mirror *m)
{
	if (m->job_count)
		matcher_fini(&m->job);
	m->job_count = 0;
}

struct mirror *mirror_new(bool only_engines)
{
	struct mirror *m = NEW(struct mirror);

	*m = (struct mirror){ .only_engines = only_engines };
	arena_init(&m->arena);
	map_init(&m->targets);
	map_init(&m->with_up);
	map_init(&m->present);
	return m;
}

void mirror_free(struct mirror *m)
{
	if (!m)
		return;
	job_clear(m);
	map_fini(&m->targets);
	map_fini(&m->with_up);
	map_fini(&m->present);
	arena_fini(&m->arena);
	mem_free(m);
}

void mirror_point(struct mirror *m, struct backend *b, bool is_local, const struct catalog *c)
{
	job_clear(m);
	m->b = b;
	m->is_local = is_local;
	m->catalog = c;
	m->known = false;
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
static bool values_find(struct mirror *m, struct str label, const struct matcher *matchers, size_t count, const struct mirror_span *span,
	struct texts *found)
{
	const struct backend_ops *ops = m->b->ops;

	if (!ops->label_values(m->b, &m->arena, label, matchers, count, span->from_ms, span->to_ms, &found->items, &found->count, span->e))
		return false;
	return found->count ||
	       ops->label_values(m->b, &m->arena, label, matchers, count, 0, clock_now_ms(), &found->items, &found->count, span->e);
}

/* Who asks over the network sends the text only, which may be longer than what is compiled here. */
static bool matcher_make(const struct mirror *m, struct matcher *out, struct str label, struct str value, struct error *e)
{
	*out = (struct matcher){ label, value, MATCH_RE, NULL };
	return !m->is_local || matcher_init(out, label, MATCH_RE, value, e);
}

static bool job_set(struct mirror *m, const struct texts *jobs, struct error *e)
{
	m->job_count = matcher_make(m, &m->job, STR("job"), alternation(&m->arena, jobs->items, jobs->count), e);
	return m->job_count;
}

/* The jobs that show an engine's families; none where series have no job, or where there is no engine. */
static bool jobs_find(struct mirror *m, const struct mirror_span *span)
{
	struct matcher matcher;
	struct buf names;
	struct texts jobs = { 0 };

	job_clear(m);

	buf_init(&names, NAMES_MAX);
	engine_names(m->catalog, &names);
	bool ok = matcher_make(m, &matcher, LABEL_NAME, buf_str(&names), span->e);

	if (ok) {
		ok = values_find(m, STR("job"), &matcher, 1, span, &jobs);
		matcher_fini(&matcher);
	}
	buf_fini(&names);
	return ok && (!jobs.count || job_set(m, &jobs, span->e));
}

static void known_names(struct mirror *m, struct map *known)
{
	static const char *const parts[] = { "_bucket", "_sum", "_count" };
	struct arena *arena = &m->arena;
	size_t count;
	const struct exposed_name *names = catalog_exposed_names(m->catalog, arena, &count);

	for (size_t i = 0; i < count; i++) {
		if (!names[i].is_histogram)
			map_set(known, names[i].name, m);
		for (size_t k = 0; names[i].is_histogram && k < ARRAY_LEN(parts); k++)
			map_set(known, arena_printf(arena, STR_FMT "%s", STR_ARG(names[i].name), parts[k]), m);
	}
}

/* Exposed by an engine, but not in the catalogue: coverage tells. */
static bool is_unknown_of_engine(const struct catalog *c, struct str name)
{
	return !str_ends(name, STR("_created")) && !str_ends(name, STR("_bucket")) && is_engine_name(c, name);
}

/* Names that are there and of use, as one alternation; empty when there are none. */
static bool names_find(struct mirror *m, const struct mirror_span *span)
{
	struct map known;
	struct texts there = { 0 };
	size_t kept = 0;

	if (!values_find(m, LABEL_NAME, &m->job, m->job_count, span, &there))
		return false;
	map_init(&known);
	known_names(m, &known);
	m->any_engine = false;
	for (size_t i = 0; i < there.count; i++) {
		m->any_engine = m->any_engine || is_engine_name(m->catalog, there.items[i]);
		if (map_has(&known, there.items[i]) || is_unknown_of_engine(m->catalog, there.items[i]))
			there.items[kept++] = there.items[i];
	}
	map_fini(&known);
	m->names = alternation(&m->arena, there.items, kept);
	return true;
}

/* ---- asking ---- */

static bool part_fetch(struct mirror *m, struct arena *arena, struct str names, const struct mirror_span *span, struct mirror_series *found)
{
	struct matcher matchers[2] = { [1] = m->job };

	if (!matcher_make(m, &matchers[0], LABEL_NAME, names, span->e))
		return false;
	bool ok = m->b->ops->select(
		m->b, arena, matchers, 1 + m->job_count, span->from_ms, span->to_ms, &found->items, &found->count, span->e);

	matcher_fini(&matchers[0]);
	return ok;
}

/* Where a long alternation ends that can be compiled: between two names. */
static size_t part_length(const struct mirror *m, struct str names)
{
	size_t length = PART_MAX;

	if (!m->is_local || names.len <= PART_MAX)
		return names.len;
	while (length > 1 && names.ptr[length] != '|')
		length--;
	return length;
}

static bool series_fetch(
	struct mirror *m, struct arena *arena, struct str names, const struct mirror_span *span, struct mirror_series *found)
{
	while (names.len) {
		size_t length = part_length(m, names);
		struct mirror_series part;

		if (!part_fetch(m, arena, str_head(names, length), span, &part))
			return false;
		struct series_view *all = ARENA_ARRAY(arena, struct series_view, found->count + part.count + 1);

		if (found->count)
			memcpy(all, found->items, found->count * sizeof *all);
		if (part.count)
			memcpy(all + found->count, part.items, part.count * sizeof *all);
		*found = (struct mirror_series){ all, found->count + part.count };
		names = str_skip(names, length < names.len ? length + 1 : length);
	}
	return true;
}

/* Ends of series are not in a range of samples, but in what is there at a moment: a target that is scraped no more has no `up` then. */
static bool present_fetch(struct mirror *m, struct arena *arena, const struct mirror_span *span, struct mirror_batch *batch)
{
	struct promql_value value;
	struct buf query;

	buf_init(&query, QUERY_MAX);
	buf_add_cstr(&query, "up");
	if (m->job_count) {
		buf_add_cstr(&query, "{job=~");
		label_print_value(m->job.value, &query);
		buf_add_c(&query, '}');
	}
	bool ok = m->b->ops->query(m->b, arena, buf_str(&query), span->to_ms, &value, span->e);

	buf_fini(&query);
	if (ok && value.type == PROMQL_VECTOR) {
		batch->present = value.elements;
		batch->present_count = value.count;
	}
	return ok;
}

/* Jobs and names, once. */
static bool know(struct mirror *m, const struct mirror_span *span)
{
	if (m->known)
		return true;
	arena_reset(&m->arena);
	m->known = jobs_find(m, span) && names_find(m, span);
	return m->known;
}

bool mirror_fetch(struct mirror *m, struct arena *arena, const struct mirror_span *span, struct mirror_batch *batch)
{
	*batch = (struct mirror_batch){ 0 };
	if (!know(m, span))
		return false;
	if (m->only_engines && !m->any_engine)
		return true;
	batch->any_engine = m->any_engine;
	if (m->only_engines && !present_fetch(m, arena, span, batch))
		return false;
	return series_fetch(m, arena, STR("up|scrape_duration_seconds|scrape_samples_scraped"), span, &batch->up) &&
	       series_fetch(m, arena, m->names, span, &batch->samples);
}

bool mirror_fetch_presence(
	struct mirror *m, struct arena *arena, const struct mirror_span *span, struct mirror_series *up, struct mirror_series *starts)
{
	*up = *starts = (struct mirror_series){ 0 };
	return know(m, span) && series_fetch(m, arena, STR("up"), span, up) &&
	       series_fetch(m, arena, STR("process_start_time_seconds"), span, starts);
}

/* ---- who is in the fleet, and when it was scraped ---- */

/* One mirror_apply. */
struct applying {
	struct mirror *m;
	struct fleet *fleet;
	struct arena *scratch;
};

static struct str target_key(struct applying *a, const struct labels *l)
{
	struct str job = labels_get(l, STR("job")), instance = labels_get(l, STR("instance"));

	return arena_printf(a->scratch, STR_FMT "\n" STR_FMT, STR_ARG(job), STR_ARG(instance));
}

/* "10.2.3.4:8000" is no name for people where there is a pod's. */
static struct str target_name(struct applying *a, const struct labels *l)
{
	struct str instance = labels_get(l, STR("instance")), pod = labels_get(l, STR("pod")), name = instance;
	bool numeric = instance.len && strspn(instance.ptr, "0123456789.:[]abcdef") == instance.len;

	if (!instance.len)
		name = labels_get(l, STR("job")).len ? labels_get(l, STR("job")) : STR("all");
	else if (numeric && pod.len && !fleet_find(a->fleet, pod))
		name = pod;
	if (fleet_find(a->fleet, name))
		name = arena_printf(a->scratch, STR_FMT " (" STR_FMT ")", STR_ARG(name), STR_ARG(labels_get(l, STR("job"))));
	return name;
}

/* Labels that the Prometheus gave the target: those of its `up`. */
static struct target *target_of(struct applying *a, const struct labels *l, bool is_up)
{
	struct str key = target_key(a, l);
	struct target *t = map_get(&a->m->targets, key);
	struct labels_builder *b;

	if (t)
		return t;
	t = fleet_target(a->fleet, target_name(a, l), STR_EMPTY, STR_EMPTY);
	b = NEW(struct labels_builder);
	if (is_up)
		labels_builder_init(b, l);
	labels_builder_remove(b, LABEL_NAME);
	labels_builder_set(b, STR("job"), labels_get(l, STR("job")));
	labels_builder_set(b, STR("instance"), labels_get(l, STR("instance")));
	labels_unref(t->labels);
	t->labels = labels_builder_build(b);
	mem_free(b);
	map_set(&a->m->targets, key, t);
	return t;
}

static struct scrape_record *record_at(struct target *t, int64_t t_ms)
{
	for (size_t i = t->scrapes.count; i-- > 0 && t->scrapes.items[i].t_ms >= t_ms;)
		if (t->scrapes.items[i].t_ms == t_ms)
			return &t->scrapes.items[i];
	return NULL;
}

/* Unless it is there, or an older one. */
static void record_add(struct target *t, int64_t t_ms, bool up)
{
	struct scrape_record record = { .t_ms = t_ms, .outcome = up ? SCRAPE_OK : SCRAPE_FAILED, .duration_s = NAN };

	if (t->scrapes.count && t->scrapes.items[t->scrapes.count - 1].t_ms >= t_ms)
		return;
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

static void records_of_up(struct applying *a, const struct mirror_series *up)
{
	for (size_t i = 0; i < up->count; i++) {
		const struct series_view *view = &up->items[i];

		if (!str_is(labels_name(view->labels), "up"))
			continue;
		struct target *t = target_of(a, view->labels, true);

		map_set(&a->m->with_up, target_key(a, view->labels), t);
		for (size_t k = 0; k < view->count; k++)
			if (!number_is_stale(view->v[k]))
				record_add(t, view->t[k], view->v[k] > 0);
	}
	/* What else the scrape told. */
	for (size_t i = 0; i < up->count; i++) {
		const struct series_view *view = &up->items[i];
		struct str name = labels_name(view->labels);
		struct target *t = map_get(&a->m->targets, target_key(a, view->labels));

		for (size_t k = 0; t && k < view->count; k++) {
			struct scrape_record *record = record_at(t, view->t[k]);

			if (number_is_stale(view->v[k]))
				continue;
			if (record && str_is(name, "scrape_duration_seconds"))
				record->duration_s = view->v[k];
			else if (record && str_is(name, "scrape_samples_scraped"))
				samples_tell(record, view->v[k]);
		}
	}
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
static void records_of_samples(struct applying *a, const struct mirror_series *samples)
{
	struct map without_up;

	map_init(&without_up);
	for (size_t i = 0; i < samples->count; i++) {
		const struct series_view *view = &samples->items[i];
		struct str key = target_key(a, view->labels);

		if (map_has(&a->m->with_up, key))
			continue;
		target_of(a, view->labels, false);
		struct map_entry *entry = map_put(&without_up, key, NULL);

		if (!entry->value)
			entry->value = NEW(struct times);
		for (size_t k = 0; k < view->count; k++)
			if (!number_is_stale(view->v[k]))
				time_add(entry->value, view->t[k]);
	}
	MAP_EACH (&without_up, entry) {
		struct times *times = entry->value;

		for (size_t k = 0; k < times->count; k++)
			record_add(map_get(&a->m->targets, entry->key), times->items[k], true);
		VEC_FREE(times);
		mem_free(times);
	}
	map_fini(&without_up);
}

/* What is not newer than a series is refused by the sink. */
static void samples_copy(struct sink *sink, const struct mirror_series *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct series_view *view = &samples->items[i];
		struct series *s = sink->ops->series(sink, view->labels, METRIC_UNKNOWN);

		for (size_t k = 0; k < view->count; k++)
			sink->ops->append(sink, s, view->t[k], view->v[k]);
	}
}

void mirror_apply(struct mirror *m, struct fleet *f, struct arena *scratch, const struct mirror_batch *batch)
{
	struct applying a = { .m = m, .fleet = f, .scratch = scratch };

	map_clear(&m->present);
	for (size_t i = 0; i < batch->present_count; i++)
		map_set(&m->present, target_key(&a, batch->present[i].labels), m);
	records_of_up(&a, &batch->up);
	records_of_samples(&a, &batch->samples);
	samples_copy(f->sink, &batch->samples);
}

static void target_forget(struct map *map, const struct target *t)
{
	MAP_EACH (map, entry)
		if (entry->value == t) {
			map_remove(map, entry->key);
			return;
		}
}

bool mirror_has_gone(const struct mirror *m, const struct target *t)
{
	/* None at all is more likely an answer with a part missing. */
	if (!m->present.live)
		return false;
	MAP_EACH (&m->with_up, entry)
		if (entry->value == t)
			return !map_has(&m->present, entry->key);
	return false;
}

void mirror_forget(struct mirror *m, const struct target *t)
{
	target_forget(&m->targets, t);
	target_forget(&m->with_up, t);
}
