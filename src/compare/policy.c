#include "base/yaml.h"
#include "compare/compare.h"

#include <math.h>

/* What must not get worse where people wait for the answer. Shares are absolute: 0.005 is half a percentage point. */
static const struct {
	const char *id;
	double margin, ignore;
	bool required;
} interactive[] = {
	{ "ttft_p99", 0.10, 0.02, true },
	{ "tpot_p99", 0.10, 0.02, true },
	{ "goodput", 0.03, 0.005, false },
	{ "preemptions", 0.5, 0.1, false },
	{ "error_share", 0.01, 0.001, true },
	{ "length_share", 0.03, 0.01, false },
	{ "evaluation", 0.05, 0.01, false },
};

void compare_policy_default(struct compare_policy *p)
{
	*p = (struct compare_policy){ .name = STR("interactive"), .confidence = 0.95 };
	for (size_t i = 0; i < sizeof interactive / sizeof *interactive; i++)
		p->items[p->item_count++] = (struct compare_item){ compare_spec_find(str_from(interactive[i].id)), interactive[i].margin,
			interactive[i].ignore, interactive[i].required };
}

static bool read_item(struct compare_policy *p, const struct yaml *node, struct error *e)
{
	static const char *const known[] = { "margin", "ignore", "required", NULL };
	struct compare_item item = { .spec = compare_spec_find(node->key), .margin = NAN, .required = true };

	if (!item.spec || !item.spec->better) {
		yaml_error(node, e, "\"" STR_FMT "\" is no panel that has a better side", STR_ARG(str_head(node->key, 60)));
		error_hint(e, "ttft_p50, ttft_p90, ttft_p99, ttft_mean, tpot_p50, tpot_p99, tpot_mean, max_gap_p99, e2e_p99, goodput, "
			      "goodput_rps, "
			      "throughput_rps, output_tokens_per_s, error_share, length_share, evaluation, preemptions");
		return false;
	}
	if (node->kind != YAML_MAP)
		return yaml_error(node, e, "a panel needs a map: {margin: 0.1}");
	if (!yaml_only(node, known, e) || !yaml_get_double(node, "margin", &item.margin, e) ||
		!yaml_get_double(node, "ignore", &item.ignore, e) || !yaml_get_bool(node, "required", &item.required, e))
		return false;
	if (!(item.margin > 0 && item.margin < 10))
		return yaml_error(node, e, "margin: the worsening that must be excluded, above 0 (0.1 is 10 %%, of shares 10 points)");
	if (!(item.ignore >= 0 && item.ignore <= item.margin))
		return yaml_error(node, e, "ignore must lie between 0 and the margin");
	if (p->item_count == COMPARE_ITEMS_MAX)
		return yaml_error(node, e, "more than %d panels", COMPARE_ITEMS_MAX);
	p->items[p->item_count++] = item;
	return true;
}

bool compare_policy_read(struct compare_policy *p, struct arena *arena, struct str source, struct str text, struct error *e)
{
	static const char *const known[] = { "name", "confidence", "must_not_regress", NULL };
	const struct yaml *root = yaml_parse(arena, source, text, e), *items;

	*p = (struct compare_policy){ .confidence = 0.95 };
	if (!root)
		return false;
	if (root->kind != YAML_MAP)
		return yaml_error(root, e, "a policy is a map with must_not_regress");
	if (!yaml_only(root, known, e) || !yaml_get_str(root, "name", &p->name, e) ||
		!yaml_get_double(root, "confidence", &p->confidence, e))
		return false;
	if (!(p->confidence >= 0.5 && p->confidence < 1))
		return yaml_error(yaml_get(root, "confidence"), e, "confidence must lie between 0.5 and 1");
	items = yaml_get(root, "must_not_regress");
	if (!items || items->kind != YAML_MAP || !items->first)
		return yaml_error(items ? items : root, e, "must_not_regress: a map of panels, such as {ttft_p99: {margin: 0.1}}");
	YAML_EACH (items, node)
		if (!read_item(p, node, e))
			return false;
	return true;
}
