/* The page's files: fixed, so the loop answers at once, whatever happens to the data. */
#include "serve/daemon.h"

#include "web/gzip.h"
#include "web/page.h"

#include <stdio.h>

enum { FILE_MOST = 4 << 20 };

bool page_answer(struct daemon *d, struct exchange *x, const struct message *m)
{
	struct page_file file;
	char headers[1024];
	struct buf plain;

	if (!str_is(m->method, "GET") || !page_find(m->path, &file))
		return false;
	bool packed = gzip_is_accepted(message_header(m, "Accept-Encoding"));

	snprintf(headers, sizeof headers, "%sVary: Accept-Encoding\r\n%s", file.headers, packed ? "Content-Encoding: gzip\r\n" : "");
	buf_init(&plain, FILE_MOST);
	bool ok = packed || page_unpack(&file, &plain);
	struct str body = packed ? file.packed : buf_str(&plain);

	self_count_request(&d->self, page_route_name(m->path), ok ? 200 : 500, 0, body.len);
	exchange_answer(x, ok ? 200 : 500, file.content_type, headers, ok ? body : STR_EMPTY);
	buf_fini(&plain);
	return true;
}
