#include "signals/phrase.h"

#include "base/clock.h"

bool finding_is_listed(const struct finding *f)
{
	return !f->undecided && !f->suppressed_by;
}

struct str verdict_sentence(const struct report *r)
{
	ptrdiff_t colon = str_search(r->verdict, STR(": "));

	for (ptrdiff_t i = 0; i < colon; i++)
		if (r->verdict.ptr[i] < 'A' || r->verdict.ptr[i] > 'Z')
			return r->verdict;
	return colon > 0 ? str_skip(r->verdict, (size_t)colon + 2) : r->verdict;
}

void moment_phrase(int64_t t_ms, int64_t beside_ms, struct buf *out)
{
	char text[40], beside[40];

	time_format(t_ms / 1000 * 1000, text);
	time_format(beside_ms, beside);
	buf_add_cstr(out, strncmp(text, beside, 11) == 0 ? text + 11 : text);
}

void where_phrase(const struct finding *f, size_t most, struct buf *out)
{
	if (!f->where_count) {
		buf_add(out, f->scope ? f->scope->name : STR("fleet"));
		return;
	}
	if (f->where_all > 8 && f->where_count == f->where_all && most < f->where_all) {
		buf_printf(out, "all %zu", f->where_all);
		return;
	}
	if (!most) {
		buf_printf(out, "%zu of %zu", f->where_count, f->where_all);
		return;
	}
	/* A pool's own name is no part of it. */
	if (f->where_all > 1 && !(f->where_count == 1 && f->scope && str_eq(f->where[0], f->scope->name)))
		buf_printf(out, "%zu of %zu: ", f->where_count, f->where_all);
	for (size_t i = 0; i < f->where_count && i < most; i++)
		buf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(f->where[i]));
	if (f->where_count > most)
		buf_printf(out, " and %zu more", f->where_count - most);
}
