#include "sim/page.h"

#include "sim/page_source.h"

/* ---- labels: alphabetical, as the client library sorts them ---- */

struct label {
	const char *name, *value; /* name NULL: none */
};

/* Fills in the labels of a series in order: those before "model_name" in the alphabet, then it, then those after. */
static void add_labels(const struct page *p, size_t engine, struct label extra, const char *le, struct buf *out)
{
	struct label all[4];
	size_t count = 0;
	char number[16];

	if (!mimic_is_v0(p->release)) {
		snprintf(number, sizeof number, "%zu", engine);
		all[count++] = (struct label){ "engine", number };
	}
	if (le)
		all[count++] = (struct label){ "le", le };
	if (extra.name && strcmp(extra.name, "model_name") < 0)
		all[count++] = extra;
	buf_add_c(out, '{');
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s=\"%s\",", all[i].name, all[i].value);
	buf_printf(out, "model_name=\"" STR_FMT "\"", STR_ARG(p->model));
	if (extra.name && strcmp(extra.name, "model_name") > 0)
		buf_printf(out, ",%s=\"%s\"", extra.name, extra.value);
	buf_add_c(out, '}');
}

static void add_cache_labels(const struct page *p, size_t engine, struct buf *out)
{
	const struct page_config *c = &p->config;
	bool newest = p->release >= MIMIC_0_24;

	buf_printf(out, "{block_size=\"%u\",cache_dtype=\"%s\",enable_prefix_caching=\"%s\",", c->block_size, c->kv_8bit ? "fp8" : "auto",
		c->prefix_caching ? "True" : "False");
	if (p->release >= MIMIC_0_9)
		buf_printf(out, "engine=\"%zu\",", engine);
	buf_printf(out, "gpu_memory_utilization=\"%g\",", c->gpu_memory_utilization);
	if (newest) {
		double tokens = (double)c->num_gpu_blocks * c->block_size;

		buf_add(out, STR("kv_cache_max_concurrency=\""));
		page_number(tokens / c->max_model_len, out);
		buf_printf(out, "\",kv_cache_size_tokens=\"%.0f\",", tokens);
	}
	buf_printf(out, "num_gpu_blocks=\"%u\",num_gpu_blocks_override=\"", c->num_gpu_blocks);
	if (c->blocks_overridden)
		buf_printf(out, "%u", c->num_gpu_blocks);
	else
		buf_add(out, STR("None"));
	buf_add_cstr(out, newest ? "\",prefix_caching_hash_algo=\"sha256\",sliding_window=\"None\"}"
				 : "\",sliding_window=\"None\",swap_space_bytes=\"4294967296\"}");
}

static const char *label_name(enum mimic_labels labels)
{
	static const char *const names[] = { [LABELS_FINISHED] = "finished_reason",
		[LABELS_REASON] = "reason",
		[LABELS_SLEEP] = "sleep_state",
		[LABELS_SOURCE] = "source",
		[LABELS_POSITION] = "position",
		[LABELS_GENERATION] = "generation",
		[LABELS_CACHE] = NULL };

	return names[labels];
}

/* ---- lines ---- */

static void add_line(struct buf *out, double value)
{
	buf_add_c(out, ' ');
	page_number(value, out);
	buf_add_c(out, '\n');
}

static const char *type_name(enum mimic_type type)
{
	return type == MIMIC_GAUGE ? "gauge" : type == MIMIC_COUNTER ? "counter" : "histogram";
}

/* A counter's name without _total, on which _created and OpenMetrics' family name are built. */
static struct str base_name(const char *name, enum mimic_type type)
{
	struct str s = str_from(name);

	return type == MIMIC_COUNTER && str_ends(s, STR("_total")) ? str_head(s, s.len - 6) : s;
}

static void add_head(const struct page *p, struct str name, const char *help, const char *type, struct buf *out)
{
	buf_printf(out, "# HELP " STR_FMT " %s\n# TYPE " STR_FMT " %s\n", STR_ARG(name), help, STR_ARG(name), type);
}

static bool has_created(const struct page *p, enum mimic_type type)
{
	return type != MIMIC_GAUGE && p->one_process && !mimic_is_v0(p->release);
}

static void labels_of(const struct page *p, const struct mimic_family *f, size_t engine, struct label extra, struct buf *out)
{
	if (f->labels == LABELS_PROCESS)
		return;
	if (f->labels == LABELS_PYTHON)
		buf_add(out, STR("{implementation=\"CPython\",major=\"3\",minor=\"12\",patchlevel=\"3\",version=\"3.12.3\"}"));
	else if (f->labels == LABELS_GENERATION)
		buf_printf(out, "{generation=\"%s\"}", extra.value);
	else if (f->labels == LABELS_CACHE)
		add_cache_labels(p, engine, out);
	else
		add_labels(p, engine, extra, NULL, out);
}

static void add_created(const struct page *p, const struct mimic_family *f, size_t engine, struct label extra, struct buf *out)
{
	buf_add(out, base_name(f->name, f->type));
	buf_add(out, STR("_created"));
	labels_of(p, f, engine, extra, out);
	add_line(out, p->process.start_time + 0.7);
}

static void add_plain(const struct page *p, const struct mimic_family *f, size_t engine, struct label extra, size_t which, struct buf *out)
{
	buf_add_cstr(out, f->name);
	labels_of(p, f, engine, extra, out);
	add_line(out, page_value(p, f, engine, which));
}

static void add_part(const struct page *p, const char *name, const char *part, size_t engine, const char *le, double value, struct buf *out)
{
	buf_add_cstr(out, name);
	buf_add_cstr(out, part);
	add_labels(p, engine, (struct label){ 0 }, le, out);
	add_line(out, value);
}

static void add_histogram(const struct page *p, const struct mimic_family *f, size_t engine, struct buf *out)
{
	const struct bucketed *b = &p->engines[engine].meter->histograms[f->source];
	uint64_t seen = 0;
	struct buf le;

	if (!p->one_process) /* multi-process mode prints the sum first */
		add_part(p, f->name, "_sum", engine, NULL, b->sum, out);
	buf_init(&le, 64);
	for (size_t i = 0; i < b->bound_count; i++) {
		seen += b->counts[i];
		buf_reset(&le);
		page_number(b->bounds[i], &le);
		add_part(p, f->name, "_bucket", engine, buf_cstr(&le), (double)seen, out);
	}
	buf_fini(&le);
	add_part(p, f->name, "_bucket", engine, "+Inf", (double)b->count, out);
	add_part(p, f->name, "_count", engine, NULL, (double)b->count, out);
	if (p->one_process)
		add_part(p, f->name, "_sum", engine, NULL, b->sum, out);
}

/* ---- families ---- */

/* From 0.9.2 to 0.11.0 multi-process mode told this gauge apart by the process that wrote it. */
static bool has_pid(const struct page *p, const struct mimic_family *f)
{
	return f->source == SOURCE_KV_USAGE && f->type == MIMIC_GAUGE && !p->one_process &&
	       (p->release == MIMIC_0_9 || p->release == MIMIC_0_10) && str_is(str_from(f->name), "vllm:kv_cache_usage_perc");
}

static struct label own_label(const struct page *p, const struct mimic_family *f, const char *value)
{
	if (has_pid(p, f))
		return (struct label){ "pid", "7" };
	return (struct label){ value ? label_name(f->labels) : NULL, value };
}

/* All series of a family: engines, and within each the values of the family's own label. */
static void each_series(const struct page *p, const struct mimic_family *f, bool values, bool created, struct buf *out)
{
	const char *const *own = mimic_label_values(f->labels, p->release);
	bool process = f->labels == LABELS_PROCESS || f->labels == LABELS_PYTHON || f->labels == LABELS_GENERATION;
	size_t engines = process || (f->labels == LABELS_CACHE && p->release < MIMIC_0_9) ? 1 : p->engine_count;

	for (size_t e = 0; e < engines; e++) {
		for (size_t i = 0; own[0] ? own[i] != NULL && !(f->labels == LABELS_POSITION && i >= p->drafts) : i < 1; i++) {
			struct label extra = own_label(p, f, own[i]);

			if (values && f->type == MIMIC_HISTOGRAM)
				add_histogram(p, f, e, out);
			else if (values)
				add_plain(p, f, e, extra, i, out);
			if (created)
				add_created(p, f, e, extra, out);
		}
	}
}

static void add_family(const struct page *p, const struct mimic_family *f, struct buf *out)
{
	bool process = str_starts(str_from(f->name), STR("process_")) || str_starts(str_from(f->name), STR("python_"));
	bool created = has_created(p, f->type) && !process;
	struct str base = base_name(f->name, f->type);

	add_head(p, p->openmetrics ? base : str_from(f->name), f->help, type_name(f->type), out);
	each_series(p, f, true, created && p->openmetrics, out);
	if (!created || p->openmetrics)
		return;
	buf_printf(out, "# HELP " STR_FMT "_created %s\n# TYPE " STR_FMT "_created gauge\n", STR_ARG(base), f->help, STR_ARG(base));
	each_series(p, f, false, true, out);
}

static bool left_out(const struct page *p, const char *name)
{
	return p->missing.len && str_search(str_from(name), p->missing) >= 0;
}

/* ---- the program's own ---- */

static void add_own(const struct page *p, struct buf *out)
{
	const struct bucketed *b = p->own.lateness;
	uint64_t seen = 0;

	add_head(p, STR("goodput_simulated_info"), "1: this server is a simulation; no model runs here.", "gauge", out);
	buf_add(out, STR("goodput_simulated_info 1.0\n"));
	add_head(p, STR("goodput_sim_lateness_seconds"), "From the moment a token was due until send() had taken it.", "histogram", out);
	for (size_t i = 0; i < b->bound_count; i++) {
		seen += b->counts[i];
		buf_add(out, STR("goodput_sim_lateness_seconds_bucket{le=\""));
		page_number(b->bounds[i], out);
		buf_add(out, STR("\"}"));
		add_line(out, (double)seen);
	}
	buf_add(out, STR("goodput_sim_lateness_seconds_bucket{le=\"+Inf\"}"));
	add_line(out, (double)b->count);
	buf_add(out, STR("goodput_sim_lateness_seconds_count"));
	add_line(out, (double)b->count);
	buf_add(out, STR("goodput_sim_lateness_seconds_sum"));
	add_line(out, b->sum);
}

void page_write(const struct page *p, struct buf *out)
{
	for (const struct mimic_family *f = mimic_families(p->release); f->name; f++)
		if (mimic_shows(f, p->release, p->have | (p->one_process ? NEEDS_ONE_PROCESS : 0)) && !left_out(p, f->name))
			add_family(p, f, out);
	if (p->release >= MIMIC_0_8 && p->web->count && !left_out(p, "http_requests_total"))
		page_web(p, out);
	add_own(p, out);
	if (p->openmetrics)
		buf_add(out, STR("# EOF\n"));
}
