/* notify: alerts to Alertmanagers and webhooks, on the daemon's loop. Without receivers nothing is kept or sent.
 *
 * Each receiver has its own outbox, so that one that is away holds up nobody. What failed is tried again (no answer, 429, 5xx) with
 * back-off; what is refused (another 4xx) is dropped, counted and logged. All calls come from the loop's thread, or while it waits. */
#ifndef GOODPUT_RULES_NOTIFY_H
#define GOODPUT_RULES_NOTIFY_H

#include "net/fetcher.h"
#include "rules/outbox.h"
#include "rules/rules.h"

enum receiver_kind { RECEIVER_ALERTMANAGER, RECEIVER_WEBHOOK };

struct receiver {
	enum receiver_kind kind;
	/* url: of the whole path (http://host:9093/api/v2/alerts); headers without Content-Type, credentials, TLS, proxy, timeout_ms. No
	 * body. */
	struct http_request request;
	struct str name;   /* of a webhook, told in its body; "goodput" when empty */
	int64_t repeat_ms; /* of a webhook: firing alerts are told again after this; 0: never */
	bool without_resolved;
};

struct receiver_stats { /* for /metrics */
	const char *url;
	enum receiver_kind kind;
	uint64_t told, refused, dropped, retried;
	size_t waiting;
	int64_t last_told_ms;   /* 0: never */
	const char *last_error; /* "" after a success */
};

struct notifier;
struct notifier *notifier_new(uv_loop_t *loop, struct fetcher *fetcher, const struct rules_options *options);
/* The loop must run on. */
void notifier_close(struct notifier *n);
/* Keeps what receivers are still to be told, and have been told, in this file from now on: it is read now, and notifier_keep writes it
 * again when that has changed. A file that cannot be read is left out, with a warning. */
void notifier_keep_in(struct notifier *n, const char *path);
/* To be called every second or so, and before the end. */
void notifier_keep(struct notifier *n);
/* The receivers from now on; copied. Those with a URL that was there keep what waits for them. */
void notifier_set_receivers(struct notifier *n, const struct receiver *receivers, size_t count);
/* After a reload: other external labels, another URL. */
void notifier_set_options(struct notifier *n, const struct rules_options *options);
/* For rules_evaluate and finding_rules_evaluate; valid as long as the notifier. */
const struct rules_receiver *notifier_receiver(struct notifier *n);
size_t notifier_receivers(const struct notifier *n);
struct receiver_stats notifier_stats(const struct notifier *n, size_t which);

#endif
