#include "scrape/access.h"

#include "base/file.h"
#include "base/mem.h"

enum { SECRET_MAX = 1 << 20 };

struct str access_path(struct arena *arena, struct str folder, struct str path)
{
	if (!path.len || path.ptr[0] == '/' || !folder.len)
		return arena_str(arena, path);
	return arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(folder), STR_ARG(path));
}

static void unserved(struct access *a, const struct yaml *node, struct str what)
{
	if (a->unserved.len)
		return;
	a->unserved = what;
	a->unserved_node = node;
}

static bool read_basic(struct access *a, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "username", "username_file", "username_ref", "password", "password_file", "password_ref",
		NULL };
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "basic_auth: expected username and password");
	if (yaml_get(map, "username_ref") || yaml_get(map, "password_ref"))
		unserved(a, map, STR("secret references: write password_file"));
	return yaml_only(map, keys, e) && yaml_get_str(map, "username", &a->username, e) &&
	       yaml_get_str(map, "username_file", &a->username_file, e) && yaml_get_str(map, "password", &a->password, e) &&
	       yaml_get_str(map, "password_file", &a->password_file, e);
}

static bool read_authorization(struct access *a, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "type", "credentials", "credentials_file", "credentials_ref", NULL };
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "authorization: expected type and credentials");
	a->auth_type = STR("Bearer");
	if (yaml_get(map, "credentials_ref"))
		unserved(a, map, STR("secret references: write credentials_file"));
	if (!yaml_only(map, keys, e) || !yaml_get_str(map, "type", &a->auth_type, e) ||
		!yaml_get_str(map, "credentials", &a->credentials, e) || !yaml_get_str(map, "credentials_file", &a->credentials_file, e))
		return false;
	if (str_eq_nocase(str_trim(a->auth_type), STR("basic"))) {
		yaml_error(yaml_get(map, "type"), e, "authorization type cannot be \"basic\"");
		error_hint(e, "use basic_auth");
		return false;
	}
	if (a->credentials.len && a->credentials_file.len)
		return yaml_error(map, e, "at most one of credentials and credentials_file may be given");
	return true;
}

static bool read_tls(struct access *a, const struct yaml *map, struct error *e)
{
	static const char *const keys[] = { "ca", "cert", "key", "ca_ref", "cert_ref", "key_ref", "ca_file", "cert_file", "key_file",
		"server_name", "insecure_skip_verify", "min_version", "max_version", NULL };
	static const char *const no[] = { "ca", "cert", "key", "ca_ref", "cert_ref", "key_ref", "min_version", "max_version" };
	if (!map || yaml_is_null(map))
		return true;
	if (map->kind != YAML_MAP)
		return yaml_error(map, e, "tls_config: expected a map with ca_file, cert_file, key_file, insecure_skip_verify");
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (yaml_get(map, no[i]))
			unserved(a, yaml_get(map, no[i]),
				STR("certificates inside the file and TLS versions: write ca_file, cert_file, key_file"));
	return yaml_only(map, keys, e) && yaml_get_str(map, "ca_file", &a->ca_file, e) &&
	       yaml_get_str(map, "cert_file", &a->cert_file, e) && yaml_get_str(map, "key_file", &a->key_file, e) &&
	       yaml_get_str(map, "server_name", &a->server_name, e) && yaml_get_bool(map, "insecure_skip_verify", &a->insecure, e);
}

static bool read_bearer(struct access *a, const struct yaml *map, struct error *e)
{
	struct str token = STR_EMPTY, file = STR_EMPTY;
	if (!yaml_get_str(map, "bearer_token", &token, e) || !yaml_get_str(map, "bearer_token_file", &file, e))
		return false;
	if (!token.len && !file.len)
		return true;
	if (a->auth_type.len || (token.len && file.len))
		return yaml_error(yaml_get(map, token.len ? "bearer_token" : "bearer_token_file"), e,
			"at most one of authorization, bearer_token and bearer_token_file may be given");
	a->auth_type = STR("Bearer");
	a->credentials = token;
	a->credentials_file = file;
	return true;
}

static void keep(struct access *a, struct str folder, struct arena *arena)
{
	struct str *const texts[] = { &a->username, &a->password, &a->auth_type, &a->credentials, &a->server_name, &a->proxy_url,
		&a->unserved };
	struct str *const files[] = { &a->username_file, &a->password_file, &a->credentials_file, &a->ca_file, &a->cert_file,
		&a->key_file };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = arena_str(arena, *texts[i]);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (files[i]->len)
			*files[i] = access_path(arena, folder, *files[i]);
}

bool access_read(struct access *a, const struct yaml *map, struct str folder, struct arena *arena, struct error *e)
{
	static const char *const no[] = { "oauth2", "no_proxy", "proxy_connect_header", "http_headers" };
	bool follow = true;
	*a = (struct access){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (yaml_get(map, no[i]))
			unserved(a, yaml_get(map, no[i]), yaml_get(map, no[i])->key);
	if (!read_basic(a, yaml_get(map, "basic_auth"), e) || !read_authorization(a, yaml_get(map, "authorization"), e) ||
		!read_bearer(a, map, e) || !read_tls(a, yaml_get(map, "tls_config"), e) ||
		!yaml_get_str(map, "proxy_url", &a->proxy_url, e) || !yaml_get_bool(map, "follow_redirects", &follow, e))
		return false;
	if (a->auth_type.len && (a->username.len || a->username_file.len))
		return yaml_error(yaml_get(map, "basic_auth"), e, "at most one of basic_auth, authorization and bearer_token may be given");
	a->no_follow = !follow;
	keep(a, folder, arena);
	return true;
}

/* A secret as given or as its file says now, without the line end that editors leave. */
static bool secret(struct arena *arena, struct str text, struct str file, struct str *out, struct error *e)
{
	*out = text;
	if (!file.len)
		return true;
	if (!file_read(arena, file.ptr, SECRET_MAX, out, e))
		return false;
	*out = arena_str(arena, str_trim(*out));
	return true;
}

static struct str base64(struct arena *arena, struct str text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = arena_alloc(arena, (text.len + 2) / 3 * 4 + 1), *at = out;
	for (size_t i = 0; i < text.len; i += 3) {
		size_t have = text.len - i < 3 ? text.len - i : 3;
		uint32_t bits = 0;
		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < have ? (unsigned char)text.ptr[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			*at++ = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=';
	}
	*at = '\0';
	return str_of(out, (size_t)(at - out));
}

static bool authorization(const struct access *a, struct arena *arena, struct str *line, struct error *e)
{
	struct str user, word;
	*line = STR_EMPTY;
	if (a->username.len || a->username_file.len) {
		if (!secret(arena, a->username, a->username_file, &user, e) || !secret(arena, a->password, a->password_file, &word, e))
			return false;
		struct str pair = base64(arena, arena_printf(arena, STR_FMT ":" STR_FMT, STR_ARG(user), STR_ARG(word)));
		*line = arena_printf(arena, "Authorization: Basic " STR_FMT, STR_ARG(pair));
	} else if (a->auth_type.len) {
		if (!secret(arena, a->credentials, a->credentials_file, &word, e))
			return false;
		*line = arena_printf(arena, "Authorization: " STR_FMT " " STR_FMT, STR_ARG(a->auth_type), STR_ARG(word));
	}
	for (size_t i = 0; i < line->len; i++)
		if ((unsigned char)line->ptr[i] < ' ' || line->ptr[i] == 0x7f)
			return error_set(e, EXIT_BAD_INPUT, "the credentials hold a line break or another control character");
	return true;
}

bool access_request(const struct access *a, const char *const *headers, struct arena *arena, struct http_request *request, struct error *e)
{
	struct str line;
	size_t count = 0;
	if (!authorization(a, arena, &line, e))
		return false;
	while (headers && headers[count])
		count++;
	const char **all = ARENA_ARRAY(arena, const char *, count + 2);
	for (size_t i = 0; i < count; i++)
		all[i] = headers[i];
	all[count] = line.len ? line.ptr : NULL;
	request->headers = all;
	request->ca_file = a->ca_file.len ? a->ca_file.ptr : request->ca_file;
	request->cert_file = a->cert_file.len ? a->cert_file.ptr : NULL;
	request->key_file = a->key_file.len ? a->key_file.ptr : NULL;
	request->server_name = a->server_name.len ? a->server_name.ptr : NULL;
	request->proxy_url = a->proxy_url.len ? a->proxy_url.ptr : NULL;
	request->insecure |= a->insecure;
	request->follow = !a->no_follow;
	return true;
}
