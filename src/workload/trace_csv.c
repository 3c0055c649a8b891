/* Traces as CSV: columns are found by their names. */
#include "base/clock.h"
#include "base/number.h"
#include "workload/trace_reader.h"

enum { COLUMNS_MAX = 16 };
enum column { COLUMN_TIME, COLUMN_PROMPT, COLUMN_OUTPUT, COLUMN_COUNT };

static const char *const azure_names[] = { "TIMESTAMP", "ContextTokens", "GeneratedTokens" };
static const char *const burst_names[] = { "Timestamp", "Request tokens", "Response tokens" };

struct csv {
	size_t at[COLUMN_COUNT], columns;
	bool burst;
};

static size_t cells_of(struct str line, struct str cell[COLUMNS_MAX])
{
	size_t count = 0;

	while (count < COLUMNS_MAX && str_split(&line, ',', &cell[count])) {
		cell[count] = str_trim(cell[count]);
		count++;
	}
	return count;
}

static bool find_columns(struct csv *c, const struct str *cell, const char *const *names)
{
	for (size_t k = 0; k < COLUMN_COUNT; k++) {
		size_t i = 0;

		while (i < c->columns && !str_is(cell[i], names[k]))
			i++;
		if (i == c->columns)
			return false;
		c->at[k] = i;
	}
	return true;
}

/* "2023-11-16 18:17:03.9799600": time_parse stops at milliseconds, so the fraction is read apart. */
static bool civil_time(struct str text, double *seconds)
{
	char iso[48];
	int64_t ms;
	double fraction = 0;

	if (str_ends(text, STR("+00:00"))) /* Azure 2024 */
		text.len -= 6;
	if (text.len < 19 || (text.ptr[10] != ' ' && text.ptr[10] != 'T') || (text.len > 19 && text.ptr[19] != '.'))
		return false;
	snprintf(iso, sizeof iso, "%.10sT%.8sZ", text.ptr, text.ptr + 11);
	if (!time_parse(str_from(iso), 0, &ms) || (text.len > 19 && !number_parse(str_skip(text, 19), &fraction)))
		return false;
	*seconds = (double)ms / 1e3 + fraction;
	return true;
}

static bool read_tokens(struct trace_reader *t, struct str cell, uint32_t *tokens)
{
	int64_t value;

	return number_parse_i64(cell, &value) && trace_tokens(t, value, tokens);
}

static bool read_line(struct trace_reader *t, const struct csv *c, struct str line)
{
	struct workload_row row = { 0 };
	struct str cell[COLUMNS_MAX];
	double seconds;

	if (cells_of(line, cell) != c->columns)
		return trace_bad(t, line,
			c->columns == COLUMN_COUNT ? "three fields are expected: TIMESTAMP,ContextTokens,GeneratedTokens"
						   : "this line has not as many fields as the header");
	struct str time = cell[c->at[COLUMN_TIME]], prompt = cell[c->at[COLUMN_PROMPT]], output = cell[c->at[COLUMN_OUTPUT]];

	if (!civil_time(time, &seconds) && !(c->burst && number_parse(time, &seconds)))
		return trace_bad(t, time, "this field is no time such as 2023-11-16 18:17:03.97");
	if (c->burst && str_is(output, "0")) {
		t->trace->failed++;
		return true;
	}
	if (!read_tokens(t, prompt, &row.prompt))
		return trace_bad(t, prompt, c->burst ? "Request tokens is no number of tokens" : "ContextTokens is no number of tokens");
	if (!read_tokens(t, output, &row.output))
		return trace_bad(t, output, c->burst ? "Response tokens is no number of tokens" : "GeneratedTokens is no number of tokens");
	return trace_add(t, line, seconds, row);
}

/* True: the line was a header. */
static bool read_header(struct trace_reader *t, struct csv *c, struct str line)
{
	struct str cell[COLUMNS_MAX];

	c->columns = cells_of(line, cell);
	c->burst = !find_columns(c, cell, azure_names) && find_columns(c, cell, burst_names);
	t->trace->kind = c->burst ? "burstgpt" : "azure";
	if (c->burst || find_columns(c, cell, azure_names))
		return true;
	*c = (struct csv){ .at = { 0, 1, 2 }, .columns = COLUMN_COUNT };
	return false;
}

bool trace_csv(struct trace_reader *t)
{
	struct str rest = t->text, line;
	struct csv c = { 0 };

	while (str_split(&rest, '\n', &line)) {
		line = str_trim(line);
		if (!line.len || (!c.columns && read_header(t, &c, line)))
			continue;
		if (!read_line(t, &c, line))
			return false;
	}
	return true;
}
