/* expo_dump: reads pages and prints what the reader made of them.
 *
 *     expo_dump text|openmetrics|auto FILE...      each file alone, with a fresh reader
 *     expo_dump --verdict text|openmetrics FILE... one line a file: "up", or "down" and the error
 *
 * tests/run-openmetrics uses the second form. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "expo/expo.h"

#include <stdio.h>

static void print_families(const struct expo_page *page, struct buf *out)
{
	for (size_t i = 0; i < page->family_count; i++) {
		const struct expo_family *family = &page->families[i];

		buf_add_cstr(out, "family ");
		buf_add_json(out, family->name);
		buf_printf(out, " %s", metric_type_name(family->type));
		if (family->help.ptr) {
			buf_add_cstr(out, " help ");
			buf_add_json(out, family->help);
		}
		if (family->unit.ptr) {
			buf_add_cstr(out, " unit ");
			buf_add_json(out, family->unit);
		}
		buf_add_c(out, '\n');
	}
}

static void print_samples(const struct expo_page *page, struct buf *out)
{
	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_sample *sample = &page->samples[i];

		buf_printf(out, "%u ", sample->line);
		labels_print(sample->series->labels, out);
		buf_add_c(out, ' ');
		buf_add_double(out, sample->value);
		if (sample->t_ms != EXPO_NO_TIME)
			buf_printf(out, " @%lld", (long long)sample->t_ms);
		buf_printf(out, " %s " STR_FMT "\n", metric_type_name(sample->series->type), STR_ARG(sample->series->family));
	}
	for (size_t i = 0; i < page->exemplar_count; i++) {
		const struct expo_exemplar *exemplar = &page->exemplars[i];

		buf_printf(out, "exemplar of %u ", page->samples[exemplar->sample].line);
		labels_print(exemplar->labels, out);
		buf_add_c(out, ' ');
		buf_add_double(out, exemplar->value);
		if (exemplar->t_ms != EXPO_NO_TIME)
			buf_printf(out, " @%lld", (long long)exemplar->t_ms);
		buf_add_c(out, '\n');
	}
}

static void dump(const struct expo_page *page, struct buf *out)
{
	print_families(page, out);
	print_samples(page, out);
	if (page->duplicates)
		buf_printf(out, "duplicates %zu, first " STR_FMT "\n", page->duplicates, STR_ARG(page->first_duplicate));
	fwrite(out->ptr, 1, out->len, stdout);
	if (page->error.set) {
		printf("dropped lines %zu\n", page->dropped_lines);
		fflush(stdout);
		error_print(&page->error, stderr);
	}
}

static void verdict(const struct expo_page *page)
{
	char text[600];

	error_text(&page->error, text, sizeof text);
	printf("%s\n", page->error.set ? text : "up");
}

static bool read_file(const char *path, const char *format_name, bool verdict_only)
{
	struct arena arena;
	struct buf out;
	struct str body;
	struct error error = { 0 };
	bool ok;

	arena_init(&arena);
	buf_init(&out, SIZE_MAX / 2);
	ok = file_read(&arena, path, EXPO_PAGE_MAX, &body, &error);
	if (!ok) {
		error_print(&error, stderr);
	} else {
		struct expo_reader *reader = expo_reader_new();
		enum expo_format format = strcmp(format_name, "auto") == 0   ? expo_format_of(STR_EMPTY, body)
					  : strcmp(format_name, "text") == 0 ? EXPO_TEXT
									     : EXPO_OPENMETRICS;
		const struct expo_page *page = expo_read(reader, str_from(path), body, format);

		if (verdict_only)
			verdict(page);
		else
			dump(page, &out);
		ok = verdict_only || !page->error.set;
		expo_reader_free(reader);
	}
	buf_fini(&out);
	arena_fini(&arena);
	return ok;
}

int main(int argc, char **argv)
{
	bool verdict_only = argc > 1 && strcmp(argv[1], "--verdict") == 0, ok = true;

	argc -= verdict_only;
	argv += verdict_only;
	if (argc < 3 || (strcmp(argv[1], "text") && strcmp(argv[1], "openmetrics") && strcmp(argv[1], "auto"))) {
		fputs("usage: expo_dump [--verdict] text|openmetrics|auto FILE...\n", stderr);
		return EXIT_USAGE;
	}
	for (int i = 2; i < argc; i++)
		ok &= read_file(argv[i], argv[1], verdict_only);
	return ok ? 0 : EXIT_BAD_INPUT;
}
