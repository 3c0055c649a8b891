/* The remote-write receiver. A request is answered when what it brought is durable: at the next commit, which it brings forward. */
#include "serve/daemon.h"

#include "base/clock.h"

#include <stdio.h>

enum { COMMIT_SOON_MS = 20, WAITING_MOST = 256 };
static const char route[] = "/api/v1/write";

struct receipt {
	struct gate_task write;
	struct daemon *daemon;
	struct exchange *exchange; /* NULL: the sender is gone */
	struct arena arena;
	struct str body;
	int status;
	char text[400];
	int64_t begin_ns;
};

static void receipt_answer(struct receipt *r, int status, const char *text)
{
	struct daemon *d = r->daemon;
	const char *again = status == 503 ? "Retry-After: 1\r\n" : NULL;

	if (r->exchange) {
		exchange_set_user(r->exchange, NULL);
		self_count_request(&d->self, route, status, (double)(clock_monotonic_ns() - r->begin_ns) / 1e9, strlen(text));
		exchange_answer(r->exchange, status, status == 204 ? NULL : "text/plain; charset=utf-8", again, str_from(text));
	}
	for (size_t i = 0; i < d->receipts.count; i++)
		if (d->receipts.items[i] == r)
			d->receipts.items[i] = d->receipts.items[--d->receipts.count];
	arena_fini(&r->arena);
	mem_free(r);
}

/* What was asked of the store is durable now, or cannot be. */
void receiving_committed(struct daemon *d, bool ok)
{
	for (size_t i = d->receipts.count; i-- > 0;) {
		struct receipt *r = d->receipts.items[i];

		if (!r->status)
			continue;
		if (ok)
			receipt_answer(r, r->status, r->text);
		else
			receipt_answer(r, 503, "the store cannot be written; send it again\n");
	}
}

static void on_write(struct gate_task *task)
{
	struct receipt *r = (struct receipt *)((char *)task - offsetof(struct receipt, write));
	struct daemon *d = r->daemon;
	struct remote_tally tally = { 0 };
	struct error e = { 0 };

	if (!r->exchange) {
		receipt_answer(r, 0, "");
		return;
	}
	bool ok = remote_receiver_ingest(d->receiver, r->body, &tally, &e);

	d->self.received += tally.samples;
	d->self.received_refused += tally.out_of_order;
	r->status = ok && !e.set ? 204 : 400;
	if (e.set)
		snprintf(r->text, sizeof r->text, "%s\n", e.message);
	if (!ok || !d->options->store_path) {
		receipt_answer(r, r->status, r->text);
		return;
	}
	if (!uv_is_active((uv_handle_t *)&d->commit_soon))
		uv_timer_start(&d->commit_soon, keeping_commit_soon, COMMIT_SOON_MS, 0);
}

/* Why a request cannot be one of remote write 1.0; NULL: it can. */
static const char *refusal(const struct daemon *d, const struct message *m, int *status)
{
	*status = 404;
	if (!d->options->receive)
		return "the remote-write receiver is off: start with --remote-write-receiver\n";
	*status = 415;
	if (str_search(message_header(m, "Content-Type"), STR("io.prometheus.write.v2")) >= 0)
		return "remote write 2.0 is not spoken here: send 1.0\n";
	if (!str_eq_nocase(message_header(m, "Content-Encoding"), STR("snappy")))
		return "a remote-write body is compressed with snappy (Content-Encoding: snappy)\n";
	*status = 503;
	return d->receipts.count >= WAITING_MOST ? "too many requests wait to be stored\n" : NULL;
}

void receiving_start(struct daemon *d, struct exchange *x, const struct message *m)
{
	int status;
	const char *why = refusal(d, m, &status);

	if (why) {
		self_count_request(&d->self, route, status, 0, 0);
		exchange_answer(x, status, "text/plain; charset=utf-8", NULL, str_from(why));
		return;
	}
	struct receipt *r = NEW(struct receipt);

	*r = (struct receipt){ .write.run = on_write, .daemon = d, .exchange = x, .begin_ns = clock_monotonic_ns() };
	arena_init(&r->arena);
	r->body = arena_str(&r->arena, m->body);
	exchange_set_user(x, r);
	VEC_PUSH(&d->receipts, r);
	gate_write(&d->gate, &r->write, daemon_now(d));
}

bool receiving_gone(struct daemon *d, struct exchange *x)
{
	VEC_EACH (&d->receipts, r)
		if ((*r)->exchange == x) {
			(*r)->exchange = NULL;
			return true;
		}
	return false;
}
