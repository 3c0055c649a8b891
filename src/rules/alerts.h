/* alerts: the state machine of alerts, the same for a rule's results and for findings. Time is handed in.
 *
 * An alert is known by its labels. What is true at an evaluation is a list of candidates; alerts_step compares it with the alerts there
 * are: new ones become pending, pending ones fire once they have been active for `for`, those that are no longer true end. One that fired
 * stays known for 15 minutes after its end, so that "resolved" can be sent again. */
#ifndef GOODPUT_RULES_ALERTS_H
#define GOODPUT_RULES_ALERTS_H

#include "base/error.h"
#include "base/vec.h"
#include "model/labels.h"

#include <stdbool.h>
#include <stdint.h>

enum alert_state { ALERT_INACTIVE, ALERT_PENDING, ALERT_FIRING };
const char *alert_state_name(enum alert_state state); /* "inactive", "pending", "firing" */

/* Names and texts in one block of memory, in the order given. Unlike labels, values may be empty. */
struct pairs {
	struct label *items;
	size_t count;
};
struct pairs pairs_copy(const struct label *items, size_t count);
void pairs_free(struct pairs *p);

struct alert {
	const struct labels *labels; /* the identity, alertname among them */
	struct pairs annotations;    /* of the newest evaluation at which it was true */
	double value;
	enum alert_state state;
	int64_t hold_ms;              /* pending for at least so long */
	int64_t active_ms;            /* first true */
	int64_t fired_ms;             /* 0: not yet */
	int64_t resolved_ms;          /* 0: still active */
	int64_t keep_firing_since_ms; /* no longer true since, but kept firing; 0: true */
	int64_t last_sent_ms;         /* 0: never */
	int64_t valid_until_ms;       /* what receivers are told: take it as resolved when nothing newer comes */
};

/* True now. alerts_step takes over the labels and annotations, whatever it returns. */
struct candidate {
	const struct labels *labels;
	struct pairs annotations;
	double value;
	int64_t hold_ms;
	int64_t since_ms; /* it is known to be true since; 0: since now */
};
typedef VEC(struct candidate) candidates;

struct alerts { /* sorted by labels */
	struct alert **items;
	size_t count, cap;
};

/* One evaluation at t_ms. False with an error when two candidates have the same labels: then nothing has changed. */
bool alerts_step(struct alerts *a, candidates *true_now, int64_t keep_firing_ms, int64_t t_ms, struct error *e);
/* Pending and firing ones. */
size_t alerts_active(const struct alerts *a);
enum alert_state alerts_state(const struct alerts *a); /* the highest */
/* When firing or resolved: is it time to tell the receivers (again)? */
bool alert_is_due(const struct alert *alert, int64_t t_ms, int64_t resend_ms);
/* Notes that it is told now; `interval_ms` is the time between evaluations. */
void alert_sent(struct alert *alert, int64_t t_ms, int64_t resend_ms, int64_t interval_ms);
void alerts_clear(struct alerts *a); /* empty, memory freed */

#endif
