/* What a configuration says about rules, alerts and other engines. */
#include "base/number.h"
#include "watch/config_internal.h"

#include <glob.h>

bool config_rule_files(struct config_reader *r, const struct yaml *list, struct error *e)
{
	struct config *c = r->config;
	if (!config_is_list(list, e))
		return false;
	YAML_EACH (list, name) {
		glob_t found;
		if (name->kind != YAML_SCALAR || !name->text.len)
			return yaml_error(name, e, "rule_files: expected file names");
		struct str pattern = access_path(&c->arena, r->defaults.folder, name->text);
		VEC_PUSH(&c->rule_patterns, pattern);
		if (!r->look_at_files)
			continue;
		if (glob(pattern.ptr, 0, NULL, &found) != 0) {
			config_note(r, name, "rule_files: no file of this name");
			continue;
		}
		for (size_t i = 0; i < found.gl_pathc; i++)
			VEC_PUSH(&c->rule_files, arena_str(&c->arena, str_from(found.gl_pathv[i])).ptr);
		globfree(&found);
	}
	return true;
}

bool config_alerting(struct config_reader *r, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "alertmanagers", "alert_relabel_configs", NULL };
	struct config *c = r->config;
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "alerting: expected a map with alertmanagers");
	if (!yaml_only(map, keys, e) || !config_is_list(yaml_get(map, "alertmanagers"), e))
		return false;
	if (!relabel_read(&c->alert_relabel, yaml_get(map, "alert_relabel_configs"), &c->arena, e))
		return false;
	YAML_EACH (yaml_get(map, "alertmanagers"), node) {
		struct job *job = ARENA_NEW(&c->arena, struct job);
		bool served;
		if (!job_read_alertmanager(job, node, &r->defaults, &c->arena, &served, e))
			return false;
		if (served)
			VEC_PUSH(&c->alertmanagers, job);
	}
	return true;
}

static bool read_headers(struct remote_write_config *w, const struct yaml *map, struct arena *arena, struct error *e)
{
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "headers: expected a map of name: value");
	struct label *headers = ARENA_ARRAY(arena, struct label, map->count + 1);
	YAML_EACH (map, header) {
		bool clean = header->kind == YAML_SCALAR && str_find(header->key, ':') < 0;
		for (size_t i = 0; clean && i < header->text.len; i++)
			clean = (unsigned char)header->text.ptr[i] >= ' ';
		if (!clean)
			return yaml_error(header, e, "headers: no valid header");
		headers[w->header_count++] = (struct label){ arena_str(arena, header->key), arena_str(arena, header->text) };
	}
	w->headers = headers;
	return true;
}

static bool read_queue(struct remote_write_config *w, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "capacity", "max_shards", "min_shards", "max_samples_per_send", "batch_send_deadline",
		"min_backoff", "max_backoff", "retry_on_http_429", "sample_age_limit", NULL };
	double samples = (double)w->max_samples_per_send;
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "queue_config: expected a map");
	if (!yaml_only(map, keys, e) || !yaml_get_double(map, "max_samples_per_send", &samples, e) ||
		!job_read_duration(map, "min_backoff", &w->min_backoff_ms, e) ||
		!job_read_duration(map, "max_backoff", &w->max_backoff_ms, e) ||
		!job_read_duration(map, "sample_age_limit", &w->sample_age_limit_ms, e))
		return false;
	if (!(samples >= 1 && samples <= 1e6))
		return yaml_error(yaml_get(map, "max_samples_per_send"), e, "max_samples_per_send must be from 1 to 1000000");
	w->max_samples_per_send = (uint64_t)samples;
	return true;
}

static const char remote_protocol_2[] = "remote write 2.0 is not spoken here: leave protobuf_message out";

/* What stands here and is not served; NULL: all is. */
static const char *unserved(const struct remote_write_config *w, const struct yaml *map)
{
	struct str message = STR("prometheus.WriteRequest");
	if (w->access.unserved.len)
		return w->access.unserved.ptr;
	if (yaml_get(map, "sigv4"))
		return "sigv4";
	if (yaml_get(map, "azuread"))
		return "azuread";
	if (yaml_get(map, "google_iam"))
		return "google_iam";
	if (yaml_get_str(map, "protobuf_message", &message, NULL) && !str_is(message, "prometheus.WriteRequest"))
		return remote_protocol_2;
	return NULL;
}

static bool read_remote_write(struct config_reader *r, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "url", "remote_timeout", "headers", "write_relabel_configs", "name", "send_exemplars",
		"send_native_histograms", "queue_config", "metadata_config", "sigv4", "azuread", "google_iam", "protobuf_message",
		"round_robin_dns", ACCESS_KEYS, NULL };
	struct config *c = r->config;
	struct remote_write_config *w = ARENA_NEW(&c->arena, struct remote_write_config);
	*w = (struct remote_write_config){
		.timeout_ms = 30000, .max_samples_per_send = 2000, .min_backoff_ms = 30, .max_backoff_ms = 5000
	};
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "remote_write: expected a map with url");
	if (!yaml_only(map, keys, e) || !yaml_get_str(map, "url", &w->url, e) || !yaml_get_str(map, "name", &w->name, e) ||
		!job_read_duration(map, "remote_timeout", &w->timeout_ms, e) ||
		!access_read(&w->access, map, r->defaults.folder, &c->arena, e) ||
		!read_headers(w, yaml_get(map, "headers"), &c->arena, e) || !read_queue(w, yaml_get(map, "queue_config"), e))
		return false;
	if (!str_starts(w->url, STR("http://")) && !str_starts(w->url, STR("https://")))
		return yaml_error(
			yaml_get(map, "url") ? yaml_get(map, "url") : map, e, "remote_write: url must begin with http:// or https://");
	w->url = arena_str(&c->arena, w->url);
	w->name = arena_str(&c->arena, w->name);
	const char *no = unserved(w, map);
	if (no) {
		struct str text = arena_printf(&c->arena, "this remote_write is left out: %s is not served here", no);
		config_note(r, map, no == remote_protocol_2 ? no : text.ptr);
		return true;
	}
	bool exemplars = false, histograms = false;
	if (!yaml_get_bool(map, "send_exemplars", &exemplars, e) || !yaml_get_bool(map, "send_native_histograms", &histograms, e))
		return false;
	if (exemplars || histograms)
		config_note(r, map, "remote_write: exemplars and native histograms are left out: only samples are sent");
	if (!relabel_read(&w->relabel, yaml_get(map, "write_relabel_configs"), &c->arena, e))
		return false;
	VEC_PUSH(&c->remote_writes, w);
	return true;
}

bool config_remote_writes(struct config_reader *r, const struct yaml *list, struct error *e)
{
	if (!config_is_list(list, e))
		return false;
	YAML_EACH (list, map)
		if (!read_remote_write(r, map, e))
			return false;
	return true;
}
