#include "tui/layout.h"

static int within(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

struct layout layout_of(int rows, int columns)
{
	struct layout l = { .rows = rows < LAYOUT_ROWS_LEAST ? LAYOUT_ROWS_LEAST : rows,
		.columns = columns < LAYOUT_COLUMNS_LEAST ? LAYOUT_COLUMNS_LEAST : columns };

	l.title = 0;
	l.verdict = 1;
	l.verdict_rows = 2;
	l.summary = l.verdict + l.verdict_rows;
	l.trends = l.summary + 1;
	l.findings_head = l.trends + 1;
	l.findings = l.findings_head + 1;
	l.findings_rows = within((l.rows - 10) / 2, 7, 14);
	l.table_head = l.findings + l.findings_rows;
	l.table = l.table_head + 1;
	l.keys = l.rows - 1;
	l.table_rows = l.keys - l.table;
	l.body = l.summary;
	l.body_rows = l.keys - l.body;
	return l;
}
