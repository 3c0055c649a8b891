/* digest: what the summaries of many chunks say, of a set's section in one blob. Internal to the store; pure: bytes in, bytes out.
 *
 * An entry is an hour's chunks, or one chunk that is in two hours. Of each entry the digest has its times, and of each column its first and
 * last value and whether it falls in between. Where that is not enough (gaps, times of its own, no samples) it says to look at the chunks.
 */
#ifndef GOODPUT_STORE_DIGEST_H
#define GOODPUT_STORE_DIGEST_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIGEST_ENTRIES_MAX = 48 };

struct digest_entry {
	int64_t t_first, t_last;
	uint32_t rows, chunks;
	bool plain; /* all columns that need no look have all of its times */
};
struct digest_head {
	struct digest_entry entries[DIGEST_ENTRIES_MAX];
	size_t count;
};

struct digest_column {
	uint64_t look, falls; /* bits of entries */
	double *ends;         /* first and last of entry 0, of entry 1 ... */
};
struct digest_section {
	struct digest_column *columns;
	size_t count;
};

void digest_head_pack(const struct digest_head *head, struct buf *out);
struct digest_head *digest_head_unpack(struct str entries, struct arena *arena);
/* `above`: as in section.h; the section's data are not compressed. */
void digest_section_pack(const struct digest_section *s, const bool *above, size_t entries, struct buf *out);
struct digest_section *digest_section_unpack(struct str data, size_t columns, size_t entries, struct arena *arena);

#endif
