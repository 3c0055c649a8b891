/* shape: events of one stream differ in a text and two counts; the rest repeats byte for byte. The shape of the last event that was
 * parsed in full lets the next one be recognised by comparing memory: what is equal to valid JSON but for a valid string and valid
 * numbers is valid JSON with the same meaning. Not for other folders. */
#ifndef GOODPUT_OPENAI_SHAPE_H
#define GOODPUT_OPENAI_SHAPE_H

#include "openai/event.h"

struct openai_shape;

struct shape_match {
	struct str text; /* of choice 0, raw */
	bool escaped, is_reasoning, has_usage;
	uint32_t completion_tokens; /* with has_usage */
};

/* NULL never matches. */
bool shape_match(struct openai_shape *shape, struct str data, struct shape_match *match);
/* Learns from an event that has just been parsed (made when *shape is NULL); forgets where the event has no such shape. Gives up on a
 * stream whose events never repeat. */
void shape_learn(struct openai_shape **shape, struct str data, const struct event *e);
void shape_forget(struct openai_shape *shape); /* for the next stream */
void shape_free(struct openai_shape *shape);

#endif
