#include "scrape/redact.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"

enum kind { KEEP, MODEL, MODELS, HOST, USER, PATH, ROUTE, ID, KINDS };

/* MODELS: a list with commas. ROUTE: an HTTP path of the API stays, another path does not. */
static const struct {
	const char *label;
	enum kind kind;
} rules[] = {
	{ "model_name", MODEL },
	{ "model", MODEL },
	{ "model_id", MODEL },
	{ "served_model_name", MODEL },
	{ "base_model", MODEL },
	{ "target_model_name", MODEL },
	{ "target_model", MODEL },
	{ "requested_model", MODEL },
	{ "litellm_model_name", MODEL },
	{ "lora_name", MODEL },
	{ "adapter", MODEL },
	{ "adapter_name", MODEL },
	{ "modelName", MODEL },
	{ "running_lora_adapters", MODELS },
	{ "waiting_lora_adapters", MODELS },
	{ "instance", HOST },
	{ "pod", HOST },
	{ "pod_name", HOST },
	{ "pod_ip", HOST },
	{ "node", HOST },
	{ "node_name", HOST },
	{ "nodename", HOST },
	{ "host", HOST },
	{ "hostname", HOST },
	{ "Hostname", HOST },
	{ "server", HOST },
	{ "server_name", HOST },
	{ "backend", HOST },
	{ "address", HOST },
	{ "ip", HOST },
	{ "peer", HOST },
	{ "remote", HOST },
	{ "namespace", HOST },
	{ "container", HOST },
	{ "cluster", HOST },
	{ "kubernetes_pod_name", HOST },
	{ "kubernetes_namespace", HOST },
	{ "kubernetes_node", HOST },
	{ "deployment", HOST },
	{ "domainname", HOST },
	{ "user", USER },
	{ "username", USER },
	{ "user_name", USER },
	{ "user_id", USER },
	{ "end_user", USER },
	{ "email", USER },
	{ "user_email", USER },
	{ "tenant", USER },
	{ "tenant_id", USER },
	{ "org", USER },
	{ "org_id", USER },
	{ "organization", USER },
	{ "team", USER },
	{ "team_alias", USER },
	{ "customer", USER },
	{ "api_key", USER },
	{ "api_key_alias", USER },
	{ "hashed_api_key", USER },
	{ "key_alias", USER },
	{ "model_path", PATH },
	{ "lora_path", PATH },
	{ "dir", PATH },
	{ "file", PATH },
	{ "filename", PATH },
	{ "mountpoint", PATH },
	{ "tokenizer", PATH },
	{ "path", ROUTE },
	{ "handler", ROUTE },
	{ "route", ROUTE },
	{ "http_route", ROUTE },
	{ "endpoint", ROUTE },
	{ "uri", ROUTE },
	{ "uuid", ID },
	{ "UUID", ID },
	{ "serial", ID },
	{ "trace_id", ID },
	{ "span_id", ID },
	{ "request_id", ID },
	{ "session_id", ID },
	{ "WorkerId", ID },
	{ "ReplicaId", ID },
	{ "NodeAddress", HOST },
	{ "device_uuid", ID },
};

static const struct {
	const char *prefix, *people;
} kinds[KINDS] = {
	[MODEL] = { "model", "model names" },
	[HOST] = { "host", "hosts, pods and places" },
	[USER] = { "user", "users and keys" },
	[PATH] = { "path", "paths and addresses" },
	[ID] = { "id", "identifiers" },
};

struct redactor {
	struct arena arena;
	struct map pseudonyms; /* value → '\0'-terminated pseudonym; one for a value, whatever its label */
	struct map kept;       /* labels whose values stay */
	size_t counts[KINDS];
};

struct redactor *redactor_new(void)
{
	struct redactor *r = NEW(struct redactor);
	arena_init(&r->arena);
	map_init(&r->pseudonyms);
	map_init(&r->kept);
	return r;
}

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	map_fini(&r->pseudonyms);
	map_fini(&r->kept);
	arena_fini(&r->arena);
	mem_free(r);
}

static void pseudonym_add(struct redactor *r, enum kind kind, struct str value, struct buf *out)
{
	struct map_entry *entry = map_put(&r->pseudonyms, value, NULL);
	if (!entry->value)
		entry->value = (void *)arena_printf(&r->arena, "%s-%zu", kinds[kind].prefix, ++r->counts[kind]).ptr;
	buf_add_cstr(out, entry->value);
}

static bool is_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	return s.len > 0;
}

static bool is_loopback(struct str host)
{
	return str_is(host, "localhost") || str_starts(host, STR("127.")) || str_is(host, "[::1]") || str_is(host, "::1") ||
	       str_is(host, "0.0.0.0");
}

/* host or host:port, with the port kept. */
static void host_add(struct redactor *r, struct str value, struct buf *out)
{
	size_t colon = value.len;
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] == ':')
			colon = i;
	struct str host = value, port = STR_EMPTY;
	if (colon < value.len && is_digits(str_skip(value, colon + 1))) {
		host = str_head(value, colon);
		port = str_skip(value, colon);
	}
	if (is_loopback(host))
		buf_add(out, host);
	else
		pseudonym_add(r, HOST, host, out);
	buf_add(out, port);
}

static bool is_ipv4(struct str s)
{
	struct str part;
	int parts = 0;
	ptrdiff_t colon = str_find(s, ':');
	if (colon >= 0)
		s = str_head(s, (size_t)colon);
	while (str_split(&s, '.', &part)) {
		if (!is_digits(part) || part.len > 3)
			return false;
		parts++;
	}
	return parts == 4;
}

static bool is_route(struct str value)
{
	static const char *const starts[] = { "/v1", "/v2", "/metrics", "/health", "/ping", "/generate", "/tokenize", "/detokenize",
		"/version", "/load", "/invocations", "/score", "/rerank", "/pooling", "/embeddings", "/docs", "/openapi.json" };
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		struct str rest = str_skip(value, strlen(starts[i]));
		if (str_starts(value, str_from(starts[i])) && (rest.len == 0 || rest.ptr[0] == '/'))
			return true;
	}
	return value.len == 0 || value.ptr[0] != '/' || value.len == 1;
}

/* What a value is when its label says nothing. */
static enum kind kind_by_value(struct str value)
{
	if (is_ipv4(value))
		return HOST;
	if (str_search(value, STR("://")) >= 0 || (value.len > 1 && (value.ptr[0] == '/' || str_starts(value, STR("~/")))))
		return PATH;
	if (str_find(value, '@') > 0)
		return USER;
	return KEEP;
}

static enum kind kind_of(struct str label, struct str value)
{
	while (str_starts(label, STR("exported_")))
		label = str_skip(label, 9);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (!str_is(label, rules[i].label))
			continue;
		if (rules[i].kind == ROUTE)
			return is_route(value) ? KEEP : PATH;
		return rules[i].kind;
	}
	return kind_by_value(value);
}

static void models_add(struct redactor *r, struct str list, struct buf *out)
{
	struct str part;
	for (bool first = true; str_split(&list, ',', &part); first = false) {
		if (!first)
			buf_add_c(out, ',');
		if (part.len)
			pseudonym_add(r, MODEL, part, out);
	}
}

static void value_add(struct redactor *r, struct str label, struct str value, struct buf *out)
{
	enum kind kind = value.len ? kind_of(label, value) : KEEP;
	if (kind == KEEP)
		map_put(&r->kept, label, NULL);
	switch (kind) {
	case KEEP: buf_add(out, value); break;
	case HOST: host_add(r, value, out); break;
	case MODELS: models_add(r, value, out); break;
	default: pseudonym_add(r, kind, value, out);
	}
}

static size_t blanks(struct str s)
{
	size_t i = 0;
	while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t'))
		i++;
	return i;
}

static void copy(struct str *s, size_t len, struct buf *out)
{
	buf_add(out, str_head(*s, len));
	*s = str_skip(*s, len);
}

/* Takes a quoted string's inside, escapes and all. */
static bool quoted_take(struct str *s, struct str *inside)
{
	size_t i = 1;
	if (s->len == 0 || s->ptr[0] != '"')
		return false;
	while (i < s->len && s->ptr[i] != '"')
		i += s->ptr[i] == '\\' ? 2 : 1;
	if (i >= s->len)
		return false;
	*inside = str_of(s->ptr + 1, i - 1);
	*s = str_skip(*s, i + 1);
	return true;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/* One of: label="value", "label"="value", "metric name". */
static bool pair_copy(struct redactor *r, struct str *s, struct buf *out)
{
	struct str label, value;
	bool quoted = s->ptr[0] == '"';
	if (quoted && !quoted_take(s, &label))
		return false;
	if (!quoted) {
		size_t i = 0;
		while (i < s->len && is_name_byte(s->ptr[i]))
			i++;
		label = str_head(*s, i);
		*s = str_skip(*s, i);
		if (label.len == 0)
			return false;
	}
	buf_add_cstr(out, quoted ? "\"" : "");
	buf_add(out, label);
	buf_add_cstr(out, quoted ? "\"" : "");
	copy(s, blanks(*s), out);
	if (s->len == 0 || s->ptr[0] != '=')
		return quoted; /* a metric name */
	copy(s, 1, out);
	copy(s, blanks(*s), out);
	if (!quoted_take(s, &value))
		return false;
	buf_add_c(out, '"');
	value_add(r, label, value, out);
	buf_add_c(out, '"');
	return true;
}

/* From behind "{" to behind "}". */
static bool pairs_copy(struct redactor *r, struct str *s, struct buf *out)
{
	for (;;) {
		copy(s, blanks(*s), out);
		if (s->len == 0)
			return false;
		if (s->ptr[0] == '}' || s->ptr[0] == ',') {
			bool end = s->ptr[0] == '}';
			copy(s, 1, out);
			if (end)
				return true;
		} else if (!pair_copy(r, s, out)) {
			return false;
		}
	}
}

/* Behind the labels: only numbers, and in OpenMetrics an exemplar. */
static bool numbers_copy(struct redactor *r, struct str s, struct buf *out)
{
	while (copy(&s, blanks(s), out), s.len > 0) {
		size_t i = 0;
		double number;
		while (i < s.len && s.ptr[i] != ' ' && s.ptr[i] != '\t')
			i++;
		if (number_parse(str_head(s, i), &number)) {
			copy(&s, i, out);
		} else if (s.ptr[0] == '#' && i == 1) {
			copy(&s, 1, out);
			copy(&s, blanks(s), out);
			if (s.len == 0 || s.ptr[0] != '{')
				return false;
			copy(&s, 1, out);
			if (!pairs_copy(r, &s, out))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

/* Up to the end of the line; only a quoted value may hold a line break. */
static struct str line_take(struct str *s)
{
	ptrdiff_t end = str_find(*s, '\n');
	struct str line = end < 0 ? *s : str_head(*s, (size_t)end);
	*s = str_skip(*s, line.len);
	return line;
}

static bool sample_copy(struct redactor *r, struct str *s, struct buf *out)
{
	size_t name = 0;
	copy(s, blanks(*s), out);
	while (name < s->len && is_name_byte(s->ptr[name]))
		name++;
	copy(s, name, out);
	copy(s, blanks(*s), out);
	if (s->len > 0 && s->ptr[0] == '{') {
		copy(s, 1, out);
		if (!pairs_copy(r, s, out))
			return false;
	} else if (name == 0) {
		return false;
	}
	struct str numbers = line_take(s);
	return str_trim(numbers).len > 0 && numbers_copy(r, numbers, out);
}

/* Metadata stays, other remarks do not. A quoted metric name may hold a line break too. */
static void comment_copy(struct str *s, struct buf *out)
{
	struct str rest = str_skip(*s, 1), word, name;
	rest = str_skip(rest, blanks(rest));
	word = str_head(rest, 4);
	if ((str_is(word, "HELP") || str_is(word, "TYPE") || str_is(word, "UNIT")) && blanks(str_skip(rest, 4)) > 0) {
		rest = str_skip(rest, 4);
		rest = str_skip(rest, blanks(rest));
		if (rest.len == 0 || rest.ptr[0] != '"' || quoted_take(&rest, &name)) {
			line_take(&rest);
			copy(s, s->len - rest.len, out);
			return;
		}
	}
	buf_add_cstr(out, str_is(line_take(s), "# EOF") ? "# EOF" : "#");
}

void redactor_page(struct redactor *r, struct str page, struct buf *out)
{
	struct str rest = page;
	while (rest.len > 0) {
		size_t start = out->len, lead = blanks(rest);
		struct str behind = rest, line = line_take(&behind);
		if (lead == line.len) {
			buf_add(out, line);
		} else if (rest.ptr[lead] == '#') {
			behind = rest;
			copy(&behind, lead, out);
			comment_copy(&behind, out);
		} else {
			struct str sample = rest;
			if (sample_copy(r, &sample, out)) {
				behind = sample;
			} else if (!out->overflowed) {
				out->len = start;
				buf_add_cstr(out, "redacted malformed line");
			}
		}
		rest = behind;
		copy(&rest, rest.len > 0, out); /* the line break */
	}
}

void redactor_target(struct redactor *r, struct str name, struct buf *out)
{
	ptrdiff_t slash = str_find(name, '/');
	host_add(r, slash > 0 ? str_head(name, (size_t)slash) : name, out);
	if (slash <= 0)
		return;
	struct str path = str_skip(name, (size_t)slash);
	if (is_route(path)) {
		buf_add(out, path);
	} else { /* targets that differ by their paths alone stay apart */
		buf_add_c(out, '/');
		pseudonym_add(r, PATH, path, out);
	}
}

void redactor_summary(const struct redactor *r, struct buf *out)
{
	const char *before = "replaced: ";
	for (int kind = 0; kind < KINDS; kind++) {
		if (!kinds[kind].people || r->counts[kind] == 0)
			continue;
		buf_printf(out, "%s%zu %s", before, r->counts[kind], kinds[kind].people);
		before = ", ";
	}
	if (out->len == 0)
		buf_add_cstr(out, "replaced: nothing");
	before = "; labels left as they are: ";
	MAP_EACH (&r->kept, entry) {
		buf_printf(out, "%s" STR_FMT, before, STR_ARG(entry->key));
		before = ", ";
	}
}
