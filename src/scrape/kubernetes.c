#include "scrape/kubernetes.h"

#include "scrape/dns.h"

#include <inttypes.h>
#include <stdio.h>

#define META "__meta_kubernetes_"

/* One group being made. */
struct maker {
	struct arena *arena;
	struct map pods, services, nodes; /* "namespace/name" → json_t */
	bool attach_node;
	VEC(struct label) labels; /* of the group, then of the target */
	VEC(struct group_target) targets;
	size_t group_labels;
};

unsigned kubernetes_needs(enum kubernetes_role role, bool attach_node)
{
	unsigned needs = 1U << role;
	if (role == KUBERNETES_ENDPOINTS || role == KUBERNETES_ENDPOINT_SLICE)
		needs |= 1U << KUBERNETES_POD | 1U << KUBERNETES_SERVICE;
	if (attach_node && role != KUBERNETES_SERVICE && role != KUBERNETES_INGRESS)
		needs |= 1U << KUBERNETES_NODE;
	return needs;
}

static struct str text_of(const json_t *value)
{
	return str_of(json_string_value(value), json_string_length(value));
}

static struct str member(const json_t *object, const char *key)
{
	return text_of(json_object_get(object, key));
}

static const json_t *at(const json_t *object, const char *first, const char *second)
{
	return json_object_get(json_object_get(object, first), second);
}

static struct str whole(struct maker *m, const json_t *number)
{
	return arena_printf(m->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
}

static struct str lower(struct arena *arena, struct str text)
{
	char *out = arena_cstr(arena, text);
	for (size_t i = 0; i < text.len; i++)
		out[i] = out[i] >= 'A' && out[i] <= 'Z' ? (char)(out[i] | 0x20) : out[i];
	return str_of(out, text.len);
}

/* A later value of a name wins. */
static void add(struct maker *m, struct str name, struct str value)
{
	for (size_t i = m->group_labels; i < m->labels.count; i++)
		if (str_eq(m->labels.items[i].name, name)) {
			m->labels.items[i].value = arena_str(m->arena, value);
			return;
		}
	VEC_PUSH(&m->labels, (struct label){ name, arena_str(m->arena, value) });
}

static void add_meta(struct maker *m, const char *name, struct str value)
{
	add(m, arena_printf(m->arena, META "%s", name), value);
}

/* Absent members make no label. */
static void add_member(struct maker *m, const char *name, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_string(value))
		add_meta(m, name, text_of(value));
	else if (json_is_boolean(value))
		add_meta(m, name, json_is_true(value) ? STR("true") : STR("false"));
	else if (json_is_integer(value))
		add_meta(m, name, whole(m, value));
}

/* "a.b/c" as part of a label's name: "a_b_c". */
static struct str sanitize(struct arena *arena, const char *prefix, const char *middle, struct str key)
{
	struct str name = arena_printf(arena, META "%s%s" STR_FMT, prefix, middle, STR_ARG(key));
	char *out = (char *)name.ptr; /* our own copy */
	for (size_t i = name.len - key.len; i < name.len; i++)
		if (!label_name_is_classic(str_of(out + i, 1), false) && !(out[i] >= '0' && out[i] <= '9'))
			out[i] = '_';
	return name;
}

static void add_map(struct maker *m, const char *prefix, const char *plain, const char *present, const json_t *map)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)map, key, value)
	{
		if (!json_is_string(value))
			continue;
		add(m, sanitize(m->arena, prefix, plain, str_from(key)), text_of(value));
		add(m, sanitize(m->arena, prefix, present, str_from(key)), STR("true"));
	}
}

static void add_object_meta(struct maker *m, const char *prefix, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	add_map(m, prefix, "_label_", "_labelpresent_", json_object_get(meta, "labels"));
	add_map(m, prefix, "_annotation_", "_annotationpresent_", json_object_get(meta, "annotations"));
}

static void target_end(struct maker *m, size_t from)
{
	size_t count = m->labels.count - from;
	struct label *labels = ARENA_ARRAY(m->arena, struct label, count + 1);
	if (count)
		memcpy(labels, m->labels.items + from, count * sizeof *labels);
	VEC_PUSH(&m->targets, (struct group_target){ labels, count });
	m->labels.count = from;
}

static void add_address(struct maker *m, struct str address)
{
	add(m, STR("__address__"), address);
}

static const json_t *find(const struct map *map, struct arena *arena, struct str space, struct str name)
{
	struct str key = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(space), STR_ARG(name));
	return map_get(map, key);
}

static void index_objects(struct map *map, const json_t *items, struct arena *arena)
{
	size_t i;
	json_t *object;
	map_init(map);
	json_array_foreach((json_t *)items, i, object)
	{
		struct str space = text_of(at(object, "metadata", "namespace")), name = text_of(at(object, "metadata", "name"));
		map_set(map, arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(space), STR_ARG(name)), object);
	}
}

static void add_node_labels(struct maker *m, struct str name)
{
	const json_t *node = m->attach_node && name.len ? find(&m->nodes, m->arena, STR_EMPTY, name) : NULL;
	if (!node)
		return;
	add_meta(m, "node_name", name);
	add_map(m, "node", "_label_", "_labelpresent_", at(node, "metadata", "labels"));
}

static struct str pod_ready(struct maker *m, const json_t *pod)
{
	size_t i;
	json_t *condition;
	json_array_foreach((json_t *)at(pod, "status", "conditions"), i, condition)
	{
		if (str_is(member(condition, "type"), "Ready"))
			return lower(m->arena, member(condition, "status"));
	}
	return STR("unknown");
}

static void add_controller(struct maker *m, const json_t *pod)
{
	size_t i;
	json_t *owner;
	json_array_foreach((json_t *)at(pod, "metadata", "ownerReferences"), i, owner)
	{
		if (!json_is_true(json_object_get(owner, "controller")))
			continue;
		add_member(m, "pod_controller_kind", owner, "kind");
		add_member(m, "pod_controller_name", owner, "name");
		return;
	}
}

static void add_pod(struct maker *m, const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata"), *status = json_object_get(pod, "status");
	add_member(m, "pod_name", meta, "name");
	add_member(m, "pod_ip", status, "podIP");
	add_meta(m, "pod_ready", pod_ready(m, pod));
	add_member(m, "pod_phase", status, "phase");
	add_member(m, "pod_node_name", json_object_get(pod, "spec"), "nodeName");
	add_member(m, "pod_host_ip", status, "hostIP");
	add_member(m, "pod_uid", meta, "uid");
	add_controller(m, pod);
	add_object_meta(m, "pod", pod);
}

static void add_container(struct maker *m, const json_t *container)
{
	add_member(m, "pod_container_name", container, "name");
	add_member(m, "pod_container_image", container, "image");
}

static void add_container_port(struct maker *m, const json_t *port)
{
	add_member(m, "pod_container_port_name", port, "name");
	add_member(m, "pod_container_port_number", port, "containerPort");
	add_member(m, "pod_container_port_protocol", port, "protocol");
}

static void add_container_id(struct maker *m, const json_t *pod, const char *statuses, struct str name)
{
	size_t i;
	json_t *status;
	json_array_foreach((json_t *)at(pod, "status", statuses), i, status)
	{
		if (str_eq(member(status, "name"), name))
			add_member(m, "pod_container_id", status, "containerID");
	}
}

static void pod_container(struct maker *m, const json_t *pod, const json_t *container, bool init)
{
	struct str ip = text_of(at(pod, "status", "podIP"));
	const json_t *ports = json_object_get(container, "ports");
	size_t count = json_array_size(ports);
	for (size_t i = 0; i < count || i == 0; i++) {
		const json_t *port = json_array_get(ports, i);
		size_t from = m->labels.count;
		add_address(m, port ? address_join(m->arena, ip, whole(m, json_object_get(port, "containerPort"))) : ip);
		add_container(m, container);
		add_container_id(m, pod, init ? "initContainerStatuses" : "containerStatuses", member(container, "name"));
		if (port)
			add_container_port(m, port);
		add_meta(m, "pod_container_init", init ? STR("true") : STR("false"));
		target_end(m, from);
	}
}

static void group_of_pod(struct maker *m, const json_t *pod)
{
	size_t i;
	json_t *container;
	if (!text_of(at(pod, "status", "podIP")).len) /* starting or evicted */
		return;
	add_pod(m, pod);
	add_member(m, "namespace", json_object_get(pod, "metadata"), "namespace");
	add_node_labels(m, text_of(at(pod, "spec", "nodeName")));
	m->group_labels = m->labels.count;
	json_array_foreach((json_t *)at(pod, "spec", "containers"), i, container) pod_container(m, pod, container, false);
	json_array_foreach((json_t *)at(pod, "spec", "initContainers"), i, container) pod_container(m, pod, container, true);
}

static void add_service(struct maker *m, const json_t *service)
{
	add_member(m, "service_name", json_object_get(service, "metadata"), "name");
	add_member(m, "namespace", json_object_get(service, "metadata"), "namespace");
	add_object_meta(m, "service", service);
}

static void service_port(struct maker *m, const json_t *service, const json_t *port)
{
	const json_t *meta = json_object_get(service, "metadata"), *spec = json_object_get(service, "spec");
	size_t from = m->labels.count;
	struct str number = whole(m, json_object_get(port, "port")), type = member(spec, "type");
	struct str host =
		arena_printf(m->arena, STR_FMT "." STR_FMT ".svc", STR_ARG(member(meta, "name")), STR_ARG(member(meta, "namespace")));
	add_address(m, address_join(m->arena, host, number));
	add_member(m, "service_port_name", port, "name");
	add_meta(m, "service_port_number", number);
	add_member(m, "service_port_protocol", port, "protocol");
	add_meta(m, "service_type", type);
	if (str_is(type, "ExternalName"))
		add_member(m, "service_external_name", spec, "externalName");
	else
		add_member(m, "service_cluster_ip", spec, "clusterIP");
	if (str_is(type, "LoadBalancer"))
		add_member(m, "service_loadbalancer_ip", spec, "loadBalancerIP");
	target_end(m, from);
}

static void group_of_service(struct maker *m, const json_t *service)
{
	size_t i;
	json_t *port;
	add_service(m, service);
	m->group_labels = m->labels.count;
	json_array_foreach((json_t *)at(service, "spec", "ports"), i, port) service_port(m, service, port);
}

static struct str node_address(const json_t *node, const char *type)
{
	size_t i;
	json_t *address;
	json_array_foreach((json_t *)at(node, "status", "addresses"), i, address)
	{
		if (str_is(member(address, "type"), type))
			return member(address, "address");
	}
	return STR_EMPTY;
}

static void group_of_node(struct maker *m, const json_t *node)
{
	static const char *const types[] = { "InternalIP", "InternalDNS", "ExternalIP", "ExternalDNS", "LegacyHostIP", "Hostname" };
	struct str best = STR_EMPTY;
	for (size_t i = 0; i < ARRAY_LEN(types) && !best.len; i++)
		best = node_address(node, types[i]);
	if (!best.len)
		return;
	const json_t *port = json_object_get(at(node, "status", "daemonEndpoints"), "kubeletEndpoint");
	add_member(m, "node_name", json_object_get(node, "metadata"), "name");
	add_meta(m, "node_provider_id", text_of(at(node, "spec", "providerID")));
	add_object_meta(m, "node", node);
	m->group_labels = m->labels.count;
	size_t from = m->labels.count, i;
	json_t *address;
	add_address(m, address_join(m->arena, best, whole(m, json_object_get(port, "Port"))));
	add(m, STR("instance"), text_of(at(node, "metadata", "name")));
	json_array_foreach((json_t *)at(node, "status", "addresses"), i, address)
	{
		struct str type = member(address, "type");
		add(m, sanitize(m->arena, "node", "_address_", type), node_address(node, arena_cstr(m->arena, type)));
	}
	target_end(m, from);
}

/* A pod behind the endpoints being made, and the ports that they cover. */
struct covered {
	const json_t *pod;
	VEC(json_int_t) ports;
};
typedef VEC(struct covered) covered_list;

static void cover(covered_list *list, const json_t *pod, const json_t *port)
{
	struct covered *c = NULL;
	VEC_EACH (list, known)
		if (known->pod == pod)
			c = known;
	if (!c) {
		VEC_PUSH(list, (struct covered){ .pod = pod });
		c = &list->items[list->count - 1];
	}
	if (json_is_integer(port))
		VEC_PUSH(&c->ports, json_integer_value(port));
}

static bool is_covered(const struct covered *c, json_int_t port)
{
	for (size_t i = 0; i < c->ports.count; i++)
		if (c->ports.items[i] == port)
			return true;
	return false;
}

static const json_t *pod_of(struct maker *m, const json_t *reference)
{
	if (!str_is(member(reference, "kind"), "Pod"))
		return NULL;
	return find(&m->pods, m->arena, member(reference, "namespace"), member(reference, "name"));
}

/* The pod behind an endpoint, and the container whose port it is. */
static void add_backing_pod(struct maker *m, const json_t *reference, const json_t *number, covered_list *seen)
{
	const json_t *pod = pod_of(m, reference);
	size_t i, k;
	json_t *container, *port;
	if (!pod)
		return;
	add_pod(m, pod);
	cover(seen, pod, number);
	json_array_foreach((json_t *)at(pod, "spec", "containers"), i, container)
	{
		json_array_foreach(json_object_get(container, "ports"), k, port)
		{
			if (!json_is_integer(number) ||
				json_integer_value(json_object_get(port, "containerPort")) != json_integer_value(number))
				continue;
			add_container(m, container);
			add_container_port(m, port);
			break;
		}
	}
}

/* Ports of the pods that no endpoint covers are targets too. */
static void uncovered_ports(struct maker *m, const struct covered *c)
{
	struct str ip = text_of(at(c->pod, "status", "podIP"));
	size_t i, k;
	json_t *container, *port;
	if (!ip.len)
		return;
	json_array_foreach((json_t *)at(c->pod, "spec", "containers"), i, container)
	{
		json_array_foreach(json_object_get(container, "ports"), k, port)
		{
			const json_t *number = json_object_get(port, "containerPort");
			size_t from = m->labels.count;
			if (is_covered(c, json_integer_value(number)))
				continue;
			add_address(m, address_join(m->arena, ip, whole(m, number)));
			add_container(m, container);
			add_container_port(m, port);
			add_pod(m, c->pod);
			target_end(m, from);
		}
	}
}

static void uncovered(struct maker *m, covered_list *seen)
{
	VEC_EACH (seen, c) {
		uncovered_ports(m, c);
		VEC_FREE(&c->ports);
	}
	VEC_FREE(seen);
}

static void endpoint(struct maker *m, const json_t *address, const json_t *port, bool ready, covered_list *seen)
{
	const json_t *reference = json_object_get(address, "targetRef"), *number = json_object_get(port, "port");
	size_t from = m->labels.count;
	add_address(m, address_join(m->arena, member(address, "ip"), whole(m, number)));
	add_member(m, "endpoint_port_name", port, "name");
	add_member(m, "endpoint_port_protocol", port, "protocol");
	add_meta(m, "endpoint_ready", ready ? STR("true") : STR("false"));
	add_member(m, "endpoint_address_target_kind", reference, "kind");
	add_member(m, "endpoint_address_target_name", reference, "name");
	add_member(m, "endpoint_node_name", address, "nodeName");
	add_member(m, "endpoint_hostname", address, "hostname");
	bool is_node = str_is(member(reference, "kind"), "Node");
	add_node_labels(m, is_node ? member(reference, "name") : member(address, "nodeName"));
	add_backing_pod(m, reference, number, seen);
	target_end(m, from);
}

static void group_service(struct maker *m, struct str space, struct str name)
{
	const json_t *service = name.len ? find(&m->services, m->arena, space, name) : NULL;
	if (service)
		add_service(m, service);
}

static void group_of_endpoints(struct maker *m, const json_t *object)
{
	const json_t *meta = json_object_get(object, "metadata");
	covered_list seen = { 0 };
	size_t i, p, a;
	json_t *subset, *port, *address;
	add_member(m, "namespace", meta, "namespace");
	add_member(m, "endpoints_name", meta, "name");
	group_service(m, member(meta, "namespace"), member(meta, "name"));
	add_object_meta(m, "endpoints", object);
	m->group_labels = m->labels.count;
	json_array_foreach(json_object_get(object, "subsets"), i, subset)
	{
		json_array_foreach(json_object_get(subset, "ports"), p, port)
		{
			json_array_foreach(json_object_get(subset, "addresses"), a, address) endpoint(m, address, port, true, &seen);
			json_array_foreach(json_object_get(subset, "notReadyAddresses"), a, address)
				endpoint(m, address, port, false, &seen);
		}
	}
	uncovered(m, &seen);
}

static void slice_endpoint(struct maker *m, struct str address, const json_t *e, const json_t *port, covered_list *seen)
{
	const json_t *number = json_object_get(port, "port"), *reference = json_object_get(e, "targetRef");
	const json_t *conditions = json_object_get(e, "conditions");
	size_t from = m->labels.count;
	add_address(m, json_is_integer(number) ? address_join(m->arena, address, whole(m, number)) : address);
	add_member(m, "endpointslice_port_name", port, "name");
	add_member(m, "endpointslice_port_protocol", port, "protocol");
	add_member(m, "endpointslice_port", port, "port");
	add_member(m, "endpointslice_port_app_protocol", port, "appProtocol");
	add_member(m, "endpointslice_endpoint_conditions_ready", conditions, "ready");
	add_member(m, "endpointslice_endpoint_conditions_serving", conditions, "serving");
	add_member(m, "endpointslice_endpoint_conditions_terminating", conditions, "terminating");
	add_member(m, "endpointslice_endpoint_hostname", e, "hostname");
	add_member(m, "endpointslice_endpoint_node_name", e, "nodeName");
	add_member(m, "endpointslice_endpoint_zone", e, "zone");
	add_member(m, "endpointslice_address_target_kind", reference, "kind");
	add_member(m, "endpointslice_address_target_name", reference, "name");
	add_map(m, "endpointslice_endpoint", "_topology_", "_topology_present_", json_object_get(e, "deprecatedTopology"));
	bool is_node = str_is(member(reference, "kind"), "Node");
	add_node_labels(m, is_node ? member(reference, "name") : member(e, "nodeName"));
	add_backing_pod(m, reference, number, seen);
	target_end(m, from);
}

static void group_of_slice(struct maker *m, const json_t *slice)
{
	const json_t *meta = json_object_get(slice, "metadata");
	covered_list seen = { 0 };
	size_t i, p, a;
	json_t *e, *port, *address;
	add_member(m, "namespace", meta, "namespace");
	add_member(m, "endpointslice_name", meta, "name");
	add_member(m, "endpointslice_address_type", slice, "addressType");
	add_object_meta(m, "endpointslice", slice);
	group_service(m, member(meta, "namespace"), text_of(at(meta, "labels", "kubernetes.io/service-name")));
	m->group_labels = m->labels.count;
	json_array_foreach(json_object_get(slice, "endpoints"), i, e)
	{
		json_array_foreach(json_object_get(slice, "ports"), p, port)
		{
			json_array_foreach(json_object_get(e, "addresses"), a, address) slice_endpoint(m, text_of(address), e, port, &seen);
		}
	}
	uncovered(m, &seen);
}

/* "*.example.com" is for every host with one name in the place of the star. */
static bool host_matches(struct str pattern, struct str host)
{
	ptrdiff_t dot = str_find(host, '.');
	if (str_eq(pattern, host))
		return true;
	return dot >= 0 && str_starts(pattern, STR("*.")) && str_eq(str_skip(pattern, 1), str_skip(host, (size_t)dot));
}

static bool has_tls(const json_t *spec, struct str host)
{
	size_t i, k;
	json_t *tls, *pattern;
	json_array_foreach(json_object_get(spec, "tls"), i, tls)
	{
		json_array_foreach(json_object_get(tls, "hosts"), k, pattern)
		{
			if (host_matches(text_of(pattern), host))
				return true;
		}
	}
	return false;
}

static void ingress_path(struct maker *m, struct str host, const char *scheme, struct str path)
{
	size_t from = m->labels.count;
	add_address(m, host);
	add_meta(m, "ingress_scheme", str_from(scheme));
	add_meta(m, "ingress_host", host);
	add_meta(m, "ingress_path", path.len ? path : STR("/"));
	target_end(m, from);
}

static void group_of_ingress(struct maker *m, const json_t *ingress)
{
	const json_t *meta = json_object_get(ingress, "metadata"), *spec = json_object_get(ingress, "spec");
	size_t i, k;
	json_t *rule, *path;
	add_member(m, "namespace", meta, "namespace");
	add_member(m, "ingress_name", meta, "name");
	add_member(m, "ingress_class_name", spec, "ingressClassName");
	add_object_meta(m, "ingress", ingress);
	m->group_labels = m->labels.count;
	json_array_foreach(json_object_get(spec, "rules"), i, rule)
	{
		const json_t *paths = at(rule, "http", "paths");
		struct str host = member(rule, "host");
		const char *scheme = has_tls(spec, host) ? "https" : "http";
		if (!json_array_size(paths))
			ingress_path(m, host, scheme, STR_EMPTY);
		json_array_foreach((json_t *)paths, k, path) ingress_path(m, host, scheme, member(path, "path"));
	}
}

static void group_end(struct maker *m, struct groups *g)
{
	struct target_group *group = &g->items[g->count];
	struct label *labels = ARENA_ARRAY(m->arena, struct label, m->group_labels + 1);
	struct group_target *targets = ARENA_ARRAY(m->arena, struct group_target, m->targets.count + 1);
	if (m->group_labels)
		memcpy(labels, m->labels.items, m->group_labels * sizeof *labels);
	if (m->targets.count)
		memcpy(targets, m->targets.items, m->targets.count * sizeof *targets);
	*group = (struct target_group){ labels, m->group_labels, targets, m->targets.count };
	g->count += m->targets.count > 0;
	m->labels.count = m->targets.count = m->group_labels = 0;
}

void kubernetes_groups(
	struct groups *g, const struct kubernetes_lists *lists, enum kubernetes_role role, bool attach_node, struct arena *arena)
{
	static void (*const makers[KUBERNETES_ROLES])(struct maker *, const json_t *) = { [KUBERNETES_NODE] = group_of_node,
		[KUBERNETES_POD] = group_of_pod,
		[KUBERNETES_SERVICE] = group_of_service,
		[KUBERNETES_ENDPOINTS] = group_of_endpoints,
		[KUBERNETES_ENDPOINT_SLICE] = group_of_slice,
		[KUBERNETES_INGRESS] = group_of_ingress };
	struct maker m = { .arena = arena, .attach_node = attach_node };
	size_t i;
	json_t *object;
	index_objects(&m.pods, lists->items[KUBERNETES_POD], arena);
	index_objects(&m.services, lists->items[KUBERNETES_SERVICE], arena);
	index_objects(&m.nodes, lists->items[KUBERNETES_NODE], arena);
	*g = (struct groups){ ARENA_ARRAY(arena, struct target_group, json_array_size(lists->items[role]) + 1), 0 };
	json_array_foreach(lists->items[role], i, object)
	{
		makers[role](&m, object);
		group_end(&m, g);
	}
	map_fini(&m.pods);
	map_fini(&m.services);
	map_fini(&m.nodes);
	VEC_FREE(&m.labels);
	VEC_FREE(&m.targets);
}
