/* dns: the records of an answer as target groups; sans-IO. */
#ifndef GOODPUT_SCRAPE_DNS_H
#define GOODPUT_SCRAPE_DNS_H

#include "scrape/job.h"

/* Reads an answer to a question for `name`. False when it is no valid DNS answer. Other records than those asked for are skipped. */
bool dns_read(const unsigned char *answer, size_t size, struct str name, enum dns_kind kind, int port, struct groups *groups,
	struct arena *arena, struct error *e);
/* "host:port", "[v6]:port" */
struct str address_join(struct arena *arena, struct str host, struct str port);

#endif
