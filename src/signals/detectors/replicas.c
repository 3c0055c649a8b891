/* Replicas and engines beside each other: who runs more than its share, who is slow. */
#include "signals/detectors/detect.h"
#include "signals/detectors/slow.h"

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

enum { FINISHED_MIN = 20 };

/* Finished requests of each target within a tenth of their mean, and enough of them. */
static bool dealt_evenly(struct evaluation *ev, const struct scope *pool)
{
	double low = INFINITY, high = 0;
	SCOPE_EACH(ev, s, SCOPE_TARGET)
	{
		double finished;
		if (!scope_has_target(pool, s->target))
			continue;
		if (!number_at(ev, s, "finished", &finished) || finished < FINISHED_MIN)
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

static void raise_slow(struct evaluation *ev, struct scope *pool)
{
	struct slow slow = slow_replica(ev, pool);
	if (!slow.scope)
		return;
	struct str detail = arena_printf(ev->arena, "%s %.3g s, of its peers %.3g s (median)", slow.title, slow.value, slow.peers);
	struct finding *f = evaluation_raise(ev, "slow-replica", pool, &slow.scope->name, 1, pool->target_count, detail);
	if (f && slow.since_ms)
		f->onset_ms = slow.since_ms;
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
		raise_slow(ev, s);
		if (has_window(ev))
			judge_turns(ev, s);
	}
}
