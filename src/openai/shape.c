#include "openai/shape.h"
#include "base/mem.h"

enum { SHAPE_BYTES_MAX = 1008, SHAPE_HOLES_MAX = 3, SHAPE_TRIES = 8 };

enum hole { HOLE_TEXT, HOLE_COMPLETION, HOLE_TOTAL };

/* part[0] hole[0] part[1] hole[1] ... part[hole_count], the parts one behind the other in `bytes`. */
struct openai_shape {
	uint16_t part_len[SHAPE_HOLES_MAX + 1];
	uint8_t holes[SHAPE_HOLES_MAX];
	uint8_t hole_count; /* 0: no shape */
	uint8_t misses;     /* learnt without a match since */
	bool is_reasoning, has_usage;
	char bytes[SHAPE_BYTES_MAX];
};

struct place {
	enum hole hole;
	size_t from, len; /* in the event's data */
};

void shape_forget(struct openai_shape *shape)
{
	if (shape)
		shape->hole_count = shape->misses = 0;
}

void shape_free(struct openai_shape *shape)
{
	mem_free(shape);
}

/* ---- matching ---- */

static bool take_text(struct str *rest, struct shape_match *match)
{
	struct json_reader r;

	json_reader_init(&r, *rest);
	if (!json_read_string(&r, &match->text, &match->escaped))
		return false;
	*rest = str_skip(*rest, (size_t)(r.at - r.start));
	return true;
}

static bool take_number(struct str *rest, uint32_t *number)
{
	size_t len = 0;
	uint32_t value = 0;

	for (; len < rest->len && len < 10 && rest->ptr[len] >= '0' && rest->ptr[len] <= '9'; len++)
		value = value * 10 + (uint32_t)(rest->ptr[len] - '0');
	if (!len || len > 9 || (len > 1 && rest->ptr[0] == '0'))
		return false;
	*rest = str_skip(*rest, len);
	*number = value;
	return true;
}

static bool take_hole(struct str *rest, enum hole hole, struct shape_match *match)
{
	uint32_t ignored;

	if (hole == HOLE_TEXT)
		return rest->len && rest->ptr[0] == '"' && take_text(rest, match);
	return take_number(rest, hole == HOLE_COMPLETION ? &match->completion_tokens : &ignored);
}

bool shape_match(struct openai_shape *shape, struct str data, struct shape_match *match)
{
	struct str rest = data;
	const char *part;

	if (!shape || !shape->hole_count)
		return false;
	part = shape->bytes;
	for (int i = 0;; i++) {
		size_t len = shape->part_len[i];

		if (rest.len < len || memcmp(rest.ptr, part, len) != 0)
			return false;
		rest = str_skip(rest, len);
		part += len;
		if (i == shape->hole_count)
			break;
		if (!take_hole(&rest, (enum hole)shape->holes[i], match))
			return false;
	}
	if (rest.len)
		return false;
	match->is_reasoning = shape->is_reasoning;
	match->has_usage = shape->has_usage;
	shape->misses = 0;
	return true;
}

/* ---- learning ---- */

/* The one choice of the event, when all that it says is a text. */
static bool plain_choice(const struct event *e, struct event_choice *only)
{
	struct event_choice more;
	struct json_reader r;

	if (!e->choices.len || e->prompt_ids)
		return false;
	json_reader_init(&r, e->choices);
	if (!event_next_choice(&r, only) || event_next_choice(&r, &more) || r.bad)
		return false;
	return !only->index && !only->ids && !only->logprobs && !only->finish.len && !only->other_content && !only->tools.len &&
	       !only->text.len == !!only->reasoning.len;
}

/* Where the counts that grow stand in the usage object. False: it has another form. */
static bool find_counts(struct str data, const struct event *e, struct place *places, size_t *count)
{
	bool has_completion = false;
	struct json_reader r;
	struct str key;

	json_reader_init(&r, e->usage_text);
	if (!json_read_object(&r))
		return false;
	while (json_read_member(&r, &key)) {
		bool completion = str_is(key, "completion_tokens"), total = str_is(key, "total_tokens");
		enum json_kind kind = json_read_peek(&r);
		struct str value = json_read_skip(&r);

		if (!completion && !total)
			continue;
		if (kind != JSON_KIND_NUMBER || *count == SHAPE_HOLES_MAX)
			return false;
		has_completion |= completion;
		places[(*count)++] = (struct place){ completion ? HOLE_COMPLETION : HOLE_TOTAL, (size_t)(value.ptr - data.ptr), value.len };
	}
	return has_completion;
}

static void sort_places(struct place *places, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = i; k > 0 && places[k].from < places[k - 1].from; k--) {
			struct place swap = places[k];

			places[k] = places[k - 1];
			places[k - 1] = swap;
		}
}

static void store(struct openai_shape *shape, struct str data, const struct place *places, size_t count)
{
	size_t from = 0, used = 0;

	for (size_t i = 0; i <= count; i++) {
		size_t to = i < count ? places[i].from : data.len, len = to - from;

		memcpy(shape->bytes + used, data.ptr + from, len);
		shape->part_len[i] = (uint16_t)len;
		used += len;
		if (i < count) {
			shape->holes[i] = (uint8_t)places[i].hole;
			from = to + places[i].len;
		}
	}
	shape->hole_count = (uint8_t)count;
}

void shape_learn(struct openai_shape **shape, struct str data, const struct event *e)
{
	struct place places[SHAPE_HOLES_MAX];
	struct event_choice choice;
	size_t count = 1;

	if ((*shape && (*shape)->misses == SHAPE_TRIES) || data.len > SHAPE_BYTES_MAX || !plain_choice(e, &choice))
		return;
	struct str text = choice.text.len ? choice.text : choice.reasoning;

	places[0] = (struct place){ HOLE_TEXT, (size_t)(text.ptr - data.ptr) - 1, text.len + 2 }; /* with its quotes */
	if (e->usage_text.len && !e->has_usage && e->usage_text.ptr[0] == '{')
		return;
	if (e->has_usage && !find_counts(data, e, places, &count))
		return;
	sort_places(places, count);
	if (!*shape)
		*shape = NEW(struct openai_shape);
	store(*shape, data, places, count);
	(*shape)->misses++;
	(*shape)->is_reasoning = choice.reasoning.len > 0;
	(*shape)->has_usage = e->has_usage;
}
