/* bind_page [--coverage] PAGE...: what the catalogue makes of saved /metrics pages. One line a page, tab-separated:
 * file, engine id (or the exporters' with "+"), lowest version, highest version, flavour, bound metrics, unknown families. */
#include "base/file.h"
#include "catalog/binding.h"
#include "expo/expo.h"

#include <stdio.h>
#include <stdlib.h>

struct shown {
	struct arena *arena;
	struct shown_family *families;
	size_t count;
	struct map by_name; /* name → index + 1 */
};

static struct shown_family *shown_family(struct shown *shown, struct str name, enum metric_type type)
{
	bool made;
	struct map_entry *entry = map_put(&shown->by_name, name, &made);

	if (made) {
		struct shown_family *family = &shown->families[shown->count++];

		*family = (struct shown_family){
			.name = arena_str(shown->arena, name), .type = type, .labels = ARENA_ARRAY(shown->arena, struct str, 64)
		};
		entry->value = family;
	}
	return entry->value;
}

static bool is_bucketed(enum metric_type type)
{
	return type == METRIC_HISTOGRAM || type == METRIC_GAUGE_HISTOGRAM || type == METRIC_SUMMARY;
}

static void add_labels(struct shown_family *family, const struct labels *labels)
{
	for (uint32_t i = 0; i < labels->count && family->label_count < 64; i++) {
		size_t at = 0;

		if (str_eq(labels->items[i].name, LABEL_NAME))
			continue;
		while (at < family->label_count && !str_eq(family->labels[at], labels->items[i].name))
			at++;
		if (at == family->label_count)
			family->labels[family->label_count++] = labels->items[i].name;
	}
}

static void show_page(struct shown *shown, const struct expo_page *page)
{
	shown->families = ARENA_ARRAY(shown->arena, struct shown_family, page->sample_count + page->family_count);
	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_series *series = page->samples[i].series;
		struct str name = is_bucketed(series->type) ? series->family : labels_name(series->labels);
		struct shown_family *family = shown_family(shown, name, series->type);

		family->has_samples = true;
		add_labels(family, series->labels);
	}
	for (size_t i = 0; i < page->family_count; i++) {
		/* An OpenMetrics counter is declared without _total; its samples made it known already. */
		struct str total = arena_printf(shown->arena, STR_FMT "_total", STR_ARG(page->families[i].name));

		if (!map_has(&shown->by_name, total))
			shown_family(shown, page->families[i].name, page->families[i].type);
	}
}

static void print_engine_ids(const struct binding *b)
{
	if (b->engine)
		printf(STR_FMT, STR_ARG(b->engine->id));
	for (size_t i = 0; !b->engine && i < b->exporter_count; i++)
		printf("%s" STR_FMT, i ? "+" : "", STR_ARG(b->exporters[i]->id));
	if (!b->engine && !b->exporter_count)
		printf("-");
}

static void print_line(const char *path, const struct catalog *c, const struct binding *b)
{
	size_t bound = 0;

	VEC_EACH (&c->metrics, metric)
		bound += b->metrics[(*metric)->index].coverage == COVERAGE_PRESENT;
	printf("%s\t", path);
	print_engine_ids(b);
	printf("\t" STR_FMT "\t" STR_FMT "\t" STR_FMT "%s\t%zu\t", STR_ARG(b->version_low), STR_ARG(b->version_high), STR_ARG(b->flavour),
		b->multi_process ? " multi-process" : "", bound);
	for (size_t i = 0; i < b->unknown_count; i++)
		printf("%s" STR_FMT, i ? "," : "", STR_ARG(b->unknown_families[i]));
	printf("\n");
}

static void print_coverage(const struct catalog *c, const struct binding *b)
{
	struct buf text;

	buf_init(&text, 4096);
	binding_print_engine(b, &text);
	printf(STR_FMT "%s\n", STR_ARG(buf_str(&text)), b->complete ? ", whole page" : "");
	buf_fini(&text);
	VEC_EACH (&c->metrics, metric) {
		const struct bound_metric *bound = &b->metrics[(*metric)->index];

		printf("  %-26.*s %-14s ", STR_ARG((*metric)->id), coverage_name(bound->coverage));
		if (bound->name)
			printf(STR_FMT, STR_ARG(bound->name->name));
		if (bound->twin)
			printf(" (twin " STR_FMT ")", STR_ARG(bound->twin->name));
		printf("%s" STR_FMT "\n", bound->name && bound->why.len ? ": " : "", STR_ARG(bound->why));
	}
}

static bool bind_page(const struct catalog *c, const char *path, bool coverage, struct error *e)
{
	struct arena arena;
	struct str text;
	bool good;

	arena_init(&arena);
	good = file_read(&arena, path, 64 << 20, &text, e);
	if (good) {
		struct expo_reader *reader = expo_reader_new();
		const struct expo_page *page = expo_read(reader, str_from(path), text, expo_format_of(STR_EMPTY, text));
		struct shown shown = { .arena = &arena };

		map_init(&shown.by_name);
		show_page(&shown, page);
		struct binding *b = binding_new(&arena, c, shown.families, shown.count);

		print_line(path, c, b);
		if (coverage)
			print_coverage(c, b);
		map_fini(&shown.by_name);
		expo_reader_free(reader);
	}
	arena_fini(&arena);
	return good;
}

int main(int argc, char **argv)
{
	bool coverage = argc > 1 && str_is(str_from(argv[1]), "--coverage");
	struct catalog c;
	struct error e = { 0 };
	bool good = catalog_init(&c, NULL, 0, &e);

	if (!good) {
		error_print(&e, stderr);
		return e.status;
	}
	for (int i = coverage ? 2 : 1; good && i < argc; i++)
		good = bind_page(&c, argv[i], coverage, &e);
	if (!good)
		error_print(&e, stderr);
	catalog_fini(&c);
	return good ? EXIT_SUCCESS : (int)e.status;
}
