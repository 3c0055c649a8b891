/* Static targets of a goodput.yaml or prometheus.yml. What we cannot serve is skipped with a note, so that an existing file is a good
 * start. */
#include "base/file.h"
#include "base/log.h"
#include "watch/pipeline.h"

enum { CONFIG_FILE_MAX = 16 << 20 };

struct job {
	struct str name, scheme, path;
};

static bool job_read(const struct yaml *node, struct job *job, struct error *e)
{
	*job = (struct job){ .name = STR(""), .scheme = STR("http"), .path = STR("/metrics") };
	if (node->kind != YAML_MAP)
		return yaml_error(node, e, "scrape_configs: expected a job with job_name and static_configs");
	if (!yaml_get_str(node, "job_name", &job->name, e) || !yaml_get_str(node, "scheme", &job->scheme, e) ||
		!yaml_get_str(node, "metrics_path", &job->path, e))
		return false;
	if (!str_is(job->scheme, "http") && !str_is(job->scheme, "https"))
		return yaml_error(yaml_get(node, "scheme"), e, "scheme: \"" STR_FMT "\" is not http or https", STR_ARG(job->scheme));
	return true;
}

static void job_note(const struct yaml *node, const struct job *job)
{
	static const char *const secret[] = { "basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file", "tls_config" };

	YAML_EACH (node, member)
		if (str_ends(member->key, STR("_sd_configs")))
			log_note("job \"" STR_FMT "\": " STR_FMT
				 " is not served here: name its targets, or ask its Prometheus (--prometheus)",
				STR_ARG(job->name), STR_ARG(member->key));
	for (size_t i = 0; i < ARRAY_LEN(secret); i++)
		if (yaml_get(node, secret[i]))
			log_note("job \"" STR_FMT "\": %s is not read: use --bearer-token-file, --ca-file or --insecure",
				STR_ARG(job->name), secret[i]);
}

/* Adds the static labels of a group to the target's. */
static void target_label(struct target *t, const struct yaml *labels)
{
	struct labels_builder *b = NEW(struct labels_builder);

	labels_builder_init(b, t->labels);
	YAML_EACH (labels, label)
		labels_builder_set(b, label->key, label->text);
	/* The builder borrows from the old set. */
	struct labels *extended = labels_builder_build(b);

	labels_unref(t->labels);
	t->labels = extended;
	mem_free(b);
}

static bool group_read(struct watch *w, const struct job *job, const struct yaml *group, struct error *e)
{
	const struct yaml *targets = yaml_get(group, "targets"), *labels = yaml_get(group, "labels");

	if (!targets || targets->kind != YAML_LIST)
		return yaml_error(targets ? targets : group, e, "static_configs: expected targets: [host:port, ...]");
	YAML_EACH (targets, target) {
		struct error why = { 0 };
		struct str url, name;
		struct str text = arena_printf(
			&w->arena, STR_FMT "://" STR_FMT STR_FMT, STR_ARG(job->scheme), STR_ARG(target->text), STR_ARG(job->path));

		if (!scrape_url(&w->arena, text, &url, &name, &why))
			return yaml_error(target, e, "%s", why.message);
		target_label(fleet_target(&w->data.fleet, name, url, job->name), labels);
	}
	return true;
}

static bool jobs_read(struct watch *w, const struct yaml *jobs, struct error *e)
{
	if (jobs && jobs->kind != YAML_LIST)
		return yaml_error(jobs, e, "scrape_configs: expected a list of jobs");
	YAML_EACH (jobs, node) {
		struct job job;

		if (!job_read(node, &job, e))
			return false;
		job_note(node, &job);
		const struct yaml *groups = yaml_get(node, "static_configs");

		YAML_EACH (groups, group)
			if (!group_read(w, &job, group, e))
				return false;
	}
	return true;
}

bool config_targets(struct watch *w, struct error *e)
{
	const char *path = w->options.config_file;
	struct str text;

	/* Targets that were named are meant alone: the file then gives pools and catalogue only. */
	if (!path || w->data.fleet.targets.count)
		return true;
	if (!file_read(&w->arena, path, CONFIG_FILE_MAX, &text, e))
		return false;
	struct yaml *root = yaml_parse(&w->arena, str_from(path), text, e);

	return root && jobs_read(w, yaml_get(root, "scrape_configs"), e);
}
