/* version: flavour, and the versions that are possible by what the page shows. */
#include "catalog/page.h"

static bool is_complete(const struct page *page, const struct engine_spec *engine)
{
	for (size_t i = 0; i < engine->complete_count; i++) {
		const struct page_condition present = { .seen = engine->complete[i] };

		if (!page_condition_holds(page, engine, &present))
			return false;
	}
	return engine->complete_count > 0;
}

static const struct flavour_spec *find_flavour(const struct page *page, const struct engine_spec *engine)
{
	for (size_t i = 0; i < engine->flavour_count; i++) {
		if (page_condition_holds(page, engine, &engine->flavours[i].when))
			return &engine->flavours[i];
	}
	return NULL;
}

static void window_narrow(struct binding *b, struct str from, struct str to)
{
	if (from.len && (!b->version_low.len || version_cmp(from, b->version_low) > 0))
		b->version_low = from;
	if (to.len && (!b->version_high.len || version_until_cmp(to, b->version_high) < 0))
		b->version_high = to;
}

/* The versions of one name within an entry: from the earliest start to the latest end of its specs. */
static void narrow_by_name(struct page *page, const struct engine_metric *entry, const struct name_spec *name)
{
	const struct shown_family *family = page_family(page, name->name);
	struct str since = name->since, until = name->until;

	if (!family || !family_fits(family, name->name, entry->metric->type))
		return;
	for (size_t i = 0; i < entry->name_count; i++) {
		const struct name_spec *other = &entry->names[i];

		if (!str_eq(other->name, name->name))
			continue;
		if (!other->since.len || (since.len && version_cmp(other->since, since) < 0))
			since = other->since;
		if (!other->until.len || (until.len && version_until_cmp(other->until, until) > 0))
			until = other->until;
	}
	window_narrow(page->binding, since, until);
}

static void narrow_by_names(struct page *page, const struct engine_spec *engine)
{
	for (size_t i = 0; i < engine->metric_count; i++) {
		for (size_t j = 0; j < engine->metrics[i].name_count; j++)
			narrow_by_name(page, &engine->metrics[i], &engine->metrics[i].names[j]);
	}
}

static void narrow_by_marks(struct page *page, const struct engine_spec *engine)
{
	for (size_t i = 0; i < engine->mark_count; i++) {
		const struct version_mark *mark = &engine->marks[i];

		if (mark->flavour.len && !str_eq(mark->flavour, page->binding->flavour))
			continue;
		if (page_condition_holds(page, engine, &mark->when))
			window_narrow(page->binding, mark->from, mark->to);
	}
}

void page_version(struct page *page)
{
	struct binding *b = page->binding;

	if (!b->engine)
		return;
	b->complete = is_complete(page, b->engine);
	const struct flavour_spec *flavour = find_flavour(page, b->engine);

	if (flavour)
		b->flavour = flavour->name;
	if (flavour && flavour->versionless)
		return;
	narrow_by_names(page, b->engine);
	narrow_by_marks(page, b->engine);
	/* Names that no one version has together (an option that shows hidden ones, a patched build): no statement. */
	if (b->version_low.len && !version_within(b->version_low, STR_EMPTY, b->version_high))
		b->version_low = b->version_high = STR_EMPTY;
}

bool versions_overlap(struct str since, struct str until, struct str low, struct str high)
{
	if (low.len && !version_within(low, STR_EMPTY, until))
		return false;
	return !since.len || version_within(since, STR_EMPTY, high);
}
