#include "web/page.h"

#include "base/mem.h"
#include "catalog/embedded.h"
#include "net/gunzip.h"

extern const struct embedded_file page_embedded[];
extern const size_t page_embedded_count;

/* The views of the page: each is an address of its own, so that links and the browser's history work. web/src/views.ts has the same list.
 */
static const char *const views[] = { "/", "/latency", "/workload", "/cache", "/topology", "/compare", "/query", "/targets", "/alerts" };

/* Nothing but this host's own files, no inline script or style, in nobody's frame. */
#define POLICY                                                                                                                             \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "           \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                                                                  \
	"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n"

static const char headers_shell[] = POLICY "Cache-Control: no-cache\r\n";
/* The name of an asset holds a hash of its content. */
static const char headers_asset[] = POLICY "Cache-Control: public, max-age=31536000, immutable\r\n";

static bool is_view(struct str path)
{
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		if (str_is(path, views[i]))
			return true;
	return false;
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
	bool view = is_view(path);

	file->headers = view ? headers_shell : headers_asset;
	if (view)
		return find(STR("index.html"), file);
	return str_starts(path, STR("/assets/")) && find(str_skip(path, 1), file);
}

const char *page_route_name(struct str path)
{
	return is_view(path) ? "/" : "/assets/:name";
}

bool page_unpack(const struct page_file *file, struct buf *out)
{
	struct gunzip g;

	gunzip_init(&g);
	bool ok = gunzip_feed(&g, file->packed, out) == GUNZIP_OK && gunzip_is_whole(&g);

	gunzip_fini(&g);
	return ok;
}
