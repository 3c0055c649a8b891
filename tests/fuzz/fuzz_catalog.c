/* fuzz_catalog: bytes as a catalogue file.
 *
 * - It loads, or is refused with a message and a place.
 * - Every expression of what loads prints as a text that parses to the same text and kind.
 * - A page that shows all names of the catalogue binds each metric to a name of its own. */
#include "base/buf.h"
#include "catalog/binding.h"
#include "catalog/expression.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

static void print_and_parse(struct catalog *c, const struct expression *x)
{
	struct arena arena;
	struct buf text, again;
	struct error e = { 0 };

	if (!x)
		return;
	arena_init(&arena);
	buf_init(&text, 1 << 16);
	buf_init(&again, 1 << 16);
	expression_print(x, &text);
	struct expression *parsed = expression_parse(&arena, c, STR("printed"), 1, 1, buf_str(&text), &e);

	REQUIRE(parsed && parsed->kind == x->kind);
	expression_print(parsed, &again);
	REQUIRE(str_eq(buf_str(&text), buf_str(&again)));
	buf_fini(&again);
	buf_fini(&text);
	arena_fini(&arena);
}

static void check_expressions(struct catalog *c)
{
	VEC_EACH (&c->signals, signal) {
		for (size_t i = 0; i < (*signal)->definition_count; i++) {
			print_and_parse(c, (*signal)->definitions[i].expression);
			print_and_parse(c, (*signal)->definitions[i].guard);
		}
	}
	VEC_EACH (&c->findings, finding) {
		print_and_parse(c, (*finding)->when);
		print_and_parse(c, (*finding)->critical);
	}
}

static void check_bound(const struct bound_metric *bound)
{
	bool own = false;

	if (!bound->name)
		return;
	for (size_t i = 0; i < bound->entry->name_count; i++)
		own = own || bound->name == &bound->entry->names[i];
	REQUIRE(own && bound->coverage == COVERAGE_PRESENT);
}

static void check_binding(struct catalog *c)
{
	struct arena arena;
	size_t count;

	arena_init(&arena);
	struct exposed_name *names = catalog_exposed_names(c, &arena, &count);
	struct shown_family *families = ARENA_ARRAY(&arena, struct shown_family, count);

	for (size_t i = 0; i < count; i++)
		families[i] = (struct shown_family){
			.name = names[i].name, .type = names[i].is_histogram ? METRIC_HISTOGRAM : METRIC_UNKNOWN, .has_samples = i % 3 != 0
		};
	struct binding *b = binding_new(&arena, c, families, count);

	for (size_t i = 0; i < c->metrics.count; i++)
		check_bound(&b->metrics[i]);
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct catalog c;
	struct error e = { 0 };

	if (!catalog_init_text(&c, false, STR("fuzz"), str_of((const char *)data, size), &e)) {
		REQUIRE(e.set && e.message[0] && e.line > 0);
		return 0;
	}
	check_expressions(&c);
	check_binding(&c);
	catalog_fini(&c);
	return 0;
}
