/* High availability: two Prometheus servers scrape the same targets and differ in one external label. Their series are one. */
#include "promql/remote_internal.h"

/* Names that nobody but a Prometheus pair uses, and one that Ray Serve and others use for real replicas too. */
static const char *const sure_labels[] = { "prometheus_replica", "__replica__" };
static const char doubtful_label[] = "replica";

static bool any_has(const struct series_view *series, size_t count, const char *label)
{
	for (size_t i = 0; i < count; i++)
		if (labels_get(series[i].labels, str_from(label)).len)
			return true;
	return false;
}

enum external { EXTERNAL_UNKNOWN, EXTERNAL_NO, EXTERNAL_YES };

/* An external label is on every series, so on `up` too; a label of an application is not. Unknown without any `up` at that time. */
static bool is_external(struct remote *r, const char *label, int64_t t_ms, enum external *external, struct error *e)
{
	struct buf query, form;
	struct matcher up = { LABEL_NAME, STR("up"), MATCH_EQ, NULL };
	buf_init(&query, 65536);
	buf_init(&form, 1 << 20);
	buf_printf(&query, "count by (%s) (", label);
	remote_print_matchers(&up, 1, r->match, r->match_count, &query);
	buf_add_c(&query, ')');
	form_add(&form, "query", buf_str(&query));
	form_add_time(&form, "time", t_ms);
	form_add(&form, "nocache", STR("1"));
	struct call call = { .path = "query", .form = buf_str(&form), .max_bytes = SELECT_ANSWER_MAX };
	bool ok = remote_call(r, &call, e) == CALL_OK;
	*external = EXTERNAL_UNKNOWN;
	if (ok) {
		size_t i;
		json_t *item;
		json_array_foreach(json_object_get(call.data, "result"), i, item) if (*external != EXTERNAL_YES) *external =
			json_object_get(json_object_get(item, "metric"), label) ? EXTERNAL_YES : EXTERNAL_NO;
		json_decref(call.root);
	}
	buf_fini(&query);
	buf_fini(&form);
	return ok;
}

/* The doubtful label costs a request, so only a selection that has it asks. */
static bool replica_labels_detect(struct remote *r, const struct series_view *series, size_t count, int64_t t_ms, struct error *e)
{
	enum external external = EXTERNAL_UNKNOWN;
	if (r->replica_labels_known)
		return true;
	if (any_has(series, count, doubtful_label) && !is_external(r, doubtful_label, t_ms, &external, e))
		return false;
	memcpy(r->replica_labels, sure_labels, sizeof sure_labels);
	r->replica_labels[ARRAY_LEN(sure_labels)] = external == EXTERNAL_YES ? doubtful_label : NULL;
	r->replica_labels_known = external != EXTERNAL_UNKNOWN;
	return true;
}

static const struct labels *without(struct remote *r, const struct labels *l, struct str label)
{
	struct labels_builder b;
	labels_builder_init(&b, l);
	labels_builder_remove(&b, label);
	return label_pool_take(&r->pool, labels_builder_build(&b));
}

/* The one that saw more: the newest sample, then more of them; else always the same one. */
static bool is_better(const struct series_view *a, const struct labels *a_own, const struct series_view *b, const struct labels *b_own)
{
	int64_t a_ms = a->t[a->count - 1], b_ms = b->t[b->count - 1];
	if (a_ms != b_ms)
		return a_ms > b_ms;
	if (a->count != b->count)
		return a->count > b->count;
	return labels_cmp(a_own, b_own) < 0;
}

static void twin_count(struct remote *r, const struct labels *dropped)
{
	bool made;
	map_put(&r->twins, str_of((const char *)&dropped->hash, sizeof dropped->hash), &made);
	r->stats.replicas_dropped += made;
}

static void drop_twins_by(struct remote *r, struct series_view *series, size_t *count, const char *label)
{
	struct map place;                           /* labels without the replica's → index + 1 */
	VEC(const struct labels *) exposed = { 0 }; /* of those that are kept */
	size_t kept = 0;
	map_init(&place);
	r->stats.replica_label = str_from(label);
	for (size_t i = 0; i < *count; i++) {
		struct series_view view = series[i];
		const struct labels *own = view.labels;
		if (labels_get(own, str_from(label)).len)
			view.labels = without(r, own, str_from(label));
		struct map_entry *entry = map_put(&place, str_of((const char *)&view.labels, sizeof view.labels), NULL);
		if (!entry->value) {
			series[kept++] = view;
			VEC_PUSH(&exposed, own);
			entry->value = (void *)(uintptr_t)kept;
			continue;
		}
		size_t twin = (uintptr_t)entry->value - 1;
		if (is_better(&view, own, &series[twin], exposed.items[twin])) {
			series[twin] = view;
			const struct labels *worse = exposed.items[twin];
			exposed.items[twin] = own;
			own = worse;
		}
		twin_count(r, own);
	}
	VEC_FREE(&exposed);
	map_fini(&place);
	*count = kept;
}

bool remote_drop_twins(struct remote *r, struct series_view *series, size_t *count, int64_t t_ms, struct error *e)
{
	if (!replica_labels_detect(r, series, *count, t_ms, e))
		return false;
	for (size_t i = 0; r->replica_labels[i]; i++)
		if (any_has(series, *count, r->replica_labels[i]))
			drop_twins_by(r, series, count, r->replica_labels[i]);
	return true;
}
