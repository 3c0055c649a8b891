#include "scrape/dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <stdio.h>

struct str address_join(struct arena *arena, struct str host, struct str port)
{
	bool brackets = str_find(host, ':') >= 0 || str_find(host, '%') >= 0;
	return arena_printf(arena, "%s" STR_FMT "%s:" STR_FMT, brackets ? "[" : "", STR_ARG(host), brackets ? "]" : "", STR_ARG(port));
}

static void label_add(struct group_target *t, struct label *labels, const char *name, struct str value)
{
	labels[t->count++] = (struct label){ str_from(name), value };
}

static bool read_srv(ns_msg *m, const ns_rr *rr, struct group_target *t, struct label *labels, struct arena *arena)
{
	char target[NS_MAXDNAME];
	const unsigned char *data = ns_rr_rdata(*rr);
	if (ns_rr_rdlen(*rr) < 7 || ns_name_uncompress(ns_msg_base(*m), ns_msg_end(*m), data + 6, target, sizeof target) < 0)
		return false;
	struct str host = str_from(target), port = arena_printf(arena, "%u", (unsigned)(data[4] << 8 | data[5]));
	label_add(t, labels, "__address__", address_join(arena, host, port));
	label_add(t, labels, "__meta_dns_srv_record_target", arena_printf(arena, "%s.", target));
	label_add(t, labels, "__meta_dns_srv_record_port", port);
	return true;
}

static bool read_address(const ns_rr *rr, int family, int port, struct group_target *t, struct label *labels, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN];
	if (ns_rr_rdlen(*rr) != (family == AF_INET ? 4 : 16) || !inet_ntop(family, ns_rr_rdata(*rr), text, sizeof text))
		return false;
	label_add(t, labels, "__address__", address_join(arena, str_from(text), arena_printf(arena, "%d", port)));
	return true;
}

static bool read_record(ns_msg *m, const ns_rr *rr, enum dns_kind kind, int port, struct group_target *t, struct arena *arena)
{
	struct label *labels = ARENA_ARRAY(arena, struct label, 3);
	t->labels = labels;
	switch (kind) {
	case DNS_SRV: return read_srv(m, rr, t, labels, arena);
	case DNS_A: return read_address(rr, AF_INET, port, t, labels, arena);
	case DNS_AAAA: return read_address(rr, AF_INET6, port, t, labels, arena);
	}
	return false;
}

bool dns_read(const unsigned char *answer, size_t size, struct str name, enum dns_kind kind, int port, struct groups *groups,
	struct arena *arena, struct error *e)
{
	static const int types[] = { [DNS_SRV] = ns_t_srv, [DNS_A] = ns_t_a, [DNS_AAAA] = ns_t_aaaa };
	ns_msg m;
	if (size > INT32_MAX || ns_initparse(answer, (int)size, &m) != 0)
		return error_set(e, EXIT_BAD_INPUT, "no valid DNS answer");
	int count = ns_msg_count(m, ns_s_an);
	struct target_group *g = ARENA_NEW(arena, struct target_group);
	struct group_target *targets = ARENA_ARRAY(arena, struct group_target, (size_t)count + 1);
	struct label *label = ARENA_NEW(arena, struct label);
	*label = (struct label){ STR("__meta_dns_name"), arena_str(arena, name) };
	*g = (struct target_group){ .labels = label, .label_count = 1, .targets = targets };
	*groups = (struct groups){ g, 1 };
	for (int i = 0; i < count; i++) {
		ns_rr rr;
		if (ns_parserr(&m, ns_s_an, i, &rr) != 0)
			return error_set(e, EXIT_BAD_INPUT, "no valid DNS answer: record %d", i + 1);
		if (ns_rr_type(rr) == types[kind] && read_record(&m, &rr, kind, port, &targets[g->target_count], arena))
			g->target_count++;
	}
	return true;
}
