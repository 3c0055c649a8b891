/* scenes: small fleets in memory. A page is written in short words, one metric a line ("running 3", "tokens 100"), so that a scene fits on
 * a screen; what is no known word is copied as it stands. */
#ifndef GOODPUT_TESTS_SCENES_H
#define GOODPUT_TESTS_SCENES_H

#include "signals/evaluate.h"
#include "signals/findings.h"
#include "store/store.h"

#include <stdio.h>

#include "unit.h"

struct stage {
	struct store *store;
	struct fleet fleet;
	struct catalog catalog;
	struct backend *backend;
	struct arena arena;
	struct evidence evidence;
	bool has_evidence;
	int64_t moments[64];
	size_t moment_count;
};

/* "running@1 3": with engine="1". */
static const struct {
	const char *word, *family, *labels;
} stage_words[] = {
	{ "running", "vllm:num_requests_running", "" },
	{ "waiting", "vllm:num_requests_waiting", "" },
	{ "capacity", "vllm:num_requests_waiting_by_reason", ",reason=\"capacity\"" },
	{ "deferred", "vllm:num_requests_waiting_by_reason", ",reason=\"deferred\"" },
	{ "kv", "vllm:kv_cache_usage_perc", "" },
	{ "steps", "vllm:iteration_tokens_total_count", "" },
	{ "tokens", "vllm:generation_tokens_total", "" },
	{ "prompts", "vllm:prompt_tokens_total", "" },
	{ "stop", "vllm:request_success_total", ",finished_reason=\"stop\"" },
	{ "length", "vllm:request_success_total", ",finished_reason=\"length\"" },
	{ "abort", "vllm:request_success_total", ",finished_reason=\"abort\"" },
	{ "error", "vllm:request_success_total", ",finished_reason=\"error\"" },
	{ "preempted", "vllm:num_preemptions_total", "" },
	{ "drafts", "vllm:spec_decode_num_drafts_total", "" },
	{ "draft_tokens", "vllm:spec_decode_num_draft_tokens_total", "" },
	{ "accepted", "vllm:spec_decode_num_accepted_tokens_total", "" },
	{ "accepted0", "vllm:spec_decode_num_accepted_tokens_per_pos_total", ",position=\"0\"" },
	{ "accepted1", "vllm:spec_decode_num_accepted_tokens_per_pos_total", ",position=\"1\"" },
	{ "asleep", "vllm:engine_sleep_state", ",sleep_state=\"weights_offloaded\"" },
	{ "transfers_failed", "vllm:nixl_num_failed_transfers_total", "" },
	{ "transfers_expired", "vllm:nixl_num_kv_expired_reqs_total", "" },
	{ "ttft", "vllm:time_to_first_token_seconds", "" },
	{ "itl", "vllm:inter_token_latency_seconds", "" },
	{ "tpot", "vllm:request_time_per_output_token_seconds", "" },
	{ "e2e", "vllm:e2e_request_latency_seconds", "" },
	{ "queue", "vllm:request_queue_time_seconds", "" },
	{ "prefill", "vllm:request_prefill_time_seconds", "" },
	{ "plen", "vllm:request_prompt_tokens", "" },
	{ "xfer", "vllm:nixl_xfer_time_seconds", "" },
};

static inline bool stage_word(struct str word, const char **family, const char **labels)
{
	for (size_t i = 0; i < ARRAY_LEN(stage_words); i++)
		if (str_is(word, stage_words[i].word)) {
			*family = stage_words[i].family;
			*labels = stage_words[i].labels;
			return true;
		}
	return false;
}

/* "ttft 0.1:90 1:100 =30": cumulative buckets, +Inf as the last of them unless given, sum 30. */
static inline void stage_histogram(struct buf *out, const char *family, const char *engine, struct str rest)
{
	struct str part, count = STR("0");
	bool infinite = false;
	while (str_split(&rest, ' ', &part)) {
		ptrdiff_t colon = str_find(part, ':');
		if (colon > 0) {
			count = str_skip(part, (size_t)colon + 1);
			infinite |= part.ptr[0] == '+';
			buf_printf(out, "%s_bucket{engine=\"%s\",model_name=\"m\",le=\"" STR_FMT "\"} " STR_FMT "\n", family, engine,
				STR_ARG(str_head(part, (size_t)colon)), STR_ARG(count));
		} else if (part.len && part.ptr[0] == '=') {
			if (!infinite)
				buf_printf(out, "%s_bucket{engine=\"%s\",model_name=\"m\",le=\"+Inf\"} " STR_FMT "\n", family, engine,
					STR_ARG(count));
			buf_printf(out, "%s_sum{engine=\"%s\",model_name=\"m\"} " STR_FMT "\n", family, engine, STR_ARG(str_skip(part, 1)));
			buf_printf(out, "%s_count{engine=\"%s\",model_name=\"m\"} " STR_FMT "\n", family, engine, STR_ARG(count));
		}
	}
}

static inline void stage_line(struct buf *out, struct str line)
{
	const char *family, *labels;
	ptrdiff_t blank = str_find(line, ' ');
	struct str word = blank > 0 ? str_head(line, (size_t)blank) : line;
	ptrdiff_t at = str_find(word, '@');
	char engine[16] = "0";
	if (at > 0) {
		snprintf(engine, sizeof engine, STR_FMT, STR_ARG(str_skip(word, (size_t)at + 1)));
		word = str_head(word, (size_t)at);
	}
	struct str value = str_skip(line, (size_t)blank + 1);
	if (blank < 0 || !stage_word(word, &family, &labels))
		buf_printf(out, STR_FMT "\n", STR_ARG(line));
	else if (str_find(value, '=') >= 0)
		stage_histogram(out, family, engine, value);
	else
		buf_printf(out, "%s{engine=\"%s\",model_name=\"m\"%s} " STR_FMT "\n", family, engine, labels, STR_ARG(value));
}

static inline void stage_open(struct stage *s, const char *more_catalog)
{
	*s = (struct stage){ 0 };
	struct error e = { 0 };
	arena_init(&s->arena);
	s->store = store_new();
	fleet_init(&s->fleet, store_sink(s->store));
	s->backend = backend_embedded_new(s->store);
	if (!catalog_init_text(&s->catalog, true, STR("more.yaml"), str_from(more_catalog), &e))
		fail_msg("catalogue: %s at %s:%d", e.message, e.source, e.line);
	if (!catalog_check_detectors(&s->catalog, detector_names, &e))
		fail_msg("catalogue: %s", e.message);
}

static inline void stage_close(struct stage *s)
{
	if (s->has_evidence)
		evidence_fini(&s->evidence);
	fleet_fini(&s->fleet);
	backend_free(s->backend);
	store_free(s->store);
	catalog_fini(&s->catalog);
	arena_fini(&s->arena);
}

/* A page of the target at t_s; NULL: no answer. */
static inline void stage_page(struct stage *s, const char *target, int64_t t_s, const char *page)
{
	struct target *t = fleet_target(&s->fleet, str_from(target), STR(""), STR("vllm"));
	struct buf body;
	buf_init(&body, 1 << 20);
	struct str rest = str_from(page), line;
	while (page && str_split(&rest, '\n', &line))
		if (line.len)
			stage_line(&body, line);
	struct http_answer answer = {
		.status = 200, .body = buf_str(&body), .duration_s = 0.01, .content_type = STR("text/plain; version=0.0.4")
	};
	if (!page)
		answer = (struct http_answer){ .failure = HTTP_TIMEOUT, .duration_s = 10 };
	fleet_ingest(&s->fleet, t, t_s * 1000, STR_EMPTY, &answer);
	buf_fini(&body);
	if (!s->moment_count || s->moments[s->moment_count - 1] < t_s * 1000)
		s->moments[s->moment_count++] = t_s * 1000;
}

static inline struct report *stage_report(struct stage *s, const struct window *reference)
{
	struct error e = { 0 };
	int64_t first = s->moments[0], last = s->moments[s->moment_count - 1];
	if (!evidence_build(&s->evidence, &s->arena, &s->catalog, &s->fleet, s->backend, first, last, &e))
		fail_msg("evidence: %s", e.message);
	s->has_evidence = true;
	struct report_request rq = { .moments = s->moments, .moment_count = s->moment_count, .max_moments = 64, .reference = reference };
	rq.shown = (struct window){ .from_ms = first, .to_ms = last, .history_ms = first };
	return report_new(&s->arena, &s->evidence, &rq);
}

static inline const struct finding *report_finding(const struct report *r, const char *id)
{
	for (size_t i = 0; i < r->finding_count; i++)
		if (str_is(r->findings[i].spec->id, id) && !r->findings[i].undecided)
			return &r->findings[i];
	return NULL;
}

#endif
