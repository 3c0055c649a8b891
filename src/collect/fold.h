/* fold: what reading a directory needs to know of folding it (lifecycle.h). Internal. */
#ifndef GOODPUT_COLLECT_FOLD_H
#define GOODPUT_COLLECT_FOLD_H

#include "base/number.h"
#include "collect/internal.h"

#include <dirent.h>

struct archive_row {
	uint32_t key;
	double value, time;
};
struct archive { /* of one kind */
	struct file_name kind;
	char name[64];
	enum entry_op op;
	uint32_t step; /* layout: that of the file folded last */
	VEC(struct archive_row) rows;
	uint32_t *index; /* by key: row + 1 */
	size_t index_count;
};

/* Holds folds off while a directory is listed and read. A descriptor to close, or -1 when nobody folds here. */
int fold_lock_shared(int folder);
/* Was a fold killed after its commit? */
bool fold_is_left(int folder);
/* Finishes it. False when we may not. */
bool fold_recover(int folder);
/* Files that its archives already hold. */
void fold_hidden(int folder, struct map *hidden);

#endif
