/* A workload file becomes a workload. Every error has the place of the value it is about. */
#include "base/file.h"
#include "base/number.h"
#include "base/yaml.h"
#include "workload/content.h"

#include <math.h>

/* ---- values ---- */

/* A whole number without quotes; absent: left alone. */
static bool get_whole(const struct yaml *map, const char *key, uint64_t least, uint64_t most, uint64_t *value, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);
	int64_t v;

	if (!node || yaml_is_null(node))
		return true;
	if (node->kind != YAML_SCALAR || node->quoted || !number_parse_i64(node->text, &v) || v < 0 || (uint64_t)v < least ||
		(uint64_t)v > most)
		return yaml_error(node, e, "\"%s\" must be a whole number from %llu to %llu", key, (unsigned long long)least,
			(unsigned long long)most);
	*value = (uint64_t)v;
	return true;
}

static bool get_u32(const struct yaml *map, const char *key, uint32_t least, uint32_t most, uint32_t *value, struct error *e)
{
	uint64_t wide = *value;
	bool ok = get_whole(map, key, least, most, &wide, e);

	*value = (uint32_t)wide;
	return ok;
}

static bool get_number(const struct yaml *map, const char *key, double least, double most, double *value, struct error *e)
{
	if (!yaml_get_double(map, key, value, e))
		return false;
	if (*value >= least && *value <= most)
		return true;
	return yaml_error(yaml_get(map, key), e, "\"%s\" must be from %g to %g, not %g", key, least, most, *value);
}

static bool get_choice(const struct yaml *map, const char *key, const char *const *names, int *value, struct error *e)
{
	struct str text = STR_EMPTY;

	if (!yaml_get_str(map, key, &text, e))
		return false;
	if (!text.ptr)
		return true;
	for (int i = 0; names[i]; i++)
		if (str_is(text, names[i])) {
			*value = i;
			return true;
		}
	yaml_error(yaml_get(map, key), e, "\"%s\" cannot be \"" STR_FMT "\"", key, STR_ARG(str_head(text, 60)));
	struct buf list;

	buf_init(&list, 1000);
	for (int i = 0; names[i]; i++)
		buf_printf(&list, "%s%s", i ? ", " : "one of: ", names[i]);
	error_hint(e, "%s", buf_cstr(&list));
	buf_fini(&list);
	return false;
}

static bool need_map(const struct yaml *node, const char *const *known, struct error *e)
{
	if (node->kind != YAML_MAP)
		return yaml_error(node, e, "\"" STR_FMT "\" must be a map", STR_ARG(node->key));
	return yaml_only(node, known, e);
}

/* ---- lengths ---- */

static bool scalar_length(const struct yaml *node, uint32_t *tokens)
{
	int64_t v;

	if (node->kind != YAML_SCALAR || node->quoted || !number_parse_i64(node->text, &v) || v < 1 || v > WORKLOAD_TOKENS_MAX)
		return false;
	*tokens = (uint32_t)v;
	return true;
}

static bool read_bucket(const struct yaml *node, struct length *l, struct error *e)
{
	struct length_bucket *b = &l->buckets[l->bucket_count];
	uint32_t before = l->bucket_count ? b[-1].most : 0;

	if (node->kind != YAML_LIST || node->count != 2 || !scalar_length(node->first, &b->most))
		return yaml_error(node, e, "a bucket is [most, weight]: its largest length and how often it comes");
	if (b->most <= before)
		return yaml_error(node, e, "buckets must grow: %u comes after %u", b->most, before);
	if (node->first->next->kind != YAML_SCALAR || !number_parse(node->first->next->text, &b->weight) ||
		!(b->weight >= 0 && b->weight <= 1e15))
		return yaml_error(node->first->next, e, "a bucket's weight is a number from 0");
	l->weight += b->weight;
	l->bucket_count++;
	return true;
}

static bool read_buckets(const struct yaml *list, struct arena *arena, struct length *l, struct error *e)
{
	if (list->kind != YAML_LIST || !list->count || list->count > WORKLOAD_BUCKETS_MAX)
		return yaml_error(list, e, "\"buckets\" must be a list of 1 to %d buckets", WORKLOAD_BUCKETS_MAX);
	l->kind = LENGTH_BUCKETS;
	l->buckets = ARENA_ARRAY(arena, struct length_bucket, list->count);
	YAML_EACH (list, node) {
		if (!read_bucket(node, l, e))
			return false;
	}
	return l->weight > 0 || yaml_error(list, e, "no bucket has a weight above 0");
}

static bool read_lognormal(const struct yaml *map, struct length *l, struct error *e)
{
	l->kind = LENGTH_LOGNORMAL;
	l->least = 1;
	l->most = WORKLOAD_TOKENS_MAX;
	l->mean = l->cv = -1;
	if (!yaml_get(map, "mean") || !yaml_get(map, "cv"))
		return yaml_error(map, e, "a length is a number, [least, most], {mean, cv}, or {buckets}");
	return get_number(map, "mean", 1, WORKLOAD_TOKENS_MAX, &l->mean, e) && get_number(map, "cv", 0, 20, &l->cv, e) &&
	       get_u32(map, "least", 1, WORKLOAD_TOKENS_MAX, &l->least, e) &&
	       get_u32(map, "most", l->least, WORKLOAD_TOKENS_MAX, &l->most, e);
}

static bool read_length(const struct yaml *node, struct arena *arena, struct length *l, struct error *e)
{
	static const char *const known[] = { "mean", "cv", "least", "most", "buckets", NULL };

	if (node->kind == YAML_MAP) {
		if (!yaml_only(node, known, e))
			return false;
		return yaml_get(node, "buckets") ? read_buckets(yaml_get(node, "buckets"), arena, l, e) : read_lognormal(node, l, e);
	}
	if (node->kind == YAML_LIST) {
		l->kind = LENGTH_UNIFORM;
		if (node->count != 2 || !scalar_length(node->first, &l->least) || !scalar_length(node->first->next, &l->most) ||
			l->least > l->most)
			return yaml_error(node, e, "a range of lengths is [least, most]");
		return true;
	}
	if (!scalar_length(node, &l->least))
		return yaml_error(
			node, e, "a length is a whole number from 1 to %d, [least, most], {mean, cv}, or {buckets}", WORKLOAD_TOKENS_MAX);
	l->most = l->least;
	return true;
}

static bool need_length(const struct yaml *map, const char *key, struct arena *arena, struct length *l, struct error *e)
{
	const struct yaml *node = yaml_get(map, key);

	return node ? read_length(node, arena, l, e) : yaml_error(map, e, "\"%s\" is missing", key);
}

/* ---- sections ---- */

static bool read_source(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "kind", "file", "remarks", NULL };
	const struct yaml *remarks;

	if (!need_map(node, known, e) || !yaml_get_str(node, "kind", &w->source.kind, e) || !yaml_get_str(node, "file", &w->source.file, e))
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

	if (!get_number(node, "ramp_from", 0, 1e6, &a->ramp_from, e) || !get_number(node, "ramp_seconds", 0, 1e7, &a->ramp_seconds, e) ||
		!get_choice(node, "ramp", shapes, &shape, e))
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

	if (!need_map(node, known, e) || !get_choice(node, "process", workload_process_names, &process, e))
		return false;
	a->process = (enum workload_process)process;
	if (yaml_get(node, "burstiness") && process != WORKLOAD_GAMMA)
		return yaml_error(yaml_get(node, "burstiness"), e, "\"burstiness\" is of the process gamma");
	if (yaml_get(node, "speed") && process != WORKLOAD_TRACE)
		return yaml_error(yaml_get(node, "speed"), e, "\"speed\" is of the process trace");
	if (yaml_get(node, "rate") && (process == WORKLOAD_TRACE || process == WORKLOAD_CLOSED))
		return yaml_error(yaml_get(node, "rate"), e, "the process %s has no rate", workload_process_names[process]);
	return get_number(node, "rate", 0, 1e6, &a->rate, e) && get_number(node, "burstiness", 0.01, 1e6, &a->burstiness, e) &&
	       get_number(node, "speed", 1e-4, 1e6, &a->speed, e) && get_u32(node, "concurrency", 1, 1000000, &a->concurrency, e) &&
	       read_ramp(node, a, e);
}

static bool read_vocabulary(struct workload *w, const struct yaml *node, struct error *e)
{
	uint32_t first, last;

	if (!node)
		return true;
	if (node->kind != YAML_LIST || node->count != 2 || !scalar_length(node->first, &first) ||
		!scalar_length(node->first->next, &last) || last <= first)
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

	if (!need_map(node, known, e) || !get_choice(node, "format", formats, &format, e))
		return false;
	w->format = (enum workload_format)format;
	if (w->format != WORKLOAD_CHAT && yaml_get(node, "template_tokens"))
		return yaml_error(yaml_get(node, "template_tokens"), e, "only chats have a template");
	return get_u32(node, "template_tokens", 0, 10000, &w->template_tokens, e) && read_vocabulary(w, yaml_get(node, "vocabulary"), e);
}

static const char *const settings_known[] = { "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
	"repetition_penalty", "length_penalty", "seed", "ignore_eos", "min_tokens", "stop", "stop_token_ids", "logprobs",
	"skip_special_tokens", NULL };

static bool setting_value(const struct yaml *node, struct buf *out, struct error *e)
{
	double number;

	if (node->kind == YAML_MAP)
		return yaml_error(node, e, "a sampling parameter is a number, true or false, a text, or a list of them");
	if (node->kind == YAML_LIST) {
		buf_add_c(out, '[');
		YAML_EACH (node, item) {
			if (item != node->first)
				buf_add_c(out, ',');
			if (item->kind != YAML_SCALAR || !setting_value(item, out, e))
				return item->kind == YAML_SCALAR ? false
								 : yaml_error(item, e, "a list of sampling parameters holds plain values");
		}
		buf_add_c(out, ']');
		return true;
	}
	if (!node->quoted && (str_is(node->text, "true") || str_is(node->text, "false")))
		buf_add(out, node->text);
	else if (!node->quoted && number_parse(node->text, &number) && isfinite(number))
		buf_add_double(out, number);
	else
		content_add_text(out, node->text);
	return true;
}

static bool read_sampling(struct workload *w, const struct yaml *node, struct error *e)
{
	struct buf value;
	bool ok = need_map(node, settings_known, e);

	buf_init(&value, 65536);
	if (ok && yaml_get(node, "temperature"))
		ok = yaml_get_double(node, "temperature", &w->temperature, e);
	YAML_EACH (node, member) {
		if (!ok || yaml_is_null(member))
			continue;
		buf_reset(&value);
		ok = setting_value(member, &value, e);
		if (ok && value.overflowed)
			ok = yaml_error(member, e, "this is too long");
		VEC_PUSH(&w->settings,
			(struct workload_setting){ arena_str(&w->arena, member->key), arena_str(&w->arena, buf_str(&value)) });
	}
	buf_fini(&value);
	return ok;
}

static bool read_rows(struct workload *w, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "order", "block", "data", NULL };
	static const char *const orders[] = { "kept", "shuffled", NULL };
	const struct yaml *data = node->kind == YAML_MAP ? yaml_get(node, "data") : NULL;
	struct error inner = { 0 };
	size_t offset = 0;
	int order = 0;

	if (!need_map(node, known, e) || !get_choice(node, "order", orders, &order, e) ||
		!get_u32(node, "block", 1, WORKLOAD_TOKENS_MAX, &w->block, e))
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
	if (!yaml_only(node, known, e) || !yaml_get_str(node, "name", &c.name, e) || !get_number(node, "share", 0, 1e12, &c.share, e) ||
		!need_length(node, "prompt", &w->arena, &c.prompt, e) || !need_length(node, "output", &w->arena, &c.output, e))
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
	if (!need_map(node, known, e) || !get_u32(node, "groups", 1, 1000000000, &w->prefix.groups, e) ||
		!get_u32(node, "tokens", 1, WORKLOAD_TOKENS_MAX, &w->prefix.tokens, e) ||
		!get_number(node, "share", 0, 1, &w->prefix.share, e))
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

	if (!need_map(node, known, e) || !need_length(node, "turns", &w->arena, turns, e) ||
		!get_number(node, "pause", 0, 1e6, &w->sessions.pause, e))
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
	if (!get_whole(root, "goodput_workload", 0, UINT32_MAX, &version, e))
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
		!get_whole(root, "seed", 0, INT64_MAX, &w->plan.seed, e) ||
		!get_whole(root, "requests", 0, 1000000000000, &w->plan.requests, e))
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
