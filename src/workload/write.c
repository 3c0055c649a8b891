/* A workload as its file. The order and form of what is hashed are part of the format: one meaning has one text. */
#include "workload/content.h"

static void add_number(struct buf *out, const char *key, double value)
{
	buf_add_cstr(out, key);
	buf_add_double(out, value);
	buf_add_c(out, '\n');
}

static void add_integer(struct buf *out, const char *key, uint64_t value)
{
	buf_add_cstr(out, key);
	buf_add_i64(out, (int64_t)value);
	buf_add_c(out, '\n');
}

/* Allowed in JSON as they are; in YAML they are line breaks, or not allowed. */
static bool yaml_differs(uint32_t rune)
{
	return (rune >= 0x7f && rune < 0xa0) || rune == 0x2028 || rune == 0x2029 || rune == 0xfeff || rune == 0xfffe || rune == 0xffff;
}

void content_add_text(struct buf *out, struct str text)
{
	struct buf json;
	uint32_t rune;

	buf_init(&json, SIZE_MAX / 2);
	buf_add_json(&json, text);
	struct str rest = buf_str(&json);

	for (size_t size; (size = str_rune(rest, &rune)) > 0; rest = str_skip(rest, size)) {
		if (yaml_differs(rune))
			buf_printf(out, "\\u%04x", rune);
		else
			buf_add(out, str_head(rest, size));
	}
	buf_fini(&json);
}

/* ---- lengths ---- */

static void write_length(const struct length *l, struct buf *out)
{
	switch (l->kind) {
	case LENGTH_FIXED: buf_add_i64(out, l->least); return;
	case LENGTH_UNIFORM: buf_printf(out, "[%u, %u]", l->least, l->most); return;
	case LENGTH_LOGNORMAL:
		buf_add_cstr(out, "{mean: ");
		buf_add_double(out, l->mean);
		buf_add_cstr(out, ", cv: ");
		buf_add_double(out, l->cv);
		buf_printf(out, ", least: %u, most: %u}", l->least, l->most);
		return;
	case LENGTH_BUCKETS: break;
	}
	buf_add_cstr(out, "{buckets: [");
	for (size_t i = 0; i < l->bucket_count; i++) {
		buf_printf(out, "%s[%u, ", i ? ", " : "", l->buckets[i].most);
		buf_add_double(out, l->buckets[i].weight);
		buf_add_c(out, ']');
	}
	buf_add_c(out, ']');
	if (l->slope != 0) {
		buf_add_cstr(out, ", slope: ");
		buf_add_double(out, l->slope);
	}
	buf_add_c(out, '}');
}

static void write_mix(const struct workload *w, struct buf *out)
{
	buf_add_cstr(out, "mix:\n");
	VEC_EACH (&w->classes, c) {
		add_number(out, "  - share: ", c->share);
		if (c->name.len) {
			buf_add_cstr(out, "    name: ");
			content_add_text(out, c->name);
			buf_add_c(out, '\n');
		}
		buf_add_cstr(out, "    prompt: ");
		write_length(&c->prompt, out);
		buf_add_cstr(out, "\n    output: ");
		write_length(&c->output, out);
		buf_add_c(out, '\n');
	}
	if (w->prefix.groups) {
		add_integer(out, "prefix:\n  groups: ", w->prefix.groups);
		if (w->prefix.tokens)
			add_integer(out, "  tokens: ", w->prefix.tokens);
		else
			add_number(out, "  share: ", w->prefix.share);
	}
	if (w->sessions.turns.most) {
		buf_add_cstr(out, "sessions:\n  turns: ");
		write_length(&w->sessions.turns, out);
		add_number(out, "\n  pause: ", w->sessions.pause);
	}
}

/* ---- the rest ---- */

static void write_arrivals(const struct workload_arrivals *a, struct buf *out)
{
	buf_printf(out, "arrivals:\n  process: %s\n", workload_process_names[a->process]);
	if (a->process == WORKLOAD_TRACE)
		add_number(out, "  speed: ", a->speed);
	else if (a->process != WORKLOAD_CLOSED)
		add_number(out, "  rate: ", a->rate);
	if (a->process == WORKLOAD_GAMMA)
		add_number(out, "  burstiness: ", a->burstiness);
	if (a->concurrency)
		add_integer(out, "  concurrency: ", a->concurrency);
	if (a->ramp_seconds != 0) {
		add_number(out, "  ramp_from: ", a->ramp_from);
		add_number(out, "  ramp_seconds: ", a->ramp_seconds);
		buf_printf(out, "  ramp: %s\n", a->ramp_exponential ? "exponential" : "linear");
	}
}

static void write_prompt(const struct workload *w, struct buf *out)
{
	static const char *const formats[] = {
		[WORKLOAD_CHAT] = "chat", [WORKLOAD_COMPLETION] = "completion", [WORKLOAD_TOKEN_IDS] = "token_ids"
	};

	buf_printf(out, "prompt:\n  format: %s\n", formats[w->format]);
	if (w->template_tokens)
		add_integer(out, "  template_tokens: ", w->template_tokens);
	if (w->format == WORKLOAD_TOKEN_IDS)
		buf_printf(out, "  vocabulary: [%u, %u]\n", w->id_first, w->id_first + w->id_count - 1);
}

static void write_sampling(const struct workload *w, struct buf *out)
{
	if (!w->settings.count)
		return;
	buf_add_cstr(out, "sampling:\n");
	VEC_EACH (&w->settings, s)
		buf_printf(out, "  " STR_FMT ": " STR_FMT "\n", STR_ARG(s->name), STR_ARG(s->value));
}

void content_write_hashed(const struct workload *w, struct buf *out)
{
	add_integer(out, "seed: ", w->plan.seed);
	add_integer(out, "requests: ", w->plan.requests);
	write_arrivals(&w->plan.arrivals, out);
	write_prompt(w, out);
	write_sampling(w, out);
	if (!w->rows.count) {
		write_mix(w, out);
		return;
	}
	buf_printf(out, "rows:\n  order: %s\n", w->shuffled ? "shuffled" : "kept");
	if (w->block)
		add_integer(out, "  block: ", w->block);
	buf_add_cstr(out, "  data: |\n");
	rows_write(w, "    ", out);
}

static void add_text(struct buf *out, const char *key, struct str text)
{
	if (!text.len)
		return;
	buf_add_cstr(out, key);
	content_add_text(out, text);
	buf_add_c(out, '\n');
}

void content_write(const struct workload *w, struct buf *out)
{
	buf_printf(out, "goodput_workload: 1\nhash: \"%s\"\n", w->hash);
	add_text(out, "name: ", w->name);
	if (w->source.kind.len || w->source.file.len || w->source.remarks.count) {
		buf_add_cstr(out, "source:\n");
		add_text(out, "  kind: ", w->source.kind);
		add_text(out, "  file: ", w->source.file);
		if (w->source.remarks.count)
			buf_add_cstr(out, "  remarks:\n");
		VEC_EACH (&w->source.remarks, remark)
			add_text(out, "    - ", *remark);
	}
	content_write_hashed(w, out);
}
