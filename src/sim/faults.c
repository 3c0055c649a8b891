#include "sim/faults.h"

#include "base/clock.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>

static const struct kind {
	const char *name, *key; /* key of its main argument; NULL: none */
	double preset, least, most;
	bool once;
	const char *meaning;
} kinds[FAULT_KINDS] = {
	[FAULT_STALL] = { "stall", NULL, 0, 0, 0, false, "no engine step ends" },
	[FAULT_SLOW] = { "slow", "factor", 3, 1, 1000, false, "steps take FACTOR times as long" },
	[FAULT_PREEMPTION_STORM] = { "preemption-storm", "rate", 4, 0.1, 1000, false,
		"the KV cache shrinks to what runs; RATE preemptions a second" },
	[FAULT_KV_LEAK] = { "kv-leak", "blocks", 8, 0.01, 1e6, false, "BLOCKS of KV are lost with each finished request" },
	[FAULT_MEMORY_LEAK] = { "memory-leak", "kib", 64, 0.1, 1e6, false, "KIB of host memory are lost with each token" },
	[FAULT_GC_PAUSES] = { "gc-pauses", "ms", 300, 1, 60000, false, "a full collection stops the process for MS, every 50 requests" },
	[FAULT_CRASH] = { "crash", "down", 1, 0, 86400, true, "the process dies and comes back after DOWN seconds, counters at 0" },
	[FAULT_HTTP_500] = { "http-500", "share", 0.3, 0.001, 1, false, "SHARE of the requests are answered 500" },
	[FAULT_SLOW_STREAMS] = { "slow-streams", "ms", 100, 1, 60000, false, "the front end hands out a token of a stream only every MS" },
	[FAULT_CUT_STREAMS] = { "cut-streams", "share", 0.3, 0.001, 1, false, "SHARE of the streams break off" },
	[FAULT_ACCEPTANCE] = { "acceptance", "factor", 0.3, 0.001, 1, false, "drafts are accepted FACTOR times as often" },
	[FAULT_TRANSFER] = { "transfer-failure", "share", 0.2, 0.001, 1, false, "SHARE of the KV transfers fail" },
	[FAULT_STALE_GAUGES] = { "stale-gauges", NULL, 0, 0, 0, false, "all clients leave at once and the gauges keep their last values" },
	[FAULT_MISSING] = { "missing-families", "match", 0, 0, 0, false, "families whose name contains MATCH are not exported" },
	[FAULT_UPGRADE] = { "upgrade", "to", 0, 0, 0, true, "the process restarts as vLLM TO, under the same address" },
};

const char *fault_name(enum fault_kind kind)
{
	return kinds[kind].name;
}

void fault_help(struct buf *out)
{
	for (int k = 0; k < FAULT_KINDS; k++) {
		buf_printf(out, "%s", kinds[k].name);
		if (kinds[k].key && kinds[k].most)
			buf_printf(out, "[:%s=%g]", kinds[k].key, kinds[k].preset);
		else if (kinds[k].key)
			buf_printf(out, ":%s=%s", kinds[k].key, k == FAULT_UPGRADE ? "RELEASE" : "TEXT");
		buf_printf(out, ": %s%s", kinds[k].meaning, k + 1 < FAULT_KINDS ? "; " : ".");
	}
}

/* ---- parsing ---- */

bool fault_kind_parse(struct str name, enum fault_kind *kind, struct error *e)
{
	size_t best = 4;
	int nearest = -1;

	for (int k = 0; k < FAULT_KINDS; k++) {
		size_t distance = str_distance(name, str_from(kinds[k].name), 4);

		if (!distance) {
			*kind = (enum fault_kind)k;
			return true;
		}
		if (distance < best) {
			best = distance;
			nearest = k;
		}
	}
	error_set(e, EXIT_USAGE, "there is no fault \"" STR_FMT "\"", STR_ARG(str_head(name, 60)));
	if (nearest >= 0)
		error_hint(e, "did you mean %s?", kinds[nearest].name);
	else
		error_hint(e, "goodput sim --help lists the faults");
	return false;
}

static bool main_argument(struct fault *f, struct str value, struct error *e)
{
	const struct kind *k = &kinds[f->kind];

	if (f->kind == FAULT_UPGRADE)
		return mimic_parse(value, &f->release, e);
	if (f->kind == FAULT_MISSING) {
		if (!value.len || value.len >= sizeof f->match)
			return error_set(e, EXIT_USAGE, "fault %s: match is a part of a family's name", k->name);
		memcpy(f->match, value.ptr, value.len);
		return true;
	}
	if (number_parse(value, &f->value) && f->value >= k->least && f->value <= k->most)
		return true;
	return error_set(e, EXIT_USAGE, "fault %s: %s=" STR_FMT " is not a number from %g to %g", k->name, k->key,
		STR_ARG(str_head(value, 40)), k->least, k->most);
}

static bool one_argument(struct fault *f, struct str argument, struct error *e)
{
	const struct kind *k = &kinds[f->kind];
	struct str value = argument, key;
	int64_t number;

	str_split(&value, '=', &key);
	if (k->key && str_is(key, k->key) && value.ptr)
		return main_argument(f, value, e);
	if (str_is(key, "replica") && number_parse_i64(value, &number) && number >= 0 && number < 10000) {
		f->replica = (int)number;
		return true;
	}
	if (f->kind == FAULT_UPGRADE && str_is(key, "down") && number_parse(value, &f->down) && f->down >= 0 && f->down <= 86400)
		return true;
	error_set(e, EXIT_USAGE, "fault %s: \"" STR_FMT "\" is none of its arguments", k->name, STR_ARG(str_head(argument, 60)));
	error_hint(e, "it takes %s%sreplica=NUMBER", k->key ? k->key : "", k->key ? "=... and " : "");
	return false;
}

static bool times(struct fault *f, struct str when, double now, struct error *e)
{
	struct str rest = when, start;
	int64_t start_ms, length_ms;

	str_split(&rest, '+', &start);
	if (!duration_parse(start, &start_ms) || (rest.ptr && !duration_parse(rest, &length_ms))) {
		error_set(e, EXIT_USAGE, "fault %s: \"@" STR_FMT "\" is no time", kinds[f->kind].name, STR_ARG(str_head(when, 60)));
		error_hint(e, "@START or @START+DURATION, such as @30s+1m, from the start of the program");
		return false;
	}
	f->start = now + (double)start_ms / 1e3;
	f->end = rest.ptr ? f->start + (double)length_ms / 1e3 : INFINITY;
	return true;
}

static bool check_complete(const struct fault *f, bool given, struct error *e)
{
	if (given || (f->kind != FAULT_UPGRADE && f->kind != FAULT_MISSING))
		return true;
	return error_set(e, EXIT_USAGE, "fault %s needs %s=...", kinds[f->kind].name, kinds[f->kind].key);
}

bool fault_parse(struct str text, double now, struct fault *f, struct error *e)
{
	struct str when = text, what, arguments, name, argument;
	bool given = false;

	str_split(&when, '@', &what);
	arguments = what;
	str_split(&arguments, ':', &name);
	*f = (struct fault){ .replica = -1, .start = now, .end = INFINITY, .down = 1 };
	if (!fault_kind_parse(str_trim(name), &f->kind, e))
		return false;
	f->value = kinds[f->kind].preset;
	while (str_split(&arguments, ',', &argument)) {
		if (!one_argument(f, str_trim(argument), e))
			return false;
		given |= !str_starts(str_trim(argument), STR("replica=")) && !str_starts(str_trim(argument), STR("down="));
	}
	return check_complete(f, given, e) && (!when.ptr || times(f, when, now, e));
}

/* ---- effects ---- */

static void add_effect(const struct fault *f, struct fault_effect *x)
{
	switch (f->kind) {
	case FAULT_STALL: x->stall_until = f->end > x->stall_until ? f->end : x->stall_until; break;
	case FAULT_SLOW: x->slow = (1 + x->slow) * f->value - 1; break;
	case FAULT_PREEMPTION_STORM: x->storm += f->value; break;
	case FAULT_KV_LEAK: x->kv_leak += f->value; break;
	case FAULT_MEMORY_LEAK: x->memory_leak += f->value * 1024; break;
	case FAULT_GC_PAUSES: x->gc_pause += f->value / 1e3; break;
	case FAULT_HTTP_500: x->http_500 = f->value; break;
	case FAULT_SLOW_STREAMS: x->pace = f->value / 1e3; break;
	case FAULT_CUT_STREAMS: x->cut_streams = f->value; break;
	case FAULT_ACCEPTANCE: x->acceptance = f->value; break;
	case FAULT_TRANSFER: x->transfer_failure = f->value; break;
	case FAULT_STALE_GAUGES: x->stale = true; break;
	case FAULT_MISSING: x->missing = f->match; break;
	default: break;
	}
}

void fault_effect_of(const struct fault_list *list, uint32_t replica, double now, struct fault_effect *effect)
{
	*effect = (struct fault_effect){ 0 };
	VEC_EACH (&list->items, f)
		if (now >= f->start && now < f->end && (f->replica < 0 || (uint32_t)f->replica == replica))
			add_effect(f, effect);
}

void fault_describe(const struct fault_list *list, double now, struct buf *out)
{
	bool first = true;

	buf_add_c(out, '[');
	VEC_EACH (&list->items, f) {
		if (now >= f->end || f->fired)
			continue;
		buf_printf(out, "%s{\"fault\":\"%s\",\"active\":%s,\"starts_in_s\":%.3f", first ? "" : ",", kinds[f->kind].name,
			now >= f->start ? "true" : "false", f->start > now ? f->start - now : 0);
		if (isfinite(f->end))
			buf_printf(out, ",\"ends_in_s\":%.3f", f->end - now);
		if (f->replica >= 0)
			buf_printf(out, ",\"replica\":%d", f->replica);
		buf_add_c(out, '}');
		first = false;
	}
	buf_add_c(out, ']');
}

void fault_clear(struct fault_list *list, enum fault_kind kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->items.count; i++)
		if (kind != FAULT_KINDS && list->items.items[i].kind != kind)
			list->items.items[kept++] = list->items.items[i];
	list->items.count = kept;
}
