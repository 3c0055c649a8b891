/* Server-sent events: what happens, as it happens. */
#include "serve/daemon.h"

#include "base/clock.h"

enum { LISTENERS_MOST = 64 };

void events_open(struct daemon *d, struct exchange *x)
{
	if (d->listeners.count >= LISTENERS_MOST) {
		exchange_answer(x, 503, "text/plain; charset=utf-8", "Retry-After: 5\r\n", STR("too many listeners\n"));
		return;
	}
	self_count_request(&d->self, "/api/goodput/v1/events", 200, 0, 0);
	VEC_PUSH(&d->listeners, x);
	exchange_set_user(x, d); /* who has none is not told that the client went */
	exchange_begin(x, 200, "text/event-stream", "Cache-Control: no-store\r\n");
	exchange_write(x, STR(": goodput\n\n"));
}

bool events_gone(struct daemon *d, struct exchange *x)
{
	for (size_t i = 0; i < d->listeners.count; i++)
		if (d->listeners.items[i] == x) {
			d->listeners.items[i] = d->listeners.items[--d->listeners.count];
			return true;
		}
	return false;
}

/* Who does not read fast enough is cut off; it connects again. */
static void send_all(struct daemon *d, struct str text)
{
	for (size_t i = d->listeners.count; i-- > 0;) {
		struct exchange *x = d->listeners.items[i];

		if (exchange_write(x, text))
			continue;
		events_gone(d, x);
		exchange_cut(x);
	}
}

void events_send(struct daemon *d, const char *event, struct str data)
{
	struct buf text;

	if (!d->listeners.count)
		return;
	buf_init(&text, 4 << 20);
	buf_printf(&text, "event: %s\nid: %lld\ndata: ", event, (long long)clock_now_ms());
	buf_add(&text, data);
	buf_add_cstr(&text, "\n\n");
	send_all(d, buf_str(&text));
	buf_fini(&text);
}

void events_keep_alive(struct daemon *d)
{
	send_all(d, STR(": still here\n\n"));
}

void events_close(struct daemon *d)
{
	while (d->listeners.count)
		exchange_end(d->listeners.items[--d->listeners.count]);
	VEC_FREE(&d->listeners);
}
