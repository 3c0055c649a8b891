/* /goodput/fault: GET lists, POST adds (the same text as --fault), DELETE clears all or one kind. Only for clients on this machine, and not
 * for web pages: a browser sends Origin with every POST of a page. */
#include "sim/internal.h"

#include "base/log.h"

static bool may_control(struct exchange *x, const struct message *m)
{
	return exchange_is_local(x) && !message_header(m, "Origin").ptr;
}

static void answer_list(struct replica *r, struct exchange *x, int status)
{
	struct buf *out = &r->sim->scratch;

	buf_reset(out);
	buf_add_cstr(out, "{\"faults\":");
	fault_describe(&r->sim->faults, sim_now(r->sim), out);
	buf_add_cstr(out, "}\n");
	exchange_answer(x, status, "application/json", NULL, buf_str(out));
}

static void refuse(struct replica *r, struct exchange *x, int status, const struct error *e)
{
	struct openai_error error = { 0 };

	openai_refuse(&error, status, NULL, "%s%s%s", e->message, e->hint[0] ? "; " : "", e->hint);
	route_refuse(r, x, &error);
}

/* Whoever of several servers is asked is meant. */
static void add_fault(struct replica *r, struct exchange *x, const struct message *m)
{
	struct str text = str_trim(m->body);
	struct error e = { 0 };

	if (!sim_add_fault(r->sim, text, sim_now(r->sim), (int)r->index, &e)) {
		refuse(r, x, 400, &e);
		return;
	}
	log_note("fault added to replica %u: " STR_FMT, r->index, STR_ARG(str_head(text, 120)));
	answer_list(r, x, 200); /* first: a crash takes this connection too */
	sim_apply_faults(r->sim);
}

static void clear_faults(struct replica *r, struct exchange *x, const struct message *m)
{
	struct str name = str_trim(m->body);
	struct error e = { 0 };
	enum fault_kind kind = FAULT_KINDS;

	if (name.len && !fault_kind_parse(name, &kind, &e)) {
		refuse(r, x, 400, &e);
		return;
	}
	fault_clear(&r->sim->faults, kind);
	log_note("faults cleared: %s", name.len ? fault_name(kind) : "all");
	answer_list(r, x, 200); /* first: a crash takes this connection too */
	sim_apply_faults(r->sim);
}

void control_fault(struct replica *r, struct exchange *x, const struct message *m)
{
	struct error e = { 0 };

	if (!may_control(x, m)) {
		error_set(&e, EXIT_USAGE, "faults are only set by programs on this machine");
		refuse(r, x, 403, &e);
	} else if (str_is(m->method, "POST")) {
		add_fault(r, x, m);
	} else if (str_is(m->method, "DELETE")) {
		clear_faults(r, x, m);
	} else {
		answer_list(r, x, 200);
	}
}
