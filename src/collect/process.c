/* Who writes a file, as /proc shows it: a process is the writer when it maps the file, or, where that cannot be seen, when it is older than
 * it. */
#include "collect/internal.h"

#include "base/number.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static int64_t boot_ms(void)
{
	struct timespec wall, boot;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)(wall.tv_sec - boot.tv_sec) * 1000 + (wall.tv_nsec - boot.tv_nsec) / 1000000;
}

/* "12 (a name) S 1 ...": the state is the first field behind the name, the start the 20th. */
static bool stat_parse(struct str text, struct process *p)
{
	ptrdiff_t name_end = -1;
	struct str part;

	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == ')')
			name_end = (ptrdiff_t)i;
	if (name_end < 0 || (size_t)name_end + 2 >= text.len)
		return false;
	struct str rest = str_skip(text, (size_t)name_end + 2);

	p->state = rest.ptr[0];
	for (int field = 0; field < 20; field++)
		if (!str_split(&rest, ' ', &part))
			return false;
	if (!number_parse_i64(part, &p->start_ticks))
		return false;
	p->start_ms = boot_ms() + p->start_ticks * 1000 / sysconf(_SC_CLK_TCK);
	return true;
}

void processes_list(struct map *ids)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			map_put(ids, str_from(entry->d_name), NULL);
	if (proc)
		closedir(proc);
}

bool process_look(int64_t pid, struct process *p)
{
	char path[64], text[1024];
	struct stat s;

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, sizeof text);
	bool ok = got > 0 && fstat(fd, &s) == 0 && stat_parse(str_of(text, (size_t)got), p);

	p->owner = ok ? s.st_uid : 0;
	close(fd);
	return ok && p->state != 'Z' && p->state != 'X';
}

/* "7f..-7f.. rw-s 00000000 fe:00 1234  /path": behind the permissions, device and inode of a mapping. */
enum { MAPPING_SIZE = 64 };

static void mapping_print(const struct stat *file, char *text)
{
	snprintf(text, MAPPING_SIZE, " %02x:%02x %llu ", major(file->st_dev), minor(file->st_dev), (unsigned long long)file->st_ino);
}

/* Nearly all lines are of private mappings. */
static bool line_is_shared(struct str line)
{
	struct str part = STR_EMPTY;

	return str_split(&line, ' ', &part) && str_split(&line, ' ', &part) && str_find(part, 's') >= 0;
}

enum process_maps process_maps_any(int64_t pid, const struct stat *files, size_t count)
{
	enum process_maps maps = PROCESS_MAPS_NOT;
	char path[64], line[4352], wanted[PROCESS_FILES_MAX][MAPPING_SIZE];

	snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
	FILE *stream = fopen(path, "re");

	if (!stream)
		return PROCESS_MAPS_HIDDEN;
	for (size_t i = 0; i < count; i++)
		mapping_print(&files[i], wanted[i]);
	while (maps != PROCESS_MAPS && fgets(line, sizeof line, stream)) {
		if (!line_is_shared(str_from(line)))
			continue;
		for (size_t i = 0; i < count && maps != PROCESS_MAPS; i++)
			if (strstr(line, wanted[i]))
				maps = PROCESS_MAPS;
	}
	if (ferror(stream))
		maps = PROCESS_MAPS_HIDDEN;
	fclose(stream);
	return maps;
}
