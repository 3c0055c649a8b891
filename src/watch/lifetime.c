/* A saved page is one scrape. Its counters began at 0 with the process: that is a second scrape, and gives figures of the whole life. */
#include "base/buf.h"
#include "catalog/expression.h"
#include "expo/expo.h"
#include "watch/pipeline.h"

#include <math.h>

enum { PAGE_MAX = 256 << 20 };

/* Does this series count from 0 at its process's start? */
static bool counts_from_start(const struct expo_series *s)
{
	struct str name = labels_name(s->labels);

	switch (s->type) {
	case METRIC_COUNTER:
	case METRIC_HISTOGRAM: return !str_ends(name, STR("_created"));
	case METRIC_SUMMARY: return str_ends(name, STR("_sum")) || str_ends(name, STR("_count"));
	case METRIC_UNKNOWN: return str_ends(name, STR("_total")) || str_ends(name, STR("_bucket"));
	default: return false;
	}
}

/* The page as it was when its process began: every counter 0, and no level but those that never change. */
static void page_at_start(const struct expo_page *page, struct buf *out)
{
	struct expo_writer writer = { .out = out, .format = EXPO_TEXT };
	struct str family = STR_EMPTY;

	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_series *s = page->samples[i].series;
		bool constant = s->type == METRIC_INFO || str_is(labels_name(s->labels), "process_start_time_seconds");

		if (!constant && !counts_from_start(s))
			continue;
		if (!str_eq(s->family, family))
			expo_write_family(&writer, s->family, s->type, STR_EMPTY, STR_EMPTY);
		family = s->family;
		expo_write_sample(&writer, s->labels, constant ? page->samples[i].value : 0, EXPO_NO_TIME);
	}
}

static double start_of(const struct expo_page *page)
{
	double start = NAN;

	for (size_t i = 0; i < page->sample_count; i++) {
		const struct expo_series *s = page->samples[i].series;

		if (!str_is(labels_name(s->labels), "process_start_time_seconds") && !str_ends(labels_name(s->labels), STR("_created")))
			continue;
		/* The oldest of the dates of birth. */
		if (page->samples[i].value > 0 && !(start <= page->samples[i].value))
			start = page->samples[i].value;
	}
	return start;
}

/* Second fleet: the page at its process's start, and the page. */
void lifetime_add(struct watch *w, const struct target *seen, struct str body, int64_t t_ms)
{
	struct expo_reader *reader = expo_reader_new();
	const struct expo_page *page = expo_read(reader, seen->name, body, expo_format_of(STR_EMPTY, body));
	double start_s = start_of(page);
	int64_t start_ms = start_s * 1000 < (double)t_ms ? (int64_t)(start_s * 1000) : 0;
	struct target *t = fleet_target(&w->lifetime.fleet, seen->name, STR_EMPTY, STR_EMPTY);
	struct buf at_start;

	w->start_known &= start_ms > 0;
	/* Without a date of birth the time between is a stand-in: shares, means and quantiles do not depend on it. */
	start_ms = start_ms > 0 ? start_ms : t_ms - 3600000;
	buf_init(&at_start, PAGE_MAX);
	page_at_start(page, &at_start);
	struct http_answer answer = { .status = 200, .start_ms = start_ms, .duration_s = NAN, .body = buf_str(&at_start) };

	if (at_start.len) {
		fleet_ingest(&w->lifetime.fleet, t, start_ms, STR_EMPTY, &answer);
		answer.body = body;
		answer.start_ms = t_ms;
		fleet_ingest(&w->lifetime.fleet, t, t_ms, STR_EMPTY, &answer);
	}
	if (start_ms < w->lifetime_span.window.from_ms)
		w->lifetime_span.window.from_ms = w->lifetime_span.window.history_ms = start_ms;
	buf_fini(&at_start);
	expo_reader_free(reader);
}

/* ---- what two scrapes a life apart do not tell ---- */

/* Does the figure depend on when things happened inside that life, or (`length`) on how long it was? */
static bool depends_on_time(const struct expression *x, bool length, int depth)
{
	if (!x || depth > 32)
		return false;
	if (x->kind == EXPRESSION_PRIMITIVE) {
		switch (x->primitive) {
		case PRIMITIVE_AGE:
		case PRIMITIVE_TREND:
		case PRIMITIVE_DELTA: return true;
		case PRIMITIVE_RATE: return length;
		default: return false;
		}
	}
	for (size_t i = 0; x->signal && i < x->signal->definition_count; i++)
		if (depends_on_time(x->signal->definitions[i].expression, length, depth + 1))
			return true;
	return depends_on_time(x->left, length, depth + 1) || depends_on_time(x->right, length, depth + 1);
}

static bool signal_depends(const struct signal_spec *s, bool length)
{
	for (size_t i = 0; i < s->definition_count; i++)
		if (depends_on_time(s->definitions[i].expression, length, 0))
			return true;
	return false;
}

void lifetime_judge(struct watch *w)
{
	struct report *r = w->lifetime_report;
	bool length = !w->start_known;
	size_t kept = 0;

	for (size_t i = 0; i < r->catalog->signals.count; i++) {
		if (!signal_depends(r->catalog->signals.items[i], length))
			continue;
		for (size_t s = 0; s < r->scope_count; s++)
			if (reading_known(&r->readings[s][i]))
				r->readings[s][i] = reading_unknown(
					UNKNOWN_ONE_SCRAPE, length ? STR("when the counters began is not known") : STR_EMPTY);
	}
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding_spec *spec = r->findings[i].spec;

		/* Detectors look at what happens from scrape to scrape: here there is none. */
		if (spec->when && !depends_on_time(spec->when, length, 0))
			r->findings[kept++] = r->findings[i];
	}
	r->finding_count = kept;
}
