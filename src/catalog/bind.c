/* bind: the newest present name of each metric. */
#include "catalog/page.h"

#include <stdlib.h>

const char *coverage_name(enum coverage c)
{
	static const char *const names[] = { "present", "absent", "not enabled", "not applicable" };

	return names[c];
}

const struct engine_metric *engine_entry_of(const struct engine_spec *engine, const struct metric_spec *metric)
{
	for (size_t i = 0; i < engine->metric_count; i++) {
		if (engine->metrics[i].metric == metric)
			return &engine->metrics[i];
	}
	return NULL;
}

bool family_fits(const struct shown_family *family, struct str name, enum metric_type type)
{
	bool part = !str_eq(family->name, name) && family->type != METRIC_COUNTER;

	if (part || family->type == METRIC_UNKNOWN)
		return !part || type != METRIC_HISTOGRAM;
	bool histogram = family->type == METRIC_HISTOGRAM || family->type == METRIC_GAUGE_HISTOGRAM;

	return type == METRIC_HISTOGRAM ? histogram : !histogram && family->type != METRIC_SUMMARY;
}

/* Of specs with one name (its unit changed between versions) those outside the window give way to one inside. */
static bool has_better_spec(const struct binding *b, const struct engine_metric *entry, const struct name_spec *name)
{
	if (versions_overlap(name->since, name->until, b->version_low, b->version_high))
		return false;
	for (size_t i = 0; i < entry->name_count; i++) {
		const struct name_spec *other = &entry->names[i];

		if (str_eq(other->name, name->name) && versions_overlap(other->since, other->until, b->version_low, b->version_high))
			return true;
	}
	return false;
}

static bool has_value_labels(const struct shown_family *family, const struct name_spec *name)
{
	for (size_t i = 0; i < ARRAY_LEN(name->value_labels) && name->value_labels[i].len; i++) {
		if (!family_has_label(family, name->value_labels[i]))
			return false;
	}
	return true;
}

static void bind_entry(const struct page *page, const struct engine_spec *engine, const struct engine_metric *entry, bool with_samples,
	struct bound_metric *bound)
{
	for (size_t i = 0; i < entry->name_count; i++) {
		const struct name_spec *name = &entry->names[i];
		const struct shown_family *family = page_family(page, name->name);

		if (!family || family->has_samples != with_samples || !family_fits(family, name->name, entry->metric->type) ||
			!has_value_labels(family, name) || has_better_spec(page->binding, entry, name))
			continue;
		if (!bound->name) {
			*bound = (struct bound_metric){ .engine = engine, .entry = entry, .name = name, .coverage = COVERAGE_PRESENT };
		} else if (!str_eq(name->name, bound->name->name) && !bound->twin) {
			bound->twin = name;
		}
	}
}

static void bind_from(const struct page *page, const struct engine_spec *engine, bool with_samples, struct bound_metric *metrics)
{
	for (size_t i = 0; i < engine->metric_count; i++) {
		struct bound_metric *bound = &metrics[engine->metrics[i].metric->index];

		if (!bound->name)
			bind_entry(page, engine, &engine->metrics[i], with_samples, bound);
	}
}

/* Names with samples first: a family that is only declared says that nothing was written yet. */
void page_bind(struct page *page)
{
	struct binding *b = page->binding;

	b->metrics = ARENA_ARRAY(page->arena, struct bound_metric, page->catalog->metrics.count);
	for (int declared = 0; declared < 2; declared++) {
		if (b->engine)
			bind_from(page, b->engine, !declared, b->metrics);
		for (size_t i = 0; i < b->exporter_count; i++)
			bind_from(page, b->exporters[i], !declared, b->metrics);
	}
	for (size_t i = 0; i < page->catalog->metrics.count; i++) {
		const struct name_spec *name = b->metrics[i].name;

		if (name && !page_family(page, name->name)->has_samples)
			b->metrics[i].why = STR("declared, no sample yet");
	}
}

struct binding *binding_new(struct arena *arena, const struct catalog *c, const struct shown_family *families, size_t count)
{
	struct page page = { .arena = arena, .catalog = c, .families = families, .count = count };

	page.binding = ARENA_NEW(arena, struct binding);
	map_init(&page.by_name);
	for (size_t i = 0; i < count; i++)
		map_set(&page.by_name, families[i].name, (void *)&families[i]);
	page_detect(&page);
	page_version(&page);
	page_bind(&page);
	page_coverage(&page);
	map_fini(&page.by_name);
	return page.binding;
}

static void print_versions(struct str low, struct str high, struct buf *out)
{
	if (low.len && high.len && str_eq(low, high))
		buf_printf(out, " " STR_FMT, STR_ARG(low));
	else if (low.len && high.len)
		buf_printf(out, " " STR_FMT " to " STR_FMT, STR_ARG(low), STR_ARG(high));
	else if (low.len)
		buf_printf(out, " " STR_FMT " or later", STR_ARG(low));
	else if (high.len)
		buf_printf(out, " up to " STR_FMT, STR_ARG(high));
}

void binding_print_engine(const struct binding *b, struct buf *out)
{
	if (!b->engine && !b->exporter_count) {
		buf_add_cstr(out, "unknown engine");
		return;
	}
	if (!b->engine) {
		for (size_t i = 0; i < b->exporter_count; i++)
			buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(b->exporters[i]->title));
		return;
	}
	buf_add(out, b->engine->title);
	print_versions(b->version_low, b->version_high, out);
	if (b->flavour.len)
		buf_printf(out, " (" STR_FMT ")", STR_ARG(b->flavour));
}

/* ---- all names ---- */

static int exposed_cmp(const void *a, const void *b)
{
	const struct exposed_name *x = a, *y = b;
	int order = str_cmp(x->name, y->name);

	return order ? order : (int)x->is_histogram - (int)y->is_histogram;
}

static size_t exposed_distinct(struct exposed_name *names, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!kept || exposed_cmp(&names[kept - 1], &names[i]))
			names[kept++] = names[i];
	}
	return kept;
}

struct exposed_name *catalog_exposed_names(const struct catalog *c, struct arena *arena, size_t *count)
{
	size_t all = 0;

	VEC_EACH (&c->engines, engine) {
		for (size_t i = 0; i < (*engine)->metric_count; i++)
			all += (*engine)->metrics[i].name_count;
	}
	struct exposed_name *names = ARENA_ARRAY(arena, struct exposed_name, all);

	all = 0;
	VEC_EACH (&c->engines, engine) {
		for (size_t i = 0; i < (*engine)->metric_count; i++) {
			const struct engine_metric *entry = &(*engine)->metrics[i];

			for (size_t j = 0; j < entry->name_count; j++)
				names[all++] = (struct exposed_name){ entry->names[j].name, entry->metric->type == METRIC_HISTOGRAM };
		}
	}
	if (all)
		qsort(names, all, sizeof *names, exposed_cmp);
	*count = exposed_distinct(names, all);
	return names;
}
