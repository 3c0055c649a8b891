/* client_plain: what a reader pays that parses nothing: epoll, read into one buffer, forget. The floor of bench/run-client.
 *
 *   client_plain PORT STREAMS SECONDS COUNT_FILE
 *
 * Prints: events CPU-seconds of the last SECONDS. */
#include "base/mem.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char request[] =
	"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double cpu_s(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static int stream_open(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 || write(fd, request, sizeof request - 1) < 0) {
		perror("client_plain");
		exit(70);
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int main(int argc, char **argv)
{
	static char buffer[65536];
	struct epoll_event events[1024];
	int port, streams, epoll = epoll_create1(EPOLL_CLOEXEC), file;
	const uint64_t *count;

	if (argc != 5)
		return 64;
	port = (int)strtol(argv[1], NULL, 10);
	streams = (int)strtol(argv[2], NULL, 10);
	file = open(argv[4], O_RDONLY | O_CLOEXEC);
	count = mmap(NULL, sizeof *count, PROT_READ, MAP_SHARED, file, 0);
	for (int i = 0; i < streams; i++) {
		struct epoll_event e = { .events = EPOLLIN };

		e.data.fd = stream_open(port);
		epoll_ctl(epoll, EPOLL_CTL_ADD, e.data.fd, &e);
	}
	int64_t start = now_ns() + 1000000000, end = start + strtoll(argv[3], NULL, 10) * 1000000000;
	uint64_t before = 0;
	double cpu = 0;

	for (int64_t now = 0; (now = now_ns()) < end;) {
		int n = epoll_wait(epoll, events, 1024, 100);

		if (!before && now >= start) {
			before = __atomic_load_n(count, __ATOMIC_RELAXED);
			cpu = cpu_s();
		}
		for (int i = 0; i < n; i++)
			if (read(events[i].data.fd, buffer, sizeof buffer) == 0)
				return fprintf(stderr, "client_plain: the server hung up\n"), 70;
	}
	printf("%llu %.6f\n", (unsigned long long)(__atomic_load_n(count, __ATOMIC_RELAXED) - before), cpu_s() - cpu);
	return 0;
}
