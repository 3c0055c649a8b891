#include "slo/slo.h"
#include "base/number.h"

#include <math.h>

static const char *const measure_names[SLO_MEASURES] = { "ttft", "tpot", "e2e", "stall" };

/* What users of other tools write. */
static const struct {
	const char *name;
	enum slo_measure measure;
} spellings[] = {
	{ "ttft", SLO_TTFT },
	{ "time_to_first_token", SLO_TTFT },
	{ "tpot", SLO_TPOT },
	{ "inter_token_latency", SLO_TPOT },
	{ "time_per_output_token", SLO_TPOT },
	{ "e2el", SLO_E2E },
	{ "e2e", SLO_E2E },
	{ "request_latency", SLO_E2E },
	{ "stall", SLO_STALL },
};

void slo_init(struct slo *s)
{
	for (int m = 0; m < SLO_MEASURES; m++)
		s->limit_ms[m] = NAN;
}

bool slo_is_empty(const struct slo *s)
{
	for (int m = 0; m < SLO_MEASURES; m++)
		if (!isnan(s->limit_ms[m]))
			return false;
	return true;
}

void slo_set_init(struct slo_set *set)
{
	*set = (struct slo_set){ .pool_count = 0 };
	slo_init(&set->general);
}

bool slo_set_is_empty(const struct slo_set *set)
{
	return slo_is_empty(&set->general) && !set->pool_count;
}

const char *slo_measure_name(enum slo_measure m)
{
	return measure_names[m];
}

static bool find_measure(struct str name, enum slo_measure *m)
{
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
		if (str_eq_nocase(name, str_from(spellings[i].name))) {
			*m = spellings[i].measure;
			return true;
		}
	return false;
}

/* The pool's own limits, made when they are new; NULL: no room. */
static struct slo *slo_for(struct slo_set *set, struct str pool)
{
	for (size_t i = 0; i < set->pool_count; i++)
		if (str_eq(set->pool[i], pool))
			return &set->pools[i];
	if (set->pool_count == SLO_POOLS_MAX)
		return NULL;
	set->pool[set->pool_count] = pool;
	slo_init(&set->pools[set->pool_count]);
	return &set->pools[set->pool_count++];
}

static bool refuse(struct error *e, struct str word, const char *why)
{
	error_set(e, EXIT_USAGE, "objective \"" STR_FMT "\": %s", STR_ARG(word), why);
	error_hint(e,
		"write NAME:MILLISECONDS with NAME one of ttft, tpot, e2el, stall: --goodput ttft:500 tpot:50; POOL/ttft:500 for one pool");
	return false;
}

static bool parse_word(struct slo_set *set, struct str word, struct error *e)
{
	ptrdiff_t slash = str_find(word, '/'), colon = str_find(word, ':');
	struct slo *slo = &set->general;
	struct str rest = word;
	enum slo_measure m;
	double limit;

	if (slash > 0 && slash < colon) {
		slo = slo_for(set, str_head(word, (size_t)slash));
		rest = str_skip(word, (size_t)slash + 1);
		if (!slo)
			return refuse(e, word, "more pools than 32");
	}
	colon = str_find(rest, ':');
	if (colon <= 0)
		return refuse(e, word, "no colon between a name and a limit");
	if (!find_measure(str_head(rest, (size_t)colon), &m))
		return refuse(e, word, "no such measure");
	if (!number_parse(str_skip(rest, (size_t)colon + 1), &limit) || !isfinite(limit))
		return refuse(e, word, "the limit is no number");
	if (limit <= 0)
		return refuse(e, word, "a limit must be above 0");
	if (!isnan(slo->limit_ms[m]))
		return refuse(e, word, "the same limit is given twice");
	slo->limit_ms[m] = limit;
	return true;
}

bool slo_is_objective(struct str word)
{
	ptrdiff_t slash = str_find(word, '/'), colon = str_find(word, ':');
	enum slo_measure m;

	if (slash > 0 && slash < colon)
		word = str_skip(word, (size_t)slash + 1);
	colon = str_find(word, ':');
	return colon > 0 && find_measure(str_head(word, (size_t)colon), &m);
}

static bool is_separator(char c)
{
	return c == ' ' || c == ',' || c == '\t' || c == '\n';
}

bool slo_set_parse(struct slo_set *set, struct str text, struct error *e)
{
	while (text.len) {
		size_t len = 0;

		while (len < text.len && !is_separator(text.ptr[len]))
			len++;
		if (len && !parse_word(set, str_head(text, len), e))
			return false;
		text = str_skip(text, len < text.len ? len + 1 : len);
	}
	return true;
}

const struct slo *slo_of(const struct slo_set *set, struct str pool)
{
	for (size_t i = 0; pool.len && i < set->pool_count; i++)
		if (str_eq(set->pool[i], pool))
			return &set->pools[i];
	return &set->general;
}

static double longest_gap_ms(const struct timeline *t)
{
	struct delivery_cursor cursor = deliveries_begin(&t->deliveries);
	struct delivery d;
	int64_t before = TIMELINE_NEVER, longest = 0;

	for (; deliveries_next(&cursor, &d); before = d.t_ns)
		if (before != TIMELINE_NEVER && d.t_ns - before > longest)
			longest = d.t_ns - before;
	return (double)longest / 1e6;
}

/* NaN: undefined. */
static double measured_ms(const struct timeline *t, enum slo_measure m)
{
	switch (m) {
	case SLO_TTFT: return timeline_ttft_due_ms(t);
	case SLO_TPOT: return timeline_tpot_ms(t);
	case SLO_E2E: return timeline_e2e_due_ms(t);
	case SLO_STALL: return longest_gap_ms(t);
	case SLO_MEASURES: break;
	}
	return NAN;
}

/* How far beyond the limit: a factor above 1; 0 when it is met, or does not apply. */
static double excess(const struct slo *s, const struct timeline *t, enum slo_measure m, struct slo_judgement *j)
{
	double value;

	if (isnan(s->limit_ms[m]))
		return 0;
	value = measured_ms(t, m);
	if (isnan(value) && m == SLO_TPOT) {
		j->tpot_undefined = true;
		return 0;
	}
	if (isnan(value))
		return INFINITY; /* never came */
	return value <= s->limit_ms[m] ? 0 : value / s->limit_ms[m];
}

struct slo_judgement slo_judge(const struct slo *s, const struct timeline *t)
{
	struct slo_judgement j = { .verdict = SLO_GOOD, .binding = -1 };
	double worst = 0;

	if (t->warmup || t->outcome == TIMELINE_CANCELLED) {
		j.verdict = SLO_LEFT_OUT;
		return j;
	}
	if (!timeline_is_complete(t)) {
		j.verdict = SLO_FAILED;
		return j;
	}
	for (int m = 0; m < SLO_MEASURES; m++) {
		double factor = excess(s, t, (enum slo_measure)m, &j);

		if (factor <= 0)
			continue;
		j.missed |= 1u << m;
		j.verdict = SLO_MISSED;
		if (factor > worst) {
			worst = factor;
			j.binding = m;
		}
	}
	return j;
}
