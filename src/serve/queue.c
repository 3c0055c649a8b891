#include "serve/queue.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 32, BODY_MAX = 64 << 20, NAME_DIGITS = 12 };
static const uint64_t file_bytes_usual = 16 << 20, most_bytes_usual = 4ULL << 30;
static const uint32_t magic = 0x51575247; /* "GRWQ" */

/* In front of each body. */
struct head {
	uint32_t magic, size;
	uint64_t hash; /* of the body, seeded with what follows */
	int64_t t_ms;
	uint32_t samples, reserved;
};
_Static_assert(sizeof(struct head) == HEAD, "as the file has it");

struct file {
	uint64_t number, bytes, batches, samples;
};

struct queue {
	char *folder;
	struct queue_options options;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	VEC(struct file) files; /* oldest first; the last is appended to */
	int write_fd, read_fd;
	uint64_t read_number; /* of read_fd */
	uint64_t sent;        /* bytes of the oldest file that were sent */
	bool woken;
	struct queue_stats stats;
};

static void name_of(const struct queue *q, uint64_t number, char *path, size_t size)
{
	snprintf(path, size, "%s/%0*llu.batches", q->folder, NAME_DIGITS, (unsigned long long)number);
}

static bool fail(struct error *e, const char *what, const char *path)
{
	error_set(e, EXIT_INTERNAL, "the remote-write queue cannot %s %s: %s", what, path, strerror(errno));
	error_hint(e, "look at free space and permissions of the folder");
	return false;
}

static bool read_exactly(int fd, void *to, size_t size, uint64_t at)
{
	size_t done = 0;
	while (done < size) {
		ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(at + done));
		if (got <= 0 && !(got < 0 && errno == EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static uint64_t hash_of(const struct head *h, struct str body)
{
	return hash_seeded(body.ptr, body.len, (uint64_t)h->t_ms ^ h->samples);
}

static bool read_head(int fd, uint64_t at, uint64_t end, struct head *h)
{
	return at + HEAD <= end && read_exactly(fd, h, HEAD, at) && h->magic == magic && h->size <= BODY_MAX && at + HEAD + h->size <= end;
}

/* Counts the whole batches of a file; false when it ends with a part of one, which *whole leaves out. */
static bool file_count(int fd, uint64_t bytes, uint64_t from, struct file *f, uint64_t *whole)
{
	struct head h;
	*whole = from;
	while (read_head(fd, *whole, bytes, &h)) {
		f->batches++;
		f->samples += h.samples;
		*whole += HEAD + h.size;
	}
	return *whole == bytes;
}

/* What a crash left half written is cut off the newest file; elsewhere it is damage, and what follows it is lost. */
static bool file_add(struct queue *q, uint64_t number, bool newest, struct error *e)
{
	char path[1200];
	struct file f = { .number = number };
	struct stat s;
	uint64_t whole;
	name_of(q, number, path, sizeof path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0) {
		if (fd >= 0)
			close(fd);
		return fail(e, "open", path);
	}
	if (!file_count(fd, (uint64_t)s.st_size, q->files.count ? 0 : q->sent, &f, &whole)) {
		bool cut = newest && ftruncate(fd, (off_t)whole) == 0;
		q->stats.damaged += !cut;
	}
	f.bytes = whole;
	close(fd);
	VEC_PUSH(&q->files, f);
	q->stats.batches += f.batches;
	q->stats.bytes += f.bytes;
	return true;
}

static void place_read(struct queue *q, struct arena *arena, uint64_t *number)
{
	struct str text, word;
	int64_t value;
	*number = 0;
	if (!file_read(arena, path_join(arena, q->folder, STR("sent")), 4096, &text, NULL))
		return;
	if (str_split(&text, ' ', &word) && number_parse_i64(word, &value))
		*number = (uint64_t)value;
	if (number_parse_i64(str_trim(text), &value))
		q->sent = (uint64_t)value;
}

static void file_remove(struct queue *q, uint64_t number)
{
	char path[1200];
	name_of(q, number, path, sizeof path);
	unlink(path);
}

static bool files_find(struct queue *q, struct error *e)
{
	struct arena arena;
	uint64_t sent_number;
	size_t count;
	arena_init(&arena);
	place_read(q, &arena, &sent_number);
	struct str *names = folder_list(&arena, q->folder, &count, e);
	VEC(uint64_t) numbers = { 0 };
	for (size_t i = 0; names && i < count; i++) {
		int64_t number;
		if (!str_ends(names[i], STR(".batches")) || !number_parse_i64(str_head(names[i], names[i].len - 8), &number))
			continue;
		if ((uint64_t)number < sent_number)
			file_remove(q, (uint64_t)number);
		else
			VEC_PUSH(&numbers, (uint64_t)number);
	}
	if (!numbers.count || numbers.items[0] != sent_number)
		q->sent = 0;
	bool ok = names != NULL;
	for (size_t i = 0; ok && i < numbers.count; i++)
		ok = file_add(q, numbers.items[i], i + 1 == numbers.count, e);
	VEC_FREE(&numbers);
	arena_fini(&arena);
	return ok;
}

/* Begins a new file to append to. */
static bool file_begin(struct queue *q, struct error *e)
{
	char path[1200];
	uint64_t number = q->files.count ? q->files.items[q->files.count - 1].number + 1 : 1;
	name_of(q, number, path, sizeof path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(e, "make", path);
	if (q->write_fd >= 0)
		close(q->write_fd);
	q->write_fd = fd;
	VEC_PUSH(&q->files, (struct file){ .number = number });
	return true;
}

struct queue *queue_open(const char *folder, const struct queue_options *options, struct error *e)
{
	struct queue *q = NEW(struct queue);
	pthread_condattr_t attributes;
	q->folder = mem_copy(folder, strlen(folder));
	q->options = *options;
	q->write_fd = q->read_fd = -1;
	q->options.file_bytes = options->file_bytes ? options->file_bytes : file_bytes_usual;
	q->options.most_bytes = options->most_bytes ? options->most_bytes : most_bytes_usual;
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&q->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	/* A file of an earlier process is not appended to: its last batch may be torn in a way that only a later reader would see. */
	if (folder_make(folder, e) && files_find(q, e) && file_begin(q, e))
		return q;
	queue_close(q);
	return NULL;
}

void queue_close(struct queue *q)
{
	if (!q)
		return;
	if (q->write_fd >= 0)
		close(q->write_fd);
	if (q->read_fd >= 0)
		close(q->read_fd);
	VEC_FREE(&q->files);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->lock);
	mem_free(q->folder);
	mem_free(q);
}

static bool write_all(int fd, const void *from, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t put = write(fd, (const char *)from + done, size - done);
		if (put < 0 && errno != EINTR)
			return false;
		done += put > 0 ? (size_t)put : 0;
	}
	return true;
}

/* With the lock held. */
static void oldest_end(struct queue *q)
{
	const struct file *f = &q->files.items[0];
	q->stats.batches -= f->batches;
	q->stats.bytes -= f->bytes;
	file_remove(q, f->number);
	memmove(&q->files.items[0], &q->files.items[1], (q->files.count - 1) * sizeof *q->files.items);
	q->files.count--;
	q->sent = 0;
}

static void hold_limit(struct queue *q)
{
	while (q->files.count > 1 && q->stats.bytes > q->options.most_bytes) {
		if (!q->stats.samples_dropped)
			log_warning("the remote-write queue in %s is above %llu bytes: its oldest samples are dropped", q->folder,
				(unsigned long long)q->options.most_bytes);
		q->stats.samples_dropped += q->files.items[0].samples;
		oldest_end(q);
	}
}

bool queue_append(struct queue *q, struct str body, uint32_t samples, int64_t t_ms, struct error *e)
{
	struct head h = { .magic = magic, .size = (uint32_t)body.len, .t_ms = t_ms, .samples = samples };
	h.hash = hash_of(&h, body);
	pthread_mutex_lock(&q->lock);
	struct file *f = &q->files.items[q->files.count - 1];
	bool ok = f->bytes < q->options.file_bytes || file_begin(q, e);
	f = &q->files.items[q->files.count - 1];
	if (ok && (!write_all(q->write_fd, &h, HEAD) || !write_all(q->write_fd, body.ptr, body.len))) {
		ok = fail(e, "write in", q->folder);
		if (ftruncate(q->write_fd, (off_t)f->bytes) != 0)
			q->stats.damaged++;
	} else if (ok) {
		f->bytes += HEAD + body.len;
		f->batches++;
		f->samples += samples;
		q->stats.batches++;
		q->stats.bytes += HEAD + body.len;
		hold_limit(q);
		pthread_cond_signal(&q->wake);
	}
	pthread_mutex_unlock(&q->lock);
	return ok;
}

/* The file that is sent from, open. With the lock held. */
static int oldest_fd(struct queue *q)
{
	char path[1200];
	uint64_t number = q->files.items[0].number;
	if (q->read_fd >= 0 && q->read_number == number)
		return q->read_fd;
	if (q->read_fd >= 0)
		close(q->read_fd);
	name_of(q, number, path, sizeof path);
	q->read_fd = open(path, O_RDONLY | O_CLOEXEC);
	q->read_number = number;
	return q->read_fd;
}

/* The next batch, without waiting. With the lock held. */
static bool take(struct queue *q, struct arena *arena, struct queue_batch *batch)
{
	for (;;) {
		struct file *f = &q->files.items[0];
		struct head h;
		if (q->sent >= f->bytes) {
			if (q->files.count == 1)
				return false;
			oldest_end(q);
			continue;
		}
		int fd = oldest_fd(q);
		if (fd >= 0 && read_head(fd, q->sent, f->bytes, &h)) {
			char *body = arena_alloc(arena, h.size + 1);
			*batch = (struct queue_batch){ str_of(body, h.size), h.samples, h.t_ms, f->number, q->sent + HEAD + h.size };
			if (read_exactly(fd, body, h.size, q->sent + HEAD) && hash_of(&h, batch->body) == h.hash)
				return true;
			log_error("a batch of the remote-write queue in %s is damaged: %u samples are lost", q->folder, h.samples);
			q->sent = batch->end;
			f->batches--;
			q->stats.batches--;
		} else {
			log_error("a file of the remote-write queue in %s is damaged: the rest of it is lost", q->folder);
			q->sent = f->bytes;
		}
		q->stats.damaged++;
	}
}

bool queue_next(struct queue *q, struct arena *arena, struct queue_batch *batch, int64_t wait_ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += wait_ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&q->lock);
	bool any;
	while (!(any = take(q, arena, batch)) && !q->woken)
		if (pthread_cond_timedwait(&q->wake, &q->lock, &until) == ETIMEDOUT)
			break;
	q->woken = false;
	pthread_mutex_unlock(&q->lock);
	return any;
}

void queue_done(struct queue *q, const struct queue_batch *batch)
{
	char path[1200], text[60];
	pthread_mutex_lock(&q->lock);
	/* The file may have been dropped meanwhile. */
	if (q->files.items[0].number == batch->file) {
		q->sent = batch->end;
		q->files.items[0].batches--;
		q->files.items[0].samples -= batch->samples;
		q->stats.batches--;
	}
	snprintf(path, sizeof path, "%s/sent", q->folder);
	int length = snprintf(text, sizeof text, "%llu %llu\n", (unsigned long long)batch->file, (unsigned long long)batch->end);
	pthread_mutex_unlock(&q->lock);
	struct error e = { 0 };
	if (!file_write(path, str_of(text, (size_t)length), &e))
		log_warning("%s: after a restart some samples will be sent again", e.message);
}

void queue_wake(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->woken = true;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->lock);
}

void queue_stats(struct queue *q, struct queue_stats *stats)
{
	pthread_mutex_lock(&q->lock);
	*stats = q->stats;
	pthread_mutex_unlock(&q->lock);
}
