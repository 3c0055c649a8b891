/* coverage: why a metric has no name on this page, in words; families nobody knows; traces of several processes. */
#include "catalog/page.h"

/* ---- one metric that is not bound ---- */

static void set_coverage(struct bound_metric *bound, enum coverage coverage, struct str why)
{
	bound->coverage = coverage;
	bound->why = why;
}

/* Latest end and earliest start of the entry's names; empty is open. */
static void entry_span(const struct engine_metric *entry, struct str *since, struct str *until)
{
	*since = entry->names[0].since;
	*until = entry->names[0].until;
	for (size_t i = 1; i < entry->name_count; i++) {
		const struct name_spec *name = &entry->names[i];

		if (!name->since.len || (since->len && version_cmp(name->since, *since) < 0))
			*since = name->since;
		if (!name->until.len || (until->len && version_until_cmp(name->until, *until) > 0))
			*until = name->until;
	}
}

/* True when the versions of the entry's names exclude the page's. */
static bool outside_versions(const struct page *page, const struct engine_metric *entry, struct bound_metric *bound)
{
	const struct binding *b = page->binding;
	struct str since, until;

	entry_span(entry, &since, &until);
	if (versions_overlap(since, until, b->version_low, b->version_high))
		return false;
	if (until.len && b->version_low.len && !version_within(b->version_low, STR_EMPTY, until))
		set_coverage(bound, COVERAGE_NOT_APPLICABLE,
			arena_printf(page->arena, "gone after " STR_FMT "%s" STR_FMT, STR_ARG(until), entry->gone_reason.len ? ": " : "",
				STR_ARG(entry->gone_reason)));
	else
		set_coverage(bound, COVERAGE_NOT_APPLICABLE,
			arena_printf(page->arena, "since " STR_FMT "; this page is of " STR_FMT " at most", STR_ARG(since),
				STR_ARG(b->version_high)));
	return true;
}

static bool outside_flavour(const struct page *page, const struct engine_metric *entry, struct bound_metric *bound)
{
	for (size_t i = 0; i < entry->not_in_count; i++) {
		if (!str_eq(entry->not_in[i].flavour, page->binding->flavour))
			continue;
		set_coverage(bound, COVERAGE_NOT_APPLICABLE,
			arena_printf(page->arena, STR_FMT ": " STR_FMT, STR_ARG(entry->not_in[i].flavour), STR_ARG(entry->not_in[i].why)));
		return true;
	}
	return false;
}

/* The name that a version in the page's window would show, with the version from which on when the window begins before. */
static struct str expected_name(const struct page *page, const struct engine_metric *entry)
{
	const struct binding *b = page->binding;
	const struct name_spec *name = &entry->names[0];

	for (size_t i = 0; i < entry->name_count; i++) {
		if (versions_overlap(entry->names[i].since, entry->names[i].until, b->version_low, b->version_high)) {
			name = &entry->names[i];
			break;
		}
	}
	if (name->since.len && b->version_low.len && version_cmp(name->since, b->version_low) > 0)
		return arena_printf(page->arena, "expected from " STR_FMT " on as " STR_FMT ", not on this page", STR_ARG(name->since),
			STR_ARG(name->name));
	return arena_printf(page->arena, "expected as " STR_FMT ", not on this page", STR_ARG(name->name));
}

static void cover_entry(
	const struct page *page, const struct engine_spec *engine, const struct engine_metric *entry, struct bound_metric *bound)
{
	if (engine == page->binding->engine && (outside_flavour(page, entry, bound) || outside_versions(page, entry, bound)))
		return;
	if (!entry->optional)
		set_coverage(bound, COVERAGE_ABSENT, expected_name(page, entry));
	else if (entry->optional_hint.len)
		set_coverage(bound, COVERAGE_NOT_ENABLED, arena_printf(page->arena, "needs " STR_FMT, STR_ARG(entry->optional_hint)));
	else
		set_coverage(bound, COVERAGE_NOT_ENABLED, STR("off by default"));
}

static bool in_list(const struct str *items, size_t count, struct str item)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(items[i], item))
			return true;
	}
	return false;
}

static bool on_page(const struct binding *b, struct str exporter)
{
	for (size_t i = 0; i < b->exporter_count; i++) {
		if (str_eq(b->exporters[i]->id, exporter))
			return true;
	}
	return false;
}

/* A metric of an exporter that the engine's pages should have. */
static bool cover_companion(const struct page *page, const struct metric_spec *metric, struct bound_metric *bound)
{
	const struct binding *b = page->binding;

	for (size_t i = 0; b->engine && i < b->engine->companion_count; i++) {
		const struct companion_spec *companion = &b->engine->companions[i];
		struct str id = companion->exporter;
		const struct engine_spec *exporter = catalog_engine(page->catalog, arena_cstr(page->arena, id));

		if (!exporter || !engine_entry_of(exporter, metric))
			continue;
		if (in_list(companion->not_in, companion->not_in_count, b->flavour))
			set_coverage(bound, COVERAGE_NOT_APPLICABLE,
				arena_printf(page->arena, STR_FMT " (" STR_FMT ") does not export it", STR_ARG(b->engine->title),
					STR_ARG(b->flavour)));
		else
			set_coverage(bound, COVERAGE_ABSENT, companion->why);
		return true;
	}
	return false;
}

static const struct engine_spec *exporter_of(const struct catalog *c, const struct metric_spec *metric)
{
	VEC_EACH (&c->engines, engine) {
		if ((*engine)->exporter && engine_entry_of(*engine, metric))
			return *engine;
	}
	return NULL;
}

static void cover_foreign(const struct page *page, const struct metric_spec *metric, struct bound_metric *bound)
{
	const struct binding *b = page->binding;
	const struct engine_spec *exporter = exporter_of(page->catalog, metric);
	const struct engine_spec *shown = b->engine ? b->engine : b->exporter_count ? b->exporters[0] : NULL;
	struct str why;

	if (shown)
		why = arena_printf(page->arena, STR_FMT " does not export it", STR_ARG(shown->title));
	else
		why = STR("no known engine on this page");
	if (exporter && exporter != shown)
		why = arena_printf(page->arena, STR_FMT " (source: " STR_FMT ")", STR_ARG(why), STR_ARG(exporter->title));
	set_coverage(bound, COVERAGE_NOT_APPLICABLE, why);
}

static void cover(const struct page *page, const struct metric_spec *metric, struct bound_metric *bound)
{
	const struct binding *b = page->binding;
	const struct engine_metric *entry = b->engine ? engine_entry_of(b->engine, metric) : NULL;

	if (entry) {
		cover_entry(page, b->engine, entry, bound);
		return;
	}
	for (size_t i = 0; i < b->exporter_count; i++) {
		entry = engine_entry_of(b->exporters[i], metric);
		if (entry) {
			cover_entry(page, b->exporters[i], entry, bound);
			return;
		}
	}
	if (!cover_companion(page, metric, bound))
		cover_foreign(page, metric, bound);
}

/* ---- families that the catalogue does not know ---- */

static bool name_covers(struct str known, struct str shown)
{
	static const char *const suffixes[] = { "_total", "_count", "_sum", "_bucket" };

	if (str_eq(known, shown))
		return true;
	/* A counter declared without _total; a histogram of which one part is read. */
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		struct str suffix = str_from(suffixes[i]);

		if (known.len == shown.len + suffix.len && str_starts(known, shown) && str_ends(known, suffix))
			return true;
	}
	return false;
}

static bool engine_knows(const struct engine_spec *engine, struct str name)
{
	for (size_t i = 0; i < engine->metric_count; i++) {
		for (size_t j = 0; j < engine->metrics[i].name_count; j++) {
			if (name_covers(engine->metrics[i].names[j].name, name))
				return true;
		}
	}
	for (size_t i = 0; i < engine->known_count; i++) {
		if (pattern_matches(engine->known[i], name) || name_covers(engine->known[i], name))
			return true;
	}
	return false;
}

static void find_unknown(const struct page *page)
{
	struct binding *b = page->binding;

	b->unknown_families = ARENA_ARRAY(page->arena, struct str, page->count);
	for (size_t i = 0; b->engine && i < page->count; i++) {
		struct str name = page->families[i].name, plain = engine_plain_name(b->engine, page->arena, name);

		/* client_python's time-of-creation companions belong to the family beside them. */
		if (engine_owns(b->engine, name) && !str_ends(name, STR("_created")) && !engine_knows(b->engine, plain))
			b->unknown_families[b->unknown_count++] = arena_str(page->arena, name);
	}
}

/* ---- several processes behind one page ---- */

static bool has_writer_labels(const struct page *page)
{
	const struct engine_spec *engine = page->binding->engine;

	for (size_t i = 0; i < page->count; i++) {
		for (size_t j = 0; engine_owns(engine, page->families[i].name) && j < engine->writer_label_count; j++) {
			if (family_has_label(&page->families[i], engine->writer_labels[j]))
				return true;
		}
	}
	return false;
}

/* A whole page of an engine that exports its process's figures in single-process mode, without them. */
static bool lacks_process(const struct binding *b)
{
	for (size_t i = 0; i < b->engine->companion_count; i++) {
		const struct companion_spec *companion = &b->engine->companions[i];

		if (str_is(companion->exporter, "process"))
			return b->complete && !on_page(b, companion->exporter) &&
			       !in_list(companion->not_in, companion->not_in_count, b->flavour);
	}
	return false;
}

void page_coverage(struct page *page)
{
	struct binding *b = page->binding;

	VEC_EACH (&page->catalog->metrics, metric) {
		if (!b->metrics[(*metric)->index].name)
			cover(page, *metric, &b->metrics[(*metric)->index]);
	}
	find_unknown(page);
	b->multi_process = b->engine && (has_writer_labels(page) || lacks_process(b));
}
