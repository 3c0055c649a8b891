/* Every series of a fleet to its target, scheduler and metric. */
#include "signals/evidence.h"

#include "base/hash.h"
#include "signals/window.h"

#include <math.h>
#include <stdlib.h>

/* One way to read an exposed series. Several engines may know a name. */
struct candidate {
	const struct engine_spec *engine;
	const struct engine_metric *entry;
	const struct name_spec *name;
	enum series_part part;
	struct candidate *next;
};

struct builder {
	struct evidence *ev;
	struct map candidates; /* exposed series name → struct candidate list */
	struct map targets;    /* "job\0instance" → index + 1 */
	struct map schedulers; /* "target\0key" → index + 1 */
	struct map families;   /* "target\0family" → index + 1 in the target's families */
	struct buf key;
};

static void add_candidate(struct builder *b, struct str name, const char *suffix, struct candidate c)
{
	buf_reset(&b->key);
	buf_add(&b->key, name);
	buf_add_cstr(&b->key, suffix);
	struct map_entry *entry = map_put(&b->candidates, buf_str(&b->key), NULL);
	struct candidate *kept = ARENA_NEW(b->ev->arena, struct candidate);
	*kept = c;
	kept->next = entry->value;
	entry->value = kept;
}

static void list_candidates(struct builder *b)
{
	VEC_EACH (&b->ev->catalog->engines, engine)
		for (size_t m = 0; m < (*engine)->metric_count; m++)
			for (size_t n = 0; n < (*engine)->metrics[m].name_count; n++) {
				const struct engine_metric *entry = &(*engine)->metrics[m];
				struct candidate c = { *engine, entry, &entry->names[n], PART_VALUE, NULL };
				if (entry->metric->type != METRIC_HISTOGRAM) {
					add_candidate(b, c.name->name, "", c);
					continue;
				}
				static const char *const suffixes[] = {
					[PART_BUCKET] = "_bucket", [PART_SUM] = "_sum", [PART_COUNT] = "_count"
				};
				for (c.part = PART_BUCKET; c.part <= PART_COUNT; c.part++)
					add_candidate(b, c.name->name, suffixes[c.part], c);
			}
}

static struct str pair_key(struct builder *b, struct str a, struct str c)
{
	buf_reset(&b->key);
	buf_add(&b->key, a);
	buf_add_c(&b->key, '\0');
	buf_add(&b->key, c);
	return buf_str(&b->key);
}

static struct str index_key(struct builder *b, size_t index, struct str name)
{
	return pair_key(b, str_of((const char *)&index, sizeof index), name);
}

static void list_targets(struct builder *b)
{
	struct evidence *ev = b->ev;
	for (size_t i = 0; i < ev->fleet->targets.count; i++) {
		const struct target *t = ev->fleet->targets.items[i];
		VEC_PUSH(&ev->targets, (struct target_evidence){ .target = t, .interval_ms = target_interval_ms(t) });
		struct str key = pair_key(b, labels_get(t->labels, STR("job")), labels_get(t->labels, STR("instance")));
		map_set(&b->targets, key, (void *)(uintptr_t)(i + 1));
	}
}

struct str member_label(const struct labels *l, struct str name)
{
	char exported[128];
	if (name.len < sizeof exported - 10) {
		memcpy(exported, "exported_", 9);
		memcpy(exported + 9, name.ptr, name.len);
		struct str moved = labels_get(l, str_of(exported, name.len + 9));
		if (moved.ptr)
			return moved;
	}
	return labels_get(l, name);
}

/* Values of several labels, joined by '/'. */
static struct str joined_labels(struct arena *arena, const struct labels *l, const struct str *names, size_t count)
{
	struct str joined = STR_EMPTY;
	for (size_t i = 0; i < count; i++) {
		struct str value = member_label(l, names[i]);
		if (!value.len)
			continue;
		joined = joined.len ? arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(joined), STR_ARG(value)) : value;
	}
	return joined.ptr ? joined : STR("");
}

static bool is_one_of(struct str name, const struct str *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(name, names[i]))
			return true;
	return false;
}

static uint64_t identity_of(const struct labels *l, const struct engine_spec *engine)
{
	uint64_t hash = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		struct str name = l->items[i].name;
		if (str_is(name, "le") || str_is(name, "__name__") ||
			is_one_of(name, engine->duplicate_labels, engine->duplicate_label_count) ||
			is_one_of(name, engine->writer_labels, engine->writer_label_count))
			continue;
		hash = hash_seeded(name.ptr, name.len, hash);
		hash = hash_seeded(l->items[i].value.ptr, l->items[i].value.len, hash + 1);
	}
	return hash;
}

static bool where_holds(const struct name_spec *name, const struct labels *l)
{
	for (size_t i = 0; i < name->where_count; i++) {
		struct str rest = name->where[i].value, one, value = member_label(l, name->where[i].label);
		bool hit = false;
		while (!hit && str_split(&rest, '|', &one))
			hit = str_eq(one, value);
		if (!hit)
			return false;
	}
	return true;
}

static bool key_is_taken(const struct evidence *ev, size_t target, struct str key)
{
	VEC_EACH (&ev->schedulers, s)
		if (s->target == target && str_eq(s->key, key))
			return true;
	return false;
}

/* What people call a card: its number, with the MIG instance where there is one. Two cards of the same number behind one exporter keep all
 * that tells them apart. */
static struct str gpu_key(const struct evidence *ev, size_t target, const struct labels *l, struct str full)
{
	static const struct str names[] = { { "gpu", 3 }, { "GPU_I_ID", 8 } };
	struct str key = joined_labels(ev->arena, l, names, member_label(l, names[0]).len ? ARRAY_LEN(names) : 0);
	return key.len && !key_is_taken(ev, target, key) ? key : full;
}

static size_t scheduler_of(struct builder *b, size_t target, const struct engine_spec *engine, const struct labels *l)
{
	struct evidence *ev = b->ev;
	struct str key = joined_labels(ev->arena, l, engine->scheduler_labels, engine->scheduler_label_count);
	bool made;
	struct map_entry *entry = map_put(&b->schedulers, index_key(b, target, key), &made);
	if (!made)
		return (size_t)(uintptr_t)entry->value - 1;
	struct scheduler s = { .target = target, .key = arena_str(ev->arena, key) };
	s.metrics = arena_zalloc(ev->arena, ev->catalog->metrics.count, sizeof *s.metrics);
	s.is_gpu = engine->exporter && is_one_of(STR("gpu"), engine->scheduler_labels, engine->scheduler_label_count) && key.len;
	if (s.is_gpu)
		s.key = arena_str(ev->arena, gpu_key(ev, target, l, key));
	VEC_PUSH(&ev->schedulers, s);
	entry->value = (void *)(uintptr_t)ev->schedulers.count;
	return ev->schedulers.count - 1;
}

static struct member_list *list_of(struct scheduler *s, const struct candidate *c)
{
	__typeof__(&s->metrics[0]) lists = &s->metrics[c->entry->metric->index];
	VEC_EACH (lists, list)
		if (list->name == c->name)
			return list;
	VEC_PUSH(lists, (struct member_list){ .engine = c->engine, .entry = c->entry, .name = c->name });
	return &lists->items[lists->count - 1];
}

static void add_member(struct builder *b, size_t target, const struct candidate *c, const struct series_view *view)
{
	const struct labels *l = view->labels;
	const struct engine_spec *engine = c->engine;
	if (!where_holds(c->name, l))
		return;
	struct member m = { .view = *view, .part = c->part, .identity = identity_of(l, engine) };
	m.duplicate = joined_labels(b->ev->arena, l, engine->duplicate_labels, engine->duplicate_label_count);
	m.writer = joined_labels(b->ev->arena, l, engine->writer_labels, engine->writer_label_count);
	if (c->part == PART_BUCKET && !number_parse(labels_get(l, STR("le")), &m.le))
		m.le = NAN;
	size_t index = scheduler_of(b, target, engine, l);
	struct scheduler *s = &b->ev->schedulers.items[index];
	if (!s->model.len)
		s->model = arena_str(b->ev->arena, joined_labels(b->ev->arena, l, engine->model_labels, engine->model_label_count));
	struct member_list *list = list_of(s, c);
	VEC_PUSH(&list->members, m);
	list->repeats |= m.duplicate.len || m.writer.len;
}

/* The family of a series: a histogram's base name where the catalogue or an `le` label says so, else its own name. */
static struct str family_of(struct builder *b, const struct series_view *v, struct str name, const struct candidate *c, bool *histogram)
{
	*histogram = false;
	for (; c; c = c->next)
		if (c->part != PART_VALUE) {
			*histogram = true;
			return c->name->name;
		}
	if (str_ends(name, STR("_bucket")) && labels_get(v->labels, STR("le")).len) {
		*histogram = true;
		return str_head(name, name.len - 7);
	}
	return name;
}

static void add_family(struct builder *b, size_t target, struct str family, bool histogram, const struct series_view *view)
{
	struct target_evidence *t = &b->ev->targets.items[target];
	bool made;
	struct map_entry *entry = map_put(&b->families, index_key(b, target, family), &made);
	if (made) {
		struct family_seen f = { .name = arena_str(b->ev->arena, family), .type = histogram ? METRIC_HISTOGRAM : METRIC_UNKNOWN };
		VEC_PUSH(&t->families, f);
		entry->value = (void *)(uintptr_t)t->families.count;
	}
	struct family_seen *f = &t->families.items[(size_t)(uintptr_t)entry->value - 1];
	VEC_PUSH(&f->series, *view);
	for (uint32_t i = 0; i < view->labels->count; i++) {
		struct str label = view->labels->items[i].name;
		if (str_starts(label, STR("exported_")))
			label = str_skip(label, 9);
		if (!str_is(label, "__name__") && !is_one_of(label, f->labels.items, f->labels.count))
			VEC_PUSH(&f->labels, label);
	}
}

static bool is_report_series(struct str name)
{
	return str_is(name, "up") || str_starts(name, STR("scrape_")) || str_is(name, "ALERTS");
}

static void add_series(struct builder *b, const struct series_view *view)
{
	struct str name = labels_name(view->labels);
	if (!view->count || is_report_series(name))
		return;
	struct str key = pair_key(b, labels_get(view->labels, STR("job")), labels_get(view->labels, STR("instance")));
	size_t target = (size_t)(uintptr_t)map_get(&b->targets, key);
	if (!target)
		return;
	const struct candidate *first = map_get(&b->candidates, name);
	bool histogram;
	struct str family = family_of(b, view, name, first, &histogram);
	add_family(b, target - 1, family, histogram, view);
	for (const struct candidate *c = first; c; c = c->next)
		add_member(b, target - 1, c, view);
}

static int family_order(const void *a, const void *b)
{
	return str_cmp(((const struct family_seen *)a)->name, ((const struct family_seen *)b)->name);
}

static int label_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Times at which process_start_time_seconds moved. */
static void find_restarts(struct evidence *ev, size_t scheduler)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, "process_start_time");
	if (!m)
		return;
	struct scheduler *s = &ev->schedulers.items[scheduler];
	VEC_EACH (&s->metrics[m->index], list)
		VEC_EACH (&list->members, member) {
			const struct series_view *v = &member->view;
			for (size_t i = 1; i < v->count; i++) {
				ptrdiff_t before = view_before(v, (ptrdiff_t)i);
				if (before >= 0 &&
					fabs(v->v[i] - v->v[before]) > 2) /* the clock may be corrected by a little without a restart */
					VEC_PUSH(&ev->targets.items[s->target].restarts, v->t[i]);
			}
		}
}

static void finish_targets(struct evidence *ev)
{
	for (size_t i = 0; i < ev->schedulers.count; i++)
		ev->targets.items[ev->schedulers.items[i].target].scheduler_count++;
	VEC_EACH (&ev->targets, t) {
		t->schedulers = arena_alloc(ev->arena, (t->scheduler_count + 1) * sizeof *t->schedulers);
		t->scheduler_count = 0;
		if (t->families.count)
			qsort(t->families.items, t->families.count, sizeof *t->families.items, family_order);
		VEC_EACH (&t->families, f)
			if (f->labels.count)
				qsort(f->labels.items, f->labels.count, sizeof *f->labels.items, label_order);
	}
	for (size_t i = 0; i < ev->schedulers.count; i++) {
		struct target_evidence *t = &ev->targets.items[ev->schedulers.items[i].target];
		t->schedulers[t->scheduler_count++] = i;
		find_restarts(ev, i);
	}
}

bool evidence_build(struct evidence *ev, struct arena *arena, const struct catalog *c, const struct fleet *f, struct backend *b,
	int64_t from_ms, int64_t to_ms, struct error *e)
{
	*ev = (struct evidence){ .arena = arena, .catalog = c, .fleet = f, .from_ms = from_ms, .to_ms = to_ms };
	struct matcher all;
	arena_init(&ev->samples);
	if (!matcher_init(&all, STR("__name__"), MATCH_NE, STR(""), e))
		return false;
	struct series_view *series;
	size_t count;
	bool done = b->ops->select(b, &ev->samples, &all, 1, from_ms, to_ms, &series, &count, e);
	matcher_fini(&all);
	if (!done) {
		arena_fini(&ev->samples);
		return false;
	}
	struct builder builder = { .ev = ev };
	map_init(&builder.candidates);
	map_init(&builder.targets);
	map_init(&builder.schedulers);
	map_init(&builder.families);
	buf_init(&builder.key, 1 << 20);
	list_candidates(&builder);
	list_targets(&builder);
	for (size_t i = 0; i < count; i++)
		add_series(&builder, &series[i]);
	finish_targets(ev);
	map_fini(&builder.candidates);
	map_fini(&builder.targets);
	map_fini(&builder.schedulers);
	map_fini(&builder.families);
	buf_fini(&builder.key);
	return true;
}
