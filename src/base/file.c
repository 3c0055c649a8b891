#include "base/file.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool file_error(struct error *e, const char *path, const char *what)
{
	int code = errno;

	error_set(e, EXIT_BAD_INPUT, "%s: %s", what, strerror(code));
	error_source(e, str_from(path));
	return false;
}

static bool descriptor_read(int fd, struct buf *whole, const char *path, struct error *e)
{
	enum { STEP = 64 * 1024 };

	for (;;) {
		size_t room = whole->max - whole->len < STEP ? whole->max - whole->len : STEP;
		char *at = buf_reserve(whole, room);
		ssize_t got = read(fd, at, room);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return file_error(e, path, "cannot be read");
		if (got == 0)
			return true;
		whole->len += (size_t)got;
		if (whole->len == whole->max) {
			error_set(e, EXIT_BAD_INPUT, "is larger than the %zu bytes allowed here", whole->max - 1);
			error_source(e, str_from(path));
			return false;
		}
	}
}

bool file_read(struct arena *arena, const char *path, size_t max, struct str *text, struct error *e)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct buf whole;

	if (fd < 0)
		return file_error(e, path, "cannot be opened");
	buf_init(&whole, max + 1); /* the one byte more tells "too large" from "exactly max" */
	bool ok = descriptor_read(fd, &whole, standard ? "standard input" : path, e);

	if (ok)
		*text = arena_str(arena, buf_str(&whole));
	buf_fini(&whole);
	if (!standard)
		close(fd);
	return ok;
}

static bool descriptor_write(int fd, struct str text)
{
	while (text.len) {
		ssize_t done = write(fd, text.ptr, text.len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		text = str_skip(text, (size_t)done);
	}
	return fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS;
}

/* A device or a pipe, also behind a link (/dev/stdout): a rename would put a file in its place. */
static bool is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool device_write(const char *path, struct str text, struct error *e)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && descriptor_write(fd, text);

	if (fd >= 0)
		ok = close(fd) == 0 && ok;
	return ok || file_error(e, path, "cannot be written");
}

bool file_write(const char *path, struct str text, struct error *e)
{
	static atomic_uint serial;
	struct arena names;

	if (is_device(path))
		return device_write(path, text, e);
	arena_init(&names);
	/* Not mkstemp: the file should have the mode that the umask gives. */
	const char *part = arena_printf(&names, "%s.part-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1)).ptr;
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool ok = fd >= 0;

	if (ok) {
		ok = descriptor_write(fd, text);
		ok = close(fd) == 0 && ok;
		ok = ok && rename(part, path) == 0;
	}
	if (!ok)
		file_error(e, path, "cannot be written");
	if (!ok && fd >= 0)
		unlink(part);
	arena_fini(&names);
	return ok;
}

bool file_exists(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0;
}

bool file_is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool folder_make(const char *path, struct error *e)
{
	char *part = mem_copy(path, strlen(path));
	bool ok = true;

	for (char *at = part + (*part == '/'); ok; at++) {
		if (*at && *at != '/')
			continue;
		bool last = !*at;

		*at = '\0';
		if (*part && mkdir(part, 0777) != 0 && !(errno == EEXIST && file_is_folder(part))) {
			errno = errno == EEXIST ? ENOTDIR : errno;
			ok = file_error(e, part, "this folder cannot be made");
		}
		if (last)
			break;
		*at = '/';
	}
	mem_free(part);
	return ok;
}

static int names_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

struct str *folder_list(struct arena *arena, const char *path, size_t *count, struct error *e)
{
	DIR *folder = opendir(path);
	VEC(struct str) names = { 0 };

	*count = 0;
	if (!folder) {
		file_error(e, path, "this folder cannot be opened");
		return NULL;
	}
	errno = 0;
	for (struct dirent *entry; (entry = readdir(folder)); errno = 0) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			VEC_PUSH(&names, arena_str(arena, str_from(entry->d_name)));
	}
	struct str *list = NULL;

	if (errno) {
		file_error(e, path, "this folder cannot be read");
	} else {
		*count = names.count;
		list = ARENA_ARRAY(arena, struct str, names.count);
		if (names.count) {
			memcpy(list, names.items, names.count * sizeof *list);
			qsort(list, names.count, sizeof *list, names_order);
		}
	}
	VEC_FREE(&names);
	closedir(folder);
	return list;
}

char *path_join(struct arena *arena, const char *folder, struct str name)
{
	struct str base = str_from(folder);

	if (base.len == 0)
		return arena_cstr(arena, name);
	return (char *)arena_printf(arena, "%s%s" STR_FMT, folder, str_ends(base, STR("/")) ? "" : "/", STR_ARG(name)).ptr;
}

int terminal_columns(FILE *to)
{
	const char *forced = getenv("COLUMNS");
	struct winsize size;
	int64_t columns;

	if (forced && number_parse_i64(str_from(forced), &columns) && columns > 0 && columns <= 10000)
		return (int)columns;
	if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}
