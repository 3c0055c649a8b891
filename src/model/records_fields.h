/* records_fields: the members of a record, one table for the writer and the reader; not for other folders. */
#ifndef GOODPUT_MODEL_RECORDS_FIELDS_H
#define GOODPUT_MODEL_RECORDS_FIELDS_H

#include "model/records.h"

struct record_field {
	const char *name; /* NULL ends a table */
	size_t offset;    /* in struct timeline, or struct records_run */
};

extern const struct record_field record_times[];  /* int64_t ns, written in ms */
extern const struct record_field record_counts[]; /* uint32_t, UNKNOWN left out */
extern const struct record_field record_labels[]; /* struct str, empty left out */
extern const struct record_field run_texts[];     /* struct str */
extern const struct record_field run_numbers[];   /* double, NaN left out */
extern const struct record_field client_numbers[];

/* Names of the bits of timeline's notes, in order; NULL ends. */
extern const char *const record_notes[];

#endif
