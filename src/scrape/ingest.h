/* ingest: a page of one target becomes rows of the store.
 *
 * Most pages have the very series of the page before. Then a scrape is one expo_read, one loop that copies values and one append_row; all
 * that is slow (label sets, conflicts, what appeared and what vanished) happens only when the page changed its shape. */
#ifndef GOODPUT_SCRAPE_INGEST_H
#define GOODPUT_SCRAPE_INGEST_H

#include "scrape/fleet.h"

/* A series of the store that this target writes. */
struct scraped {
	struct series *store; /* NULL: its labels cannot be stored */
	uint64_t page;        /* number of the last page that had it */
	bool live;            /* no stale marker since its last sample */
	bool reserved;        /* up and scrape_*: ours, a page cannot write them */
	bool dropped;         /* by metric_relabel_configs */
	bool against_limit;   /* its labels are beyond the job's limits, or it has no name left: fails the page */
};

enum report { REPORT_UP, REPORT_DURATION, REPORT_SAMPLES, REPORT_POST_RELABEL, REPORT_ADDED, REPORT_COUNT };

struct ingest {
	struct map by_store;           /* pointer to the store's series, which is held → struct scraped */
	VEC(struct scraped *) nowhere; /* what the reader knows that is not in the store */
	struct series *report[REPORT_COUNT];
	uint64_t pages;
	/* The last page: series without own times, each once. */
	VEC(struct series *) row;
	VEC(struct scraped *) row_scraped;
	VEC(double) values;
	VEC(uint32_t) row_from;     /* row[i] belongs to the page's samples[row_from[i]] */
	bool row_is_page;           /* all samples of the page are in the row, but those that relabelling drops */
	size_t page_samples;        /* of the page that the row was made of */
	bool row_is_live;           /* `live` holds exactly the row */
	VEC(struct scraped *) live; /* these get a stale marker when they vanish */
};

/* How one page went in. */
struct ingest_tally {
	size_t kept, duplicates, refused, too_many_labels, added;
	size_t dropped;  /* by metric_relabel_configs */
	char limit[200]; /* which limit of the job failed the page, in words; empty: none. Nothing was appended then */
};

/* Makes t->ingest and the target's report series. */
void ingest_start(struct sink *sink, struct target *t);
/* The sink, unless it is gone, need not keep the series any more. */
void ingest_free(struct sink *sink, struct ingest *in);
/* The reader was reset: what it knew that no page has had for long is known no more. */
void ingest_tidy(struct sink *sink, struct ingest *in);
/* Appends the page's samples at t_ms (or their own times). */
void ingest_page(struct sink *sink, struct target *t, const struct expo_page *page, int64_t t_ms, struct ingest_tally *tally);
/* After a whole page: what vanished gets stale markers. After a page with an error: what it had is live, the rest is neither ended nor
 * continued. After no page: all end. */
void ingest_end_whole(struct sink *sink, struct ingest *in, int64_t t_ms);
void ingest_end_partial(struct ingest *in);
void ingest_end_none(struct sink *sink, struct ingest *in, int64_t t_ms);
/* Stale markers for up and scrape_*: the target is gone. */
void ingest_end_report(struct sink *sink, struct ingest *in, int64_t t_ms);
/* up and scrape_*; a duration of NAN is not written. */
void ingest_report(struct sink *sink, struct target *t, int64_t t_ms, bool up, double duration_s, const struct ingest_tally *tally);

#endif
