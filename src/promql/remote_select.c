/* Raw samples: an instant query over a range selector, in as many pieces as the server's limits ask for. */
#include "base/number.h"
#include "promql/remote_internal.h"
#include "promql/syntax.h"

enum { PIECE_MIN_MS = 1000 };

void remote_print_matchers(const struct matcher *a, size_t a_count, const struct matcher *b, size_t b_count, struct buf *out)
{
	buf_add_c(out, '{');
	for (size_t i = 0; i < a_count + b_count; i++) {
		const struct matcher *m = i < a_count ? &a[i] : &b[i - a_count];
		buf_add_cstr(out, i ? "," : "");
		label_print_name(m->name, out);
		buf_add_cstr(out, match_op_text(m->op));
		syntax_quote(m->value, out);
	}
	buf_add_c(out, '}');
}

/* One remote_select. */
struct selection {
	struct remote *remote;
	struct arena *arena;
	const struct matcher *matchers; /* of the caller */
	size_t matcher_count;
	VEC(struct series_view) parts; /* pieces of a series in time order */
	struct error *error;
};

/* Part of the selection: names (an alternation; ptr NULL = as the caller has them) in a time. */
struct piece {
	struct str names;
	int64_t from_ms, to_ms;
};

static bool select_piece(struct selection *s, struct piece p);

/* The matcher on the name that an alternation of plain names is, which can be asked in parts. */
static const struct matcher *names_matcher(const struct selection *s)
{
	for (size_t i = 0; i < s->matcher_count; i++)
		if (str_eq(s->matchers[i].name, LABEL_NAME) && s->matchers[i].op == MATCH_RE)
			return &s->matchers[i];
	return NULL;
}

static bool is_alternation(struct str names)
{
	for (size_t i = 0; i < names.len; i++) {
		char c = names.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '|'))
			return false;
	}
	return str_find(names, '|') >= 0;
}

static bool split_names(struct selection *s, struct piece p, struct str names, bool *ok)
{
	if (!is_alternation(names))
		return false;
	size_t at = names.len / 2;
	for (size_t i = 0; names.ptr[at] != '|'; i++)
		at = i % 2 ? names.len / 2 + i / 2 + 1 : names.len / 2 - i / 2;
	struct piece first = p, second = p;
	first.names = str_head(names, at);
	second.names = str_skip(names, at + 1);
	*ok = select_piece(s, first) && select_piece(s, second);
	return true;
}

static bool split_time(struct selection *s, struct piece p)
{
	int64_t middle_ms = p.from_ms + (p.to_ms - p.from_ms) / 2;
	if (p.to_ms - p.from_ms < PIECE_MIN_MS) {
		error_hint(s->error, "even a second of this is above the server's limit: narrow it with matchers");
		return false;
	}
	struct piece first = { p.names, p.from_ms, middle_ms }, second = { p.names, middle_ms + 1, p.to_ms };
	return select_piece(s, first) && select_piece(s, second);
}

/* The range is a millisecond longer than asked for: in Prometheus 3 it is open at its left end, in 2 and VictoriaMetrics closed. What is
 * too old is cut off after. */
static void piece_form(const struct selection *s, struct piece p, struct buf *form)
{
	const struct remote *r = s->remote;
	struct matcher *matchers = ARENA_ARRAY(s->arena, struct matcher, s->matcher_count + 1);
	const struct matcher *named = names_matcher(s);
	struct buf query;
	buf_init(&query, 1 << 20);
	for (size_t i = 0; i < s->matcher_count; i++) {
		matchers[i] = s->matchers[i];
		if (p.names.ptr && &s->matchers[i] == named)
			matchers[i].value = p.names;
	}
	remote_print_matchers(matchers, s->matcher_count, r->match, r->match_count, &query);
	buf_printf(&query, "[%lldms]", (long long)(p.to_ms - p.from_ms + 1));
	form_add(form, "query", buf_str(&query));
	form_add_time(form, "time", p.to_ms);
	form_add(form, "nocache", STR("1")); /* VictoriaMetrics: also show the newest half minute */
	buf_fini(&query);
}

static void cut_to(struct series_view *v, int64_t from_ms, int64_t to_ms)
{
	while (v->count > 0 && v->t[0] < from_ms) {
		v->t++;
		v->v++;
		v->count--;
	}
	while (v->count > 0 && v->t[v->count - 1] > to_ms)
		v->count--;
}

static bool piece_take(struct selection *s, struct piece p, json_t *data)
{
	struct promql_value value;
	if (!remote_value_read(&s->remote->pool, s->arena, data, &value, s->error))
		return false;
	if (value.type != PROMQL_MATRIX && value.count > 0)
		return error_set(s->error, EXIT_UNREACHABLE, "the server answered a range selector with something else than samples");
	for (size_t i = 0; i < value.warning_count; i++)
		remote_warning(s->remote, value.warnings[i]);
	for (size_t i = 0; i < value.count; i++) {
		cut_to(&value.series[i], p.from_ms, p.to_ms);
		s->remote->stats.samples += value.series[i].count;
		if (value.series[i].count > 0)
			VEC_PUSH(&s->parts, value.series[i]);
	}
	return true;
}

static bool select_piece(struct selection *s, struct piece p)
{
	struct buf form;
	buf_init(&form, 4 << 20);
	piece_form(s, p, &form);
	struct call call = { .path = "query", .form = buf_str(&form), .max_bytes = SELECT_ANSWER_MAX };
	enum call_status status = remote_call(s->remote, &call, s->error);
	buf_fini(&form);
	if (status == CALL_OK) {
		bool ok = piece_take(s, p, call.data);
		json_decref(call.root);
		return ok;
	}
	if (status == CALL_FAILED)
		return false;
	const struct matcher *named = names_matcher(s);
	bool ok;
	if (named && split_names(s, p, p.names.ptr ? p.names : named->value, &ok))
		return ok;
	return split_time(s, p);
}

/* Joins the pieces of each series. */
static struct series_view *parts_join(struct selection *s, size_t *count)
{
	struct series_view *joined = ARENA_ARRAY(s->arena, struct series_view, s->parts.count + 1);
	size_t *room = ARENA_ARRAY(s->arena, size_t, s->parts.count + 1);
	struct map place; /* labels → index + 1 */
	map_init(&place);
	*count = 0;
	for (int pass = 0; pass < 2; pass++) /* first how much, then the samples */
		VEC_EACH (&s->parts, part) {
			struct map_entry *entry = map_put(&place, str_of((const char *)&part->labels, sizeof part->labels), NULL);
			if (!entry->value) {
				joined[*count].labels = part->labels;
				entry->value = (void *)(uintptr_t)++ * count;
			}
			size_t i = (size_t)(uintptr_t)entry->value - 1;
			struct series_view *to = &joined[i];
			if (pass == 0) {
				room[i] += part->count;
				continue;
			}
			if (room[i] == part->count) { /* the only piece */
				*to = *part;
				continue;
			}
			if (!to->t) {
				to->t = arena_alloc(s->arena, room[i] * sizeof *to->t);
				to->v = arena_alloc(s->arena, room[i] * sizeof *to->v);
			}
			memcpy((int64_t *)to->t + to->count, part->t, part->count * sizeof *to->t);
			memcpy((double *)to->v + to->count, part->v, part->count * sizeof *to->v);
			to->count += part->count;
		}
	map_fini(&place);
	return joined;
}

bool remote_select(struct backend *b, struct arena *arena, const struct matcher *matchers, size_t matcher_count, int64_t from_ms,
	int64_t to_ms, struct series_view **series, size_t *count, struct error *e)
{
	struct error local;
	struct selection s = { (struct remote *)b, arena, matchers, matcher_count, .error = e ? e : &local };
	*series = NULL;
	*count = 0;
	error_clear(s.error);
	from_ms = from_ms > 0 ? from_ms : 0; /* no API knows a time before 1970 */
	if (to_ms < from_ms)
		return true;
	bool ok = select_piece(&s, (struct piece){ STR_EMPTY, from_ms, to_ms });
	if (ok) {
		*series = parts_join(&s, count);
		ok = remote_drop_twins(s.remote, *series, count, to_ms, s.error);
	}
	VEC_FREE(&s.parts);
	return ok;
}
