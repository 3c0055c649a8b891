/* validate [--quick] [--rows] [--gpus FILE] FILE...
 *
 * Reads published measurements (the kinds of table are told apart by their columns), predicts each with the engine model, and
 * prints errors by family, the coverage of the stated ranges, and one check for each target. --rows prints every comparison;
 * --quick leaves the ranges out; --gpus replaces entries of the table of GPUs. */
#include "validate.h"

#include "base/file.h"
#include "base/hash.h"

#include <math.h>

void score_add(struct runner *run, struct score score)
{
	if (score.measured > 0 && score.predicted > 0 && isfinite(score.predicted))
		VEC_PUSH(&run->scores, score);
	else
		run->skipped++;
}

bool row_is_calibration(struct str key)
{
	return hash_bytes(key.ptr, key.len) % 2 == 0;
}

static bool validate_file(struct runner *run, const char *path, struct error *e)
{
	struct tsv tsv;

	if (!tsv_read(&run->arena, path, &tsv, e))
		return false;
	if (tsv_has(&tsv, "concurrency_or_rate"))
		validate_serving(run, &tsv);
	else if (tsv_has(&tsv, "queue_time_s"))
		validate_trace(run, &tsv);
	else if (tsv_has(&tsv, "num_gpu_blocks_measured"))
		validate_blocks(run, &tsv);
	else if (tsv_has(&tsv, "step_ms"))
		validate_steps(run, &tsv);
	else if (tsv_has(&tsv, "time_us"))
		validate_kernels(run, &tsv);
	else if (tsv_has(&tsv, "transfer_ms"))
		validate_transfer(run, &tsv);
	else {
		fprintf(stderr, "validate: %s: no table that can be predicted (%zu columns)\n", path, tsv.name_count);
		run->skipped++;
	}
	if (tsv.rows.items != run->serving.rows.items)
		VEC_FREE(&tsv.rows);
	return true;
}

static void print_rows(const struct runner *run)
{
	VEC_EACH (&run->scores, s)
		printf("row\t%d\t%s\t" STR_FMT "\t%s\t%.6g\t%.6g\t%.6g\t%.6g\t%d\t%d\n", s->figure, s->family, STR_ARG(s->id), s->name,
			s->predicted, s->low, s->high, s->measured, s->counted, s->calibration);
}

static int usage(void)
{
	fprintf(stderr, "usage: validate [--quick] [--rows] [--gpus FILE] FILE...\n");
	return EXIT_USAGE;
}

static bool add_table(struct runner *run, const char *path, struct error *e)
{
	struct str text;

	return file_read(&run->arena, path, 1 << 24, &text, e) && tables_add(&run->tables, str_from(path), text, e);
}

int main(int argc, char **argv)
{
	static struct runner run;
	struct error e = { 0 };
	bool rows = false;
	int failed, files = 0;

	arena_init(&run.arena);
	run.front_end[0] = -1;
	if (!tables_init(&run.tables, &e)) {
		error_print(&e, stderr);
		return e.status;
	}
	for (int i = 1; i < argc; i++) {
		bool good = true;
		if (strcmp(argv[i], "--quick") == 0)
			run.quick = true;
		else if (strcmp(argv[i], "--rows") == 0)
			rows = true;
		else if (strcmp(argv[i], "--gpus") == 0 && i + 1 < argc)
			good = add_table(&run, argv[++i], &e);
		else if (strcmp(argv[i], "--front-end") == 0 && i + 1 < argc) {
			if (sscanf(argv[++i], "%lf,%lf,%lf,%lf", &run.front_end[0], &run.front_end[1], &run.front_end[2],
				    &run.front_end[3]) != 4)
				return usage();
		} else if (argv[i][0] == '-')
			return usage();
		else {
			files++;
			good = validate_file(&run, argv[i], &e);
		}
		if (!good) {
			error_print(&e, stderr);
			return e.status;
		}
	}
	if (files == 0)
		return usage();
	if (rows)
		print_rows(&run);
	failed = validate_report(&run);
	VEC_FREE(&run.scores);
	VEC_FREE(&run.serving.rows);
	tables_fini(&run.tables);
	arena_fini(&run.arena);
	return failed ? EXIT_WARNING : EXIT_FINE;
}
