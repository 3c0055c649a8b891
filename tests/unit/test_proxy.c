#include "unit.h"

#include "base/mem.h"
#include "net/proxy.h"

#include <stdlib.h>

static const char *const names[] = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
	"NO_PROXY" };

static int clear(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	return 0;
}

static void test_variables(void **state)
{
	assert_null(proxy_variable(STR("a.example"), false));
	setenv("HTTP_PROXY", "http://p:1", 1);
	assert_null(proxy_variable(STR("a.example"), false));
	setenv("http_proxy", "", 1);
	assert_null(proxy_variable(STR("a.example"), false));
	setenv("http_proxy", "http://p:1", 1);
	assert_string_equal(proxy_variable(STR("a.example"), false), "http_proxy");
	assert_null(proxy_variable(STR("a.example"), true));
	setenv("ALL_PROXY", "socks5://p:1", 1);
	assert_string_equal(proxy_variable(STR("a.example"), true), "ALL_PROXY");
	setenv("HTTPS_PROXY", "http://p:1", 1);
	assert_string_equal(proxy_variable(STR("a.example"), true), "HTTPS_PROXY");
}

static void test_exempt(void **state)
{
	setenv("http_proxy", "http://p:1", 1);
	setenv("NO_PROXY", "127.0.0.1, .example.org,local", 1);
	assert_null(proxy_variable(STR("127.0.0.1"), false));
	assert_null(proxy_variable(STR("gpu.Example.org"), false));
	assert_null(proxy_variable(STR("example.org"), false));
	assert_null(proxy_variable(STR("gpu.local"), false));
	assert_non_null(proxy_variable(STR("badexample.org"), false));
	assert_non_null(proxy_variable(STR("org"), false));
	setenv("no_proxy", "", 1); /* the small one counts */
	assert_non_null(proxy_variable(STR("127.0.0.1"), false));
	setenv("no_proxy", "*", 1);
	assert_null(proxy_variable(STR("127.0.0.1"), false));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup(test_variables, clear), cmocka_unit_test_setup(test_exempt, clear) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
