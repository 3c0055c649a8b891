#include "scrape/discovered.h"

#include "base/clock.h"

#define ADDRESS STR("__address__")
#define SCHEME STR("__scheme__")
#define METRICS_PATH STR("__metrics_path__")
#define ALERTS_PATH STR("__alerts_path__")
#define INTERVAL STR("__scrape_interval__")
#define TIMEOUT STR("__scrape_timeout__")
#define PARAM STR("__param_")

static void set_default(struct label_set *set, struct str name, struct str value)
{
	if (!label_set_get(set, name).len)
		label_set_set(set, name, value);
}

static struct str duration_text(struct arena *arena, int64_t ms)
{
	char text[64];
	size_t length = duration_format(ms, text);
	return arena_str(arena, str_of(text, length));
}

/* What a target has before its relabelling. */
static void start(const struct job *job, const struct target_group *group, const struct group_target *target, struct label_set *set)
{
	label_set_start(set, group->labels, group->label_count);
	for (size_t i = 0; i < target->count; i++)
		label_set_set(set, target->labels[i].name, target->labels[i].value);
	if (job->is_alertmanager) {
		set_default(set, SCHEME, job->scheme);
		set_default(set, ALERTS_PATH, job->path);
	} else {
		set_default(set, STR("job"), job->name);
		set_default(set, INTERVAL, duration_text(set->scratch, job->interval_ms));
		set_default(set, TIMEOUT, duration_text(set->scratch, job->timeout_ms));
		set_default(set, METRICS_PATH, job->path);
		set_default(set, SCHEME, job->scheme);
		for (size_t i = 0; i < job->param_count; i++)
			if (job->params[i].count)
				label_set_set(set, arena_printf(set->scratch, "__param_" STR_FMT, STR_ARG(job->params[i].name)),
					job->params[i].values[0]);
	}
	label_set_settle(set);
}

static const struct label *copy(const struct label_set *set, struct arena *arena)
{
	struct label *all = ARENA_ARRAY(arena, struct label, set->items.count + 1);
	for (size_t i = 0; i < set->items.count; i++)
		all[i] = (struct label){ arena_str(arena, set->items.items[i].name), arena_str(arena, set->items.items[i].value) };
	return all;
}

/* In a query, as Go's url.Values writes it. */
static void encode_query(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == ' ')
			buf_add_c(out, '+');
		else
			http_encode(str_of(text.ptr + i, 1), out);
	}
}

static void encode_path(struct str path, struct buf *out)
{
	if (path.len && path.ptr[0] != '/')
		buf_add_c(out, '/');
	for (size_t i = 0; i < path.len; i++) {
		if (memchr("/$&+,:;=@", path.ptr[i], 9))
			buf_add_c(out, path.ptr[i]);
		else
			http_encode(str_of(path.ptr + i, 1), out);
	}
}

static void add_param(struct buf *out, char *separator, struct str name, struct str value)
{
	buf_add_c(out, *separator);
	*separator = '&';
	encode_query(name, out);
	buf_add_c(out, '=');
	encode_query(value, out);
}

/* The job's parameters and those of __param_ labels, which win over a first value, sorted by name: both lists are. */
static void add_params(struct buf *out, const struct job *job, const struct label_set *set)
{
	char separator = '?';
	size_t at = 0;
	for (size_t i = 0;; i++) {
		while (i < set->items.count && !str_starts(set->items.items[i].name, PARAM))
			i++;
		bool has = i < set->items.count;
		struct str name = has ? str_skip(set->items.items[i].name, PARAM.len) : STR_EMPTY;
		while (at < job->param_count && (!has || str_cmp(job->params[at].name, name) < 0)) {
			for (size_t k = 0; k < job->params[at].count; k++)
				add_param(out, &separator, job->params[at].name, job->params[at].values[k]);
			at++;
		}
		if (!has)
			return;
		add_param(out, &separator, name, set->items.items[i].value);
		if (at < job->param_count && str_eq(job->params[at].name, name)) {
			for (size_t k = 1; k < job->params[at].count; k++)
				add_param(out, &separator, name, job->params[at].values[k]);
			at++;
		}
	}
}

static struct str make_url(const struct job *job, const struct label_set *set, struct arena *arena)
{
	struct buf out;
	buf_init(&out, SIZE_MAX);
	buf_add(&out, label_set_get(set, SCHEME));
	buf_add_cstr(&out, "://");
	buf_add(&out, label_set_get(set, ADDRESS));
	encode_path(label_set_get(set, job->is_alertmanager ? ALERTS_PATH : METRICS_PATH), &out);
	add_params(&out, job, set);
	struct str url = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return url;
}

static bool bad(struct error *e, const struct label_set *set, const char *why)
{
	return error_set(e, EXIT_BAD_INPUT, "the target " STR_FMT ": %s", STR_ARG(str_head(label_set_get(set, ADDRESS), 100)), why);
}

static bool read_times(struct discovered *d, const struct label_set *set, struct error *e)
{
	if (!duration_parse(label_set_get(set, INTERVAL), &d->interval_ms) || d->interval_ms <= 0)
		return bad(e, set, "__scrape_interval__ is no duration");
	if (!duration_parse(label_set_get(set, TIMEOUT), &d->timeout_ms) || d->timeout_ms <= 0)
		return bad(e, set, "__scrape_timeout__ is no duration");
	return d->timeout_ms <= d->interval_ms || bad(e, set, "its scrape timeout is longer than its interval");
}

static bool check(struct discovered *d, const struct label_set *set, struct error *e)
{
	struct str address = label_set_get(set, ADDRESS), scheme = label_set_get(set, SCHEME);
	if (!address.len)
		return bad(e, set, "it has no address");
	for (size_t i = 0; i < address.len; i++)
		if ((unsigned char)address.ptr[i] <= ' ' || strchr("/?#@\\", address.ptr[i]))
			return bad(e, set, "no valid host name");
	if (!str_is(scheme, "http") && !str_is(scheme, "https"))
		return bad(e, set, "its __scheme__ is not http or https");
	for (size_t i = 0; i < set->items.count; i++)
		if (!str_is_utf8(set->items.items[i].value))
			return bad(e, set, "a label has an invalid value");
	if (d->job->is_alertmanager) {
		d->timeout_ms = d->job->timeout_ms;
		return true;
	}
	return read_times(d, set, e);
}

enum discovered_fate discovered_make(struct discovered *d, const struct job *job, const struct target_group *group,
	const struct group_target *target, struct label_set *set, struct arena *arena, struct error *e)
{
	*d = (struct discovered){ .job = job };
	start(job, group, target, set);
	d->before = copy(set, arena);
	d->before_count = set->items.count;
	if (!relabel_apply(&job->relabel, set))
		return DISCOVERED_DROPPED;
	label_set_settle(set);
	if (!check(d, set, e))
		return DISCOVERED_BAD;
	d->url = make_url(job, set, arena);
	if (!job->is_alertmanager)
		set_default(set, STR("instance"), label_set_get(set, ADDRESS));
	size_t kept = 0;
	for (size_t i = 0; i < set->items.count; i++)
		if (!str_starts(set->items.items[i].name, STR("__")))
			set->items.items[kept++] = set->items.items[i];
	set->items.count = kept;
	d->labels = labels_new(set->items.items, kept);
	return DISCOVERED_TARGET;
}
