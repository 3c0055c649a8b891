/* view: what the terminal shows of one report, as plain data: nothing in it points at the report, so that the next one can be gathered
 * while this one is on screen. */
#ifndef GOODPUT_TUI_VIEW_H
#define GOODPUT_TUI_VIEW_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "signals/report.h"

enum view_column {
	COLUMN_RUNNING,
	COLUMN_WAITING,
	COLUMN_KV,
	COLUMN_TTFT,
	COLUMN_TPOT,
	COLUMN_OUT,
	COLUMN_REQUESTS,
	COLUMN_HIT,
	COLUMN_IN,
	COLUMN_PREEMPTIONS,
	COLUMN_E2E,
	COLUMN_SUCCESS,
	VIEW_COLUMNS
};
struct view_column_spec {
	const char *signal, *head;
	int width;
};
/* In the order in which columns find room from left to right. */
extern const struct view_column_spec view_columns[VIEW_COLUMNS];

/* What trends are kept of. */
enum view_trend { TREND_RUNNING, TREND_WAITING, TREND_KV, TREND_OUT, TREND_IN, TREND_TTFT, VIEW_TRENDS };
struct view_trend_spec {
	const char *signal, *title;
	double ceiling; /* the graph's top is at least this */
};
extern const struct view_trend_spec view_trends[VIEW_TRENDS];
enum { TREND_POINTS = 120 };

enum view_mark { MARK_FINE, MARK_INFO, MARK_WARNING, MARK_CRITICAL, MARK_SILENT };

struct view_cell {
	struct str text;
	double value; /* to sort by; NAN when unknown */
	bool known, stale;
};

struct view_reading {
	size_t signal;    /* index in view.signals */
	struct str value; /* "1.2 s", "> 60 s", "unknown: no traffic" */
	struct str basis; /* "n = 4210 · window 1m · vllm:time_to_first_token_seconds" */
	double number;    /* NAN when unknown */
	bool known, shown;
};

struct view_scope {
	enum scope_kind kind;
	struct str name;  /* unique: of the report */
	struct str label; /* as shown */
	struct str state; /* "ok", "no-answer", "stale since 12:00:00Z" */
	struct str about; /* "vLLM 0.11 · llama-70b · pool chat" */
	enum view_mark mark;
	bool answers;
	double badness;
	struct view_cell cells[VIEW_COLUMNS];
	struct view_reading *readings; /* of every signal, in the catalogue's order */
	float trends[VIEW_TRENDS][TREND_POINTS];
	size_t trend_count;
	size_t *findings; /* that name it */
	size_t finding_count;
};

struct view_signal {
	struct str id, title, group, help;
};

struct view_action {
	struct str grade, text, risk, command;
};

struct view_finding {
	enum severity severity;
	struct str id, title, where, place, onset,
		over;    /* place: pool or fleet; onset "12:00:00Z", empty when not known; over: when it ended */
	struct str seen; /* without an onset: the start of the first window that showed it */
	struct str detail, evidence, counter, changed, symptoms, explain, blast;
	struct view_action *actions;
	size_t action_count;
	bool now;
};

struct view {
	struct arena arena;
	int64_t t_ms; /* end of the window */
	struct str source, window, moment_name;
	size_t moment, moment_count;
	struct str severity; /* "critical", "warning", "info", "fine", "unknown" */
	struct str verdict;
	int exit_status;
	size_t targets_up, targets;
	struct view_scope *scopes; /* the fleet first, then pools, then rows (targets; engines where there is one target) */
	size_t scope_count, first_row;
	struct view_signal *signals;
	size_t signal_count;
	struct view_finding *findings;
	size_t finding_count;
};

/* What views before this one showed: trends of every scope, and since when a finding is seen whose onset the report cannot tell. */
struct view_history {
	struct map scopes;   /* name → struct trend_ring * */
	struct map findings; /* id and scope → struct finding_seen * */
};
void view_history_init(struct view_history *h);
void view_history_fini(struct view_history *h);
/* One more point of every scope; findings of the report, and only they, stay seen. */
void view_history_add(struct view_history *h, const struct report *r);
/* Forgets all, for another place in time. */
void view_history_clear(struct view_history *h);

struct view *view_new(const struct report *r, const struct view_history *h);
void view_free(struct view *v);
const struct view_scope *view_scope(const struct view *v, struct str name);
/* The reading of a signal; NULL when the catalogue has none of this id. */
const struct view_reading *view_reading(const struct view *v, const struct view_scope *s, const char *signal);

#endif
