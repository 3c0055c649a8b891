/* A metric file as its only writer sees it. Space is reserved before it is mapped, and entries are written by pwrite: a full disk is an
 * error of a call here, never a SIGBUS in the host. */
#include "telemetry/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 8u
#define STEP_MAX (1u << 20)
#define PATH_SIZE 4096

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int fail(struct goodput_file *f, const char *doing, int error)
{
	errno = error;
	return goodput_file_failed(f, doing);
}

int goodput_file_failed(struct goodput_file *f, const char *doing)
{
	f->doing = doing;
	f->system_error = errno;
	switch (errno) {
	case EACCES:
	case EPERM:
	case EROFS: f->status = GOODPUT_DENIED; break;
	case ENOSPC:
	case EDQUOT: f->status = GOODPUT_NO_SPACE; break;
	case ENOMEM: f->status = GOODPUT_NO_MEMORY; break;
	case ENOENT:
	case ENOTDIR: f->status = GOODPUT_NO_DIRECTORY; break;
	case EWOULDBLOCK: f->status = GOODPUT_BUSY; break;
	case EFBIG: f->status = GOODPUT_TOO_LARGE; break;
	default: f->status = GOODPUT_IO;
	}
	return f->status;
}

static int write_all(int fd, const char *bytes, size_t size, uint64_t at)
{
	while (size) {
		ssize_t n = pwrite(fd, bytes, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		bytes += n;
		size -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[4096];

	for (int error; from < to; from += sizeof zeros)
		if ((error = write_all(fd, zeros, to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros, from)))
			return error;
	return 0;
}

/* Makes the file so long, with blocks behind [from, to). Nothing lives beyond from, so zeros may be written where the file system cannot
 * reserve. */
static int reserve(int fd, uint64_t from, uint64_t to)
{
	struct rlimit limit;
	int r;

	/* Beyond the limit the kernel would send SIGXFSZ. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && to > limit.rlim_cur)
		return EFBIG;
	do
		r = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
	while (r && errno == EINTR);
	if (!r)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? write_zeros(fd, from, to) : errno;
}

static int map(struct goodput_file *f, uint64_t begin, uint64_t end)
{
	struct goodput_segment *s = realloc(f->segments, (f->segment_count + 1) * sizeof *s);
	void *at;

	if (!s)
		return ENOMEM;
	f->segments = s;
	at = mmap(NULL, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, (off_t)begin);
	if (at == MAP_FAILED)
		return errno;
	/* A mapping holds the file's lock like a descriptor: in a forked child it would outlive its owner. */
	if (madvise(at, end - begin, MADV_DONTFORK)) {
		int error = errno;

		munmap(at, end - begin);
		return error;
	}
	s[f->segment_count++] = (struct goodput_segment){ begin, end, at };
	return 0;
}

static int grow(struct goodput_file *f, size_t need)
{
	const uint64_t page = page_size(), step = f->size < page ? page : f->size < STEP_MAX ? f->size : STEP_MAX;
	uint64_t size = f->size + step;
	int error;

	while (size < f->used + (uint64_t)need)
		size += step;
	size = (size + page - 1) & ~(page - 1);
	if (f->used + (uint64_t)need > INT32_MAX - HEADER)
		return EFBIG;
	error = reserve(f->fd, f->size, size);
	if (!error)
		error = map(f, f->size >= 2 * page ? f->size - page : 0, size);
	if (!error)
		f->size = size;
	return error;
}

static void store_used(struct goodput_file *f, uint32_t used)
{
	f->used = used;
	__atomic_store_n((uint32_t *)(void *)f->segments[0].at, used, __ATOMIC_RELEASE);
}

int goodput_file_append(struct goodput_file *f, const void *entries, size_t size, uint32_t *at)
{
	int error = f->used + (uint64_t)size > f->size ? grow(f, size) : 0;

	if (error)
		return fail(f, "growing", error);
	error = write_all(f->fd, entries, size, f->used);
	if (error)
		return fail(f, "writing", error);
	*at = f->used;
	store_used(f, f->used + (uint32_t)size);
	return 0;
}

double *goodput_file_cell(const struct goodput_file *f, uint64_t offset)
{
	for (size_t i = f->segment_count; i-- > 0;) {
		const struct goodput_segment *s = &f->segments[i];

		if (offset >= s->begin && offset + f->value_size <= s->end)
			return (double *)(void *)(s->at + (offset - s->begin));
	}
	return NULL;
}

static int path_of(char path[PATH_SIZE], const char *directory, const char *before, const char *name, const char *after)
{
	return snprintf(path, PATH_SIZE, "%s/%s%s%s", directory, before, name, after) < PATH_SIZE ? 0 : ENAMETOOLONG;
}

static int identify(struct goodput_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return errno;
	f->inode = st.st_ino;
	f->device = st.st_dev;
	f->size = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

bool goodput_file_ours(const struct goodput_file *f)
{
	struct stat st;

	return f->fd >= 0 && !fstat(f->fd, &st) && st.st_ino == f->inode && st.st_dev == f->device;
}

void goodput_file_drop(struct goodput_file *f)
{
	if (goodput_file_ours(f))
		close(f->fd);
	f->fd = -1;
}

/* Gives the finished file its name; in place of what is there, or EEXIST. */
static int publish(const char *hidden, const char *path, bool replace)
{
	if (replace)
		return rename(hidden, path) ? errno : 0;
	if (!renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	if (link(hidden, path))
		return errno;
	unlink(hidden);
	return 0;
}

/* A hidden name that no reader lists. One that is left of a killed maker is taken away: its lock is free. */
static int hidden_open(const char *hidden)
{
	for (int tries = 0; tries < 4; tries++) {
		int fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644), old;

		if (fd >= 0 || errno != EEXIST)
			return fd;
		old = open(hidden, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (old < 0)
			continue;
		if (!flock(old, LOCK_EX | LOCK_NB))
			unlink(hidden);
		close(old);
	}
	errno = EWOULDBLOCK;
	return -1;
}

/* The file gets its name when it is whole and locked: nobody sees one of 0 bytes. */
static int create(struct goodput_file *f, const char *directory, bool replace)
{
	char hidden[PATH_SIZE], path[PATH_SIZE];
	int error = path_of(hidden, directory, ".", f->name, ".new");

	if (!error)
		error = path_of(path, directory, "", f->name, "");
	if (error)
		return error;
	f->fd = hidden_open(hidden);
	if (f->fd < 0)
		return errno;
	f->used = HEADER;
	error = identify(f);
	if (!error)
		error = flock(f->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? errno : 0;
	if (!error)
		error = grow(f, 0);
	if (!error) {
		store_used(f, HEADER);
		error = publish(hidden, path, replace);
	}
	if (error) {
		unlink(hidden);
		goodput_file_close(f);
	}
	return error;
}

bool goodput_file_linked(const struct goodput_file *f, const char *directory)
{
	char path[PATH_SIZE];
	struct stat st;

	if (path_of(path, directory, "", f->name, ""))
		return false;
	/* A folder that cannot be searched just now says nothing. */
	if (stat(path, &st))
		return errno != ENOENT && errno != ENOTDIR;
	return st.st_ino == f->inode && st.st_dev == f->device;
}

/* The open, locked file of a predecessor. A damaged one is put aside under a name that no reader lists. */
static int take_over(struct goodput_file *f, const char *directory)
{
	char path[PATH_SIZE], aside[PATH_SIZE];
	int error = goodput_adopt(f);

	if (error == EILSEQ && !path_of(path, directory, "", f->name, "") && !path_of(aside, directory, "", f->name, ".damaged")) {
		error = rename(path, aside) ? errno : EAGAIN;
		f->put_aside = error == EAGAIN;
	} else if (!error) {
		const uint64_t page = page_size(), size = f->size < page ? page : (f->size + page - 1) & ~(page - 1);

		error = reserve(f->fd, f->used, size);
		if (!error)
			error = map(f, 0, size);
		if (!error) {
			f->size = size;
			store_used(f, f->used);
		}
	}
	return error;
}

static int open_existing(struct goodput_file *f, const char *directory, const char *path, bool keep)
{
	int error, old;

	f->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (f->fd < 0)
		return errno;
	error = identify(f);
	if (!error && flock(f->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		error = EWOULDBLOCK; /* a file system without locks is no obstacle */
	if (!error)
		error = identify(f); /* its size, now that nobody else writes */
	if (error)
		goto out;
	if (!goodput_file_linked(f, directory)) {
		error = EAGAIN; /* folded away while we waited for nothing */
	} else if (keep) {
		error = take_over(f, directory);
	} else {
		old = f->fd;
		error = create(f, directory, true);
		close(old);
		return error;
	}
out:
	if (error)
		goodput_file_close(f);
	return error;
}

int goodput_file_open(struct goodput_file *f, const char *directory, unsigned value_size, bool keep)
{
	char path[PATH_SIZE];
	int error = path_of(path, directory, "", f->name, "");

	for (int tries = 0; !error && tries < 8; tries++) {
		f->value_size = value_size;
		error = open_existing(f, directory, path, keep);
		if (error == ENOENT)
			error = create(f, directory, false);
		if (error != EEXIST && error != EAGAIN)
			break;
		error = tries < 7 ? 0 : EWOULDBLOCK;
	}
	return error ? fail(f, "opening", error) : 0;
}

int goodput_file_reopen(struct goodput_file *f, const char *directory)
{
	struct goodput_file again = *f;
	char path[PATH_SIZE];
	int error = path_of(path, directory, "", f->name, "");

	f->fd = -1;
	if (!error && (again.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) < 0)
		error = errno;
	if (!error && !goodput_file_ours(&again))
		error = ESTALE;
	if (!error)
		f->fd = again.fd;
	else if (again.fd >= 0)
		close(again.fd);
	return error ? fail(f, "opening again", error) : 0;
}

void goodput_file_close(struct goodput_file *f)
{
	for (size_t i = 0; i < f->segment_count; i++)
		munmap(f->segments[i].at, f->segments[i].end - f->segments[i].begin);
	goodput_file_forget(f);
}

void goodput_file_forget(struct goodput_file *f)
{
	goodput_file_drop(f);
	free(f->segments);
	free(f->adopted);
	f->fd = -1;
	f->segments = NULL;
	f->adopted = NULL;
	f->segment_count = f->adopted_count = 0;
	f->used = 0;
	f->size = 0;
}
