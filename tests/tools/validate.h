/* validate: the engine model against published measurements. What the parts of the runner share. */
#ifndef GOODPUT_TESTS_VALIDATE_H
#define GOODPUT_TESTS_VALIDATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "engine/cost.h"
#include "engine/engine.h"

/* A tab-separated file with a header line. */
struct tsv {
	struct str *names;
	size_t name_count;
	VEC(struct str *) rows;
	const char *path;
};
bool tsv_read(struct arena *arena, const char *path, struct tsv *tsv, struct error *e);
bool tsv_has(const struct tsv *tsv, const char *name);
struct str tsv_text(const struct tsv *tsv, size_t row, const char *name); /* empty when absent */
double tsv_number(const struct tsv *tsv, size_t row, const char *name);   /* NaN when empty or not a number */

/* The number behind `key` in a free text ("max_num_seqs 128"), or NaN. */
double note_number(struct str notes, const char *key);
/* The whole number that stands right before `word` ("160 prompts"), or NaN. */
double note_before(struct str notes, const char *word);

/* One comparison: a predicted figure, its stated range, and the measured one. */
enum figure {
	FIGURE_TPOT,
	FIGURE_TTFT,
	FIGURE_TTFT_OTHER,
	FIGURE_THROUGHPUT,
	FIGURE_E2E,
	FIGURE_TRACE,
	FIGURE_BLOCKS,
	FIGURE_STEP,
	FIGURE_KERNEL,
	FIGURE_TRANSFER,
	FIGURE_COUNT
};
struct score {
	enum figure figure;
	const char *family; /* model family or GPU and operation */
	bool experts;       /* mixture of experts */
	bool counted;       /* stands for a target: vLLM V1, load fully described */
	bool calibration;   /* the row may have been used to choose constants */
	double predicted, low, high, measured;
	struct str id;
	const char *name; /* "ttft p50" */
};

struct runner {
	struct arena arena;
	struct tables tables;
	VEC(struct score) scores;
	uint32_t skipped;
	double front_end[4]; /* seconds: fixed, per token, busy, busy per token */
	bool quick;          /* no ranges: point predictions only */
	struct tsv serving;  /* the last one read: traces find their configuration there */
};
void score_add(struct runner *run, struct score score);

/* Rows whose id or content hashes to 0 (mod 2) were looked at when constants were chosen; the others never. */
bool row_is_calibration(struct str key);

void validate_serving(struct runner *run, const struct tsv *tsv);
void validate_trace(struct runner *run, const struct tsv *tsv);
void validate_blocks(struct runner *run, const struct tsv *tsv);
void validate_steps(struct runner *run, const struct tsv *tsv);
void validate_kernels(struct runner *run, const struct tsv *tsv);
void validate_transfer(struct runner *run, const struct tsv *tsv);
/* Prints tables and checks; returns the number of failed checks. */
int validate_report(const struct runner *run);

/* The deployment and limits of a serving row. False: not something that the model covers (`why` says so). */
struct served {
	struct deployment deployment;
	struct engine_config config;
	double blocks; /* as measured; NaN = predict */
	uint32_t prompts;
	double concurrency, rate, seconds; /* closed loop: concurrency; open loop: rate, for seconds or `prompts` requests */
	double isl, osl, shortest;         /* lengths are uniform from shortest * L to L */
	uint32_t groups, users, shared;    /* system prompts, users of each, length of a system prompt */
	bool foreign;                      /* another engine, a V0 one, or a load that is not fully stated: shown, not judged */
};
bool served_read(struct runner *run, const struct tsv *tsv, size_t row, struct served *s, const char **why);
/* Latencies of one simulated run, sorted. */
struct outcome {
	VEC(double) ttft, tpot, e2e;
	double throughput;
	double ttft_mean, tpot_mean, e2e_mean;
	uint64_t preemptions;
};
void served_run(const struct served *s, double factor, double front_end, struct outcome *outcome);
void outcome_free(struct outcome *outcome);
double quantile_of(const double *sorted, size_t count, double q);

#endif
