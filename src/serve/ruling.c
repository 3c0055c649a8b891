/* Rules, evaluated when they are due: in a worker, with the data to themselves. */
#include "serve/daemon.h"

#include "base/clock.h"

enum { LATEST_LOOK_MS = 1000, SOONEST_LOOK_MS = 1 };

struct ruling {
	struct gate_task write;
	uv_work_t work;
	struct daemon *daemon;
	struct rule_group *group;
	int64_t t_ms;
	/* What is to be told: the notifier is the loop's. The alerts are there until the rule is evaluated again. */
	VEC(struct {
		const struct alert *alert;
		struct str query;
	})
	told;
};

static void look_again(struct daemon *d)
{
	int64_t wait_ms = d->generation->rules ? rules_next(d->generation->rules, clock_now_ms()) - clock_now_ms() : LATEST_LOOK_MS;

	if (d->closing)
		return;
	wait_ms = wait_ms > LATEST_LOOK_MS ? LATEST_LOOK_MS : wait_ms < SOONEST_LOOK_MS ? SOONEST_LOOK_MS : wait_ms;
	uv_timer_start(&d->rules_timer, ruling_look, (uint64_t)wait_ms, 0);
}

static void on_tell(void *context, const struct alert *alert, struct str query)
{
	struct ruling *r = context;

	VEC_RESERVE(&r->told, r->told.count + 1);
	r->told.items[r->told.count].alert = alert;
	r->told.items[r->told.count++].query = query;
}

static void on_work(uv_work_t *work)
{
	struct ruling *r = work->data;
	struct daemon *d = r->daemon;
	const struct rules_receiver collect = { on_tell, r };

	rules_evaluate(d->generation->rules, r->group, d->rules_backend, tee_sink(d->tee), &collect, r->t_ms);
}

static void ruling_end(struct ruling *r)
{
	const struct rules_receiver *to = notifier_receiver(r->daemon->notifier);

	VEC_EACH (&r->told, told)
		to->tell(to->context, told->alert, told->query);
	VEC_FREE(&r->told);
	r->daemon->ruling = false;
	look_again(r->daemon);
	mem_free(r);
}

static void after_work(uv_work_t *work, int status)
{
	struct ruling *r = work->data;
	struct daemon *d = r->daemon;

	ruling_end(r);
	gate_release(&d->gate, daemon_now(d));
}

/* Which group is due is asked only now: a reload may have come between. */
static void on_write(struct gate_task *task)
{
	struct ruling *r = (struct ruling *)((char *)task - offsetof(struct ruling, write));
	struct daemon *d = r->daemon;

	r->group = d->generation->rules && !d->closing ? rules_due(d->generation->rules, clock_now_ms(), &r->t_ms) : NULL;
	if (!r->group) {
		ruling_end(r);
		return;
	}
	gate_hold(&d->gate);
	r->work.data = r;
	uv_queue_work(&d->loop, &r->work, on_work, after_work);
}

void ruling_look(uv_timer_t *timer)
{
	struct daemon *d = timer->data;

	if (!d->generation->rules || rules_next(d->generation->rules, clock_now_ms()) > clock_now_ms()) {
		look_again(d);
		return;
	}
	if (d->ruling)
		return;
	struct ruling *r = NEW(struct ruling);

	*r = (struct ruling){ .write.run = on_write, .daemon = d };
	d->ruling = true;
	gate_write(&d->gate, &r->write, daemon_now(d));
}
