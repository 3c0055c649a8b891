/* The newest sample of a series, which later ones are compared with. Of a file that was opened only a bound is known: when the last chunk
 * ends that can have it. What comes is newer, as a rule; only for what is not the file is asked. */
#include "base/log.h"
#include "base/number.h"
#include "store/internal.h"

enum { CHUNKS_MOST = 4 }; /* that are looked into; beyond them the bound holds */

struct newest {
	int64_t t_ms;
	double value;
	bool found;
};

/* Of a column of a chunk, if it has one there. */
static bool column_newest(
	struct disk *disk, const struct set *set, int64_t chunk, uint32_t column, struct arena *arena, struct newest *n, struct error *e)
{
	size_t list_count;
	struct str summary, packed;
	struct section section;
	uint32_t k = 0;

	while (set->starts[k + 1] <= column)
		k++;
	struct times_list *lists = times_fetch(disk, chunk, arena, &list_count, e);
	/* Nothing is unpacked: what is replayed at this time may stand there. */
	if (!lists || !section_fetch_packed(disk, chunk, k, &summary, &packed, e))
		return false;
	if (!section_open(&section, summary, lists, list_count, arena) || section.count != set->starts[k + 1] - set->starts[k])
		return database_damaged(disk->path, "the summary of a section cannot be read", e);
	uint32_t i = column - set->starts[k], list = section_list(&section, i);
	if (list == SECTION_ABSENT)
		return true;
	n->found = true;
	n->t_ms = lists[list].t[lists[list].count - 1];
	n->value = section_summary(&section, i).last;
	return true;
}

static struct newest set_newest(struct disk *disk, const struct set *set, uint32_t column)
{
	struct newest n = { INT64_MIN, number_nan(), false };
	size_t left = set->chunks.count;
	struct error e = { 0 };
	struct arena arena;

	arena_init(&arena);
	for (int tries = 0; left && tries < CHUNKS_MOST && !n.found; tries++) {
		if (!column_newest(disk, set, set->chunks.items[left - 1].id, column, &arena, &n, &e)) {
			log_warning("%s: %s", disk->path, e.message);
			break;
		}
		left -= !n.found;
	}
	if (!n.found && left)
		n = (struct newest){ set->chunks.items[left - 1].t_last, number_nan(), true };
	arena_fini(&arena);
	return n;
}

void series_ask_newest(struct store *s, struct series *series)
{
	struct disk *disk = s->disk;
	struct newest newest = { INT64_MIN, number_nan(), false };

	fetch_begin(disk);
	pthread_mutex_lock(&disk->reader_lock);
	for (uint32_t p = series->place; p != NO_PLACE; p = disk->places.items[p].next) {
		struct newest n = set_newest(disk, disk->sets.items[disk->places.items[p].set], disk->places.items[p].column);
		newest = n.found && (!newest.found || n.t_ms > newest.t_ms) ? n : newest;
	}
	pthread_mutex_unlock(&disk->reader_lock);
	fetch_end(disk);
	series->newest_ms = newest.t_ms;
	series->newest_value = newest.value;
	series->flags &= (uint8_t) ~(SERIES_UNSURE | SERIES_WRITTEN);
	if (newest.found)
		series->flags |= SERIES_WRITTEN;
	if (series->group)
		series_learn_newest(series);
}
