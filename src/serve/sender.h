/* sender: remote write out. A tee stands in front of the store's sink and gives what the store took to the senders as well; each sender has
 * a queue on disk and a thread that empties it.
 *
 * An engine that does not answer, answers 5xx, 429, or refuses us as such (401, 403, 404, 407, 408) is tried again, with growing pauses,
 * until the queue's limit. Any other 4xx is about the samples: they are given up and counted. */
#ifndef GOODPUT_SERVE_SENDER_H
#define GOODPUT_SERVE_SENDER_H

#include "model/sink.h"
#include "serve/queue.h"
#include "watch/config.h"

struct sender;
/* `config` and `external` (labels that a series gets when it has no such label) must outlive it. Sends from then on. */
struct sender *sender_open(const struct remote_write_config *config, const struct label *external, size_t external_count,
	const char *folder, const struct queue_options *options, struct error *e);
/* Writes down what is pending, breaks off what is on its way (it is sent again), and ends the thread. */
void sender_close(struct sender *s);
/* Makes durable what was given to it: to be called with store_commit. False while the disk does not take it; it stays pending. */
bool sender_commit(struct sender *s, struct error *e);

struct sender_stats {
	struct queue_stats queue;
	uint64_t samples_sent, samples_failed; /* failed: given up after a 4xx, too old, or not taken by the disk for too long */
	uint64_t requests, retries;
	int64_t newest_sent_ms; /* of samples; 0: none */
	char error[400];        /* of the last try; empty: it went well */
};
void sender_stats(struct sender *s, struct sender_stats *stats);
const struct remote_write_config *sender_config(const struct sender *s);

/* The sink to write to instead of `inner`. */
struct tee;
struct tee *tee_new(struct sink *inner);
void tee_free(struct tee *t);
struct sink *tee_sink(struct tee *t);
/* Who gets samples from now on; borrowed. */
void tee_set_senders(struct tee *t, struct sender *const *senders, size_t count);

#endif
