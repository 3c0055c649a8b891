/* job: one scrape_config, and the ways its targets are found, as plain data. What it takes to run it is discovery.h. */
#ifndef GOODPUT_SCRAPE_JOB_H
#define GOODPUT_SCRAPE_JOB_H

#include "scrape/access.h"
#include "scrape/relabel.h"

/* Targets that one source tells together: each target has its own labels (__address__ at least) over the group's. */
struct group_target {
	const struct label *labels;
	size_t count;
};
struct target_group {
	const struct label *labels;
	size_t label_count;
	const struct group_target *targets;
	size_t target_count;
};
struct groups {
	struct target_group *items;
	size_t count;
};

enum sd_kind { SD_STATIC, SD_FILE, SD_HTTP, SD_DNS, SD_KUBERNETES };
enum kubernetes_role {
	KUBERNETES_NODE,
	KUBERNETES_POD,
	KUBERNETES_SERVICE,
	KUBERNETES_ENDPOINTS,
	KUBERNETES_ENDPOINT_SLICE,
	KUBERNETES_INGRESS,
	KUBERNETES_ROLES
};
enum dns_kind { DNS_SRV, DNS_A, DNS_AAAA };

/* One entry of a *_sd_configs list. */
struct sd {
	enum sd_kind kind;
	struct str identity;     /* equal for equal entries: jobs share what they ask */
	struct groups groups;    /* static */
	const struct str *names; /* files (patterns), DNS names, namespaces */
	size_t name_count;
	int64_t refresh_ms;
	struct str url; /* HTTP; the Kubernetes API server, empty: as inside a pod */
	struct access access;
	enum dns_kind dns;
	int port; /* DNS A and AAAA */
	enum kubernetes_role role;
	bool own_namespace, attach_node;
	struct str label_selector[KUBERNETES_ROLES], field_selector[KUBERNETES_ROLES];
};

/* What is done to the samples of its targets. Zero: no limit. */
struct job_limits {
	size_t body_bytes;
	uint64_t samples, labels, label_name_length, label_value_length, targets;
};

struct job_param {
	struct str name;
	const struct str *values;
	size_t count;
};

struct job {
	struct str name;
	int64_t interval_ms, timeout_ms;
	struct str scheme, path;
	const struct job_param *params; /* sorted by name */
	size_t param_count;
	bool honor_labels, ignore_timestamps;
	struct job_limits limits;
	struct access access;
	struct sd *sds;
	size_t sd_count;
	struct relabel relabel, metric_relabel;
	bool is_alertmanager; /* `path` is its __alerts_path__ */
};

/* What a job takes from `global`, and from where it is read. */
struct job_defaults {
	int64_t interval_ms, timeout_ms;
	struct job_limits limits;
	struct str folder; /* of the file: relative names are below it */
	/* Called for what is left out, with where it is. */
	void (*note)(void *context, const struct yaml *node, const char *text);
	void *context;
};

/* Reads one scrape config. All lives in the arena but regular expressions: job_fini. *served is false when the job was left out, which a
 * note told. Unknown keys are errors. */
bool job_read(
	struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, bool *served, struct error *e);
/* One of alerting.alertmanagers. */
bool job_read_alertmanager(
	struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, bool *served, struct error *e);
void job_fini(struct job *job);
/* Fields of several: also used by `global`. */
bool job_read_limits(struct job_limits *limits, const struct yaml *map, struct error *e);
bool job_read_duration(const struct yaml *map, const char *key, int64_t *ms, struct error *e);
/* The *_sd_configs and static_configs of a map. */
bool sd_read_all(struct job *job, const struct yaml *map, const struct job_defaults *defaults, struct arena *arena, struct error *e);
bool sd_is_key(struct str key);

/* Target groups as file_sd and http_sd give them: [{"targets": [...], "labels": {...}}]. */
bool groups_read_yaml(struct groups *g, const struct yaml *list, struct arena *arena, struct error *e);
bool groups_read_json(struct groups *g, struct str text, struct arena *arena, struct error *e);

#endif
