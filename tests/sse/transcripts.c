/* transcripts: feeds recorded answers to the stream accounting and compares every value with what is expected: as recorded, the reads of a
 * moment joined, byte by byte, and with every read cut in two at every byte. */
#include "base/file.h"
#include "base/mem.h"
#include "transcript.h"

#include <string.h>

/* Differences, of the first way of feeding that has any. */
static size_t run_transcript(struct transcript *t, const char *name, size_t *runs)
{
	const struct cutting ways[] = { { 0 }, { .joined = true }, { .piece = 1 } };
	static const char *const how[] = { "as recorded", "joined", "byte by byte" };
	struct outcome o;
	size_t wrong = 0;

	outcome_init(&o);
	for (size_t i = 0; i < ARRAY_LEN(ways) && !wrong; i++, ++*runs) {
		transcript_feed(t, &ways[i], &o);
		wrong = transcript_compare(t, &o, name, how[i]);
	}
	for (size_t step = 0; step < t->count && !wrong; step++) {
		size_t len = t->steps[step].bytes.len;

		for (size_t at = 1; at < len && !wrong; at++) {
			char text[64];

			snprintf(text, sizeof text, "line %zu cut at byte %zu", step + 1, at);
			transcript_feed(t, &(struct cutting){ .step = step, .split = at }, &o);
			wrong = transcript_compare(t, &o, name, text);
			++*runs;
		}
	}
	outcome_fini(&o);
	return wrong;
}

struct counts {
	size_t passed, failed, skipped, runs;
};

static void run_file(const char *path, struct counts *counts)
{
	struct transcript t;
	struct arena arena;

	arena_init(&arena);
	if (!transcript_load(&t, &arena, path))
		counts->failed++;
	else if (run_transcript(&t, path, &counts->runs))
		counts->failed++;
	else
		counts->passed++;
	transcript_fini(&t);
	arena_fini(&arena);
}

/* Every NAME.json of the folder that has its NAME.jsonl beside it. */
static bool run_folder(const char *path, struct counts *counts)
{
	struct arena arena;
	struct error e;
	size_t count;

	arena_init(&arena);
	struct str *names = folder_list(&arena, path, &count, &e);

	if (!names)
		error_print(&e, stderr);
	for (size_t i = 0; names && i < count; i++) {
		char *file = path_join(&arena, path, names[i]);

		if (!str_ends(names[i], STR(".json")))
			continue;
		if (!file_exists(arena_cstr(&arena, arena_printf(&arena, "%sl", file)))) {
			printf("SKIP %s: no recording beside it\n", file);
			counts->skipped++;
			continue;
		}
		run_file(file, counts);
	}
	arena_fini(&arena);
	return names;
}

/* NAME.jsonl is as good a name for a transcript as NAME.json. */
static bool run_path(const char *path, struct counts *counts)
{
	char file[4096];
	size_t len = strlen(path);

	if (file_is_folder(path))
		return run_folder(path, counts);
	snprintf(file, sizeof file, "%.*s", (int)(len > 6 && strcmp(path + len - 6, ".jsonl") == 0 ? len - 1 : len), path);
	run_file(file, counts);
	return true;
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	bool ok = true;

	for (int i = 1; i < argc; i++)
		ok = run_path(argv[i], &counts) && ok;
	printf("%zu feeds\n%zu passed, %zu failed, %zu skipped\n", counts.runs, counts.passed, counts.failed, counts.skipped);
	return !ok || counts.failed || !counts.passed;
}
