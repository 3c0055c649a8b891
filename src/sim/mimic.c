#include "sim/mimic.h"

#include "base/mem.h"
#include "base/number.h"

/* ---- releases ---- */

static const struct {
	const char *version;
	int minor; /* of 0.minor */
} releases[MIMIC_COUNT] = {
	[MIMIC_0_6] = { "0.6.6", 6 },
	[MIMIC_0_8] = { "0.8.5", 8 },
	[MIMIC_0_9] = { "0.9.2", 9 },
	[MIMIC_0_10] = { "0.10.1.1", 10 },
	[MIMIC_0_11] = { "0.11.2", 11 },
	[MIMIC_0_13] = { "0.13.0", 13 },
	[MIMIC_0_16] = { "0.16.0", 16 },
	[MIMIC_0_19] = { "0.19.0", 19 },
	[MIMIC_0_24] = { "0.24.0", 24 },
	[MIMIC_MAIN] = { "0.27.1.dev0", 27 },
};

const char *mimic_version(enum mimic_release release)
{
	return releases[release].version;
}

static bool unknown_release(struct str text, struct error *e)
{
	error_set(e, EXIT_USAGE, "\"" STR_FMT "\" is no release of vLLM that can be mimicked", STR_ARG(str_head(text, 40)));
	error_hint(e, "known: 0.6, 0.8, 0.9, 0.10, 0.11, 0.13, 0.16, 0.19, 0.24, latest");
	return false;
}

bool mimic_parse(struct str text, enum mimic_release *release, struct error *e)
{
	struct str rest = text, part;
	int64_t major, minor;

	if (str_is(text, "latest") || str_is(text, "main")) {
		*release = MIMIC_MAIN;
		return true;
	}
	if (str_starts(rest, STR("v")))
		rest = str_skip(rest, 1);
	if (!str_split(&rest, '.', &part) || !number_parse_i64(part, &major) || major != 0 || !str_split(&rest, '.', &part) ||
		!number_parse_i64(part, &minor) || minor < releases[0].minor || minor > 99)
		return unknown_release(text, e);
	/* 0.7 shipped both engines; its V1 pages lack the engine label and were not read */
	if (minor == 7)
		return unknown_release(text, e);
	for (int r = 0; r < MIMIC_COUNT; r++)
		if (releases[r].minor <= minor)
			*release = (enum mimic_release)r;
	return true;
}

/* ---- families ---- */

bool mimic_shows(const struct mimic_family *f, enum mimic_release release, int have)
{
	return release >= f->first && release <= f->last && (f->needs & have) == f->needs;
}

/* vLLM's build_1_2_5_buckets. */
static size_t one_two_five(double most, double values[MIMIC_BOUNDS_MAX])
{
	static const double mantissas[] = { 1, 2, 5 };
	size_t count = 0;

	for (double scale = 1;; scale *= 10)
		for (size_t i = 0; i < ARRAY_LEN(mantissas); i++) {
			if (mantissas[i] * scale > most || count == MIMIC_BOUNDS_MAX)
				return count;
			values[count++] = mantissas[i] * scale;
		}
}

size_t mimic_bounds(const struct mimic_family *f, uint32_t max_model_len, double values[MIMIC_BOUNDS_MAX])
{
	if (!f->bounds)
		return one_two_five(max_model_len, values);
	memcpy(values, f->bounds->values, f->bounds->count * sizeof *values);
	return f->bounds->count;
}

/* ---- labels ---- */

static const char *const *finish_reasons(enum mimic_release release)
{
	static const char *const v0[] = { "stop", "length", NULL };
	static const char *const v1[] = { "stop", "length", "abort", NULL };
	static const char *const with_error[] = { "stop", "length", "abort", "error", NULL };
	static const char *const with_repetition[] = { "stop", "length", "abort", "error", "repetition", NULL };

	return mimic_is_v0(release) ? v0 : release < MIMIC_0_13 ? v1 : release < MIMIC_0_19 ? with_error : with_repetition;
}

const char *const *mimic_label_values(enum mimic_labels labels, enum mimic_release release)
{
	static const char *const reasons[] = { "capacity", "deferred", NULL };
	static const char *const sleep[] = { "awake", "weights_offloaded", "discard_all", NULL };
	static const char *const sources[] = { "local_compute", "local_cache_hit", "external_kv_transfer", NULL };
	static const char *const positions[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
		NULL };
	static const char *const generations[] = { "0", "1", "2", NULL };
	static const char *const none[] = { NULL };

	switch (labels) {
	case LABELS_FINISHED: return finish_reasons(release);
	case LABELS_REASON: return reasons;
	case LABELS_SLEEP: return sleep;
	case LABELS_SOURCE: return sources;
	case LABELS_POSITION: return positions;
	case LABELS_GENERATION: return generations;
	default: return none;
	}
}
