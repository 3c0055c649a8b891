/* Alerts to receivers that fail in every way (receiver.py): what is told in the end, how often, and what is given up. */
#include "base/clock.h"
#include "base/log.h"
#include "child.h"
#include "rules/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

static const char *server_path;
static struct child child;
static int port;

struct fixture {
	uv_loop_t loop;
	struct fetcher *fetcher;
	struct notifier *notifier;
	struct alert alert;
	struct labels *labels;
};

static int server_start(void **state)
{
	const char *const command[] = { "python3", server_path, NULL };
	char line[100];

	if (!child_start(&child, command, false))
		return -1;
	while (fgets(line, sizeof line, child.from) && strcmp(line, "ready\n") != 0)
		sscanf(line, "port %d", &port);
	return port ? 0 : -1;
}

static int server_end(void **state)
{
	child_end(&child);
	return 0;
}

static int setup(void **state)
{
	static struct fixture f;
	static const struct label external[] = { { STR("cluster"), STR("c1") }, { STR("job"), STR("never") } };
	struct rules_options options = rules_defaults;

	f = (struct fixture){ 0 };
	options.external = external;
	options.external_count = 2;
	options.external_url = STR("http://here:9470");
	uv_loop_init(&f.loop);
	f.fetcher = fetcher_new(&f.loop);
	f.notifier = notifier_new(&f.loop, f.fetcher, &options);
	f.labels = labels_new((struct label[]){ { STR("alertname"), STR("High") }, { STR("job"), STR("a") } }, 2);
	f.alert =
		(struct alert){ .labels = f.labels, .state = ALERT_FIRING, .fired_ms = 1000, .active_ms = 1000, .valid_until_ms = 241000 };
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	notifier_close(f->notifier);
	fetcher_close(f->fetcher);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	labels_unref(f->labels);
	return 0;
}

static void on_tick(uv_timer_t *timer) {}

/* Lets the loop run until the receiver has been told so many alerts or has refused them, for at most `ms`. */
static void run(struct fixture *f, uint64_t told, uint64_t refused, int64_t ms)
{
	int64_t end_ns = clock_monotonic_ns() + ms * 1000000;
	uv_timer_t tick;

	uv_timer_init(&f->loop, &tick);
	uv_timer_start(&tick, on_tick, 10, 10);
	while (clock_monotonic_ns() < end_ns) {
		struct receiver_stats s = notifier_stats(f->notifier, 0);

		if ((told && s.told >= told) || (refused && s.refused >= refused))
			break;
		uv_run(&f->loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&tick, NULL);
	uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void use(struct fixture *f, enum receiver_kind kind, const char *path, const char *token)
{
	char url[200];
	struct receiver r = { .kind = kind, .request = { .url = url, .timeout_ms = 500, .bearer_token = token } };

	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
	notifier_set_receivers(f->notifier, &r, 1);
}

static void tell(struct fixture *f, bool resolved)
{
	const struct rules_receiver *to = notifier_receiver(f->notifier);

	f->alert.state = resolved ? ALERT_INACTIVE : ALERT_FIRING;
	f->alert.resolved_ms = resolved ? 61000 : 0;
	to->tell(to->context, &f->alert, STR("load > 5"));
}

/* What the server got at this path: a new reference to an array. */
static json_t *got(const char *path)
{
	struct http_client *client = http_client_new();
	char url[100];
	struct http_answer answer;
	struct arena arena;
	json_t *all, *chosen = json_array(), *one;
	size_t i;

	arena_init(&arena);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/got", port);
	http_fetch(client, &arena, &(struct http_request){ .url = url }, &answer);
	assert_int_equal(answer.failure, HTTP_OK);
	all = json_loadb(answer.body.ptr, answer.body.len, 0, NULL);
	json_array_foreach(all, i, one) if (strcmp(json_string_value(json_object_get(one, "path")), path) == 0)
		json_array_append(chosen, one);
	json_decref(all);
	arena_fini(&arena);
	http_client_free(client);
	return chosen;
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void alertmanager_takes_it(void **state)
{
	struct fixture *f = *state;
	json_t *all, *request, *alert;

	use(f, RECEIVER_ALERTMANAGER, "/ok/alertmanager", NULL);
	tell(f, false);
	run(f, 1, 0, 5000);
	all = got("/ok/alertmanager");
	assert_int_equal(json_array_size(all), 1);
	request = json_array_get(all, 0);
	assert_string_equal(text(request, "type"), "application/json");
	alert = json_array_get(json_object_get(request, "body"), 0);
	assert_string_equal(text(json_object_get(alert, "labels"), "cluster"), "c1");
	assert_string_equal(text(json_object_get(alert, "labels"), "job"), "a"); /* its own wins */
	assert_string_equal(text(alert, "startsAt"), "1970-01-01T00:00:01.000Z");
	assert_string_equal(text(alert, "endsAt"), "1970-01-01T00:04:01.000Z");
	assert_string_equal(text(alert, "generatorURL"), "http://here:9470/graph?g0.expr=load+%3E+5&g0.tab=1");
	json_decref(all);
	assert_true(notifier_stats(f->notifier, 0).last_told_ms > 0);
}

static void tried_again(struct fixture *f, const char *path)
{
	json_t *all;

	use(f, RECEIVER_ALERTMANAGER, path, NULL);
	tell(f, false);
	run(f, 1, 0, 8000);
	struct receiver_stats s = notifier_stats(f->notifier, 0);

	assert_int_equal(s.told, 1);
	assert_int_equal(s.retried, 1);
	assert_int_equal(s.refused + s.dropped + s.waiting, 0);
	assert_string_equal(s.last_error, "");
	all = got(path);
	assert_int_equal(json_array_size(all), 2);
	json_decref(all);
}

static void server_errors_are_tried_again(void **state)
{
	tried_again(*state, "/fail/1/a");
}

static void too_many_requests_is_tried_again(void **state)
{
	tried_again(*state, "/busy/1/b");
}

static void cut_connections_are_tried_again(void **state)
{
	tried_again(*state, "/reset/1/c");
}

static void time_outs_are_tried_again(void **state)
{
	tried_again(*state, "/slow/1/d");
}

static void what_ended_meanwhile_is_told_as_ended(void **state)
{
	struct fixture *f = *state;
	json_t *all, *last;

	use(f, RECEIVER_WEBHOOK, "/fail/1/webhook", NULL);
	tell(f, false);
	run(f, 0, 0, 300);
	assert_int_equal(notifier_stats(f->notifier, 0).retried, 1);
	assert_string_equal(notifier_stats(f->notifier, 0).last_error, "HTTP status 500: ");
	tell(f, true);
	run(f, 1, 0, 5000);
	tell(f, true); /* said again by the rule: the webhook knows */
	run(f, 0, 0, 200);
	all = got("/fail/1/webhook");
	assert_int_equal(json_array_size(all), 2);
	last = json_object_get(json_array_get(all, 1), "body");
	assert_string_equal(text(last, "status"), "resolved");
	assert_string_equal(text(last, "version"), "4");
	assert_string_equal(text(json_array_get(json_object_get(last, "alerts"), 0), "endsAt"), "1970-01-01T00:01:01.000Z");
	json_decref(all);
}

static void refused_is_dropped(void **state)
{
	struct fixture *f = *state;

	use(f, RECEIVER_ALERTMANAGER, "/bad", NULL);
	tell(f, false);
	run(f, 0, 1, 5000);
	assert_int_equal(notifier_stats(f->notifier, 0).refused, 1);
	assert_int_equal(notifier_stats(f->notifier, 0).waiting, 0);
	assert_string_equal(notifier_stats(f->notifier, 0).last_error, "HTTP status 400: no such thing");
}

static void credentials_are_sent(void **state)
{
	struct fixture *f = *state;

	use(f, RECEIVER_WEBHOOK, "/token/secret", "secret");
	tell(f, false);
	run(f, 1, 1, 5000);
	assert_int_equal(notifier_stats(f->notifier, 0).told, 1);
}

/* A reload while a send is on its way and fails: the new configuration goes on with it. */
static void a_reload_loses_nothing(void **state)
{
	struct fixture *f = *state;
	json_t *all;

	use(f, RECEIVER_WEBHOOK, "/slow/1/reload", NULL);
	tell(f, false);
	run(f, 0, 0, 100);
	use(f, RECEIVER_WEBHOOK, "/slow/1/reload", NULL);
	run(f, 1, 0, 5000);
	all = got("/slow/1/reload");
	assert_int_equal(json_array_size(all), 2);
	assert_int_equal(notifier_stats(f->notifier, 0).told, 1);
	json_decref(all);
}

static void nothing_is_kept_without_receivers(void **state)
{
	struct fixture *f = *state;

	tell(f, false);
	assert_int_equal(notifier_receivers(f->notifier), 0);
	use(f, RECEIVER_WEBHOOK, "/ok/none", NULL);
	run(f, 0, 0, 100);
	assert_int_equal(notifier_stats(f->notifier, 0).told, 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { TEST(alertmanager_takes_it), TEST(server_errors_are_tried_again),
		TEST(too_many_requests_is_tried_again), TEST(cut_connections_are_tried_again), TEST(time_outs_are_tried_again),
		TEST(what_ended_meanwhile_is_told_as_ended), TEST(refused_is_dropped), TEST(credentials_are_sent),
		TEST(a_reload_loses_nothing), TEST(nothing_is_kept_without_receivers) };

	server_path = argc > 1 ? argv[1] : "tests/servers/receiver.py";
	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, server_start, server_end);
}
