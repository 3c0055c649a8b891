/* Replicas and engines beside each other: who runs more than its share, who is slow. */
#include "signals/detectors/detect.h"

/* What is compared inside a scope. */
struct place {
	const struct scope *scope;
	double running;
};

static size_t collect_places(struct evaluation *ev, const struct scope *wide, enum scope_kind kind, struct place *out)
{
	size_t n = 0;
	SCOPE_EACH(ev, s, kind)
	{
		double running;
		if (scope_has_target(wide, s->target) && number_at(ev, s, "running", &running))
			out[n++] = (struct place){ s, running };
	}
	return n;
}

static bool has_engines(struct evaluation *ev, const struct scope *wide)
{
	SCOPE_EACH(ev, s, SCOPE_ENGINE)
	{
		if (scope_has_target(wide, s->target))
			return true;
	}
	return false;
}

struct balance {
	size_t places, idle;
	double sum, most, ratio; /* ratio: most over mean */
	const struct scope *hot;
};

/* Engines of a target; in a pool engines where every target has them, else targets. */
static enum scope_kind places_kind(struct evaluation *ev, const struct scope *wide)
{
	for (size_t i = 0; i < wide->target_count; i++)
		if (!has_engines(ev, scope_of_target(ev, wide->targets[i])))
			return SCOPE_TARGET;
	return SCOPE_ENGINE;
}

static struct balance balance_of(struct evaluation *ev, const struct scope *wide, enum scope_kind kind)
{
	struct balance b = { .ratio = NAN };
	struct place *places = ARENA_ARRAY(ev->arena, struct place, ev->scope_count + 1);
	b.places = collect_places(ev, wide, kind, places);
	for (size_t i = 0; i < b.places; i++) {
		b.sum += places[i].running;
		b.idle += places[i].running == 0;
		if (!b.hot || places[i].running > b.most) {
			b.most = places[i].running;
			b.hot = places[i].scope;
		}
	}
	if (b.sum > 0)
		b.ratio = b.most / (b.sum / (double)b.places);
	return b;
}

static void publish_balance(struct evaluation *ev, const struct scope *s)
{
	struct balance b = balance_of(ev, s, places_kind(ev, s));
	if (b.places < 2)
		return;
	if (isnan(b.ratio)) {
		evaluation_publish(ev, s, "imbalance_max_over_mean", reading_unknown(UNKNOWN_NO_TRAFFIC, STR("nothing runs")));
		return;
	}
	evaluation_publish(ev, s, "imbalance_max_over_mean", reading_value(b.ratio));
	bool by_key = s->target_count == 1 && b.hot->key.len;
	evaluation_publish(ev, s, "hot_engine", reading_text(by_key ? b.hot->key : b.hot->name));
}

/* ---- the slow one ---- */

enum { EVENTS_MIN = 20 };

static double known_end(const struct reading *r)
{
	return r->kind == READING_AT_MOST ? r->high : r->low;
}

struct slow {
	const struct scope *scope; /* NULL: nobody */
	const char *title;
	double value, peers; /* seconds */
};

/* The target whose quantile is three times the median of its peers' and 0.1 s above it, surely; the slowest if several are. */
static struct slow slow_by(struct evaluation *ev, const struct scope *pool, const char *signal, const char *title)
{
	struct slow found = { .title = title, .value = -INFINITY };
	size_t count = 0;
	const struct scope **targets = ARENA_ARRAY(ev->arena, const struct scope *, pool->target_count + 1);
	double *values = ARENA_ARRAY(ev->arena, double, pool->target_count + 1),
	       *room = ARENA_ARRAY(ev->arena, double, pool->target_count + 1);
	double *surely = ARENA_ARRAY(ev->arena, double, pool->target_count + 1);
	bool *known = ARENA_ARRAY(ev->arena, bool, pool->target_count + 1);
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!scope_has_target(pool, s->target))
			continue;
		const struct reading *r = evaluation_named(ev, s, signal);
		targets[count] = s;
		known[count] = reading_is_number(r) && r->events >= EVENTS_MIN;
		values[count] = known[count] ? known_end(r) : NAN;
		surely[count] = known[count] && r->has_interval && r->interval_low < values[count] ? r->interval_low : values[count];
		known[count] &= !(r->kind == READING_AT_MOST && r->high > 60); /* a bound that says nothing */
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		double median = known[i] ? median_of_others(values, known, count, i, room) : NAN;
		if (surely[i] >= 3 * median && values[i] - median > 0.1 && values[i] > found.value)
			found = (struct slow){ targets[i], title, values[i], median };
	}
	return found;
}

/* Decoding itself, which has hundreds of events where a latency has ten: the mean gap between tokens. */
enum { GAPS_MIN = 100 };
static const double gap_troubles_s = 0.01; /* a second and a half over an answer of 160 tokens */

/* From _sum and _count alone: the reading of the signal gathers all buckets, of every replica at every moment. NAN when not known or too
 * few. */
static double mean_gap(struct evaluation *ev, const struct scope *s, const struct metric_spec *itl)
{
	double sum = 0, count = 0;
	bool has_sum = false;
	struct restart_times restarts;
	struct window_ends w = window_ends_of(ev, s->target, &restarts);
	for (size_t k = 0; k < s->member_count; k++) {
		const struct member_list *list = evidence_members(ev->evidence, s->members[k], itl, ev->window.to_ms);
		for (size_t i = 0; list && i < list->members.count; i++) {
			const struct member *m = &list->members.items[i];
			if (m->part == PART_BUCKET)
				continue;
			struct increase one = view_increase(&m->view, &w);
			if (!one.known || one.reset)
				return NAN;
			if (m->part == PART_SUM)
				sum += one.value * list->name->scale;
			else
				count += one.value;
			has_sum |= m->part == PART_SUM;
		}
	}
	return has_sum && count >= GAPS_MIN ? sum / count : NAN;
}

static bool decodes_slowly(const double *gaps, const bool *known, size_t count, size_t i, double *room, double *median)
{
	size_t others = count_others(known, count, i);
	*median = median_of_others(gaps, known, count, i, room);
	if (!others || gaps[i] - *median < gap_troubles_s)
		return false;
	if (others < PEERS_FOR_SPREAD)
		return gaps[i] >= 3 * *median;
	/* Twice the others, and no mere end of a wide field (batches differ, cards differ). */
	return gaps[i] >= 2 * *median && gaps[i] - *median > 6 * spread_of_others(gaps, known, count, i, *median, room);
}

/* A few long gaps raise a mean: whoever is slow is so with every token. Is the median gap of the target half as long again as the median of
 * its peers' too? */
static bool every_token_is_slow(
	struct evaluation *ev, const struct scope **targets, const bool *known, size_t count, size_t i, double *room)
{
	double *medians = ARENA_ARRAY(ev->arena, double, count + 1);
	bool *have = ARENA_ARRAY(ev->arena, bool, count + 1);
	for (size_t k = 0; k < count; k++) {
		const struct reading *r = known[k] ? evaluation_named(ev, targets[k], "itl_p50") : NULL;
		have[k] = r && reading_is_number(r);
		medians[k] = have[k] ? known_end(r) : NAN;
	}
	return have[i] && medians[i] >= 1.5 * median_of_others(medians, have, count, i, room);
}

static struct slow slow_decode(struct evaluation *ev, const struct scope *pool)
{
	struct slow found = { .title = "mean gap between tokens", .value = -INFINITY };
	const struct metric_spec *itl = catalog_metric(ev->catalog, "itl");
	size_t count = 0;
	if (!itl)
		return found;
	const struct scope **targets = ARENA_ARRAY(ev->arena, const struct scope *, pool->target_count + 1);
	double *gaps = ARENA_ARRAY(ev->arena, double, pool->target_count + 1), median;
	double *room = ARENA_ARRAY(ev->arena, double, 2 * pool->target_count + 2);
	bool *known = ARENA_ARRAY(ev->arena, bool, pool->target_count + 1);
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!scope_has_target(pool, s->target))
			continue;
		targets[count] = s;
		gaps[count] = mean_gap(ev, s, itl);
		known[count] = !isnan(gaps[count]);
		count++;
	}
	for (size_t i = 0; i < count; i++)
		if (known[i] && gaps[i] > found.value && decodes_slowly(gaps, known, count, i, room, &median) &&
			every_token_is_slow(ev, targets, known, count, i, room))
			found = (struct slow){ targets[i], found.title, gaps[i], median };
	return found;
}

static struct slow slow_replica(struct evaluation *ev, const struct scope *pool)
{
	if (pool->target_count < 2 || !has_window(ev))
		return (struct slow){ 0 };
	struct slow slow = slow_by(ev, pool, "ttft_p99", "TTFT P99");
	if (!slow.scope)
		slow = slow_by(ev, pool, "e2e_p99", "E2E P99");
	return slow.scope ? slow : slow_decode(ev, pool);
}

void replicas_publish(struct evaluation *ev)
{
	const struct scope *first_slow = NULL;
	for (size_t i = 0; i < ev->scope_count; i++) {
		const struct scope *s = &ev->scopes[i];
		if (s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU)
			continue;
		publish_balance(ev, s);
		const struct scope *slow = s->kind == SCOPE_POOL ? slow_replica(ev, s).scope : NULL;
		if (!slow)
			continue;
		evaluation_publish(ev, s, "slow_replica", reading_text(slow->name));
		first_slow = first_slow ? first_slow : slow;
	}
	if (first_slow)
		evaluation_publish(ev, fleet_scope(ev), "slow_replica", reading_text(first_slow->name));
}

/* ---- raise ---- */

/* Would requests that are dealt by chance put as many on one of the places, once in five hundred looks? */
static bool is_chance(const struct balance *b)
{
	double mean = b->sum / (double)b->places, below = 0;
	for (double k = 0; k < b->most; k++)
		below += exp(k * log(mean) - mean - lgamma(k + 1));
	return (1 - below) * (double)b->places > 2e-3;
}

/* A burst that met one replica is over at the next look. */
static bool was_hot_before(struct evaluation *ev, const struct balance *b)
{
	double growth;
	return !number_at(ev, b->hot, "running_growth", &growth) || b->most - growth >= 2 * b->sum / (double)b->places;
}

static bool tokens_at(struct evaluation *ev, const struct scope *s, double *tokens)
{
	double prompt = 0;
	if (!number_at(ev, s, "generation_tps", tokens))
		return false;
	number_at(ev, s, "prompt_tps", &prompt);
	*tokens += prompt;
	return true;
}

/* Who has more requests because the balancer sends more makes more tokens. Who has more because it is slow does not: then the balance is
 * the symptom. True where that is not known. */
static bool has_more_to_do(struct evaluation *ev, const struct scope *wide, const struct balance *b)
{
	double sum = 0, hot, tokens;
	size_t places = 0;
	if (!tokens_at(ev, b->hot, &hot))
		return true;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		if (!scope_has_target(wide, s->target) || !tokens_at(ev, s, &tokens))
			continue;
		sum += tokens;
		places++;
	}
	return !(sum > 0) || hot / (sum / (double)places) >= b->ratio / 2;
}

static void judge_balance(struct evaluation *ev, struct scope *s, enum scope_kind kind)
{
	struct balance b = balance_of(ev, s, kind);
	/* Two for each place: with fewer, one request more is chance. */
	if (b.places < 2 || !(b.ratio >= 3) || !b.idle || b.sum < 2 * (double)b.places || is_chance(&b))
		return;
	if (kind == SCOPE_TARGET && has_window(ev) && !(was_hot_before(ev, &b) && has_more_to_do(ev, s, &b)))
		return;
	struct str hot = b.hot->name;
	evaluation_raise(ev, "dp-imbalance", s, &hot, 1, b.places, STR_EMPTY);
}

/* Finished requests of each target within a tenth of their mean, and enough of them. */
static bool dealt_evenly(struct evaluation *ev, const struct scope *pool)
{
	double low = INFINITY, high = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		double finished;
		if (!scope_has_target(pool, s->target))
			continue;
		if (!number_at(ev, s, "finished", &finished) || finished < EVENTS_MIN)
			return false;
		low = fmin(low, finished);
		high = fmax(high, finished);
	}
	return high <= 1.2 * low;
}

static void judge_turns(struct evaluation *ev, struct scope *pool)
{
	struct balance b = balance_of(ev, pool, SCOPE_TARGET);
	if (b.places < 3 || !(b.ratio >= 1.5) || b.sum < 4 * (double)b.places || !dealt_evenly(ev, pool))
		return;
	struct str hot = b.hot->name;
	evaluation_raise(ev, "round-robin-signature", pool, &hot, 1, b.places, STR_EMPTY);
}

void replicas_raise(struct evaluation *ev)
{
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		judge_balance(ev, s, SCOPE_ENGINE);
	}
	SCOPE_EACH(ev, s, SCOPE_POOL)
	{
		if (s->target_count < 2)
			continue;
		judge_balance(ev, s, SCOPE_TARGET); /* between targets; inside each its own engines were judged */
		struct slow slow = slow_replica(ev, s);
		if (slow.scope)
			evaluation_raise(ev, "slow-replica", s, &slow.scope->name, 1, s->target_count,
				arena_printf(ev->arena, "%s %.3g s, of its peers %.3g s (median)", slow.title, slow.value, slow.peers));
		if (has_window(ev))
			judge_turns(ev, s);
	}
}
