/* remote_write: the messages of remote write 1.0 (prometheus.WriteRequest), read and written. Sans-IO; the HTTP around it is others'.
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3 }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; exemplars = 3; histograms = 4 }
 *   Label { string name = 1; string value = 2 }        Sample { double value = 1; int64 timestamp = 2 (ms) }
 * Fields that are not known are skipped, as protobuf wants it. */
#ifndef GOODPUT_EXPO_REMOTE_WRITE_H
#define GOODPUT_EXPO_REMOTE_WRITE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/labels.h"
#include "model/series.h"
#include "model/sink.h"

enum { REMOTE_WRITE_MAX = 64 << 20 }; /* bytes of a decompressed request */

struct remote_sample {
	double value;
	int64_t t_ms;
};
/* One TimeSeries. Texts are in the message that was read. */
struct remote_series {
	const struct label *labels;
	size_t label_count;
	const struct remote_sample *samples;
	size_t sample_count;
	size_t histogram_count; /* native histograms: not stored */
};

/* Reads a decompressed message series by series: `visit` is called for each, valid during the call. False with an error when the message is
 * no WriteRequest. */
bool remote_write_read(
	struct str message, void (*visit)(void *context, const struct remote_series *series), void *context, struct error *e);

/* Appends one series to a WriteRequest being built in `out`. */
void remote_write_series(struct buf *out, const struct labels *labels, const struct remote_sample *samples, size_t count);

/* The same in two steps, for who writes samples of one series often: its labels once, then series of them. */
void remote_write_labels(struct buf *out, const struct labels *labels);
void remote_write_encoded(struct buf *out, struct str labels, const struct remote_sample *samples, size_t count);

/* What a request did. */
struct remote_tally {
	size_t samples;      /* stored */
	size_t same;         /* were stored already */
	size_t out_of_order; /* older than the series' newest, or another value at its time: refused */
	size_t bad_series;   /* without a name, names that repeat or are empty, invalid UTF-8: refused with their samples */
	size_t histograms;   /* native histograms: not stored */
};

/* Finds series again without building their labels: belongs to one sink, by one thread. */
struct remote_receiver;
struct remote_receiver *remote_receiver_new(struct sink *sink);
void remote_receiver_free(struct remote_receiver *r);
/* One body as it came: decompresses, reads all before anything is stored, appends. False (answer 400): not one sample was stored. True with
 * tally->bad_series or out_of_order: answer 400 too, so that the sender does not try again, with `e` set to say which was the first; the
 * rest is stored. `e` is not set when all went in. */
bool remote_receiver_ingest(struct remote_receiver *r, struct str body, struct remote_tally *tally, struct error *e);

#endif
