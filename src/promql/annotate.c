/* Warnings and infos beside a result, in Prometheus's words, with the place in the query. */
#include "promql/evaluate.h"

#include <math.h>
#include <stdio.h>

enum { NOTES_MAX = 100 };

struct note {
	enum note_kind kind;
	struct str text;
	struct note *next;
};

static void place(struct str query, size_t offset, int *line, int *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < offset && i < query.len; i++) {
		*column = query.ptr[i] == '\n' ? 1 : *column + 1;
		*line += query.ptr[i] == '\n';
	}
}

void annotate(struct evaluation *ev, const struct promql_node *n, enum note_kind kind, const char *format, ...)
{
	char text[400];
	int line, column;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	place(ev->query, n->start, &line, &column);
	struct str full = arena_printf(ev->arena, "PromQL %s: %s (%d:%d)", kind == NOTE_WARNING ? "warning" : "info", text, line, column);
	struct note **at = &ev->notes;
	size_t count = 0;
	for (; *at && count < NOTES_MAX; at = &(*at)->next, count++)
		if (str_eq((*at)->text, full))
			return;
	if (*at)
		return;
	*at = ARENA_NEW(ev->arena, struct note);
	**at = (struct note){ kind, full, NULL };
}

void annotate_quantile(struct evaluation *ev, const struct promql_node *n, double q)
{
	char text[32];
	if (q >= 0 && q <= 1)
		return;
	if (isnan(q))
		q = number_nan();
	text[number_format(q, text)] = '\0';
	annotate(ev, n, NOTE_WARNING, "quantile value should be between 0 and 1, got %s", text);
}

void annotations_result(struct evaluation *ev, struct promql_value *value)
{
	size_t count = 0;
	for (const struct note *n = ev->notes; n; n = n->next)
		count++;
	value->warnings = ARENA_ARRAY(ev->arena, struct str, count + 1);
	value->infos = ARENA_ARRAY(ev->arena, struct str, count + 1);
	for (const struct note *n = ev->notes; n; n = n->next) {
		if (n->kind == NOTE_WARNING)
			value->warnings[value->warning_count++] = n->text;
		else
			value->infos[value->info_count++] = n->text;
	}
}
