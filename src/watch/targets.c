/* What people typed as targets. */
#include "base/file.h"
#include "scrape/metric_files.h"
#include "watch/pipeline.h"

enum { TARGETS_FILE_MAX = 16 << 20 };

static bool ends_like_a_page(struct str text)
{
	return str_ends(text, STR(".prom")) || str_ends(text, STR(".om")) || str_ends(text, STR(".txt")) || str_ends(text, STR(".tsv"));
}

/* Nothing of this name exists: was it meant as a path, or is it a host? */
static bool is_path(struct str text)
{
	ptrdiff_t slash = str_find(text, '/');

	if (str_search(text, STR("://")) >= 0)
		return false;
	if (str_starts(text, STR("/")) || str_starts(text, STR(".")) || str_starts(text, STR("~")) || ends_like_a_page(text))
		return true;
	/* "recordings/tuesday" is a path, "host:8000/metrics" and "host/metrics" are not. */
	return slash >= 0 && str_find(str_head(text, (size_t)slash), ':') < 0 && str_search(text, STR("metrics")) < 0;
}

static bool target_kind(const char *target, enum watch_kind *kind, struct error *e)
{
	if (strcmp(target, "-") == 0 || (file_exists(target) && !file_is_folder(target))) {
		*kind = store_is(target) ? WATCH_STORE : WATCH_PAGE;
	} else if (metric_files_named(str_from(target)) && !recording_is(target)) {
		*kind = WATCH_LIVE;
	} else if (file_is_folder(target)) {
		*kind = WATCH_RECORDING;
		if (recording_is(target))
			return true;
		error_set(e, EXIT_BAD_INPUT, "%s: a folder, but no recording: it has no scrapes.tsv", target);
		error_hint(e,
			"goodput record DIR TARGET... makes a recording; a saved page is named by its file; a directory for metric files "
			"is multiproc:%s",
			target);
		return false;
	} else if (is_path(str_from(target))) {
		error_set(e, EXIT_BAD_INPUT, "%s: no such file or folder", target);
		error_hint(e, "for a live target write a URL (http://...) or host:port");
		return false;
	} else {
		*kind = WATCH_LIVE;
	}
	return true;
}

static const char *kind_words(enum watch_kind kind)
{
	static const char *const words[] = { [WATCH_LIVE] = "a live target",
		[WATCH_RECORDING] = "a recording",
		[WATCH_PAGE] = "a saved page",
		[WATCH_STORE] = "a store",
		[WATCH_REMOTE] = "a Prometheus" };

	return words[kind];
}

static bool kinds_differ(const struct watch_options *o, size_t i, enum watch_kind first, enum watch_kind other, struct error *e)
{
	error_set(e, EXIT_USAGE, "%s is %s, but %s is %s", o->targets[0], kind_words(first), o->targets[i], kind_words(other));
	error_hint(e, "look at one kind at a time");
	return false;
}

bool targets_kind(const struct watch_options *o, enum watch_kind *kind, struct error *e)
{
	*kind = o->remote.url ? WATCH_REMOTE : WATCH_LIVE;
	for (size_t i = 0; i < o->target_count; i++) {
		enum watch_kind this_kind;

		if (!target_kind(o->targets[i], &this_kind, e))
			return false;
		if (i && this_kind != *kind)
			return kinds_differ(o, i, *kind, this_kind, e);
		*kind = this_kind;
	}
	if ((*kind == WATCH_RECORDING || *kind == WATCH_STORE) && o->target_count > 1) {
		error_set(e, EXIT_USAGE, "two %s at once: %s and %s", *kind == WATCH_STORE ? "stores" : "recordings", o->targets[0],
			o->targets[1]);
		error_hint(e, "look at one at a time");
		return false;
	}
	if (o->targets_file && *kind != WATCH_LIVE) {
		error_set(e, EXIT_USAGE, "%s lists live targets, but %s is %s", o->targets_file,
			o->target_count ? o->targets[0] : o->remote.url, kind_words(*kind));
		error_hint(e, "look at one kind at a time");
		return false;
	}
	if (o->only_live && *kind != WATCH_LIVE)
		return error_set(e, EXIT_USAGE, "%s is %s: only live targets can be recorded", o->targets[0], kind_words(*kind));
	return true;
}

static bool add_live(struct watch *w, struct str text, struct error *e)
{
	struct str url, name;

	if (!scrape_url(&w->arena, text, &url, &name, e))
		return false;
	fleet_target(&w->data.fleet, name, url, STR_EMPTY);
	return true;
}

static bool targets_of_file(struct watch *w, const char *path, struct error *e)
{
	struct str text, rest, line;
	int number = 0;

	if (!file_read(&w->arena, path, TARGETS_FILE_MAX, &text, e))
		return false;
	rest = text;
	while (str_split(&rest, '\n', &line)) {
		ptrdiff_t comment = str_find(line, '#');
		struct error why = { 0 };

		number++;
		line = str_trim(comment >= 0 ? str_head(line, (size_t)comment) : line);
		if (!line.len || add_live(w, line, &why))
			continue;
		error_at(e, str_from(path), text, (size_t)(line.ptr - text.ptr), "%s", why.message);
		error_hint(e, "%s", why.hint);
		return false;
	}
	return true;
}

bool targets_live(struct watch *w, struct error *e)
{
	const struct watch_options *o = &w->options;

	for (size_t i = 0; i < o->target_count; i++)
		if (!add_live(w, str_from(o->targets[i]), e))
			return false;
	return !o->targets_file || targets_of_file(w, o->targets_file, e);
}
