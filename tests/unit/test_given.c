/* Comparisons of figures that a monitor estimated: what chance may do, bounds, counts, and what is not known. */
#include "compare/given.h"

#include "base/vec.h"
#include "slo/quantile.h"

#include "unit.h"

#include <math.h>

enum { FIGURES_MAX = 16 };

struct scene {
	struct given_figure figures[FIGURES_MAX];
	struct given given;
	struct compare_policy policy;
	struct compare_result result;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ 0 };
	s->given = (struct given){ .figures = s->figures, .seconds_a = 600, .seconds_b = 600, .hit_rate_a = NAN, .hit_rate_b = NAN };
	s->policy = (struct compare_policy){ .name = STR("own"), .confidence = 0.95 };
}

static struct given_figure *scene_add(struct scene *s, const char *id, struct estimate a, struct estimate b, enum given_ends ends)
{
	struct given_figure *f = &s->figures[s->given.figure_count++];

	*f = (struct given_figure){ .spec = given_spec_find(id), .a = a, .b = b, .ends_a = ends, .ends_b = ends };
	assert_non_null(f->spec);
	return f;
}

static void scene_item(struct scene *s, const char *id, double margin, bool required)
{
	s->policy.items[s->policy.item_count++] = (struct compare_item){ compare_spec_find(str_from(id)), margin, 0, required };
}

static void scene_compare(struct scene *s)
{
	compare_given(&s->given, &s->policy, false, &s->result);
}

static struct estimate within(double value, double reach, size_t count)
{
	return (struct estimate){ value, value - reach, value + reach, count };
}

static struct estimate between(double low, double high)
{
	return (struct estimate){ NAN, low, high, 1000 };
}

/* Ten requests a second, and TTFT as it was. */
static void scene_calm(struct scene *s)
{
	scene_init(s);
	scene_add(s, "throughput_rps", within(10, 0.2, 6000), within(10, 0.2, 6000), GIVEN_PARTS);
	scene_add(s, "ttft_p99", within(100, 1, 6000), within(100, 1, 6000), GIVEN_REQUESTS);
	scene_item(s, "ttft_p99", 0.1, true);
}

static void test_calm_passes(void **state)
{
	struct scene s;

	scene_calm(&s);
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_PASS);
	assert_int_equal(s.result.reason_count, 0);
}

/* Arrivals of short windows differ by chance: that is no other load. */
static void test_load_by_chance(void **state)
{
	struct scene s;

	scene_calm(&s);
	scene_add(&s, "offered_rps", within(1, 0.3, 60), within(1.2, 0.3, 72), GIVEN_PARTS);
	scene_compare(&s);
	assert_int_equal(s.result.reason_count, 0);
	scene_calm(&s);
	scene_add(&s, "offered_rps", within(1, 0.03, 6000), within(1.2, 0.03, 7200), GIVEN_PARTS);
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_NOT_COMPARABLE);
	assert_int_equal(s.result.reasons[0].obstacle, COMPARE_CONCURRENCY);
	scene_calm(&s); /* for certain, though no value is known */
	scene_add(&s, "offered_rps", between(1, 1.1), between(2, NAN), GIVEN_BOUNDS);
	scene_compare(&s);
	assert_int_equal(s.result.reasons[0].obstacle, COMPARE_CONCURRENCY);
}

/* None before and many now is worse; none on both sides is not. */
static void test_preemptions(void **state)
{
	struct scene s;

	scene_calm(&s);
	scene_item(&s, "preemptions", 0.5, true);
	scene_add(&s, "preemptions", within(0, NAN, 0), within(300, NAN, 1800), GIVEN_REQUESTS);
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_FAIL);
	assert_true(compare_panel(&s.result, "preemptions")->change.low > 1);
	s.figures[2].b = within(0, NAN, 0);
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_PASS);
}

/* Bounds are neither widened nor halved: the change lies between the least and the most that they leave open. */
static void test_bounds(void **state)
{
	struct scene s;
	const struct compare_panel *p;

	scene_calm(&s);
	scene_item(&s, "goodput", 0.03, true);
	scene_add(&s, "goodput", between(0.9, 0.95), between(0.5, 0.8), GIVEN_BOUNDS);
	scene_compare(&s);
	p = compare_panel(&s.result, "goodput");
	assert_true(isnan(p->a.value) && p->a.low == 0.9 && p->b.high == 0.8);
	assert_true(isnan(p->change.value) && fabs(p->change.low + 0.45) < 1e-9 && fabs(p->change.high + 0.1) < 1e-9);
	assert_int_equal(s.result.verdict, COMPARE_FAIL);
	s.figures[2].b = between(0.7, 0.93);
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_INCONCLUSIVE);
	assert_true(isnan(s.result.rulings[1].seconds_needed)); /* more load does not help */
	s.figures[2].a = s.figures[2].b = (struct estimate){ 1, NAN, NAN, 1000 };
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_PASS);
}

/* Widened intervals stay where the figure can be. */
static void test_ends_that_can_be(void **state)
{
	struct scene s;
	const struct compare_panel *p;

	scene_calm(&s);
	scene_add(
		&s, "error_share", (struct estimate){ 0.01, 0.001, 0.03, 500 }, (struct estimate){ 0.97, 0.9, 0.99, 500 }, GIVEN_REQUESTS);
	scene_compare(&s);
	p = compare_panel(&s.result, "error_share");
	assert_true(p->a.low == 0 && p->b.high == 1 && p->change.high <= 1);
	assert_true(p->a.high > 0.03 && p->b.low < 0.9);
}

/* How long it has to be depends on the confidence through the quantile alone: the error is the same. */
static void test_how_long(void **state)
{
	static const double confidences[] = { 0.95, 0.999 };
	double needed[2], wanted[2];
	struct scene s;

	for (int i = 0; i < 2; i++) {
		scene_calm(&s);
		s.figures[1].a = within(100, 2, 2000);
		s.figures[1].b = within(104, 2, 2000);
		s.policy.confidence = confidences[i];
		s.policy.items[0].margin = 0.03;
		scene_compare(&s);
		assert_int_equal(s.result.verdict, COMPARE_INCONCLUSIVE);
		needed[i] = s.result.rulings[0].seconds_needed;
		wanted[i] = normal_quantile(confidences[i]) + normal_quantile(0.9);
	}
	double ratio = needed[1] / needed[0], expected = wanted[1] * wanted[1] / (wanted[0] * wanted[0]);

	assert_true(ratio > 0.93 * expected && ratio < 1.07 * expected);
}

static void test_unknown(void **state)
{
	struct scene s;

	scene_calm(&s);
	s.figures[1].b = (struct estimate){ NAN, NAN, NAN, 0 };
	s.figures[1].unknown_b = STR("no traffic");
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_INCONCLUSIVE);
	assert_true(s.result.rulings[0].unknown);
	assert_str(compare_panel(&s.result, "ttft_p99")->unknown_b, "no traffic");

	scene_calm(&s); /* seven requests are too few to tell */
	s.figures[0].a = within(7.0 / 600, 0.001, 7);
	scene_compare(&s);
	assert_int_equal(s.result.reasons[0].obstacle, COMPARE_TOO_FEW);

	scene_init(&s); /* nothing at all */
	scene_compare(&s);
	assert_int_equal(s.result.verdict, COMPARE_NOT_COMPARABLE);
	assert_int_equal(s.result.reasons[0].obstacle, COMPARE_TOO_FEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calm_passes),
		cmocka_unit_test(test_load_by_chance),
		cmocka_unit_test(test_preemptions),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_ends_that_can_be),
		cmocka_unit_test(test_how_long),
		cmocka_unit_test(test_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
