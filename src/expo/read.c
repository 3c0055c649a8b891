#include "expo/reader.h"

void memory_init(struct memory *m)
{
	*m = (struct memory){ 0 };
	buf_init(&m->text, UINT32_MAX);
}

void memory_fini(struct memory *m)
{
	VEC_FREE(&m->lines);
	buf_fini(&m->text);
}

struct expo_reader *expo_reader_new(void)
{
	struct expo_reader *r = NEW(struct expo_reader);

	family_table_init(&r->families);
	series_table_init(&r->series);
	series_text_init(&r->series_text);
	series_text_init(&r->exemplar_text);
	arena_init(&r->line_arena);
	memory_init(&r->memory);
	buf_init(&r->duplicate, 4096);
	return r;
}

void reader_forget_exemplars(struct expo_reader *r)
{
	VEC_EACH (&r->exemplars, exemplar)
		labels_unref(exemplar->labels);
	r->exemplars.count = 0;
}

void reader_add_exemplar(struct expo_reader *r, size_t sample, const struct sample_tail *tail)
{
	const struct series_text *text = &r->exemplar_text;
	struct expo_exemplar exemplar = {
		.sample = (uint32_t)sample,
		.labels = labels_new(text->labels.items, text->labels.count),
		.value = tail->exemplar_value,
		.t_ms = tail->exemplar_t_ms,
	};

	VEC_PUSH(&r->exemplars, exemplar);
}

void expo_reader_free(struct expo_reader *r)
{
	if (!r)
		return;
	reader_forget_exemplars(r);
	VEC_FREE(&r->exemplars);
	VEC_FREE(&r->samples);
	memory_fini(&r->memory);
	buf_fini(&r->duplicate);
	family_table_fini(&r->families);
	series_table_fini(&r->series);
	series_text_fini(&r->series_text);
	series_text_fini(&r->exemplar_text);
	arena_fini(&r->line_arena);
	mem_free(r);
}

void expo_reader_reset(struct expo_reader *r)
{
	reader_forget_exemplars(r);
	r->samples.count = 0;
	memory_fini(&r->memory);
	memory_init(&r->memory);
	family_table_clear(&r->families);
	series_table_clear(&r->series);
	r->page = (struct expo_page){ 0 };
}

static const struct expo_page *finish_page(struct expo_reader *r, enum expo_format format)
{
	struct expo_page *page = &r->page;

	page->format = format;
	page->samples = r->samples.items;
	page->sample_count = r->samples.count;
	page->exemplars = r->exemplars.items;
	page->exemplar_count = r->exemplars.count;
	page->families = r->families.list.items;
	page->family_count = r->families.list.count;
	page->series_known = r->series.count;
	page->first_duplicate = page->duplicates ? buf_str(&r->duplicate) : STR_EMPTY;
	return page;
}

static const struct expo_page *refuse_size(struct expo_reader *r, struct str source, enum expo_format format)
{
	r->samples.count = 0;
	family_table_clear(&r->families);
	r->memory.usable = false;
	r->page.duplicates = 0;
	r->page.same_shape = false;
	error_set(&r->page.error, EXIT_BAD_INPUT, "the page is larger than %d bytes", EXPO_PAGE_MAX);
	error_source(&r->page.error, source);
	return finish_page(r, format);
}

const struct expo_page *expo_read(struct expo_reader *r, struct str source, struct str body, enum expo_format format)
{
	struct grammar g = { .source = source, .body = body.ptr ? body : STR(""), .format = format, .error = &r->page.error };

	g.at = g.body.ptr;
	g.end = g.body.ptr + g.body.len;
	r->page_number++;
	r->page.dropped_lines = 0;
	error_clear(&r->page.error);
	reader_forget_exemplars(r);
	if (body.len > EXPO_PAGE_MAX)
		return refuse_size(r, source, format);
	if (r->memory.usable && r->memory.format == format && reader_read_fast(r, &g)) {
		r->page.same_shape = true;
	} else {
		error_clear(&r->page.error);
		reader_forget_exemplars(r);
		g.at = g.body.ptr;
		reader_read_full(r, &g);
	}
	return finish_page(r, format);
}

const struct expo_page *expo_reader_page(const struct expo_reader *r)
{
	return &r->page;
}
