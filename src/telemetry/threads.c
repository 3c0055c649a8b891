/* The lock (which leaves errno as it was), numbers of threads, and what happens at a fork. */
#include "telemetry/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Thread_local uint32_t goodput_thread_number;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t number_key;
static int init_error, saved_errno;
static uint64_t taken[GOODPUT_THREAD_CELLS_MAX / 64]; /* bit n - 1: number n */
static struct goodput_registry *registries;

void goodput_lock(void)
{
	const int before = errno;

	pthread_mutex_lock(&lock);
	saved_errno = before;
}

void goodput_unlock(struct goodput_registry *r)
{
	int news = r ? r->news : -1;
	char text[sizeof r->news_text];

	if (news >= 0) {
		memcpy(text, r->news_text, sizeof text);
		r->news = -1;
	}
	const int before = saved_errno;

	pthread_mutex_unlock(&lock);
	if (news >= 0 && r->report)
		r->report(r->report_context, news, text);
	errno = before;
}

static void number_give_back(void *value)
{
	uint32_t n = (uint32_t)(uintptr_t)value;

	pthread_mutex_lock(&lock);
	taken[(n - 1) / 64] &= ~(1ull << (n - 1) % 64);
	pthread_mutex_unlock(&lock);
	goodput_thread_number = 0;
}

void goodput_thread_enter(void)
{
	uint32_t n = 1;

	if (goodput_thread_number)
		return;
	while (n <= GOODPUT_THREAD_CELLS_MAX && taken[(n - 1) / 64] >> (n - 1) % 64 & 1)
		n++;
	/* Without a destructor the number would never come back: then the thread shares a cell. */
	if (n > GOODPUT_THREAD_CELLS_MAX || pthread_setspecific(number_key, (void *)(uintptr_t)n)) {
		goodput_thread_number = UINT32_MAX;
		return;
	}
	taken[(n - 1) / 64] |= 1ull << (n - 1) % 64;
	goodput_thread_number = n;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* Only this thread lives on. The parent's descriptors are closed at once: they would keep its files locked after its death. */
static void after_fork_child(void)
{
	const uint32_t n = goodput_thread_number;

	pthread_mutex_init(&lock, NULL);
	memset(taken, 0, sizeof taken);
	if (n && n <= GOODPUT_THREAD_CELLS_MAX)
		taken[(n - 1) / 64] = 1ull << (n - 1) % 64;
	for (struct goodput_registry *r = registries; r; r = r->next) {
		r->news = -1;
		goodput_arena_wipe(&r->arena);
		for (unsigned i = 0; i < GOODPUT_FILE_KINDS; i++)
			goodput_file_drop(&r->files[i]);
	}
}

static void init(void)
{
	init_error = pthread_key_create(&number_key, number_give_back);
	if (!init_error)
		init_error = pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

int goodput_threads_init(void)
{
	int error = pthread_once(&once, init);

	return error ? error : init_error;
}

void goodput_registries_add(struct goodput_registry *r)
{
	r->next = registries;
	registries = r;
}

void goodput_registries_remove(struct goodput_registry *r)
{
	struct goodput_registry **at = &registries;

	while (*at && *at != r)
		at = &(*at)->next;
	if (*at)
		*at = r->next;
}
