/* The lock and the journal of a fold (fold.c). Readers hold a shared lock on .goodput.lock while they list and read, a fold holds it alone.
 * What a killed fold left is finished by whoever may write; a reader who may not leaves out the files that an archive already holds: those
 * whose archive has no .new beside it any more. */
#include "collect/fold.h"
#include "collect/lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char fold_lock_name[] = ".goodput.lock", fold_journal_name[] = ".goodput-fold", fold_journal_new[] = ".goodput-fold.new";

int collect_fold_killed_at;
static int steps;

void fold_steps_begin(void)
{
	steps = 0;
}

void fold_step(void)
{
	if (collect_fold_killed_at && ++steps == collect_fold_killed_at)
		_exit(9);
}

/* ---- the lock ---- */

int fold_lock_shared(int folder)
{
	int fd = openat(folder, fold_lock_name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	/* A fold takes milliseconds; one that hangs must not stop the scrapes. */
	for (int tries = 0; tries < 500 && flock(fd, LOCK_SH | LOCK_NB) != 0; tries++)
		usleep(2000);
	return fd;
}

int fold_lock_alone(int folder)
{
	int fd = openat(folder, fold_lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* ---- the journal ---- */

void fold_new_name(struct str archive, char *name)
{
	snprintf(name, FOLD_NAME_SIZE, "." STR_FMT ".new", STR_ARG(archive));
}

static bool read_small(int folder, const char *name, struct buf *text)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;
	char *room;

	if (fd < 0)
		return false;
	while ((room = buf_reserve(text, 65536)) && ((got = read(fd, room, 65536)) > 0 || (got < 0 && errno == EINTR)))
		text->len += got > 0 ? (size_t)got : 0;
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

bool fold_is_same_file(int folder, const char *name, int64_t inode)
{
	struct stat s;

	return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && (int64_t)s.st_ino == inode;
}

/* Names in a journal are names in the directory, whoever wrote it. */
static bool name_is_plain(struct str name)
{
	return file_name_is_ours(name) && str_find(name, '/') < 0 && name.len < FOLD_NAME_SIZE - 8;
}

static bool archive_has_its_name(int folder, struct str archive)
{
	char name[FOLD_NAME_SIZE];

	fold_new_name(archive, name);
	return faccessat(folder, name, F_OK, 0) != 0;
}

bool fold_journal_apply(int folder, struct str text)
{
	char name[FOLD_NAME_SIZE], from[FOLD_NAME_SIZE];
	struct journal_line l;
	bool done = true;

	for (struct str rest = text; journal_next(&rest, &l);) {
		if (l.dead.ptr || !name_is_plain(l.archive))
			continue;
		fold_new_name(l.archive, from);
		snprintf(name, sizeof name, STR_FMT, STR_ARG(l.archive));
		fold_step();
		if (renameat(folder, from, folder, name) != 0 && errno != ENOENT)
			done = false;
	}
	for (struct str rest = text; journal_next(&rest, &l);) {
		if (!l.dead.ptr || !name_is_plain(l.dead) || !archive_has_its_name(folder, l.archive))
			continue;
		snprintf(name, sizeof name, STR_FMT, STR_ARG(l.dead));
		fold_step();
		if (fold_is_same_file(folder, name, l.inode) && unlinkat(folder, name, 0) != 0 && errno != ENOENT)
			done = false;
	}
	fold_step();
	fsync(folder);
	if (done)
		unlinkat(folder, fold_journal_name, 0);
	fold_step();
	return done;
}

void fold_leftovers_remove(int folder)
{
	int copy = fold_is_left(folder) ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		struct str name = str_from(entry->d_name);

		if (str_is(name, fold_journal_new) || (str_starts(name, STR(".")) && str_ends(name, STR("_folded.db.new"))))
			unlinkat(folder, entry->d_name, 0);
	}
	if (stream)
		closedir(stream);
	else if (copy >= 0)
		close(copy);
}

bool fold_recover(int folder)
{
	int lock = fold_lock_alone(folder);
	struct buf text;

	if (lock < 0)
		return false;
	buf_init(&text, FOLD_JOURNAL_MAX);
	bool ok = faccessat(folder, ".", W_OK, AT_EACCESS) == 0 && read_small(folder, fold_journal_name, &text);

	ok = ok && fold_journal_apply(folder, buf_str(&text));
	buf_fini(&text);
	close(lock);
	return ok;
}

bool fold_is_left(int folder)
{
	return faccessat(folder, fold_journal_name, F_OK, 0) == 0;
}

void fold_hidden(int folder, struct map *hidden)
{
	char name[FOLD_NAME_SIZE];
	struct journal_line l;
	struct buf text;

	map_clear(hidden);
	buf_init(&text, FOLD_JOURNAL_MAX);
	if (read_small(folder, fold_journal_name, &text))
		for (struct str rest = buf_str(&text); journal_next(&rest, &l);) {
			if (!l.dead.ptr || !name_is_plain(l.dead) || !archive_has_its_name(folder, l.archive))
				continue;
			snprintf(name, sizeof name, STR_FMT, STR_ARG(l.dead));
			if (fold_is_same_file(folder, name, l.inode))
				map_put(hidden, l.dead, NULL);
		}
	buf_fini(&text);
}
