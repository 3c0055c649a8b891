/* Going on with the file of a predecessor that had the same pid: which layout it has, and where its values are. */
#include "telemetry/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 8

/* Walks the entries with values of this size; each must lie in the used part, and the last end there. NULL out: only counts. */
static bool walk(const char *bytes, uint32_t used, unsigned value_size, struct goodput_adopted *out, size_t *count)
{
	uint64_t at = HEADER;

	*count = 0;
	while (at < used) {
		int32_t length;
		uint64_t end;

		if (used - at < 4)
			return false;
		memcpy(&length, bytes + at, 4);
		end = at + 4 + (uint64_t)length + (8 - (4 + (uint64_t)length) % 8) + value_size;
		if (length < 2 || length > GOODPUT_KEY_MAX || end > used || bytes[at + 4] != '[' || bytes[at + 3 + (uint64_t)length] != ']')
			return false;
		if (out)
			out[*count] = (struct goodput_adopted){ goodput_hash(bytes + at + 4, (size_t)length), (uint32_t)at,
				(uint32_t)length, false };
		++*count;
		at = end;
	}
	return at == used;
}

static int by_hash(const void *a, const void *b)
{
	const struct goodput_adopted *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->offset < y->offset ? -1 : 1;
}

static int index_entries(struct goodput_file *f, const char *bytes)
{
	unsigned other = f->value_size == 16 ? 8 : 16;
	size_t count;

	if (!walk(bytes, f->used, f->value_size, NULL, &count)) {
		if (!walk(bytes, f->used, other, NULL, &count))
			return EILSEQ;
		f->value_size = other;
	}
	if (!count)
		return 0;
	f->adopted = malloc(count * sizeof *f->adopted);
	if (!f->adopted)
		return ENOMEM;
	walk(bytes, f->used, f->value_size, f->adopted, &count);
	f->adopted_count = count;
	qsort(f->adopted, count, sizeof *f->adopted, by_hash);
	return 0;
}

static int read_whole(int fd, char *bytes, size_t size, size_t from)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, bytes + done, size - done, (off_t)(from + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EILSEQ;
		done += (size_t)n;
	}
	return 0;
}

int goodput_adopt(struct goodput_file *f)
{
	int32_t used = 0;
	char *bytes;
	int error = f->size >= 4 ? read_whole(f->fd, (char *)&used, 4, 0) : 0;

	f->used = HEADER;
	if (error || !used)
		return error; /* never begun: its maker was killed before */
	if (used < HEADER || used % 8 || (uint64_t)used > f->size)
		return EILSEQ;
	bytes = malloc((size_t)used);
	if (!bytes)
		return ENOMEM;
	f->used = (uint32_t)used;
	error = read_whole(f->fd, bytes, (size_t)used, 0);
	if (!error)
		error = index_entries(f, bytes);
	free(bytes);
	return error;
}

/* The size of values in a sound file with entries; 0 if it does not tell. */
static unsigned peek(int directory, const char *name)
{
	struct goodput_file f = { .value_size = 16, .fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) };
	struct stat st;
	unsigned size = 0;

	if (f.fd < 0)
		return 0;
	if (!fstat(f.fd, &st) && S_ISREG(st.st_mode)) {
		f.size = (uint64_t)st.st_size;
		if (!goodput_adopt(&f) && f.adopted_count)
			size = f.value_size;
	}
	free(f.adopted);
	close(f.fd);
	return size;
}

unsigned goodput_directory_value_size(const char *directory)
{
	DIR *d = opendir(directory);
	unsigned size = 0;

	for (const struct dirent *e; d && !size && (e = readdir(d));) {
		const size_t length = strlen(e->d_name);

		if (length > 3 && e->d_name[0] != '.' && !strcmp(e->d_name + length - 3, ".db"))
			size = peek(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
	return size;
}

static bool same_key(const struct goodput_file *f, const struct goodput_adopted *a, const char *key)
{
	char *bytes = malloc(a->length);
	bool same = bytes && !read_whole(f->fd, bytes, a->length, (size_t)a->offset + 4) && !memcmp(bytes, key, a->length);

	free(bytes);
	return same;
}

uint32_t goodput_file_take(struct goodput_file *f, const char *key, size_t size)
{
	uint64_t hash = goodput_hash(key, size);
	size_t low = 0, high = f->adopted_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->adopted[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < f->adopted_count && f->adopted[low].hash == hash; low++) {
		struct goodput_adopted *a = &f->adopted[low];

		if (!a->taken && a->length == size && same_key(f, a, key)) {
			a->taken = true;
			return a->offset + 4 + a->length + (8 - (4 + a->length) % 8);
		}
	}
	return 0;
}
