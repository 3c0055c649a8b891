/* `counter_12.db`, `gauge_livesum_12.db`: what a file's name says, taken apart where Python takes it apart. */
#include "base/number.h"
#include "collect/internal.h"

#include <stdio.h>

const char *file_type_name(enum file_type t)
{
	static const char *const names[] = { "counter", "gauge", "summary", "histogram", "unknown" };

	return names[t];
}

bool file_name_is_ours(struct str name)
{
	return str_ends(name, STR(".db")) && name.ptr[0] != '.';
}

static bool type_parse(struct str word, enum file_type *type)
{
	for (int t = TYPE_COUNTER; t <= TYPE_UNKNOWN; t++)
		if (str_is(word, file_type_name((enum file_type)t))) {
			*type = (enum file_type)t;
			return true;
		}
	*type = TYPE_UNKNOWN;
	return str_is(word, "untyped");
}

const char *gauge_mode_name(enum gauge_mode m)
{
	static const char *const names[] = { "all", "min", "max", "sum", "mostrecent" };

	return names[m];
}

/* An unknown mode acts as `all`. */
static void mode_parse(struct str word, struct file_name *n)
{
	n->mode = MODE_ALL;
	n->live = str_starts(word, STR("live"));
	for (int m = MODE_ALL; m <= MODE_MOSTRECENT; m++)
		if (str_is(str_skip(word, n->live ? 4 : 0), gauge_mode_name((enum gauge_mode)m)))
			n->mode = (enum gauge_mode)m;
}

/* "12" or "12-api" behind the last '_': a process, and what tells two writers in it apart. */
static int64_t writer_of(struct str stem)
{
	size_t from = stem.len, digits = 0;
	int64_t pid;

	while (from && stem.ptr[from - 1] != '_')
		from--;
	struct str word = str_skip(stem, from);

	while (digits < word.len && word.ptr[digits] >= '0' && word.ptr[digits] <= '9')
		digits++;
	if (!from || !digits || (digits < word.len && word.ptr[digits] != '-'))
		return -1;
	return number_parse_i64(str_head(word, digits), &pid) && pid > 0 && pid <= INT32_MAX ? pid : -1;
}

void archive_name(const struct file_name *n, char *text)
{
	bool gauge = n->type == TYPE_GAUGE;

	snprintf(text, ARCHIVE_NAME_MAX, "%s%s%s_folded.db", file_type_name(n->type), gauge ? "_" : "",
		gauge ? gauge_mode_name(n->mode) : "");
}

/* A program may have chosen a name that ends like one. */
static bool is_archive(const struct file_name *n)
{
	char text[ARCHIVE_NAME_MAX];

	if (!str_ends(n->whole, STR("_folded.db")))
		return false;
	archive_name(n, text);
	return str_is(n->whole, text);
}

bool file_name_parse(struct str name, struct file_name *n, const char **why)
{
	struct str rest = name, part = STR_EMPTY;

	*n = (struct file_name){ .whole = name, .pid = writer_of(str_head(name, name.len - 3)) };
	str_split(&rest, '_', &part);
	if (!type_parse(part, &n->type)) {
		*why = "the name begins with no type of metric";
		return false;
	}
	if (n->type != TYPE_GAUGE) {
		n->folded = is_archive(n);
		return true;
	}
	if (!rest.ptr || !str_split(&rest, '_', &part) || !rest.ptr) {
		*why = "a gauge's name needs a mode and a process: gauge_MODE_PID.db";
		return false;
	}
	mode_parse(part, n);
	n->folded = is_archive(n);
	/* Python cuts three bytes off the third part, also where that is not ".db". */
	str_split(&rest, '_', &part);
	n->pid_label = str_head(part, part.len > 3 ? part.len - 3 : 0);
	n->pid_is_cut = rest.ptr != NULL;
	return true;
}
