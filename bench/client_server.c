/* client_server: the sender of bench/run-client: event streams whose every event holds its own send time, on one epoll thread.
 *
 *   client_server COUNT_FILE INTERVAL_US PACK [SPREAD]
 *
 * Answers every POST with an endless chat stream: PACK events in one chunk and one send, every INTERVAL_US (0: as fast as the reader takes
 * them). "created" of an event is CLOCK_REALTIME in ns just before its send. All events have the same size. The number of events sent so
 * far stands in COUNT_FILE as a native 64-bit integer. With SPREAD the streams' first events are spread over the interval, else they tick
 * together, as the tokens of one engine step do. Prints its port on 127.0.0.1. */
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PACK_MAX = 64, EVENT_SIZE = 330, BURST = 1 << 20 };

struct stream {
	int fd;
	bool live, waits;    /* waits: the socket is full */
	struct stream *next; /* in order of due time: the interval is the same for all */
	int64_t due_ns;
	unsigned long long tokens;
	size_t len, sent; /* of out */
	char request[4096];
	char out[PACK_MAX * (EVENT_SIZE + 20) + 300];
};

static int epoll, pack;
static int64_t interval_ns;
static bool spread;
static uint64_t *count, opened;
static struct stream *first, *last;

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void queue_add(struct stream *s)
{
	s->next = NULL;
	if (last)
		last->next = s;
	else
		first = s;
	last = s;
}

static void out_add(struct stream *s, const char *text, size_t len)
{
	memcpy(s->out + s->len, text, len);
	s->len += len;
}

/* One chunk with `pack` events, each of EVENT_SIZE bytes. */
static void out_chunk(struct stream *s)
{
	static const char form[] =
		"data: {\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion.chunk\",\"created\":%lld,"
		"\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,"
		"\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":9,\"total_tokens\":%llu,\"completion_tokens\":%llu}";
	char head[16];
	int64_t now = now_ns(CLOCK_REALTIME);

	out_add(s, head, (size_t)snprintf(head, sizeof head, "%x\r\n", pack * EVENT_SIZE));
	for (int i = 0; i < pack; i++) {
		unsigned long long tokens = ++s->tokens;
		size_t used = (size_t)snprintf(s->out + s->len, EVENT_SIZE, form, (long long)now, tokens + 9, tokens);

		memset(s->out + s->len + used, ' ', EVENT_SIZE - used - 3); /* blanks before the brace: the same size for all */
		s->len += EVENT_SIZE - 3;
		out_add(s, "}\n\n", 3);
	}
	out_add(s, "\r\n", 2);
}

static void watch(struct stream *s, bool writable)
{
	struct epoll_event e = { .events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = s };

	s->waits = writable;
	epoll_ctl(epoll, EPOLL_CTL_MOD, s->fd, &e);
}

/* True: all of `out` is sent. */
static bool flush_out(struct stream *s)
{
	while (s->sent < s->len) {
		ssize_t n = send(s->fd, s->out + s->sent, s->len - s->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			if (errno == EAGAIN && !s->waits)
				watch(s, true);
			return false;
		}
		s->sent += (size_t)n;
	}
	s->len = s->sent = 0;
	return true;
}

static void stream_send(struct stream *s)
{
	if (s->len)
		return; /* the reader is behind */
	out_chunk(s);
	__atomic_fetch_add(count, (uint64_t)pack, __ATOMIC_RELAXED);
	flush_out(s);
}

static void stream_fill(struct stream *s)
{
	for (size_t done = 0; done < BURST && flush_out(s); done += (size_t)pack * EVENT_SIZE) {
		out_chunk(s);
		__atomic_fetch_add(count, (uint64_t)pack, __ATOMIC_RELAXED);
	}
}

static void stream_begin(struct stream *s)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";

	s->live = true;
	out_add(s, head, sizeof head - 1);
	flush_out(s);
	if (!interval_ns) {
		watch(s, true);
		return;
	}
	s->due_ns = now_ns(CLOCK_MONOTONIC) + interval_ns;
	if (spread) /* golden ratio steps; the queue is in order of opening, which is good enough for one interval */
		s->due_ns += (int64_t)((double)(opened % 1000) / 1000 * (double)interval_ns);
	queue_add(s);
	opened++;
}

static void stream_close(struct stream *s)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	s->live = false; /* leaves the queue when its turn comes */
	if (!interval_ns)
		mem_free(s);
}

static void stream_read(struct stream *s)
{
	ssize_t n = recv(s->fd, s->request, sizeof s->request - 1, MSG_DONTWAIT);

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			stream_close(s);
		return;
	}
	s->request[n] = '\0';
	if (!s->live && strstr(s->request, "\r\n\r\n")) /* requests of the bench fit one segment; their bodies are not read */
		stream_begin(s);
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct stream *s = NEW(struct stream);
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		s->fd = fd;
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	}
}

static void send_due(void)
{
	int64_t now = now_ns(CLOCK_MONOTONIC);

	while (first && first->due_ns <= now) {
		struct stream *s = first;

		first = s->next;
		if (!first)
			last = NULL;
		if (!s->live) {
			mem_free(s);
			continue;
		}
		stream_send(s);
		s->due_ns += interval_ns;
		if (s->due_ns < now)
			s->due_ns = now + interval_ns; /* no catching up: the rate is then lower, and the count says so */
		queue_add(s);
	}
}

static int listen_any(int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return -1;
	*port = ntohs(address.sin_port);
	return fd;
}

static uint64_t *map_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *at = fd < 0 || ftruncate(fd, sizeof *count) != 0 ? MAP_FAILED
							       : mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	struct epoll_event events[512], e = { .events = EPOLLIN };
	int port, listener = listen_any(&port);

	if (argc < 4 || listener < 0 || !(count = map_count(argv[1])))
		return fprintf(stderr, "usage: client_server COUNT_FILE INTERVAL_US PACK [SPREAD]\n"), 64;
	interval_ns = strtoll(argv[2], NULL, 10) * 1000;
	pack = (int)strtol(argv[3], NULL, 10);
	if (pack < 1 || pack > PACK_MAX)
		return 64;
	spread = argc > 4;
	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
	printf("%d\n", port);
	fflush(stdout);
	for (;;) {
		int64_t wait = first ? first->due_ns - now_ns(CLOCK_MONOTONIC) : 1000000000;
		struct timespec t = { wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0 };
		int n = epoll_pwait2(epoll, events, 512, &t, NULL);

		for (int i = 0; i < n; i++) {
			struct stream *s = events[i].data.ptr;

			if (!s) {
				accept_all(listener);
				continue;
			}
			if (events[i].events & EPOLLOUT && s->live) {
				if (!interval_ns)
					stream_fill(s);
				else if (flush_out(s))
					watch(s, false);
			}
			if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
				stream_read(s);
		}
		send_due();
	}
}
