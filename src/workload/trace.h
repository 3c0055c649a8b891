/* trace: requests that were, from other people's files, as rows.
 *
 * - CSV with a header that has TIMESTAMP,ContextTokens,GeneratedTokens (Azure 2023 and 2024), or BurstGPT's Timestamp, Request tokens and
 *   Response tokens (by name: releases differ; no response tokens mark a failure, which is left out). Without a header: Azure's columns.
 * - Mooncake's JSON lines: timestamp (ms), input_length, output_length, hash_ids (blocks of 512 tokens).
 * - A result of `vllm bench serve --save-result --save-detailed`: input_lens, output_lens, start_times.
 * - ShareGPT's JSON list of conversations: sessions without times, whose lengths are estimated at four bytes a token.
 * - Our run records (JSON lines); turns of sessions with what each adds and the pause before it. */
#ifndef GOODPUT_WORKLOAD_TRACE_H
#define GOODPUT_WORKLOAD_TRACE_H

#include "workload/content.h"

struct trace {
	const char *kind; /* "azure", "burstgpt", "mooncake", "vllm-result", "sharegpt", "records" */
	struct workload_row *rows;
	size_t count;
	uint32_t block; /* tokens of each id; 0: there are no ids */
	bool timed;     /* rows have times */
	bool estimated; /* lengths are guesses from bytes */
	size_t raised;  /* lengths of 0 that count as 1 */
	size_t failed;  /* requests left out: they had failed */
};

/* Rows lie in the arena. False with an error that names line and column. */
bool trace_read(struct arena *arena, const char *path, struct trace *trace, struct error *e);
bool trace_parse(struct arena *arena, struct str source, struct str text, struct trace *trace, struct error *e);

#endif
