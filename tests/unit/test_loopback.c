#include "unit.h"

#include "net/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket bound to a free port of the loopback address. */
static int port_take(uint16_t *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static void test_ports(void **state)
{
	uint16_t ports[4];
	bool open[4];
	int fds[4];

	for (int i = 0; i < 4; i++)
		fds[i] = port_take(&ports[i]);
	assert_int_equal(listen(fds[1], 4), 0);
	assert_int_equal(listen(fds[3], 4), 0);
	loopback_probe(ports, 4, 60000, open);
	assert_false(open[0] || open[2]);
	assert_true(open[1] && open[3]);
	loopback_probe(ports, 0, 60000, open);
	assert_false(loopback_is_free(ports[1]));
	close(fds[0]);
	assert_true(loopback_is_free(ports[0]));
	for (int i = 1; i < 4; i++)
		close(fds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ports) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
