/* faults: what goes wrong on demand: --fault NAME[:KEY=VALUE,...][@START[+DURATION]], and the same text at POST /goodput/fault. */
#ifndef GOODPUT_SIM_FAULTS_H
#define GOODPUT_SIM_FAULTS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "sim/mimic.h"

#include <stdbool.h>

enum fault_kind {
	FAULT_STALL,
	FAULT_SLOW,
	FAULT_PREEMPTION_STORM,
	FAULT_KV_LEAK,
	FAULT_MEMORY_LEAK,
	FAULT_GC_PAUSES,
	FAULT_CRASH,
	FAULT_HTTP_500,
	FAULT_SLOW_STREAMS,
	FAULT_CUT_STREAMS,
	FAULT_ACCEPTANCE,
	FAULT_TRANSFER,
	FAULT_STALE_GAUGES,
	FAULT_MISSING,
	FAULT_UPGRADE,
	FAULT_KINDS
};

struct fault {
	enum fault_kind kind;
	double value; /* of its main argument */
	double down;  /* crash, upgrade: seconds away */
	enum mimic_release release;
	char match[64];    /* missing-families */
	int replica;       /* -1: all */
	double start, end; /* seconds since the program's start; end INFINITY: until cleared */
	bool fired;        /* of those that happen once */
};

struct fault_list {
	VEC(struct fault) items;
};

/* What all active faults do to one replica. */
struct fault_effect {
	double slow, stall_until, gc_pause, kv_leak, memory_leak, acceptance, transfer_failure;
	double storm;                 /* preemptions per second and engine; the cache is cut to what runs */
	double http_500, cut_streams; /* shares */
	double pace;                  /* seconds between two tokens of a stream; 0 = as they come */
	bool stale;
	const char *missing; /* or NULL */
};

/* Starts count from `now`. */
bool fault_parse(struct str text, double now, struct fault *f, struct error *e);
bool fault_kind_parse(struct str name, enum fault_kind *kind, struct error *e);
/* "stall", ... */
const char *fault_name(enum fault_kind kind);
/* One line a fault: name, argument, meaning. */
void fault_help(struct buf *out);
void fault_effect_of(const struct fault_list *list, uint32_t replica, double now, struct fault_effect *effect);
/* JSON array of what is active or planned. */
void fault_describe(const struct fault_list *list, double now, struct buf *out);
/* Drops all of that kind (FAULT_KINDS: all). */
void fault_clear(struct fault_list *list, enum fault_kind kind);

#endif
