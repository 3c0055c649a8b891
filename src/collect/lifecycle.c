#include "collect/lifecycle.h"

#include "base/file.h"
#include "collect/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROBE_SIZE = 65536 /* a writer's first size */ };

static bool failed(struct error *e, const char *path, const char *what)
{
	int why = errno;

	error_set(e, why == ENOSPC ? EXIT_CRITICAL : EXIT_BAD_INPUT, "%s: %s", what, strerror(why));
	error_source(e, str_from(path));
	return false;
}

/* ---- names in a directory ---- */

typedef bool (*name_filter)(struct str name, int64_t pid);

static bool is_metric_file(struct str name, int64_t pid)
{
	struct file_name n;
	const char *why;

	return file_name_is_ours(name) && file_name_parse(name, &n, &why);
}

/* And what folding keeps there, and what a writer left unfinished or put aside. */
static bool is_ours(struct str name, int64_t pid)
{
	return is_metric_file(name, pid) || str_is(name, ".goodput.lock") || str_starts(name, STR(".goodput-fold")) ||
	       (str_starts(name, STR(".")) && str_ends(name, STR(".db.new"))) || str_ends(name, STR(".db.damaged"));
}

static bool is_live_gauge_of(struct str name, int64_t pid)
{
	struct file_name n;
	const char *why;

	return file_name_is_ours(name) && file_name_parse(name, &n, &why) && n.type == TYPE_GAUGE && n.live && n.pid == pid;
}

static struct str *names_find(struct arena *arena, const char *path, name_filter filter, int64_t pid, size_t *count, struct error *e)
{
	struct str *names = folder_list(arena, path, count, e);
	size_t kept = 0;

	for (size_t i = 0; names && i < *count; i++)
		if (filter(names[i], pid))
			names[kept++] = names[i];
	*count = names ? kept : 0;
	return names;
}

static bool names_remove(const char *path, name_filter filter, int64_t pid, size_t *removed, struct error *e)
{
	struct arena arena;
	size_t count;
	bool ok;

	arena_init(&arena);
	struct str *names = names_find(&arena, path, filter, pid, &count, e);

	ok = names != NULL;
	for (size_t i = 0; ok && i < count; i++) {
		const char *name = path_join(&arena, path, names[i]);

		if (unlink(name) == 0)
			++*removed;
		else if (errno != ENOENT)
			ok = failed(e, name, "cannot be removed");
	}
	arena_fini(&arena);
	return ok;
}

/* ---- writers ---- */

/* The first process that has a metric file of the directory mapped; 0: none is seen. */
static int64_t writer_alive(const char *path)
{
	struct arena arena;
	struct file_name n;
	struct process p;
	struct stat s;
	const char *why;
	int64_t alive = 0;
	size_t count;

	arena_init(&arena);
	struct str *names = names_find(&arena, path, is_metric_file, 0, &count, NULL);

	for (size_t i = 0; i < count && !alive; i++)
		if (file_name_parse(names[i], &n, &why) && n.pid > 0 && process_look(n.pid, &p) &&
			stat(path_join(&arena, path, names[i]), &s) == 0 && process_maps_any(n.pid, &s, 1) == PROCESS_MAPS)
			alive = n.pid;
	arena_fini(&arena);
	return alive;
}

bool collect_clean(const char *path, bool force, size_t *removed, struct error *e)
{
	int64_t pid = force ? 0 : writer_alive(path);

	*removed = 0;
	if (pid) {
		error_set(e, EXIT_BAD_INPUT, "process %lld still writes in %s: nothing was removed", (long long)pid, path);
		error_hint(e, "end it first; --force removes the files under it, and what it counts from then on is lost");
		return false;
	}
	return names_remove(path, is_ours, 0, removed, e);
}

/* ---- init ---- */

static bool probe(const char *path, struct error *e)
{
	char name[4200], byte[PROBE_SIZE];
	bool ok;

	memset(byte, 1, sizeof byte);
	snprintf(name, sizeof name, "%s/.goodput-probe-%d", path, (int)getpid());
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(e, path, "no file can be made in it");
	errno = ENOSPC;
	ok = write(fd, byte, sizeof byte) == (ssize_t)sizeof byte || failed(e, path, "there is no room for a metric file of 64 KiB");
	close(fd);
	unlink(name);
	return ok;
}

bool collect_init(const char *path, bool force, size_t *removed, struct error *e)
{
	*removed = 0;
	return folder_make(path, e) && collect_clean(path, force, removed, e) && probe(path, e);
}

/* ---- mark-dead ---- */

bool collect_mark_dead(const char *path, int64_t pid, bool force, size_t *removed, struct error *e)
{
	struct process p;

	*removed = 0;
	if (!force && process_look(pid, &p)) {
		error_set(e, EXIT_BAD_INPUT, "process %lld is there: nothing was removed", (long long)pid);
		error_hint(e, "--force is for a number that was given to another process");
		return false;
	}
	return names_remove(path, is_live_gauge_of, pid, removed, e);
}
