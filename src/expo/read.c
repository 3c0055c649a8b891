#include "expo/reader.h"

struct expo_reader *expo_reader_new(void)
{
	struct expo_reader *r = NEW(struct expo_reader);

	family_table_init(&r->families);
	series_table_init(&r->series);
	series_text_init(&r->series_text);
	series_text_init(&r->exemplar_text);
	arena_init(&r->line_arena);
	buf_init(&r->memory.text, UINT32_MAX);
	buf_init(&r->duplicate, 4096);
	return r;
}

static void exemplars_clear(struct expo_reader *r)
{
	VEC_EACH (&r->exemplars, exemplar)
		labels_unref(exemplar->labels);
	r->exemplars.count = 0;
}

void expo_reader_free(struct expo_reader *r)
{
	if (!r)
		return;
	exemplars_clear(r);
	VEC_FREE(&r->exemplars);
	VEC_FREE(&r->samples);
	VEC_FREE(&r->last_samples);
	VEC_FREE(&r->memory.lines);
	buf_fini(&r->memory.text);
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
	exemplars_clear(r);
	r->samples.count = r->last_samples.count = 0;
	r->memory.usable = false;
	family_table_clear(&r->families);
	series_table_clear(&r->series);
	r->page = (struct expo_page){ 0 };
}

/* The full way. `place` and `line` go along the page so that each sample knows its line. */
struct full_read {
	struct expo_reader *r;
	struct grammar *g;
	const char *place;   /* counted up to here */
	uint32_t line;       /* that of `place` */
	const char *element; /* where the comment or sample being read begins */
	const char *text;    /* where the text of the next remembered line begins */
	size_t mentioned;    /* families before it */
	bool ended;          /* "# EOF" seen */
};

static uint32_t line_number(struct full_read *f, const char *at)
{
	for (; f->place < at; f->place++)
		f->line += *f->place == '\n';
	return f->line;
}

/* Blank lines, comments and metadata, up to a sample or the end. */
static bool read_comments(struct full_read *f)
{
	struct grammar *g = f->g;
	struct metadata m;

	while (g->at < g->end && !f->ended) {
		f->element = g->at;
		if (g->format == EXPO_TEXT)
			grammar_skip_blanks(g);
		if (g->at < g->end && *g->at == '\n' && g->format == EXPO_TEXT) {
			g->at++;
			continue;
		}
		if (g->at == g->end || *g->at != '#')
			break;
		arena_reset(&f->r->line_arena);
		if (!grammar_metadata(g, &f->r->line_arena, &m))
			return false;
		f->ended = m.kind == METADATA_EOF;
		if (m.kind == METADATA_HELP || m.kind == METADATA_TYPE || m.kind == METADATA_UNIT)
			family_table_add(&f->r->families, &m, f->mentioned);
	}
	return true;
}

static struct series_record *read_series(struct full_read *f)
{
	struct series_text *s = &f->r->series_text;
	struct str family;
	enum metric_type type;

	if (!grammar_series(f->g, s))
		return NULL;
	family_table_find(&f->r->families, s->name, f->r->families.list.count, &family, &type);
	return series_table_put(&f->r->series, s, family, type);
}

void reader_add_exemplar(struct expo_reader *r, size_t sample, const struct sample_tail *tail)
{
	const struct series_text *text = &r->exemplar_text;

	VEC_PUSH(&r->exemplars, (struct expo_exemplar){
					.sample = (uint32_t)sample,
					.labels = labels_new(text->labels.items, text->labels.count),
					.value = tail->exemplar_value,
					.t_ms = tail->exemplar_t_ms,
				});
}

/* The index of the new sample, or LINE_NO_SAMPLE for a second one of its series without own time. */
static int32_t add_sample(struct full_read *f, struct series_record *record, const struct sample_tail *tail, uint32_t line)
{
	struct expo_reader *r = f->r;

	if (tail->t_ms == EXPO_NO_TIME && record->page == r->page_number) {
		if (r->page.duplicates++ == 0) {
			buf_reset(&r->duplicate);
			buf_add(&r->duplicate, str_head(r->series_text.raw, r->duplicate.max));
		}
		return LINE_NO_SAMPLE;
	}
	if (tail->t_ms == EXPO_NO_TIME)
		record->page = r->page_number;
	VEC_PUSH(&r->samples, (struct expo_sample){ .series = &record->shown, .value = tail->value, .t_ms = tail->t_ms, .line = line });
	if (tail->has_exemplar)
		reader_add_exemplar(r, r->samples.count - 1, tail);
	return (int32_t)(r->samples.count - 1);
}

static uint32_t remember_text(struct memory *m, const char *from, const char *to)
{
	uint32_t at = (uint32_t)m->text.len;

	buf_add(&m->text, str_of(from, (size_t)(to - from)));
	return at;
}

static void remember_line(struct full_read *f, const char *series, const char *value, const struct sample_tail *tail, int32_t sample,
	struct series_record *record)
{
	struct memory *m = &f->r->memory;
	bool plain = tail->plain && tail->number.len <= LINE_NUMBER_MAX;
	struct line line = {
		.text = remember_text(m, f->text, value),
		.text_len = (uint32_t)(value - f->text),
		.comment_len = (uint32_t)(series - f->text),
		.families = (uint32_t)f->r->families.list.count,
		.sample = sample,
		.timed = tail->t_ms != EXPO_NO_TIME,
		.number_len = plain ? (uint8_t)tail->number.len : 0,
		.record = record,
	};

	if (plain) {
		memcpy(line.number, tail->number.ptr, tail->number.len);
		line.number[tail->number.len] = '\n';
	}
	/* "a-1": with other digits the name would read on, so what precedes the value does not decide where it begins. */
	if (!is_blank(value[-1]) && value[-1] != '}')
		m->usable = false;
	record->line = (uint32_t)m->lines.count;
	VEC_PUSH(&m->lines, line);
}

static bool read_sample(struct full_read *f)
{
	struct grammar *g = f->g;
	const char *start = g->at;
	struct series_record *record = read_series(f);
	struct sample_tail tail;

	if (!record || !grammar_gap(g))
		return false;
	const char *value = g->at;

	if (!grammar_tail(g, f->r->series_text.name, &tail, &f->r->exemplar_text))
		return false;
	remember_line(f, start, value, &tail, add_sample(f, record, &tail, line_number(f, start)), record);
	return true;
}

static bool read_lines(struct full_read *f)
{
	struct grammar *g = f->g;

	for (;;) {
		f->text = g->at;
		f->mentioned = f->r->families.list.count;
		if (!read_comments(f))
			return false;
		if (g->at == g->end)
			break;
		if (!read_sample(f))
			return false;
	}
	if (g->format == EXPO_OPENMETRICS && !f->ended) {
		f->element = g->end;
		grammar_fail(g, g->end, "the page does not end with \"# EOF\"");
		error_hint(g->error, "an OpenMetrics page without its last line \"# EOF\" was cut short");
		return false;
	}
	f->r->memory.tail_len = (uint32_t)(g->at - f->text);
	f->r->memory.tail = remember_text(&f->r->memory, f->text, g->at);
	return true;
}

static size_t count_sample_lines(struct str text)
{
	struct str line;
	size_t count = 0;

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		count += line.len && line.ptr[0] != '#';
	}
	return count;
}

static bool same_series(const struct expo_reader *r)
{
	if (r->samples.count != r->last_samples.count)
		return false;
	for (size_t i = 0; i < r->samples.count; i++) {
		if (r->samples.items[i].series != r->last_samples.items[i].series)
			return false;
	}
	return true;
}

static void forget_page(struct expo_reader *r)
{
	__typeof__(r->samples) old = r->last_samples;

	r->last_samples = r->samples;
	r->samples = old;
	r->samples.count = 0;
	exemplars_clear(r);
	family_table_clear(&r->families);
	buf_reset(&r->memory.text);
	r->memory.lines.count = 0;
	r->page.duplicates = 0;
	r->page.first_duplicate = STR_EMPTY;
}

static void read_full(struct expo_reader *r, struct grammar *g)
{
	struct full_read f = { .r = r, .g = g, .place = g->at, .line = 1, .element = g->at };

	forget_page(r);
	r->memory.format = g->format;
	r->memory.usable = true;
	if (!read_lines(&f)) {
		r->memory.usable = false;
		r->page.dropped_lines = count_sample_lines(str_of(f.element, (size_t)(g->end - f.element)));
	}
	buf_reserve(&r->memory.text, READ_AHEAD);
	r->page.same_shape = same_series(r);
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
	if (page->duplicates)
		page->first_duplicate = buf_str(&r->duplicate);
	return page;
}

static const struct expo_page *refuse_size(struct expo_reader *r, struct str source, enum expo_format format)
{
	forget_page(r);
	r->memory.usable = false;
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
	if (body.len > EXPO_PAGE_MAX)
		return refuse_size(r, source, format);
	exemplars_clear(r);
	if (r->memory.usable && r->memory.format == format && reader_read_fast(r, &g)) {
		r->page.same_shape = true;
	} else {
		error_clear(&r->page.error);
		g.at = g.body.ptr;
		read_full(r, &g);
	}
	return finish_page(r, format);
}
