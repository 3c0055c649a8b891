/* --speculative-config and --kv-transfer-config: vLLM's JSON. A key that is not modelled is refused, but for those that only name
 * files and addresses (model, engine_id, kv_ip, kv_port): a simulation opens none. */
#include "sim/setup.h"

#include <jansson.h>
#include <math.h>

static json_t *load(const char *flag, const char *text, const char *const *known, struct error *e)
{
	json_error_t at;
	json_t *root = json_loads(text, 0, &at), *value;
	const char *key;

	if (!root || !json_is_object(root)) {
		json_decref(root);
		error_at(e, str_from(flag), str_from(text), root || at.position < 1 ? 0 : (size_t)at.position - 1, "%s",
			root ? "not a JSON object" : at.text);
		e->status = EXIT_USAGE;
		error_hint(e, "quote it for the shell: %s '{\"key\": value}'", flag);
		return NULL;
	}
	json_object_foreach(root, key, value)
	{
		const char *const *k = known;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k) {
			error_set(e, EXIT_USAGE, "%s: \"%s\" is not modelled", flag, key);
			json_decref(root);
			return NULL;
		}
	}
	return root;
}

static bool method_of(const char *name, struct spec_config *spec, struct error *e)
{
	static const struct {
		const char *name;
		enum spec_method method;
	} known[] = { { "ngram", SPEC_NGRAM }, { "eagle", SPEC_EAGLE }, { "eagle3", SPEC_EAGLE }, { "mtp", SPEC_MTP },
		{ "deepseek_mtp", SPEC_MTP }, { "draft_model", SPEC_DRAFT_MODEL } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (name && strcmp(known[i].name, name) == 0) {
			spec->method = known[i].method;
			return true;
		}
	error_set(e, EXIT_USAGE, "--speculative-config: method \"%s\" is not modelled", name ? name : "");
	error_hint(e, "known: ngram, eagle, eagle3, mtp, draft_model");
	return false;
}

/* vLLM's synthetic_acceptance_rates are unconditional per position; the model wants each given that the one before was accepted. */
static bool read_rates(json_t *rates, struct spec_config *spec, struct error *e)
{
	double before = 1;

	if (!json_is_array(rates) || json_array_size(rates) > SPEC_MAX_DRAFTS)
		return error_set(
			e, EXIT_USAGE, "--speculative-config: synthetic_acceptance_rates is a list of at most %d numbers", SPEC_MAX_DRAFTS);
	for (size_t i = 0; i < json_array_size(rates); i++) {
		double rate = json_number_value(json_array_get(rates, i));

		if (!(rate >= 0 && rate <= before))
			return error_set(e, EXIT_USAGE, "--speculative-config: synthetic_acceptance_rates must fall, within 0..1");
		spec->rates[spec->rate_count++] = before > 0 ? rate / before : 0;
		before = rate;
	}
	return true;
}

bool setup_speculation(struct setup *s, const char *text, struct error *e)
{
	static const char *const known[] = { "method", "model", "num_speculative_tokens", "rejection_sample_method",
		"synthetic_acceptance_rates", "acceptance", NULL };
	struct spec_config *spec = &s->engine.spec;
	json_t *root, *rates, *acceptance;
	bool ok;

	if (!text)
		return true;
	root = load("--speculative-config", text, known, e);
	if (!root)
		return false;
	spec->drafts = (uint32_t)json_integer_value(json_object_get(root, "num_speculative_tokens"));
	acceptance = json_object_get(root, "acceptance");
	spec->alpha = acceptance ? json_number_value(acceptance) : 0.7;
	rates = json_object_get(root, "synthetic_acceptance_rates");
	ok = method_of(json_string_value(json_object_get(root, "method")), spec, e) && (!rates || read_rates(rates, spec, e));
	if (ok && spec->method == SPEC_DRAFT_MODEL)
		ok = error_set(
			e, EXIT_USAGE, "--speculative-config: a draft model's own time is not modelled here; use eagle3, mtp or ngram");
	json_decref(root);
	return ok;
}

static bool check_role(const char *role, struct error *e)
{
	if (role && (strcmp(role, "kv_consumer") == 0 || strcmp(role, "kv_both") == 0))
		return true;
	error_set(e, EXIT_USAGE, "--kv-transfer-config: kv_role \"%s\" is not simulated", role ? role : "");
	error_hint(e, "kv_consumer or kv_both: a server that pulls KV; the other side is taken to be there");
	return false;
}

bool setup_transfer(struct setup *s, const char *text, struct error *e)
{
	static const char *const known[] = { "kv_connector", "kv_role", "kv_load_failure_policy", "engine_id", "kv_ip", "kv_port", NULL };
	struct transfer_config *t = &s->transfer;
	const char *connector, *policy;
	json_t *root;
	bool ok;

	if (!text)
		return true;
	root = load("--kv-transfer-config", text, known, e);
	if (!root)
		return false;
	connector = json_string_value(json_object_get(root, "kv_connector"));
	policy = json_string_value(json_object_get(root, "kv_load_failure_policy"));
	ok = check_role(json_string_value(json_object_get(root, "kv_role")), e);
	if (ok && (!connector || strcmp(connector, "NixlConnector") != 0))
		ok = error_set(e, EXIT_USAGE, "--kv-transfer-config: of the connectors only NixlConnector is simulated");
	if (ok && policy && strcmp(policy, "fail") != 0 && strcmp(policy, "recompute") != 0)
		ok = error_set(e, EXIT_USAGE, "--kv-transfer-config: kv_load_failure_policy is \"fail\" or \"recompute\"");
	*t = (struct transfer_config){ .on = true,
		.recompute = policy && strcmp(policy, "recompute") == 0,
		.bytes_per_token = kv_transfer_bytes_per_token(&s->deployment),
		.descriptors_per_block = 2.0 * s->deployment.model->layers };
	json_decref(root);
	return ok;
}
