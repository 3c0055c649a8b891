/* fleet: targets and the log of their scrapes, whoever made them: live scrapes, a recording, saved pages, or a remote Prometheus's `up`.
 * Samples are in the store; this is what samples cannot say: that a target did not answer, and why. */
#ifndef GOODPUT_SCRAPE_FLEET_H
#define GOODPUT_SCRAPE_FLEET_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "expo/expo.h"
#include "model/labels.h"
#include "model/sink.h"
#include "net/http.h"

#include <stdbool.h>
#include <stdint.h>

enum scrape_outcome {
	SCRAPE_OK,
	SCRAPE_PARTIAL,   /* the page has an error: up 0, whole lines before it are kept */
	SCRAPE_NO_ANSWER, /* time-out */
	SCRAPE_REFUSED,
	SCRAPE_NO_HOST,
	SCRAPE_UNREACHABLE,
	SCRAPE_TLS,
	SCRAPE_UNAUTHORIZED, /* 401, 403 */
	SCRAPE_REDIRECT,     /* 3xx that was not followed */
	SCRAPE_NOT_FOUND,    /* 404, 405 */
	SCRAPE_HTTP_STATUS,  /* any other status than 200 */
	SCRAPE_EMPTY,        /* 200 with an empty body, or comments only */
	SCRAPE_HTML,         /* 200 with a web page */
	SCRAPE_JSON,         /* 200 with JSON (TensorRT-LLM's plain /metrics) */
	SCRAPE_CUT,          /* connection ended inside the body; whole lines are kept */
	SCRAPE_TOO_LARGE,
	SCRAPE_BAD_ENCODING, /* broken gzip, invalid UTF-8 */
	SCRAPE_NOT_HTTP,
	SCRAPE_LIMIT, /* above sample_limit or a label limit of its job, or a sample without a name left: nothing of the page is kept */
	SCRAPE_FAILED /* a remote Prometheus says up 0, or any other failure */
};
const char *scrape_outcome_name(enum scrape_outcome o); /* "no-answer", "unauthorized": stable words for --json */
/* What it means and how to fix it, one sentence, for people. */
const char *scrape_outcome_advice(enum scrape_outcome o);

struct scrape_record {
	int64_t t_ms; /* start */
	enum scrape_outcome outcome;
	int status;        /* HTTP; 0 when none */
	double duration_s; /* NAN when unknown */
	size_t samples;    /* kept */
	size_t duplicates; /* second samples of a series in the page: left out */
	size_t dropped_lines, bytes;
	struct str when;   /* the recording's own name of the moment, "" elsewhere */
	struct str detail; /* one line: parse error with position, curl's words ...; may be empty */
};

struct job;
struct collector;

struct target {
	struct arena text;                 /* its name, URL, and what its records say: goes with it */
	struct str name;                   /* what people call it: "pod-a", "localhost:8000"; unique in the fleet; the instance label */
	struct str url;                    /* "" for recordings */
	struct labels *labels;             /* target labels: job, instance, and static ones */
	const struct job *job;             /* how it is scraped and what is done to its samples (job.h); NULL: nothing special. Borrowed */
	int64_t interval_ms, timeout_ms;   /* of its job, or as relabelling set them; 0: whatever the caller wants */
	VEC(struct scrape_record) scrapes; /* in time order */
	double memory_limit_bytes;         /* NAN when unknown */
	uint32_t turns;                    /* processes seen to answer at this address in turn; 0 and 1: no sign of a second */
	VEC(struct {
		int64_t t_ms;
		int status;
	})
	health; /* /health answers, of recordings */
	struct expo_reader *reader;
	struct collector *collector; /* of a directory of metric files; NULL for addresses and before its first scrape */
	struct ingest *ingest;       /* what the last page held, for the next one; src/scrape/ingest.h */
};

struct fleet {
	struct arena arena; /* what is not of one target */
	VEC(struct target *) targets;
	struct map by_name;
	struct sink *sink;
};

void fleet_init(struct fleet *f, struct sink *sink);
void fleet_fini(struct fleet *f);
/* Finds or makes. `job` may be empty. */
struct target *fleet_target(struct fleet *f, struct str name, struct str url, struct str job);
/* Makes a target with just these labels, as discovery found it. A name that is taken gets " (job)", then a number, behind it. */
struct target *fleet_add(struct fleet *f, struct str name, struct str url, const struct labels *labels, const struct job *job);
/* The target's job became another (a reload): the next page is read with its rules. Series that both make go on. */
void target_set_job(struct target *t, const struct job *job);
/* From now on samples go there, and the old sink is used no more: what targets knew of its series is forgotten. */
void fleet_set_sink(struct fleet *f, struct sink *sink);
/* Ends all its series at t_ms with stale markers, `up` and scrape_* too, and frees the target. */
void fleet_remove(struct fleet *f, struct target *t, int64_t t_ms);
struct target *fleet_find(const struct fleet *f, struct str name);

/* One answer of a target at t_ms goes in: classified, parsed, appended with target labels (conflicting exposed labels become
 * exported_*), `up` and `scrape_*`, stale markers for what vanished, and a scrape_record. The only way pages enter, live or recorded.
 * `when` may be empty. Returns the record (valid until the next ingest of this target).
 * Times of a target must rise: a scrape that is not newer than the one before (the clock went back) is refused: its record is FAILED, has
 * the time of the one before, and says so. */
const struct scrape_record *fleet_ingest(
	struct fleet *f, struct target *t, int64_t t_ms, struct str when, const struct http_answer *answer);
/* Drops records of scrapes before a time; the last two of a target stay. */
void fleet_forget(struct fleet *f, int64_t before_ms);
/* The median gap between a target's scrapes in ms; 0 when fewer than two. */
int64_t target_interval_ms(const struct target *t);

#endif
