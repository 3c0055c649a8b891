#include "serve/web_config.h"

#include "base/file.h"
#include "base/yaml.h"

#include <string.h>

enum { FILE_MAX = 1 << 20 };

/* Relative names are relative to the file's folder. */
static const char *path_of(struct arena *arena, const char *file, struct str name)
{
	const char *slash = strrchr(file, '/');

	if (!name.len)
		return NULL;
	if (name.ptr[0] == '/' || !slash)
		return arena_cstr(arena, name);
	return arena_printf(arena, "%.*s/" STR_FMT, (int)(slash - file), file, STR_ARG(name)).ptr;
}

/* What people write for what OpenSSL does by itself, or what weakens it. */
static bool refuse_rest(const struct yaml *root, const struct yaml *map, struct error *e)
{
	static const char *const known[] = { "tls_server_config", "http_server_config", "basic_auth_users", NULL };
	static const char *const keys[] = { "cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", NULL };

	if (!yaml_only(root, known, e))
		return false;
	if (yaml_get(root, "basic_auth_users")) {
		yaml_error(yaml_get(root, "basic_auth_users"), e, "users with hashed passwords are not supported");
		error_hint(e, "--web-token-file takes a token, which is also the password of any user");
		return false;
	}
	if (yaml_get(root, "http_server_config")) {
		yaml_error(yaml_get(root, "http_server_config"), e, "http_server_config is not supported");
		error_hint(e, "leave it out: HTTP/1.1 is what is spoken");
		return false;
	}
	if (!map || map->kind != YAML_MAP)
		return yaml_error(map ? map : root, e, "tls_server_config: expected a map with cert_file and key_file");
	return yaml_only(map, keys, e);
}

static bool read_versions(const struct yaml *map, struct tls_files *files, struct error *e)
{
	struct str version = STR("TLS12");

	if (!yaml_get_str(map, "min_version", &version, e))
		return false;
	if (!str_is(version, "TLS12") && !str_is(version, "TLS13"))
		return yaml_error(yaml_get(map, "min_version"), e, "min_version must be TLS12 or TLS13");
	files->least_minor = str_is(version, "TLS13") ? 3 : 2;
	return true;
}

static bool read_clients(const struct yaml *map, struct str ca, struct error *e)
{
	struct str type = ca.len ? STR("RequireAndVerifyClientCert") : STR("NoClientCert");

	if (!yaml_get_str(map, "client_auth_type", &type, e))
		return false;
	if (str_is(type, "NoClientCert") ? !ca.len : str_is(type, "RequireAndVerifyClientCert") && ca.len)
		return true;
	yaml_error(yaml_get(map, "client_auth_type") ? yaml_get(map, "client_auth_type") : map, e,
		"client_auth_type " STR_FMT " %s client_ca_file is not supported", STR_ARG(str_head(type, 40)),
		ca.len ? "with" : "without");
	error_hint(e, "NoClientCert without client_ca_file, or RequireAndVerifyClientCert with it");
	return false;
}

static bool read_file(const char *file, struct arena *arena, struct tls_files *files, struct error *e)
{
	struct str text, cert = { 0 }, key = { 0 }, ca = { 0 };

	if (!file_read(arena, file, FILE_MAX, &text, e))
		return false;
	struct yaml *root = yaml_parse(arena, str_from(file), text, e);
	const struct yaml *map = root ? yaml_get(root, "tls_server_config") : NULL;

	if (!root || !refuse_rest(root, map, e) || !yaml_get_str(map, "cert_file", &cert, e) || !yaml_get_str(map, "key_file", &key, e) ||
		!yaml_get_str(map, "client_ca_file", &ca, e) || !read_versions(map, files, e) || !read_clients(map, ca, e))
		return false;
	if (!cert.len || !key.len)
		return yaml_error(map, e, "tls_server_config: give both cert_file and key_file");
	files->cert = path_of(arena, file, cert);
	files->key = path_of(arena, file, key);
	files->client_ca = path_of(arena, file, ca);
	return true;
}

bool web_tls_read(const struct web_tls_options *o, struct tls_context **tls, bool *asks_clients, struct error *e)
{
	struct tls_files files = { .cert = o->cert, .key = o->key, .client_ca = o->client_ca };
	struct arena arena;

	*tls = NULL;
	*asks_clients = false;
	if (!o->file && !o->cert && !o->key && !o->client_ca)
		return true;
	if (o->file && (o->cert || o->key || o->client_ca))
		return error_set(e, EXIT_USAGE, "--web-config-file and --tls-... at once: give one of them");
	if (!o->file && !(o->cert && o->key)) {
		error_set(e, EXIT_USAGE, "TLS needs both --tls-cert and --tls-key");
		error_hint(e, "add %s FILE", o->cert ? "--tls-key" : "--tls-cert");
		return false;
	}
	arena_init(&arena);
	if (!o->file || read_file(o->file, &arena, &files, e)) {
		*tls = tls_context_new(&files, e);
		*asks_clients = files.client_ca != NULL;
	}
	arena_fini(&arena);
	return *tls != NULL;
}
