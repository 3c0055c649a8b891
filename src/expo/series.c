#include "expo/tables.h"

#include <math.h>
#include <stdio.h>

void series_table_init(struct series_table *t)
{
	*t = (struct series_table){ 0 };
	arena_init(&t->memory);
}

void series_table_clear(struct series_table *t)
{
	for (size_t i = 0; i < t->slot_count; i++) {
		if (t->slots[i])
			labels_unref(t->slots[i]->shown.labels);
	}
	mem_free(t->slots);
	t->slots = NULL;
	t->slot_count = t->count = 0;
	arena_reset(&t->memory);
}

void series_table_fini(struct series_table *t)
{
	series_table_clear(t);
	arena_fini(&t->memory);
}

/* The slot of these labels, or the free one where they belong. */
static struct series_record **slot_of(const struct series_table *t, const struct labels *labels)
{
	for (size_t i = labels->hash & (t->slot_count - 1);; i = (i + 1) & (t->slot_count - 1)) {
		struct series_record *record = t->slots[i];

		if (!record || (record->shown.labels->hash == labels->hash && labels_eq(record->shown.labels, labels)))
			return &t->slots[i];
	}
}

static void series_table_grow(struct series_table *t)
{
	struct series_table old = *t;

	t->slot_count = old.slot_count ? old.slot_count * 2 : 256;
	t->slots = mem_zalloc(t->slot_count, sizeof(struct series_record *));
	for (size_t i = 0; i < old.slot_count; i++) {
		if (old.slots[i])
			*slot_of(t, old.slots[i]->shown.labels) = old.slots[i];
	}
	mem_free(old.slots);
}

/* A bound as Prometheus 3 writes it: shortest, with ".0" when it would look whole. `text` needs 40 bytes. */
static size_t bound_format(double value, char *text)
{
	char shortest[NUMBER_TEXT_MAX], digits[32];
	size_t count = 0, length = number_format(value, shortest);
	int exponent = 0;

	if (!isfinite(value)) {
		memcpy(text, shortest, length + 1);
		return length;
	}
	/* Go's 'g' wants the exponent form from 1e6 on and below 1e-4; number_format's limits are others. */
	double size = fabs(value);

	if (size == 0)
		return (size_t)snprintf(text, 40, "0.0");
	if (size >= 1e-4 && size < 1e6) {
		memcpy(text, shortest, length + 1);
		return strpbrk(text, ".e") ? length : length + (size_t)snprintf(text + length, 3, ".0");
	}
	/* The significant digits, and the exponent of the first. */
	bool negative = shortest[0] == '-', point = false, begun = false;
	const char *at = shortest + negative;

	for (; *at && *at != 'e'; at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		begun |= *at != '0';
		if (begun && count < sizeof digits)
			digits[count++] = *at;
		exponent += begun ? !point : -(int)point;
	}
	if (*at == 'e') {
		int64_t written = 0;

		number_parse_i64(str_from(at + 1), &written);
		exponent += (int)written;
	}
	while (count > 1 && digits[count - 1] == '0')
		count--;
	return (size_t)snprintf(text, 40, "%s%c%s%.*se%+03d", negative ? "-" : "", digits[0], count > 1 ? "." : "", (int)count - 1,
		digits + 1, exponent - 1);
}

/* le="1" of one page and le="1.0" of another are one bound. Texts that are no number stay. */
static void normalise_bounds(struct series_text *s, enum metric_type type)
{
	struct str name = type == METRIC_HISTOGRAM ? STR("le") : STR("quantile");

	if (type != METRIC_HISTOGRAM && type != METRIC_SUMMARY)
		return;
	for (size_t i = 1; i < s->labels.count; i++) {
		struct label *label = &s->labels.items[i];
		char text[40];
		double value;

		if (str_eq(label->name, name) && value_parse(label->value, &value))
			label->value = arena_str(&s->unescaped, str_of(text, bound_format(value, text)));
	}
}

static struct series_record *record_new(struct series_table *t, struct labels *labels, struct str family, enum metric_type type)
{
	struct series_record *record = ARENA_NEW(&t->memory, struct series_record);

	record->shown = (struct expo_series){ .labels = labels, .family = arena_str(&t->memory, family), .type = type };
	record->name = labels_name(labels);
	record->line = UINT32_MAX;
	t->count++;
	return record;
}

/* A page of `a{instance=""}` says more than one of `a`: where exposed labels win, it has no instance. */
static void record_note_empty(struct series_table *t, struct expo_series *shown, const struct series_text *s)
{
	struct str *names = NULL;

	for (size_t i = 0; i < s->labels.count; i++) {
		if (s->labels.items[i].value.len)
			continue;
		if (!names)
			shown->empty = names = ARENA_ARRAY(&t->memory, struct str, s->labels.count);
		names[shown->empty_count++] = arena_str(&t->memory, s->labels.items[i].name);
	}
}

static bool record_change(struct series_table *t, struct series_record *record, struct str family, enum metric_type type)
{
	struct expo_series *shown = &record->shown;
	bool same_family = str_eq(shown->family, family), changed = !same_family || shown->type != type;

	if (!same_family)
		shown->family = arena_str(&t->memory, family);
	shown->type = type;
	return changed;
}

struct series_record *series_table_put(
	struct series_table *t, struct series_text *s, struct str family, enum metric_type type, bool *changed)
{
	normalise_bounds(s, type);
	struct labels *labels = labels_new(s->labels.items, s->labels.count);

	if (t->count * 2 >= t->slot_count)
		series_table_grow(t);
	struct series_record **slot = slot_of(t, labels);

	if (*slot) {
		labels_unref(labels);
		*changed = record_change(t, *slot, family, type);
	} else {
		*slot = record_new(t, labels, family, type);
		record_note_empty(t, &(*slot)->shown, s);
		*changed = false;
	}
	return *slot;
}
