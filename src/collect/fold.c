/* Files of dead writers become one file a kind.
 *
 *   1. new archives are written beside: .counter_folded.db.new
 *   2. the journal .goodput-fold is put in place by a rename: from here on the fold is done, whatever happens
 *   3. the archives take their names, the files of the dead are removed, then the journal (fold_journal.c)
 */
#include "collect/fold.h"
#include "collect/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sums ---- */

static enum entry_op op_of_kind(const struct file_name *n)
{
	if (n->type != TYPE_GAUGE || n->mode == MODE_SUM)
		return OP_ADD;
	return n->mode == MODE_MIN ? OP_MIN : n->mode == MODE_MAX ? OP_MAX : n->mode == MODE_MOSTRECENT ? OP_NEWEST : OP_SET;
}

static bool same_kind(const struct file_name *a, const struct file_name *b)
{
	return a->type == b->type && a->mode == b->mode && a->live == b->live;
}

static void archive_add(struct archive *a, struct keys *keys, const struct metric_file *f)
{
	if (f->step > a->step)
		a->step = f->step;
	for (size_t i = 0; i < f->entries.count; i++) {
		uint32_t key = f->entries.items[i].key;
		double value = f->values[i], time = f->step == 16 && a->op == OP_NEWEST ? f->times[i] : 0;

		if (key >= a->index_count) {
			size_t before = a->index_count;

			a->index_count = keys->items.count + 64;
			a->index = mem_resize(a->index, a->index_count, sizeof *a->index);
			memset(a->index + before, 0, (a->index_count - before) * sizeof *a->index);
		}
		if (!a->index[key]) {
			VEC_PUSH(&a->rows, (struct archive_row){ key, value, time });
			a->index[key] = (uint32_t)a->rows.count;
			continue;
		}
		struct archive_row *row = &a->rows.items[a->index[key] - 1];

		if (a->op == OP_ADD)
			row->value += value;
		else if ((a->op == OP_MIN && value < row->value) || (a->op == OP_MAX && value > row->value) ||
			 (a->op == OP_NEWEST && time > row->time))
			*row = (struct archive_row){ key, value, time };
	}
}

/* The sum of a key over `files` in the order of a scrape. With `a`, its row stands where the archive's name belongs, for the archive and
 * the dead. */
static void sums(const struct archive *a, struct metric_file *const *files, size_t count, bool with_archive, double *sum)
{
	bool pending = with_archive;

	memset(sum, 0, a->index_count * sizeof *sum);
	for (size_t i = 0; i <= count; i++) {
		if (pending && (i == count || strcmp(a->name, files[i]->name_text) <= 0)) {
			VEC_EACH (&a->rows, row)
				sum[row->key] += row->value;
			pending = false;
		}
		if (i == count || (with_archive && files[i]->folding))
			continue;
		for (size_t k = 0; k < files[i]->entries.count; k++)
			if (files[i]->entries.items[k].key < a->index_count)
				sum[files[i]->entries.items[k].key] += files[i]->values[k];
	}
}

/* Other brackets around the same additions can round to less, and a counter that falls by its last bit is a restart to Prometheus. Sums of
 * doubles rise with each summand, so it is enough that they do not fall now, with the values of now. */
static void archive_lift(struct archive *a, struct metric_file *const *files, size_t count)
{
	double *before = mem_zalloc(a->index_count + 1, sizeof *before), *after = mem_zalloc(a->index_count + 1, sizeof *after);
	bool lower = true;

	sums(a, files, count, false, before);
	for (int round = 0; lower && round < 64; round++) {
		lower = false;
		sums(a, files, count, true, after);
		VEC_EACH (&a->rows, row)
			if (after[row->key] < before[row->key]) {
				double lifted = row->value + (before[row->key] - after[row->key]);

				row->value = lifted > row->value ? lifted : nextafter(row->value, INFINITY);
				lower = true;
			}
	}
	mem_free(before);
	mem_free(after);
}

/* ---- one fold ---- */

enum { FOLD_FILES_MAX = 400 /* in one fold: a descriptor each */ };

struct fold {
	struct collector *collector;
	int folder;
	VEC(struct metric_file *) read; /* values of now of all files that take part, in order of names */
	VEC(struct archive *) archives;
	VEC(int) locks;
	struct buf journal;
};

static bool fold_failed(struct error *e, const char *what, const char *name)
{
	int why = errno;

	error_set(e, why == ENOSPC ? EXIT_CRITICAL : EXIT_BAD_INPUT, "nothing was folded: %s %s: %s", name, what, strerror(why));
	return false;
}

static const struct writer *writer_of_file(const struct collector *c, const struct metric_file *f)
{
	VEC_EACH (&c->health.writers, w)
		if (w->pid == f->name.pid)
			return w;
	return NULL;
}

/* Once more, right before: a process of that number may have come. */
static bool is_dead(const struct collector *c, const struct metric_file *f, bool force)
{
	const struct writer *w = writer_of_file(c, f);
	struct process p;

	if (!w || f->name.folded || str_find(f->name.whole, '\n') >= 0 /* a journal has lines */ ||
		(f->state != COLLECT_FILE_OK && f->state != COLLECT_FILE_NEW))
		return false;
	if (c->health.elsewhere || !(w->state == COLLECT_DEAD || (force && w->state == COLLECT_UNKNOWN)))
		return false;
	/* Missed at two looks, between which nothing moved. */
	return (force || w->absent > 1) && !process_look(f->name.pid, &p);
}

/* In a sticky directory only the owner of a file, or of the directory, takes its name away. */
static bool may_remove(int folder, const struct stat *file)
{
	uid_t user = geteuid();
	struct stat s;

	return user == 0 || file->st_uid == user || fstat(folder, &s) != 0 || !(s.st_mode & S_ISVTX) || s.st_uid == user;
}

/* Writers of libgoodput hold a lock on their files while they live, in whichever container. Taken here until the files are gone. */
static bool file_take(struct fold *fold, struct metric_file *f)
{
	int fd = openat(fold->folder, f->name_text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat s;

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &s) != 0 || !fold_is_same_file(fold->folder, f->name_text, (int64_t)s.st_ino) ||
		!may_remove(fold->folder, &s)) {
		close(fd);
		return false;
	}
	f->inode = s.st_ino;
	VEC_PUSH(&fold->locks, fd);
	return true;
}

static bool is_kept(const struct file_name *n)
{
	return !(n->type == TYPE_GAUGE && (n->live || n->mode == MODE_ALL));
}

static struct archive *archive_of(struct fold *fold, const struct metric_file *f)
{
	struct archive *a;

	VEC_EACH (&fold->archives, known)
		if (same_kind(&(*known)->kind, &f->name))
			return *known;
	a = NEW(struct archive);
	a->kind = f->name;
	a->op = op_of_kind(&f->name);
	archive_name(&f->name, a->name);
	VEC_PUSH(&fold->archives, a);
	return a;
}

/* All files as they are now, read and not mapped; `folding` on those that end here. */
static bool fold_read(struct fold *fold, bool force, struct collect_fold *result, struct error *e)
{
	struct collector *c = fold->collector;

	VEC_EACH (&c->folder.files, place) {
		struct metric_file *f = metric_file_new(str_from((*place)->name_text), (*place)->inode);
		bool dead = result->files < FOLD_FILES_MAX && is_dead(c, *place, force) && file_take(fold, f);

		metric_file_refresh(f, &c->reader);
		metric_file_values(f, &c->reader);
		f->folding = dead || f->name.folded;
		VEC_PUSH(&fold->read, f);
		if (!dead)
			continue;
		if (f->state != COLLECT_FILE_OK && f->state != COLLECT_FILE_NEW)
			return error_set(e, EXIT_WARNING, "nothing was folded: %s: %s", f->name_text, f->why);
		result->files++;
		if (is_kept(&f->name) && f->entries.count)
			archive_of(fold, f);
	}
	return result->files > 0;
}

static void fold_sum(struct fold *fold)
{
	VEC_EACH (&fold->archives, place) {
		struct archive *a = *place;

		/* The archive that there is comes first, as it began. */
		for (int dead = 0; dead < 2; dead++)
			VEC_EACH (&fold->read, f)
				if ((*f)->folding && (*f)->name.folded != (bool)dead && same_kind(&(*f)->name, &a->kind))
					archive_add(a, fold->collector->reader.keys, *f);
		if (a->op != OP_ADD)
			continue;
		VEC(struct metric_file *) kind = { 0 };

		VEC_EACH (&fold->read, f)
			if (same_kind(&(*f)->name, &a->kind))
				VEC_PUSH(&kind, *f);
		archive_lift(a, kind.items, kind.count);
		VEC_FREE(&kind);
	}
}

static bool write_file(int folder, const char *name, struct str bytes, mode_t mode, struct error *e)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	size_t done = 0;

	if (fd < 0)
		return fold_failed(e, "cannot be made", name);
	while (done < bytes.len) {
		ssize_t n = write(fd, bytes.ptr + done, bytes.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	bool ok = done == bytes.len && fsync(fd) == 0;

	if (!ok)
		fold_failed(e, "cannot be written", name);
	close(fd);
	return ok;
}

static void word_add(struct buf *out, const void *word, size_t size)
{
	buf_add(out, str_of(word, size));
}

static bool archive_may_be_replaced(const struct fold *fold, const struct archive *a, struct error *e)
{
	struct stat s;

	if (fstatat(fold->folder, a->name, &s, AT_SYMLINK_NOFOLLOW) != 0 || may_remove(fold->folder, &s))
		return true;
	errno = EPERM;
	return fold_failed(e, "cannot be replaced", a->name);
}

static bool archive_write(const struct fold *fold, const struct archive *a, struct error *e)
{
	char name[FOLD_NAME_SIZE];
	struct buf bytes;
	int32_t used;

	buf_init(&bytes, INT32_MAX);
	buf_add_repeat(&bytes, '\0', 8);
	VEC_EACH (&a->rows, row) {
		struct str key = fold->collector->keys.items.items[row->key]->text;
		int32_t length = (int32_t)key.len;

		word_add(&bytes, &length, 4);
		buf_add(&bytes, key);
		buf_add_repeat(&bytes, ' ', 8 - bytes.len % 8);
		word_add(&bytes, &row->value, 8);
		if (a->step == 16)
			word_add(&bytes, &row->time, 8);
	}
	if (bytes.overflowed) {
		buf_fini(&bytes);
		return error_set(e, EXIT_BAD_INPUT, "nothing was folded: %s would be above 2 GiB", a->name);
	}
	used = (int32_t)bytes.len;
	memcpy(bytes.ptr, &used, 4);
	fold_new_name(str_from(a->name), name);
	bool ok = archive_may_be_replaced(fold, a, e) && write_file(fold->folder, name, buf_str(&bytes), 0644, e);

	buf_fini(&bytes);
	return ok;
}

static bool fold_write(struct fold *fold, struct error *e)
{
	buf_add(&fold->journal, STR("goodput fold 1\n"));
	VEC_EACH (&fold->archives, a) {
		fold_step();
		if (!archive_write(fold, *a, e))
			return false;
		buf_printf(&fold->journal, "archive %s\n", (*a)->name);
	}
	VEC_EACH (&fold->read, f) {
		if (!(*f)->folding || (*f)->name.folded)
			continue;
		const struct archive *a = is_kept(&(*f)->name) && (*f)->entries.count ? archive_of(fold, *f) : NULL;

		buf_printf(&fold->journal, "dead %lld %s %s\n", (long long)(*f)->inode, a ? a->name : "-", (*f)->name_text);
	}
	fold_step();
	return write_file(fold->folder, fold_journal_new, buf_str(&fold->journal), 0644, e);
}

/* The moment. */
static bool fold_commit(struct fold *fold, struct error *e)
{
	fold_step();
	if (renameat(fold->folder, fold_journal_new, fold->folder, fold_journal_name) != 0)
		return fold_failed(e, "cannot be renamed", fold_journal_new);
	fsync(fold->folder);
	if (!fold_journal_apply(fold->folder, buf_str(&fold->journal)))
		return error_set(e, EXIT_BAD_INPUT,
			"a fold is not finished: files in it cannot be renamed or removed by uid %u; readers go by its journal, %s",
			geteuid(), fold_journal_name);
	return true;
}

static void fold_fini(struct fold *fold)
{
	VEC_EACH (&fold->read, f)
		metric_file_free(*f, &fold->collector->reader);
	VEC_EACH (&fold->archives, a) {
		VEC_FREE(&(*a)->rows);
		mem_free((*a)->index);
		mem_free(*a);
	}
	VEC_EACH (&fold->locks, fd)
		close(*fd);
	VEC_FREE(&fold->locks);
	VEC_FREE(&fold->read);
	VEC_FREE(&fold->archives);
	buf_fini(&fold->journal);
}

bool collector_fold(struct collector *c, bool force, struct collect_fold *result, struct error *e)
{
	struct fold fold = { .collector = c, .folder = c->folder.descriptor };

	*result = (struct collect_fold){ 0 };
	fold_steps_begin();
	if (fold.folder < 0)
		return error_set(e, EXIT_UNKNOWN, "nothing was folded: %s cannot be read", c->folder.path);
	int lock = fold_lock_alone(fold.folder);

	if (lock < 0) {
		result->busy = errno == EWOULDBLOCK;
		return result->busy || fold_failed(e, "cannot be made", fold_lock_name);
	}
	buf_init(&fold.journal, FOLD_JOURNAL_MAX);
	fold_leftovers_remove(fold.folder);
	bool ok = true;

	/* Nothing to do is no failure; nor is a journal that waits to be finished: the next scrape does that. */
	if (!fold_is_left(fold.folder) && fold_read(&fold, force, result, e)) {
		fold_sum(&fold);
		ok = fold_write(&fold, e) && fold_commit(&fold, e);
		if (!ok)
			fold_leftovers_remove(fold.folder);
	} else {
		ok = !e->set;
	}
	if (!ok)
		*result = (struct collect_fold){ 0 };
	fold_fini(&fold);
	close(lock);
	c->folder.listed_ns = 0;
	return ok;
}
