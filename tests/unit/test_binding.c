#include "catalog/binding.h"

#include "unit.h"

#include <stdlib.h>

static struct catalog catalog;
static struct arena arena;

static int setup(void **state)
{
	struct error e = { 0 };

	arena_init(&arena);
	if (catalog_init(&catalog, NULL, 0, &e))
		return 0;
	error_print(&e, stderr);
	return -1;
}

static int teardown(void **state)
{
	catalog_fini(&catalog);
	arena_fini(&arena);
	return 0;
}

/* One family in words: "name type label,label"; "-" for no labels, a final "!" for declared without samples. */
static struct shown_family family_of(const char *words)
{
	static const struct {
		const char *name;
		enum metric_type type;
	} types[] = { { "gauge", METRIC_GAUGE }, { "counter", METRIC_COUNTER }, { "histogram", METRIC_HISTOGRAM },
		{ "summary", METRIC_SUMMARY }, { "unknown", METRIC_UNKNOWN } };
	struct str rest = str_from(words), name, type, labels, label;
	struct shown_family family = { .has_samples = true };

	if (str_ends(rest, STR("!"))) {
		family.has_samples = false;
		rest.len--;
	}
	assert_true(str_split(&rest, ' ', &name) && str_split(&rest, ' ', &type) && str_split(&rest, ' ', &labels));
	family.name = name;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		family.type = str_is(type, types[i].name) ? types[i].type : family.type;
	family.labels = ARENA_ARRAY(&arena, struct str, 8);
	while (!str_is(labels, "-") && str_split(&labels, ',', &label))
		family.labels[family.label_count++] = label;
	return family;
}

static struct binding *bind(const char *const *words)
{
	struct shown_family families[64];
	size_t count = 0;

	for (; words[count]; count++)
		families[count] = family_of(words[count]);
	return binding_new(&arena, &catalog, families, count);
}
#define BIND(...) bind((const char *const[]){ __VA_ARGS__, NULL })

static const struct bound_metric *bound(const struct binding *b, const char *metric)
{
	const struct metric_spec *spec = catalog_metric(&catalog, metric);

	assert_non_null(spec);
	return &b->metrics[spec->index];
}

static void assert_name(const struct binding *b, const char *metric, const char *name)
{
	const struct bound_metric *m = bound(b, metric);

	if (!m->name)
		fail_msg("%s is not bound: " STR_FMT, metric, STR_ARG(m->why));
	assert_str(m->name->name, name);
	assert_int_equal(m->coverage, COVERAGE_PRESENT);
}

static void assert_missing(const struct binding *b, const char *metric, enum coverage coverage, const char *why)
{
	const struct bound_metric *m = bound(b, metric);

	assert_null(m->name);
	assert_string_equal(coverage_name(m->coverage), coverage_name(coverage));
	if (m->why.len != strlen(why) || memcmp(m->why.ptr, why, m->why.len) != 0)
		fail_msg("%s: \"" STR_FMT "\", expected \"%s\"", metric, STR_ARG(m->why), why);
}

static void assert_engine(const struct binding *b, const char *text)
{
	struct buf out;

	buf_init(&out, 200);
	binding_print_engine(b, &out);
	assert_string_equal(buf_cstr(&out), text);
	buf_fini(&out);
}

static void newest_name_wins_and_twins_are_told(void **state)
{
	struct binding *b = BIND("vllm:num_requests_running gauge engine,model_name", "vllm:kv_cache_usage_perc gauge engine,model_name",
		"vllm:gpu_cache_usage_perc gauge engine,model_name", "vllm:time_per_output_token_seconds histogram engine,model_name");

	assert_engine(b, "vLLM 0.9.2 to 0.10.2 (V1)");
	assert_name(b, "kv_usage", "vllm:kv_cache_usage_perc");
	assert_str(bound(b, "kv_usage")->twin->name, "vllm:gpu_cache_usage_perc");
	assert_name(b, "itl", "vllm:time_per_output_token_seconds");
	assert_true(bound(b, "itl")->name->deprecated);
	assert_null(bound(b, "itl")->twin);
	assert_name(b, "running", "vllm:num_requests_running");
	assert_false(b->multi_process);
}

static void v0(void **state)
{
	struct binding *b = BIND("vllm:num_requests_running gauge model_name", "vllm:num_requests_swapped gauge model_name",
		"vllm:gpu_cache_usage_perc gauge model_name", "vllm:gpu_prefix_cache_hit_rate gauge model_name");

	assert_engine(b, "vLLM 0.5.5 to 0.8.2 (V0)");
	assert_name(b, "swapped", "vllm:num_requests_swapped");
	assert_name(b, "kv_usage", "vllm:gpu_cache_usage_perc");
	assert_true(bound(b, "kv_usage")->name->deprecated);
	assert_true(bound(b, "prefix_hit_gauge")->name->valid_low == 0);
	assert_missing(b, "prefix_hits", COVERAGE_NOT_APPLICABLE, "V0: exports an interval gauge instead");
	assert_missing(b, "tpot", COVERAGE_NOT_APPLICABLE, "since 0.11.0; this page is of 0.8.2 at most");
}

static void coverage_of_v1(void **state)
{
	struct binding *b =
		BIND("vllm:num_requests_running gauge engine,model_name", "vllm:request_time_per_output_token_seconds histogram engine");

	assert_engine(b, "vLLM 0.11.0 or later (V1)");
	assert_missing(b, "swapped", COVERAGE_NOT_APPLICABLE, "V1: preempts by recomputation and swaps nothing");
	assert_missing(
		b, "generation_rate_gauge", COVERAGE_NOT_APPLICABLE, "gone after 0.6.6.post1: use the rate of generation_tokens_total");
	assert_missing(b, "mm_cache_hits", COVERAGE_ABSENT, "expected from 0.11.1 on as vllm:mm_cache_hits_total, not on this page");
	assert_missing(b, "ttft", COVERAGE_ABSENT, "expected as vllm:time_to_first_token_seconds, not on this page");
	assert_missing(b, "spec_drafts", COVERAGE_NOT_ENABLED, "needs --speculative-config");
	assert_missing(b, "validation_time", COVERAGE_NOT_APPLICABLE, "vLLM does not export it");
	assert_missing(b, "gpu_util", COVERAGE_NOT_APPLICABLE, "vLLM does not export it (source: DCGM exporter)");
	assert_int_equal(bound(b, "resident_memory")->coverage, COVERAGE_ABSENT);
	assert_int_equal(str_search(bound(b, "resident_memory")->why, STR("multi-process mode")) >= 0, 1);
}

static void units_that_changed_under_one_name(void **state)
{
	struct binding *old = BIND("vllm:gpu_prefix_cache_hits_total counter engine,model_name", "vllm:num_requests_running gauge engine",
		"vllm:cache_config_info gauge block_size,num_gpu_blocks");
	struct binding *new = BIND("vllm:gpu_prefix_cache_hits_total counter engine,model_name", "vllm:num_requests_running gauge engine",
		"vllm:cache_config_info gauge block_size,engine,num_gpu_blocks");

	assert_engine(old, "vLLM 0.8.3 to 0.8 (V1)");
	assert_str(bound(old, "prefix_hits")->name->until, "0.8.5.post1");
	assert_false(bound(old, "prefix_hits")->name->deprecated);
	assert_engine(new, "vLLM 0.9.0 to 0.10.2 (V1)");
	assert_str(bound(new, "prefix_hits")->name->since, "0.9.0");
	assert_true(bound(new, "prefix_hits")->name->deprecated);
	assert_null(bound(new, "prefix_hits")->twin);
	assert_str(bound(new, "kv_capacity")->name->value_labels[0], "num_gpu_blocks");
}

static void values_from_labels(void **state)
{
	struct binding *b = BIND("vllm:cache_config_info gauge block_size,engine,kv_cache_size_tokens,num_gpu_blocks");

	assert_engine(b, "vLLM 0.24.0 or later (V1)");
	assert_str(bound(b, "kv_capacity")->name->value_labels[0], "kv_cache_size_tokens");
	assert_name(b, "cache_config", "vllm:cache_config_info");
}

static void one_part_of_a_histogram(void **state)
{
	struct binding *b = BIND("vllm:iteration_tokens_total histogram engine,model_name");

	assert_name(b, "steps", "vllm:iteration_tokens_total_count");
	assert_name(b, "step_tokens", "vllm:iteration_tokens_total");
	b = BIND("vllm:iteration_tokens_total_count unknown engine,model_name");
	assert_name(b, "steps", "vllm:iteration_tokens_total_count");
	assert_null(bound(b, "step_tokens")->name);
	b = BIND("tgi_request_input_length histogram -", "tgi_batch_inference_duration histogram method");
	assert_engine(b, "TGI 1.0 to 3.3.7");
	assert_name(b, "prompt_tokens", "tgi_request_input_length_sum");
	assert_name(b, "prompt_length", "tgi_request_input_length");
	assert_str(bound(b, "batch_prefill_time")->name->where[0].value, "prefill");
	assert_str(bound(b, "itl")->name->where[0].value, "decode");
}

static void type_tells_two_metrics_of_one_name_apart(void **state)
{
	struct binding *gauge = BIND("sglang:kv_transfer_latency_ms gauge tp_rank"),
		       *histogram = BIND("sglang:kv_transfer_latency_ms histogram tp_rank");

	assert_name(gauge, "kv_transfer_time_gauge", "sglang:kv_transfer_latency_ms");
	assert_null(bound(gauge, "kv_transfer_time")->name);
	assert_name(histogram, "kv_transfer_time", "sglang:kv_transfer_latency_ms");
	assert_null(bound(histogram, "kv_transfer_time_gauge")->name);
	assert_true(bound(histogram, "kv_transfer_time")->name->scale == 0.001);
}

static void declared_without_samples(void **state)
{
	struct binding *b = BIND("vllm:num_requests_running gauge engine", "vllm:kv_cache_usage_perc gauge -!",
		"vllm:gpu_cache_usage_perc gauge engine", "vllm:external_prefix_cache_hits counter -!");

	assert_name(b, "kv_usage", "vllm:gpu_cache_usage_perc");
	assert_null(bound(b, "kv_usage")->twin);
	assert_name(b, "external_prefix_hits", "vllm:external_prefix_cache_hits_total");
	assert_str(bound(b, "external_prefix_hits")->why, "declared, no sample yet");
	assert_int_equal(b->unknown_count, 0);
}

static void ray(void **state)
{
	struct binding *old =
		BIND("ray_vllm:num_requests_running gauge WorkerId,model_name", "ray_vllm:prompt_tokens_total counter WorkerId,model_name");
	struct binding *new = BIND("ray_vllm_num_requests_running gauge ReplicaId,WorkerId,engine", "ray_vllm_made_up gauge WorkerId");

	assert_engine(old, "vLLM 0.6.2 or later (Ray)");
	assert_name(old, "running", "ray_vllm:num_requests_running");
	assert_name(old, "prompt_tokens", "ray_vllm:prompt_tokens_total");
	assert_engine(new, "vLLM 0.12.0 or later (Ray)");
	assert_name(new, "running", "ray_vllm_num_requests_running");
	assert_int_equal(new->unknown_count, 1);
	assert_str(new->unknown_families[0], "ray_vllm_made_up");
	assert_missing(new, "resident_memory", COVERAGE_NOT_APPLICABLE, "vLLM (Ray) does not export it");
}

static void borrowed_prefixes(void **state)
{
	struct binding *router = BIND("vllm:num_requests_running gauge server", "vllm:gpu_prefix_cache_hits_total gauge server");
	struct binding *triton = BIND("vllm:time_to_first_token_seconds histogram model,version",
		"vllm:prompt_tokens_total counter model,version", "nv_inference_request_success counter model,version");

	assert_str(router->engine->id, "production-stack");
	assert_true(router->engine->in_front);
	assert_missing(router, "running", COVERAGE_NOT_APPLICABLE, "vLLM production-stack router does not export it");
	assert_engine(triton, "vLLM behind Triton 24.08 or later (behind Triton)");
	assert_name(triton, "ttft", "vllm:time_to_first_token_seconds");
	assert_name(triton, "finished_ok", "nv_inference_request_success");
}

static void exporters(void **state)
{
	struct binding *dcgm = BIND("DCGM_FI_DEV_GPU_UTIL gauge gpu,UUID", "DCGM_FI_DEV_FB_USED gauge gpu,UUID");
	struct binding *mixed = BIND("vllm:num_requests_running gauge engine", "process_resident_memory_bytes gauge -",
		"python_gc_collections_total counter generation", "http_requests_total counter handler,method,status");

	assert_engine(dcgm, "DCGM exporter");
	assert_null(dcgm->engine);
	assert_name(dcgm, "gpu_util", "DCGM_FI_DEV_GPU_UTIL");
	assert_true(bound(dcgm, "gpu_util")->name->scale == 0.01);
	assert_true(bound(dcgm, "fb_used")->name->valid_high < 9223372036854775794.0);
	assert_missing(dcgm, "running", COVERAGE_NOT_APPLICABLE, "DCGM exporter does not export it");
	assert_int_equal(bound(dcgm, "sm_active")->coverage, COVERAGE_NOT_ENABLED);
	assert_engine(mixed, "vLLM 0.8.3 or later (V1)");
	assert_int_equal(mixed->exporter_count, 2);
	assert_name(mixed, "resident_memory", "process_resident_memory_bytes");
	assert_name(mixed, "gc_collections", "python_gc_collections_total");
	assert_name(mixed, "http_requests", "http_requests_total");
}

static void labels_with_other_names(void **state)
{
	struct binding *b = BIND("sglang:http_responses_total counter endpoint,method,status_code");

	assert_name(b, "http_requests", "sglang:http_responses_total");
	assert_str(name_spec_label(bound(b, "http_requests")->name, STR("status")), "status_code");
}

/* What is missing says something on a whole page only. */
static void missing_families(void **state)
{
#define WHOLE                                                                                                                              \
	"vllm:num_requests_running gauge engine", "vllm:num_requests_waiting gauge engine", "vllm:prompt_tokens_total counter engine",     \
		"vllm:generation_tokens_total counter engine", "vllm:time_to_first_token_seconds histogram engine",                        \
		"vllm:e2e_request_latency_seconds histogram engine", "vllm:request_success_total counter engine,finished_reason",          \
		"vllm:request_prompt_tokens histogram engine", "vllm:request_generation_tokens histogram engine",                          \
		"vllm:request_params_n histogram engine", "vllm:num_preemptions_total counter engine"
	struct binding *whole = BIND(WHOLE, "vllm:inter_token_latency_seconds histogram engine", "vllm:kv_cache_usage_perc gauge engine",
		"vllm:request_time_per_output_token_seconds histogram engine", "vllm:mm_cache_queries_total counter engine");
	struct binding *part = BIND("vllm:num_requests_running gauge engine", "vllm:inter_token_latency_seconds histogram engine",
		"vllm:kv_cache_usage_perc gauge engine");

	assert_true(whole->complete);
	assert_engine(whole, "vLLM 0.12.0 to 0.12 (V1)");
	assert_true(whole->multi_process);
	assert_false(part->complete);
	assert_engine(part, "vLLM 0.10.2 or later (V1)");
	assert_false(part->multi_process);
	struct binding *rust = BIND(WHOLE, "vllm:num_requests_waiting_by_reason gauge engine,reason");

	assert_engine(rust, "vLLM 0.22.0 or later (Rust frontend)");
	assert_false(rust->multi_process);
	assert_missing(rust, "steps", COVERAGE_NOT_APPLICABLE,
		"Rust frontend: does not export iteration_tokens_total; the token counters are the heartbeat");
	assert_missing(rust, "nixl_bytes", COVERAGE_NOT_APPLICABLE, "Rust frontend: does not export nixl_*");
	assert_missing(rust, "gc_collections", COVERAGE_NOT_APPLICABLE, "vLLM (Rust frontend) does not export it");
}

static void several_writers(void **state)
{
	struct binding *b = BIND("vllm:kv_cache_usage_perc gauge engine,pid");

	assert_true(b->multi_process);
	assert_engine(b, "vLLM 0.9.2 to 0.11.0 (V1)");
}

/* Names that no version has together: no statement, and the newest name still wins. */
static void contradiction(void **state)
{
	struct binding *b = BIND("vllm:num_requests_swapped gauge engine", "vllm:prompt_tokens_by_source_total counter engine",
		"vllm:kv_cache_usage_perc gauge engine", "vllm:gpu_cache_usage_perc gauge engine");

	assert_engine(b, "vLLM (V1)");
	assert_name(b, "kv_usage", "vllm:kv_cache_usage_perc");
}

static void imitations(void **state)
{
	struct binding *b =
		BIND("llamacpp:kv_cache_usage_ratio gauge -", "llamacpp:n_tokens_max counter -", "someone:requests_total counter -");

	assert_engine(b, "llama.cpp (compatible server)");
	assert_name(b, "kv_usage", "llamacpp:kv_cache_usage_ratio");
	b = BIND("llamacpp:n_tokens_max counter -");
	assert_engine(b, "llama.cpp b6200 or later");
	assert_missing(b, "kv_usage", COVERAGE_NOT_APPLICABLE, "gone after b5400: llama.cpp dropped its KV gauge in May 2025");
}

static void unknown_pages(void **state)
{
	struct binding *b = BIND("node_cpu_seconds_total counter cpu"), *empty = binding_new(&arena, &catalog, NULL, 0);

	assert_engine(b, "unknown engine");
	assert_missing(b, "running", COVERAGE_NOT_APPLICABLE, "no known engine on this page");
	assert_engine(empty, "unknown engine");
	assert_int_equal(empty->unknown_count, 0);
}

static void unknown_families(void **state)
{
	struct binding *b = BIND("vllm:num_requests_running gauge engine", "vllm:num_requests_running_created gauge engine",
		"vllm:brand_new gauge engine", "vllm:websocket_connections_active gauge -", "other_family gauge -");

	assert_int_equal(b->unknown_count, 1);
	assert_str(b->unknown_families[0], "vllm:brand_new");
}

static void all_exposed_names(void **state)
{
	size_t count;
	struct exposed_name *names = catalog_exposed_names(&catalog, &arena, &count);
	bool histogram = false, part = false, variant = false;

	for (size_t i = 0; i < count; i++) {
		assert_true(i == 0 || str_cmp(names[i - 1].name, names[i].name) < 0 || names[i - 1].is_histogram != names[i].is_histogram);
		histogram = histogram || (str_is(names[i].name, "vllm:iteration_tokens_total") && names[i].is_histogram);
		part = part || (str_is(names[i].name, "vllm:iteration_tokens_total_count") && !names[i].is_histogram);
		variant = variant || str_is(names[i].name, "ray_vllm_num_requests_running");
	}
	assert_true(histogram && part && variant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_name_wins_and_twins_are_told),
		cmocka_unit_test(v0),
		cmocka_unit_test(coverage_of_v1),
		cmocka_unit_test(units_that_changed_under_one_name),
		cmocka_unit_test(values_from_labels),
		cmocka_unit_test(one_part_of_a_histogram),
		cmocka_unit_test(type_tells_two_metrics_of_one_name_apart),
		cmocka_unit_test(declared_without_samples),
		cmocka_unit_test(ray),
		cmocka_unit_test(borrowed_prefixes),
		cmocka_unit_test(exporters),
		cmocka_unit_test(labels_with_other_names),
		cmocka_unit_test(missing_families),
		cmocka_unit_test(several_writers),
		cmocka_unit_test(contradiction),
		cmocka_unit_test(imitations),
		cmocka_unit_test(unknown_pages),
		cmocka_unit_test(unknown_families),
		cmocka_unit_test(all_exposed_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
