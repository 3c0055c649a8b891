#include "net/web_page.h"

enum { TITLE_WITHIN = 4096, TITLE_MAX = 160 };

bool web_page_is(struct str body)
{
	return str_starts(str_trim(str_head(body, TITLE_WITHIN)), STR("<"));
}

static struct str title_of(struct str body)
{
	ptrdiff_t from = str_search(str_head(body, TITLE_WITHIN), STR("<title>"));
	struct str title = from < 0 ? STR_EMPTY : str_skip(body, (size_t)from + 7);
	ptrdiff_t to = str_find(title, '<');

	title = to > 0 ? str_trim(str_head(title, (size_t)to)) : STR_EMPTY;
	return str_is_utf8(str_head(title, TITLE_MAX)) ? str_head(title, TITLE_MAX) : STR_EMPTY;
}

bool web_page_phrase(struct str body, struct buf *out)
{
	struct str title = title_of(body);

	buf_add_cstr(out, "a web page");
	if (title.len)
		buf_printf(out, " titled \"" STR_FMT "\"", STR_ARG(title));
	return title.len;
}
