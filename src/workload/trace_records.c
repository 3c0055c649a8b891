/* Our own run records: what was sent and answered becomes what is to be sent. */
#include "model/records.h"
#include "workload/trace_reader.h"

#include <stdlib.h>

struct sent {
	int64_t ns;
	size_t index;
	struct workload_row row;
};

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* The time at which a request was wanted, else sent. */
static int64_t wanted_ns(const struct timeline *t)
{
	return t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
}

static bool usable(const struct timeline *t)
{
	return t->outcome == TIMELINE_OK && t->prompt_tokens != TIMELINE_UNKNOWN && t->output_tokens != TIMELINE_UNKNOWN &&
	       wanted_ns(t) != TIMELINE_NEVER;
}

static bool take(struct trace_reader *t, const struct records *r)
{
	struct sent *sent = mem_zalloc(r->requests.count + 1, sizeof *sent);
	size_t count = 0;
	bool ok = true;

	VEC_EACH (&r->requests, line) {
		struct sent *s = &sent[count];

		if (!usable(line)) {
			t->trace->failed++;
			continue;
		}
		*s = (struct sent){ .ns = wanted_ns(line), .index = count };
		ok = ok && trace_tokens(t, line->prompt_tokens, &s->row.prompt) && trace_tokens(t, line->output_tokens, &s->row.output);
		count++;
	}
	if (!ok)
		trace_bad(t, t->text, "a request of these records has more than ten million tokens");
	qsort(sent, count, sizeof *sent, by_time);
	for (size_t i = 0; ok && i < count; i++)
		ok = trace_add(t, t->text, (double)sent[i].ns * 1e-9, sent[i].row);
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
