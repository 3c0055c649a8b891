/* The processes of a directory. That a process is not seen says nothing where process ids of another container are in the names; so no
 * writer is called dead before one of them was seen to map its file, nor ever once a file moved whose process is not seen. */
#include "collect/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	REUSED_MS = 2000, /* clocks of /proc and of files differ by less */
	STRIKES = 3,
	LOOKS_BETWEEN = 5,
	LISTED_FROM = 64 /* writers: fewer are looked up one by one */
};

static int by_pid(const void *a, const void *b)
{
	int64_t x = ((const struct writer *)a)->pid, y = ((const struct writer *)b)->pid;

	return (x > y) - (x < y);
}

static struct writer *writer_find(struct health *h, size_t sorted, int64_t pid)
{
	struct writer wanted = { .pid = pid };

	return sorted ? bsearch(&wanted, h->writers.items, sorted, sizeof wanted, by_pid) : NULL;
}

/* One for each process; what was found out of one stays. */
static void writers_list(struct collector *c)
{
	struct health *h = &c->health;
	size_t known = h->writers.count, kept = 0;

	VEC_EACH (&c->folder.files, place)
		if ((*place)->name_is_known && (*place)->name.pid >= 0)
			VEC_PUSH(&h->fresh, (struct writer){ .pid = (*place)->name.pid, .file = *place });
	if (h->fresh.count > 1)
		qsort(h->fresh.items, h->fresh.count, sizeof *h->fresh.items, by_pid);
	for (size_t i = 0; i < h->fresh.count; i++) {
		struct metric_file *file = h->fresh.items[i].file;

		if (kept && h->fresh.items[i].pid == h->fresh.items[kept - 1].pid) {
			file->sibling = h->fresh.items[kept - 1].file->sibling;
			h->fresh.items[kept - 1].file->sibling = file;
			continue;
		}
		const struct writer *before = writer_find(h, known, h->fresh.items[i].pid);

		file->sibling = NULL;
		h->fresh.items[kept] = h->fresh.items[i];
		if (before) {
			h->fresh.items[kept] = *before;
			h->fresh.items[kept].file = file;
		}
		kept++;
	}
	h->writers.count = 0;
	for (size_t i = 0; i < kept; i++)
		VEC_PUSH(&h->writers, h->fresh.items[i]);
	h->fresh.count = 0;
}

/* Which writers' values moved since the last look. */
static void moves_look(struct collector *c)
{
	struct health *h = &c->health;

	VEC_EACH (&h->writers, w)
		w->moved = false;
	VEC_EACH (&c->folder.files, place) {
		struct metric_file *f = *place;
		bool moved = f->moves_looked && f->moves != f->moves_looked;
		struct writer *w = moved ? writer_find(h, h->writers.count, f->name.pid) : NULL;

		if (w)
			w->moved = true;
		f->moves_looked = f->moves;
	}
}

/* Has the process any file of its number mapped? */
static enum process_maps maps_any(const struct collector *c, const struct writer *w)
{
	enum process_maps maps = PROCESS_MAPS_HIDDEN;
	struct stat files[PROCESS_FILES_MAX];
	size_t count = 0;

	for (const struct metric_file *f = w->file; f && maps != PROCESS_MAPS; f = f->sibling) {
		count += fstatat(c->folder.descriptor, f->name_text, &files[count], 0) == 0;
		if (count == PROCESS_FILES_MAX || (count && !f->sibling)) {
			maps = process_maps_any(w->pid, files, count);
			count = 0;
		}
	}
	return maps;
}

static enum collect_writer writer_state(struct collector *c, struct writer *w, const struct map *ids)
{
	char text[24];
	struct process p;

	snprintf(text, sizeof text, "%lld", (long long)w->pid);
	if ((ids->live && !map_has(ids, str_from(text))) || !process_look(w->pid, &p))
		return COLLECT_DEAD;
	if (!w->file->examined)
		file_examine(c, w->file);
	/* Mappings of others' processes are hidden: such a one is known to be the writer once the file moves. */
	bool moved = w->moved && p.owner == w->file->owner;

	if (w->start_ticks != p.start_ticks) {
		/* A process that did not map it a moment ago, and nothing moved: its mappings are not read at every look. */
		if (w->stranger_ticks == p.start_ticks && !w->moved && ++w->looks % LOOKS_BETWEEN)
			return COLLECT_REUSED;
		enum process_maps maps = maps_any(c, w);

		w->stranger_ticks = p.start_ticks;
		if (maps == PROCESS_MAPS_NOT || (maps == PROCESS_MAPS_HIDDEN && !moved && p.start_ms > w->file->born_ms + REUSED_MS))
			return COLLECT_REUSED;
		w->start_ticks = p.start_ticks;
		w->proven = maps == PROCESS_MAPS;
	}
	w->proven = w->proven || moved;
	c->health.visible = c->health.visible || w->proven;
	if (!w->proven)
		return COLLECT_UNKNOWN;
	return p.state == 'T' || p.state == 't' ? COLLECT_FROZEN : COLLECT_ALIVE;
}

/* A writer that is gone and yet writes, look after look, is seen by others only: it has its process id in another container. (Once may be a
 * process that wrote and ended between two looks.) */
static void absence_look(struct collector *c, struct writer *w)
{
	if (w->state != COLLECT_DEAD) {
		w->absent = w->strikes = 0;
	} else if (w->absent && w->moved) {
		w->absent = 1;
		c->health.elsewhere = c->health.elsewhere || ++w->strikes >= STRIKES;
	} else {
		w->absent++;
	}
}

static void writers_fault(struct collector *c, enum collect_writer state, const char *kind, const char *what)
{
	const struct writer *first = NULL;

	VEC_EACH (&c->health.writers, w)
		first = w->state == state && !first ? w : first;
	if (!first)
		return;
	fault_add(c, true, kind, EXIT_WARNING, first->file->name_text, "%zu writer%s (the first: process %lld) %s",
		c->report.writers[state], c->report.writers[state] == 1 ? "" : "s", (long long)first->pid, what);
	if (c->health.slow.count)
		c->health.slow.items[c->health.slow.count - 1].is_group = true;
}

void writers_look(struct collector *c, int64_t now_ms)
{
	struct health *h = &c->health;
	struct map ids;

	memset(c->report.writers, 0, sizeof c->report.writers);
	writers_list(c);
	map_init(&ids);
	if (h->writers.count > LISTED_FROM)
		processes_list(&ids);
	moves_look(c);
	VEC_EACH (&h->writers, w) {
		w->state = writer_state(c, w, &ids);
		absence_look(c, w);
	}
	map_fini(&ids);
	VEC_EACH (&h->writers, w) {
		if ((w->state == COLLECT_DEAD || w->state == COLLECT_REUSED) && (!h->visible || h->elsewhere))
			w->state = COLLECT_UNKNOWN;
		c->report.writers[w->state]++;
	}
	writers_fault(c, COLLECT_DEAD, "dead-writer",
		"ended without being marked dead: their files stay and are added up for ever; --fold joins them");
	writers_fault(c, COLLECT_FROZEN, "frozen-writer", "stopped: values stay as they are");
	writers_fault(c, COLLECT_REUSED, "reused-pid", "is not what wrote the file: the process id was given to another process");
}
