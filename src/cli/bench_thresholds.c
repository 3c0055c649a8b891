/* goodput bench --sweep --thresholds: red lines that follow from what was measured, in the catalogue's override format.
 *
 * Queue: what waits must be worked off in the recovery time with the capacity that arrivals leave, (capacity - arrivals) x recovery.
 * Latency: the P99s at the highest rate that held; beyond them the server is past its knee. Both hold for the mix that was measured: with
 * another one the file's own finding says so, and the queue is judged as without it. */
#include "cli/bench.h"

#include "base/clock.h"
#include "base/file.h"

#include <math.h>

#define MIX_DRIFT 1.5

/* A regular expression that matches just the text. */
static void literal_add(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr(".\\+*?[](){}|^$", text.ptr[i]))
			buf_add_cstr(out, "\\");
		buf_add_c(out, text.ptr[i]);
	}
}

/* A pool's name has letters, digits and a few signs. */
static void id_add(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';

		buf_add_c(out, fits ? c : '-');
	}
}

static void mix_condition(const struct bench_knee *k, struct buf *out)
{
	buf_printf(out, "prompt_len_mean > %.4g and prompt_len_mean < %.4g and output_len_mean > %.4g and output_len_mean < %.4g",
		k->prompt_tokens / MIX_DRIFT, k->prompt_tokens * MIX_DRIFT, k->output_tokens / MIX_DRIFT, k->output_tokens * MIX_DRIFT);
}

static void time_text(int64_t t_ms, struct buf *out)
{
	char text[40];

	time_format(t_ms / 1000 * 1000, text); /* "2026-01-15 00:00:00Z" */
	text[10] = 'T';
	buf_add_cstr(out, text);
}

static void head_write(const struct bench *b, const struct bench_knee *k, struct buf *out)
{
	int64_t now = clock_now_ms();

	buf_printf(out, "# Red lines for goodput check and serve (--catalog), from a sweep of " STR_FMT "\n", STR_ARG(b->url));
	buf_printf(out, "# with prompts of %.0f tokens and answers of %.0f on average: %.4g requests/s held the limits.\n",
		k->prompt_tokens, k->output_tokens, k->rate);
	if (k->engines > 1)
		buf_printf(out, "# That is the rate of %zu servers together.\n", k->engines);
	buf_printf(out, "thresholds:\n  workload: %s\n  rate: %.6g\n  recovery: %llds\n  measured: \"", workload_hash(b->workload), k->rate,
		(long long)(b->a->recovery_ms / 1000));
	time_text(now, out);
	buf_add_cstr(out, "\"\n  expires: \"");
	time_text(now + b->a->expires_ms, out);
	buf_add_cstr(out, "\"\n");
}

static void queue_write(const struct bench *b, const struct bench_knee *k, struct buf *out)
{
	double capacity = k->rate / (double)k->engines, recovery_s = (double)b->a->recovery_ms / 1e3;

	buf_add_cstr(out, "findings:\n- id: queue-backlog\n  when: \"(");
	mix_condition(k, out);
	buf_printf(out, " and scale_signal_queue > max(2, (%.6g - arrivals_per_s) * %.6g)) or (not (", capacity, recovery_s);
	mix_condition(k, out);
	buf_add_cstr(out, ") and scale_signal_queue > max(2, 0.05 * running) and waiting - waiting_growth > max(2, 0.05 * running))\"\n");
	buf_printf(out,
		"  explain: >-\n    More wait than can be worked off in %.0f s: (capacity %.4g requests/s of a server, measured, - "
		"arrivals) x recovery time.\n",
		recovery_s, capacity);
	buf_add_cstr(out, "- id: thresholds-of-another-mix\n  title: \"the thresholds were measured with another mix: prompts are now "
			  "{prompt_len_mean}, answers "
			  "{output_len_mean}\"\n  severity: warning\n  when: \"not (");
	mix_condition(k, out);
	buf_printf(out,
		")\"\n  at: [pool]\n  data: true\n  requirement: B3\n  evidence: [prompt_len_mean, output_len_mean, arrivals_per_s]\n  "
		"explain: >-\n"
		"    They hold for prompts of about %.0f tokens and answers of about %.0f. With these the capacity is another one, and the "
		"queue's red line is the\n"
		"    usual one again.\n  shift:\n  - do: Freeze the mix of today and measure again\n"
		"    run: \"goodput workload freeze $page > today.yaml && goodput bench $url --workload today.yaml --sweep --duration 60s "
		"--goodput "
		"ttft:TTFT tpot:TPOT --thresholds FILE\"\n",
		k->prompt_tokens, k->output_tokens);
}

static void limit_write(struct buf *out, const char *name, double ms, bool *first)
{
	if (isnan(ms))
		return;
	buf_printf(out, "%s%s: %.6gms", *first ? "" : ", ", name, ceil(ms)); /* durations are whole milliseconds */
	*first = false;
}

static void pool_write(const struct bench *b, const struct bench_knee *k, struct buf *out)
{
	bool first = true;
	struct buf match;

	buf_init(&match, 65536);
	literal_add(&match, b->load.model);
	buf_add_cstr(out, "pools:\n- name: ");
	id_add(out, b->load.model);
	buf_add_cstr(out, "\n  match: {model: ");
	buf_add_json(out, buf_str(&match));
	buf_add_cstr(out, "}\n  class: interactive\n  slo: {");
	limit_write(out, "ttft", k->ttft_p99_ms, &first);
	limit_write(out, "tpot", k->tpot_p99_ms, &first);
	limit_write(out, "e2e", k->e2e_p99_ms, &first);
	buf_add_cstr(out, "}\n");
	buf_fini(&match);
}

bool bench_thresholds_write(const struct bench *b, const struct bench_knee *k, struct error *e)
{
	struct buf out;
	bool ok;

	buf_init(&out, 1 << 20);
	head_write(b, k, &out);
	queue_write(b, k, &out);
	pool_write(b, k, &out);
	ok = file_write(b->a->thresholds, buf_str(&out), e);
	buf_fini(&out);
	return ok;
}
