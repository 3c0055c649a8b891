/* The listing of a directory: by readdir and never by patterns, in byte order of the names. */
#include "base/clock.h"
#include "collect/fold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A directory whose ctime lies this far before the last listing has not changed since; file systems stamp with the clock of the last tick.
 */
static const int64_t tick_ns = 50000000;
/* Clocks of network file systems are not ours: listed again after this long in any case. */
static const int64_t listing_ns = 10000000000;

void folder_init(struct folder *f, const char *path)
{
	*f = (struct folder){ .path = mem_copy(path, strlen(path)), .descriptor = -1, .lock = -1 };
	map_init(&f->by_name);
	map_init(&f->hidden);
}

static void folder_close(struct folder *f)
{
	if (f->descriptor >= 0)
		close(f->descriptor);
	f->descriptor = -1;
}

static void folder_forget(struct folder *f, struct reader *r)
{
	VEC_EACH (&f->files, file)
		metric_file_free(*file, r);
	f->files.count = 0;
	map_clear(&f->by_name);
	f->listed_ns = 0;
}

void folder_fini(struct folder *f, struct reader *r)
{
	folder_forget(f, r);
	folder_close(f);
	VEC_FREE(&f->files);
	map_fini(&f->by_name);
	map_fini(&f->hidden);
	mem_free(f->path);
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void file_seen(struct folder *f, struct reader *r, struct str name, uint64_t inode, bool *changed)
{
	struct map_entry *entry = map_put(&f->by_name, name, NULL);
	struct metric_file *file = entry->value;

	/* The mapping or the next look keeps the number of a removed file from being given to another one: equal number, same file. A file
	 * that is not mapped is read anew in any case. */
	if (file && file->inode == inode) {
		file->turn = f->turn;
		return;
	}
	*changed = true;
	struct metric_file *made = metric_file_new(name, inode);

	made->turn = f->turn;
	entry->value = made;
	if (!file) {
		VEC_PUSH(&f->files, made);
		return;
	}
	VEC_EACH (&f->files, place)
		if (*place == file)
			*place = made;
	metric_file_free(file, r);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct metric_file *const *)a)->name_text, (*(struct metric_file *const *)b)->name_text);
}

static void drop_unseen(struct folder *f, struct reader *r, bool *changed)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->files.count; i++) {
		struct metric_file *file = f->files.items[i];

		if (file->turn == f->turn) {
			f->files.items[kept++] = file;
			continue;
		}
		*changed = true;
		map_remove(&f->by_name, str_from(file->name_text));
		metric_file_free(file, r);
	}
	f->files.count = kept;
}

static bool list(struct folder *f, struct reader *r, bool *changed, int *error)
{
	/* A copy, since "." cannot be opened without the right to search. */
	int copy = fcntl(f->descriptor, F_DUPFD_CLOEXEC, 0);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	*error = stream ? 0 : errno;
	if (!stream) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	f->turn++;
	rewinddir(stream);
	for (errno = 0; (entry = readdir(stream)); errno = 0) {
		struct str name = str_from(entry->d_name);

		if (file_name_is_ours(name) && !(f->hidden.live && map_has(&f->hidden, name)))
			file_seen(f, r, name, entry->d_ino, changed);
	}
	*error = errno;
	closedir(stream);
	if (*error)
		return false;
	drop_unseen(f, r, changed);
	if (*changed && f->files.count)
		qsort(f->files.items, f->files.count, sizeof *f->files.items, by_name);
	return true;
}

void folder_release(struct folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}

/* Where somebody folds there is a lock file; a fold that was killed is finished first. */
static void folder_hold(struct folder *f)
{
	folder_release(f);
	if (f->descriptor < 0)
		return;
	f->lock = fold_lock_shared(f->descriptor);
	if (f->lock < 0 || !fold_is_left(f->descriptor)) {
		map_clear(&f->hidden);
		return;
	}
	folder_release(f);
	fold_recover(f->descriptor);
	f->lock = fold_lock_shared(f->descriptor);
	fold_hidden(f->descriptor, &f->hidden);
	f->listed_ns = 0;
}

static enum collect_directory failure(int error)
{
	return error == ENOENT ? COLLECT_MISSING : error == ENOTDIR ? COLLECT_NOT_A_DIRECTORY : COLLECT_UNREADABLE;
}

/* The path may have become another directory. */
static bool folder_reopen(struct folder *f, struct reader *r, const struct stat *s, bool *changed, int *error)
{
	if (f->descriptor >= 0 && f->device == s->st_dev && f->inode == s->st_ino)
		return true;
	*changed = *changed || f->files.count > 0;
	folder_forget(f, r);
	folder_close(f);
	f->descriptor = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*error = errno;
	f->device = s->st_dev;
	f->inode = s->st_ino;
	r->folder = f->descriptor;
	folder_hold(f);
	return f->descriptor >= 0;
}

static enum collect_directory folder_failed(struct folder *f, struct reader *r, bool *changed, int error)
{
	*changed = *changed || f->files.count > 0;
	folder_forget(f, r);
	folder_close(f);
	return failure(error);
}

enum collect_directory folder_list_files(struct folder *f, struct reader *r, bool *changed, int *error)
{
	struct stat s;
	int64_t now = wall_ns();

	*error = 0;
	folder_hold(f);
	if (stat(f->path, &s) != 0 || (!S_ISDIR(s.st_mode) && (errno = ENOTDIR)) || access(f->path, R_OK) != 0) {
		*error = errno;
		return folder_failed(f, r, changed, *error);
	}
	if (!folder_reopen(f, r, &s, changed, error))
		return folder_failed(f, r, changed, *error);
	int64_t changed_ns = (int64_t)s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec;

	if (f->listed_ns && changed_ns == f->changed_ns && changed_ns + tick_ns < f->listed_ns && now >= f->listed_ns &&
		now - f->listed_ns < listing_ns)
		return f->files.count ? COLLECT_READ : COLLECT_EMPTY;
	if (!list(f, r, changed, error))
		return folder_failed(f, r, changed, *error);
	f->changed_ns = changed_ns;
	f->listed_ns = now;
	return f->files.count ? COLLECT_READ : COLLECT_EMPTY;
}
