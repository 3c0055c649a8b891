#include "serve/bounded.h"

#include "base/clock.h"
#include "base/mem.h"

#include <pthread.h>

static const int64_t rest_ns = 5000000000; /* after no answer */

struct bounded {
	struct backend backend;
	struct load *load;
	enum load_purpose purpose;
	struct remote_options options;
	pthread_mutex_t lock;
	struct backend *inner; /* NULL: not open */
	size_t seen;           /* of inner's requests, those that the load knows of */
	int64_t rests_until_ns;
	struct error last; /* why it rests */
};

/* With the lock held: what the load does not know yet, but for one that was taken. */
static void account(struct bounded *b, size_t taken)
{
	size_t requests = b->inner ? backend_remote_stats(b->inner)->requests : taken;

	if (requests > b->seen + taken)
		load_add(b->load, b->purpose, requests - b->seen - taken);
	b->seen = b->inner ? requests : 0;
}

static bool open_inner(struct bounded *b, struct error *e)
{
	if (b->inner)
		return true;
	if (!load_take(b->load, b->purpose, e))
		return false;
	b->seen = 0;
	b->inner = backend_remote_new(&b->options, e);
	account(b, 1);
	return b->inner != NULL;
}

/* Nobody answered: whoever comes next shall not wait for the same time-out. An answer, even an error, is another thing. */
static void rest(struct bounded *b, const struct error *e)
{
	if (!str_starts(str_from(e->message), STR("the query API cannot be asked")))
		return;
	b->last = *e;
	b->rests_until_ns = clock_monotonic_ns() + rest_ns;
}

/* Takes the lock in any case; false: the call must not be made. */
static bool begin(struct bounded *b, struct error *e)
{
	pthread_mutex_lock(&b->lock);
	if (clock_monotonic_ns() < b->rests_until_ns) {
		*e = b->last;
		return false;
	}
	bool open = open_inner(b, e);

	if (!open)
		rest(b, e);
	return open && load_take(b->load, b->purpose, e);
}

static bool end(struct bounded *b, bool begun, bool ok, struct error *e)
{
	if (begun) {
		account(b, 1);
		if (!ok)
			rest(b, e);
	}
	pthread_mutex_unlock(&b->lock);
	return begun && ok;
}

static bool bounded_query(
	struct backend *backend, struct arena *arena, struct str query, int64_t t_ms, struct promql_value *value, struct error *e)
{
	struct bounded *b = (struct bounded *)backend;
	bool begun = begin(b, e), ok = begun && b->inner->ops->query(b->inner, arena, query, t_ms, value, e);

	return end(b, begun, ok, e);
}

static bool bounded_query_range(struct backend *backend, struct arena *arena, struct str query, int64_t start_ms, int64_t end_ms,
	int64_t step_ms, struct promql_value *value, struct error *e)
{
	struct bounded *b = (struct bounded *)backend;
	bool begun = begin(b, e), ok = begun && b->inner->ops->query_range(b->inner, arena, query, start_ms, end_ms, step_ms, value, e);

	return end(b, begun, ok, e);
}

static bool bounded_select(struct backend *backend, struct arena *arena, const struct matcher *matchers, size_t matcher_count,
	int64_t from_ms, int64_t to_ms, struct series_view **series, size_t *count, struct error *e)
{
	struct bounded *b = (struct bounded *)backend;
	bool begun = begin(b, e),
	     ok = begun && b->inner->ops->select(b->inner, arena, matchers, matcher_count, from_ms, to_ms, series, count, e);

	return end(b, begun, ok, e);
}

static bool bounded_label_values(struct backend *backend, struct arena *arena, struct str label, const struct matcher *matchers,
	size_t matcher_count, int64_t from_ms, int64_t to_ms, struct str **values, size_t *count, struct error *e)
{
	struct bounded *b = (struct bounded *)backend;
	bool begun = begin(b, e),
	     ok = begun && b->inner->ops->label_values(b->inner, arena, label, matchers, matcher_count, from_ms, to_ms, values, count, e);

	return end(b, begun, ok, e);
}

static void bounded_free(struct backend *backend)
{
	struct bounded *b = (struct bounded *)backend;

	backend_free(b->inner);
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

static const struct backend_ops bounded_ops = {
	.query = bounded_query,
	.query_range = bounded_query_range,
	.select = bounded_select,
	.label_values = bounded_label_values,
	.free = bounded_free,
};

struct backend *bounded_new(struct load *load, enum load_purpose purpose, const struct remote_options *options)
{
	struct bounded *b = NEW(struct bounded);

	*b = (struct bounded){ .backend.ops = &bounded_ops, .load = load, .purpose = purpose, .options = *options };
	pthread_mutex_init(&b->lock, NULL);
	return &b->backend;
}

bool bounded_open(struct backend *backend, struct error *e)
{
	struct bounded *b = (struct bounded *)backend;

	pthread_mutex_lock(&b->lock);
	bool ok = open_inner(b, e);
	pthread_mutex_unlock(&b->lock);
	return ok;
}

void bounded_renew(struct backend *backend)
{
	struct bounded *b = (struct bounded *)backend;

	pthread_mutex_lock(&b->lock);
	backend_free(b->inner);
	b->inner = NULL;
	b->seen = 0;
	pthread_mutex_unlock(&b->lock);
}
