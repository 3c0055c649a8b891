/* Files of dead writers become one file a kind.
 *
 *   1. new archives are written beside: .counter_folded.db.new
 *   2. the journal .goodput-fold is put in place by a rename: from here on the fold is done, whatever happens
 *   3. the archives take their names, the files of the dead are removed, then the journal
 *
 * Readers hold a shared lock on .goodput.lock while they list and read, a fold holds it alone. What a killed fold left is finished by
 * whoever may write; a reader who may not leaves out the files that an archive already holds: those whose archive has no .new beside it any
 * more. */
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

enum { JOURNAL_MAX = 64 << 20, NAME_SIZE = 300 };
static const char lock_name[] = ".goodput.lock", journal_name[] = ".goodput-fold", journal_new[] = ".goodput-fold.new";

int collect_fold_killed_at;
static int steps;

static void step(void)
{
	if (collect_fold_killed_at && ++steps == collect_fold_killed_at)
		_exit(9);
}

/* ---- the lock ---- */

int fold_lock_shared(int folder)
{
	int fd = openat(folder, lock_name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	/* A fold takes milliseconds; one that hangs must not stop the scrapes. */
	for (int tries = 0; tries < 500 && flock(fd, LOCK_SH | LOCK_NB) != 0; tries++)
		usleep(2000);
	return fd;
}

static int lock_alone(int folder)
{
	int fd = openat(folder, lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* ---- the journal ---- */

static void new_name(struct str archive, char *name)
{
	snprintf(name, NAME_SIZE, "." STR_FMT ".new", STR_ARG(archive));
}

static bool read_small(int folder, const char *name, struct buf *text)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;
	char *room;

	if (fd < 0)
		return false;
	while ((room = buf_reserve(text, 65536)) && (got = read(fd, room, 65536)) > 0)
		text->len += (size_t)got;
	close(fd);
	return room && got == 0;
}

/* One line: "archive NAME" or "dead INODE ARCHIVE NAME". */
struct journal_line {
	struct str archive, dead; /* dead.ptr NULL: an archive */
	int64_t inode;
};

static bool journal_next(struct str *rest, struct journal_line *l)
{
	struct str line, word, number;

	*l = (struct journal_line){ 0 };
	while (rest->ptr && str_split(rest, '\n', &line)) {
		if (str_starts(line, STR("archive "))) {
			l->archive = str_skip(line, 8);
			return true;
		}
		if (!str_starts(line, STR("dead ")))
			continue;
		line = str_skip(line, 5);
		if (str_split(&line, ' ', &number) && number_parse_i64(number, &l->inode) && line.ptr && str_split(&line, ' ', &word) &&
			line.ptr) {
			l->archive = word;
			l->dead = line;
			return true;
		}
	}
	return false;
}

static bool is_same_file(int folder, const char *name, int64_t inode)
{
	struct stat s;

	return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && (int64_t)s.st_ino == inode;
}

/* Names in a journal are names in the directory, whoever wrote it. */
static bool name_is_plain(struct str name)
{
	return file_name_is_ours(name) && str_find(name, '/') < 0 && name.len < NAME_SIZE - 8;
}

static void journal_apply(int folder, struct str text)
{
	char name[NAME_SIZE], from[NAME_SIZE];
	struct journal_line l;

	for (struct str rest = text; journal_next(&rest, &l);) {
		if (l.dead.ptr || !name_is_plain(l.archive))
			continue;
		new_name(l.archive, from);
		snprintf(name, sizeof name, STR_FMT, STR_ARG(l.archive));
		step();
		renameat(folder, from, folder, name);
	}
	for (struct str rest = text; journal_next(&rest, &l);) {
		if (!l.dead.ptr || !name_is_plain(l.dead))
			continue;
		snprintf(name, sizeof name, STR_FMT, STR_ARG(l.dead));
		step();
		if (is_same_file(folder, name, l.inode))
			unlinkat(folder, name, 0);
	}
	step();
	fsync(folder);
	unlinkat(folder, journal_name, 0);
	step();
}

/* Archives that no journal speaks of belong to a fold that never was. */
static void leftovers_remove(struct collector *c)
{
	DIR *stream = fdopendir(openat(c->folder.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		struct str name = str_from(entry->d_name);

		if (str_is(name, journal_new) || (str_starts(name, STR(".")) && str_ends(name, STR("_folded.db.new"))))
			unlinkat(c->folder.descriptor, entry->d_name, 0);
	}
	if (stream)
		closedir(stream);
}

bool fold_recover(int folder)
{
	int lock = lock_alone(folder);
	struct buf text;

	if (lock < 0)
		return false;
	buf_init(&text, JOURNAL_MAX);
	bool ok = faccessat(folder, ".", W_OK, AT_EACCESS) == 0 && read_small(folder, journal_name, &text);

	if (ok)
		journal_apply(folder, buf_str(&text));
	buf_fini(&text);
	close(lock);
	return ok;
}

bool fold_is_left(int folder)
{
	return faccessat(folder, journal_name, F_OK, 0) == 0;
}

void fold_hidden(int folder, struct map *hidden)
{
	char name[NAME_SIZE];
	struct journal_line l;
	struct buf text;

	map_clear(hidden);
	buf_init(&text, JOURNAL_MAX);
	if (read_small(folder, journal_name, &text))
		for (struct str rest = buf_str(&text); journal_next(&rest, &l);) {
			if (!l.dead.ptr || !name_is_plain(l.dead))
				continue;
			new_name(l.archive, name);
			if (faccessat(folder, name, F_OK, 0) == 0)
				continue;
			snprintf(name, sizeof name, STR_FMT, STR_ARG(l.dead));
			if (is_same_file(folder, name, l.inode))
				map_put(hidden, l.dead, NULL);
		}
	buf_fini(&text);
}

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
	if (f->step)
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

	if (!w || f->name.folded || (f->state != COLLECT_FILE_OK && f->state != COLLECT_FILE_NEW))
		return false;
	if (c->health.elsewhere || !(w->state == COLLECT_DEAD || (force && w->state == COLLECT_UNKNOWN)))
		return false;
	/* Missed at two looks, between which nothing moved. */
	return (force || w->absent > 1) && !process_look(f->name.pid, &p);
}

/* Writers of libgoodput hold a lock on their files while they live, in whichever container. Taken here until the files are gone. */
static bool file_take(struct fold *fold, const struct metric_file *f)
{
	int fd = openat(fold->folder, f->name_text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat s;

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &s) != 0 || !is_same_file(fold->folder, f->name_text, (int64_t)s.st_ino)) {
		close(fd);
		return false;
	}
	VEC_PUSH(&fold->locks, fd);
	return true;
}

static bool is_kept(const struct file_name *n)
{
	return !(n->type == TYPE_GAUGE && (n->live || n->mode == MODE_ALL));
}

static struct archive *archive_of(struct fold *fold, const struct metric_file *f)
{
	static const char *const modes[] = { "all", "min", "max", "sum", "mostrecent" };
	struct archive *a;

	VEC_EACH (&fold->archives, known)
		if (same_kind(&(*known)->kind, &f->name))
			return *known;
	a = NEW(struct archive);
	a->kind = f->name;
	a->op = op_of_kind(&f->name);
	if (f->name.type == TYPE_GAUGE)
		snprintf(a->name, sizeof a->name, "gauge_%s_folded.db", modes[f->name.mode]);
	else
		snprintf(a->name, sizeof a->name, "%s_folded.db", file_type_name(f->name.type));
	VEC_PUSH(&fold->archives, a);
	return a;
}

/* All files as they are now, read and not mapped; `folding` on those that end here. */
static bool fold_read(struct fold *fold, bool force, struct collect_fold *result, struct error *e)
{
	struct collector *c = fold->collector;

	VEC_EACH (&c->folder.files, place) {
		struct metric_file *f = metric_file_new(str_from((*place)->name_text), (*place)->inode);
		bool dead = result->files < FOLD_FILES_MAX && is_dead(c, *place, force) && file_take(fold, *place);

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

static bool archive_write(const struct fold *fold, const struct archive *a, struct error *e)
{
	char name[NAME_SIZE];
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
	new_name(str_from(a->name), name);
	bool ok = write_file(fold->folder, name, buf_str(&bytes), 0644, e);

	buf_fini(&bytes);
	return ok;
}

static bool fold_write(struct fold *fold, struct error *e)
{
	struct stat s;

	buf_add(&fold->journal, STR("goodput fold 1\n"));
	VEC_EACH (&fold->archives, a) {
		step();
		if (!archive_write(fold, *a, e))
			return false;
		buf_printf(&fold->journal, "archive %s\n", (*a)->name);
	}
	VEC_EACH (&fold->read, f) {
		if (!(*f)->folding || (*f)->name.folded || fstatat(fold->folder, (*f)->name_text, &s, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		const struct archive *a = is_kept(&(*f)->name) && (*f)->entries.count ? archive_of(fold, *f) : NULL;

		buf_printf(&fold->journal, "dead %lld %s %s\n", (long long)s.st_ino, a ? a->name : "-", (*f)->name_text);
	}
	step();
	return write_file(fold->folder, journal_new, buf_str(&fold->journal), 0644, e);
}

/* The moment. */
static bool fold_commit(struct fold *fold, struct error *e)
{
	step();
	if (renameat(fold->folder, journal_new, fold->folder, journal_name) != 0)
		return fold_failed(e, "cannot be renamed", journal_new);
	fsync(fold->folder);
	journal_apply(fold->folder, buf_str(&fold->journal));
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
	steps = 0;
	if (fold.folder < 0)
		return error_set(e, EXIT_UNKNOWN, "nothing was folded: %s cannot be read", c->folder.path);
	int lock = lock_alone(fold.folder);

	if (lock < 0) {
		result->busy = errno == EWOULDBLOCK;
		return result->busy || fold_failed(e, "cannot be made", lock_name);
	}
	buf_init(&fold.journal, JOURNAL_MAX);
	leftovers_remove(c);
	bool ok = true;

	/* Nothing to do is no failure; nor is a journal that waits to be finished: the next scrape does that. */
	if (!fold_is_left(fold.folder) && fold_read(&fold, force, result, e)) {
		fold_sum(&fold);
		ok = fold_write(&fold, e) && fold_commit(&fold, e);
		if (!ok)
			leftovers_remove(c);
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
