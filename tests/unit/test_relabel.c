#include "base/md5.h"
#include "scrape/relabel.h"
#include "unit.h"

static void test_md5(void **state)
{
	static const struct {
		const char *text, *digest;
	} rows[] = {
		{ "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ "abc", "900150983cd24fb0d6963f7d28e17f72" },
		{ "12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a" },
		{ "1234567890123456789012345678901234567890123456789012345", "c9ccf168914a1bcfc3229f1948e67da0" },
		{ "12345678901234567890123456789012345678901234567890123456", "49f193adce178490e34d1b3a4ec0064c" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t digest[16];
		char text[33];
		md5(rows[i].text, strlen(rows[i].text), digest);
		for (int k = 0; k < 16; k++)
			snprintf(text + 2 * k, 3, "%02x", digest[k]);
		assert_string_equal(text, rows[i].digest);
	}
}

/* The labels {a="x", b="Y-z", region="eu;west", __meta_k="v"} after the rules, or "dropped". Expectations are those of Prometheus:
 * tests/run-discovery compares with it. */
static void relabels(const char *rules, const char *expected)
{
	static const struct label labels[] = { { STR("region"), STR("eu;west") }, { STR("b"), STR("Y-z") }, { STR("a"), STR("x") },
		{ STR("__meta_k"), STR("v") } };
	struct arena arena;
	struct relabel r;
	struct label_set set;
	struct buf out;
	struct error e = { 0 };
	arena_init(&arena);
	buf_init(&out, 10000);
	struct yaml *root = yaml_parse(&arena, STR("rules"), str_from(rules), &e);
	assert_non_null(root);
	bool ok = relabel_read(&r, root, &arena, &e);
	if (!ok)
		error_print(&e, stderr);
	assert_true(ok);
	label_set_init(&set, &arena);
	label_set_start(&set, labels, ARRAY_LEN(labels));
	if (relabel_apply(&r, &set)) {
		label_set_settle(&set);
		VEC_EACH (&set.items, l)
			buf_printf(&out, "%s" STR_FMT "=" STR_FMT, out.len ? " " : "", STR_ARG(l->name), STR_ARG(l->value));
	} else {
		buf_add_cstr(&out, "dropped");
	}
	assert_string_equal(buf_cstr(&out), expected);
	label_set_fini(&set);
	relabel_fini(&r);
	buf_fini(&out);
	arena_fini(&arena);
}

static void test_actions(void **state)
{
	relabels("[]", "__meta_k=v a=x b=Y-z region=eu;west");
	relabels("[{source_labels: [b], regex: '(.)-(.)', target_label: c, replacement: '$2${1}w'}]",
		"__meta_k=v a=x b=Y-z c=zYw region=eu;west");
	relabels("[{source_labels: [a, b], target_label: a}]", "__meta_k=v a=x;Y-z b=Y-z region=eu;west");
	relabels("[{source_labels: [b], regex: 'no', target_label: a}]", "__meta_k=v a=x b=Y-z region=eu;west");
	relabels("[{source_labels: [none], target_label: a}]", "__meta_k=v b=Y-z region=eu;west"); /* empty result: removed */
	relabels("[{target_label: c, replacement: fixed}]", "__meta_k=v a=x b=Y-z c=fixed region=eu;west");
	relabels("[{source_labels: [a], target_label: 'n_${1}', replacement: '1'}]", "__meta_k=v a=x b=Y-z n_x=1 region=eu;west");
	relabels("[{action: keep, source_labels: [a], regex: x}]", "__meta_k=v a=x b=Y-z region=eu;west");
	relabels("[{action: keep, source_labels: [a], regex: 'x.'}]", "dropped"); /* anchored */
	relabels("[{action: drop, source_labels: [region], regex: 'eu.*'}]", "dropped");
	relabels("[{action: DropEqual, source_labels: [a], target_label: a}]", "dropped");
	relabels("[{action: keepequal, source_labels: [a], target_label: b}]", "dropped");
	relabels("[{action: dropequal, source_labels: [none], target_label: neither}]", "dropped"); /* absent is empty */
	relabels("[{action: labeldrop, regex: 'a|b'}]", "__meta_k=v region=eu;west");
	relabels("[{action: labelkeep, regex: 'a|b'}]", "a=x b=Y-z");
	relabels("[{action: labelmap, regex: '__meta_(.+)'}]", "__meta_k=v a=x b=Y-z k=v region=eu;west");
	relabels("[{action: lowercase, source_labels: [b], target_label: b}]", "__meta_k=v a=x b=y-z region=eu;west");
	relabels("[{target_label: a, replacement: '\u00e4\u00df\u0436'}, {action: uppercase, source_labels: [a], target_label: a}]",
		"__meta_k=v a=\u00c4\u00df\u0416 b=Y-z region=eu;west");
	relabels("[{action: hashmod, source_labels: [a, b], modulus: 1000, target_label: h}]", "__meta_k=v a=x b=Y-z h=30 region=eu;west");
	/* Rules see what the rules before made. */
	relabels("[{target_label: c, replacement: q}, {source_labels: [c], target_label: d}, {action: labeldrop, regex: 'c|__.*'}]",
		"a=x b=Y-z d=q region=eu;west");
}

static void test_refused(void **state)
{
	static const struct {
		const char *rules, *message;
		int column;
	} rows[] = {
		{ "[{action: replac}]", "unknown relabel action \"replac\"", 11 },
		{ "[{source_label: [a]}]", "unknown key \"source_label\"", 3 },
		{ "[{action: hashmod, target_label: a}]", "relabel action hashmod needs a modulus above 0", 2 },
		{ "[{source_labels: [a]}]", "relabel action replace needs a target_label", 2 },
		{ "[{target_label: '${x'}]", "\"${x\" is no valid target_label of action replace", 17 },
		{ "[{action: lowercase, target_label: '$1'}]", "\"$1\" is no valid target_label of action lowercase", 36 },
		{ "[{action: labelmap, replacement: '-'}]", "\"-\" is no valid replacement of action labelmap: it must make a label name",
			34 },
		{ "[{action: labeldrop, source_labels: [a]}]", "relabel action labeldrop has no source_labels", 37 },
		{ "[{action: keepequal, target_label: a, regex: b}]", "relabel action keepequal has no regex", 46 },
		{ "[{target_label: a, regex: '('}]", "no valid regular expression: ", 27 },
		{ "[{target_label: a, modulus: -1}]", "\"modulus\" must be a whole number that is not negative", 29 },
		{ "{a: b}", "", 1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena;
		struct relabel r;
		struct error e = { 0 };
		arena_init(&arena);
		assert_false(relabel_read(&r, yaml_parse(&arena, STR("rules"), str_from(rows[i].rules), NULL), &arena, &e));
		if (strncmp(e.message, rows[i].message, strlen(rows[i].message)) != 0)
			assert_string_equal(e.message, rows[i].message);
		assert_int_equal(e.column, rows[i].column);
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_md5),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
