#include "scrape/job.h"

#include "base/clock.h"
#include "base/number.h"

#include <stdlib.h>

#define SD_UNSERVED                                                                                                                        \
	"azure_sd_configs", "consul_sd_configs", "digitalocean_sd_configs", "docker_sd_configs", "dockerswarm_sd_configs",                 \
		"ec2_sd_configs", "eureka_sd_configs", "gce_sd_configs", "hetzner_sd_configs", "ionos_sd_configs", "kuma_sd_configs",      \
		"lightsail_sd_configs", "linode_sd_configs", "marathon_sd_configs", "nerve_sd_configs", "nomad_sd_configs",                \
		"openstack_sd_configs", "ovhcloud_sd_configs", "puppetdb_sd_configs", "scaleway_sd_configs", "serverset_sd_configs",       \
		"stackit_sd_configs", "triton_sd_configs", "uyuni_sd_configs", "vultr_sd_configs", "aws_sd_configs"
#define SD_SERVED "static_configs", "file_sd_configs", "http_sd_configs", "dns_sd_configs", "kubernetes_sd_configs"

static const char *const job_keys[] = { "job_name", "scrape_interval", "scrape_timeout", "metrics_path", "scheme", "params", "honor_labels",
	"honor_timestamps", "relabel_configs", "metric_relabel_configs", "body_size_limit", "sample_limit", "label_limit",
	"label_name_length_limit", "label_value_length_limit", "target_limit", ACCESS_KEYS, SD_SERVED, SD_UNSERVED,
	/* These change nothing in what we store. */
	"scrape_protocols", "fallback_scrape_protocol", "scrape_failure_log_file", "enable_compression", "keep_dropped_targets",
	"native_histogram_bucket_limit", "native_histogram_min_bucket_factor", "scrape_native_histograms", "scrape_classic_histograms",
	"always_scrape_classic_histograms", "convert_classic_histograms_to_nhcb", "track_timestamps_staleness", "extra_scrape_metrics",
	"metric_name_validation_scheme", "metric_name_escaping_scheme", NULL };

bool sd_is_key(struct str key)
{
	return str_ends(key, STR("_sd_configs")) || str_is(key, "static_configs");
}

bool job_read_duration(const struct yaml *map, const char *key, int64_t *ms, struct error *e)
{
	struct str text = STR_EMPTY;
	if (!yaml_get_str(map, key, &text, e))
		return false;
	if (!text.len)
		return true;
	if (duration_parse(text, ms) && *ms >= 0)
		return true;
	yaml_error(yaml_get(map, key), e, "\"%s\" is no duration: \"" STR_FMT "\"", key, STR_ARG(str_head(text, 60)));
	error_hint(e, "write it like 15s, 1m or 500ms");
	return false;
}

static bool read_count(const struct yaml *map, const char *key, uint64_t *value, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	int64_t number;
	if (!node || yaml_is_null(node))
		return true;
	if (node->kind != YAML_SCALAR || !number_parse_i64(node->text, &number) || number < 0)
		return yaml_error(node, e, "\"%s\" must be a whole number that is not negative", key);
	*value = (uint64_t)number;
	return true;
}

/* "10MB", "512KiB", "1000B": powers of 1024 in either spelling, as Prometheus reads them. */
static bool read_size(const struct yaml *map, const char *key, size_t *bytes, struct error *e)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	struct str text = STR_EMPTY;
	size_t digits = 0;
	double number;
	if (!yaml_get_str(map, key, &text, e))
		return false;
	if (!text.len)
		return true;
	while (digits < text.len && ((text.ptr[digits] >= '0' && text.ptr[digits] <= '9') || text.ptr[digits] == '.'))
		digits++;
	struct str unit = str_skip(text, digits);
	bool binary = unit.len == 3 && unit.ptr[1] == 'i';
	double scale = 1;
	for (size_t i = 0; i < ARRAY_LEN(units); i++, scale *= 1024) {
		bool same = binary ? i && unit.ptr[0] == units[i][0] && unit.ptr[2] == 'B' : str_is(unit, units[i]);
		if ((same || (!unit.len && i == 0 && str_is(text, "0"))) && number_parse(str_head(text, digits), &number) &&
			number * scale < 1e15) {
			*bytes = (size_t)(number * scale);
			return true;
		}
	}
	yaml_error(yaml_get(map, key), e, "\"%s\" is no size: \"" STR_FMT "\"", key, STR_ARG(str_head(text, 60)));
	error_hint(e, "write it like 10MB");
	return false;
}

bool job_read_limits(struct job_limits *limits, const struct yaml *map, struct error *e)
{
	return read_size(map, "body_size_limit", &limits->body_bytes, e) && read_count(map, "sample_limit", &limits->samples, e) &&
	       read_count(map, "label_limit", &limits->labels, e) &&
	       read_count(map, "label_name_length_limit", &limits->label_name_length, e) &&
	       read_count(map, "label_value_length_limit", &limits->label_value_length, e) &&
	       read_count(map, "target_limit", &limits->targets, e);
}

static int param_compare(const void *a, const void *b)
{
	return str_cmp(((const struct job_param *)a)->name, ((const struct job_param *)b)->name);
}

static bool read_params(struct job *job, const struct yaml *map, struct arena *arena, struct error *e)
{
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "params: expected a map of name: [value, ...]");
	struct job_param *params = ARENA_ARRAY(arena, struct job_param, map->count + 1);
	YAML_EACH (map, list) {
		if (list->kind != YAML_LIST)
			return yaml_error(list, e, "params: expected " STR_FMT ": [value, ...]", STR_ARG(list->key));
		struct str *values = ARENA_ARRAY(arena, struct str, list->count + 1);
		size_t count = 0;
		YAML_EACH (list, value)
			values[count++] = arena_str(arena, value->text);
		params[job->param_count++] = (struct job_param){ arena_str(arena, list->key), values, count };
	}
	if (job->param_count)
		qsort(params, job->param_count, sizeof *params, param_compare);
	job->params = params;
	return true;
}

static bool check_scheme(const struct job *job, const struct yaml *map, struct error *e)
{
	if (str_is(job->scheme, "http") || str_is(job->scheme, "https"))
		return true;
	return yaml_error(yaml_get(map, "scheme"), e, "scheme: \"" STR_FMT "\" is not http or https", STR_ARG(str_head(job->scheme, 60)));
}

static bool check_times(struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct error *e)
{
	if (!job->interval_ms)
		job->interval_ms = defaults->interval_ms;
	if (!job->timeout_ms)
		job->timeout_ms = defaults->timeout_ms < job->interval_ms ? defaults->timeout_ms : job->interval_ms;
	if (job->timeout_ms <= job->interval_ms)
		return true;
	yaml_error(yaml_get(map, "scrape_timeout"), e, "scrape_timeout is longer than the scrape_interval of job \"" STR_FMT "\"",
		STR_ARG(str_head(job->name, 80)));
	error_hint(e, "make it at most the interval");
	return false;
}

/* What makes the whole job impossible to serve. */
static bool note_unserved(const struct job *job, const struct yaml *map, const struct job_defaults *defaults)
{
	char text[300];
	if (!job->access.unserved.len)
		return true;
	snprintf(text, sizeof text,
		"job \"" STR_FMT "\" is left out: " STR_FMT " is not served here (ask its Prometheus with --prometheus)",
		STR_ARG(str_head(job->name, 80)), STR_ARG(job->access.unserved));
	defaults->note(defaults->context, job->access.unserved_node ? job->access.unserved_node : map, text);
	return false;
}

static bool read_fields(struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, struct error *e)
{
	bool honor_timestamps = true;
	if (!yaml_only(map, job_keys, e) || !yaml_get_str(map, "job_name", &job->name, e))
		return false;
	if (!job->name.len)
		return yaml_error(map, e, "a scrape config needs a job_name");
	if (!job_read_duration(map, "scrape_interval", &job->interval_ms, e) ||
		!job_read_duration(map, "scrape_timeout", &job->timeout_ms, e) || !check_times(job, map, defaults, e) ||
		!yaml_get_str(map, "metrics_path", &job->path, e) || !yaml_get_str(map, "scheme", &job->scheme, e) ||
		!check_scheme(job, map, e) || !yaml_get_bool(map, "honor_labels", &job->honor_labels, e) ||
		!yaml_get_bool(map, "honor_timestamps", &honor_timestamps, e) || !job_read_limits(&job->limits, map, e) ||
		!read_params(job, yaml_get(map, "params"), arena, e))
		return false;
	job->ignore_timestamps = !honor_timestamps;
	return access_read(&job->access, map, defaults->folder, arena, e);
}

static void keep(struct job *job, struct arena *arena)
{
	job->name = arena_str(arena, job->name);
	job->path = arena_str(arena, job->path);
	job->scheme = arena_str(arena, job->scheme);
}

static bool read_rest(
	struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, bool *served, struct error *e)
{
	if (!sd_read_all(job, map, defaults, arena, e) || !relabel_read(&job->relabel, yaml_get(map, "relabel_configs"), arena, e))
		return false;
	if (!relabel_read(&job->metric_relabel, yaml_get(map, "metric_relabel_configs"), arena, e)) {
		job_fini(job);
		return false;
	}
	keep(job, arena);
	*served = note_unserved(job, map, defaults);
	if (!*served)
		job_fini(job);
	return true;
}

bool job_read(
	struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, bool *served, struct error *e)
{
	*job = (struct job){ .scheme = STR("http"), .path = STR("/metrics"), .limits = defaults->limits };
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "scrape_configs: expected a job with job_name and static_configs or another discovery");
	return read_fields(job, map, defaults, arena, e) && read_rest(job, map, defaults, arena, served, e);
}

bool job_read_alertmanager(
	struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, bool *served, struct error *e)
{
	static const char *const keys[] = { "scheme", "path_prefix", "timeout", "api_version", "relabel_configs", "alert_relabel_configs",
		"sigv4", ACCESS_KEYS, SD_SERVED, SD_UNSERVED, NULL };
	struct str prefix = STR("/"), version = STR("v2");
	*job = (struct job){
		.name = STR("alertmanager"), .scheme = STR("http"), .timeout_ms = 10000, .interval_ms = 60000, .is_alertmanager = true
	};
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "alertmanagers: expected a map with static_configs or another discovery");
	if (!yaml_only(map, keys, e) || !yaml_get_str(map, "scheme", &job->scheme, e) || !check_scheme(job, map, e) ||
		!yaml_get_str(map, "path_prefix", &prefix, e) || !job_read_duration(map, "timeout", &job->timeout_ms, e) ||
		!yaml_get_str(map, "api_version", &version, e) || !access_read(&job->access, map, defaults->folder, arena, e))
		return false;
	if (!str_is(version, "v2") || yaml_get(map, "sigv4") || yaml_get(map, "alert_relabel_configs")) {
		const char *what = !str_is(version, "v2") ? "api_version" : yaml_get(map, "sigv4") ? "sigv4" : "alert_relabel_configs";
		job->access.unserved = str_from(what);
		job->access.unserved_node = yaml_get(map, what);
	}
	while (prefix.len && prefix.ptr[prefix.len - 1] == '/')
		prefix.len--;
	bool slash = prefix.len && prefix.ptr[0] != '/';
	job->path = arena_printf(arena, "%s" STR_FMT "/api/v2/alerts", slash ? "/" : "", STR_ARG(prefix));
	return read_rest(job, map, defaults, arena, served, e);
}

void job_fini(struct job *job)
{
	relabel_fini(&job->relabel);
	relabel_fini(&job->metric_relabel);
}
