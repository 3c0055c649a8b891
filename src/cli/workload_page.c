#include "cli/workload_page.h"

#include "base/json.h"
#include "cli/page.h"
#include "workload/profile.h"

#include <math.h>

enum { LABEL = 10 };

static const double quantiles[] = { 0.5, 0.9, 0.99, 1 };
static const char *const quantile_names[] = { "p50", "p90", "p99", "max" };

/* ---- show ---- */

static void arrivals_text(const struct workload *w, const struct workload_profile *p, struct buf *out)
{
	const struct workload_arrivals *a = &w->plan.arrivals;
	const char *what = w->sessions.turns.most || w->has_sessions ? "sessions" : "requests";

	switch (a->process) {
	case WORKLOAD_CLOSED: buf_printf(out, "closed loop: %u %s at any time", a->concurrency, what); break;
	case WORKLOAD_TRACE:
		buf_printf(out, "times of the rows: %zu %s over%c%.0f%cs, %.3g/s", w->starts.count, what, STICKY, p->seconds / 1, STICKY,
			p->rate);
		if (a->speed != 1)
			buf_printf(out, " (%g times as fast as they were)", a->speed);
		break;
	case WORKLOAD_CONSTANT: buf_printf(out, "%g %s/s, evenly", a->rate, what); break;
	case WORKLOAD_POISSON: buf_printf(out, "%g %s/s, Poisson", a->rate, what); break;
	case WORKLOAD_GAMMA: buf_printf(out, "%g %s/s, gamma intervals of shape %g", a->rate, what, a->burstiness); break;
	}
	if (isfinite(p->interval_cv))
		buf_printf(out, ", CV of intervals %.2f", p->interval_cv);
	if (a->ramp_seconds != 0)
		buf_printf(out, "; %s ramp from %g/s over%c%g%cs", a->ramp_exponential ? "exponential" : "linear", a->ramp_from, STICKY,
			a->ramp_seconds, STICKY);
	if (a->process != WORKLOAD_CLOSED && a->concurrency)
		buf_printf(out, "; at most %u open", a->concurrency);
	if (w->plan.requests)
		buf_printf(out, "; %llu of them", (unsigned long long)w->plan.requests);
}

static void lengths_line(struct page *page, const char *label, const struct workload_profile *p, const struct profile_lengths *l)
{
	page_print(page, STYLE_PLAIN, "  %-16s%10.1f", label, l->mean);
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		page_print(page, STYLE_PLAIN, "%10.0f", profile_quantile(p, l, quantiles[i]));
	page_line(page);
}

static void lengths_table(struct page *page, const struct workload_profile *p)
{
	page_gap(page);
	page_print(page, STYLE_DIM, "  %-16s%10s", "tokens", "mean");
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		page_print(page, STYLE_DIM, "%10s", quantile_names[i]);
	page_line(page);
	lengths_line(page, "prompt", p, &p->prompt);
	lengths_line(page, "output", p, &p->output);
	page_gap(page);
}

static void joint_text(const struct workload *w, const struct workload_profile *p, struct buf *out)
{
	if (isfinite(p->rank_correlation))
		buf_printf(out, "rank correlation of prompt and output %+.2f", p->rank_correlation);
	else
		buf_add_cstr(out, "prompt or output length is constant");
	if (!p->whole || w->classes.count)
		buf_printf(out, "; over the first %zu requests", p->requests);
}

static void shared_text(const struct workload *w, const struct workload_profile *p, struct buf *out)
{
	if (p->shared == 0) {
		buf_add_cstr(out, "no beginnings: every prompt is its own");
		return;
	}
	buf_printf(out, "%.1f%c%% of prompt tokens were sent before as the beginning of a prompt", p->shared * 100, STICKY);
	if (w->prefix.groups && w->prefix.tokens)
		buf_printf(out, " (%u beginnings of %u tokens)", w->prefix.groups, w->prefix.tokens);
	else if (w->prefix.groups)
		buf_printf(out, " (%u beginnings, %g%c%% of each prompt)", w->prefix.groups, w->prefix.share * 100, STICKY);
}

static void prompt_text(const struct workload *w, struct buf *out)
{
	static const char *const texts[] = { [WORKLOAD_CHAT] = "chats of common short words, one token each in the vocabularies in use",
		[WORKLOAD_COMPLETION] = "completions of common short words, one token each in the vocabularies in use",
		[WORKLOAD_TOKEN_IDS] = "token ids" };

	buf_add_cstr(out, texts[w->format]);
	if (w->format == WORKLOAD_TOKEN_IDS)
		buf_printf(out, " from %u to %u", w->id_first, w->id_first + w->id_count - 1);
	if (w->template_tokens)
		buf_printf(out, "; the chat template adds %u to a message", w->template_tokens);
}

static void field(struct page *page, const char *label, struct buf *text)
{
	page_field(page, label, STYLE_PLAIN, LABEL, buf_str(text));
	buf_reset(text);
}

static void show_page(struct page *page, const struct workload *w, const struct workload_profile *p, const char *path)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_printf(&text, STR_FMT "%s%.12s%s%s", STR_ARG(w->name), w->name.len ? ", " : "", w->hash, w->name.len ? "" : "  ",
		w->name.len ? "" : path);
	field(page, "workload", &text);
	if (w->source.kind.len) {
		buf_printf(&text, STR_FMT "%s" STR_FMT, STR_ARG(w->source.kind), w->source.file.len ? ": " : "", STR_ARG(w->source.file));
		field(page, "from", &text);
	}
	arrivals_text(w, p, &text);
	field(page, "arrivals", &text);
	lengths_table(page, p);
	joint_text(w, p, &text);
	field(page, "joint", &text);
	shared_text(w, p, &text);
	field(page, "shared", &text);
	if (p->turns > 1) {
		buf_printf(&text, "%.2f turns a session", p->turns);
		field(page, "turns", &text);
	}
	prompt_text(w, &text);
	field(page, "prompts", &text);
	buf_add(&text, w->sampling.len ? w->sampling : STR("the server's defaults"));
	field(page, "sampling", &text);
	VEC_EACH (&w->source.remarks, remark) {
		buf_add(&text, *remark);
		field(page, remark == w->source.remarks.items ? "remarks" : "", &text);
	}
	buf_fini(&text);
}

static void lengths_json(struct json *j, const char *key, const struct workload_profile *p, const struct profile_lengths *l)
{
	json_open(j, key, '{');
	json_number(j, "mean", l->mean);
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++)
		json_number(j, quantile_names[i], profile_quantile(p, l, quantiles[i]));
	json_close(j, '}');
}

static void arrivals_json(struct json *j, const struct workload *w, const struct workload_profile *p)
{
	const struct workload_arrivals *a = &w->plan.arrivals;

	json_open(j, "arrivals", '{');
	json_text(j, "process", str_from(workload_process_names[a->process]));
	json_number(j, "rate", p->rate);
	json_number(j, "interval_cv", p->interval_cv);
	json_number(j, "seconds", p->seconds);
	if (a->concurrency)
		json_integer(j, "concurrency", a->concurrency);
	json_close(j, '}');
}

static void profile_json(struct json *j, const struct workload *w, const struct workload_profile *p, const char *path)
{
	json_text(j, "hash", str_from(w->hash));
	json_text_if(j, "name", w->name);
	json_text(j, "file", str_from(path));
	json_text_if(j, "source", w->source.kind);
	arrivals_json(j, w, p);
	json_integer(j, "starts", (int64_t)p->starts);
	json_integer(j, "requests", (int64_t)p->requests);
	json_bool(j, "whole", p->whole);
	lengths_json(j, "prompt_tokens", p, &p->prompt);
	lengths_json(j, "output_tokens", p, &p->output);
	json_number(j, "rank_correlation", p->rank_correlation);
	json_number(j, "shared", p->shared);
	json_number(j, "turns", p->turns);
	json_list(j, "remarks", w->source.remarks.items, w->source.remarks.count);
}

int workload_show(const struct workload *w, const char *path, const struct global_arguments *global)
{
	struct workload_profile p;
	struct arena arena;
	struct page page;
	int status;

	arena_init(&arena);
	profile_make(&arena, w, 0, &p);
	page_init(&page, (enum color_when)global->color);
	if (global->json) {
		struct json j = { .out = &page.out };

		json_open(&j, NULL, '{');
		json_text(&j, "schema", STR("goodput.workload/1"));
		profile_json(&j, w, &p, path);
		json_close(&j, '}');
		buf_add_c(&page.out, '\n');
		status = page_output_document(&page, EXIT_FINE);
	} else {
		show_page(&page, w, &p, path);
		status = page_output(&page, EXIT_FINE);
	}
	page_fini(&page);
	arena_fini(&arena);
	return status;
}

/* ---- diff ---- */

/* How an aspect is written. */
static const struct aspect_style {
	const char *label, *format, *distance;
	double scale;
} aspect_styles[PROFILE_ASPECTS] = {
	[PROFILE_PROMPT] = { "prompt tokens, median", "%.0f", "KS", 1 },
	[PROFILE_OUTPUT] = { "output tokens, median", "%.0f", "KS", 1 },
	[PROFILE_PROMPT_MEAN] = { "prompt tokens, mean", "%.1f", "relative", 1 },
	[PROFILE_OUTPUT_MEAN] = { "output tokens, mean", "%.1f", "relative", 1 },
	[PROFILE_CORRELATION] = { "rank correlation", "%+.2f", "difference", 1 },
	[PROFILE_SHARED] = { "shared beginnings, %", "%.1f", "difference", 100 },
	[PROFILE_RATE] = { "starts a second", "%.3g", "relative", 1 },
	[PROFILE_CV] = { "CV of intervals", "%.2f", "difference", 1 },
	[PROFILE_TURNS] = { "turns a session", "%.2f", "relative", 1 },
};

static void figure_add(struct buf *out, const struct aspect_style *style, double value)
{
	if (isnan(value)) {
		buf_add_cstr(out, "none");
		return;
	}
	char text[40];

	snprintf(text, sizeof text, style->format, value * style->scale);
	buf_add_cstr(out, text);
}

static void aspect_line(struct page *page, const struct profile_diff *d, enum profile_aspect aspect)
{
	const struct profile_distance *x = &d->distance[aspect];
	const struct aspect_style *style = &aspect_styles[aspect];
	struct buf text;

	buf_init(&text, 1000);
	figure_add(&text, style, x->a);
	page_print(page, STYLE_PLAIN, "  %-23s%9s", style->label, buf_cstr(&text));
	buf_reset(&text);
	figure_add(&text, style, x->b);
	page_print(page, STYLE_PLAIN, "%9s  ", buf_cstr(&text));
	page_print(page, STYLE_DIM, "%10s ", style->distance);
	page_print(page, x->fair ? STYLE_PLAIN : STYLE_CRITICAL, "%6.3f", isnan(x->value) ? INFINITY : x->value);
	page_print(page, STYLE_DIM, "%7.3g", x->limit);
	page_print(page, STYLE_CRITICAL, "%s", x->fair ? "" : "  apart");
	page_line(page);
	buf_fini(&text);
}

static void reason_add(struct buf *out, bool holds, const char *reason)
{
	if (holds)
		return;
	buf_add_cstr(out, out->len ? ", " : "not comparable: ");
	buf_add_cstr(out, reason);
}

static void reasons_text(const struct profile_diff *d, struct buf *out)
{
	for (size_t i = 0; i < PROFILE_ASPECTS; i++)
		reason_add(out, d->distance[i].fair, profile_aspect_names[i]);
	reason_add(out, d->same_process, "open loop against closed loop");
	reason_add(out, d->same_concurrency, "concurrency");
	reason_add(out, d->same_sampling, "sampling parameters");
	reason_add(out, d->same_format, "form of the prompts");
}

static void diff_page(struct page *page, const struct profile_diff *d)
{
	struct buf text;

	buf_init(&text, 1 << 16);
	if (d->same) {
		page_field(page, "verdict", STYLE_FINE, LABEL, STR("the same workload: equal hashes, equal requests"));
	} else if (d->fair) {
		page_field(page, "verdict", STYLE_FINE, LABEL, STR("comparable: different requests of the same kind"));
	} else {
		reasons_text(d, &text);
		page_field(page, "verdict", STYLE_CRITICAL, LABEL, buf_str(&text));
		buf_reset(&text);
	}
	page_gap(page);
	page_print(page, STYLE_DIM, "  %-23s%9s%9s  %17s%7s", "", "A", "B", "distance", "limit");
	page_line(page);
	for (size_t i = 0; i < PROFILE_ASPECTS; i++)
		aspect_line(page, d, (enum profile_aspect)i);
	page_gap(page);
	buf_printf(&text,
		"KS is the largest difference between the shares of requests below any length. On average lengths "
		"must move by "
		"%.1f tokens (prompts) and %.1f (outputs) to turn A into B (Wasserstein).",
		d->prompt_shift, d->output_shift);
	page_field(page, "", STYLE_DIM, 2, buf_str(&text));
	buf_fini(&text);
}

static void distance_json(struct json *j, const struct profile_diff *d, enum profile_aspect aspect)
{
	const struct profile_distance *x = &d->distance[aspect];

	json_open(j, NULL, '{');
	json_text(j, "aspect", str_from(profile_aspect_names[aspect]));
	json_text(j, "distance", str_from(aspect_styles[aspect].distance));
	json_number(j, "a", x->a);
	json_number(j, "b", x->b);
	json_number(j, "apart", x->value);
	json_number(j, "limit", x->limit);
	json_bool(j, "fair", x->fair);
	json_close(j, '}');
}

static void diff_json(const struct profile_diff *d, const struct workload *const w[2], const struct workload_profile p[2],
	const char *const paths[2], struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "schema", STR("goodput.workload-diff/1"));
	json_bool(&j, "same", d->same);
	json_bool(&j, "comparable", d->fair);
	json_bool(&j, "same_sampling", d->same_sampling);
	json_bool(&j, "same_format", d->same_format);
	json_bool(&j, "same_concurrency", d->same_concurrency);
	json_bool(&j, "same_loop", d->same_process);
	json_open(&j, "distances", '[');
	for (size_t i = 0; i < PROFILE_ASPECTS; i++)
		distance_json(&j, d, (enum profile_aspect)i);
	json_close(&j, ']');
	json_number(&j, "prompt_shift_tokens", d->prompt_shift);
	json_number(&j, "output_shift_tokens", d->output_shift);
	for (size_t i = 0; i < 2; i++) {
		json_open(&j, i ? "b" : "a", '{');
		profile_json(&j, w[i], &p[i], paths[i]);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	buf_add_c(out, '\n');
}

int workload_diff(const struct workload *a, const struct workload *b, const char *const paths[2], const struct global_arguments *global)
{
	const struct workload *const both[2] = { a, b };
	struct workload_profile p[2];
	struct profile_diff d;
	struct arena arena;
	struct page page;
	int status;

	arena_init(&arena);
	profile_make(&arena, a, 0, &p[0]);
	profile_make(&arena, b, 0, &p[1]);
	profile_compare(a, &p[0], b, &p[1], &d);
	status = d.fair ? EXIT_FINE : EXIT_UNKNOWN;
	page_init(&page, (enum color_when)global->color);
	if (global->json) {
		diff_json(&d, both, p, paths, &page.out);
		status = page_output_document(&page, status);
	} else {
		diff_page(&page, &d);
		status = page_output(&page, status);
	}
	page_fini(&page);
	arena_fini(&arena);
	return status;
}
