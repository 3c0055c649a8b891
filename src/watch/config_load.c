#include "base/file.h"
#include "base/log.h"
#include "watch/config_internal.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONFIG_FILE_MAX = 16 << 20 };

void config_note(void *reader, const struct yaml *node, const char *text)
{
	struct config *c = ((struct config_reader *)reader)->config;
	int line = node->key.len && node->key_line ? node->key_line : node->line;
	VEC_PUSH(&c->notes, arena_printf(&c->arena, STR_FMT ":%d: %s", STR_ARG(c->source), line, text));
}

void config_log_notes(const struct config *c)
{
	VEC_EACH (&c->notes, note)
		log_note(STR_FMT, STR_ARG(*note));
}

bool config_is_list(const struct yaml *node, struct error *e)
{
	if (!node || yaml_is_null(node) || node->kind == YAML_LIST)
		return true;
	return yaml_error(node, e, "\"" STR_FMT "\" must be a list", STR_ARG(node->key));
}

/* $NAME and ${NAME} from the environment; what is not set is empty; "$$" is a dollar sign. */
static struct str expand_environment(struct arena *arena, struct str text)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	for (size_t i = 0; i < text.len; i++) {
		size_t braces = i + 1 < text.len && text.ptr[i + 1] == '{', end = i + 1 + braces;
		if (text.ptr[i] != '$' || i + 1 == text.len) {
			buf_add_c(&out, text.ptr[i]);
			continue;
		}
		if (text.ptr[i + 1] == '$') {
			buf_add_c(&out, '$');
			i++;
			continue;
		}
		while (end < text.len && (braces ? text.ptr[end] != '}'
						 : label_name_is_classic(str_of(text.ptr + end, 1), false) ||
								 (end > i + 1 && text.ptr[end] >= '0' && text.ptr[end] <= '9')))
			end++;
		const char *name = arena_cstr(arena, str_of(text.ptr + i + 1 + braces, end - i - 1 - braces)), *value = getenv(name);
		if (end == i + 1)
			buf_add_c(&out, '$');
		buf_add_cstr(&out, value ? value : "");
		i = braces && end < text.len ? end : end - 1;
	}
	struct str expanded = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return expanded;
}

static int label_compare(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static bool read_external_labels(struct config *c, const struct yaml *map, struct error *e)
{
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "external_labels: expected a map of name: value");
	struct label *labels = ARENA_ARRAY(&c->arena, struct label, map->count + 1);
	YAML_EACH (map, label) {
		if (label->kind != YAML_SCALAR || !label_name_is_classic(label->key, false))
			return yaml_error(label, e, "external_labels: \"" STR_FMT "\" must be a label name with a text",
				STR_ARG(str_head(label->key, 60)));
		labels[c->external_label_count++] =
			(struct label){ arena_str(&c->arena, label->key), expand_environment(&c->arena, label->text) };
	}
	if (c->external_label_count)
		qsort(labels, c->external_label_count, sizeof *labels, label_compare);
	c->external_labels = labels;
	return true;
}

static bool read_global(struct config_reader *r, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "scrape_interval", "scrape_timeout", "scrape_protocols", "evaluation_interval",
		"rule_query_offset", "external_labels", "query_log_file", "scrape_failure_log_file", "body_size_limit", "sample_limit",
		"label_limit", "label_name_length_limit", "label_value_length_limit", "target_limit", "keep_dropped_targets",
		"metric_name_validation_scheme", "metric_name_escaping_scheme", "scrape_native_histograms",
		"convert_classic_histograms_to_nhcb", "always_scrape_classic_histograms", "extra_scrape_metrics", NULL };
	struct config *c = r->config;
	int64_t timeout_ms = 0;
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "global: expected a map");
	if (!yaml_only(map, keys, e) || !job_read_duration(map, "scrape_interval", &c->scrape_interval_ms, e) ||
		!job_read_duration(map, "scrape_timeout", &timeout_ms, e) ||
		!job_read_duration(map, "evaluation_interval", &c->evaluation_interval_ms, e) ||
		!job_read_duration(map, "rule_query_offset", &c->rule_query_offset_ms, e) ||
		!job_read_limits(&r->defaults.limits, map, e) || !read_external_labels(c, yaml_get(map, "external_labels"), e))
		return false;
	if (!c->scrape_interval_ms || !c->evaluation_interval_ms)
		return yaml_error(map, e, "global: an interval cannot be 0");
	if (timeout_ms > c->scrape_interval_ms)
		return yaml_error(yaml_get(map, "scrape_timeout"), e, "global: scrape_timeout is longer than scrape_interval");
	if (yaml_get(map, "query_log_file"))
		config_note(r, yaml_get(map, "query_log_file"), "query_log_file is left out: no query log is written");
	c->scrape_timeout_ms = timeout_ms                                     ? timeout_ms
			       : c->scrape_interval_ms < c->scrape_timeout_ms ? c->scrape_interval_ms
									      : c->scrape_timeout_ms;
	return true;
}

static bool check_name(const struct config *c, const struct job *job, const struct yaml *node, struct error *e)
{
	VEC_EACH (&c->jobs, other)
		if (str_eq((*other)->name, job->name))
			return yaml_error(yaml_get(node, "job_name"), e, "a second job with job_name \"" STR_FMT "\"",
				STR_ARG(str_head(job->name, 80)));
	return true;
}

static bool read_jobs(struct config_reader *r, const struct yaml *list, struct error *e)
{
	struct config *c = r->config;
	if (!config_is_list(list, e))
		return false;
	YAML_EACH (list, node) {
		struct job *job = ARENA_NEW(&c->arena, struct job);
		bool served;
		if (!job_read(job, node, &r->defaults, &c->arena, &served, e))
			return false;
		if (!check_name(c, job, node, e)) {
			job_fini(job);
			return false;
		}
		if (served)
			VEC_PUSH(&c->jobs, job);
	}
	return true;
}

/* One of scrape_config_files: a file with scrape_configs only. */
static bool read_job_file(struct config_reader *r, const char *path, struct error *e)
{
	static const char *const keys[] = { "scrape_configs", NULL };
	struct config *c = r->config;
	struct str text, before = c->source;
	if (!file_read(&c->arena, path, CONFIG_FILE_MAX, &text, e))
		return false;
	c->source = arena_str(&c->arena, str_from(path));
	struct yaml *root = yaml_parse(&c->arena, c->source, text, e);
	bool ok = root && yaml_only(root, keys, e) && read_jobs(r, yaml_get(root, "scrape_configs"), e);
	c->source = before;
	return ok;
}

static bool read_job_files(struct config_reader *r, const struct yaml *list, struct error *e)
{
	bool ok = config_is_list(list, e);
	YAML_EACH (ok ? list : NULL, name) {
		glob_t found;
		struct str pattern = access_path(&r->config->arena, r->defaults.folder, name->text);
		if (!r->look_at_files || glob(pattern.ptr, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; ok && i < found.gl_pathc; i++)
			ok = read_job_file(r, found.gl_pathv[i], e);
		globfree(&found);
	}
	return ok;
}

static void note_sections(struct config_reader *r, const struct yaml *root)
{
	static const struct {
		const char *key, *text;
	} left_out[] = {
		{ "remote_read", "remote_read is left out: ask that server directly, with --prometheus URL" },
		{ "storage", "storage is left out: the store's own options say how much is kept" },
		{ "tracing", "tracing is left out" },
		{ "otlp", "otlp is left out: metrics come by scrape or remote write" },
	};
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		if (yaml_get(root, left_out[i].key))
			config_note(r, yaml_get(root, left_out[i].key), left_out[i].text);
}

static bool read_root(struct config_reader *r, const struct yaml *root, struct error *e)
{
	static const char *const keys[] = { "global", "runtime", "alerting", "rule_files", "scrape_config_files", "scrape_configs",
		"storage", "tracing", "remote_write", "remote_read", "otlp", /* and the catalogue's: */ "metrics", "engines", "signals",
		"findings", "pools", "engine", NULL };
	if (root->kind != YAML_MAP)
		return yaml_error(root, e, "a configuration is a map with global, scrape_configs, rule_files ...");
	if (!yaml_only(root, keys, e) || !read_global(r, yaml_get(root, "global"), e))
		return false;
	r->defaults.interval_ms = r->config->scrape_interval_ms;
	r->defaults.timeout_ms = r->config->scrape_timeout_ms;
	note_sections(r, root);
	return read_jobs(r, yaml_get(root, "scrape_configs"), e) && read_job_files(r, yaml_get(root, "scrape_config_files"), e) &&
	       config_rule_files(r, yaml_get(root, "rule_files"), e) && config_alerting(r, yaml_get(root, "alerting"), e) &&
	       config_remote_writes(r, yaml_get(root, "remote_write"), e);
}

static struct str folder_of(struct arena *arena, struct str path)
{
	size_t length = path.len;
	while (length && path.ptr[length - 1] != '/')
		length--;
	return arena_str(arena, str_head(path, length > 1 ? length - 1 : length));
}

struct config *config_parse(struct str source, struct str text, bool look_at_files, struct error *e)
{
	struct config *c = NEW(struct config);
	arena_init(&c->arena);
	c->source = arena_str(&c->arena, source);
	c->text = arena_str(&c->arena, text);
	c->scrape_interval_ms = c->evaluation_interval_ms = 60000;
	c->scrape_timeout_ms = 10000;
	struct config_reader r = { c, { .note = config_note, .folder = folder_of(&c->arena, c->source) }, look_at_files };
	r.defaults.context = &r;
	struct yaml *root = yaml_parse(&c->arena, c->source, c->text, e);
	if (root && read_root(&r, root, e))
		return c;
	config_free(c);
	return NULL;
}

struct config *config_read(const char *path, struct error *e)
{
	struct arena arena;
	struct str text;
	arena_init(&arena);
	bool ok = file_read(&arena, path, CONFIG_FILE_MAX, &text, e);
	struct config *c = ok ? config_parse(str_from(path), text, true, e) : NULL;
	arena_fini(&arena);
	return c;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	VEC_EACH (&c->jobs, job)
		job_fini(*job);
	VEC_EACH (&c->alertmanagers, job)
		job_fini(*job);
	VEC_EACH (&c->remote_writes, w)
		relabel_fini(&(*w)->relabel);
	relabel_fini(&c->alert_relabel);
	VEC_FREE(&c->jobs);
	VEC_FREE(&c->alertmanagers);
	VEC_FREE(&c->remote_writes);
	VEC_FREE(&c->rule_files);
	VEC_FREE(&c->rule_patterns);
	VEC_FREE(&c->notes);
	arena_fini(&c->arena);
	mem_free(c);
}
