/* The page's files: they are there, so the loop answers at once, whatever happens to the data. */
#include "serve/daemon.h"

#include "web/first.h"
#include "web/gzip.h"
#include "web/page.h"

#include <stdio.h>

enum { FILE_MOST = 4 << 20 };

static bool asks_for_part(const struct message *m)
{
	static const struct str filters[] = { { "pool=", 5 }, { "replica=", 8 } };
	struct str rest = m->query, part;

	while (rest.len && str_split(&rest, '&', &part))
		for (size_t i = 0; i < ARRAY_LEN(filters); i++)
			if (str_starts(part, filters[i]))
				return true;
	return false;
}

/* The shell begins with the newest verdict and findings. They were put into words with the judgement, so this waits for nobody who reads.
 */
static bool fill(const struct daemon *d, const struct page_file *file, const struct message *m, struct buf *out)
{
	struct buf unknown;

	buf_init(&unknown, FILE_MOST);
	first_print_verdict(&unknown, NULL, 0);
	size_t verdict_len = unknown.len;

	first_print_findings(&unknown, NULL);
	struct page_news news = { str_head(buf_str(&unknown), verdict_len), str_skip(buf_str(&unknown), verdict_len) };

	if (d->judgement)
		news = d->judgement->news;
	/* Which findings a filter leaves is the script's to say. */
	if (asks_for_part(m))
		news.findings = STR_EMPTY;
	bool ok = page_fill(file, m->path, &news, out);

	buf_fini(&unknown);
	return ok;
}

bool page_answer(struct daemon *d, struct exchange *x, const struct message *m)
{
	struct page_file file;
	char headers[1024];
	struct buf plain, made;

	if (!str_is(m->method, "GET") || !page_find(m->path, &file))
		return false;
	bool packed = gzip_is_accepted(message_header(m, "Accept-Encoding")), ok = true;
	struct str body = file.packed;

	snprintf(headers, sizeof headers, "%sVary: Accept-Encoding\r\n%s", file.headers, packed ? "Content-Encoding: gzip\r\n" : "");
	buf_init(&plain, FILE_MOST);
	buf_init(&made, FILE_MOST);
	if (file.is_shell)
		ok = fill(d, &file, m, &plain) && (!packed || gzip_whole(buf_str(&plain), &made));
	else if (!packed)
		ok = page_unpack(&file, &plain);
	if (file.is_shell || !packed)
		body = buf_str(packed ? &made : &plain);
	self_count_request(&d->self, page_route_name(m->path), ok ? 200 : 500, 0, body.len);
	exchange_answer(x, ok ? 200 : 500, file.content_type, headers, ok ? body : STR_EMPTY);
	buf_fini(&plain);
	buf_fini(&made);
	return true;
}
