#include "base/file.h"
#include "base/log.h"
#include "model/records.h"

enum { FILE_MAX_GIB = 4 };

/* One object that names its parallel lists; ours begin with their schema. */
static bool is_vllm_result(struct str text)
{
	return str_starts(str_trim(str_head(text, 64)), STR("{")) && !str_starts(str_trim(str_head(text, 64)), STR("{\"schema\"")) &&
	       str_search(text, STR("\"ttfts\"")) >= 0;
}

bool records_load(struct records *r, struct arena *arena, const char *path, struct error *e)
{
	struct str text, source = str_from(strcmp(path, "-") == 0 ? "standard input" : path);
	struct buf ignored;
	bool ok;

	if (!file_read(arena, path, (size_t)FILE_MAX_GIB << 30, &text, e))
		return false;
	if (is_vllm_result(text)) {
		log_note("%s: a result of vllm bench serve, with its definitions: TTFT may be that of the role chunk, E2E ends with the "
			 "last one",
			path);
		return records_read_vllm(r, arena, source, text, e);
	}
	if (str_starts(str_trim(str_head(text, 64)), STR("{"))) {
		ok = records_read(r, arena, source, text, e);
		if (ok && r->cut_bytes)
			log_warning("%s: the last line is cut (%zu bytes), as by a run that was killed: left out", path, r->cut_bytes);
		return ok;
	}
	buf_init(&ignored, 4096);
	ok = records_read_table(r, arena, source, text, &ignored, e);
	if (ok && ignored.len)
		log_note("%s: columns left out: " STR_FMT, path, STR_ARG(buf_str(&ignored)));
	buf_fini(&ignored);
	return ok;
}
