/* Registries: options, health, files of dead processes. */
#include "telemetry/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_MAX 3800

static const char *const file_names[GOODPUT_FILE_KINDS] = { "counter", "histogram", "summary", "gauge_all", "gauge_liveall", "gauge_min",
	"gauge_livemin", "gauge_max", "gauge_livemax", "gauge_sum", "gauge_livesum", "gauge_mostrecent", "gauge_livemostrecent" };

void goodput_options_init_sized(goodput_options *options, size_t size)
{
	const goodput_options defaults = { .size = size, .thread_cells = 8 };

	if (!options)
		return;
	memset(options, 0, size);
	memcpy(options, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

/* An older program's options are shorter: what it does not know keeps its default. */
static int options_read(const goodput_options *from, goodput_options *to)
{
	goodput_options_init(to);
	if (from && (from->size < offsetof(goodput_options, layout) || from->size > sizeof *to))
		return GOODPUT_INVALID;
	if (from)
		memcpy(to, from, from->size);
	if (to->layout == GOODPUT_LAYOUT_DEFAULT) {
		const char *text = getenv("GOODPUT_TELEMETRY_LAYOUT");

		if (text && *text && strcmp(text, "0.16") && strcmp(text, "0.18"))
			return GOODPUT_INVALID;
		if (text && *text)
			to->layout = strcmp(text, "0.16") ? GOODPUT_LAYOUT_0_18 : GOODPUT_LAYOUT_0_16;
	}
	if (to->layout != GOODPUT_LAYOUT_DEFAULT && to->layout != GOODPUT_LAYOUT_0_16 && to->layout != GOODPUT_LAYOUT_0_18)
		return GOODPUT_INVALID;
	if (to->thread_cells > GOODPUT_THREAD_CELLS_MAX)
		return GOODPUT_INVALID;
	for (const char *c = to->suffix; c && *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')) || c - to->suffix >= 32)
			return GOODPUT_INVALID;
	return GOODPUT_OK;
}

static const char *directory_or_default(const char *directory)
{
	const char *from = directory ? directory : getenv("PROMETHEUS_MULTIPROC_DIR");

	return from && *from && strlen(from) <= DIRECTORY_MAX ? from : NULL;
}

static int directory_make(const char *directory)
{
	struct stat st;

	if (!stat(directory, &st))
		return S_ISDIR(st.st_mode) ? GOODPUT_OK : GOODPUT_NO_DIRECTORY;
	if (errno == EACCES)
		return GOODPUT_OK; /* it may exist; the files will tell */
	return !mkdir(directory, 0755) || errno == EEXIST ? GOODPUT_OK : GOODPUT_NO_DIRECTORY;
}

static void names_make(struct goodput_registry *r)
{
	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++)
		snprintf(r->files[i].name, sizeof r->files[i].name, "%s_%ld%s%s.db", file_names[i], (long)getpid(), *r->suffix ? "-" : "",
			r->suffix);
}

void goodput_registry_own(struct goodput_registry *r)
{
	if (atomic_load_explicit(r->owner, memory_order_relaxed))
		return;
	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++) {
		goodput_file_forget(&r->files[i]);
		r->files[i].status = GOODPUT_OK;
	}
	for (size_t i = 0; i < r->stale_count; i++)
		goodput_file_forget(&r->stale[i]);
	r->stale_count = 0;
	r->news = -1;
	names_make(r);
	atomic_store_explicit(r->owner, 1, memory_order_relaxed);
}

static void registry_free(struct goodput_registry *r)
{
	goodput_arena_fini(&r->arena);
	free(r->directory);
	free(r->suffix);
	free(r->stale);
	free(r);
}

static int registry_new(const goodput_options *o, struct goodput_registry **out)
{
	struct goodput_registry *r = calloc(1, sizeof *r);

	if (!r)
		return GOODPUT_NO_MEMORY;
	r->directory = strdup(o->directory);
	r->suffix = strdup(o->suffix ? o->suffix : "");
	r->owner = goodput_arena_take(&r->arena, sizeof *r->owner);
	if (!r->directory || !r->suffix || !r->owner) {
		registry_free(r);
		return GOODPUT_NO_MEMORY;
	}
	r->value_size = o->layout == GOODPUT_LAYOUT_0_16 ? 8 : 16;
	if (o->layout == GOODPUT_LAYOUT_DEFAULT && goodput_directory_value_size(o->directory) == 8)
		r->value_size = 8; /* the Python beside us cannot read the newer one */
	r->thread_cells = o->thread_cells;
	r->report = o->report;
	r->report_context = o->report_context;
	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++)
		r->files[i].fd = -1;
	*out = r;
	return GOODPUT_OK;
}

int goodput_registry_open(const goodput_options *options, goodput_registry **registry)
{
	goodput_options o;
	int status;

	if (!registry)
		return GOODPUT_INVALID;
	*registry = NULL;
	status = options_read(options, &o);
	if (status)
		return status;
	o.directory = directory_or_default(o.directory);
	if (!o.directory)
		return GOODPUT_NO_DIRECTORY;
	status = directory_make(o.directory);
	if (status)
		return status;
	if (goodput_threads_init())
		return GOODPUT_NO_MEMORY;
	status = registry_new(&o, registry);
	if (status)
		return status;
	goodput_lock();
	goodput_registry_own(*registry);
	goodput_registries_add(*registry);
	goodput_unlock(*registry);
	return GOODPUT_OK;
}

static void remove_live_gauges(struct goodput_registry *r)
{
	char path[DIRECTORY_MAX + 256];

	for (unsigned i = GOODPUT_FILE_GAUGE; i < GOODPUT_FILE_KINDS; i++) {
		struct goodput_file *f = &r->files[i];

		if (!f->segment_count || strncmp(f->name, "gauge_live", 10) || !goodput_file_linked(f, r->directory))
			continue;
		snprintf(path, sizeof path, "%s/%s", r->directory, f->name);
		unlink(path);
	}
}

void goodput_registry_close(goodput_registry *r)
{
	if (!r)
		return;
	goodput_lock();
	goodput_registry_own(r); /* a forked child that never used it must not touch what is its parent's */
	for (struct goodput_family *f = r->families; f; f = f->next)
		for (struct goodput_series *s = f->series; s; s = s->next)
			goodput_series_flush(s);
	remove_live_gauges(r);
	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++)
		goodput_file_close(&r->files[i]);
	for (size_t i = 0; i < r->stale_count; i++)
		goodput_file_close(&r->stale[i]);
	goodput_registries_remove(r);
	goodput_unlock(NULL);
	goodput_families_free(r);
	registry_free(r);
}

static void health_files(const struct goodput_registry *r, goodput_health *h)
{
	for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++) {
		const struct goodput_file *f = &r->files[i];

		if (f->segment_count) {
			h->files++;
			h->bytes += f->used;
		}
		if (!f->status || h->status)
			continue;
		h->status = f->status;
		h->system_error = f->system_error;
		snprintf(h->message, sizeof h->message, "%s %s: %s%s%s", f->doing, f->name, goodput_status_text(f->status),
			f->system_error ? ": " : "", f->system_error ? strerror(f->system_error) : "");
	}
}

int goodput_registry_health(goodput_registry *r, goodput_health *health)
{
	goodput_health h = { 0 };

	if (!r || !health || health->size < offsetof(goodput_health, message) || health->size > sizeof h)
		return GOODPUT_INVALID;
	h.size = health->size;
	goodput_lock();
	goodput_registry_own(r);
	h.removed = goodput_registry_heal(r);
	for (struct goodput_family *f = r->families; f; f = f->next) {
		h.families++;
		for (struct goodput_series *s = f->series; s; s = s->next) {
			goodput_series_flush(s);
			h.series++;
			h.unsaved += s->slots->unsaved;
		}
	}
	health_files(r, &h);
	goodput_unlock(r);
	memcpy(health, &h, h.size);
	return GOODPUT_OK;
}

/* gauge_live<mode>_<pid>.db, or with a suffix. */
static bool live_gauge_of(const char *name, const char *pid)
{
	const char *rest = strncmp(name, "gauge_live", 10) ? NULL : strchr(name + 10, '_');
	const size_t size = strlen(name), digits = strlen(pid);

	return rest && size > 3 && !strcmp(name + size - 3, ".db") && !strncmp(rest + 1, pid, digits) &&
	       (rest[1 + digits] == '-' || !strcmp(rest + 1 + digits, ".db"));
}

/* A file that a live writer holds is of a process that was given the pid again. */
static void remove_if_free(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a pipe of that name must not hold us up */
	struct stat mine, there;

	if (fd < 0)
		return;
	if ((!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) && !fstat(fd, &mine) &&
		!fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) && mine.st_ino == there.st_ino)
		unlinkat(directory, name, 0);
	close(fd);
}

int goodput_mark_process_dead(const char *directory, int64_t pid)
{
	char text[32];
	DIR *d;

	directory = directory_or_default(directory);
	if (!directory)
		return GOODPUT_NO_DIRECTORY;
	d = opendir(directory);
	if (!d)
		return errno == EACCES ? GOODPUT_DENIED : errno == ENOMEM ? GOODPUT_NO_MEMORY : GOODPUT_NO_DIRECTORY;
	snprintf(text, sizeof text, "%lld", (long long)pid);
	for (const struct dirent *e; (e = readdir(d));)
		if (live_gauge_of(e->d_name, text))
			remove_if_free(dirfd(d), e->d_name);
	closedir(d);
	return GOODPUT_OK;
}
