/* Faults of a directory, its files and their writers: each has a kind (for metrics), a sentence (for people) and a status (for scripts). */
#include "collect/internal.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	FAULTS_MAX = 64,    /* listed; all are counted */
	LOOK_MS = 1000,     /* between two looks at processes and disk */
	EXAMINED_MAX = 256, /* files in one look */
	HEADLESS_MS = 200,  /* a writer needs microseconds between creating and sizing */
	AHEAD_MS = 5000
};

static const char *const directory_names[] = { "read", "waiting", "empty", "emptied", "missing", "not-a-directory", "unreadable",
	"unsearchable" };
static const char *const file_names[] = { "ok", "new", "headless", "truncated", "corrupt", "foreign", "unreadable" };
static const char *const writer_names[] = { "alive", "frozen", "dead", "reused", "unknown" };

const char *collect_directory_name(enum collect_directory d)
{
	return directory_names[d];
}

const char *collect_file_state_name(enum collect_file_state s)
{
	return file_names[s];
}

const char *collect_writer_name(enum collect_writer w)
{
	return writer_names[w];
}

void fault_add(struct collector *c, bool slow, const char *kind, enum exit_status status, const char *file, const char *format, ...)
{
	struct collect_fault fault = { .kind = kind, .status = status };
	va_list args;

	*(slow ? &c->health.slow_total : &c->health.total) += 1;
	snprintf(fault.file, sizeof fault.file, "%s", file);
	va_start(args, format);
	vsnprintf(fault.text, sizeof fault.text, format, args);
	va_end(args);
	if (slow && c->health.slow.count < FAULTS_MAX)
		VEC_PUSH(&c->health.slow, fault);
	if (!slow && c->health.faults.count < FAULTS_MAX)
		VEC_PUSH(&c->health.faults, fault);
}

/* ---- the directory ---- */

static void directory_fault(struct collector *c)
{
	const char *path = c->folder.path, *kind = collect_directory_name(c->report.directory);

	switch (c->report.directory) {
	case COLLECT_READ: break;
	case COLLECT_WAITING: fault_add(c, false, kind, EXIT_UNKNOWN, "", "%s holds no metric file yet", path); break;
	case COLLECT_EMPTY:
		fault_add(c, false, kind, EXIT_UNKNOWN, "",
			"%s holds no metric file: no worker runs, or PROMETHEUS_MULTIPROC_DIR was set after prometheus_client was imported",
			path);
		break;
	case COLLECT_EMPTIED:
		fault_add(c, false, kind, EXIT_UNKNOWN, "",
			"%s held metric files and holds none now: it was wiped while workers ran, or all is restarting", path);
		break;
	case COLLECT_MISSING: fault_add(c, false, kind, EXIT_UNKNOWN, "", "%s does not exist; goodput collect init makes it", path); break;
	case COLLECT_NOT_A_DIRECTORY: fault_add(c, false, kind, EXIT_UNKNOWN, "", "%s is no directory", path); break;
	case COLLECT_UNREADABLE:
		fault_add(c, false, kind, EXIT_UNKNOWN, "", "%s cannot be listed by uid %u: %s", path, geteuid(), strerror(c->error));
		break;
	case COLLECT_UNSEARCHABLE:
		fault_add(c, false, kind, EXIT_UNKNOWN, "", "%s can be listed, but uid %u may not open files in it: its x bit is missing",
			path, geteuid());
		break;
	}
}

static void path_fault(struct collector *c)
{
	if (strpbrk(c->folder.path, "[*?"))
		fault_add(c, true, "glob-path", EXIT_WARNING, "",
			"the path holds one of [ * ?: prometheus_client takes it for a pattern, finds nothing, and serves an empty page");
}

/* Where a shared mapping of one host is not what another one reads. */
static const char *network_file_system(int folder)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = { { 0x6969, "NFS" }, { 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB" }, { 0x65735546, "FUSE" }, { 0x01021997, "9P" },
		{ 0x00c36400, "Ceph" }, { 0x0bd00bd0, "Lustre" } };
	struct statfs s;

	if (fstatfs(folder, &s) == 0)
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			if ((unsigned long)s.f_type == known[i].magic)
				return known[i].name;
	return NULL;
}

static void disk_look(struct collector *c)
{
	const char *network = network_file_system(c->folder.descriptor);
	struct statvfs s;

	if (network)
		fault_add(c, true, "network-file-system", EXIT_WARNING, "",
			"%s is on %s: shared mappings are not coherent there; use an emptyDir or a tmpfs", c->folder.path, network);
	c->report.disk_free = UINT64_MAX;
	if (fstatvfs(c->folder.descriptor, &s) != 0)
		return;
	c->report.disk_free = (uint64_t)s.f_bavail * s.f_frsize;
	if (s.f_blocks && (!s.f_bavail || (s.f_files && !s.f_favail)))
		fault_add(c, true, "disk-full", EXIT_CRITICAL, "",
			"no %s left on the file system of %s: a worker that needs a new page of its metric file is killed by SIGBUS",
			s.f_bavail ? "inodes" : "space", c->folder.path);
}

/* ---- files ---- */

static int64_t timestamp_ms(struct statx_timestamp t)
{
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool file_examine(struct collector *c, struct metric_file *f)
{
	struct statx s;

	if (statx(c->folder.descriptor, f->name_text, 0, STATX_BASIC_STATS | STATX_BTIME, &s) != 0)
		return false;
	f->examined = true;
	f->owner = s.stx_uid;
	f->written_ms = timestamp_ms(s.stx_mtime);
	f->born_ms = s.stx_mask & STATX_BTIME ? timestamp_ms(s.stx_btime) : f->written_ms;
	return true;
}

static void file_fault(struct collector *c, struct metric_file *f, int64_t now_ms)
{
	const char *kind = collect_file_state_name(f->state);

	if (f->state == COLLECT_FILE_OK || f->state == COLLECT_FILE_NEW)
		return;
	if (f->state == COLLECT_FILE_UNREADABLE && f->error == ENOENT &&
		faccessat(c->folder.descriptor, f->name_text, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* removed between listing and opening: a live gauge of a worker that ended */
	bool known = file_examine(c, f);

	if (f->state == COLLECT_FILE_HEADLESS && known && now_ms - f->written_ms < HEADLESS_MS && now_ms >= f->written_ms)
		return;
	if (f->state == COLLECT_FILE_UNREADABLE && known && f->error == EACCES)
		fault_add(c, false, kind, EXIT_WARNING, f->name_text, "%s belongs to uid %u and cannot be read by uid %u", f->name_text,
			f->owner, geteuid());
	else
		fault_add(c, false, kind, EXIT_WARNING, f->name_text, "%s: %s", f->name_text, f->why);
}

/* The owner that most files have; files of others cannot be opened by the next worker with their process id. */
static void owners_look(struct collector *c)
{
	VEC(struct {
		uid_t owner;
		size_t files;
	})
	owners = { 0 };
	size_t most = 0;

	VEC_EACH (&c->folder.files, file) {
		size_t i = 0;

		while ((*file)->examined && i < owners.count && owners.items[i].owner != (*file)->owner)
			i++;
		if (!(*file)->examined)
			continue;
		if (i == owners.count)
			VEC_PUSH(&owners, (__typeof__(owners.items[0])){ .owner = (*file)->owner });
		if (++owners.items[i].files > owners.items[most].files)
			most = i;
	}
	for (size_t i = 0; owners.count > 1 && i < owners.count; i++) {
		const char *name = "";

		if (i == most)
			continue;
		VEC_EACH (&c->folder.files, file)
			if ((*file)->examined && (*file)->owner == owners.items[i].owner)
				name = (*file)->name_text;
		fault_add(c, true, "owner", EXIT_WARNING, name,
			"%zu file%s of uid %u (%s) among those of uid %u: a worker that gets their process id cannot open them",
			owners.items[i].files, owners.items[i].files == 1 ? "" : "s", owners.items[i].owner, name,
			owners.items[most].owner);
	}
	if (owners.count == 1 && owners.items[0].owner != 0) {
		uid_t owner = owners.items[0].owner;
		struct stat s;

		if (fstat(c->folder.descriptor, &s) == 0 && !(s.st_mode & (S_IWOTH | S_IWGRP)) &&
			(s.st_uid != owner || !(s.st_mode & S_IWUSR)))
			fault_add(c, true, "owner", EXIT_WARNING, "",
				"%s belongs to uid %u, mode %03o: workers of uid %u cannot make files in it", c->folder.path, s.st_uid,
				s.st_mode & 0777, owner);
	}
	VEC_FREE(&owners);
}

static void names_look(struct collector *c)
{
	VEC_EACH (&c->folder.files, place) {
		const struct metric_file *f = *place;

		if (f->name_is_known && f->name.mode == MODE_ALL && f->name.pid_is_cut)
			fault_add(c, true, "cut-name", EXIT_WARNING, f->name_text,
				"%s: its pid label is cut to \"" STR_FMT "\", so that processes share one series", f->name_text,
				STR_ARG(f->name.pid_label));
	}
}

static void layouts_look(struct collector *c)
{
	if (c->report.layout_one && c->report.layout_two)
		fault_add(c, true, "two-layouts", EXIT_WARNING, "",
			"%zu files are of prometheus_client 0.17 or older, %zu of 0.18 or newer: files of another release were left; both "
			"are read here, no Python reads both",
			c->report.layout_one, c->report.layout_two);
}

/* A stamp in the future wins against every later one until that time has come. */
static void clocks_look(struct collector *c, int64_t now_ms)
{
	double newest_ms = 0;
	const char *name = "";

	for (size_t i = 0; c->plan.stamped && i < c->plan.cells.count; i++)
		if (c->plan.times.items[i] * 1000 > newest_ms)
			newest_ms = c->plan.times.items[i] * 1000;
	VEC_EACH (&c->folder.files, file)
		if ((*file)->examined && (double)(*file)->written_ms > newest_ms) {
			newest_ms = (double)(*file)->written_ms;
			name = (*file)->name_text;
		}
	c->report.ahead_s = newest_ms > (double)now_ms ? (newest_ms - (double)now_ms) / 1000 : 0;
	if (newest_ms > (double)now_ms + AHEAD_MS)
		fault_add(c, true, "clock", EXIT_WARNING, name,
			"%s%sa stamp lies %.0f s in the future: a mostrecent gauge stays as it is until then; clocks differ, or one was "
			"set back",
			name, *name ? ": " : "", c->report.ahead_s);
}

/* ---- all ---- */

static void slow_look(struct collector *c, int64_t now_ms)
{
	struct health *h = &c->health;
	size_t examined = 0;

	h->slow.count = h->slow_total = 0;
	h->looked_ms = now_ms;
	path_fault(c);
	if (c->folder.descriptor < 0)
		return;
	disk_look(c);
	VEC_EACH (&c->folder.files, file)
		if (!(*file)->examined && examined++ < EXAMINED_MAX)
			file_examine(c, *file);
	owners_look(c);
	names_look(c);
	layouts_look(c);
	clocks_look(c, now_ms);
	writers_look(c, now_ms);
}

static void quiet_since(struct collector *c, int64_t now_ms)
{
	int64_t moved_ms = 0;

	VEC_EACH (&c->folder.files, file)
		moved_ms = (*file)->moved_ms > moved_ms ? (*file)->moved_ms : moved_ms;
	c->report.quiet_s = moved_ms ? (double)(now_ms - moved_ms) / 1000 : NAN;
}

void health_look(struct collector *c, bool changed, int64_t now_ms)
{
	struct health *h = &c->health;

	h->faults.count = h->total = 0;
	directory_fault(c);
	VEC_EACH (&c->folder.files, file)
		file_fault(c, *file, now_ms);
	quiet_since(c, now_ms);
	if (!h->looked_ms || now_ms - h->looked_ms >= LOOK_MS || now_ms < h->looked_ms)
		slow_look(c, now_ms);
	VEC_EACH (&h->slow, fault)
		if (h->faults.count < 2 * FAULTS_MAX)
			VEC_PUSH(&h->faults, *fault);
	c->report.faults = h->faults.items;
	c->report.fault_count = h->faults.count;
	c->report.faults_total = h->total + h->slow_total;
}

bool collect_read_nothing(const struct collect_report *r)
{
	return r->directory == COLLECT_READ && r->faults_total && !r->entries && !r->files[COLLECT_FILE_OK] && !r->files[COLLECT_FILE_NEW];
}

enum exit_status collect_status(const struct collect_report *r)
{
	enum exit_status worst = collect_read_nothing(r) ? EXIT_UNKNOWN : EXIT_FINE;

	for (size_t i = 0; i < r->fault_count; i++)
		worst = r->faults[i].status > worst ? r->faults[i].status : worst;
	return worst;
}
