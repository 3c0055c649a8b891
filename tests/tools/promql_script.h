/* promql_script: promqltest files (the tests of the Prometheus project): commands with the lines that belong to them. */
#ifndef GOODPUT_TESTS_PROMQL_SCRIPT_H
#define GOODPUT_TESTS_PROMQL_SCRIPT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/labels.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- series with values ---- */

enum point_kind { POINT_NONE, POINT_FLOAT, POINT_NATIVE /* a native histogram */ };
struct point {
	enum point_kind kind;
	double value;
};
struct described_series {
	struct labels *labels; /* free with described_series_fini */
	VEC(struct point) points;
	bool has_native;
	bool start_times; /* "@st": start timestamps of the next series */
};
/* name{l="v"} 1 2+3x4 _ stale ... */
bool described_series_init(struct described_series *s, struct arena *arena, struct str line, struct error *e);
void described_series_fini(struct described_series *s);

/* ---- commands ---- */

enum expectation_kind { EXPECT_FAIL, EXPECT_WARN, EXPECT_INFO };
struct expected_text { /* the message, a regular expression, or anything */
	enum expectation_kind kind;
	bool exact, pattern;
	struct str text;
};
struct eval_command {
	int line;
	bool range;
	int64_t start_ms, end_ms, step_ms; /* an instant: start only */
	struct str query;
	bool fails, ordered, no_warn, no_info;
	VEC(struct expected_text) texts;
	bool has_string, has_scalar, is_matrix; /* the kind of result that the lines tell */
	struct str string;
	double scalar;
	int64_t matrix_start_ms, matrix_step_ms;
	VEC(struct described_series) series;
	bool mentions_native;
};

struct script {
	struct arena *arena;
	struct str file;
	struct str rest; /* not read yet */
	int line;        /* of the line read last */
};
enum command_kind { COMMAND_END, COMMAND_LOAD, COMMAND_CLEAR, COMMAND_EVAL, COMMAND_ERROR };

void script_init(struct script *s, struct arena *arena, struct str file, struct str text);
/* Reads a command. For COMMAND_LOAD the caller then reads lines with script_block_line; for COMMAND_EVAL `eval` is filled. */
enum command_kind script_next(struct script *s, struct eval_command *eval, int64_t *load_step_ms, bool *with_native, struct error *e);
/* The next line of the block, trimmed; false at its end. */
bool script_block_line(struct script *s, struct str *line);
void eval_command_fini(struct eval_command *c);

#endif
