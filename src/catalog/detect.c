/* detect: the engine whose names the page shows, and the exporters beside it. */
#include "catalog/page.h"

bool family_has_label(const struct shown_family *family, struct str label)
{
	for (size_t i = 0; i < family->label_count; i++) {
		if (str_eq(family->labels[i], label))
			return true;
	}
	return false;
}

static struct str without_suffix(struct str name, struct str suffix)
{
	return str_ends(name, suffix) ? str_head(name, name.len - suffix.len) : STR_EMPTY;
}

const struct shown_family *page_family(const struct page *page, struct str name)
{
	static const char *const parts[] = { "_count", "_sum", "_bucket" };
	const struct shown_family *family = map_get(&page->by_name, name);

	if (family)
		return family;
	family = map_get(&page->by_name, without_suffix(name, STR("_total")));
	if (family && family->type == METRIC_COUNTER)
		return family;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		family = map_get(&page->by_name, without_suffix(name, str_from(parts[i])));
		if (family && family->type != METRIC_COUNTER && family->type != METRIC_GAUGE)
			return family;
	}
	return NULL;
}

struct str engine_plain_name(const struct engine_spec *engine, struct arena *arena, struct str name)
{
	for (size_t i = 0; i < engine->variant_count; i++) {
		if (str_starts(name, engine->variants[i])) {
			struct str rest = str_skip(name, engine->variants[i].len);

			return arena_printf(arena, STR_FMT STR_FMT, STR_ARG(engine->prefixes[0]), STR_ARG(rest));
		}
	}
	return name;
}

bool engine_owns(const struct engine_spec *engine, struct str name)
{
	for (size_t i = 0; i < engine->prefix_count; i++) {
		if (str_starts(name, engine->prefixes[i]))
			return true;
	}
	for (size_t i = 0; i < engine->variant_count; i++) {
		if (str_starts(name, engine->variants[i]))
			return true;
	}
	return false;
}

static bool engine_claims(const struct engine_spec *engine, struct str name)
{
	for (size_t i = 0; i < engine->family_count; i++) {
		if (str_eq(name, engine->families[i]))
			return true;
	}
	return engine_owns(engine, name);
}

bool pattern_matches(struct str pattern, struct str name)
{
	return str_ends(pattern, STR("*")) ? str_starts(name, str_head(pattern, pattern.len - 1)) : str_eq(pattern, name);
}

/* The prefix up to and with the colon belongs to no engine: somebody else's families, as engines that imitate another add. */
static bool is_foreign(const struct page *page, struct str name)
{
	ptrdiff_t colon = str_find(name, ':');

	if (colon <= 0)
		return false;
	VEC_EACH (&page->catalog->engines, engine) {
		if (engine_claims(*engine, name))
			return false;
	}
	return true;
}

static bool shows_foreign(const struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		if (is_foreign(page, page->families[i].name))
			return true;
	}
	return false;
}

/* One walk over the families that match `seen`: is there any, does any carry the label? */
static bool seen_holds(const struct page *page, const struct engine_spec *engine, const struct page_condition *when)
{
	bool seen = false, label = false, no_label = true;

	for (size_t i = 0; i < page->count; i++) {
		const struct shown_family *family = &page->families[i];
		struct str name = engine_plain_name(engine, page->arena, family->name);

		if (!pattern_matches(when->seen, name))
			continue;
		seen = true;
		label = label || family_has_label(family, when->label);
		no_label = no_label && !family_has_label(family, when->no_label);
	}
	return seen && (!when->label.len || label) && (!when->no_label.len || no_label);
}

bool page_condition_holds(const struct page *page, const struct engine_spec *engine, const struct page_condition *when)
{
	if (when->seen.len && !seen_holds(page, engine, when))
		return false;
	if (when->missing.len) {
		const struct page_condition present = { .seen = when->missing };

		if (!page->binding->complete || seen_holds(page, engine, &present))
			return false;
	}
	return !when->foreign || shows_foreign(page);
}

/* How many families of the page are the engine's; 0 when its label rules say that they are somebody else's. */
static size_t engine_evidence(const struct page *page, const struct engine_spec *engine)
{
	size_t claimed = 0, labels = 0;

	for (size_t i = 0; i < page->count; i++) {
		const struct shown_family *family = &page->families[i];

		if (!engine_claims(engine, family->name))
			continue;
		claimed++;
		for (size_t j = 0; j < engine->no_label_count; j++) {
			if (family_has_label(family, engine->no_labels[j]))
				return 0;
		}
	}
	for (size_t j = 0; j < engine->label_count; j++) {
		for (size_t i = 0; i < page->count; i++) {
			if (engine_claims(engine, page->families[i].name) && family_has_label(&page->families[i], engine->labels[j])) {
				labels++;
				break;
			}
		}
	}
	return labels == engine->label_count ? claimed : 0;
}

/* The engine with most label rules wins (a borrowed prefix), then the one with most families, then the first. */
void page_detect(struct page *page)
{
	struct binding *b = page->binding;
	size_t best = 0;

	b->exporters = ARENA_ARRAY(page->arena, const struct engine_spec *, page->catalog->engines.count);
	VEC_EACH (&page->catalog->engines, item) {
		const struct engine_spec *engine = *item;
		size_t evidence = engine_evidence(page, engine);

		if (!evidence)
			continue;
		if (engine->exporter) {
			b->exporters[b->exporter_count++] = engine;
		} else if (!b->engine || engine->label_count > b->engine->label_count ||
			   (engine->label_count == b->engine->label_count && evidence > best)) {
			b->engine = engine;
			best = evidence;
		}
	}
}
