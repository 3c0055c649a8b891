/* The listing of a directory: by readdir and never by patterns, in byte order of the names. */
#include "base/clock.h"
#include "collect/fold.h"

#include <dirent.h>
#include <endian.h>
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
	f->listed_ns = 0;
}

void folder_fini(struct folder *f, struct reader *r)
{
	folder_forget(f, r);
	folder_close(f);
	VEC_FREE(&f->files);
	map_fini(&f->hidden);
	mem_free(f->path);
}

static int64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the names that there are ---- */

/* The first bytes of a name, as numbers that compare like them: 5,000 names are sorted with hardly a look at the rest. */
enum { HEAD_WORDS = 3, HEAD_BYTES = HEAD_WORDS * sizeof(uint64_t) };
struct listed_name {
	uint64_t inode;
	size_t len;
	char text[];
};
struct listed {
	uint64_t head[HEAD_WORDS];
	const struct listed_name *name;
};
struct listing {
	struct arena arena;
	VEC(struct listed) items;
};

static void listing_add(struct listing *l, struct str name, uint64_t inode)
{
	struct listed_name *copy = arena_alloc(&l->arena, sizeof *copy + name.len + 1);
	struct listed listed = { .name = copy };

	copy->inode = inode;
	copy->len = name.len;
	memcpy(copy->text, name.ptr, name.len);
	copy->text[name.len] = '\0';
	memcpy(listed.head, name.ptr, name.len < HEAD_BYTES ? name.len : HEAD_BYTES);
	for (int i = 0; i < HEAD_WORDS; i++)
		listed.head[i] = be64toh(listed.head[i]);
	VEC_PUSH(&l->items, listed);
}

static int by_name(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	for (int i = 0; i < HEAD_WORDS; i++)
		if (x->head[i] != y->head[i])
			return x->head[i] < y->head[i] ? -1 : 1;
	return strcmp(x->name->text, y->name->text);
}

/* 0, or errno. */
static int listing_read(struct listing *l, const struct folder *f)
{
	/* A copy, since "." cannot be opened without the right to search. */
	int copy = fcntl(f->descriptor, F_DUPFD_CLOEXEC, 0), error;
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	error = stream ? 0 : errno;
	if (!stream) {
		if (copy >= 0)
			close(copy);
		return error;
	}
	rewinddir(stream);
	for (errno = 0; (entry = readdir(stream)); errno = 0) {
		struct str name = str_from(entry->d_name);

		if (file_name_is_ours(name) && !(f->hidden.live && map_has(&f->hidden, name)))
			listing_add(l, name, entry->d_ino);
	}
	error = errno;
	closedir(stream);
	if (l->items.count)
		qsort(l->items.items, l->items.count, sizeof *l->items.items, by_name);
	return error;
}

/* ---- the files that are known ---- */

/* The mapping or the next look keeps the number of a removed file from being given to another one: equal number, same file. A file that
 * is not mapped is read anew in any case. */
static bool is_known(const struct metric_file *file, const struct listed_name *name)
{
	return file->inode == name->inode && strcmp(file->name_text, name->text) == 0;
}

/* Both are sorted by name. Files that went are freed, those that came are new. */
static void files_update(struct folder *f, struct reader *r, const struct listing *l, bool *changed)
{
	struct metric_file **old = f->files.items;
	size_t count = f->files.count, at = 0;

	f->files.items = NULL;
	f->files.count = f->files.cap = 0;
	VEC_RESERVE(&f->files, l->items.count);
	VEC_EACH (&l->items, listed) {
		const struct listed_name *name = listed->name;

		/* A directory that changes while it is listed may show a name twice. */
		if (f->files.count && strcmp(f->files.items[f->files.count - 1]->name_text, name->text) == 0)
			continue;
		for (; at < count && !is_known(old[at], name) && strcmp(old[at]->name_text, name->text) <= 0; at++) {
			metric_file_free(old[at], r);
			*changed = true;
		}
		if (at < count && is_known(old[at], name)) {
			VEC_PUSH(&f->files, old[at++]);
			continue;
		}
		VEC_PUSH(&f->files, metric_file_new(str_of(name->text, name->len), name->inode));
		*changed = true;
	}
	for (; at < count; at++) {
		metric_file_free(old[at], r);
		*changed = true;
	}
	mem_free(old);
}

static bool list(struct folder *f, struct reader *r, bool *changed, int *error)
{
	struct listing l = { 0 };

	arena_init(&l.arena);
	*error = listing_read(&l, f);
	if (!*error)
		files_update(f, r, &l, changed);
	VEC_FREE(&l.items);
	arena_fini(&l.arena);
	return !*error;
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
