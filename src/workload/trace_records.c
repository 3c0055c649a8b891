/* Our own run records: what was sent and answered becomes what is to be sent. */
#include "base/map.h"
#include "model/records.h"
#include "workload/trace_reader.h"

#include <stdlib.h>

struct sent {
	int64_t ns; /* when it was wanted, else sent */
	size_t index;
	const struct timeline *line;
};

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int64_t wanted_ns(const struct timeline *t)
{
	return t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
}

static bool usable(const struct timeline *t)
{
	return t->outcome == TIMELINE_OK && t->prompt_tokens != TIMELINE_UNKNOWN && t->output_tokens != TIMELINE_UNKNOWN &&
	       wanted_ns(t) != TIMELINE_NEVER;
}

static bool row_lengths(struct trace_reader *t, int64_t prompt, int64_t output, struct workload_row *row)
{
	return (trace_tokens(t, prompt, &row->prompt) && trace_tokens(t, output, &row->output)) ||
	       trace_bad(t, t->text, "a request of these records has more than ten million tokens");
}

/* 0 where one of them is not told. */
static uint64_t pause_us(int64_t from_ns, int64_t to_ns)
{
	if (from_ns == TIMELINE_NEVER || to_ns == TIMELINE_NEVER || to_ns <= from_ns)
		return 0;
	return (uint64_t)(to_ns - from_ns) / 1000;
}

/* What a turn adds is what its prompt has beyond the prompt and answer of the turn before. */
static bool add_turn(struct trace_reader *t, const struct timeline *line, const struct timeline *before, struct workload_row row)
{
	int64_t added = (int64_t)line->prompt_tokens - before->prompt_tokens - before->output_tokens;

	row.follows = true;
	row.time_us = pause_us(before->completed_ns, line->submitted_ns);
	if (!row_lengths(t, added > 0 ? added : 1, line->output_tokens, &row))
		return false;
	VEC_PUSH(&t->rows, row);
	return true;
}

/* False with an error. A turn whose turn before is missing is left out: its history is not known. */
static bool add_line(struct trace_reader *t, struct map *last, const struct sent *s)
{
	const struct timeline *line = s->line, *before = NULL;
	struct workload_row row = { .session = line->session >= 0 && line->session < UINT32_MAX ? (uint32_t)line->session + 1 : 0 };

	if (row.session) {
		struct map_entry *entry = map_put(last, str_of((const char *)&row.session, sizeof row.session), NULL);

		before = entry->value;
		if (before ? line->turn != before->turn + 1 : line->turn > 0) {
			t->trace->failed++;
			return true;
		}
		entry->value = (void *)(uintptr_t)line;
	}
	if (before)
		return add_turn(t, line, before, row);
	return row_lengths(t, line->prompt_tokens, line->output_tokens, &row) && trace_add(t, t->text, (double)s->ns * 1e-9, row);
}

static bool take(struct trace_reader *t, const struct records *r)
{
	struct sent *sent = mem_zalloc(r->requests.count + 1, sizeof *sent);
	struct map last;
	size_t count = 0;
	bool ok = true;

	VEC_EACH (&r->requests, line) {
		if (usable(line))
			sent[count] = (struct sent){ wanted_ns(line), count, line };
		else
			t->trace->failed++;
		count += usable(line);
	}
	qsort(sent, count, sizeof *sent, by_time);
	map_init(&last);
	for (size_t i = 0; ok && i < count; i++)
		ok = add_line(t, &last, &sent[i]);
	map_fini(&last);
	mem_free(sent);
	return ok;
}

bool trace_records(struct trace_reader *t)
{
	struct records r;
	bool ok;

	t->trace->kind = "records";
	records_init(&r);
	ok = records_read(&r, t->arena, t->source, t->text, t->e) && take(t, &r);
	records_fini(&r);
	return ok;
}
