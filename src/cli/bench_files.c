/* goodput bench: the files that the arguments ask for. */
#include "cli/bench.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>

bool bench_files_check(const struct bench_arguments *a, struct error *e)
{
	return true;
}

/* ---- bodies of the worst and failed requests: made again, since the workload is a pure function ---- */

static void body_line(const struct bench *b, const struct timeline *t, struct workload_request *scratch, struct buf *out)
{
	uint64_t evaluation = (uint64_t)1 << 32;
	const struct evaluation_item *item = t->id >= evaluation ? &b->evaluation.items.items[t->id - evaluation] : NULL;

	if (!item && !workload_request_make(b->workload, &b->plan, t->id, t->turn, scratch))
		return;
	load_body(&b->load, scratch, item, out);
	buf_add_c(out, '\n');
}

static bool prompts_write(const struct bench *b, const struct bench_run *r, struct error *e)
{
	size_t room = (size_t)b->a->worst, *indices = mem_zalloc(room + 1, sizeof *indices), count = bench_worst(b, r, indices, room);
	struct workload_request scratch;
	struct buf out;
	bool ok;

	workload_request_init(&scratch);
	buf_init(&out, SIZE_MAX / 2);
	for (size_t i = 0; i < count; i++)
		body_line(b, &r->load.requests.items[indices[i]], &scratch, &out);
	VEC_EACH (&r->load.requests, t)
		if (t->outcome == TIMELINE_ERROR)
			body_line(b, t, &scratch, &out);
	ok = file_write(b->a->prompts_file, buf_str(&out), e);
	buf_fini(&out);
	workload_request_fini(&scratch);
	mem_free(indices);
	return ok;
}

bool bench_files_write(const struct bench *b, const struct bench_run *r, struct error *e)
{
	return !b->a->prompts_file || prompts_write(b, r, e);
}
