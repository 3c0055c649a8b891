/* layout: which rows of the screen belong to what. It follows from the size alone, never from the state of the fleet: nothing may move when
 * something goes wrong. At least 80 by 24; smaller screens are cut at the right and at the bottom. */
#ifndef GOODPUT_TUI_LAYOUT_H
#define GOODPUT_TUI_LAYOUT_H

enum { LAYOUT_ROWS_LEAST = 24, LAYOUT_COLUMNS_LEAST = 80 };

struct layout {
	int rows, columns;
	int title, verdict, verdict_rows; /* on every screen */
	int summary, trends;              /* of the fleet */
	int findings_head, findings, findings_rows;
	int table_head, table, table_rows; /* the first row of the table is the fleet's */
	int body, body_rows;               /* of the other screens */
	int keys;
};
struct layout layout_of(int rows, int columns);

#endif
