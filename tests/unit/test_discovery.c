#include "base/file.h"
#include "base/number.h"
#include "scrape/discovery.h"
#include "scrape/dns.h"
#include "store/store.h"
#include "unit.h"
#include "watch/config.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct config *parse(const char *text, struct error *e)
{
	return config_parse(STR("prometheus.yml"), str_from(text), false, e);
}

static void fails(const char *text, int line, const char *message, const char *hint)
{
	struct error e = { 0 };
	assert_null(parse(text, &e));
	assert_string_equal(e.message, message);
	assert_int_equal(e.line, line);
	if (hint)
		assert_string_equal(e.hint, hint);
}

static void test_config_errors(void **state)
{
	fails("scrape_configs:\n- job_name: a\n  scrape_intervall: 5s\n", 3, "unknown key \"scrape_intervall\"",
		"did you mean \"scrape_interval\"?");
	fails("globals: {}\n", 1, "unknown key \"globals\"", "did you mean \"global\"?");
	fails("scrape_configs:\n- job_name: a\n  scrape_interval: fast\n", 3, "\"scrape_interval\" is no duration: \"fast\"", NULL);
	fails("scrape_configs:\n- job_name: a\n  scrape_interval: 5s\n  scrape_timeout: 10s\n", 4,
		"scrape_timeout is longer than the scrape_interval of job \"a\"", NULL);
	fails("scrape_configs:\n- job_name: a\n- job_name: a\n", 3, "a second job with job_name \"a\"", NULL);
	fails("scrape_configs:\n- static_configs: []\n", 2, "a scrape config needs a job_name", NULL);
	fails("scrape_configs:\n- job_name: a\n  static_configs:\n  - targets: ['http://x:1']\n", 4,
		"\"http://x:1\" is no valid target: it has a \"/\"", NULL);
	fails("scrape_configs:\n- job_name: a\n  bearer_token: x\n  authorization: {credentials: y}\n", 3,
		"at most one of authorization, bearer_token and bearer_token_file may be given", NULL);
	fails("scrape_configs:\n- job_name: a\n  body_size_limit: 10 apples\n", 3, "\"body_size_limit\" is no size: \"10 apples\"", NULL);
	fails("remote_write:\n- url: localhost\n", 2, "remote_write: url must begin with http:// or https://", NULL);
	fails("scrape_configs:\n- job_name: a\n  dns_sd_configs: [{names: [x], type: A}]\n", 3, "dns_sd_configs: type A needs a port",
		NULL);
	fails("scrape_configs:\n- job_name: a\n  kubernetes_sd_configs: [{role: pods}]\n", 3,
		"kubernetes_sd_configs: role must be node, pod, service, endpoints, endpointslice or ingress", NULL);
}

static void test_config_leaves_out(void **state)
{
	struct config *c = parse("global: {external_labels: {site: 'x$$y'}}\n"
				 "scrape_configs:\n"
				 "- job_name: a\n"
				 "  consul_sd_configs: [{server: x}]\n"
				 "  static_configs: [{targets: ['h:1']}]\n"
				 "- job_name: b\n"
				 "  oauth2: {client_id: x}\n"
				 "- job_name: c\n"
				 "  kubernetes_sd_configs: [{role: pod, kubeconfig_file: x}]\n"
				 "remote_read: []\n",
		NULL);
	assert_non_null(c);
	assert_int_equal(c->jobs.count, 2); /* a and c */
	assert_int_equal(c->jobs.items[0]->sd_count, 1);
	assert_int_equal(c->jobs.items[1]->sd_count, 0);
	assert_int_equal(c->notes.count, 4);
	assert_true(str_starts(c->notes.items[0], STR("prometheus.yml:10: remote_read is left out")));
	assert_true(str_starts(c->notes.items[1], STR("prometheus.yml:4: job \"a\": consul_sd_configs is not served here")));
	assert_true(str_starts(c->notes.items[2], STR("prometheus.yml:7: job \"b\" is left out: oauth2")));
	assert_true(str_starts(c->notes.items[3], STR("prometheus.yml:9: job \"c\": kubeconfig_file")));
	assert_str(c->external_labels[0].value, "x$y");
	config_free(c);
}

/* One A and one SRV record, with a compressed name; then the same cut anywhere. */
static void test_dns(void **state)
{
	static const unsigned char answer[] = "\x00\x01\x81\x80\x00\x01\x00\x02\x00\x00\x00\x00"
					      "\x01"
					      "a\x01"
					      "b\x00\x00\x01\x00\x01"
					      "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04\x0a\x00\x00\x07"
					      "\xc0\x0c\x00\x21\x00\x01\x00\x00\x00\x05\x00\x0a\x00\x00\x00\x00\x1f\x90\x01x\xc0\x0c";
	struct arena arena;
	struct groups g;
	struct error e = { 0 };
	arena_init(&arena);
	assert_true(dns_read(answer, sizeof answer - 1, STR("a.b"), DNS_A, 80, &g, &arena, &e));
	assert_int_equal(g.items[0].target_count, 1);
	assert_str(g.items[0].targets[0].labels[0].value, "10.0.0.7:80");
	assert_str(g.items[0].labels[0].value, "a.b");
	assert_true(dns_read(answer, sizeof answer - 1, STR("a.b"), DNS_SRV, 0, &g, &arena, &e));
	assert_int_equal(g.items[0].target_count, 1);
	assert_str(g.items[0].targets[0].labels[0].value, "x.a.b:8080");
	assert_str(g.items[0].targets[0].labels[1].value, "x.a.b.");
	for (size_t size = 0; size < sizeof answer - 1; size++)
		assert_false(dns_read(answer, size, STR("a.b"), DNS_SRV, 0, &g, &arena, &e));
	assert_str(address_join(&arena, STR("fd00::1"), STR("9")), "[fd00::1]:9");
	arena_fini(&arena);
}

struct scene {
	struct store *store;
	struct fleet fleet;
	struct config *config;
	struct discovery *discovery;
	int added, removed;
};

static void on_added(void *context, struct target *t)
{
	((struct scene *)context)->added++;
}

static void on_removed(void *context, struct target *t)
{
	((struct scene *)context)->removed++;
}

static void scene_begin(struct scene *s, const char *text)
{
	struct error e = { 0 };
	struct config *c = parse(text, &e);
	if (!c)
		error_print(&e, stderr);
	assert_non_null(c);
	s->config = c;
	s->discovery = discovery_new((const struct job *const *)c->jobs.items, c->jobs.count, NULL, NULL);
}

static void scene_sync(struct scene *s, int64_t now_ms)
{
	struct discovery_events events = { on_added, on_removed, s };
	discovery_update(s->discovery);
	s->added = s->removed = 0;
	discovery_sync(s->discovery, &s->fleet, now_ms, &events);
}

static void scrape(struct scene *s, const char *name, int64_t t_ms, const char *body)
{
	struct http_answer answer = { .status = 200, .body = str_from(body), .duration_s = 0.1 };
	struct target *t = fleet_find(&s->fleet, str_from(name));
	assert_non_null(t);
	fleet_ingest(&s->fleet, t, t_ms, STR_EMPTY, &answer);
}

/* Values of a series between two times, as text. */
static const char *values(struct scene *s, const char *name, int64_t from_ms, int64_t to_ms)
{
	static char text[200];
	struct arena arena;
	struct matcher m;
	size_t count, length = 0;
	arena_init(&arena);
	assert_true(matcher_init(&m, LABEL_NAME, MATCH_EQ, str_from(name), NULL));
	struct series_view *views = store_select(s->store, &arena, &m, 1, from_ms, to_ms, &count);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < views[i].count; k++)
			length += (size_t)snprintf(text + length, sizeof text - length, "%s%g", length ? " " : "",
				number_is_stale(views[i].v[k]) ? -99 : views[i].v[k]);
	matcher_fini(&m);
	arena_fini(&arena);
	return text;
}

static int scene_setup(void **state)
{
	struct scene *s = NEW(struct scene);
	s->store = store_new();
	fleet_init(&s->fleet, store_sink(s->store));
	*state = s;
	return 0;
}

static int scene_teardown(void **state)
{
	struct scene *s = *state;
	discovery_free(s->discovery);
	fleet_fini(&s->fleet);
	config_free(s->config);
	store_free(s->store);
	mem_free(s);
	return 0;
}

/* A reload keeps what both configurations have, series and all; the rest ends with stale markers. */
static void test_reload(void **state)
{
	struct scene *s = *state;
	scene_begin(s, "scrape_configs:\n- job_name: a\n  static_configs: [{targets: ['h:1', 'h:2']}]\n");
	scene_sync(s, 0);
	assert_int_equal(s->added, 2);
	scene_sync(s, 0);
	assert_int_equal(s->added + s->removed, 0);
	scrape(s, "h:1", 1000, "x 1\n");
	scrape(s, "h:2", 1000, "y 1\n");
	struct discovery *before = s->discovery;
	struct config *config = s->config;
	scene_begin(s, "scrape_configs:\n- job_name: a\n  static_configs: [{targets: ['h:1', 'h:3']}]\n"
		       "  metric_relabel_configs: [{action: drop, source_labels: [__name__], regex: z}]\n");
	discovery_free(before);
	scene_sync(s, 2000);
	config_free(config);
	assert_int_equal(s->added, 1);
	assert_int_equal(s->removed, 1);
	assert_string_equal(values(s, "y", 0, 9000), "1 -99");
	assert_string_equal(values(s, "x", 0, 9000), "1");
	scrape(s, "h:1", 3000, "x 2\nz 1\n");
	scrape(s, "h:1", 4000, "x 3\nz 1\n"); /* the same shape */
	assert_string_equal(values(s, "x", 0, 9000), "1 2 3");
	assert_string_equal(values(s, "z", 0, 9000), "");
	assert_string_equal(values(s, "scrape_samples_post_metric_relabeling", 3000, 9000), "1 1");
	assert_string_equal(values(s, "scrape_samples_scraped", 3000, 9000), "2 2");
}

static void test_honor_labels(void **state)
{
	struct scene *s = *state;
	scene_begin(s, "scrape_configs:\n- job_name: a\n  honor_labels: true\n  honor_timestamps: false\n"
		       "  static_configs: [{targets: ['h:1'], labels: {zone: z}}]\n");
	scene_sync(s, 0);
	scrape(s, "h:1", 1000, "x{instance=\"\",zone=\"own\"} 1 500\n");
	struct arena arena;
	struct matcher m;
	size_t count;
	arena_init(&arena);
	assert_true(matcher_init(&m, LABEL_NAME, MATCH_EQ, STR("x"), NULL));
	struct series_view *v = store_select(s->store, &arena, &m, 1, 0, 9000, &count);
	assert_int_equal(count, 1);
	assert_int_equal(v->t[0], 1000);
	assert_int_equal(v->labels->count, 3); /* __name__, job, zone */
	assert_str(labels_get(v->labels, STR("zone")), "own");
	matcher_fini(&m);
	arena_fini(&arena);
}

static void test_limits(void **state)
{
	struct scene *s = *state;
	scene_begin(s, "scrape_configs:\n- job_name: a\n  sample_limit: 2\n  label_value_length_limit: 12\n"
		       "  static_configs: [{targets: ['h:1']}]\n"
		       "  metric_relabel_configs: [{action: drop, source_labels: [__name__], regex: go}]\n");
	scene_sync(s, 0);
	scrape(s, "h:1", 1000, "x 1\ny 1\ngo 1\n"); /* what is dropped does not count */
	scrape(s, "h:1", 2000, "x 2\ny 2\nz 2\n");
	assert_string_equal(values(s, "x", 0, 9000), "1 -99");
	assert_string_equal(values(s, "z", 0, 9000), "");
	assert_string_equal(values(s, "up", 0, 9000), "1 0");
	const struct target *t = s->fleet.targets.items[0];
	assert_int_equal(t->scrapes.items[1].outcome, SCRAPE_LIMIT);
	assert_str(t->scrapes.items[1].detail, "3 samples are above the job's sample_limit of 2");
	scrape(s, "h:1", 3000, "x{l=\"0123456789abc\"} 3\n");
	scrape(s, "h:1", 4000, "x 4\n");
	assert_string_equal(values(s, "up", 0, 9000), "1 0 0 1");
	assert_string_equal(values(s, "x", 0, 9000), "1 -99 4");
}

static bool wait_for(struct scene *s, size_t count)
{
	for (int i = 0; i < 500; i++) {
		scene_sync(s, 0);
		if (s->fleet.targets.count == count)
			return true;
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	return false;
}

/* A file that does not parse keeps what it said; one that is gone takes its targets along. */
static void test_files(void **state)
{
	struct scene *s = *state;
	char folder[] = "/tmp/goodput-discovery-XXXXXX", path[100], text[400];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/a.json", folder);
	snprintf(text, sizeof text, "scrape_configs:\n- job_name: a\n  file_sd_configs: [{files: ['%s/*.json'], refresh_interval: 20ms}]\n",
		folder);
	assert_true(file_write(path, STR("[{\"targets\": [\"h:1\", \"h:2\"], \"labels\": {\"zone\": \"a\"}}]"), NULL));
	scene_begin(s, text);
	assert_true(wait_for(s, 2));
	assert_str(labels_get(s->fleet.targets.items[0]->labels, STR("zone")), "a");
	assert_true(file_write(path, STR("[{\"targets\": [\"h:1\""), NULL));
	for (int i = 0; i < 500 && !discovery_job(s->discovery, 0)->error.len; i++) {
		scene_sync(s, 0);
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	assert_true(discovery_job(s->discovery, 0)->error.len > 0);
	assert_int_equal(s->fleet.targets.count, 2);
	assert_true(file_write(path, STR("[{\"targets\": [\"h:1\"]}, {\"targets\": [\"h:3\", \"h:4\"]}]"), NULL));
	assert_true(wait_for(s, 3));
	assert_true(unlink(path) == 0);
	assert_true(wait_for(s, 0));
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config_errors),
		cmocka_unit_test(test_config_leaves_out),
		cmocka_unit_test(test_dns),
		cmocka_unit_test_setup_teardown(test_reload, scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_honor_labels, scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_limits, scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_files, scene_setup, scene_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
