/* Sampling parameters become members of request bodies. */
#include "base/number.h"
#include "workload/read.h"

#include <math.h>

static const char *const settings_known[] = { "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
	"repetition_penalty", "length_penalty", "seed", "ignore_eos", "min_tokens", "stop", "stop_token_ids", "logprobs",
	"skip_special_tokens", NULL };

static bool setting_value(const struct yaml *node, struct buf *out, struct error *e)
{
	double number;

	if (node->kind == YAML_MAP)
		return yaml_error(node, e, "a sampling parameter is a number, true or false, a text, or a list of them");
	if (node->kind == YAML_LIST) {
		buf_add_c(out, '[');
		YAML_EACH (node, item) {
			if (item != node->first)
				buf_add_c(out, ',');
			if (item->kind != YAML_SCALAR || !setting_value(item, out, e))
				return item->kind == YAML_SCALAR ? false
								 : yaml_error(item, e, "a list of sampling parameters holds plain values");
		}
		buf_add_c(out, ']');
		return true;
	}
	if (!node->quoted && (str_is(node->text, "true") || str_is(node->text, "false")))
		buf_add(out, node->text);
	else if (!node->quoted && number_parse(node->text, &number) && isfinite(number))
		buf_add_double(out, number);
	else
		content_add_text(out, node->text);
	return true;
}

bool read_sampling(struct workload *w, const struct yaml *node, struct error *e)
{
	struct buf value;
	bool ok = read_map_of(node, settings_known, e);

	buf_init(&value, 65536);
	if (ok && yaml_get(node, "temperature"))
		ok = yaml_get_double(node, "temperature", &w->temperature, e);
	YAML_EACH (node, member) {
		if (!ok || yaml_is_null(member))
			continue;
		buf_reset(&value);
		ok = setting_value(member, &value, e);
		if (ok && value.overflowed)
			ok = yaml_error(member, e, "this is too long");
		VEC_PUSH(&w->settings,
			(struct workload_setting){ arena_str(&w->arena, member->key), arena_str(&w->arena, buf_str(&value)) });
	}
	buf_fini(&value);
	return ok;
}
