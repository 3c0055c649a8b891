/* One sentence for the one who was woken up: how bad, where, what, how much, what to do first. */
#include "signals/verdict.h"

#include "base/error.h"

#include <ctype.h>

enum { NAMES_MAX = 3 };

/* Names in a row, cut after three: "pod-a, pod-b, pod-c and 29 more". */
static void print_names(const struct str *names, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		buf_printf(out, "%s" STR_FMT, !i ? "" : i + 1 == count ? " and " : ", ", STR_ARG(names[i]));
	if (count > NAMES_MAX)
		buf_printf(out, " and %zu more", count - NAMES_MAX);
}

static void print_place(const struct report *r, const struct finding *f, struct buf *out)
{
	bool wide = f->scope->kind == SCOPE_FLEET || f->scope->kind == SCOPE_POOL;
	if (!wide || !f->where_count || (f->where_count == f->where_all && f->where_all > 1))
		buf_add(out, f->scope->name);
	else if (f->where_all > 1)
		print_names(f->where, f->where_count, out);
	else
		buf_add(out, f->where[0]);
	if (wide && f->where_all > 1)
		buf_printf(out, " (%zu of %zu)", f->where_count, f->where_all);
}

/* The first action that is to be done now, else the first at all, up to its explanation and without a capital. */
static void print_first_action(const struct finding *f, struct buf *out)
{
	const struct action *first = NULL;
	for (size_t i = 0; i < f->action_count; i++)
		if (!first || f->actions[i].grade < first->grade)
			first = &f->actions[i];
	if (!first || !first->text.len)
		return;
	ptrdiff_t end = str_find(first->text, ';');
	struct str text = end > 0 ? str_head(first->text, (size_t)end) : first->text;
	bool capital = text.len > 1 && isupper((unsigned char)text.ptr[0]) && islower((unsigned char)text.ptr[1]);
	buf_add_cstr(out, f->now && first->grade == ACTION_NOW ? "; now: " : "; first: ");
	buf_add_c(out, capital ? (char)tolower((unsigned char)text.ptr[0]) : text.ptr[0]);
	buf_add(out, str_skip(text, 1));
}

static const struct finding *worst_finding(const struct report *r)
{
	const struct finding *worst = NULL;
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];
		if (!f->undecided && !f->suppressed_by && f->severity >= SEVERITY_WARNING && (!worst || f->severity > worst->severity))
			worst = f;
	}
	return worst;
}

static size_t count_others(const struct report *r, const struct finding *worst)
{
	size_t n = 0;
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];
		n += f != worst && !f->undecided && !f->suppressed_by && f->severity >= SEVERITY_WARNING;
	}
	return n;
}

static void print_worst(const struct report *r, const struct finding *worst, struct buf *out)
{
	buf_printf(out, "%s: ", worst->severity == SEVERITY_CRITICAL ? "CRITICAL" : "WARNING");
	print_place(r, worst, out);
	buf_printf(out, "%s: " STR_FMT, worst->now ? "" : ", over by now", STR_ARG(worst->title));
	print_first_action(worst, out);
	size_t others = count_others(r, worst);
	if (others)
		buf_printf(out, " (%zu more finding%s)", others, others > 1 ? "s" : "");
}

/* Who gave no whole page. */
static size_t unreachable(const struct report *r, struct str *names)
{
	size_t n = 0;
	for (size_t i = 0; i < r->target_count; i++) {
		const struct scrape_record *last = &r->targets[i].last;
		if (!last->t_ms || last->outcome != SCRAPE_OK)
			names[n++] = r->targets[i].target->name;
	}
	return n;
}

static void print_unknown(const struct report *r, const struct str *down, size_t down_count, struct buf *out)
{
	if (!r->target_count) {
		buf_add_cstr(out, "UNKNOWN: no target");
		return;
	}
	if (down_count) {
		buf_printf(out, "UNKNOWN: %zu of %zu target%s did not answer with a metrics page: ", down_count, r->target_count,
			r->target_count == 1 ? "" : "s");
		print_names(down, down_count, out);
		return;
	}
	buf_printf(out, "UNKNOWN: %zu of %zu target%s answer, but no page shows metrics of a known engine", r->targets_up, r->target_count,
		r->target_count == 1 ? "" : "s");
}

static void print_fine(const struct report *r, struct buf *out)
{
	buf_printf(out, "OK: %zu of %zu target%s answer, no red line crossed", r->targets_up, r->target_count,
		r->target_count == 1 ? "" : "s");
	size_t undecided = 0;
	for (size_t i = 0; i < r->finding_count; i++)
		undecided += r->findings[i].undecided && !r->findings[i].suppressed_by;
	if (undecided)
		buf_printf(out, ", %zu undecided for want of events", undecided);
	if (!r->has_window)
		buf_add_cstr(out, " (one scrape: rates, latencies and success need two)");
}

void report_judge(struct arena *arena, struct report *r)
{
	struct str *down = ARENA_ARRAY(arena, struct str, r->target_count + 1);
	size_t down_count = unreachable(r, down);
	const struct finding *worst = worst_finding(r);
	bool unknown = down_count || !r->targets_judged;
	struct buf out;
	r->any_finding = worst != NULL;
	r->worst = worst ? worst->severity : SEVERITY_INFO;
	buf_init(&out, 4096);
	/* That nobody answers is a critical finding, but no verdict about engines: nothing could be judged. */
	if (worst && worst->severity == SEVERITY_CRITICAL && r->targets_judged)
		r->exit_status = EXIT_CRITICAL;
	else
		r->exit_status = unknown ? EXIT_UNKNOWN : worst ? EXIT_WARNING : EXIT_FINE;
	if (worst && r->targets_judged)
		print_worst(r, worst, &out);
	else if (unknown)
		print_unknown(r, down, down_count, &out);
	else
		print_fine(r, &out);
	r->verdict = arena_str(arena, buf_str(&out));
	buf_fini(&out);
}
