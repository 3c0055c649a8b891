/* Reading any page. Comments always go through the grammar. A sample's series does only where the page differs from the one
 * before: `next` goes along the remembered lines, and while the comments so far are the same ones in the same order, a line
 * that begins with the text of the next remembered line is the same series. Lines that are new are read by the grammar, lines
 * that are gone are stepped over. After comments that differ a name may mean another family, so all else is read by the grammar. */
#include "expo/reader.h"

struct full_read {
	struct expo_reader *r;
	struct grammar *g;
	const char *place;   /* line numbers are counted up to here */
	uint32_t line;       /* that of `place` */
	const char *element; /* where the comment or sample being read begins */
	const char *text;    /* where the text of the next remembered line begins */
	bool ended;          /* "# EOF" seen */
	/* The page before. */
	struct memory last;
	bool following;  /* `last` still applies */
	size_t next;     /* the line of `last` that is expected */
	bool block_seen; /* and the comments in front of it were seen */
};

static uint32_t line_number(struct full_read *f, const char *at)
{
	const char *feed;

	while ((feed = memchr(f->place, '\n', (size_t)(at - f->place)))) {
		f->line++;
		f->place = feed + 1;
	}
	f->place = at;
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
			family_table_add(&f->r->families, &m);
	}
	return true;
}

/* The comments in front of a remembered line, or behind the last one. */
static struct str last_block(const struct full_read *f, size_t index)
{
	const struct memory *last = &f->last;
	uint32_t at = index < last->lines.count ? last->lines.items[index].text : last->tail;

	return str_of(last->text.ptr + at, index < last->lines.count ? last->lines.items[index].comment_len : last->tail_len);
}

/* Moves `next` over the comments just read. When all samples between two blocks are gone they follow each other. */
static void follow_comments(struct full_read *f, struct str comments)
{
	while (comments.len && f->following) {
		size_t index = f->next + f->block_seen;

		while (index < f->last.lines.count && !f->last.lines.items[index].comment_len)
			index++;
		struct str block = index <= f->last.lines.count ? last_block(f, index) : STR_EMPTY;

		f->following = block.len && str_starts(comments, block);
		f->next = index;
		f->block_seen = true;
		comments = str_skip(comments, block.len);
	}
}

/* Takes the series and gap of the expected line, if they stand here. */
static struct series_record *follow_series(struct full_read *f)
{
	struct grammar *g = f->g;

	if (!f->following || f->next >= f->last.lines.count)
		return NULL;
	const struct line *line = &f->last.lines.items[f->next];
	struct str text = str_of(f->last.text.ptr + line->text + line->comment_len, line->text_len - line->comment_len);
	const char *start = g->at;

	if ((line->comment_len && !f->block_seen) || !str_starts(str_of(start, (size_t)(g->end - start)), text))
		return NULL;
	g->at += text.len;
	/* The classic text may have more blanks now, and behind them even the labels of another series. */
	if (g->format == EXPO_TEXT)
		grammar_skip_blanks(g);
	if (g->at < g->end && *g->at == '{') {
		g->at = start;
		return NULL;
	}
	f->next++;
	f->block_seen = false;
	return line->record;
}

/* A series that the grammar read: when it stands farther on under the same comments, the lines before it are gone. */
static void follow_jump(struct full_read *f, const struct series_record *record)
{
	const struct line *lines = f->last.lines.items;
	size_t index = record->line;

	if (!f->following || index >= f->last.lines.count || index < f->next || lines[index].record != record)
		return;
	if (lines[f->next].comment_len && !f->block_seen)
		return;
	if (lines[index].blocks == lines[f->next].blocks) {
		f->next = index + 1;
		f->block_seen = false;
	}
}

static struct series_record *read_series(struct full_read *f)
{
	struct series_text *s = &f->r->series_text;
	struct str family;
	enum metric_type type;
	bool changed;

	/* Prometheus would make the blanks part of the name. */
	if (f->element < f->g->at && *f->g->at != '{') {
		grammar_fail(f->g, f->element, "blanks in front of a sample");
		return NULL;
	}
	if (!grammar_series(f->g, s) || !grammar_gap(f->g))
		return NULL;
	family_table_find(&f->r->families, s->name, &family, &type);
	struct series_record *record = series_table_put(&f->r->series, s, family, type, &changed);

	follow_jump(f, record);
	/* Lines that are only recognised would not put the type right again. */
	if (changed)
		f->following = false;
	if (changed && record->page == f->r->page_number)
		f->r->memory.mixed = true;
	return record;
}

static void add_duplicate(struct expo_reader *r, struct str raw)
{
	if (r->page.duplicates++)
		return;
	buf_reset(&r->duplicate);
	buf_add(&r->duplicate, str_head(str_trim(raw), r->duplicate.max));
}

/* The index of the new sample, or LINE_NO_SAMPLE for a second one of its series without own time. */
static int32_t add_sample(struct full_read *f, struct series_record *record, struct str raw, const struct sample_tail *tail)
{
	struct expo_reader *r = f->r;
	struct expo_sample sample = { .series = &record->shown, .value = tail->value, .t_ms = tail->t_ms, .line = line_number(f, raw.ptr) };

	record->page = r->page_number;
	if (tail->t_ms == EXPO_NO_TIME && record->untimed_page == r->page_number) {
		add_duplicate(r, raw);
		return LINE_NO_SAMPLE;
	}
	if (tail->t_ms == EXPO_NO_TIME)
		record->untimed_page = r->page_number;
	VEC_PUSH(&r->samples, sample);
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

static void remember_line(
	struct full_read *f, struct str series_and_gap, const struct sample_tail *tail, int32_t sample, struct series_record *record)
{
	struct memory *m = &f->r->memory;
	const char *value = series_and_gap.ptr + series_and_gap.len;
	bool plain = tail->plain && tail->number.len <= LINE_NUMBER_MAX;
	uint32_t comment_len = (uint32_t)(series_and_gap.ptr - f->text);
	struct line line = {
		.text = remember_text(m, f->text, value),
		.text_len = (uint32_t)(value - f->text),
		.comment_len = comment_len,
		.blocks = (m->lines.count ? m->lines.items[m->lines.count - 1].blocks : 0) + (comment_len > 0),
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
	struct series_record *record = follow_series(f);
	struct sample_tail tail;

	if (!record)
		record = read_series(f);
	if (!record)
		return false;
	struct str series_and_gap = str_of(start, (size_t)(g->at - start));

	if (!grammar_tail(g, record->name, &tail, &f->r->exemplar_text))
		return false;
	remember_line(f, series_and_gap, &tail, add_sample(f, record, series_and_gap, &tail), record);
	return true;
}

static bool read_lines(struct full_read *f)
{
	struct grammar *g = f->g;

	for (;;) {
		f->text = g->at;
		if (!read_comments(f))
			return false;
		if (g->at == g->end)
			break;
		follow_comments(f, str_of(f->text, (size_t)(g->at - f->text)));
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

static bool same_series(const struct expo_sample *a, size_t a_count, const struct expo_sample *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++) {
		if (a[i].series != b[i].series)
			return false;
	}
	return true;
}

void reader_read_full(struct expo_reader *r, struct grammar *g)
{
	struct full_read f = { .r = r, .g = g, .place = g->at, .line = 1, .element = g->at, .last = r->memory };
	__typeof__(r->samples) last_samples = r->samples;

	f.following = r->memory.usable && !r->memory.mixed && r->memory.format == g->format;
	memory_init(&r->memory);
	r->memory.format = g->format;
	r->memory.usable = true;
	r->samples = (__typeof__(r->samples)){ 0 };
	VEC_RESERVE(&r->samples, last_samples.count);
	family_table_clear(&r->families);
	r->page.duplicates = 0;
	if (!read_lines(&f)) {
		r->memory.usable = false;
		r->page.dropped_lines = count_sample_lines(str_of(f.element, (size_t)(g->end - f.element)));
	}
	buf_reserve(&r->memory.text, READ_AHEAD);
	r->page.same_shape = same_series(r->samples.items, r->samples.count, last_samples.items, last_samples.count);
	VEC_FREE(&last_samples);
	memory_fini(&f.last);
}
