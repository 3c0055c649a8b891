/* phrase: pieces of a report in words, for every text that shows one: page of text, ticket, terminal. */
#ifndef GOODPUT_SIGNALS_PHRASE_H
#define GOODPUT_SIGNALS_PHRASE_H

#include "signals/report.h"

bool finding_is_listed(const struct finding *f); /* decided and nobody's symptom */
/* The verdict without the severity in front of it. */
struct str verdict_sentence(const struct report *r);
/* "12:00:00Z", with the day when it is another one than that of `beside`. */
void moment_phrase(int64_t t_ms, int64_t beside_ms, struct buf *out);
/* "3 of 32: pod-a, pod-b, pod-c" with at most `most` names; the rest counted. */
void where_phrase(const struct finding *f, size_t most, struct buf *out);

#endif
