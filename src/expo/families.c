#include "expo/tables.h"

void family_table_init(struct family_table *t)
{
	*t = (struct family_table){ 0 };
	map_init(&t->by_name);
	arena_init(&t->texts);
}

void family_table_fini(struct family_table *t)
{
	VEC_FREE(&t->list);
	VEC_FREE(&t->typed);
	map_fini(&t->by_name);
	arena_fini(&t->texts);
}

void family_table_clear(struct family_table *t)
{
	t->list.count = t->typed.count = 0;
	map_clear(&t->by_name);
	arena_reset(&t->texts);
}

static size_t family_index(struct family_table *t, struct str name)
{
	bool made;
	struct map_entry *entry = map_put(&t->by_name, name, &made);

	if (made) {
		VEC_PUSH(&t->list, (struct expo_family){ .name = arena_str(&t->texts, name), .type = METRIC_UNKNOWN });
		VEC_PUSH(&t->typed, false);
		entry->value = (void *)(uintptr_t)t->list.count;
	}
	return (size_t)(uintptr_t)entry->value - 1;
}

void family_table_add(struct family_table *t, const struct metadata *m)
{
	size_t index = family_index(t, m->name);
	struct expo_family *family = &t->list.items[index];

	if (m->kind == METADATA_HELP)
		family->help = arena_str(&t->texts, text_unescape(&t->texts, m->text, m->quotes_escaped));
	if (m->kind == METADATA_UNIT)
		family->unit = arena_str(&t->texts, m->text);
	if (m->kind != METADATA_TYPE)
		return;
	family->type = m->type;
	t->typed.items[index] = true;
}

static bool family_typed(const struct family_table *t, struct str name, const struct expo_family **family)
{
	size_t index = (size_t)(uintptr_t)map_get(&t->by_name, name);

	if (!index || !t->typed.items[index - 1])
		return false;
	*family = &t->list.items[index - 1];
	return true;
}

#define TYPE_BIT(type) (1u << METRIC_##type)

/* What a type's samples are called behind the family's name. */
static const struct {
	struct str suffix;
	unsigned types;
} suffixes[] = {
	{ { "_bucket", 7 }, TYPE_BIT(HISTOGRAM) | TYPE_BIT(GAUGE_HISTOGRAM) },
	{ { "_count", 6 }, TYPE_BIT(HISTOGRAM) | TYPE_BIT(SUMMARY) },
	{ { "_sum", 4 }, TYPE_BIT(HISTOGRAM) | TYPE_BIT(SUMMARY) },
	{ { "_total", 6 }, TYPE_BIT(COUNTER) },
	{ { "_created", 8 }, TYPE_BIT(COUNTER) | TYPE_BIT(HISTOGRAM) | TYPE_BIT(SUMMARY) },
	{ { "_gcount", 7 }, TYPE_BIT(GAUGE_HISTOGRAM) },
	{ { "_gsum", 5 }, TYPE_BIT(GAUGE_HISTOGRAM) },
	{ { "_info", 5 }, TYPE_BIT(INFO) },
};

bool family_table_find(const struct family_table *t, struct str sample_name, struct str *name, enum metric_type *type)
{
	const struct expo_family *family = NULL;
	bool found = family_typed(t, sample_name, &family);

	/* At most one suffix fits, as none ends with another behind its '_'. */
	for (size_t i = 0; i < ARRAY_LEN(suffixes) && !found; i++) {
		if (!str_ends(sample_name, suffixes[i].suffix))
			continue;
		struct str stem = str_head(sample_name, sample_name.len - suffixes[i].suffix.len);

		found = family_typed(t, stem, &family) && (suffixes[i].types >> family->type & 1);
		break;
	}
	*name = found ? family->name : sample_name;
	*type = found ? family->type : METRIC_UNKNOWN;
	return found;
}
