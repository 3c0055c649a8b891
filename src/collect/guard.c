#include "collect/internal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* The store to what SIGBUS may ask is that of the thread which reads, so no lock is needed. */
static _Thread_local struct {
	const char *from, *to;
	volatile sig_atomic_t hit;
} guarded;

static struct sigaction before;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	if (at >= guarded.from && at < guarded.to &&
		mmap((void *)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
			MAP_FAILED) {
		guarded.hit = 1;
		return;
	}
	/* Not ours: as if we were not here; the instruction faults again. */
	sigaction(SIGBUS, &before, NULL);
}

static void guard_install(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &before);
}

void guard_begin(const void *from, size_t size)
{
	pthread_once(&installed, guard_install);
	guarded.hit = 0;
	guarded.from = from;
	guarded.to = (const char *)from + size;
}

bool guard_end(void)
{
	guarded.from = guarded.to = NULL;
	return guarded.hit != 0;
}
