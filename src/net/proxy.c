#include "net/proxy.h"

#include <stdlib.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* "example.org" exempts itself and what ends in ".example.org". */
static bool is_exempted_by(struct str host, struct str rule)
{
	if (str_is(rule, "*"))
		return true;
	if (str_starts(rule, STR(".")))
		rule = str_skip(rule, 1);
	if (!rule.len || host.len < rule.len || !str_eq_nocase(str_skip(host, host.len - rule.len), rule))
		return false;
	return host.len == rule.len || host.ptr[host.len - rule.len - 1] == '.';
}

static bool is_exempt(struct str host)
{
	const char *rules = getenv("no_proxy");
	struct str rest = str_from(rules ? rules : getenv("NO_PROXY") ? getenv("NO_PROXY") : ""), word, part;

	while (str_split(&rest, ',', &word))
		while (str_split(&word, ' ', &part))
			if (is_exempted_by(host, part))
				return true;
	return false;
}

const char *proxy_variable(struct str host, bool is_tls)
{
	/* HTTP_PROXY in capitals can be a header of a CGI request: nobody reads it. */
	static const char *const plain[] = { "http_proxy", "all_proxy", "ALL_PROXY", NULL }, *const tls[] = { "https_proxy", "HTTPS_PROXY",
		"all_proxy", "ALL_PROXY", NULL };

	if (is_exempt(host))
		return NULL;
	for (const char *const *name = is_tls ? tls : plain; *name; name++)
		if (is_set(*name))
			return *name;
	return NULL;
}
