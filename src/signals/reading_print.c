/* Readings for people: units made readable, bounds as bounds, unknown with its reason. */
#include "signals/reading.h"

#include "base/mem.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>

static const struct {
	const char *name, *text;
} reasons[] = {
	[UNKNOWN_NONE] = { "none", "" },
	[UNKNOWN_ABSENT] = { "absent", "not exported by this target" },
	[UNKNOWN_NOT_ENABLED] = { "not-enabled", "not switched on" },
	[UNKNOWN_NOT_APPLICABLE] = { "not-applicable", "not in this engine version" },
	[UNKNOWN_TARGET_DOWN] = { "target-down", "target down" },
	[UNKNOWN_NO_TRAFFIC] = { "no-traffic", "no traffic" },
	[UNKNOWN_INVALID] = { "invalid", "invalid data" },
	[UNKNOWN_ONE_SCRAPE] = { "one-scrape", "one scrape only" },
	[UNKNOWN_OLD_END] = { "old-end", "no sample near an end of the window" },
	[UNKNOWN_GUARDED] = { "guarded", "meaningless here" },
	[UNKNOWN_MIXED_MODELS] = { "mixed-models", "several models: ask per pool" },
	[UNKNOWN_NO_REFERENCE] = { "no-reference", "no window to compare with" },
};

const char *unknown_reason_name(enum unknown_reason r)
{
	return r < ARRAY_LEN(reasons) ? reasons[r].name : "none";
}
const char *unknown_reason_text(enum unknown_reason r)
{
	return r < ARRAY_LEN(reasons) ? reasons[r].text : "";
}

/* Three significant digits, no exponent for what people meet, thousands as they are. */
static void print_plain(double v, struct buf *out)
{
	double size = fabs(v);
	if (v == floor(v) && size < 1e15) {
		buf_printf(out, "%.0f", v);
		return;
	}
	int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : size >= 0.01 ? 4 : -1;
	if (size >= 1e15 || decimals < 0) {
		buf_printf(out, "%.3g", v);
		return;
	}
	char text[64];
	int n = snprintf(text, sizeof text, "%.*f", decimals, v);
	while (decimals > 0 && n > 0 && text[n - 1] == '0')
		n--, decimals--;
	if (n > 0 && text[n - 1] == '.')
		n--;
	buf_add(out, str_of(text, (size_t)n));
}

struct step {
	double from, scale;
	const char *suffix;
};

static void print_scaled(double v, const struct step *steps, size_t count, const char *tail, struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		if (fabs(v) >= steps[i].from || i + 1 == count) {
			print_plain(v / steps[i].scale, out);
			buf_printf(out, " %s%s", steps[i].suffix, tail);
			return;
		}
}

static void print_bytes(double v, const char *tail, struct buf *out)
{
	static const struct step steps[] = { { 1099511627776.0, 1099511627776.0, "TiB" }, { 1073741824.0, 1073741824.0, "GiB" },
		{ 1048576.0, 1048576.0, "MiB" }, { 1024.0, 1024.0, "KiB" }, { 0, 1, "B" } };
	print_scaled(v, steps, ARRAY_LEN(steps), tail, out);
}

static void print_seconds(double v, struct buf *out)
{
	static const struct step steps[] = { { 172800, 86400, "d" }, { 7200, 3600, "h" }, { 600, 60, "min" }, { 1, 1, "s" },
		{ 1e-3, 1e-3, "ms" }, { 0, 1e-6, "us" } };
	if (v == 0)
		buf_add_cstr(out, "0 s");
	else
		print_scaled(v, steps, ARRAY_LEN(steps), "", out);
}

static void print_number(double v, struct str unit, struct buf *out)
{
	if (isinf(v)) {
		buf_add_cstr(out, v > 0 ? "inf" : "-inf");
	} else if (str_is(unit, "s")) {
		print_seconds(v, out);
	} else if (str_is(unit, "ratio")) {
		print_plain(v * 100, out);
		buf_add_cstr(out, " %");
	} else if (str_is(unit, "ratio_x")) {
		print_plain(v, out);
		buf_add_cstr(out, "x");
	} else if (str_starts(unit, STR("bytes"))) {
		print_bytes(v, unit.len > 5 ? unit.ptr + 5 : "", out);
	} else if (str_is(unit, "B/s")) {
		print_bytes(v, "/s", out);
	} else if (str_is(unit, "1/s") || str_is(unit, "1/h")) {
		print_plain(v, out);
		buf_add_cstr(out, unit.ptr[2] == 's' ? "/s" : "/h");
	} else {
		print_plain(v, out);
		if (unit.len)
			buf_printf(out, " " STR_FMT, STR_ARG(unit));
	}
}

static void print_unknown(const struct reading *r, struct buf *out)
{
	buf_printf(out, "unknown: %s", unknown_reason_text(r->reason));
	if (r->why.len)
		buf_printf(out, " (" STR_FMT ")", STR_ARG(r->why));
}

void reading_print(const struct reading *r, struct str unit, struct buf *out)
{
	switch (r->kind) {
	case READING_UNKNOWN: print_unknown(r, out); return;
	case READING_TEXT: buf_add(out, r->text); return;
	case READING_CELLS: buf_printf(out, "%zu cells", r->cell_count); return;
	case READING_VALUE: break;
	case READING_AT_LEAST: buf_add_cstr(out, r->share_beyond > 0 ? "> " : ">= "); break;
	case READING_AT_MOST: buf_add_cstr(out, "<= "); break;
	case READING_BETWEEN:
		print_number(r->low, unit, out);
		buf_add_cstr(out, " .. ");
		break;
	}
	print_number(r->kind == READING_AT_LEAST ? r->low : r->high, unit, out);
}
