/* bench_engine: simulated requests per CPU-second, and memory.
 *
 *     bench_engine [--rounds N] [--replicas N] [--million] TRACE...
 *
 * TRACE is one of the public traces (Azure's CSV, Mooncake's JSON Lines; told apart by their first byte). Each is replayed open loop
 * on Llama-3.1-8B in bf16 on one H100 (Mooncake: fp8 on replicas, whose prompts are twelve times longer); the best round counts.
 * --million replays a million requests and prints the peak of the resident memory. */
#include "base/clock.h"
#include "base/number.h"
#include "engine/cost.h"
#include "engine/fleet.h"
#include "workload/trace.h"

#include <stdio.h>
#include <sys/resource.h>

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
	struct fleet_config config = { .mixed = replicas, .balance = trace->block ? BALANCE_PREFIX : BALANCE_LEAST_IN_FLIGHT, .seed = 1 };
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
	const struct workload_row *row = &trace->rows[i];

	fleet_submit(
		f, &(struct engine_request){ .id = i,
			   .arrival = (double)row->time_us * 1e-6 + shift,
			   .prompt_tokens = row->prompt,
			   .output_tokens = row->output,
			   .content = { .ids = row->ids, .id_count = row->id_count, .id_tokens = trace->block, .tokens = row->prompt } });
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
	double span = (double)trace->rows[trace->count - 1].time_us * 1e-6 + 60;
	int64_t begin = clock_cpu_ns();

	*sums = (struct sums){ 0 };
	for (uint32_t turn = 0; turn < times; turn++) {
		for (size_t i = 0; i < trace->count; i++)
			send(f, trace, i, turn * span);
		fleet_advance(f, (turn + 1) * span - 1);
	}
	fleet_drain(f);
	begin = clock_cpu_ns() - begin;
	fleet_free(f);
	cost_free(cost);
	return (double)begin / 1e9;
}

static int64_t whole(const char *text)
{
	int64_t value = 1;

	number_parse_i64(str_from(text), &value);
	return value;
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
		struct trace trace;
		struct arena arena;
		struct deployment d;
		struct sums sums;
		double best = 1e9;
		const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];

		if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
			rounds = (int)whole(argv[++i]);
			continue;
		}
		if (strcmp(argv[i], "--replicas") == 0 && i + 1 < argc) {
			replicas = (uint32_t)whole(argv[++i]);
			continue;
		}
		if (strcmp(argv[i], "--million") == 0) {
			million = true;
			continue;
		}
		arena_init(&arena);
		if (!trace_read(&arena, argv[i], &trace, &e)) {
			error_print(&e, stderr);
			return e.status;
		}
		deployment_default(&d, tables_model(&tables, STR("Llama-3.1-8B"), &e),
			tables_gpu(&tables, trace.block ? STR("h200-sxm") : STR("h100-sxm"), &e));
		d.weights = trace.block ? PRECISION_FP8 : PRECISION_BF16;
		for (int round = 0; round < rounds; round++) {
			double seconds = replay(&trace, &d, replicas ? replicas : trace.block ? 4 : 1, 1, &sums);
			best = seconds < best ? seconds : best;
		}
		printf("%-28s %8zu %9llu %9.3f %12.0f %14.0f %8.3f s\n", name, trace.count, (unsigned long long)sums.rejected, best,
			(double)trace.count / best, (double)sums.output / best, sums.ttft / (double)(sums.done ? sums.done : 1));
		if (million) {
			double before = peak_mebibytes();
			uint32_t times = (uint32_t)(1000000 / trace.count + 1);
			double seconds = replay(&trace, &d, replicas ? replicas : trace.block ? 4 : 1, times, &sums);
			printf("%-28s %8.0f %9s %9.3f %12.0f   peak %.0f MiB, %.0f before\n", "  a million", (double)trace.count * times,
				"", seconds, (double)trace.count * times / seconds, peak_mebibytes(), before);
		}
		arena_fini(&arena);
	}
	tables_fini(&tables);
	return 0;
}
