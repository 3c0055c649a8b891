/* Series that come and go for long: memory does not grow, answers are those of a fresh open, and who holds a series keeps it. */
#include "base/map.h"
#include "base/number.h"
#include "expo/remote_write.h"
#include "expo/snappy.h"
#include "scrape/scrape.h"
#include "store/store.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* An hour a deployment: of its pods one sends its samples one by one, one ends without stale markers. All is sealed at its end, as it is
 * after two hours where there is a commit a second: rows are chunks, and loose samples enough. */
enum { PODS = 6, PAGE = 200, ROWS = 10, DEPLOY_MS = 3600 * 1000, KEPT = 3, ROW_MS = DEPLOY_MS / (ROWS + 2), RETURNS = 9 };
enum { CHUNK_ROWS = 5, OFTEN = 5 /* as often as rows come single samples */ };
enum { POD_LOOSE, POD_SILENT, POD_RETURNING };
#define BEGIN_MS INT64_C(1768435200000)

struct churn {
	char folder[64], path[96];
	struct store *store;
	struct series *rows[PODS][PAGE];
	int deployment;
	uint32_t chunk_rows;
	int64_t retention_ms;
};

static int setup(void **state)
{
	struct churn *c = calloc(1, sizeof *c);
	c->chunk_rows = CHUNK_ROWS;
	c->retention_ms = KEPT * DEPLOY_MS;
	snprintf(c->folder, sizeof c->folder, "/tmp/goodput-churn-XXXXXX");
	assert_non_null(mkdtemp(c->folder));
	snprintf(c->path, sizeof c->path, "%s/s.db", c->folder);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct churn *c = *state;
	char path[128];
	store_free(c->store);
	for (const char *const *suffix = (const char *const[]){ "", "-wal", "-shm", NULL }; *suffix; suffix++) {
		snprintf(path, sizeof path, "%s%s", c->path, *suffix);
		unlink(path);
	}
	rmdir(c->folder);
	free(c);
	return 0;
}

static struct store *open_at(const struct churn *c, bool read_only)
{
	struct error e = { 0 };
	const struct store_options options = { .read_only = read_only, .chunk_rows = c->chunk_rows, .retention_ms = c->retention_ms };
	struct store *s = store_open(c->path, &options, &e);
	if (!s)
		error_print(&e, stderr);
	assert_non_null(s);
	return s;
}

static struct labels *labels_make(int deployment, int pod, int nth)
{
	char name[40], instance[40], le[16];
	if (pod == POD_RETURNING)
		deployment = deployment % RETURNS;
	snprintf(name, sizeof name, "m%02d%s", nth / 20, nth % 40 < 20 ? "_bucket" : "");
	snprintf(instance, sizeof instance, "pod-%d-%d", deployment, pod);
	snprintf(le, sizeof le, nth % 20 == 19 ? "+Inf" : "%d", nth % 20);
	struct label pairs[] = { { LABEL_NAME, str_from(name) }, { STR("instance"), str_from(instance) }, { STR("job"), STR("vllm") },
		{ STR("le"), str_from(le) } };
	return labels_new(pairs, ARRAY_LEN(pairs));
}

/* What a series has tells which one it is. */
static double value_of(uint64_t hash, int row)
{
	return (double)(hash & 0xffff) + row;
}

static void commit(struct churn *c)
{
	struct error e = { 0 };
	if (!store_commit(c->store, &e))
		error_print(&e, stderr);
	assert_false(e.set);
}

static void append_loose(struct churn *c, int pod, int64_t t_ms, const double *values)
{
	struct sink *sink = store_sink(c->store);
	for (int i = 0; i < PAGE; i++)
		assert_int_equal(sink->ops->append(sink, c->rows[pod][i], t_ms, values[i]), APPEND_OK);
}

static void append(struct churn *c, int pod, int row, int64_t t_ms, const uint64_t *hashes)
{
	struct sink *sink = store_sink(c->store);
	double values[PAGE];
	for (int i = 0; i < PAGE; i++)
		values[i] = row < ROWS ? value_of(hashes[i], row) : number_stale();
	if (row == ROWS && pod != POD_SILENT)
		append_loose(c, pod, t_ms, values);
	else if (row < ROWS && pod != POD_LOOSE)
		assert_int_equal(sink->ops->append_row(sink, c->rows[pod], values, PAGE, t_ms), 0);
	else if (row < ROWS)
		for (int i = 0; i < OFTEN; i++)
			append_loose(c, pod, t_ms + i * 1000, values);
}

static int64_t now_of(const struct churn *c)
{
	return BEGIN_MS + (int64_t)c->deployment * DEPLOY_MS;
}

static void retain(struct churn *c)
{
	struct error e = { 0 };
	for (int i = 0; i < 4; i++)
		assert_true(store_retain(c->store, now_of(c), &e));
}

static void deploy(struct churn *c)
{
	struct sink *sink = store_sink(c->store);
	uint64_t hashes[PODS][PAGE];
	for (int pod = 0; pod < PODS; pod++)
		for (int i = 0; i < PAGE; i++) {
			struct labels *labels = labels_make(c->deployment, pod, i);
			hashes[pod][i] = labels->hash;
			c->rows[pod][i] = sink->ops->series(sink, labels, i % 40 < 20 ? METRIC_HISTOGRAM : METRIC_GAUGE);
			labels_unref(labels);
		}
	for (int row = 0; row <= ROWS; row++) {
		for (int pod = 0; pod < PODS; pod++)
			append(c, pod, row, now_of(c) + (int64_t)row * ROW_MS + 1000, hashes[pod]);
		if (row % CHUNK_ROWS == CHUNK_ROWS - 1)
			commit(c);
	}
	commit(c);
	c->deployment++;
	retain(c);
	commit(c);
}

/* ---- answers ---- */

static int compare_views(const void *a, const void *b)
{
	return labels_cmp(((const struct series_view *)a)->labels, ((const struct series_view *)b)->labels);
}

static struct series_view *views_of(const struct store *s, struct arena *arena, const struct matcher *m, size_t matchers, size_t *count)
{
	struct series_view *views = store_select(s, arena, m, matchers, INT64_MIN, INT64_MAX, count);
	qsort(views, *count, sizeof *views, compare_views);
	return views;
}

static void same_values(
	const struct store *a, const struct store *b, struct arena *arena, const char *label, const struct matcher *m, size_t matchers)
{
	size_t left_count, right_count;
	struct str *left = store_label_values(a, arena, str_from(label), m, matchers, &left_count),
		   *right = store_label_values(b, arena, str_from(label), m, matchers, &right_count);
	/* The store at hand may know some whose samples are gone: they are forgotten a few at a time. */
	size_t at = 0;
	for (size_t i = 0; i < right_count; i++) {
		while (at < left_count && !str_eq(left[at], right[i]))
			at++;
		assert_true(at < left_count);
	}
}

static void same_views(const struct store *a, const struct store *b, const struct matcher *m, size_t matchers)
{
	struct arena arena;
	size_t left_count, right_count;
	arena_init(&arena);
	struct series_view *left = views_of(a, &arena, m, matchers, &left_count), *right = views_of(b, &arena, m, matchers, &right_count);
	assert_int_equal(left_count, right_count);
	for (size_t i = 0; i < left_count; i++) {
		assert_true(labels_eq(left[i].labels, right[i].labels));
		assert_int_equal(left[i].count, right[i].count);
		assert_memory_equal(left[i].t, right[i].t, left[i].count * sizeof *left[i].t);
		assert_memory_equal(left[i].v, right[i].v, left[i].count * sizeof *left[i].v);
		assert_int_equal(store_series_type(a, left[i].labels), store_series_type(b, left[i].labels));
	}
	for (const char *const *label = (const char *const[]){ "__name__", "instance", "job", "le", "none", NULL }; *label; label++)
		same_values(a, b, &arena, *label, m, matchers);
	arena_fini(&arena);
}

struct folded {
	struct map counts; /* labels → samples in all windows */
	struct arena arena;
};

static bool fold_take(void *context, const struct series_fold *fold)
{
	struct folded *f = context;
	struct buf text;
	uintptr_t samples = 0;
	buf_init(&text, 4096);
	labels_print(fold->labels, &text);
	for (int i = 0; i < KEPT; i++)
		samples += fold->count[i];
	if (samples)
		map_set(&f->counts, buf_str(&text), (void *)samples);
	buf_fini(&text);
	return true;
}

static void fold_all(const struct churn *c, const struct store *s, struct folded *f)
{
	const struct series_windows windows = { now_of(c) - (KEPT - 1) * (int64_t)DEPLOY_MS, DEPLOY_MS, DEPLOY_MS, KEPT };
	map_init(&f->counts);
	arena_init(&f->arena);
	assert_true(store_fold(s, &f->arena, &(struct store_selection){ .context = f }, 1, &windows, true, fold_take));
}

static void same_folds(const struct churn *c, const struct store *fresh)
{
	struct folded left, right;
	fold_all(c, c->store, &left);
	fold_all(c, fresh, &right);
	assert_true(left.counts.live >= PODS * PAGE);
	assert_int_equal(left.counts.live, right.counts.live);
	MAP_EACH (&left.counts, entry)
		assert_ptr_equal(entry->value, map_get(&right.counts, entry->key));
	map_fini(&left.counts);
	map_fini(&right.counts);
	arena_fini(&left.arena);
	arena_fini(&right.arena);
}

static void same_as_fresh(const struct churn *c)
{
	static const struct {
		const char *label, *value;
		enum match_op op;
	} asked[] = { { "__name__", "m03", MATCH_EQ }, { "instance", "pod-[0-9]*[13]-[0-3]", MATCH_RE }, { "le", "7|11|none", MATCH_RE },
		{ "instance", "pod-1.*", MATCH_NRE }, { "le", "+Inf", MATCH_NE }, { "none", "", MATCH_EQ } };
	struct store *fresh = open_at(c, true);
	same_views(c->store, fresh, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct matcher m[2];
		assert_true(matcher_init(&m[0], str_from(asked[i].label), asked[i].op, str_from(asked[i].value), NULL));
		assert_true(matcher_init(&m[1], STR("job"), MATCH_EQ, STR("vllm"), NULL));
		same_views(c->store, fresh, m, 1 + i % 2);
		matcher_fini(&m[0]);
		matcher_fini(&m[1]);
	}
	same_folds(c, fresh);
	store_free(fresh);
}

/* ---- readers ---- */

struct reader {
	struct store *store;
	_Atomic bool stop, failed;
	_Atomic size_t selects;
	pthread_mutex_t looking; /* what a query takes of memory is not counted */
};

static bool view_is_sound(const struct series_view *v)
{
	bool sound = labels_get(v->labels, STR("job")).len == 4;
	for (size_t i = 0; i < v->count; i++) {
		double row = number_is_stale(v->v[i]) ? 0 : v->v[i] - value_of(v->labels->hash, 0);
		sound &= row >= 0 && row < ROWS;
	}
	return sound;
}

static bool fold_look(void *context, const struct series_fold *fold)
{
	struct reader *r = context;
	if (fold->labels->count != 4)
		r->failed = true;
	return true;
}

static void *read_on(void *context)
{
	struct reader *r = context;
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; !r->stop; i++) {
		size_t count;
		int64_t oldest_ms, newest_ms;
		struct matcher m;
		pthread_mutex_lock(&r->looking);
		matcher_init(&m, STR("instance"), MATCH_RE, STR("pod-.*-[0135]"), NULL);
		store_lock_read(r->store);
		bool some = store_bounds(r->store, &oldest_ms, &newest_ms);
		struct series_view *views = store_select(r->store, &arena, &m, i % 2, INT64_MIN, INT64_MAX, &count);
		for (size_t k = 0; k < count; k++)
			if (!view_is_sound(&views[k]))
				r->failed = true;
		if (some)
			store_fold(r->store, &arena, &(struct store_selection){ .context = r }, 1,
				&(struct series_windows){ newest_ms - DEPLOY_MS, DEPLOY_MS, DEPLOY_MS, 2 }, false, fold_look);
		size_t value_count;
		struct str *values = store_label_values(r->store, &arena, STR("instance"), &m, i % 2, &value_count);
		store_unlock_read(r->store);
		/* What came out lasts as long as the arena. */
		for (size_t k = 0; k < value_count; k++)
			if (!str_starts(values[k], STR("pod-")))
				r->failed = true;
		for (size_t k = 0; k < count; k++)
			if (!str_starts(labels_get(views[k].labels, STR("instance")), STR("pod-")))
				r->failed = true;
		matcher_fini(&m);
		arena_reset(&arena);
		pthread_mutex_unlock(&r->looking);
		r->selects++;
		usleep(500);
	}
	arena_fini(&arena);
	return NULL;
}

static void reader_start(struct reader *r, pthread_t *thread, struct store *s)
{
	*r = (struct reader){ .store = s };
	pthread_mutex_init(&r->looking, NULL);
	assert_int_equal(pthread_create(thread, NULL, read_on, r), 0);
}

static void reader_end(struct reader *r, pthread_t thread)
{
	while (!r->selects)
		usleep(1000);
	r->stop = true;
	pthread_join(thread, NULL);
	pthread_mutex_destroy(&r->looking);
	assert_false(r->failed);
}

/* ---- long runs ---- */

static size_t memory_in_use(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* After `warm` deployments all is as large as it gets: neither series nor memory grow. */
static void long_run(struct churn *c, int warm, int deployments, void (*look)(const struct churn *c))
{
	size_t most_series = 0, most_memory = 0;
	uint64_t forgotten = 0;
	struct reader r;
	pthread_t thread;

	reader_start(&r, &thread, c->store);
	for (int i = 0; i < deployments; i++) {
		deploy(c);
		if (i % 4 == 3)
			look(c);
		pthread_mutex_lock(&r.looking);
		size_t series = store_series_count(c->store), memory = memory_in_use();
		pthread_mutex_unlock(&r.looking);
		if (i < warm) {
			most_series = series > most_series ? series : most_series;
			most_memory = memory > most_memory ? memory : most_memory;
			forgotten = sink_forgotten(store_sink(c->store));
			continue;
		}
		assert_true(series <= most_series);
		assert_true(memory <= most_memory + most_memory / 4 + (2 << 20));
	}
	reader_end(&r, thread);
	assert_true(sink_forgotten(store_sink(c->store)) > forgotten);
}

static void test_file_is_flat(void **state)
{
	struct churn *c = *state;
	c->store = open_at(c, false);
	long_run(c, 22, 46, same_as_fresh);
	/* The file is rid of them too, and goes on after it was opened anew. */
	store_free(c->store);
	c->store = open_at(c, false);
	assert_true(store_series_count(c->store) < 22 * PODS * PAGE);
	same_as_fresh(c);
	for (int i = 0; i < 6; i++)
		deploy(c);
	same_as_fresh(c);
	store_free(c->store);
	struct store_verified verified;
	c->store = open_at(c, true);
	assert_true(store_verify(c->store, NULL, NULL, &verified));
}

/* Whatever the moment at which it ends: sets whose chunks are gone, and their series, are not there for ever. */
static void test_reopened_is_flat(void **state)
{
	struct churn *c = *state;
	size_t most = 0;
	c->retention_ms = DEPLOY_MS; /* less than it takes until the group of a pod that ended silently is dissolved */
	c->store = open_at(c, false);
	for (int i = 0; i < 60; i++) {
		deploy(c);
		if (i % 3 == 2) {
			store_free(c->store);
			c->store = open_at(c, false);
			same_as_fresh(c);
		}
		size_t series = store_series_count(c->store);
		if (i < 24)
			most = series > most ? series : most;
		else
			assert_true(series <= most);
	}
	struct store_stats stats;
	store_stats(c->store, &stats);
	assert_true(stats.sets < 20 * PODS);
}

/* What retention took does not come again from the log. */
static void test_retained_stays_away(void **state)
{
	struct churn *c = *state;
	struct sink *sink;
	struct series *slow[8];
	c->retention_ms = 60000;
	c->store = open_at(c, false);
	sink = store_sink(c->store);
	/* A page that comes once an hour is sealed when it comes again: so long it holds the log. */
	for (int i = 0; i < (int)ARRAY_LEN(slow); i++) {
		struct labels *labels = labels_make(1000, PODS, i);
		slow[i] = sink->ops->series(sink, labels, METRIC_GAUGE);
		sink_hold(sink, slow[i], true);
		labels_unref(labels);
	}
	for (int i = 0; i < 12; i++) {
		assert_int_equal(sink->ops->append_row(sink, slow, (double[ARRAY_LEN(slow)]){ i }, ARRAY_LEN(slow), now_of(c) + 10), 0);
		deploy(c);
		same_as_fresh(c);
	}
}

/* All samples of the last two deployments, each once. */
static void look_at_memory(const struct churn *c)
{
	struct arena arena;
	size_t count, samples = 0;
	arena_init(&arena);
	struct series_view *views = store_select(c->store, &arena, NULL, 0, now_of(c) - 2 * DEPLOY_MS, INT64_MAX, &count);
	assert_int_equal(count, 2 * PODS * PAGE);
	for (size_t i = 0; i < count; i++) {
		assert_true(view_is_sound(&views[i]));
		samples += views[i].count;
	}
	assert_int_equal(samples, 2 * PAGE * ((PODS - 1) * (ROWS + 1) - 1 + ROWS * OFTEN + 1));
	arena_fini(&arena);
}

static void test_memory_is_flat(void **state)
{
	struct churn *c = *state;
	c->store = store_new();
	store_set_retention(c->store, KEPT * DEPLOY_MS, 0);
	long_run(c, 16, 40, look_at_memory);
}

/* ---- who holds series ---- */

static void test_held_stay(void **state)
{
	struct churn *c = *state;
	c->store = open_at(c, false);
	struct sink *sink = store_sink(c->store);
	deploy(c);
	struct series *held = c->rows[PODS - 1][7];
	struct labels *name = labels_make(0, PODS - 1, 7);
	sink_hold(sink, held, true);
	for (int i = 0; i < 20; i++)
		deploy(c);
	uint64_t forgotten = sink_forgotten(sink);
	assert_true(forgotten > 0);
	/* It has no sample, nobody asked for it, and still it is what it was. */
	assert_ptr_equal(sink->ops->series(sink, name, METRIC_UNKNOWN), held);
	assert_int_equal(sink->ops->append(sink, held, now_of(c) + 500, 42), APPEND_OK);
	deploy(c);
	same_as_fresh(c);
	sink_hold(sink, held, false);
	for (int i = 0; i < 20; i++)
		deploy(c);
	assert_true(sink_forgotten(sink) > forgotten);
	/* Then it went; who comes under its name is new. */
	assert_int_equal(store_series_type(c->store, name), METRIC_UNKNOWN);
	struct series *again = sink->ops->series(sink, name, METRIC_GAUGE);
	assert_int_equal(sink->ops->append(sink, again, now_of(c) + 500, 43), APPEND_OK);
	commit(c);
	same_as_fresh(c);
	labels_unref(name);
}

static void scrape(struct fleet *f, struct target *t, int64_t t_ms, int generation)
{
	struct buf page;
	buf_init(&page, 1 << 20);
	for (int i = 0; i < 300; i++)
		buf_printf(&page, "steady_total{nth=\"%d\"} %d\n", i, generation);
	for (int i = 0; i < 300; i++)
		buf_printf(&page, "passing_total{nth=\"%d\",adapter=\"%d\"} %d\n", i, generation, generation);
	struct http_answer answer = { .status = 200, .body = buf_str(&page), .duration_s = 0.1 };
	const struct scrape_record *record = fleet_ingest(f, t, t_ms, STR_EMPTY, &answer);
	assert_int_equal(record->outcome, SCRAPE_OK);
	assert_int_equal(record->samples, 600);
	buf_fini(&page);
}

/* A target that stays, whose page is ever another, and one that is replaced each time. */
static void targets_churn(struct store *s, void (*retain_at)(struct store *s, int64_t t_ms))
{
	struct fleet f;
	size_t most = 0;
	fleet_init(&f, store_sink(s));
	struct target *steady = fleet_target(&f, STR("steady"), STR(""), STR("vllm"));
	for (int i = 0; i < 60; i++) {
		int64_t t_ms = BEGIN_MS + (int64_t)i * DEPLOY_MS;
		char name[32];
		snprintf(name, sizeof name, "pod-%d", i);
		struct target *t = fleet_target(&f, str_from(name), STR(""), STR("vllm"));
		for (int k = 0; k < 4; k++) {
			scrape(&f, steady, t_ms + k * 60000, i);
			scrape(&f, t, t_ms + k * 60000 + 500, i);
		}
		fleet_remove(&f, t, t_ms + 5 * 60000);
		retain_at(s, t_ms + 10 * 60000);
		if (i < 45)
			most = store_series_count(s) > most ? store_series_count(s) : most;
		else
			assert_true(store_series_count(s) <= most);
	}
	assert_true(sink_forgotten(store_sink(s)) > 2);
	/* Stale markers of what the last page no longer had are there. */
	struct arena arena;
	struct matcher m[2];
	size_t count;
	arena_init(&arena);
	matcher_init(&m[0], STR("instance"), MATCH_EQ, STR("steady"), NULL);
	matcher_init(&m[1], STR("adapter"), MATCH_EQ, STR("58"), NULL);
	struct series_view *views = store_select(s, &arena, m, 2, INT64_MIN, INT64_MAX, &count);
	assert_int_equal(count, 300);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(views[i].count, 5);
		assert_true(number_is_stale(views[i].v[4]));
	}
	matcher_fini(&m[0]);
	matcher_fini(&m[1]);
	arena_fini(&arena);
	fleet_fini(&f);
}

static void retain_memory(struct store *s, int64_t t_ms)
{
	assert_true(store_retain(s, t_ms, NULL));
}

static void retain_file(struct store *s, int64_t t_ms)
{
	for (int i = 0; i < 3; i++) {
		assert_true(store_commit(s, NULL));
		assert_true(store_retain(s, t_ms, NULL));
	}
}

static void test_targets_come_and_go(void **state)
{
	struct churn *c = *state;
	c->store = store_new();
	store_set_retention(c->store, KEPT * DEPLOY_MS, 0);
	targets_churn(c->store, retain_memory);
	store_free(c->store);
	c->chunk_rows = 1;
	c->store = open_at(c, false);
	targets_churn(c->store, retain_file);
}

static void receive(struct remote_receiver *r, int generation, int64_t t_ms)
{
	struct remote_tally tally;
	struct error e = { 0 };
	struct buf message, body;
	buf_init(&message, 1 << 24);
	buf_init(&body, 1 << 24);
	for (int i = 0; i < 800; i++) {
		/* A quarter stays. */
		struct labels *labels = labels_make(i % 4 ? generation : 0, PODS - 1, i / 4);
		struct labels_builder b;
		char nth[12];
		snprintf(nth, sizeof nth, "%d", i % 4);
		labels_builder_init(&b, labels);
		labels_builder_set(&b, STR("nth"), str_from(nth));
		struct labels *all = labels_builder_build(&b);
		remote_write_series(&message, all, &(struct remote_sample){ generation, t_ms }, 1);
		labels_unref(all);
		labels_unref(labels);
	}
	snappy_encode(buf_str(&message), &body);
	assert_true(remote_receiver_ingest(r, buf_str(&body), &tally, &e));
	assert_int_equal(tally.samples, 800);
	buf_fini(&message);
	buf_fini(&body);
}

static void test_remote_write_comes_and_goes(void **state)
{
	struct churn *c = *state;
	c->store = open_at(c, false);
	struct remote_receiver *r = remote_receiver_new(store_sink(c->store));
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 5; k++) {
			receive(r, i, BEGIN_MS + (int64_t)i * DEPLOY_MS + k * 60000);
			commit(c);
		}
		c->deployment = i + 1;
		retain(c);
		/* A sender that had gone comes again. */
		if (i % 20 == 19)
			receive(r, i - 12, BEGIN_MS + (int64_t)i * DEPLOY_MS + 6 * 60000);
	}
	assert_true(sink_forgotten(store_sink(c->store)) > 1);
	commit(c);
	struct store *fresh = open_at(c, true);
	same_views(c->store, fresh, NULL, 0);
	store_free(fresh);
	remote_receiver_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file_is_flat, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reopened_is_flat, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retained_stays_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_is_flat, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_targets_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remote_write_comes_and_goes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
