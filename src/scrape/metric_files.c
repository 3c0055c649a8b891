#include "scrape/metric_files.h"

#include "base/clock.h"
#include "base/file.h"
#include "collect/collect.h"

#include <dirent.h>
#include <stdio.h>

enum { PAGE_MAX = 1 << 30 };

static bool holds_metric_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (d && !found && (entry = readdir(d)))
		found = str_ends(str_from(entry->d_name), STR(".db")) && entry->d_name[0] != '.';
	if (d)
		closedir(d);
	return found;
}

bool metric_files_named(struct str text)
{
	char path[4096];

	if (str_starts(text, METRIC_FILES_SCHEME))
		return text.len > METRIC_FILES_SCHEME.len;
	snprintf(path, sizeof path, STR_FMT, STR_ARG(text));
	return file_is_folder(path) && holds_metric_files(path);
}

static void answer_page(struct collector *c, struct arena *arena, struct http_answer *answer)
{
	struct buf page;

	buf_init(&page, PAGE_MAX);
	collector_page(c, COLLECT_TEXT, &page);
	collector_own_page(c, &page);
	answer->failure = page.overflowed ? HTTP_TOO_LARGE : HTTP_OK;
	answer->status = 200;
	answer->content_type = STR("text/plain; version=0.0.4; charset=utf-8");
	answer->body = arena_str(arena, buf_str(&page));
	buf_fini(&page);
}

void metric_files_scrape(struct target *t, struct arena *arena, struct http_answer *answer)
{
	int64_t start_ns = clock_monotonic_ns();

	*answer = (struct http_answer){ .failure = HTTP_OTHER, .start_ms = clock_now_ms() };
	if (!t->collector)
		t->collector = collector_new(t->url.ptr + METRIC_FILES_SCHEME.len, &(struct collect_options){ 0 });
	const struct collect_report *r = collector_scrape(t->collector);

	if (r->directory == COLLECT_READ)
		answer_page(t->collector, arena, answer);
	else
		snprintf(answer->detail, sizeof answer->detail, "%.250s", r->faults[0].text);
	answer->duration_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
}
