/* The signals of the fleet, judged again and again. */
#include "serve/daemon.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "web/first.h"

#include <stdio.h>

struct judging {
	struct gate_task read, publish;
	uv_work_t work;
	struct daemon *daemon;
	struct judgement *made;
	uint64_t removals;
	const struct generation *generation; /* of the catalogue that it is made with */
};

void judgement_free(struct judgement *j)
{
	if (!j)
		return;
	arena_fini(&j->arena);
	mem_free(j);
}

static void judge(struct daemon *d, struct judgement *j)
{
	int64_t oldest_ms, newest_ms;
	struct moments moments = { 0 };
	struct evidence evidence;

	if (!store_bounds(d->judged_store, &oldest_ms, &newest_ms) || oldest_ms < newest_ms - REPORT_HISTORY_MS)
		oldest_ms = j->t_ms - REPORT_HISTORY_MS;
	fleet_moments(&d->fleet, j->t_ms - REPORT_HISTORY_MS, &moments);
	if (evidence_build(&evidence, &j->arena, &d->generation->catalog, &d->fleet, d->judged_backend, oldest_ms, j->t_ms, &j->error)) {
		struct report_request request = { .shown = { j->t_ms, j->t_ms, oldest_ms } };

		if (moments.count)
			request = report_request_at(moments.items, moments.count - 1, d->options->window_ms);
		j->report = report_new(&j->arena, &evidence, &request);
		evidence_fini(&evidence);
	}
	VEC_FREE(&moments);
}

static void on_work(uv_work_t *work)
{
	struct judging *g = work->data;
	int64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_thread_cpu_ns();

	store_lock_read(g->daemon->judged_store);
	judge(g->daemon, g->made);
	store_unlock_read(g->daemon->judged_store);
	g->made->took_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
	g->made->cpu_s = (double)(clock_thread_cpu_ns() - cpu_ns) / 1e9;
}

static void tell(struct daemon *d, const struct report *r)
{
	struct buf text;
	struct json j = { .out = &text };

	buf_init(&text, 1 << 20);
	json_open(&j, NULL, '{');
	json_text(&j, "verdict", r->verdict);
	json_text(&j, "severity", str_from(r->any_finding ? severity_name(r->worst) : "ok"));
	json_integer(&j, "targets_up", (int64_t)r->targets_up);
	json_integer(&j, "targets", (int64_t)r->target_count);
	json_open(&j, "findings", '[');
	for (size_t i = 0; i < r->finding_count; i++)
		if (r->findings[i].now && !r->findings[i].suppressed_by && !r->findings[i].undecided)
			json_text(&j, NULL, r->findings[i].spec->id);
	json_close(&j, ']');
	json_close(&j, '}');
	events_send(d, "report", buf_str(&text));
	buf_fini(&text);
}

static void alert(struct daemon *d, const struct report *report, const char *why, int64_t t_ms)
{
	if (d->options->finding_alerts)
		finding_rules_evaluate(d->generation->findings, report, why, tee_sink(d->tee), notifier_receiver(d->notifier), t_ms);
}

void judge_blind(struct daemon *d, const char *why)
{
	d->self.judgements_failed++;
	/* Once, not at every evaluation. */
	if (strcmp(d->blind_why, why) != 0)
		log_warning("signals were not judged: %s", why);
	snprintf(d->blind_why, sizeof d->blind_why, "%s", why);
	alert(d, NULL, why, clock_now_ms());
}

static const struct finding *same_finding(const struct report *r, const struct finding *f)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *other = &r->findings[i];

		if (str_eq(other->spec->id, f->spec->id) && !other->undecided && other->scope && f->scope &&
			str_eq(other->scope->name, f->scope->name))
			return other;
	}
	return NULL;
}

/* What only a whole window shows has no moment at which it began. Whoever watches knows since which judgement it is there; not what was
 * there at the first one. */
static void onsets_know(struct report *now, const struct report *before)
{
	for (size_t i = 0; before && i < now->finding_count; i++) {
		struct finding *f = &now->findings[i];

		if (f->onset_ms || f->undecided)
			continue;
		const struct finding *known = same_finding(before, f);

		f->onset_ms = known ? known->onset_ms : now->window.to_ms;
	}
}

/* The report as HTML, once for all who open the page until the next one. */
static void news_print(struct judgement *j)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	first_print_verdict(&text, j->report, j->t_ms);
	j->news.verdict = arena_str(&j->arena, buf_str(&text));
	buf_reset(&text);
	first_print_findings(&text, j->report);
	/* Half of it would be no HTML. */
	j->news.findings = text.overflowed ? STR_EMPTY : arena_str(&j->arena, buf_str(&text));
	buf_fini(&text);
}

/* A write: nobody looks at the one before any more. */
static void on_publish(struct gate_task *task)
{
	struct judging *g = (struct judging *)((char *)task - offsetof(struct judging, publish));
	struct daemon *d = g->daemon;

	d->self.judgements++;
	d->self.judgement_s += g->made->took_s;
	d->self.judgement_cpu_s += g->made->cpu_s;
	bool outdated = g->generation != d->generation || g->removals != d->removals;

	if (outdated) {
		judgement_free(g->made);
	} else if (g->made->report) {
		onsets_know(g->made->report, d->judgement ? d->judgement->report : NULL);
		news_print(g->made);
		judgement_free(d->judgement);
		d->judgement = g->made;
		d->blind_why[0] = '\0';
		alert(d, d->judgement->report, NULL, d->judgement->t_ms);
		tell(d, d->judgement->report);
	} else {
		judge_blind(d, g->made->error.message);
		judgement_free(g->made);
	}
	d->judging = false;
	mem_free(g);
	if (outdated)
		judge_start(d);
}

static void after_work(uv_work_t *work, int status)
{
	struct judging *g = work->data;
	struct daemon *d = g->daemon;

	gate_read_done(&d->gate, daemon_now(d));
	gate_write(&d->gate, &g->publish, daemon_now(d));
}

static void on_read(struct gate_task *task)
{
	struct judging *g = (struct judging *)((char *)task - offsetof(struct judging, read));

	g->work.data = g;
	g->generation = g->daemon->generation;
	g->removals = g->daemon->removals;
	uv_queue_work(&g->daemon->loop, &g->work, on_work, after_work);
}

void judgement_drop(struct daemon *d)
{
	d->removals++;
	judgement_free(d->judgement);
	d->judgement = NULL;
}

void judge_start(struct daemon *d)
{
	if (d->judging || d->closing || d->reloading || !d->fleet.targets.count)
		return;
	struct judging *g = NEW(struct judging);

	*g = (struct judging){ .daemon = d, .read.run = on_read, .publish.run = on_publish, .made = NEW(struct judgement) };
	arena_init(&g->made->arena);
	g->made->t_ms = clock_now_ms();
	d->judging = true;
	gate_read(&d->gate, &g->read, daemon_now(d));
}
