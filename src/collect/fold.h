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
	char name[ARCHIVE_NAME_MAX];
	enum entry_op op;
	uint32_t step; /* layout: the newest of the files folded */
	VEC(struct archive_row) rows;
	uint32_t *index; /* by key: row + 1 */
	size_t index_count;
};

/* ---- fold_journal.c ---- */

enum { FOLD_JOURNAL_MAX = 64 << 20, FOLD_NAME_SIZE = 300 };
extern const char fold_lock_name[], fold_journal_name[], fold_journal_new[];

/* Holds folds off while a directory is listed and read. A descriptor to close, or -1 when nobody folds here. */
int fold_lock_shared(int folder);
/* For who folds: a descriptor to close, or -1 with errno; EWOULDBLOCK when somebody reads or folds. */
int fold_lock_alone(int folder);
/* Was a fold killed after its commit? */
bool fold_is_left(int folder);
/* Finishes it. False when we may not. */
bool fold_recover(int folder);
/* Files that its archives already hold. */
void fold_hidden(int folder, struct map *hidden);
/* What the journal says, done. A file goes only when the archive that holds it has its name. False when something could not be done; then
 * the journal stays, and readers go on leaving out what they would count twice. */
bool fold_journal_apply(int folder, struct str journal);
/* Archives that no journal speaks of belong to a fold that never was. */
void fold_leftovers_remove(int folder);
/* The hidden name of an archive that is being made; `name` has FOLD_NAME_SIZE. */
void fold_new_name(struct str archive, char *name);
bool fold_is_same_file(int folder, const char *name, int64_t inode);
/* A point at which a test may end the process (collect_fold_killed_at). */
void fold_steps_begin(void);
void fold_step(void);

#endif
