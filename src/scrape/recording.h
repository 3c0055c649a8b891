/* recording: scrapes of a fleet in a folder: scrapes.tsv (when, target, time_unix, file, http_status, content_type, duration_s) and one
 * body file each; optionally a column error, and limits.tsv (target, memory_limit_bytes), health.tsv. Format: docs/formats/recording.md. */
#ifndef GOODPUT_SCRAPE_RECORDING_H
#define GOODPUT_SCRAPE_RECORDING_H

#include "scrape/fleet.h"

/* One moment of a recording: scrapes that share a name (or a time where `when` is empty). */
struct recording_moment {
	struct str when;
	int64_t t_ms; /* of its newest scrape */
};
struct recording {
	struct recording_moment *moments; /* in time order */
	size_t moment_count;
};
bool recording_is(const char *path); /* a folder with scrapes.tsv */
/* Reads all into the fleet. Errors name file, line, column. A missing body file is an error; a body with an error is not (it is a scrape
 * outcome). */
bool recording_read(struct fleet *f, struct arena *arena, const char *path, struct recording *recording, struct error *e);
/* One saved page as a fleet of one target with one scrape at `t_ms`. */
bool recording_read_page(
	struct fleet *f, struct arena *arena, const char *path, int64_t t_ms, struct recording *recording, struct error *e);
/* Index of the moment that `text` names (`when`, a time, "first", "last"); -1 with an error listing the nearest names. */
ptrdiff_t recording_find(const struct recording *r, struct str text, struct error *e);

/* Writing. Redaction: label values that name models, hosts, users or paths can be replaced consistently; what remains is listed. */
struct recorder;
struct recorder_options {
	bool redact; /* true unless the user asked for the names as they are */
};
/* Options NULL: redacted. NULL with an error when the folder cannot be made or holds a recording already. */
struct recorder *recorder_new(const char *folder, const struct recorder_options *options, struct error *e);
bool recorder_add(struct recorder *r, struct str when, struct str target, const struct http_answer *answer, struct error *e);
/* What redaction replaced, by count, and the labels that it left as they are; one line. Before recorder_close. */
void recorder_summary(const struct recorder *r, struct buf *out);
bool recorder_close(struct recorder *r, struct error *e); /* frees it too */

#endif
