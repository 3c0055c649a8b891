#include "signals/reading.h"

#include <math.h>

struct reading reading_value(double v)
{
	return (struct reading){
		.kind = READING_VALUE, .low = v, .high = v, .events = NAN, .elapsed_s = NAN, .mean = NAN, .share_beyond = NAN
	};
}

struct reading reading_bound(double low, double high)
{
	struct reading r = reading_value(low);
	r.high = high;
	if (low == high)
		return r;
	if (isinf(high) && high > 0)
		r.kind = READING_AT_LEAST;
	else if (low == 0 || (isinf(low) && low < 0))
		r.kind = READING_AT_MOST;
	else
		r.kind = READING_BETWEEN;
	return r;
}

struct reading reading_unknown(enum unknown_reason reason, struct str why)
{
	struct reading r = reading_value(NAN);
	r.kind = READING_UNKNOWN;
	r.reason = reason;
	r.why = why;
	return r;
}

struct reading reading_text(struct str text)
{
	struct reading r = reading_value(NAN);
	r.kind = READING_TEXT;
	r.text = text;
	return r;
}

/* The lower end stands for what was really seen: events lost in a reset, or those of targets that did not answer, are missing from it. */
static bool is_what_was_seen(const struct reading *r)
{
	return r->kind == READING_AT_LEAST && (r->over_reset || r->targets_in < r->targets_all);
}

/* What `from` knows besides its number goes on into `into`. */
static void keep_context(struct reading *into, const struct reading *from)
{
	if (from->stale && (!into->stale || from->stale_since_ms < into->stale_since_ms)) {
		into->stale = true;
		into->stale_since_ms = from->stale_since_ms;
	}
	into->trust_unknown |= from->trust_unknown;
	into->over_reset |= from->over_reset;
	if (!isnan(from->events) && (isnan(into->events) || from->events < into->events))
		into->events = from->events;
	if (!isnan(from->elapsed_s) && (isnan(into->elapsed_s) || from->elapsed_s < into->elapsed_s))
		into->elapsed_s = from->elapsed_s;
	if (from->targets_all > into->targets_all || (from->targets_all == into->targets_all && from->targets_in < into->targets_in)) {
		into->targets_in = from->targets_in;
		into->targets_all = from->targets_all;
	}
	if (!into->note.len)
		into->note = from->note;
	if (!into->exposed.len)
		into->exposed = from->exposed;
}

static void sort4(double v[4])
{
	for (int i = 1; i < 4; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
			double t = v[k];
			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

/* 0 · infinity is 0 here: a bound that is exactly 0 stays 0 whatever the other factor is. */
static double product(double a, double b)
{
	return a == 0 || b == 0 ? 0 : a * b;
}

static struct reading multiply(double al, double ah, double bl, double bh)
{
	double v[4] = { product(al, bl), product(al, bh), product(ah, bl), product(ah, bh) };
	sort4(v);
	return reading_bound(v[0], v[3]);
}

static struct reading divide(const struct reading *a, const struct reading *b)
{
	double al = a->low, ah = a->high, bl = b->low, bh = b->high;
	/* A ratio of counts uses the events seen on both sides, and says so by over_reset and the number of targets. A count over anything
	 * else, such as time, stays a bound. */
	if (a->events == a->events && b->events == b->events) {
		ah = is_what_was_seen(a) ? al : ah;
		bh = is_what_was_seen(b) ? bl : bh;
	}
	if (bl == 0 && bh == 0)
		return reading_unknown(UNKNOWN_NO_TRAFFIC, al == 0 && ah == 0 ? STR("0 of 0") : STR("nothing to divide by"));
	if (bl < 0 && bh > 0)
		return reading_bound(-INFINITY, INFINITY);
	if (bl == 0)
		return reading_bound(al >= 0 ? (isinf(bh) ? 0 : al / bh) : -INFINITY, INFINITY);
	if (bh == 0)
		return reading_bound(-INFINITY, al >= 0 ? al / bl : INFINITY);
	double v[4] = { isinf(bl) ? 0 : al / bl, isinf(bh) ? 0 : al / bh, isinf(bl) ? 0 : ah / bl, isinf(bh) ? 0 : ah / bh };
	if (isinf(ah) && isinf(bh))
		v[3] = ah;
	sort4(v);
	return reading_bound(v[0], v[3]);
}

struct reading reading_combine(char op, const struct reading *a, const struct reading *b)
{
	const struct reading *missing = !reading_is_number(a) ? a : !reading_is_number(b) ? b : NULL;
	if (missing)
		return missing->kind == READING_UNKNOWN ? *missing : reading_unknown(UNKNOWN_INVALID, STR("not a number"));
	struct reading r;
	switch (op) {
	case '+': r = reading_bound(a->low + b->low, a->high + b->high); break;
	case '-': r = reading_bound(a->low - b->high, a->high - b->low); break;
	case '*': r = multiply(a->low, a->high, b->low, b->high); break;
	case '/': r = divide(a, b); break;
	case 'm': r = reading_bound(fmin(a->low, b->low), fmin(a->high, b->high)); break;
	default: r = reading_bound(fmax(a->low, b->low), fmax(a->high, b->high)); break;
	}
	keep_context(&r, a);
	keep_context(&r, b);
	/* A bound that rests on no events is no part of what was seen. */
	if ((op == '+' || op == '-') && ((is_what_was_seen(a) && isnan(a->events)) || (is_what_was_seen(b) && isnan(b->events))))
		r.events = NAN;
	if (op == '/' && a->events == a->events)
		r.events = b->events == b->events ? b->events : a->events;
	return r;
}

struct reading reading_negate(const struct reading *a)
{
	struct reading zero = reading_value(0);
	return reading_combine('-', &zero, a);
}

static enum truth less(double al, double ah, double bl, double bh, bool or_equal)
{
	if (or_equal ? ah <= bl : ah < bl)
		return TRUTH_TRUE;
	if (or_equal ? al > bh : al >= bh)
		return TRUTH_FALSE;
	return TRUTH_UNDECIDED;
}

static enum truth negated(enum truth t)
{
	return t == TRUTH_TRUE ? TRUTH_FALSE : t == TRUTH_FALSE ? TRUTH_TRUE : TRUTH_UNDECIDED;
}

static enum truth equal(double al, double ah, double bl, double bh)
{
	if (al == ah && bl == bh)
		return al == bl ? TRUTH_TRUE : TRUTH_FALSE;
	return ah < bl || bh < al ? TRUTH_FALSE : TRUTH_UNDECIDED;
}

enum truth reading_compare(char op, const struct reading *a, const struct reading *b, bool judge)
{
	if (!reading_is_number(a) || !reading_is_number(b))
		return TRUTH_UNDECIDED;
	double al = a->low, ah = a->high, bl = b->low, bh = b->high;
	if (judge && a->has_interval) {
		al = fmin(al, a->interval_low);
		ah = fmax(ah, a->interval_high);
	}
	if (judge && b->has_interval) {
		bl = fmin(bl, b->interval_low);
		bh = fmax(bh, b->interval_high);
	}
	switch (op) {
	case '<': return less(al, ah, bl, bh, false);
	case 'l': return less(al, ah, bl, bh, true);
	case '>': return less(bl, bh, al, ah, false);
	case 'g': return less(bl, bh, al, ah, true);
	case '=': return equal(al, ah, bl, bh);
	default: return negated(equal(al, ah, bl, bh));
	}
}
