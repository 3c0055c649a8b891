/* dns_sd: records of names, asked of the servers in resolv.conf. /etc/hosts says nothing here, as in Prometheus. */
#include "scrape/dns.h"
#include "scrape/provider.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

enum { ANSWER_MAX = 65536, TIMEOUT_S = 2 };

/* NULL: the servers could not say. A name that does not exist has no targets. */
static struct harvest *dns_ask(res_state state, const struct sd *sd, struct str name, unsigned char *answer, struct error *e)
{
	static const int types[] = { [DNS_SRV] = ns_t_srv, [DNS_A] = ns_t_a, [DNS_AAAA] = ns_t_aaaa };
	struct harvest *h = harvest_new();
	int size = res_nsearch(state, name.ptr, ns_c_in, types[sd->dns], answer, ANSWER_MAX);
	bool ok = true;
	if (size >= 0)
		ok = dns_read(answer, (size_t)(size < ANSWER_MAX ? size : ANSWER_MAX), name, sd->dns, sd->port, &h->groups, &h->arena, e);
	else if (state->res_h_errno != HOST_NOT_FOUND && state->res_h_errno != NO_DATA)
		ok = error_set(e, EXIT_UNREACHABLE, "%s", hstrerror(state->res_h_errno));
	if (ok)
		return h;
	harvest_unref(h);
	return NULL;
}

/* What could not be asked again stays as it was. */
static void names_ask(struct provider *p, struct harvest **harvests, unsigned char *answer, char *why, size_t why_size)
{
	struct __res_state state = { 0 };
	why[0] = '\0';
	if (res_ninit(&state) != 0) {
		snprintf(why, why_size, "resolv.conf cannot be used");
		return;
	}
	state.retrans = TIMEOUT_S;
	state.retry = 1;
	for (size_t i = 0; i < p->sd->name_count && !provider_stopped(p); i++) {
		struct error e = { 0 };
		struct harvest *h = dns_ask(&state, p->sd, p->sd->names[i], answer, &e);
		if (!h) {
			snprintf(why, why_size, STR_FMT ": %s", STR_ARG(str_head(p->sd->names[i], 200)), e.message);
			continue;
		}
		harvest_unref(harvests[i]);
		harvests[i] = h;
	}
	res_nclose(&state);
}

void provider_run_dns(struct provider *p)
{
	struct harvest **harvests = mem_zalloc(p->sd->name_count, sizeof(struct harvest *));
	unsigned char *answer = mem_alloc(ANSWER_MAX);
	do {
		char why[400];
		struct yield y = { 0 };
		names_ask(p, harvests, answer, why, sizeof why);
		for (size_t i = 0; i < p->sd->name_count; i++)
			if (harvests[i])
				VEC_PUSH(&y.items, harvest_ref(harvests[i]));
		provider_publish(p, &y, why[0] ? why : NULL);
		yield_clear(&y);
	} while (provider_sleep(p, p->sd->refresh_ms));
	for (size_t i = 0; i < p->sd->name_count; i++)
		harvest_unref(harvests[i]);
	mem_free(harvests);
	mem_free(answer);
}
