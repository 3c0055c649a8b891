/* An event, and what was before and after it, as JSON: docs/formats/compare.md. */
#include "compare/event.h"

#include <math.h>

static void print_count(struct json *j, const char *key, size_t count)
{
	if (count != CAPACITY_UNKNOWN)
		json_integer(j, key, (int64_t)count);
}

void event_print_event(struct json *j, const struct capacity_event *e)
{
	json_number(j, "time", (double)e->t_ms / 1000);
	json_number(j, "from", (double)e->from_ms / 1000);
	json_number(j, "to", (double)e->to_ms / 1000);
	json_bool(j, "told", e->told);
	json_text_if(j, "text", e->text);
	json_text_if(j, "tags", e->tags);
	json_text_if(j, "pool", e->pool);
	json_list(j, "came", e->came, e->came_count);
	json_list(j, "went", e->went, e->went_count);
	print_count(j, "up_before", e->up_before);
	print_count(j, "up_after", e->up_after);
}

static void print_window(struct json *j, const char *key, const struct around_window *w, const struct side *s)
{
	json_open(j, key, '{');
	json_number(j, "from", (double)w->from_ms / 1000);
	json_number(j, "to", (double)w->to_ms / 1000);
	json_number(j, "seconds", (double)(w->to_ms - w->from_ms) / 1000);
	json_text(j, "limit", str_from(around_limit_name(w->limit)));
	json_bool(j, "enough", w->enough);
	json_integer(j, "restarts", (int64_t)w->restarts);
	json_number(j, "replicas", s->replicas);
	json_number(j, "gpus", s->gpus);
	json_number(j, "gpu_price", s->price);
	json_text_if(j, "unknown", s->missing);
	json_close(j, '}');
}

static void print_parts(struct json *j, const struct side *s, const char *name)
{
	for (size_t i = 0; i < s->part_count; i++) {
		const struct side_part *p = &s->parts[i];

		json_open(j, NULL, '{');
		json_text(j, "side", str_from(name));
		json_number(j, "from", (double)p->from_ms / 1000);
		json_number(j, "to", (double)p->to_ms / 1000);
		json_number(j, "good_low", p->good_low);
		json_number(j, "good_high", p->good_high);
		json_number(j, "finished", p->finished);
		json_number(j, "arrivals", p->arrivals);
		json_number(j, "output_tokens", p->output_tokens);
		json_number(j, "running", p->running);
		json_number(j, "waiting", p->waiting);
		json_number(j, "kv_usage", p->kv_usage);
		json_number(j, "replicas", p->up);
		json_close(j, '}');
	}
}

void event_print_answer(struct json *j, const struct event_answer *a)
{
	json_open(j, "event", '{');
	event_print_event(j, &a->event);
	json_close(j, '}');
	json_open(j, "scope", '{');
	json_text_if(j, "name", a->after.scope.len ? a->after.scope : a->before.scope);
	if (a->scope_from)
		json_text(j, "why", str_from(a->scope_from));
	json_close(j, '}');
	json_open(j, "windows", '{');
	json_number(j, "settle_s", (double)a->windows.settle_ms / 1000);
	json_integer(j, "events", (int64_t)a->windows.events);
	if (a->windows.ready_ms)
		json_number(j, "ready", (double)a->windows.ready_ms / 1000);
	print_window(j, "before", &a->windows.before, &a->before);
	print_window(j, "after", &a->windows.after, &a->after);
	json_close(j, '}');
	json_list(j, "notes", a->notes, a->note_count);
	json_open(j, "chart", '[');
	print_parts(j, &a->before, "before");
	print_parts(j, &a->after, "after");
	json_close(j, ']');
}
