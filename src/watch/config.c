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

static bool is_one_of(struct str word, const char *const *words)
{
	while (*words && !str_is(word, *words))
		words++;
	return *words != NULL;
}

/* What of the job is not done here. How often to scrape is the command's business: that goes without saying. */
static void job_note(const struct yaml *node, const struct job *job)
{
	static const char *const read[] = { "job_name", "scheme", "metrics_path", "static_configs", "scrape_interval", NULL };
	static const char *const secret[] = { "basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file", "tls_config",
		NULL };

	YAML_EACH (node, member) {
		if (is_one_of(member->key, read))
			continue;
		if (str_ends(member->key, STR("_sd_configs")))
			log_note("job \"" STR_FMT "\": " STR_FMT
				 " is not served here: name its targets, or ask its Prometheus (--prometheus)",
				STR_ARG(job->name), STR_ARG(member->key));
		else
			log_note("job \"" STR_FMT "\": " STR_FMT " is not read%s", STR_ARG(job->name), STR_ARG(member->key),
				is_one_of(member->key, secret) ? ": use --bearer-token-file, --ca-file or --insecure" : "");
	}
}

/* Adds the static labels of a group to the target's. */
static bool target_label(struct target *t, const struct yaml *labels, struct error *e)
{
	struct labels_builder b;

	labels_builder_init(&b, t->labels);
	YAML_EACH (labels, label) {
		if (label->kind != YAML_SCALAR)
			return yaml_error(label, e, "labels: expected a text");
		labels_builder_set(&b, label->key, label->text);
	}
	if (b.overflowed)
		return yaml_error(labels, e, "labels: at most %zu with job and instance", ARRAY_LEN(b.items));
	/* The builder borrows from the old set. */
	struct labels *extended = labels_builder_build(&b);

	labels_unref(t->labels);
	t->labels = extended;
	return true;
}

static bool group_read(struct watch *w, const struct job *job, const struct yaml *group, struct error *e)
{
	const struct yaml *targets = yaml_get(group, "targets"), *labels = yaml_get(group, "labels");

	if (!targets || targets->kind != YAML_LIST)
		return yaml_error(targets ? targets : group, e, "static_configs: expected targets: [host:port, ...]");
	if (labels && labels->kind != YAML_MAP && !yaml_is_null(labels))
		return yaml_error(labels, e, "labels: expected name: value");
	YAML_EACH (targets, target) {
		struct error why = { 0 };
		struct str url, name;
		struct str text = arena_printf(
			&w->arena, STR_FMT "://" STR_FMT STR_FMT, STR_ARG(job->scheme), STR_ARG(target->text), STR_ARG(job->path));

		if (!scrape_url(&w->arena, text, &url, &name, &why))
			return yaml_error(target, e, "%s", why.message);
		if (!target_label(fleet_target(&w->data.fleet, name, url, job->name), labels, e))
			return false;
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

		if (groups && groups->kind != YAML_LIST && !yaml_is_null(groups))
			return yaml_error(groups, e, "static_configs: expected a list of targets and labels");
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
