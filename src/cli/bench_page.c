/* goodput bench: the summary for people. Failures first, then what it was worth, then the figures, then who measured. */
#include "cli/bench.h"
#include "cli/tally_render.h"

#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>

enum { LABEL_INDENT = 12, ERRORS_SHOWN = 8 };
#define CONFIDENCE 0.95

/* ---- words ---- */

static void number_add(struct buf *out, double value)
{
	char number[32];

	number_phrase(value, number);
	buf_add_cstr(out, number);
}

void bench_arrivals_phrase(const struct workload_plan *plan, struct buf *out)
{
	const struct workload_arrivals *a = &plan->arrivals;

	switch (a->process) {
	case WORKLOAD_CLOSED: buf_printf(out, "%u at a time", a->concurrency); return;
	case WORKLOAD_TRACE: buf_printf(out, "at the trace's times, %g times as fast", a->speed); break;
	default:
		buf_printf(out, "%s, %g requests/s", workload_process_names[a->process], a->rate);
		if (a->process == WORKLOAD_GAMMA)
			buf_printf(out, " (burstiness %g)", a->burstiness);
		if (a->ramp_seconds > 0)
			buf_printf(out, ", from %g in %.0f s", a->ramp_from, a->ramp_seconds);
	}
	if (a->concurrency)
		buf_printf(out, ", at most %u at a time", a->concurrency);
}

/* ---- head ---- */

static void page_head(struct page *p, const struct bench *b, const struct bench_run *r)
{
	struct buf text;

	buf_init(&text, 65536);
	buf_printf(&text, STR_FMT STR_FMT " · " STR_FMT " · ", STR_ARG(b->url), STR_ARG(b->load.path), STR_ARG(b->load.model));
	bench_arrivals_phrase(&b->plan, &text);
	buf_add_cstr(&text, " · window ");
	number_add(&text, r->tally.window_s);
	buf_add_cstr(&text, " s of ");
	number_add(&text, (double)r->load.last_end_ns / 1e9);
	buf_add_cstr(&text, " s");
	page_field(p, "bench", STYLE_BOLD, LABEL_INDENT, buf_str(&text));
	buf_reset(&text);
	buf_printf(&text, STR_FMT " %.12s · seed %llu · salt %llu", STR_ARG(workload_name(b->workload)), workload_hash(b->workload),
		(unsigned long long)b->plan.seed, (unsigned long long)b->plan.salt);
	page_field(p, "workload", STYLE_DIM, LABEL_INDENT, buf_str(&text));
	if (r->load.interrupted)
		page_field(p, "PARTIAL", STYLE_WARNING, LABEL_INDENT, STR("interrupted: what was measured until then"));
	if (r->load.client_bound) {
		buf_reset(&text);
		buf_printf(&text, "the client was the bottleneck, these are not the server's figures: %s", r->load.client_reason);
		page_field(p, "CLIENT", STYLE_CRITICAL, LABEL_INDENT, buf_str(&text));
	}
	buf_fini(&text);
}

/* ---- requests and failures ---- */

static void count_add_if(struct buf *out, size_t count, const char *what)
{
	if (count)
		buf_printf(out, ", %zu %s", count, what);
}

static void page_requests(struct page *p, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct buf text;

	buf_init(&text, 65536);
	buf_printf(&text, "%zu judged: %zu completed, %zu failed", t->judged, t->complete, t->failed);
	count_add_if(&text, t->unsent, "due and never sent");
	count_add_if(&text, t->cancelled, "cancelled at the end (not judged)");
	count_add_if(&text, t->left_out - t->cancelled, "of warm-up or cool-down (not judged)");
	count_add_if(&text, t->retried, "sent more than once");
	buf_add_cstr(&text, "; ");
	number_add(&text, tally_throughput(t));
	buf_add_cstr(&text, " completed/s");
	page_field(p, "requests", STYLE_BOLD, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void page_errors(struct page *p, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct buf text;
	size_t shown = 0;

	buf_init(&text, 65536);
	VEC_EACH (&t->errors, error) {
		if (shown++ == ERRORS_SHOWN)
			break;
		buf_reset(&text);
		buf_printf(&text, "%zu x %s", error->count, timeline_error_name(error->error));
		if (error->http_status)
			buf_printf(&text, " (status %u)", error->http_status);
		buf_printf(&text, ", such as request %llu: %s", (unsigned long long)error->example_id,
			*error->example ? error->example : "no words given");
		page_field(p, shown == 1 ? "errors" : "", STYLE_CRITICAL, LABEL_INDENT, buf_str(&text));
		page_field(p, "", STYLE_DIM, LABEL_INDENT, str_from(timeline_error_hint(error->error, error->http_status)));
	}
	if (t->errors.count > ERRORS_SHOWN) {
		buf_reset(&text);
		buf_printf(&text, "and %zu more kinds", t->errors.count - ERRORS_SHOWN);
		page_field(p, "", STYLE_DIM, LABEL_INDENT, buf_str(&text));
	}
	buf_fini(&text);
}

/* ---- goodput ---- */

static void limits_text(const struct slo *s, struct buf *out)
{
	for (int m = 0; m < SLO_MEASURES; m++)
		if (!isnan(s->limit_ms[m]))
			buf_printf(out, "%s%s %g ms", out->len ? ", " : "", slo_measure_name((enum slo_measure)m), s->limit_ms[m]);
}

static void page_goodput(struct page *p, const struct bench *b, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct estimate share = tally_attainment(t);
	struct buf text, limits;

	if (slo_set_is_empty(&b->slo)) {
		page_field(p, "goodput", STYLE_DIM, LABEL_INDENT, STR("not judged: --goodput ttft:500 tpot:50 sets limits"));
		return;
	}
	buf_init(&text, 65536);
	buf_init(&limits, 1000);
	limits_text(&b->slo.general, &limits);
	if (!t->judged) {
		buf_printf(&text, "unknown: no request was judged by %s", buf_cstr(&limits));
		page_field(p, "goodput", STYLE_UNKNOWN, LABEL_INDENT, buf_str(&text));
		buf_fini(&text);
		buf_fini(&limits);
		return;
	}
	number_add(&text, tally_goodput(t));
	buf_printf(&text, " good requests/s: %zu of %zu, %.1f %% (95 %%: %.1f to %.1f) meet %s", t->good, t->judged, share.value * 100,
		share.low * 100, share.high * 100, buf_cstr(&limits));
	page_field(p, "goodput", t->good < t->judged ? STYLE_WARNING : STYLE_FINE, LABEL_INDENT, buf_str(&text));
	buf_reset(&text);
	if (t->binding >= 0)
		buf_printf(&text, "binding: %s", slo_measure_name((enum slo_measure)t->binding));
	for (int m = 0; m < SLO_MEASURES; m++)
		if (t->missed[m])
			buf_printf(&text, "%s%zu miss %s (binding for %zu)", text.len ? "; " : "", t->missed[m],
				slo_measure_name((enum slo_measure)m), t->bound[m]);
	if (t->tpot_undefined)
		buf_printf(&text, "%s%zu without a TPOT pass its limit", text.len ? "; " : "", t->tpot_undefined);
	if (text.len)
		page_field(p, "", STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	if (!isnan(b->price)) {
		buf_reset(&text);
		number_add(&text, tally_cost_per_1000(t, b->price));
		buf_add_cstr(&text, " per 1,000 good requests");
		page_field(p, "cost", STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	}
	buf_fini(&text);
	buf_fini(&limits);
}

/* ---- percentiles ---- */

static void page_figures(struct page *p, const struct bench_run *r)
{
	static const struct tally_row rows[] = { { TALLY_TTFT, "TTFT" }, { TALLY_TTFT_CONTENT, "  content" },
		{ TALLY_TTFT_DUE, "  since due" }, { TALLY_TTFT_LAST, "  last try" }, { TALLY_TPOT, "TPOT" }, { TALLY_GAP, "ITL (gaps)" },
		{ TALLY_E2E, "E2E" }, { TALLY_E2E_DUE, "  since due" }, { TALLY_E2E_LAST, "  last try" } };

	if (!r->tally.complete)
		return;
	page_gap(p);
	tally_page_intervals(p, &r->tally, rows, ARRAY_LEN(rows));
	page_gap(p);
}

/* ---- tokens, stalls, evaluation ---- */

static void page_tokens(struct page *p, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct buf text;
	bool first = true;

	if (!t->complete)
		return;
	buf_init(&text, 65536);
	number_add(&text, tally_output_rate(t));
	buf_add_cstr(&text, " output tokens/s; ");
	if (t->output_told)
		buf_printf(&text, "%.1f a request", (double)t->output_tokens / (double)t->output_told);
	if (t->prompt_told)
		buf_printf(&text, " for %.1f of prompt", (double)t->prompt_tokens / (double)t->prompt_told);
	if (t->cached_told)
		buf_printf(&text, ", %.1f %% of it cached",
			t->prompt_tokens ? 100.0 * (double)t->cached_tokens / (double)t->prompt_tokens : 0);
	buf_add_cstr(&text, "; counted by ");
	for (int basis = 0; basis < TOKEN_BASES; basis++)
		if (t->basis[basis]) {
			buf_printf(&text, "%s%s%s", first ? "" : ", ", token_basis_name((enum token_basis)basis),
				basis == TOKENS_EVENTS ? " (a guess: one an event)" : "");
			first = false;
		}
	if (t->ended_by_length)
		buf_printf(&text, "; %zu ended by length", t->ended_by_length);
	if (t->partial_tokens)
		buf_printf(&text, "; %llu tokens of failed requests besides", (unsigned long long)t->partial_tokens);
	page_field(p, "tokens", STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void page_oddities(struct page *p, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct buf text;

	buf_init(&text, 65536);
	if (t->stalls)
		buf_printf(&text, ", %zu stalls above 500 ms in %zu requests", t->stalls, t->stalled_requests);
	if (t->hitches)
		buf_printf(&text, ", %zu gaps of 10 times the stream's own pace in %zu requests", t->hitches, t->hitched_requests);
	count_add_if(&text, t->no_usage, "without usage");
	count_add_if(&text, t->missing_done, "without [DONE]");
	count_add_if(&text, t->several_models, "with two models in a stream");
	count_add_if(&text, t->not_streamed, "not streamed (no TTFT)");
	count_add_if(&text, t->single_delivery, "whose tokens came in one event");
	if (text.len)
		page_field(p, "notes", STYLE_WARNING, LABEL_INDENT, str_skip(buf_str(&text), 2));
	buf_fini(&text);
}

static void page_evaluation(struct page *p, const struct bench *b, const struct bench_run *r)
{
	const struct tally *t = &r->tally;
	struct estimate share = share_estimate(t->evaluation_passed, t->evaluated, CONFIDENCE);
	struct buf text;

	if (!b->has_evaluation)
		return;
	buf_init(&text, 65536);
	if (t->evaluated)
		buf_printf(&text, "%zu of %zu passed, %.1f %% (95 %%: %.1f to %.1f)", t->evaluation_passed, t->evaluated, share.value * 100,
			share.low * 100, share.high * 100);
	else
		buf_add_cstr(&text, "nothing judged");
	if (t->evaluated < b->evaluation.items.count)
		buf_printf(&text, "; %zu of the set were not answered", b->evaluation.items.count - t->evaluated);
	page_field(p, "evaluation", t->evaluation_passed < t->evaluated ? STYLE_WARNING : STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* ---- both sides ---- */

static const struct {
	enum tally_figure figure;
	const char *name, *signal;
} sides[] = { { TALLY_TTFT, "TTFT", "ttft_mean" }, { TALLY_TPOT, "TPOT", "tpot_mean" }, { TALLY_E2E, "E2E", "e2e_mean" } };

static void page_sides(struct page *p, const struct bench_run *r)
{
	static const char *const more[] = { "queue_mean", "prefill_mean", "running", "waiting", "kv_usage", "preemptions",
		"prefix_hit_rate" };
	const char *trouble = r->server ? server_watch_trouble(r->server) : NULL;
	struct buf text;

	if (!r->server)
		return;
	if (trouble) {
		page_field(p, "server", STYLE_DIM, LABEL_INDENT, str_from(trouble));
		return;
	}
	buf_init(&text, 65536);
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		double client = tally_mean(&r->tally, sides[i].figure).value, server = server_watch_value(r->server, sides[i].signal) * 1e3;

		if (isnan(client) || isnan(server))
			continue;
		buf_printf(&text, "%s%s ", text.len ? " · " : "", sides[i].name);
		number_add(&text, client);
		buf_add_cstr(&text, " here, ");
		number_add(&text, server);
		buf_add_cstr(&text, " there, outside ");
		number_add(&text, client - server);
	}
	page_field(p, "both sides", STYLE_PLAIN, LABEL_INDENT, text.len ? buf_str(&text) : STR("the server tells none of TTFT, TPOT, E2E"));
	page_field(p, "", STYLE_DIM, LABEL_INDENT, STR("means in ms; the server's are of the whole run and of all its clients"));
	buf_reset(&text);
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		size_t before = text.len;

		buf_printf(&text, "%s%s ", text.len ? " · " : "", more[i]);
		if (!server_watch_phrase(r->server, more[i], &text))
			text.len = before;
	}
	if (text.len)
		page_field(p, "server", STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void page_client(struct page *p, const struct bench_run *r)
{
	const struct load_result *l = &r->load;
	struct buf text;

	buf_init(&text, 65536);
	buf_add_cstr(&text, "read lag P99 ");
	number_add(&text, l->lag_p99_ms);
	buf_add_cstr(&text, " ms (kernel stamp to here), ");
	if (!isnan(l->delay_p99_ms)) {
		buf_add_cstr(&text, "schedule delay P99 ");
		number_add(&text, l->delay_p99_ms);
		buf_add_cstr(&text, " ms, ");
	}
	buf_printf(&text, "busiest of %u threads %.0f %% of a core, %llu connections", l->threads, l->cpu_share * 100,
		(unsigned long long)l->health.opened);
	if (l->health.kept_lost)
		buf_printf(&text, ", %llu kept ones lost and replaced", (unsigned long long)l->health.kept_lost);
	if (l->health.unstamped)
		buf_printf(&text, ", %llu of %llu reads without the kernel's stamp", (unsigned long long)l->health.unstamped,
			(unsigned long long)l->health.reads);
	page_field(p, "client", STYLE_PLAIN, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* ---- the worst ---- */

static double badness(const struct bench *b, const struct timeline *t)
{
	const struct slo *s = slo_of(&b->slo, t->pool);
	double values[SLO_MEASURES] = { timeline_ttft_due_ms(t), timeline_tpot_ms(t), timeline_e2e_due_ms(t), NAN }, worst = 0;

	if (slo_set_is_empty(&b->slo))
		return timeline_e2e_due_ms(t);
	for (int m = 0; m < SLO_MEASURES; m++)
		if (!isnan(s->limit_ms[m]) && values[m] / s->limit_ms[m] > worst)
			worst = values[m] / s->limit_ms[m];
	return worst;
}

size_t *bench_worst(const struct bench *b, const struct bench_run *r, size_t *count)
{
	size_t room = (size_t)b->a->worst < r->load.requests.count ? (size_t)b->a->worst : r->load.requests.count;
	size_t *indices = mem_zalloc(room + 1, sizeof *indices);

	*count = 0;
	for (size_t i = 0; i < r->load.requests.count && room; i++) {
		const struct timeline *t = &r->load.requests.items[i];
		size_t at = *count;

		if (t->warmup || !timeline_is_complete(t))
			continue;
		while (at && badness(b, &r->load.requests.items[indices[at - 1]]) < badness(b, t))
			at--;
		if (at == room)
			continue;
		if (*count < room)
			++*count;
		for (size_t j = *count - 1; j > at; j--)
			indices[j] = indices[j - 1];
		indices[at] = i;
	}
	return indices;
}

static void worst_line(struct page *p, const struct timeline *t, bool first)
{
	struct buf text;

	buf_init(&text, 4096);
	buf_printf(&text, "request %llu", (unsigned long long)t->id);
	if (t->turn)
		buf_printf(&text, " turn %u", t->turn);
	buf_printf(&text, " (" STR_FMT ") at %.2f s: TTFT ", STR_ARG(t->request_id),
		(double)(t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns) / 1e9);
	number_add(&text, timeline_ttft_due_ms(t));
	buf_add_cstr(&text, ", TPOT ");
	number_add(&text, timeline_tpot_ms(t));
	buf_add_cstr(&text, ", E2E ");
	number_add(&text, timeline_e2e_due_ms(t));
	buf_add_cstr(&text, " ms");
	if (t->output_tokens != TIMELINE_UNKNOWN)
		buf_printf(&text, ", %u tokens", t->output_tokens);
	page_field(p, first ? "worst" : "", STYLE_DIM, LABEL_INDENT, buf_str(&text));
	buf_fini(&text);
}

static void page_worst(struct page *p, const struct bench *b, const struct bench_run *r)
{
	size_t count, *indices = bench_worst(b, r, &count);

	for (size_t i = 0; i < count; i++)
		worst_line(p, &r->load.requests.items[indices[i]], i == 0);
	mem_free(indices);
}

void bench_page(struct page *p, const struct bench *b, const struct bench_run *r)
{
	page_head(p, b, r);
	page_requests(p, r);
	page_errors(p, r);
	page_goodput(p, b, r);
	page_figures(p, r);
	page_tokens(p, r);
	page_oddities(p, r);
	page_evaluation(p, b, r);
	page_sides(p, r);
	page_client(p, r);
	page_worst(p, b, r);
}
