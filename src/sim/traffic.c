#include "sim/traffic.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/rng.h"
#include "workload/trace.h"

#include <math.h>

static double draw_exponential(struct rng *rng)
{
	return -log(1 - rng_unit(rng));
}

static double draw_normal(struct rng *rng)
{
	return sqrt(2 * draw_exponential(rng)) * cos(6.283185307179586 * rng_unit(rng));
}

enum { PREFIX_FAMILIES = 4, PREFIX_BLOCKS = 4096, BLOCK_TOKENS = 16 };

struct traffic {
	struct arena arena;
	struct rng rng;
	double rate, prompt, output, prefix, temperature, spread, speed;
	double next;
	struct trace trace;
	size_t at;
	/* shared beginnings of prompts: a family's ids are family * PREFIX_BLOCKS + block */
	uint64_t *families;
};

/* ---- the specification ---- */

struct field {
	const char *name;
	double *value;
	double least, most;
};

static bool set_field(const struct field *fields, size_t count, struct str name, struct str value, const char *spec, struct error *e)
{
	for (size_t i = 0; i < count; i++) {
		if (!str_is(name, fields[i].name))
			continue;
		if (number_parse(value, fields[i].value) && *fields[i].value >= fields[i].least && *fields[i].value <= fields[i].most)
			return true;
		return error_set(e, EXIT_USAGE, "--self-traffic \"%s\": %s=" STR_FMT " is not a number from %g to %g", spec, fields[i].name,
			STR_ARG(str_head(value, 40)), fields[i].least, fields[i].most);
	}
	error_set(e, EXIT_USAGE, "--self-traffic \"%s\": \"" STR_FMT "\" is not known", spec, STR_ARG(str_head(name, 40)));
	error_hint(e, "rate=8,prompt=800,output=150,prefix=0.5,temperature=0.7,spread=0.6,seed=1, or trace=FILE,speed=2");
	return false;
}

static bool parse(struct traffic *t, const char *spec, const char **trace, struct error *e)
{
	double seed = 1;
	const struct field fields[] = { { "rate", &t->rate, 0.0001, 1e5 }, { "prompt", &t->prompt, 1, 1e6 },
		{ "output", &t->output, 1, 1e6 }, { "prefix", &t->prefix, 0, 0.99 }, { "temperature", &t->temperature, 0, 2 },
		{ "spread", &t->spread, 0, 2 }, { "speed", &t->speed, 0.001, 1e4 }, { "seed", &seed, 0, 9e15 } };
	struct str rest = str_from(spec), part, value, name;

	if (str_find(rest, '=') < 0) {
		*trace = spec;
		return true;
	}
	while (str_split(&rest, ',', &part)) {
		value = str_trim(part);
		str_split(&value, '=', &name);
		if (str_is(name, "trace") && value.len)
			*trace = arena_cstr(&t->arena, value);
		else if (!set_field(fields, ARRAY_LEN(fields), name, value.ptr ? value : STR_EMPTY, spec, e))
			return false;
	}
	t->rng.state = (uint64_t)seed;
	if (!t->rate && !*trace)
		return error_set(e, EXIT_USAGE, "--self-traffic \"%s\": give a rate (requests a second) or a trace", spec);
	return true;
}

static void make_families(struct traffic *t)
{
	t->families = ARENA_ARRAY(&t->arena, uint64_t, PREFIX_FAMILIES * PREFIX_BLOCKS);
	for (uint64_t i = 0; i < PREFIX_FAMILIES * PREFIX_BLOCKS; i++)
		t->families[i] = i + 1;
}

static double trace_time(const struct traffic *t)
{
	return t->at < t->trace.count ? (double)t->trace.rows[t->at].time_us * 1e-6 / t->speed : INFINITY;
}

static bool read_trace(struct traffic *t, const char *path, struct error *e)
{
	if (!trace_read(&t->arena, path, &t->trace, e))
		return false;
	if (t->trace.timed)
		return true;
	error_set(e, EXIT_BAD_INPUT, "%s has no times: nothing says when its requests come", path);
	error_hint(e, "goodput workload freeze gives them arrivals, and goodput bench sends them");
	return false;
}

struct traffic *traffic_new(const char *spec, struct error *e)
{
	struct traffic *t = NEW(struct traffic);
	const char *trace = NULL;

	*t = (struct traffic){ .prompt = 800, .output = 150, .prefix = 0.3, .temperature = 0.7, .spread = 0.6, .speed = 1 };
	arena_init(&t->arena);
	if (!parse(t, spec, &trace, e) || (trace && !read_trace(t, trace, e))) {
		traffic_free(t);
		return NULL;
	}
	make_families(t);
	t->next = t->trace.count ? trace_time(t) : draw_exponential(&t->rng) / t->rate;
	return t;
}

void traffic_free(struct traffic *t)
{
	if (!t)
		return;
	arena_fini(&t->arena);
	mem_free(t);
}

/* ---- requests ---- */

double traffic_next(const struct traffic *t)
{
	return t->next;
}

/* Log-normal with that mean: lengths of real requests have a long tail. */
static uint32_t draw_length(struct traffic *t, double mean)
{
	double drawn = mean * exp(t->spread * draw_normal(&t->rng) - t->spread * t->spread / 2);

	return drawn < 1 ? 1 : drawn > 1e6 ? 1000000 : (uint32_t)lround(drawn);
}

static void draw(struct traffic *t, struct traffic_request *r)
{
	uint64_t family = rng_below(&t->rng, PREFIX_FAMILIES);
	uint32_t shared;

	*r = (struct traffic_request){ .time = t->next,
		.prompt_tokens = draw_length(t, t->prompt),
		.output_tokens = draw_length(t, t->output),
		.temperature = (float)t->temperature };
	shared = (uint32_t)(t->prefix * r->prompt_tokens / BLOCK_TOKENS);
	if (shared) {
		r->ids = t->families + family * PREFIX_BLOCKS;
		r->id_count = shared < PREFIX_BLOCKS ? shared : PREFIX_BLOCKS;
		r->id_tokens = BLOCK_TOKENS;
	}
	t->next += draw_exponential(&t->rng) / t->rate;
}

void traffic_take(struct traffic *t, struct traffic_request *r)
{
	const struct workload_row *row = t->trace.rows + t->at;

	if (!t->trace.count) {
		draw(t, r);
		return;
	}
	*r = (struct traffic_request){ .time = t->next,
		.prompt_tokens = row->prompt,
		.output_tokens = row->output,
		.ids = row->ids,
		.id_count = row->id_count,
		.id_tokens = t->trace.block,
		.temperature = (float)t->temperature };
	t->at++;
	t->next = trace_time(t);
}
