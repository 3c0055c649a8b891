/* draft: a chunk while it is written into the open transaction: its columns section by section, then its head. Internal to the store. */
#ifndef GOODPUT_STORE_DRAFT_H
#define GOODPUT_STORE_DRAFT_H

#include "store/internal.h"

struct draft {
	struct disk *disk;
	const struct set *set;
	struct chunk chunk;       /* complete when all columns were made */
	bool plain;               /* its bytes are not deflated: it will be replaced soon */
	struct times_list *lists; /* the times that its columns have */
	size_t list_count;
};

/* Its lists of times are in the arena. `sealed`: the last row of the log that it covers. The set's `above` is known. */
void draft_begin(struct draft *d, struct disk *disk, const struct set *set, struct arena *arena, uint64_t sealed);
/* What stands in the chunk for member `i` of the set: these samples, at least one. Of a member without any the
 * column is { 0 }. The times are borrowed until draft_end, the values until draft_section. */
struct column draft_column(struct draft *d, uint32_t i, const int64_t *t, const double *v, size_t rows);
/* `columns`: those of this section. */
bool draft_section(struct draft *d, uint32_t number, const struct column *columns, struct error *e);
bool draft_end(struct draft *d, struct error *e);

#endif
