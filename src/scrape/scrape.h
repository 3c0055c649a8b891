/* scrape: fetching pages of live targets. */
#ifndef GOODPUT_SCRAPE_SCRAPE_H
#define GOODPUT_SCRAPE_SCRAPE_H

#include "scrape/fleet.h"

struct scrape_options {
	const char *bearer_token, *ca_file;
	bool insecure;
	int64_t timeout_ms; /* 10000 */
	size_t max_bytes;   /* 64 MiB */
	size_t parallel;    /* 64 */
};
/* "localhost:8000", "http://h:8000", "http://h/custom/metrics", "h", ":8000" → full URL and short name. A bare host or port without a path
 * gets /metrics; https stays https. Directories of metric files (metric_files.h) get the URL "multiproc:DIR". False for what cannot be a
 * target. */
bool scrape_url(struct arena *arena, struct str text, struct str *url, struct str *name, struct error *e);
/* The request of one scrape. `url` ends with '\0' and stays; the rest is in the arena. */
void scrape_request(struct arena *arena, struct str url, const struct scrape_options *o, struct http_request *request);
/* The request that scrapes a target: as its job says, else as the options do (whose time-out and size limit win when they are given). False
 * when a secret of the job cannot be read. */
bool target_request(
	struct arena *arena, const struct target *t, const struct scrape_options *o, struct http_request *request, struct error *e);
/* Scrapes all targets once, at the same time, without ingesting: answers[i] belongs to targets[i]. */
void scrape_all(struct http_client *c, struct arena *arena, const struct fleet *f, const struct scrape_options *o,
	struct http_answer *answers, const volatile bool *stop);

#endif
