#include "collect/collect.h"

#include "base/clock.h"
#include "collect/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

enum {
	MAPS_MAX = 30000,     /* half of what Linux lets a process have */
	SPARE_KEYS = 4096,    /* of series that are gone; more are forgotten */
	REFUSED_MAX = 1 << 22 /* bytes */
};

struct collector *collector_new(const char *path, const struct collect_options *options)
{
	struct collector *c = NEW(struct collector);

	c->options = *options;
	folder_init(&c->folder, path);
	keys_init(&c->keys);
	plan_init(&c->plan);
	c->reader = (struct reader){ .folder = -1, .keys = &c->keys, .maps_max = MAPS_MAX };
	c->begun_ms = clock_monotonic_ns() / 1000000;
	c->report.quiet_s = NAN;
	c->report.disk_free = UINT64_MAX;
	return c;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	folder_fini(&c->folder, &c->reader);
	plan_fini(&c->plan);
	keys_fini(&c->keys);
	reader_fini(&c->reader);
	VEC_FREE(&c->health.faults);
	VEC_FREE(&c->health.slow);
	VEC_FREE(&c->health.writers);
	VEC_FREE(&c->health.fresh);
	mem_free(c);
}

/* Keys of series that no file has any more would stay for ever in a directory whose programs change. */
static bool keys_are_old(const struct collector *c)
{
	size_t used = 0;

	for (size_t i = 1; i < c->keys.items.count; i++)
		used += c->keys.items.items[i]->seen == c->plan.number;
	return c->keys.items.count >= 2 * used + SPARE_KEYS;
}

static void keys_forget(struct collector *c)
{
	keys_fini(&c->keys);
	keys_init(&c->keys);
	VEC_EACH (&c->folder.files, file)
		metric_file_forget(*file);
	VEC_EACH (&c->folder.files, file)
		metric_file_refresh(*file, &c->reader);
}

static void plan_anew(struct collector *c)
{
	struct metric_file *const *files = c->folder.files.items;

	plan_build(&c->plan, &c->keys, files, c->folder.files.count, c->options.as_016);
	if (keys_are_old(c)) {
		keys_forget(c);
		plan_build(&c->plan, &c->keys, files, c->folder.files.count, c->options.as_016);
	}
}

static void merge_all(struct collector *c, bool changed, int64_t now_ms)
{
	/* A damaged file is read again at each scrape, and so is the text in it that is no key. */
	if (c->keys.refused > REFUSED_MAX) {
		keys_forget(c);
		changed = true;
	}
	do {
		if (changed || !c->planned)
			plan_anew(c);
		c->planned = changed = true;
	} while (!plan_merge(&c->plan, c->folder.files.items, c->folder.files.count, &c->reader, now_ms));
}

static void count_files(struct collector *c)
{
	struct collect_report *r = &c->report;

	memset(r->files, 0, sizeof r->files);
	r->entries = r->layout_one = r->layout_two = 0;
	r->bytes = 0;
	VEC_EACH (&c->folder.files, place) {
		const struct metric_file *f = *place;

		r->files[f->state]++;
		r->entries += f->entries.count;
		r->bytes += f->used;
		r->layout_one += f->step == 8;
		r->layout_two += f->step == 16;
	}
	r->families = c->plan.family_count;
	r->samples = c->plan.lines.count - c->plan.family_count;
}

static enum collect_directory directory_state(struct collector *c, enum collect_directory listed)
{
	size_t refused = 0;

	if (listed == COLLECT_EMPTY && c->had_files)
		return COLLECT_EMPTIED;
	if (listed == COLLECT_EMPTY && clock_monotonic_ns() / 1000000 - c->begun_ms < c->options.grace_ms)
		return COLLECT_WAITING;
	if (listed != COLLECT_READ)
		return listed;
	VEC_EACH (&c->folder.files, file)
		refused += (*file)->state == COLLECT_FILE_UNREADABLE && (*file)->error == EACCES;
	if (refused == c->folder.files.count && faccessat(c->folder.descriptor, ".", X_OK, AT_EACCESS) != 0)
		return COLLECT_UNSEARCHABLE;
	c->had_files = true;
	return COLLECT_READ;
}

const struct collect_report *collector_scrape(struct collector *c)
{
	int64_t now_ms = clock_now_ms();
	bool changed = false;
	enum collect_directory listed = folder_list_files(&c->folder, &c->reader, &changed, &c->error);

	VEC_EACH (&c->folder.files, file)
		changed |= metric_file_refresh(*file, &c->reader);
	merge_all(c, changed, now_ms);
	folder_release(&c->folder);
	c->report.directory = directory_state(c, listed);
	count_files(c);
	health_look(c, changed, now_ms);
	return &c->report;
}

const struct collect_report *collector_report(const struct collector *c)
{
	return &c->report;
}

void collector_page(struct collector *c, enum collect_format format, struct buf *out)
{
	plan_print(&c->plan, format, &c->options, out);
}
