/* bench_engine: simulated requests per CPU-second, and memory.
 *
 *     bench_engine [--rounds N] [--replicas N] [--million] TRACE...
 *
 * TRACE is one of the public traces (Azure's CSV, Mooncake's JSON Lines; told apart by their first byte). Each is replayed open loop
 * on Llama-3.1-8B in bf16 on one H100 (Mooncake: fp8 on replicas, whose prompts are twelve times longer); the best round counts.
 * --million replays a million requests and prints the peak of the resident memory. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/vec.h"
#include "engine/cost.h"
#include "engine/fleet.h"

#include <stdio.h>
#include <sys/resource.h>

struct row {
	double arrival;
	uint32_t prompt, output;
	uint64_t *ids;
	uint32_t id_count;
};

struct trace {
	VEC(struct row) rows;
	struct arena arena;
	bool mooncake;
};

static double number_of(struct str text)
{
	double value = 0;

	number_parse(str_trim(text), &value);
	return value;
}

/* 2023-11-16 18:17:03.9799600 as seconds of its day */
static double time_of_day(struct str text)
{
	struct str clock = str_skip(text, 11), part;
	double seconds = 0;

	while (str_split(&clock, ':', &part))
		seconds = seconds * 60 + number_of(part);
	return seconds;
}

static void read_azure(struct trace *trace, struct str text)
{
	struct str line, cell[3];

	str_split(&text, '\n', &line); /* header */
	while (str_split(&text, '\n', &line)) {
		struct row row = { 0 };
		if (!str_split(&line, ',', &cell[0]) || !str_split(&line, ',', &cell[1]) || !str_split(&line, ',', &cell[2]))
			continue;
		row.arrival = time_of_day(cell[0]);
		row.prompt = (uint32_t)number_of(cell[1]);
		row.output = (uint32_t)number_of(cell[2]);
		VEC_PUSH(&trace->rows, row);
	}
	for (size_t i = trace->rows.count; i > 0; i--)
		trace->rows.items[i - 1].arrival -= trace->rows.items[0].arrival;
}

/* What follows "key": up to the next comma, bracket or brace. */
static struct str member(struct str line, const char *key)
{
	ptrdiff_t at = str_search(line, str_from(key));
	struct str rest = str_skip(line, at < 0 ? line.len : (size_t)at + strlen(key));
	size_t length = 0;

	while (length < rest.len && !strchr(",]}", rest.ptr[length]))
		length++;
	return str_head(rest, length);
}

static void read_mooncake(struct trace *trace, struct str text)
{
	struct str line, part;

	trace->mooncake = true;
	while (str_split(&text, '\n', &line)) {
		struct row row = { .arrival = number_of(member(line, "\"timestamp\":")) / 1e3 };
		ptrdiff_t list = str_search(line, STR("\"hash_ids\": ["));
		struct str ids = str_skip(line, list < 0 ? line.len : (size_t)list + 13);

		if (line.len == 0)
			continue;
		row.prompt = (uint32_t)number_of(member(line, "\"input_length\":"));
		row.output = (uint32_t)number_of(member(line, "\"output_length\":"));
		ids = str_head(ids, str_find(ids, ']') < 0 ? 0 : (size_t)str_find(ids, ']'));
		row.ids = arena_alloc(&trace->arena, (row.prompt / 512 + 2) * sizeof *row.ids);
		while (str_split(&ids, ',', &part) && row.id_count < row.prompt / 512 + 2)
			row.ids[row.id_count++] = (uint64_t)number_of(part) + 1;
		VEC_PUSH(&trace->rows, row);
	}
}

static bool read_trace(struct trace *trace, const char *path, struct error *e)
{
	struct str text;

	*trace = (struct trace){ 0 };
	arena_init(&trace->arena);
	if (!file_read(&trace->arena, path, 1 << 26, &text, e))
		return false;
	if (text.len && text.ptr[0] == '{')
		read_mooncake(trace, text);
	else
		read_azure(trace, text);
	return trace->rows.count > 0 || error_set(e, EXIT_BAD_INPUT, "%s has no rows", path);
}

struct sums {
	uint64_t done, rejected, output;
	double ttft;
};

static void on_end(void *context, const struct fleet_event *event)
{
	struct sums *sums = context;

	sums->rejected += event->timeline->finish == FINISH_REJECTED;
	sums->done += event->timeline->finish != FINISH_REJECTED;
	sums->output += event->timeline->output_tokens;
	sums->ttft += event->timeline->first_token > 0 ? event->timeline->first_token - event->timeline->arrival : 0;
}

static struct fleet *build(
	const struct trace *trace, const struct cost *cost, const struct deployment *d, uint32_t replicas, struct sums *sums)
{
	struct fleet_config config = {
		.mixed = replicas, .balance = trace->mooncake ? BALANCE_PREFIX : BALANCE_LEAST_IN_FLIGHT, .seed = 1
	};
	struct memory_ledger ledger;

	memory_ledger(d, &ledger);
	engine_config_default(&config.engine);
	config.engine.max_model_len = 131072;
	config.engine.max_num_seqs = d->max_num_seqs;
	config.engine.max_num_batched_tokens = d->max_num_batched_tokens;
	config.engine.num_gpu_blocks = ledger.blocks;
	config.engine.cost = cost_function(cost);
	return fleet_new(&config, on_end, sums);
}

static void send(struct fleet *f, const struct trace *trace, size_t i, double shift)
{
	const struct row *row = &trace->rows.items[i];

	fleet_submit(f, &(struct engine_request){ .id = i,
				.arrival = row->arrival + shift,
				.prompt_tokens = row->prompt,
				.output_tokens = row->output,
				.content = { .ids = row->ids, .id_count = row->id_count, .id_tokens = 512, .tokens = row->prompt } });
}

static double peak_mebibytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* Replays the trace `times` times behind each other; the arrivals of each turn are submitted when it begins. */
static double replay(const struct trace *trace, const struct deployment *d, uint32_t replicas, uint32_t times, struct sums *sums)
{
	struct cost *cost = cost_new(d);
	struct fleet *f = build(trace, cost, d, replicas, sums);
	double span = trace->rows.items[trace->rows.count - 1].arrival + 60;
	int64_t begin = clock_cpu_ns();

	*sums = (struct sums){ 0 };
	for (uint32_t turn = 0; turn < times; turn++) {
		for (size_t i = 0; i < trace->rows.count; i++)
			send(f, trace, i, turn * span);
		fleet_advance(f, (turn + 1) * span - 1);
	}
	fleet_drain(f);
	begin = clock_cpu_ns() - begin;
	fleet_free(f);
	cost_free(cost);
	return (double)begin / 1e9;
}

int main(int argc, char **argv)
{
	struct tables tables;
	struct error e;
	int rounds = 3;
	uint32_t replicas = 0;
	bool million = false;

	if (!tables_init(&tables, &e)) {
		error_print(&e, stderr);
		return e.status;
	}
	printf("%-28s %8s %9s %9s %12s %14s %10s\n", "trace", "requests", "rejected", "CPU s", "requests/s", "output tok/s", "mean TTFT");
	for (int i = 1; i < argc; i++) {
		static struct trace trace;
		struct deployment d;
		struct sums sums;
		double best = 1e9;
		const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];

		if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			rounds = (int)number_of(str_from(argv[++i]));
			continue;
		}
		if (strcmp(argv[i], "--replicas") == 0 && i + 1 < argc) {
			replicas = (uint32_t)number_of(str_from(argv[++i]));
			continue;
		}
		if (strcmp(argv[i], "--million") == 0) {
			million = true;
			continue;
		}
		if (!read_trace(&trace, argv[i], &e)) {
			error_print(&e, stderr);
			return e.status;
		}
		deployment_default(&d, tables_model(&tables, STR("Llama-3.1-8B"), &e),
			tables_gpu(&tables, trace.mooncake ? STR("h200-sxm") : STR("h100-sxm"), &e));
		d.weights = trace.mooncake ? PRECISION_FP8 : PRECISION_BF16;
		for (int round = 0; round < rounds; round++) {
			double seconds = replay(&trace, &d, replicas ? replicas : trace.mooncake ? 4 : 1, 1, &sums);
			best = seconds < best ? seconds : best;
		}
		printf("%-28s %8zu %9llu %9.3f %12.0f %14.0f %8.3f s\n", name, trace.rows.count, (unsigned long long)sums.rejected, best,
			(double)trace.rows.count / best, (double)sums.output / best, sums.ttft / (double)(sums.done ? sums.done : 1));
		if (million) {
			double before = peak_mebibytes();
			uint32_t times = (uint32_t)(1000000 / trace.rows.count + 1);
			double seconds = replay(&trace, &d, replicas ? replicas : trace.mooncake ? 4 : 1, times, &sums);
			printf("%-28s %8.0f %9s %9.3f %12.0f   peak %.0f MiB, %.0f before\n", "  a million",
				(double)trace.rows.count * times, "", seconds, (double)trace.rows.count * times / seconds, peak_mebibytes(),
				before);
		}
		VEC_FREE(&trace.rows);
		arena_fini(&trace.arena);
	}
	tables_fini(&tables);
	return 0;
}
