#include "net/loopback.h"

#include "base/clock.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A socket on its way there, or -1. */
static int connect_start(uint16_t port)
{
	struct sockaddr_in address = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool connected(int fd)
{
	int failure = 0;
	socklen_t length = sizeof failure;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 && !failure;
}

/* Takes those that have answered out of the list; how many are left. */
static size_t answers_take(struct pollfd *polls, size_t count, bool *open)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if (polls[i].fd >= 0 && polls[i].revents) {
			open[i] = (polls[i].revents & POLLOUT) && connected(polls[i].fd);
			close(polls[i].fd);
			polls[i].fd = -1;
		}
		left += polls[i].fd >= 0;
	}
	return left;
}

void loopback_probe(const uint16_t *ports, size_t count, int timeout_ms, bool *open)
{
	int64_t end_ns = clock_monotonic_ns() + timeout_ms * INT64_C(1000000);
	struct pollfd *polls = mem_zalloc(count, sizeof *polls);

	for (size_t i = 0; i < count; i++) {
		polls[i] = (struct pollfd){ .fd = connect_start(ports[i]), .events = POLLOUT };
		open[i] = false;
	}
	while (answers_take(polls, count, open)) {
		int64_t left_ns = end_ns - clock_monotonic_ns();

		if (left_ns <= 0)
			break;
		poll(polls, count, (int)((left_ns + 999999) / 1000000));
	}
	for (size_t i = 0; i < count; i++)
		if (polls[i].fd >= 0)
			close(polls[i].fd);
	mem_free(polls);
}

bool loopback_is_free(uint16_t port)
{
	struct sockaddr_in address = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}
