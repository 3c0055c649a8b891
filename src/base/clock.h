/* clock: time as int64 milliseconds since the Unix epoch, as samples carry it; the clock itself is handed in. */
#ifndef GOODPUT_BASE_CLOCK_H
#define GOODPUT_BASE_CLOCK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

int64_t clock_now_ms(void); /* wall clock */
int64_t clock_monotonic_ns(void);
int64_t clock_cpu_ns(void);        /* CPU time of this process */
int64_t clock_thread_cpu_ns(void); /* of the thread that asks */

/* Prometheus's duration: "1h30m", "90s", "500ms", "1d" ...; also a bare number of seconds ("10", "2.5").
 * Units y w d h m s ms, longest first, each once. */
bool duration_parse(struct str s, int64_t *ms);
/* "1h30m", "10s", "500ms". Needs 64 bytes. Returns the length. */
size_t duration_format(int64_t ms, char *text);

/* Unix seconds (float), RFC 3339 ("2026-01-15T00:00:00Z", with offset or fraction), "now", or an age "-5m". */
bool time_parse(struct str s, int64_t now_ms, int64_t *ms);
/* "2026-01-15 00:00:00Z" (seconds; milliseconds only when not 0). Needs 40 bytes. */
size_t time_format(int64_t ms, char *text);

#endif
