/* payload: notices as request bodies. */
#ifndef GOODPUT_RULES_PAYLOAD_H
#define GOODPUT_RULES_PAYLOAD_H

#include "base/buf.h"
#include "rules/outbox.h"

/* For POST /api/v2/alerts of an Alertmanager. `external_url` is for the link to the query. */
void payload_alertmanager(struct buf *out, const struct notice *const *list, size_t count, struct str external_url);
/* As an Alertmanager calls webhooks (version "4"), so that whoever takes those takes ours; one group for all. */
void payload_webhook(struct buf *out, const struct notice *const *list, size_t count, struct str external_url, struct str receiver);
/* The fingerprint that an Alertmanager gives an alert. */
uint64_t payload_fingerprint(const struct labels *l);

#endif
