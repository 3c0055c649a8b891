/* Reading *_sd_configs. */
#include "base/number.h"
#include "scrape/job.h"

/* The same text for the same entry, whatever its layout. */
static void print_node(const struct yaml *node, struct buf *out)
{
	buf_add_json(out, node->key);
	buf_add_c(out, ':');
	if (node->kind == YAML_SCALAR)
		buf_add_json(out, node->text);
	buf_add_c(out, '(');
	YAML_EACH (node, child)
		print_node(child, out);
	buf_add_c(out, ')');
}

static void identify(struct sd *sd, const struct yaml *map, struct arena *arena)
{
	struct buf text;
	buf_init(&text, SIZE_MAX);
	print_node(map, &text);
	sd->identity = arena_printf(arena, "%d" STR_FMT, sd->kind, STR_ARG(buf_str(&text)));
	buf_fini(&text);
}

static bool read_names(struct sd *sd, const struct yaml *list, const char *what, struct str folder, struct arena *arena, struct error *e)
{
	if (!list || list->kind != YAML_LIST)
		return list && !yaml_is_null(list) ? yaml_error(list, e, "expected a list of %s", what) : true;
	struct str *names = ARENA_ARRAY(arena, struct str, list->count + 1);
	YAML_EACH (list, name) {
		if (name->kind != YAML_SCALAR || !name->text.len)
			return yaml_error(name, e, "expected a list of %s", what);
		names[sd->name_count++] = access_path(arena, folder, name->text);
	}
	sd->names = names;
	return true;
}

static bool file_name_fits(struct str name)
{
	return str_ends(name, STR(".json")) || str_ends(name, STR(".yml")) || str_ends(name, STR(".yaml"));
}

static bool read_file(struct sd *sd, const struct yaml *map, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "files", "refresh_interval", NULL };
	sd->refresh_ms = 300000;
	if (!yaml_only(map, keys, e) || !read_names(sd, yaml_get(map, "files"), "file names", d->folder, arena, e) ||
		!job_read_duration(map, "refresh_interval", &sd->refresh_ms, e))
		return false;
	if (!sd->name_count)
		return yaml_error(map, e, "file_sd_configs: no files");
	YAML_EACH (yaml_get(map, "files"), name)
		if (!file_name_fits(name->text)) {
			yaml_error(
				name, e, "\"" STR_FMT "\" ends neither in .json nor in .yml or .yaml", STR_ARG(str_head(name->text, 100)));
			error_hint(e, "the last part of the path may have * and ?, the ending may not");
			return false;
		}
	return true;
}

static bool read_http(struct sd *sd, const struct yaml *map, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "url", "refresh_interval", ACCESS_KEYS, NULL };
	sd->refresh_ms = 60000;
	if (!yaml_only(map, keys, e) || !yaml_get_str(map, "url", &sd->url, e) ||
		!job_read_duration(map, "refresh_interval", &sd->refresh_ms, e))
		return false;
	if (!str_starts(sd->url, STR("http://")) && !str_starts(sd->url, STR("https://")))
		return yaml_error(
			yaml_get(map, "url") ? yaml_get(map, "url") : map, e, "http_sd_configs: url must begin with http:// or https://");
	sd->url = arena_str(arena, sd->url);
	return access_read(&sd->access, map, d->folder, arena, e);
}

static bool read_dns(struct sd *sd, const struct yaml *map, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "names", "type", "port", "refresh_interval", NULL };
	struct str type = STR("SRV");
	double port = 0;
	sd->refresh_ms = 30000;
	if (!yaml_only(map, keys, e) || !read_names(sd, yaml_get(map, "names"), "names", STR_EMPTY, arena, e) ||
		!yaml_get_str(map, "type", &type, e) || !yaml_get_double(map, "port", &port, e) ||
		!job_read_duration(map, "refresh_interval", &sd->refresh_ms, e))
		return false;
	if (!sd->name_count)
		return yaml_error(map, e, "dns_sd_configs: no names");
	bool is_srv = str_eq_nocase(type, STR("SRV")), is_a = str_eq_nocase(type, STR("A")), is_aaaa = str_eq_nocase(type, STR("AAAA"));
	if (!is_srv && !is_a && !is_aaaa) {
		sd->access.unserved = arena_printf(arena, "dns_sd_configs of type " STR_FMT, STR_ARG(str_head(type, 20)));
		return true;
	}
	sd->dns = is_srv ? DNS_SRV : is_a ? DNS_A : DNS_AAAA;
	if (!is_srv && !(port >= 1 && port <= 65535))
		return yaml_error(yaml_get(map, "port") ? yaml_get(map, "port") : map, e, "dns_sd_configs: type " STR_FMT " needs a port",
			STR_ARG(type));
	sd->port = (int)port;
	return true;
}

static const char *const role_names[KUBERNETES_ROLES] = { "node", "pod", "service", "endpoints", "endpointslice", "ingress" };

static int role_find(struct str name)
{
	int role = KUBERNETES_ROLES - 1;
	while (role >= 0 && !str_eq_nocase(name, str_from(role_names[role])))
		role--;
	return role;
}

static bool read_selectors(struct sd *sd, const struct yaml *list, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "role", "label", "field", NULL };
	if (list && !yaml_is_null(list) && list->kind != YAML_LIST)
		return yaml_error(list, e, "selectors: expected a list");
	YAML_EACH (list, map) {
		struct str role = STR_EMPTY, label = STR_EMPTY, field = STR_EMPTY;
		if (map->kind != YAML_MAP)
			return yaml_error(map, e, "a selector is a map with role, label, field");
		if (!yaml_only(map, keys, e) || !yaml_get_str(map, "role", &role, e) || !yaml_get_str(map, "label", &label, e) ||
			!yaml_get_str(map, "field", &field, e))
			return false;
		int which = role_find(role);
		if (which < 0)
			return yaml_error(map, e, "selectors: unknown role \"" STR_FMT "\"", STR_ARG(str_head(role, 60)));
		sd->label_selector[which] = arena_str(arena, label);
		sd->field_selector[which] = arena_str(arena, field);
	}
	return true;
}

static bool read_namespaces(struct sd *sd, const struct yaml *map, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "own_namespace", "names", NULL };
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "namespaces: expected names: [...]");
	return yaml_only(map, keys, e) && yaml_get_bool(map, "own_namespace", &sd->own_namespace, e) &&
	       read_names(sd, yaml_get(map, "names"), "names", STR_EMPTY, arena, e);
}

static bool read_attach(struct sd *sd, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "node", "namespace", NULL };
	bool namespaces = false;
	if (!map || yaml_is_null(map))
		return true;
	if (!yaml_only(map, keys, e) || !yaml_get_bool(map, "node", &sd->attach_node, e) ||
		!yaml_get_bool(map, "namespace", &namespaces, e))
		return false;
	if (namespaces)
		sd->access.unserved = STR("attach_metadata: namespace");
	return true;
}

static bool read_kubernetes(struct sd *sd, const struct yaml *map, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	static const char *const keys[] = { "api_server", "role", "kubeconfig_file", "namespaces", "selectors", "attach_metadata",
		ACCESS_KEYS, NULL };
	struct str role = STR_EMPTY;
	sd->refresh_ms = 10000;
	if (!yaml_only(map, keys, e) || !yaml_get_str(map, "role", &role, e) || !yaml_get_str(map, "api_server", &sd->url, e) ||
		!access_read(&sd->access, map, d->folder, arena, e) || !read_namespaces(sd, yaml_get(map, "namespaces"), arena, e) ||
		!read_selectors(sd, yaml_get(map, "selectors"), arena, e) || !read_attach(sd, yaml_get(map, "attach_metadata"), e))
		return false;
	while (sd->url.len && sd->url.ptr[sd->url.len - 1] == '/')
		sd->url.len--;
	sd->url = arena_str(arena, sd->url);
	int which = role_find(role);
	if (yaml_get(map, "kubeconfig_file"))
		sd->access.unserved = STR("kubeconfig_file (write api_server, or run kubectl proxy and name its address)");
	else if (which < 0)
		return yaml_error(yaml_get(map, "role") ? yaml_get(map, "role") : map, e,
			"kubernetes_sd_configs: role must be node, pod, service, endpoints, endpointslice or ingress");
	sd->role = (enum kubernetes_role)which;
	return true;
}

typedef bool sd_reader(struct sd *, const struct yaml *, const struct job_defaults *, struct arena *, struct error *);
static const struct {
	const char *key;
	enum sd_kind kind;
	sd_reader *read;
} readers[] = {
	{ "file_sd_configs", SD_FILE, read_file },
	{ "http_sd_configs", SD_HTTP, read_http },
	{ "dns_sd_configs", SD_DNS, read_dns },
	{ "kubernetes_sd_configs", SD_KUBERNETES, read_kubernetes },
};

static void note_left_out(const struct job *job, const struct yaml *node, struct str what, const struct job_defaults *d)
{
	char text[400];
	snprintf(text, sizeof text,
		"job \"" STR_FMT "\": " STR_FMT
		" is not served here: its targets are left out (list them by file_sd_configs, or ask its Prometheus with "
		"--prometheus)",
		STR_ARG(str_head(job->name, 80)), STR_ARG(what));
	d->note(d->context, node, text);
}

static bool read_list(
	struct job *job, const struct yaml *list, size_t which, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	if (yaml_is_null(list))
		return true;
	if (list->kind != YAML_LIST)
		return yaml_error(list, e, STR_FMT ": expected a list", STR_ARG(list->key));
	YAML_EACH (list, map) {
		struct sd sd = { .kind = readers[which].kind };
		if (map->kind != YAML_MAP)
			return yaml_error(map, e, STR_FMT ": expected a map", STR_ARG(list->key));
		if (!readers[which].read(&sd, map, d, arena, e))
			return false;
		identify(&sd, map, arena);
		if (sd.access.unserved.len)
			note_left_out(job, map, sd.access.unserved, d);
		else
			job->sds[job->sd_count++] = sd;
	}
	return true;
}

static bool read_member(struct job *job, const struct yaml *member, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	if (str_is(member->key, "static_configs")) {
		struct sd *sd = &job->sds[job->sd_count++];
		*sd = (struct sd){ .kind = SD_STATIC };
		return groups_read_yaml(&sd->groups, member, arena, e);
	}
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		if (str_is(member->key, readers[i].key))
			return read_list(job, member, i, d, arena, e);
	note_left_out(job, member, member->key, d);
	return true;
}

bool sd_read_all(struct job *job, const struct yaml *map, const struct job_defaults *d, struct arena *arena, struct error *e)
{
	size_t most = 0;
	YAML_EACH (map, member)
		most += sd_is_key(member->key) ? member->count + 1 : 0;
	job->sds = ARENA_ARRAY(arena, struct sd, most + 1);
	YAML_EACH (map, member)
		if (sd_is_key(member->key) && !read_member(job, member, d, arena, e))
			return false;
	return true;
}
