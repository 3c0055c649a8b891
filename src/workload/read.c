/* A workload file becomes a workload. Every error has the place of the value it is about. */
#include "workload/read.h"
#include "base/file.h"

/* ---- sections ---- */

static bool read_source(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "kind", "file", "remarks", NULL };
	const struct yaml *remarks;

	if (!read_map_of(node, known, e) || !yaml_get_str(node, "kind", &w->source.kind, e) ||
		!yaml_get_str(node, "file", &w->source.file, e))
		return false;
	w->source.kind = arena_str(&w->arena, w->source.kind);
	w->source.file = arena_str(&w->arena, w->source.file);
	remarks = yaml_get(node, "remarks");
	if (remarks && remarks->kind != YAML_LIST)
		return yaml_error(remarks, e, "\"remarks\" must be a list of texts");
	YAML_EACH (remarks, remark) {
		if (remark->kind != YAML_SCALAR)
			return yaml_error(remark, e, "a remark is a text");
		VEC_PUSH(&w->source.remarks, arena_str(&w->arena, remark->text));
	}
	return true;
}

static bool read_ramp(const struct yaml *node, struct workload_arrivals *a, struct error *e)
{
	static const char *const shapes[] = { "linear", "exponential", NULL };
	int shape = 0;

	if (!read_number(node, "ramp_from", 0, 1e6, &a->ramp_from, e) || !read_number(node, "ramp_seconds", 0, 1e7, &a->ramp_seconds, e) ||
		!read_choice(node, "ramp", shapes, &shape, e))
		return false;
	a->ramp_exponential = shape == 1;
	if (a->ramp_seconds == 0 && (yaml_get(node, "ramp_from") || yaml_get(node, "ramp")))
		return yaml_error(node, e, "a ramp needs \"ramp_seconds\": how long it takes");
	return true;
}

static bool read_arrivals(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "process", "rate", "burstiness", "speed", "concurrency", "ramp_from", "ramp_seconds", "ramp",
		NULL };
	struct workload_arrivals *a = &w->plan.arrivals;
	int process = WORKLOAD_POISSON;

	if (!read_map_of(node, known, e) || !read_choice(node, "process", workload_process_names, &process, e))
		return false;
	a->process = (enum workload_process)process;
	if (yaml_get(node, "burstiness") && process != WORKLOAD_GAMMA)
		return yaml_error(yaml_get(node, "burstiness"), e, "\"burstiness\" is of the process gamma");
	if (yaml_get(node, "speed") && process != WORKLOAD_TRACE)
		return yaml_error(yaml_get(node, "speed"), e, "\"speed\" is of the process trace");
	if (yaml_get(node, "rate") && (process == WORKLOAD_TRACE || process == WORKLOAD_CLOSED))
		return yaml_error(yaml_get(node, "rate"), e, "the process %s has no rate", workload_process_names[process]);
	return read_number(node, "rate", 0, 1e6, &a->rate, e) && read_number(node, "burstiness", 0.01, 1e6, &a->burstiness, e) &&
	       read_number(node, "speed", 1e-4, 1e6, &a->speed, e) && read_u32(node, "concurrency", 1, 1000000, &a->concurrency, e) &&
	       read_ramp(node, a, e);
}

static bool read_vocabulary(struct workload *w, const struct yaml *node, struct error *e)
{
	uint32_t first, last;

	if (!node)
		return true;
	if (node->kind != YAML_LIST || node->count != 2 || !read_tokens(node->first, &first) || !read_tokens(node->first->next, &last) ||
		last <= first)
		return yaml_error(node, e, "a vocabulary is [first, last]: the token ids to draw from");
	w->id_first = first;
	w->id_count = last - first + 1;
	return true;
}

static bool read_prompt(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "format", "template_tokens", "vocabulary", NULL };
	static const char *const formats[] = { "chat", "completion", "token_ids", NULL };
	int format = WORKLOAD_CHAT;

	if (!read_map_of(node, known, e) || !read_choice(node, "format", formats, &format, e))
		return false;
	w->format = (enum workload_format)format;
	if (w->format != WORKLOAD_CHAT && yaml_get(node, "template_tokens"))
		return yaml_error(yaml_get(node, "template_tokens"), e, "only chats have a template");
	return read_u32(node, "template_tokens", 0, 10000, &w->template_tokens, e) && read_vocabulary(w, yaml_get(node, "vocabulary"), e);
}

static bool read_rows(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "order", "block", "data", NULL };
	static const char *const orders[] = { "kept", "shuffled", NULL };
	const struct yaml *data = node->kind == YAML_MAP ? yaml_get(node, "data") : NULL;
	struct error inner = { 0 };
	size_t offset = 0;
	int order = 0;

	if (!read_map_of(node, known, e) || !read_choice(node, "order", orders, &order, e) ||
		!read_u32(node, "block", 1, WORKLOAD_TOKENS_MAX, &w->block, e))
		return false;
	w->shuffled = order == 1;
	if (!data || data->kind != YAML_SCALAR)
		return yaml_error(data ? data : node, e, "\"data\" must be a text (data: |) with a row in each line");
	if (!rows_parse(w, data->text, &offset, &inner))
		return yaml_error_in(data, offset, e, "%s", inner.message);
	return w->rows.count || yaml_error(data, e, "there are no rows");
}

static bool read_class(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "name", "share", "prompt", "output", NULL };
	struct workload_class c = { .share = 1 };

	if (node->kind != YAML_MAP)
		return yaml_error(node, e, "a class of the mix is a map: share, prompt, output");
	if (!yaml_only(node, known, e) || !yaml_get_str(node, "name", &c.name, e) || !read_number(node, "share", 0, 1e12, &c.share, e) ||
		!read_length(node, "prompt", &w->arena, &c.prompt, e) || !read_length(node, "output", &w->arena, &c.output, e))
		return false;
	c.name = arena_str(&w->arena, c.name);
	VEC_PUSH(&w->classes, c);
	return true;
}

static bool read_mix(struct workload *w, const struct yaml *node, struct error *e)
{
	if (node->kind != YAML_LIST || !node->count || node->count > WORKLOAD_CLASSES_MAX)
		return yaml_error(node, e, "\"mix\" must be a list of 1 to %d classes of requests", WORKLOAD_CLASSES_MAX);
	YAML_EACH (node, item) {
		if (!read_class(w, item, e))
			return false;
	}
	return true;
}

static bool read_prefix(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "groups", "tokens", "share", NULL };

	w->prefix.groups = 1;
	if (!read_map_of(node, known, e) || !read_u32(node, "groups", 1, 1000000000, &w->prefix.groups, e) ||
		!read_u32(node, "tokens", 1, WORKLOAD_TOKENS_MAX, &w->prefix.tokens, e) ||
		!read_number(node, "share", 0, 1, &w->prefix.share, e))
		return false;
	if (!yaml_get(node, "tokens") == !yaml_get(node, "share"))
		return yaml_error(
			node, e, "a shared beginning has \"tokens\" (of fixed length) or a \"share\" of each prompt: one of them");
	return true;
}

static bool read_sessions(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "turns", "pause", NULL };
	struct length *turns = &w->sessions.turns;

	if (!read_map_of(node, known, e) || !read_length(node, "turns", &w->arena, turns, e) ||
		!read_number(node, "pause", 0, 1e6, &w->sessions.pause, e))
		return false;
	if (turns->kind == LENGTH_BUCKETS)
		turns->most = turns->buckets[turns->bucket_count - 1].most;
	if (turns->kind == LENGTH_LOGNORMAL && !yaml_get(yaml_get(node, "turns"), "most"))
		turns->most = WORKLOAD_TURNS_MAX;
	return turns->most <= WORKLOAD_TURNS_MAX || yaml_error(yaml_get(node, "turns"), e, "at most %d turns", WORKLOAD_TURNS_MAX);
}

/* ---- the file ---- */

static bool read_version(const struct yaml *root, struct error *e)
{
	uint64_t version = 0;

	if (!yaml_get(root, "goodput_workload")) {
		yaml_error(root, e, "this is no workload: \"goodput_workload: 1\" is missing");
		error_hint(e, "goodput workload freeze TRACE makes one; docs/formats/workload.md has the format");
		return false;
	}
	if (!read_whole(root, "goodput_workload", 0, UINT32_MAX, &version, e))
		return false;
	return version == 1 || yaml_error(yaml_get(root, "goodput_workload"), e, "version %llu is not known; this program reads 1",
				       (unsigned long long)version);
}

static bool read_sections(struct workload *w, const struct yaml *root, struct error *e)
{
	static const struct {
		const char *key;
		bool (*read)(struct workload *w, const struct yaml *node, struct error *e);
	} sections[] = { { "source", read_source }, { "arrivals", read_arrivals }, { "prompt", read_prompt }, { "sampling", read_sampling },
		{ "rows", read_rows }, { "mix", read_mix }, { "prefix", read_prefix }, { "sessions", read_sessions } };

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct yaml *node = yaml_get(root, sections[i].key);

		if (node && !yaml_is_null(node) && !sections[i].read(w, node, e))
			return false;
	}
	return true;
}

/* What concerns several values: at the one that is most likely wrong. */
static bool finish(struct workload *w, const struct yaml *root, struct error *e)
{
	const struct yaml *at = yaml_get(root, "arrivals");
	struct error inner = { 0 };

	if (content_finish(w, &inner))
		return true;
	if (!w->starts.count && !w->class_weight)
		at = yaml_get(root, "rows") ? yaml_get(root, "rows") : yaml_get(root, "mix");
	yaml_error(at ? at : root, e, "%s", inner.message);
	if (*inner.hint)
		error_hint(e, "%s", inner.hint);
	return false;
}

static bool check_hash(const struct workload *w, const struct yaml *root, struct error *e)
{
	const struct yaml *node = yaml_get(root, "hash");
	struct str hash = STR_EMPTY;

	if (!yaml_get_str(root, "hash", &hash, e))
		return false;
	if (!hash.ptr || str_is(hash, w->hash))
		return true;
	yaml_error(node, e, "the hash does not match: the file was changed or cut after it was frozen (what is in it has %.12s)", w->hash);
	error_hint(e, "if the change is meant: goodput workload freeze FILE --output FILE; else get the file again");
	return false;
}

static bool read_root(struct workload *w, const struct yaml *root, bool hashed, struct error *e)
{
	static const char *const known[] = { "goodput_workload", "hash", "name", "source", "seed", "requests", "arrivals", "prompt",
		"sampling", "rows", "mix", "prefix", "sessions", NULL };

	if (root->kind != YAML_MAP)
		return yaml_error(root, e, "this is no workload: a map with \"goodput_workload: 1\" is expected");
	if (!read_version(root, e) || !yaml_only(root, known, e) || !yaml_get_str(root, "name", &w->name, e) ||
		!read_whole(root, "seed", 0, INT64_MAX, &w->plan.seed, e) ||
		!read_whole(root, "requests", 0, 1000000000000, &w->plan.requests, e))
		return false;
	w->name = arena_str(&w->arena, w->name);
	return read_sections(w, root, e) && finish(w, root, e) && (!hashed || check_hash(w, root, e));
}

static struct workload *parse(struct str source, struct str text, bool hashed, struct error *e)
{
	struct workload *w = content_new();
	struct arena arena;
	struct yaml *root;

	arena_init(&arena);
	root = yaml_parse(&arena, source, text, e);
	if (!root || !read_root(w, root, hashed, e)) {
		workload_free(w);
		w = NULL;
	}
	arena_fini(&arena);
	return w;
}

static struct workload *read_file(const char *path, bool hashed, struct error *e)
{
	struct workload *w = NULL;
	struct arena arena;
	struct str text;

	arena_init(&arena);
	if (file_read(&arena, path, WORKLOAD_TEXT_MAX, &text, e))
		w = parse(str_from(path), text, hashed, e);
	arena_fini(&arena);
	return w;
}

struct workload *workload_parse(struct str source, struct str text, struct error *e)
{
	return parse(source, text, true, e);
}

struct workload *workload_read(const char *path, struct error *e)
{
	return read_file(path, true, e);
}

struct workload *workload_read_unhashed(const char *path, struct error *e)
{
	return read_file(path, false, e);
}
