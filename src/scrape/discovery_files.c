/* file_sd and http_sd: lists of target groups from files, watched by their times, and from an HTTP server. */
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "scrape/provider.h"

#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

enum { LIST_MAX = 64 << 20, LOOK_MS = 1000 };

static struct label *with_label(struct arena *arena, const struct label *labels, size_t count, struct str name, struct str value)
{
	struct label *more = ARENA_ARRAY(arena, struct label, count + 1);
	if (count)
		memcpy(more, labels, count * sizeof *more);
	more[count] = (struct label){ name, arena_str(arena, value) };
	return more;
}

/* Every group says where it is from. */
static void groups_mark(struct harvest *h, struct str name, struct str value)
{
	for (size_t i = 0; i < h->groups.count; i++) {
		struct target_group *g = &h->groups.items[i];
		g->labels = with_label(&h->arena, g->labels, g->label_count++, name, value);
	}
}

/* A file as it was when it was read. */
struct watched {
	struct timespec time;
	off_t size;
	ino_t inode;
	struct harvest *harvest; /* NULL: it never parsed */
	uint64_t round;
};

static struct harvest *file_harvest(const char *path, struct error *e)
{
	struct harvest *h = harvest_new();
	struct str text;
	bool ok = file_read(&h->arena, path, LIST_MAX, &text, e);
	if (ok && str_ends(str_from(path), STR(".json"))) {
		ok = groups_read_json(&h->groups, text, &h->arena, e);
		if (!ok)
			error_source(e, str_from(path));
	} else if (ok) {
		struct yaml *root = yaml_parse(&h->arena, str_from(path), text, e);
		ok = root && groups_read_yaml(&h->groups, root, &h->arena, e);
	}
	if (ok) {
		groups_mark(h, STR("__meta_filepath"), str_from(path));
		return h;
	}
	harvest_unref(h);
	return NULL;
}

/* Reads a file that is new or changed. False with an error when it cannot be read; what it said before stays. */
static bool file_look(struct map *files, const char *path, uint64_t round, struct error *e)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return true; /* gone between the pattern and now */
	struct map_entry *entry = map_put(files, str_from(path), NULL);
	if (!entry->value)
		entry->value = NEW(struct watched);
	struct watched *w = entry->value;
	bool same = w->round && w->size == s.st_size && w->inode == s.st_ino && w->time.tv_sec == s.st_mtim.tv_sec &&
		    w->time.tv_nsec == s.st_mtim.tv_nsec;
	w->round = round;
	if (same)
		return true;
	struct harvest *h = file_harvest(path, e);
	if (!h) {
		w->size = -1; /* look again next time: it may be half written */
		return false;
	}
	harvest_unref(w->harvest);
	*w = (struct watched){ s.st_mtim, s.st_size, s.st_ino, h, round };
	return true;
}

static void watched_free(struct watched *w)
{
	harvest_unref(w->harvest);
	mem_free(w);
}

/* Gone files take their targets with them. */
static void files_forget(struct map *files, uint64_t round)
{
	MAP_EACH (files, entry) {
		struct watched *w = entry->value;
		if (w->round == round)
			continue;
		watched_free(w);
		map_remove(files, entry->key);
	}
}

static bool files_look(struct provider *p, struct map *files, uint64_t round, struct error *e)
{
	bool ok = true;
	for (size_t i = 0; i < p->sd->name_count; i++) {
		glob_t found;
		if (glob(p->sd->names[i].ptr, 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			ok &= file_look(files, found.gl_pathv[k], round, ok ? e : NULL);
		globfree(&found);
	}
	files_forget(files, round);
	return ok;
}

static void files_publish(struct provider *p, struct map *files, const char *error)
{
	struct yield y = { 0 };
	MAP_EACH (files, entry)
		if (((struct watched *)entry->value)->harvest)
			VEC_PUSH(&y.items, harvest_ref(((struct watched *)entry->value)->harvest));
	provider_publish(p, &y, error);
	yield_clear(&y);
}

void provider_run_files(struct provider *p)
{
	struct map files;
	uint64_t round = 0;
	map_init(&files);
	do {
		struct error e = { 0 };
		char text[400];
		bool ok = files_look(p, &files, ++round, &e);
		error_text(&e, text, sizeof text);
		files_publish(p, &files, ok ? NULL : text);
	} while (provider_sleep(p, p->sd->refresh_ms < LOOK_MS ? p->sd->refresh_ms + 1 : LOOK_MS));
	MAP_EACH (&files, entry)
		watched_free(entry->value);
	map_fini(&files);
}

static struct harvest *http_harvest(const struct http_answer *answer, struct str url, struct error *e)
{
	struct str type = answer->content_type;
	ptrdiff_t end = str_find(type, ';');
	if (answer->failure != HTTP_OK) {
		error_set(e, EXIT_UNREACHABLE, "%s", answer->detail);
		return NULL;
	}
	if (answer->status != 200) {
		error_set(e, EXIT_UNREACHABLE, "HTTP status %d", answer->status);
		return NULL;
	}
	if (!str_eq_nocase(str_trim(end >= 0 ? str_head(type, (size_t)end) : type), STR("application/json"))) {
		error_set(e, EXIT_BAD_INPUT, "the Content-Type is \"" STR_FMT "\", not application/json", STR_ARG(str_head(type, 60)));
		return NULL;
	}
	struct harvest *h = harvest_new();
	if (groups_read_json(&h->groups, answer->body, &h->arena, e)) {
		groups_mark(h, STR("__meta_url"), url);
		return h;
	}
	harvest_unref(h);
	return NULL;
}

static struct harvest *http_ask(struct provider *p, struct http_client *client, struct arena *arena, struct error *e)
{
	char interval[60];
	struct http_answer answer;
	struct http_request request = { .url = p->sd->url.ptr, .timeout_ms = p->sd->refresh_ms, .max_bytes = LIST_MAX };
	snprintf(interval, sizeof interval, "X-Prometheus-Refresh-Interval-Seconds: %.3f", (double)p->sd->refresh_ms / 1000);
	const char *const headers[] = { "Accept: application/json", interval, "User-Agent: goodput", NULL };
	if (!access_request(&p->sd->access, headers, arena, &request, e))
		return NULL;
	http_fetch_all(client, arena, &request, &answer, 1, 1, &p->stop);
	return http_harvest(&answer, p->sd->url, e);
}

void provider_run_http(struct provider *p)
{
	struct http_client *client = http_client_new();
	struct arena arena;
	arena_init(&arena);
	do {
		struct error e = { 0 };
		struct yield y = { 0 };
		struct harvest *h = http_ask(p, client, &arena, &e);
		if (h) {
			VEC_PUSH(&y.items, h);
			provider_publish(p, &y, NULL);
			yield_clear(&y);
		} else {
			struct str text = arena_printf(&arena, STR_FMT ": %s", STR_ARG(p->sd->url), e.message);
			provider_fail(p, text.ptr);
		}
		arena_reset(&arena);
	} while (provider_sleep(p, p->sd->refresh_ms));
	arena_fini(&arena);
	http_client_free(client);
}
