#include "scrape/recording.h"

#include "base/file.h"
#include "scrape/classify.h"
#include "scrape/redact.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

struct recorder {
	struct arena arena;
	char *folder;
	FILE *table;
	struct redactor *redactor; /* NULL: pages are saved as they came */
	struct map files;          /* names taken */
	size_t scrapes;
};

static bool recorder_error(struct error *e, const char *path, const char *what)
{
	error_set(e, EXIT_BAD_INPUT, "%s: %s", what, strerror(errno));
	error_source(e, str_from(path));
	return false;
}

struct recorder *recorder_new(const char *folder, const struct recorder_options *options, struct error *e)
{
	if (!folder_make(folder, e))
		return NULL;
	struct recorder *r = NEW(struct recorder);
	arena_init(&r->arena);
	map_init(&r->files);
	r->folder = arena_cstr(&r->arena, str_from(folder));
	const char *path = path_join(&r->arena, folder, STR("scrapes.tsv"));
	r->table = fopen(path, "wxe"); /* x: a recording is never written over */
	if (r->table) {
		fputs("when\ttarget\ttime_unix\tfile\thttp_status\tcontent_type\tduration_s\terror\n", r->table);
		r->redactor = !options || options->redact ? redactor_new() : NULL;
		return r;
	}
	if (errno == EEXIST) {
		error_set(e, EXIT_BAD_INPUT, "there is a recording in this folder already");
		error_source(e, str_from(folder));
		error_hint(e, "choose a folder that does not exist yet");
	} else {
		recorder_error(e, path, "cannot be written");
	}
	map_fini(&r->files);
	arena_fini(&r->arena);
	mem_free(r);
	return NULL;
}

/* Text for one cell: no tabs, no line breaks. */
static void cell_add(struct buf *out, struct str text)
{
	if (text.len == 0)
		buf_add_c(out, '-');
	for (size_t i = 0; i < text.len; i++)
		buf_add_c(out, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
}

/* "target.when.prom" in characters that every file system takes; a number makes it unique. */
static struct str file_name(struct recorder *r, struct str target, struct str when)
{
	struct buf name;
	struct str kept = STR_EMPTY;
	buf_init(&name, 200);
	struct str parts[] = { str_head(target, 80), str_head(when, 80) };
	for (int p = 0; p < 2; p++) {
		if (parts[p].len && name.len)
			buf_add_c(&name, '.');
		for (size_t i = 0; i < parts[p].len; i++) {
			char c = parts[p].ptr[i];
			bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
				     (c == '.' && name.len > 0);
			buf_add_c(&name, plain ? c : '_');
		}
	}
	bool made = false;
	for (size_t number = 1; !made; number++) {
		kept = number == 1 ? arena_printf(&r->arena, STR_FMT ".prom", STR_ARG(buf_str(&name)))
				   : arena_printf(&r->arena, STR_FMT "-%zu.prom", STR_ARG(buf_str(&name)), number);
		map_put(&r->files, kept, &made);
	}
	buf_fini(&name);
	return kept;
}

/* What may be saved of a body. With redaction only pages of samples can be cleaned; of all else stays what its class is recognised by. */
static void body_make(struct recorder *r, const struct http_answer *answer, struct buf *out)
{
	struct scrape_class class;
	if (!r->redactor) {
		buf_add(out, answer->body);
		return;
	}
	scrape_classify(answer, &class);
	if (class.page.len)
		redactor_page(r->redactor, class.page, out);
	else if (class.outcome == SCRAPE_HTML)
		buf_add_cstr(out, "<html></html>\n");
	else if (class.outcome == SCRAPE_JSON)
		buf_add_cstr(out, "{}\n");
}

static bool body_write(
	struct recorder *r, const struct http_answer *answer, struct str target, struct str when, struct str *file, struct error *e)
{
	struct buf body;
	bool ok = true;
	buf_init(&body, answer->body.len * 2 + 4096); /* a pseudonym is hardly longer than a name */
	body_make(r, answer, &body);
	*file = STR_EMPTY;
	if (body.overflowed) {
		ok = error_set(e, EXIT_INTERNAL, "the redacted page of " STR_FMT " is more than twice as long", STR_ARG(target));
	} else if (body.len > 0) {
		*file = file_name(r, target, when);
		ok = file_write(path_join(&r->arena, r->folder, *file), buf_str(&body), e);
	}
	buf_fini(&body);
	return ok;
}

bool recorder_add(struct recorder *r, struct str when, struct str target, const struct http_answer *answer, struct error *e)
{
	struct buf name, row;
	struct str file;
	buf_init(&name, 4096);
	buf_init(&row, 16384);
	if (r->redactor)
		redactor_target(r->redactor, target, &name);
	else
		buf_add(&name, target);
	bool ok = body_write(r, answer, buf_str(&name), when, &file, e);
	if (ok) {
		cell_add(&row, when);
		buf_add_c(&row, '\t');
		cell_add(&row, buf_str(&name));
		buf_printf(&row, "\t%lld.%03d\t", (long long)(answer->start_ms / 1000), (int)(answer->start_ms % 1000));
		cell_add(&row, file);
		buf_printf(&row, "\t%d\t", answer->status);
		cell_add(&row, str_head(answer->content_type, 200));
		if (isnan(answer->duration_s))
			buf_add_cstr(&row, "\t-");
		else
			buf_printf(&row, "\t%.6f", answer->duration_s);
		buf_printf(&row, "\t%s\n", answer->failure == HTTP_OK ? "-" : http_failure_name(answer->failure));
		/* A row at a time: what was recorded until a crash can be read. */
		ok = fwrite(row.ptr, 1, row.len, r->table) == row.len && fflush(r->table) == 0;
		if (!ok)
			recorder_error(e, r->folder, "scrapes.tsv cannot be written");
		r->scrapes++;
	}
	buf_fini(&name);
	buf_fini(&row);
	return ok;
}

void recorder_summary(const struct recorder *r, struct buf *out)
{
	if (r->redactor)
		redactor_summary(r->redactor, out);
	else
		buf_add_cstr(out, "nothing replaced: names of models, hosts, users and paths are in the files");
}

bool recorder_close(struct recorder *r, struct error *e)
{
	bool ok = fclose(r->table) == 0 || recorder_error(e, r->folder, "scrapes.tsv cannot be written");
	redactor_free(r->redactor);
	map_fini(&r->files);
	arena_fini(&r->arena);
	mem_free(r);
	return ok;
}
