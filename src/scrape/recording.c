#include "scrape/recording.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "scrape/rows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { TABLE_MAX = 256 << 20, PAGE_MAX = 256 << 20 };

bool recording_is(const char *path)
{
	struct arena scratch;
	arena_init(&scratch);
	bool is = file_is_folder(path) && file_exists(path_join(&scratch, path, STR("scrapes.tsv")));
	arena_fini(&scratch);
	return is;
}

/* A recording while it is read. */
struct reading {
	struct fleet *fleet;
	struct arena *arena;      /* of the caller: what stays */
	struct arena table, page; /* the tables; one body at a time */
	const char *folder;
	struct str source, text; /* of scrapes.tsv */
	char root[PATH_MAX];     /* the folder without links */
	struct error *e;
};

/* Links inside a recording may not lead out of it either. */
static bool path_is_inside(const struct reading *r, const char *path)
{
	char resolved[PATH_MAX];
	size_t root_len = strlen(r->root);
	return realpath(path, resolved) && strncmp(resolved, r->root, root_len) == 0 &&
	       (resolved[root_len] == '/' || (root_len > 0 && r->root[root_len - 1] == '/'));
}

static bool body_read(struct reading *r, const struct scrape_row *row, struct str *body)
{
	*body = STR_EMPTY;
	arena_reset(&r->page);
	if (row->file.len == 0)
		return true;
	const char *path = path_join(&r->page, r->folder, row->file);
	struct error why;
	error_clear(&why);
	if (!file_exists(path))
		return error_at(
			r->e, r->source, r->text, row->file_offset, "the file " STR_FMT " is missing", STR_ARG(str_head(row->file, 120)));
	if (!path_is_inside(r, path))
		return error_at(r->e, r->source, r->text, row->file_offset, "the file is outside the recording's folder");
	if (!file_read(&r->page, path, PAGE_MAX, body, &why))
		return error_at(r->e, r->source, r->text, row->file_offset, "%s", why.message);
	return true;
}

static bool scrape_replay(struct reading *r, const struct scrape_row *row)
{
	struct http_answer answer = {
		.failure = row->failure,
		.status = row->status,
		.content_type = row->content_type,
		.start_ms = row->t_ms,
		.duration_s = row->duration_s,
		.body_is_partial = row->failure == HTTP_CUT,
	};
	if (!body_read(r, row, &answer.body))
		return false;
	if (row->failure != HTTP_OK)
		snprintf(answer.detail, sizeof answer.detail, "%s",
			row->failure == HTTP_TIMEOUT ? "no answer in time" : http_failure_name(row->failure));
	struct target *t = fleet_target(r->fleet, row->target, STR_EMPTY, STR_EMPTY);
	fleet_ingest(r->fleet, t, row->t_ms, row->when, &answer);
	return true;
}

/* A moment is made by its first row and dated by its newest scrape. */
static void moments_collect(struct reading *r, const struct scrape_row *rows, size_t count, struct recording *recording)
{
	struct map by_name;
	map_init(&by_name);
	recording->moments = ARENA_ARRAY(r->arena, struct recording_moment, count);
	recording->moment_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct str key = rows[i].when.len ? rows[i].when : arena_printf(&r->table, "\t%lld", (long long)rows[i].t_ms);
		struct map_entry *entry = map_put(&by_name, key, NULL);
		struct recording_moment *m = entry->value;
		if (!m) {
			m = &recording->moments[recording->moment_count++];
			*m = (struct recording_moment){ .when = arena_str(r->arena, rows[i].when), .t_ms = rows[i].t_ms };
			entry->value = m;
		}
		m->t_ms = rows[i].t_ms > m->t_ms ? rows[i].t_ms : m->t_ms;
	}
	map_fini(&by_name);
}

static int moment_compare(const void *a, const void *b)
{
	const struct recording_moment *x = a, *y = b;
	return (x->t_ms > y->t_ms) - (x->t_ms < y->t_ms);
}

static bool scrapes_read(struct reading *r, struct recording *recording)
{
	const char *path = path_join(&r->table, r->folder, STR("scrapes.tsv"));
	r->source = str_from(path);
	size_t count;
	if (!file_read(&r->table, path, TABLE_MAX, &r->text, r->e))
		return false;
	if (!realpath(r->folder, r->root)) {
		error_set(r->e, EXIT_BAD_INPUT, "cannot open the folder: %s", strerror(errno));
		error_source(r->e, str_from(r->folder));
		return false;
	}
	struct scrape_row *rows = scrape_rows_parse(&r->table, r->source, r->text, &count, r->e);
	if (!rows)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!scrape_replay(r, &rows[i]))
			return false;
	moments_collect(r, rows, count, recording);
	qsort(recording->moments, recording->moment_count, sizeof *recording->moments, moment_compare);
	return true;
}

/* An optional table. False with an error; an absent one is true with text.ptr NULL. */
static bool table_read(struct reading *r, struct str name, struct str *source, struct str *text)
{
	const char *path = path_join(&r->table, r->folder, name);
	*source = str_from(path);
	*text = STR_EMPTY;
	return !file_exists(path) || file_read(&r->table, path, TABLE_MAX, text, r->e);
}

static bool no_target(struct reading *r, struct str source, struct str text, size_t offset, struct str name)
{
	error_at(r->e, source, text, offset, "no target \"" STR_FMT "\" in scrapes.tsv", STR_ARG(str_head(name, 80)));
	VEC_EACH (&r->fleet->targets, t)
		if (str_distance((*t)->name, name, 2) <= 2)
			error_hint(r->e, "did you mean \"" STR_FMT "\"?", STR_ARG((*t)->name));
	return false;
}

static bool limits_read(struct reading *r)
{
	struct str source, text;
	size_t count = 0;
	if (!table_read(r, STR("limits.tsv"), &source, &text))
		return false;
	struct limit_row *rows = text.ptr ? limit_rows_parse(&r->table, source, text, &count, r->e) : NULL;
	if (text.ptr && !rows)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct target *t = fleet_find(r->fleet, rows[i].target);
		if (!t)
			return no_target(r, source, text, rows[i].target_offset, rows[i].target);
		t->memory_limit_bytes = rows[i].memory_limit_bytes;
	}
	return true;
}

static bool health_read(struct reading *r)
{
	struct str source, text;
	size_t count = 0;
	if (!table_read(r, STR("health.tsv"), &source, &text))
		return false;
	struct health_row *rows = text.ptr ? health_rows_parse(&r->table, source, text, &count, r->e) : NULL;
	if (text.ptr && !rows)
		return false;
	for (size_t i = 0; i < count; i++) {
		bool only = rows[i].target.len == 0 && r->fleet->targets.count == 1;
		struct target *t = only ? r->fleet->targets.items[0] : fleet_find(r->fleet, rows[i].target);
		if (!t && rows[i].target.len == 0)
			return error_at(r->e, source, text, rows[i].target_offset,
				"whose health? With several targets the column \"target\" is needed");
		if (!t)
			return no_target(r, source, text, rows[i].target_offset, rows[i].target);
		VEC_PUSH(&t->health, (__typeof__(*t->health.items)){ rows[i].t_ms, rows[i].status });
	}
	return true;
}

bool recording_read(struct fleet *f, struct arena *arena, const char *path, struct recording *recording, struct error *e)
{
	struct reading r = { .fleet = f, .arena = arena, .folder = path, .e = e };
	*recording = (struct recording){ 0 };
	arena_init(&r.table);
	arena_init(&r.page);
	bool ok = scrapes_read(&r, recording) && limits_read(&r) && health_read(&r);
	arena_fini(&r.page);
	arena_fini(&r.table);
	return ok;
}

/* "folder/pod-a.prom" → "pod-a". */
static struct str page_name(const char *path)
{
	struct str name = str_from(path);
	for (ptrdiff_t at; (at = str_find(name, '/')) >= 0 && (size_t)at + 1 < name.len;)
		name = str_skip(name, (size_t)at + 1);
	static const char *const endings[] = { ".prom", ".txt", ".metrics", ".om" };
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		struct str ending = str_from(endings[i]);
		if (str_ends(name, ending) && name.len > ending.len)
			return str_head(name, name.len - ending.len);
	}
	return str_is(name, "-") ? STR("stdin") : name;
}

bool recording_read_page(struct fleet *f, struct arena *arena, const char *path, int64_t t_ms, struct recording *recording, struct error *e)
{
	struct arena scratch;
	struct http_answer answer = { .failure = HTTP_OK, .status = 200, .start_ms = t_ms, .duration_s = NAN };
	*recording = (struct recording){ 0 };
	arena_init(&scratch);
	bool ok = file_read(&scratch, path, PAGE_MAX, &answer.body, e);
	if (ok) {
		struct target *t = fleet_target(f, page_name(path), STR_EMPTY, STR_EMPTY);
		fleet_ingest(f, t, t_ms, STR_EMPTY, &answer);
		recording->moments = ARENA_NEW(arena, struct recording_moment);
		recording->moments->t_ms = t_ms;
		recording->moment_count = 1;
	}
	arena_fini(&scratch);
	return ok;
}

static void moment_name(const struct recording_moment *m, struct buf *out)
{
	char text[40];
	if (m->when.len)
		buf_add(out, m->when);
	else
		buf_add(out, str_of(text, time_format(m->t_ms, text)));
}

/* The names that look most like the text; of short recordings simply all. */
static void moments_hint(const struct recording *r, struct str text, struct error *e)
{
	enum { SHOWN = 8 };
	struct buf names;
	size_t shown = 0;
	buf_init(&names, 280);
	for (size_t limit = 0; limit <= 3 && shown < SHOWN && r->moment_count > SHOWN; limit++)
		for (size_t i = 0; i < r->moment_count && shown < SHOWN; i++)
			if (str_distance(r->moments[i].when, text, limit) == limit) {
				buf_add_cstr(&names, shown++ ? ", " : "");
				moment_name(&r->moments[i], &names);
			}
	for (size_t i = 0; i < r->moment_count && r->moment_count <= SHOWN; i++) {
		buf_add_cstr(&names, i ? ", " : "");
		moment_name(&r->moments[i], &names);
		shown++;
	}
	if (shown == 0) {
		buf_add_cstr(&names, "from ");
		moment_name(&r->moments[0], &names);
		buf_add_cstr(&names, " to ");
		moment_name(&r->moments[r->moment_count - 1], &names);
	}
	error_hint(e, "there is: %s", buf_cstr(&names));
	buf_fini(&names);
}

/* The newest moment at or before a time. */
static ptrdiff_t moment_at(const struct recording *r, int64_t t_ms)
{
	ptrdiff_t found = -1;
	for (size_t i = 0; i < r->moment_count && r->moments[i].t_ms <= t_ms; i++)
		found = (ptrdiff_t)i;
	return found;
}

ptrdiff_t recording_find(const struct recording *r, struct str text, struct error *e)
{
	for (size_t i = 0; i < r->moment_count; i++)
		if (r->moments[i].when.len && str_eq(r->moments[i].when, text))
			return (ptrdiff_t)i;
	if (r->moment_count == 0) {
		error_set(e, EXIT_BAD_INPUT, "the recording is empty");
		return -1;
	}
	if (str_is(text, "first"))
		return 0;
	if (str_is(text, "last"))
		return (ptrdiff_t)r->moment_count - 1;
	int64_t t_ms;
	ptrdiff_t at = time_parse(text, r->moments[r->moment_count - 1].t_ms, &t_ms) ? moment_at(r, t_ms) : -1;
	if (at < 0) {
		error_set(e, EXIT_USAGE, "no moment \"" STR_FMT "\" in the recording", STR_ARG(str_head(text, 80)));
		moments_hint(r, text, e);
	}
	return at;
}
