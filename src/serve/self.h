/* self: what the daemon counts of itself, and its /metrics page. */
#ifndef GOODPUT_SERVE_SELF_H
#define GOODPUT_SERVE_SELF_H

#include "base/buf.h"
#include "base/map.h"

struct self {
	struct map requests; /* "handler\0code" → struct self_request */
	uint64_t refused;    /* requests that were none */
	uint64_t scrapes, scrapes_failed, scrapes_skipped, samples, samples_refused;
	uint64_t received, received_refused; /* samples by remote write */
	uint64_t queries_canceled, queries_turned_away;
	uint64_t judgements, judgements_failed;
	double scrape_late_s, judgement_s, judgement_cpu_s, call_cpu_s; /* sums */
	uint64_t reloads, reloads_failed;
};

struct daemon;
void self_init(struct self *s);
void self_fini(struct self *s);
void self_count_request(struct self *s, const char *handler, int status, double seconds, size_t bytes);
/* The page, in the classic text format. */
void self_print(struct daemon *d, struct buf *out);

#endif
