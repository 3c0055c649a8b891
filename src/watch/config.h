/* config: a goodput.yaml or prometheus.yml, read whole and checked; nothing is started.
 *
 * Unknown keys are errors, with the nearest known one. What we know and cannot serve is left out, with a note that says where it is and
 * what to do. The catalogue's own sections (pools, signals ...) are read elsewhere, by catalog_load. */
#ifndef GOODPUT_WATCH_CONFIG_H
#define GOODPUT_WATCH_CONFIG_H

#include "base/vec.h"
#include "scrape/job.h"

/* One entry of remote_write. */
struct remote_write_config {
	struct str name, url;
	int64_t timeout_ms;
	struct access access;
	const struct label *headers; /* sent as they are */
	size_t header_count;
	struct relabel relabel; /* write_relabel_configs */
	/* queue_config; the rest of it is about queues in memory, which ours is not */
	uint64_t max_samples_per_send;
	int64_t min_backoff_ms, max_backoff_ms, sample_age_limit_ms; /* age 0: none */
};

struct config {
	struct arena arena;
	struct str source, text; /* file name and its bytes, for /api/v1/status/config */
	int64_t scrape_interval_ms, scrape_timeout_ms, evaluation_interval_ms, rule_query_offset_ms;
	const struct label *external_labels; /* sorted; ${NAME} in values is replaced from the environment */
	size_t external_label_count;
	VEC(struct job *) jobs;
	VEC(const char *) rule_files;    /* names that the patterns gave when it was read, in order */
	VEC(struct str) rule_patterns;   /* as written, relative to the file's folder */
	VEC(struct job *) alertmanagers; /* for discovery_new: is_alertmanager */
	struct relabel alert_relabel;    /* alert_relabel_configs */
	VEC(struct remote_write_config *) remote_writes;
	VEC(struct str) notes; /* "file:line: what is left out": for people */
};

/* NULL with an error: nothing of it is to be used. */
struct config *config_read(const char *path, struct error *e);
/* Of a text. Without look_at_files, rule_files and scrape_config_files are only checked. */
struct config *config_parse(struct str source, struct str text, bool look_at_files, struct error *e);
void config_free(struct config *c);
/* Tells all notes on stderr. */
void config_log_notes(const struct config *c);

#endif
