/* streams: opens N streams on a server and reads them as fast as it can: the load for the lateness figure of goodput sim.
 * usage: streams PORT[-LAST] COUNT TOKENS SPREAD_MS. Connection i starts SPREAD_MS * i / COUNT after the first, on port PORT + i % ports.
 * Prints one line: streams, whole streams, events, seconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct stream {
	int fd;
	size_t events;
	int over, whole;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_stream(struct stream *s, int port, int tokens, int epoll)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = s };
	char body[256], request[512];
	int one = 1, len;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&to, sizeof to) < 0)
		return -1;
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	len = snprintf(
		body, sizeof body, "{\"prompt\":\"a load of streams\",\"max_tokens\":%d,\"ignore_eos\":true,\"stream\":true}", tokens);
	len = snprintf(request, sizeof request,
		"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len,
		body);
	if (write(s->fd, request, (size_t)len) != len)
		return -1;
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	return epoll_ctl(epoll, EPOLL_CTL_ADD, s->fd, &event);
}

static void take(struct stream *s, const char *bytes, size_t len)
{
	static const char mark[] = "data: ";

	for (const char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), mark, 6)); at += 6)
		s->events++;
	if (len >= 5 && memcmp(bytes + len - 5, "0\r\n\r\n", 5) == 0)
		s->over = s->whole = 1;
}

static void read_stream(struct stream *s)
{
	static char space[1 << 16];
	ssize_t got = read(s->fd, space, sizeof space);

	if (got > 0)
		take(s, space, (size_t)got);
	else if (got == 0 || errno != EAGAIN)
		s->over = 1;
	if (s->over)
		close(s->fd);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct epoll_event ready[256];
	char *dash;

	if (argc != 5)
		return 64;
	int first = (int)strtol(argv[1], &dash, 10), last = *dash == '-' ? (int)strtol(dash + 1, NULL, 10) : first;
	int count = (int)strtol(argv[2], NULL, 10), tokens = (int)strtol(argv[3], NULL, 10), epoll = epoll_create1(EPOLL_CLOEXEC),
	    opened = 0, over = 0, whole = 0;
	double spread = strtod(argv[4], NULL) / 1e3, start = now();
	struct stream *streams = calloc((size_t)count, sizeof *streams);
	size_t events = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	while (streams && over < count) {
		for (; opened < count && now() - start >= spread * opened / count; opened++)
			if (open_stream(&streams[opened], first + opened % (last - first + 1), tokens, epoll) < 0) {
				perror("streams");
				return 69;
			}
		int n = epoll_wait(epoll, ready, 256, opened < count ? 1 : 1000);

		for (int i = 0; i < n; i++) {
			struct stream *s = ready[i].data.ptr;

			read_stream(s);
			over += s->over;
			whole += s->whole;
		}
	}
	for (int i = 0; streams && i < count; i++)
		events += streams[i].events;
	printf("streams %d whole %d events %zu seconds %.3f\n", count, whole, events, now() - start);
	free(streams);
	return 0;
}
