/* serve: the monitor as a daemon: scrapes, keeps, judges, and answers over HTTP. */
#ifndef GOODPUT_SERVE_SERVE_H
#define GOODPUT_SERVE_SERVE_H

#include "serve/web_config.h"
#include "watch/watch.h"

struct serve_options {
	struct watch_options watch; /* targets, configuration, catalogue, how to reach targets */
	const char *host;           /* "127.0.0.1" */
	int64_t port;               /* 9470; 0: any free one */
	const char *token;          /* clients must show it; or NULL */
	struct web_tls_options tls; /* of the listener */
	bool open;                  /* listen beyond this machine without a token */
	int64_t scrape_interval_ms, evaluation_interval_ms, window_ms;
	int64_t query_timeout_ms;
	int64_t query_samples;
	int64_t backend_requests;    /* a minute, to watch.remote.url: which is watched instead of targets when it is given */
	const char *const *webhooks; /* told of alerts */
	size_t webhook_count;
	int64_t webhook_repeat_ms;
	bool json;              /* says on standard output where it listens, as JSON */
	bool receive;           /* remote write */
	bool finding_alerts;    /* findings are alerts too */
	const char *store_path; /* NULL: in memory, without retention */
	struct store_options store;
};

/* Runs until *stop. False with an error when it cannot start. */
bool serve_run(const struct serve_options *options, const volatile bool *stop, struct error *e);

#endif
