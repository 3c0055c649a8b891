/* One file: a header of 8 bytes, then entries back to back: length, key, blanks up to a multiple of 8, value, and since 0.18 a time.
 * Everything that the file says is checked against what it has. */
#include "base/hash.h"
#include "collect/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 8, READ_STEP = 512, READ_LEAST = 4096, READ_MOST = 65536, READ_LARGEST = 32 << 20, PAGE = 4096 };

/* ---- states ---- */

static void file_fail(struct metric_file *f, enum collect_file_state state, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void file_fail(struct metric_file *f, enum collect_file_state state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->why, sizeof f->why, format, args);
	va_end(args);
	f->state = state;
	f->entries.count = 0;
	f->used = 0;
	f->step = 0;
}

struct metric_file *metric_file_new(struct str name, uint64_t inode)
{
	struct metric_file *f = mem_zalloc(1, sizeof *f + name.len + 1);
	const char *why = NULL;

	memcpy(f->name_text, name.ptr, name.len);
	f->inode = inode;
	f->name_is_known = file_name_parse(str_of(f->name_text, name.len), &f->name, &why);
	f->state = COLLECT_FILE_NEW;
	if (!f->name_is_known)
		file_fail(f, COLLECT_FILE_FOREIGN, "%s", why);
	return f;
}

static void file_unmap(struct metric_file *f, struct reader *r)
{
	if (!f->map)
		return;
	munmap((void *)f->map, f->map_size);
	f->map = NULL;
	f->map_size = 0;
	r->maps--;
}

void metric_file_free(struct metric_file *f, struct reader *r)
{
	file_unmap(f, r);
	VEC_FREE(&f->entries);
	mem_free(f->values);
	mem_free(f->times);
	mem_free(f);
}

void reader_fini(struct reader *r)
{
	mem_free(r->buffer.block);
}

static char *buffer_reserve(struct page_buffer *b, size_t size)
{
	if (size > b->size) {
		size_t keep = b->size;
		char *old_block = b->block, *old = b->at;

		b->size = size + size / 4 > (1 << 20) ? size + size / 4 : 1 << 20;
		b->block = mem_alloc(b->size + PAGE);
		b->at = (char *)(((uintptr_t)b->block + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
		if (old)
			memcpy(b->at, old, keep);
		mem_free(old_block);
	}
	return b->at;
}

/* ---- entries ---- */

/* Volatile: of a mapping that somebody writes, what was checked is what is used. */
static int32_t load_length(const char *at)
{
	typedef int32_t word __attribute__((aligned(1), may_alias));

	return *(const volatile word *)at;
}

/* Bytes from an entry's length to its value: the length, the key and one to eight blanks. */
static uint32_t room_of(uint32_t length)
{
	uint32_t room = 4 + length;

	return room + 8 - room % 8;
}

/* Where the value of the entry at `at` stands, and its key; 0 when the entry does not fit before `used`. The length is loaded once: in a
 * mapping it may be another one right after. */
static uint32_t value_of(const char *base, uint32_t at, uint32_t used, struct str *key)
{
	if (used - at < 16)
		return 0;
	int32_t length = load_length(base + at);

	if (length <= 0 || (uint32_t)length > used - at - 12)
		return 0;
	uint32_t room = room_of((uint32_t)length);

	*key = str_of(base + at + 4, (size_t)length);
	return room > used - at - 8 ? 0 : at + room;
}

static bool could_be_entry(const char *base, uint32_t at, uint32_t used)
{
	struct str key;

	return at == used || (at < used && value_of(base, at, used, &key) && (key.ptr[0] == '[' || key.ptr[0] == ' '));
}

/* Nothing says which layout a file has: the wrong step lands inside a key or on a time of zero. 0: neither fits. */
static uint32_t step_of(const char *base, uint32_t used)
{
	struct str key;
	uint32_t value = value_of(base, HEADER, used, &key);

	if (!value)
		return 0;
	if (value + 16 <= used && could_be_entry(base, value + 16, used))
		return 16;
	return could_be_entry(base, value + 8, used) ? 8 : 0;
}

static uint32_t key_at(struct metric_file *f, struct reader *r, uint32_t *previous, struct str text, uint32_t at)
{
	struct keys *k = r->keys;
	uint32_t guess = k->items.items[*previous] ? k->items.items[*previous]->next : 0;
	const char *why;
	bool foreign = false;

	/* Processes of one program make their series in one order. */
	if (!guess || !str_eq(k->items.items[guess]->text, text)) {
		guess = keys_find(k, text, &why, &foreign);
		if (!guess) {
			file_fail(f, foreign ? COLLECT_FILE_FOREIGN : COLLECT_FILE_CORRUPT, "entry at byte %u: %s", at, why);
			return 0;
		}
		if (*previous)
			k->items.items[*previous]->next = guess;
	}
	*previous = guess;
	if (f->name.type == TYPE_HISTOGRAM && k->items.items[guess]->has_edge && isnan(k->items.items[guess]->edge)) {
		file_fail(f, COLLECT_FILE_CORRUPT, "entry at byte %u: the bucket's le is no number", at);
		return 0;
	}
	return guess;
}

/* As many as there will be if all are as long as the first. */
static void entries_reserve(struct metric_file *f, uint32_t first, uint32_t all)
{
	enum { GUESS_MOST = 1 << 16 };
	uint32_t count = all / first + 1;

	VEC_RESERVE(&f->entries, count < GUESS_MOST ? count : GUESS_MOST);
}

static bool entries_read(struct metric_file *f, struct reader *r, const char *base, uint32_t at, uint32_t used)
{
	uint32_t previous = f->entries.count ? f->entries.items[f->entries.count - 1].key : 0;

	while (at < used) {
		struct str text;
		uint32_t value = value_of(base, at, used, &text);

		if (!value || value + f->step > used) {
			file_fail(f, COLLECT_FILE_CORRUPT,
				"entry at byte %u: a key of %d bytes does not fit before the end of what is in use, byte %u", at,
				used - at >= 4 ? load_length(base + at) : 0, used);
			return false;
		}
		uint32_t key = key_at(f, r, &previous, text, at);

		if (!key)
			return false;
		if (!f->entries.count)
			entries_reserve(f, value + f->step - at, used - at);
		VEC_PUSH(&f->entries, (struct entry){ value, key });
		at = value + f->step;
	}
	f->used = used;
	return true;
}

static bool layout_find(struct metric_file *f, const char *base, uint32_t used)
{
	f->step = step_of(base, used);
	if (!f->step)
		file_fail(f, COLLECT_FILE_CORRUPT, "the first entry, a key of %d bytes, does not end where %u bytes in use leave it",
			used >= 12 ? load_length(base + HEADER) : 0, used);
	return f->step != 0;
}

/* The header's word; `size`: bytes that there are. False when the file has no entries to read. */
static bool header_check(struct metric_file *f, int32_t used, uint64_t size)
{
	if (used == 0 || used == HEADER) {
		f->entries.count = 0;
		f->state = COLLECT_FILE_NEW;
		f->used = 0;
		f->step = 0;
		return false;
	}
	if (used < HEADER)
		file_fail(f, COLLECT_FILE_CORRUPT, "the header says that %d bytes are in use", used);
	else if ((uint64_t)used > size)
		file_fail(f, COLLECT_FILE_TRUNCATED, "cut: %d bytes are in use, but the file has %llu", used, (unsigned long long)size);
	return used > HEADER && (uint64_t)used <= size;
}

/* All entries of a file from its beginning, or those behind the ones known. True when there are any. */
static bool entries_refresh(struct metric_file *f, struct reader *r, const char *base, uint32_t used)
{
	if (used < f->used)
		f->entries.count = f->used = f->step = 0;
	uint32_t from = f->step ? f->used : HEADER;

	if (!f->step && !layout_find(f, base, used))
		return false;
	if (!entries_read(f, r, base, from, used))
		return false;
	f->state = COLLECT_FILE_OK;
	return true;
}

static double load_double(const char *at)
{
	double value;

	memcpy(&value, at, sizeof value);
	return value;
}

static void values_copy(struct metric_file *f, const char *base)
{
	uint32_t count = (uint32_t)f->entries.count;

	if (count > f->values_cap) {
		f->values_cap = count;
		f->values = mem_resize(f->values, count, sizeof *f->values);
	}
	for (uint32_t i = 0; i < count; i++)
		f->values[i] = load_double(base + f->entries.items[i].at);
	if (f->name.mode != MODE_MOSTRECENT || f->step != 16)
		return;
	if (count > f->times_cap) {
		f->times_cap = count;
		f->times = mem_resize(f->times, count, sizeof *f->times);
	}
	for (uint32_t i = 0; i < count; i++)
		f->times[i] = load_double(base + f->entries.items[i].at + 8);
}

void metric_file_parse(struct metric_file *f, struct reader *r, struct str bytes)
{
	int32_t used = 0;

	if (!f->name_is_known)
		return;
	f->entries.count = f->used = f->step = 0;
	if (bytes.len < 4) {
		file_fail(f, COLLECT_FILE_HEADLESS, "%zu bytes: the writer died between creating and sizing it, or no writer made it",
			bytes.len);
		return;
	}
	memcpy(&used, bytes.ptr, sizeof used);
	if (header_check(f, used, bytes.len) && entries_refresh(f, r, bytes.ptr, (uint32_t)used))
		values_copy(f, bytes.ptr);
}

/* ---- a file that is read ---- */

static ssize_t read_whole(int fd, char *to, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, to + done, size - done, at + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static void file_unreadable(struct metric_file *f)
{
	f->error = errno;
	file_fail(f, COLLECT_FILE_UNREADABLE, "cannot be read: %s", strerror(f->error));
}

/* Files of one directory are alike: as much as the last one had in use is read at once, with a little more. */
static size_t first_read(const struct reader *r)
{
	size_t size = (r->used_before / READ_STEP + 2) * READ_STEP;

	return size < READ_LEAST ? READ_LEAST : size > READ_MOST ? READ_MOST : size;
}

static int file_open(struct metric_file *f, struct reader *r)
{
	int fd = openat(r->folder, f->name_text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		file_unreadable(f);
	return fd;
}

/* ---- a file that is mapped ---- */

static bool file_map(struct metric_file *f, struct reader *r, int fd)
{
	struct stat s;

	file_unmap(f, r);
	if (fstat(fd, &s) != 0)
		return false;
	errno = r->maps >= r->maps_max ? ENOMEM : EINVAL;
	if (r->maps >= r->maps_max || !S_ISREG(s.st_mode) || s.st_size < HEADER)
		return false;
	size_t size = s.st_size < INT32_MAX ? (size_t)s.st_size : INT32_MAX; /* more is never in use */
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return false;
	f->map = map;
	f->map_size = size;
	r->maps++;
	return true;
}

/* Somebody wrote other bytes into the same file: each scrape looks at one key in turn, and at the last. */
static bool keys_still_stand(struct metric_file *f, struct reader *r)
{
	uint32_t count = (uint32_t)f->entries.count, chosen[2] = { f->looked_at++ % count, count - 1 };

	for (int i = 0; i < 2; i++) {
		const struct entry *e = &f->entries.items[chosen[i]];
		struct str text = r->keys->items.items[e->key]->text;
		const char *written = f->map + e->at - room_of((uint32_t)text.len);

		if (load_length(written) != (int32_t)text.len || memcmp(written + 4, text.ptr, text.len) != 0)
			return false;
	}
	return true;
}

static int32_t load_used(const char *map)
{
	return __atomic_load_n((const int32_t *)map, __ATOMIC_ACQUIRE);
}

/* True when entries or state changed. `*remap`: the file outgrew its mapping. */
static bool mapped_refresh(struct metric_file *f, struct reader *r, bool *remap)
{
	int32_t used = load_used(f->map);

	if (used > 0 && (size_t)used > f->map_size) {
		*remap = true;
		return false;
	}
	if (used == (int32_t)f->used && f->state == COLLECT_FILE_OK && keys_still_stand(f, r))
		return false;
	enum collect_file_state before = f->state;

	if (used == (int32_t)f->used || f->state != COLLECT_FILE_OK)
		f->entries.count = f->used = f->step = 0;
	if (header_check(f, used, f->map_size))
		entries_refresh(f, r, f->map, (uint32_t)used);
	return f->state == COLLECT_FILE_OK || f->state != before;
}

void metric_file_forget(struct metric_file *f)
{
	f->entries.count = f->used = f->step = 0;
}

void metric_file_cut(struct metric_file *f, struct reader *r)
{
	file_unmap(f, r);
	file_fail(f, COLLECT_FILE_TRUNCATED, "cut while it was in use");
}

static bool mapped_guarded(struct metric_file *f, struct reader *r, bool *remap)
{
	guard_begin(f->map, f->map_size);
	bool changed = mapped_refresh(f, r, remap);

	if (!guard_end())
		return changed;
	metric_file_cut(f, r);
	return true;
}

/* ---- both ---- */

/* Never read into memory: a damaged file, or one with holes, may promise 2 GiB. */
static void file_read_large(struct metric_file *f, struct reader *r, int fd, int32_t used)
{
	bool remap = false;
	struct stat s;

	if (fstat(fd, &s) != 0)
		file_unreadable(f);
	else if (!header_check(f, used, (uint64_t)s.st_size))
		return; /* with the reason */
	else if (!file_map(f, r, fd))
		file_unreadable(f);
	else if (mapped_guarded(f, r, &remap), remap)
		metric_file_cut(f, r);
}

/* The rest of a file that has more in use than was read at first; as much as the file has, whatever its header promises. */
static ssize_t read_rest(struct reader *r, int fd, size_t got, size_t used)
{
	struct stat s;

	if (fstat(fd, &s) != 0)
		return -1;
	size_t size = (uint64_t)s.st_size < used ? (size_t)s.st_size : used;

	if (size <= got)
		return (ssize_t)got;
	char *at = buffer_reserve(&r->buffer, size);
	ssize_t more = read_whole(fd, at + got, size - got, (off_t)got);

	return more < 0 ? more : (ssize_t)got + more;
}

static void file_read_open(struct metric_file *f, struct reader *r, int fd)
{
	size_t first = first_read(r);
	ssize_t got = read_whole(fd, buffer_reserve(&r->buffer, first), first, 0);
	int32_t used = 0;

	/* `used` is read before the rest: a writer that appends meanwhile only adds behind it. */
	if (got >= 4)
		memcpy(&used, r->buffer.at, sizeof used);
	if (got == (ssize_t)first && used > READ_LARGEST) {
		file_read_large(f, r, fd, used);
		return;
	}
	if (got == (ssize_t)first && used > got)
		got = read_rest(r, fd, first, (size_t)used);
	if (got < 0) {
		file_unreadable(f);
		return;
	}
	r->used_before = used > 0 && used <= got ? (size_t)used : 0;
	metric_file_parse(f, r, str_of(r->buffer.at, (size_t)got));
}

static uint64_t shape_of(const struct metric_file *f)
{
	return hash_bytes(f->entries.items, f->entries.count * sizeof *f->entries.items);
}

/* Read anew through a descriptor; mapped from the second time on, since making a mapping costs more than reading once. */
static bool file_reread(struct metric_file *f, struct reader *r)
{
	enum collect_file_state state = f->state;
	uint64_t shape = shape_of(f);
	bool remap = false, changed = false;
	int fd = file_open(f, r);

	if (fd < 0)
		return state != f->state;
	if (f->reads++ > 0 && file_map(f, r, fd)) {
		changed = mapped_guarded(f, r, &remap);
		if (remap) /* the header promises more than there is, as reading will tell */
			file_unmap(f, r);
	}
	if (!f->map && !changed) {
		file_read_open(f, r, fd);
		changed = state != f->state || shape != shape_of(f);
	}
	close(fd);
	return changed;
}

bool metric_file_refresh(struct metric_file *f, struct reader *r)
{
	bool remap = false, changed = false;

	if (!f->name_is_known)
		return false;
	if (f->map) {
		changed = mapped_guarded(f, r, &remap);
		if (f->map && !remap)
			return changed;
	}
	return file_reread(f, r) || changed;
}

bool metric_file_values(struct metric_file *f, struct reader *r)
{
	if (!f->map)
		return true;
	guard_begin(f->map, f->map_size);
	values_copy(f, f->map);
	if (!guard_end())
		return true;
	metric_file_cut(f, r);
	return false;
}
