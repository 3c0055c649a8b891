#include "cli/render.h"
#include "cli/render_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIELD_LABEL_WIDTH = 12, NAME_WIDTH_MOST = 34 };

void groups_of(const struct catalog *c, struct group_list *groups)
{
	for (size_t i = 0; i < c->signals.count; i++) {
		struct str group = c->signals.items[i]->group;
		size_t k = 0;

		while (k < groups->count && !str_eq(groups->names[k], group))
			k++;
		if (k == groups->count && k < ARRAY_LEN(groups->names))
			groups->names[groups->count++] = group;
	}
}

bool scope_has_readings(const struct report *r, const struct scope *s)
{
	size_t pools = 0;
	bool mixed = false;

	for (size_t i = 0; i < r->scope_count; i++) {
		pools += r->scopes[i].kind == SCOPE_POOL;
		mixed |= r->scopes[i].kind == SCOPE_FLEET && r->scopes[i].mixed_models;
	}
	return s->kind == (mixed || pools > 1 ? SCOPE_POOL : SCOPE_FLEET);
}

static const struct reading *reading_at(const struct report *r, const struct scope *s, size_t signal)
{
	return &r->readings[s - r->scopes][signal];
}

/* " (+12 %)" against the reference window. */
static void change_phrase(const struct report *r, const struct scope *s, size_t signal, struct buf *out)
{
	const struct reading *change = r->change ? &r->change[s - r->scopes][signal] : NULL;

	if (change && change->kind == READING_VALUE && isfinite(change->low))
		buf_printf(out, "%c(%+.0f%c%%)", STICKY, change->low * 100, STICKY);
}

/* Is the figure known from `beside` already? */
static bool known_beside(const struct report *beside, const struct scope *s, const struct signal_spec *signal)
{
	const struct scope *same = beside ? report_scope(beside, s->name) : NULL;

	return same && reading_known(report_reading(beside, same, signal->id.ptr));
}

void group_phrase(const struct report *r, const struct report *beside, const struct scope *s, struct str group, bool all, struct buf *out)
{
	double events = NAN;

	for (size_t i = 0; i < r->catalog->signals.count; i++) {
		const struct signal_spec *signal = r->catalog->signals.items[i];
		const struct reading *reading = reading_at(r, s, i);

		if (!str_eq(signal->group, group) || !(all || signal->headline) || !reading_known(reading) ||
			reading->kind == READING_CELLS || (!all && !reading_is_shown(signal, reading)))
			continue;
		if (known_beside(beside, s, signal))
			continue;
		if (out->len)
			buf_add_cstr(out, " · ");
		reading_phrase(r, signal, reading, &events, out);
		change_phrase(r, s, i, out);
		/* What a detector notes belongs to the figure: the policy that it judges by. */
		if (reading->note.len && (all || !signal->definition_count))
			buf_printf(out, " [" STR_FMT "]", STR_ARG(reading->note));
	}
}

static bool is_unknown_for(const struct reading *reading, const struct signal_spec *signal, enum unknown_reason reason, bool all)
{
	return reading->kind == READING_UNKNOWN && reading->reason == reason &&
	       (all || (signal->headline && reading_is_shown(signal, reading)));
}

static void unknowns_of(const struct report *r, const struct scope *s, enum unknown_reason reason, bool all, struct buf *out)
{
	enum { NAMED = 4 };
	size_t count = 0;

	for (size_t i = 0; i < r->catalog->signals.count; i++) {
		const struct signal_spec *signal = r->catalog->signals.items[i];

		if (!is_unknown_for(reading_at(r, s, i), signal, reason, all) || (++count > NAMED && !all))
			continue;
		if (count == 1)
			buf_printf(out, "%s%s: ", out->len ? "; " : "", unknown_reason_text(reason));
		else
			buf_add_cstr(out, ", ");
		add_sticky(out, signal->title);
	}
	if (count > NAMED && !all)
		buf_printf(out, " and %zu more", count - NAMED);
}

void unknowns_phrase(const struct report *r, const struct scope *s, bool all, struct buf *out)
{
	for (enum unknown_reason reason = UNKNOWN_ABSENT; reason <= UNKNOWN_NO_REFERENCE; reason++)
		unknowns_of(r, s, reason, all, out);
}

/* ---- the table of targets ---- */

static const struct column {
	const char *signal, *head;
	int width;
} columns[] = { { "running", "run", 5 }, { "waiting", "wait", 5 }, { "kv_usage", "KV", 7 }, { "ttft_p99", "TTFT P99", 10 },
	{ "tpot_p99", "TPOT P99", 10 }, { "generation_tps", "tok/s", 8 } };

struct row {
	const struct scope *scope;
	double badness;
	size_t order;
};

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->badness != y->badness)
		return x->badness < y->badness ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void cell(struct page *p, const struct reading *r, const struct signal_spec *signal, int width)
{
	struct buf text;

	buf_init(&text, 4096);
	if (r && reading_is_number(r)) {
		/* The head says what it counts: only s, % and x keep their unit. */
		struct str unit = str_is(signal->unit, "s") || str_is(signal->unit, "ratio") ? signal->unit : STR_EMPTY;

		reading_print(r, unit, &text);
		if (r->stale)
			buf_add_c(&text, '*');
	} else {
		buf_add_c(&text, r && r->reason == UNKNOWN_NO_TRAFFIC ? '-' : '?');
	}
	int used = (int)str_columns(buf_str(&text));

	buf_add_repeat(&p->out, ' ', (size_t)(used < width ? width - used : 1));
	page_add(p, buf_str(&text), STYLE_PLAIN);
	buf_fini(&text);
}

static void table_row(struct page *p, const struct report *r, const struct row *row, int name_width)
{
	const struct scope *s = row->scope;
	const struct scrape_record *last = &r->targets[s->target].last;
	struct str name = scope_label(r, s);
	int used = (int)str_columns(name);

	page_add(p, name, row->badness >= 1e6 ? STYLE_CRITICAL : row->badness >= 1e3 ? STYLE_WARNING : STYLE_PLAIN);
	if (used > name_width) {
		page_line(p);
		used = 0;
	}
	buf_add_repeat(&p->out, ' ', (size_t)(name_width - used));
	if (!scrape_answered(last)) {
		page_print(p, STYLE_WARNING, "  %s", last->t_ms ? scrape_outcome_name(last->outcome) : "never asked");
	} else {
		for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
			const struct signal_spec *signal = catalog_signal(r->catalog, columns[i].signal);

			if (signal)
				cell(p, report_reading(r, s, columns[i].signal), signal, columns[i].width);
		}
	}
	page_line(p);
}

static size_t table_rows(const struct report *r, struct row *rows)
{
	enum scope_kind kind = r->fleet->targets.count == 1 ? SCOPE_ENGINE : SCOPE_TARGET;
	size_t count = 0;

	for (size_t i = 0; i < r->scope_count; i++)
		if (r->scopes[i].kind == kind) {
			rows[count] = (struct row){ &r->scopes[i], scope_badness(r, &r->scopes[i]), count };
			count++;
		}
	return count;
}

static void table_head(struct page *p, const struct report *r, int name_width)
{
	page_gap(p);
	buf_add_repeat(&p->out, ' ', (size_t)name_width);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (catalog_signal(r->catalog, columns[i].signal))
			page_print(p, STYLE_DIM, "%*s", columns[i].width, columns[i].head);
	page_line(p);
}

void render_table(struct page *p, const struct report *r, bool all)
{
	struct row *rows = mem_zalloc(r->scope_count + 1, sizeof *rows);
	size_t count = table_rows(r, rows), shown = all || count <= 8 ? count : 3;
	int name_width = FIELD_LABEL_WIDTH;

	if (shown < count)
		qsort(rows, count, sizeof *rows, row_compare);
	for (size_t i = 0; i < shown; i++) {
		int width = (int)str_columns(scope_label(r, rows[i].scope));

		name_width = width > name_width ? width : name_width;
	}
	name_width = name_width > NAME_WIDTH_MOST ? NAME_WIDTH_MOST : name_width;
	if (count > 1) {
		table_head(p, r, name_width);
		for (size_t i = 0; i < shown; i++)
			table_row(p, r, &rows[i], name_width);
		if (shown < count) {
			page_print(p, STYLE_DIM, "and %zu more: --all", count - shown);
			page_line(p);
		}
	}
	mem_free(rows);
}
