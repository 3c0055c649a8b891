/* What receivers are told, in virtual time: newest word, retries, repeats, bounds; and the bodies. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "rules/outbox.h"
#include "rules/payload.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put(struct outbox *o, const char *name, bool resolved, int64_t now_ms)
{
	struct labels *l = labels_new((struct label[]){ { STR("alertname"), str_from(name) } }, 1);
	struct label summary = { STR("summary"), STR("") };
	const struct notice n = { .labels = l,
		.annotations = { &summary, 1 },
		.resolved = resolved,
		.starts_ms = 1000,
		.ends_ms = now_ms,
		.query = STR("x > 1") };

	outbox_put(o, &n, now_ms);
	labels_unref(l);
}

/* "a b! c": names to be sent, resolved ones with '!'. */
static const char *begin(struct outbox *o, int64_t now_ms)
{
	static char text[4000];
	const struct notice *list[64];
	size_t count = outbox_begin(o, list, now_ms), used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i ? " " : "",
			labels_get(list[i]->labels, STR("alertname")).ptr, list[i]->resolved ? "!" : "");
	return text;
}

static void alertmanager_is_told_each_time(void **state)
{
	struct outbox o;

	outbox_init(&o, &outbox_defaults);
	assert_int_equal(outbox_due(&o), INT64_MAX);
	put(&o, "a", false, 10);
	put(&o, "b", false, 10);
	assert_string_equal(begin(&o, 10), "a b");
	assert_int_equal(outbox_due(&o), INT64_MAX); /* one send at a time */
	outbox_end(&o, OUTBOX_TOLD, 20);
	assert_string_equal(begin(&o, 20), "");
	put(&o, "a", false, 60000);
	assert_string_equal(begin(&o, 60000), "a");
	put(&o, "a", true, 60001); /* ended while it was on its way */
	outbox_end(&o, OUTBOX_TOLD, 60010);
	assert_string_equal(begin(&o, 60010), "a!");
	outbox_end(&o, OUTBOX_TOLD, 60020);
	assert_int_equal(o.told, 4);
	assert_int_equal(o.entries.live, 1); /* b */
	outbox_fini(&o);
}

static void failed_sends_come_again_later(void **state)
{
	struct outbox o;
	int64_t now = 0, before = 0;

	outbox_init(&o, &outbox_defaults);
	put(&o, "a", false, now);
	for (int i = 0; i < 12; i++) {
		int64_t pause, most = 1000LL << i < 60000 ? 1000LL << i : 60000;

		assert_string_equal(begin(&o, now), "a");
		outbox_end(&o, OUTBOX_RETRY, now);
		pause = outbox_due(&o) - now;
		assert_true(pause <= most && pause >= most - most / 5 - 1);
		assert_string_equal(begin(&o, outbox_due(&o) - 1), "");
		before = now;
		now = outbox_due(&o);
	}
	assert_true(now > before);
	/* It ended meanwhile: nobody is told of a fire that is out. */
	put(&o, "a", true, now);
	assert_string_equal(begin(&o, now), "a!");
	outbox_end(&o, OUTBOX_TOLD, now);
	assert_int_equal(o.retried, 12);
	assert_int_equal(o.entries.live, 0);
	put(&o, "b", false, now);
	assert_int_equal(outbox_due(&o), 0);
	outbox_fini(&o);
}

static void refused_is_not_tried_again(void **state)
{
	struct outbox o;

	outbox_init(&o, &outbox_defaults);
	put(&o, "a", false, 0);
	assert_string_equal(begin(&o, 0), "a");
	outbox_end(&o, OUTBOX_REFUSED, 0);
	assert_int_equal(outbox_due(&o), INT64_MAX);
	assert_int_equal(o.refused, 1);
	outbox_fini(&o);
}

static void webhooks_are_told_changes(void **state)
{
	struct outbox_options options = outbox_defaults;
	struct outbox o;

	options.only_changes = true;
	options.repeat_ms = 3600000;
	outbox_init(&o, &options);
	put(&o, "a", false, 0);
	assert_string_equal(begin(&o, 0), "a");
	put(&o, "a", false, 5); /* the same again while it is on its way */
	outbox_end(&o, OUTBOX_TOLD, 10);
	for (int64_t t = 60000; t < 3600000; t += 60000) {
		put(&o, "a", false, t);
		assert_string_equal(begin(&o, t), "");
	}
	put(&o, "a", false, 3600010);
	assert_string_equal(begin(&o, 3600010), "a");
	outbox_end(&o, OUTBOX_TOLD, 3600010);
	put(&o, "a", true, 3700000);
	assert_string_equal(begin(&o, 3700000), "a!");
	outbox_end(&o, OUTBOX_TOLD, 3700000);
	put(&o, "a", true, 3760000); /* the rule says it again */
	assert_string_equal(begin(&o, 3760000), "");
	put(&o, "a", false, 3800000);
	assert_string_equal(begin(&o, 3800000), "a");
	outbox_end(&o, OUTBOX_TOLD, 3800000);
	put(&o, "a", true, 3900000);
	assert_string_equal(begin(&o, 3900000), "a!");
	outbox_end(&o, OUTBOX_TOLD, 3900000);
	put(&o, "b", false, 6000000);
	assert_string_equal(begin(&o, 6000000), "b");
	outbox_end(&o, OUTBOX_TOLD, 6000000);
	assert_int_equal(o.entries.live, 1); /* a is forgotten */
	outbox_fini(&o);
}

static void some_want_no_ends(void **state)
{
	struct outbox_options options = outbox_defaults;
	struct outbox o;

	options.only_changes = options.without_resolved = true;
	outbox_init(&o, &options);
	put(&o, "a", false, 0);
	put(&o, "b", false, 0);
	put(&o, "b", true, 0);
	assert_string_equal(begin(&o, 0), "a");
	put(&o, "a", true, 1);
	outbox_end(&o, OUTBOX_TOLD, 2);
	assert_int_equal(outbox_due(&o), INT64_MAX);
	assert_int_equal(o.entries.live, 0);
	put(&o, "a", false, 3);
	assert_string_equal(begin(&o, 3), "a");
	outbox_end(&o, OUTBOX_TOLD, 3);
	outbox_fini(&o);
}

static void is_bounded(void **state)
{
	struct outbox_options options = outbox_defaults;
	struct outbox o;
	char name[20];

	options.capacity = 100;
	outbox_init(&o, &options);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "n%d", i);
		put(&o, name, false, i);
	}
	assert_int_equal(o.entries.live, 100);
	assert_int_equal(o.waiting, 100);
	assert_int_equal(o.dropped, 9900);
	assert_true(o.entries.count < 300); /* holes are closed */
	for (int i = 9900; i < 10000; i += 64) {
		const struct notice *list[64];
		size_t count = outbox_begin(&o, list, 20000);

		snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(count, i == 9900 ? 64 : 36);
		assert_string_equal(labels_get(list[0]->labels, STR("alertname")).ptr, name);
		outbox_end(&o, OUTBOX_TOLD, 20000);
	}
	assert_int_equal(o.waiting, 0);
	outbox_fini(&o);
}

static void bodies(void **state)
{
	struct labels *a = labels_new((struct label[]){ { STR("alertname"), STR("A") }, { STR("job"), STR("x\"y") } }, 2);
	struct labels *b = labels_new((struct label[]){ { STR("alertname"), STR("A") }, { STR("job"), STR("z") } }, 2);
	struct label summary = { STR("summary"), STR("s") };
	const struct notice first = {
		.labels = a, .annotations = { &summary, 1 }, .starts_ms = 1500, .ends_ms = 241500, .query = STR("x > 1")
	};
	const struct notice second = { .labels = b, .resolved = true, .starts_ms = 1000, .ends_ms = 61007, .query = STR("x > 1") };
	const struct notice *list[] = { &first, &second };
	struct buf out;

	buf_init(&out, 1 << 20);
	payload_alertmanager(&out, list, 2, STR("http://h:9470/"));
	assert_string_equal(buf_cstr(&out),
		"[{\"labels\":{\"alertname\":\"A\",\"job\":\"x\\\"y\"},\"annotations\":{\"summary\":\"s\"},\"startsAt\":\"1970-01-01T00:00:"
		"01.500Z\","
		"\"generatorURL\":\"http://h:9470/graph?g0.expr=x+%3E+1&g0.tab=1\",\"endsAt\":\"1970-01-01T00:04:01.500Z\"},"
		"{\"labels\":{\"alertname\":\"A\",\"job\":\"z\"},\"annotations\":{},\"startsAt\":\"1970-01-01T00:00:01.000Z\","
		"\"generatorURL\":\"http://h:9470/graph?g0.expr=x+%3E+1&g0.tab=1\",\"endsAt\":\"1970-01-01T00:01:01.007Z\"}]");
	buf_reset(&out);
	payload_webhook(&out, list, 2, STR("http://h:9470"), STR("goodput"));
	assert_non_null(strstr(buf_cstr(&out),
		"\"status\":\"firing\",\"receiver\":\"goodput\",\"groupLabels\":{},\"commonLabels\":{\"alertname\":\"A\"},"
		"\"commonAnnotations\":{},"));
	assert_non_null(strstr(buf_cstr(&out), "\"endsAt\":\"0001-01-01T00:00:00Z\""));
	buf_reset(&out);
	payload_webhook(&out, list + 1, 1, STR(""), STR("goodput"));
	assert_non_null(strstr(buf_cstr(&out), "\"status\":\"resolved\",\"receiver\""));
	buf_fini(&out);
	labels_unref(a);
	labels_unref(b);
}

/* prometheus/common: the fingerprint of no labels is the offset of FNV-1a. */
static void fingerprints(void **state)
{
	struct labels *none = labels_new(NULL, 0);

	assert_true(payload_fingerprint(none) == 0xcbf29ce484222325ULL);
	labels_unref(none);
}

/* What was printed reads back: what waits is told, what was told is not, and what nobody speaks of any more has ended. */
static void outlives_its_process(void **state)
{
	struct outbox_options options = outbox_defaults;
	struct outbox o, other;
	char path[] = "/tmp/goodput-outbox-XXXXXX";
	struct error e;
	struct buf text;

	options.only_changes = true;
	outbox_init(&o, &options);
	put(&o, "told", false, 10);
	assert_string_equal(begin(&o, 10), "told");
	outbox_end(&o, OUTBOX_TOLD, 20);
	put(&o, "waits", false, 30);
	buf_init(&text, 1 << 20);
	struct json j = { .out = &text };

	json_open(&j, NULL, '{');
	json_open(&j, "receivers", '{');
	outbox_print(&o, &j, "r");
	json_close(&j, '}');
	json_close(&j, '}');
	close(mkstemp(path));
	assert_true(file_write(path, buf_str(&text), &e));
	outbox_init(&other, &options);
	struct outbox_document *d = outbox_document_load(path);

	assert_non_null(d);
	outbox_document_take(d, "nobody", &other, 1000);
	assert_int_equal(other.entries.live, 0);
	outbox_document_take(d, "r", &other, 1000);
	outbox_document_take(d, "r", &other, 1000);
	outbox_document_free(d);
	unlink(path);
	assert_int_equal(other.waiting, 1);
	assert_string_equal(begin(&other, 1000), "waits");
	outbox_end(&other, OUTBOX_TOLD, 1010);
	put(&other, "told", false, 2000); /* it still fires: no news */
	assert_int_equal(other.waiting, 0);
	outbox_settle(&other, 1000 + 14 * 60000);
	assert_int_equal(other.waiting, 0);
	outbox_settle(&other, 1000 + 15 * 60000);
	assert_string_equal(begin(&other, 1000 + 15 * 60000), "waits!");
	outbox_end(&other, OUTBOX_TOLD, 1000 + 15 * 60000);
	outbox_fini(&other);
	outbox_fini(&o);
	buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(alertmanager_is_told_each_time),
		cmocka_unit_test(failed_sends_come_again_later), cmocka_unit_test(refused_is_not_tried_again),
		cmocka_unit_test(webhooks_are_told_changes), cmocka_unit_test(some_want_no_ends), cmocka_unit_test(is_bounded),
		cmocka_unit_test(bodies), cmocka_unit_test(fingerprints), cmocka_unit_test(outlives_its_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
