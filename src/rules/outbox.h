/* outbox: what one receiver is still to be told. Sans-IO: time is handed in, someone else sends.
 *
 * It holds the newest word on each alert, so that it is bounded by the number of alerts however long the receiver is away, and nothing that
 * ended meanwhile is told as firing. A failed send is tried again after 1 s, then twice as long each time, up to a minute. */
#ifndef GOODPUT_RULES_OUTBOX_H
#define GOODPUT_RULES_OUTBOX_H

#include "base/map.h"
#include "rules/alerts.h"

struct notice {                      /* one alert, as it was when it was told */
	const struct labels *labels; /* external ones added */
	struct pairs annotations;
	bool resolved;
	int64_t starts_ms, ends_ms;
	struct str query; /* own copy */
};

struct outbox_options {
	bool only_changes; /* a firing alert is told once, and again after `repeat_ms`; else each time that it is put in */
	int64_t repeat_ms; /* 0: never */
	bool without_resolved;
	size_t batch, capacity;                /* 64; 10000 alerts */
	int64_t retry_least_ms, retry_most_ms; /* 1000, 60000 */
};
extern const struct outbox_options outbox_defaults;

struct outbox {
	struct outbox_options options;
	struct map entries; /* by the labels */
	size_t waiting;     /* to be told */
	bool sending;
	unsigned failures; /* in a row */
	int64_t not_before_ms;
	uint64_t told, refused, dropped, retried; /* alerts; alerts; alerts; sends */
	uint64_t changes;                         /* of what outbox_print prints */
	int64_t restored_ms;                      /* 0: nothing was read */
};

void outbox_init(struct outbox *o, const struct outbox_options *options);
void outbox_fini(struct outbox *o);
/* Copies the notice. */
void outbox_put(struct outbox *o, const struct notice *n, int64_t now_ms);
/* When the next send may begin; INT64_MAX: nothing waits, or one is on its way. */
int64_t outbox_due(const struct outbox *o);
/* Begins a send: at most `batch` notices, valid until outbox_end. 0: nothing is due. `list` has room for options.batch. */
size_t outbox_begin(struct outbox *o, const struct notice **list, int64_t now_ms);
enum outbox_result { OUTBOX_TOLD, OUTBOX_RETRY, OUTBOX_REFUSED /* it will never be taken */ };
void outbox_end(struct outbox *o, enum outbox_result result, int64_t now_ms);

/* outbox_file.c: an outbox outlives its process. */
struct json;
/* As a list in an open document. What is on its way counts as waiting. */
void outbox_print(const struct outbox *o, struct json *j, const char *key);
/* {"receivers": {NAME: what was printed}} of a file; NULL after a warning. */
struct outbox_document;
struct outbox_document *outbox_document_load(const char *path);
void outbox_document_free(struct outbox_document *d);
/* Puts in what is there of this name, once; what is no notice is left out. */
void outbox_document_take(struct outbox_document *d, const char *name, struct outbox *o, int64_t now_ms);
/* Of what was read, what nobody has spoken of for a quarter of an hour has ended: its receiver is told so. */
void outbox_settle(struct outbox *o, int64_t now_ms);

#endif
