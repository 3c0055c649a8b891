/* remote: a Prometheus-compatible HTTP API as a backend: Prometheus, Thanos, Mimir/Cortex, VictoriaMetrics. Queries are pushed down;
 * `select` fetches raw samples with an instant query over a range selector, in pieces that stay under the server's limits. */
#ifndef GOODPUT_PROMQL_REMOTE_H
#define GOODPUT_PROMQL_REMOTE_H

#include "promql/backend.h"

struct remote_options {
	const char *url;          /* base, with or without /api/v1 */
	const char *match;        /* "{job=\"vllm\"}" or NULL: matchers added to every select */
	const char *tenant;       /* X-Scope-OrgID, or NULL */
	const char *bearer_token; /* or NULL */
	const char *ca_file;      /* or NULL */
	bool insecure;            /* do not verify TLS */
	int64_t timeout_ms;       /* of one request; 30000 */
	int64_t budget_ms;        /* of all requests together; 0 = none */
	/* HA pairs: series equal but for these labels are one, and lose them; NULL-terminated. NULL = detect: prometheus_replica,
	 * __replica__, and replica where `up` has it too (applications have labels of that name). */
	const char *const *replica_labels;
	const volatile bool *stop; /* true ends a request in progress, as interrupted; NULL: nothing does */
};
struct remote_stats {
	size_t requests, bytes, samples;
	int64_t elapsed_ms;
	size_t replicas_dropped;  /* series left out as HA twins */
	struct str replica_label; /* by which; empty = none seen */
	struct str warnings[8];   /* partial answers (Thanos), as the server words them; deduplicated */
	size_t warning_count;
	struct str server; /* "Prometheus 2.42.0", "VictoriaMetrics", from status/buildinfo; may be empty */
};

/* NULL with an error when the URL does not answer as a Prometheus API (refused, 401, 404, HTML ... told apart). */
struct backend *backend_remote_new(const struct remote_options *options, struct error *e);
const struct remote_stats *backend_remote_stats(const struct backend *b);
/* Is there a Prometheus-compatible API at this URL? One cheap request. For `check URL` that turns out to be one. */
bool backend_remote_probe(const struct remote_options *options);

#endif
