#include "web/page.h"

#include "base/mem.h"
#include "catalog/embedded.h"
#include "net/gunzip.h"
#include "report/html.h"

extern const struct embedded_file page_embedded[];
extern const size_t page_embedded_count;

/* The views of the page: each is an address of its own, so that links and the browser's history work. web/src/views.ts has the same list.
 */
static const struct view {
	const char *path, *title;
} views[] = { { "/", "Overview" }, { "/latency", "Latency" }, { "/workload", "Workload" }, { "/cache", "Cache & queue" },
	{ "/topology", "Topology" }, { "/compare", "Compare" }, { "/query", "Query" }, { "/targets", "Targets" }, { "/alerts", "Alerts" } };

/* Nothing but this host's own files, no inline script or style, in nobody's frame. */
#define POLICY                                                                                                                             \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "           \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                                                                  \
	"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"

/* The shell says what is so now: nobody may show it again. */
static const char headers_shell[] = POLICY "Cache-Control: no-store\r\n";
/* The name of an asset holds a hash of its content. */
static const char headers_asset[] = POLICY "Cache-Control: public, max-age=31536000, immutable\r\n";

static const struct view *view_of(struct str path)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		if (str_is(path, views[i].path))
			return &views[i];
	return NULL;
}

static const char *content_type(struct str name)
{
	static const char *const types[][2] = { { ".html.gz", "text/html; charset=utf-8" }, { ".js.gz", "text/javascript; charset=utf-8" },
		{ ".css.gz", "text/css; charset=utf-8" }, { ".svg.gz", "image/svg+xml" }, { ".txt.gz", "text/plain; charset=utf-8" } };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_ends(name, str_from(types[i][0])))
			return types[i][1];
	return "application/octet-stream";
}

/* Embedded names end with ".gz". */
static bool find(struct str name, struct page_file *file)
{
	for (size_t i = 0; i < page_embedded_count; i++) {
		struct str own = str_from(page_embedded[i].name);

		if (own.len != name.len + 3 || !str_eq(str_head(own, name.len), name))
			continue;
		file->packed = str_of(page_embedded[i].text, page_embedded[i].length);
		file->content_type = content_type(own);
		return true;
	}
	return false;
}

bool page_find(struct str path, struct page_file *file)
{
	file->is_shell = view_of(path);
	file->headers = file->is_shell ? headers_shell : headers_asset;
	if (file->is_shell)
		return find(STR("index.html"), file);
	return str_starts(path, STR("/assets/")) && find(str_skip(path, 1), file);
}

const char *page_route_name(struct str path)
{
	return view_of(path) ? "/" : "/assets/:name";
}

bool page_unpack(const struct page_file *file, struct buf *out)
{
	struct gunzip g;

	gunzip_init(&g);
	bool ok = gunzip_feed(&g, file->packed, out) == GUNZIP_OK && gunzip_is_whole(&g);

	gunzip_fini(&g);
	return ok;
}

/* ---- the shell, filled in ---- */

static void add_links(struct buf *out, const struct view *here)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		buf_printf(out, "<a href=\"%s\"%s>", views[i].path, &views[i] == here ? " aria-current=\"page\"" : "");
		html_text(out, str_from(views[i].title));
		buf_add_cstr(out, "</a>");
	}
}

static void add_filling(struct buf *out, struct str mark, const struct view *here, const struct page_news *news)
{
	if (str_is(mark, "views"))
		add_links(out, here);
	else if (str_is(mark, "title"))
		html_text(out, str_from(here->title));
	else if (str_is(mark, "verdict"))
		buf_add(out, news->verdict);
	/* The other views do not show findings. */
	else if (str_is(mark, "findings") && here == views)
		buf_add(out, news->findings);
}

bool page_fill(const struct page_file *file, struct str path, const struct page_news *news, struct buf *out)
{
	const struct view *here = view_of(path);
	struct buf plain;
	ptrdiff_t at, end;

	buf_init(&plain, out->max);
	bool ok = here && page_unpack(file, &plain);
	struct str rest = buf_str(&plain);

	while (ok && (at = str_search(rest, STR("<!--"))) >= 0 && (end = str_search(str_skip(rest, (size_t)at), STR("-->"))) >= 0) {
		buf_add(out, str_head(rest, (size_t)at));
		add_filling(out, str_of(rest.ptr + at + 4, (size_t)end - 4), here, news);
		rest = str_skip(rest, (size_t)(at + end) + 3);
	}
	buf_add(out, rest);
	buf_fini(&plain);
	return ok && !out->overflowed;
}
