#include "cli/signals_bound.h"

#include "base/json.h"
#include "signals/promql_text.h"

#include <stdio.h>

static bool is_wanted(const struct bound_request *r, const struct signal_spec *s)
{
	if (r->group && !str_is(s->group, r->group))
		return false;
	for (size_t i = 0; i < r->signal_count; i++)
		if (str_eq(r->signals[i]->id, s->id))
			return true;
	return !r->signal_count;
}

static const struct binding *binding_of(struct watch *w, size_t target)
{
	return evidence_binding(&w->data.evidence, target, w->span.window.to_ms);
}

/* Is this target's engine and version another's that came before? */
static bool seen_before(struct watch *w, size_t target)
{
	struct buf text, other;
	bool seen = false;

	buf_init(&text, 4096);
	buf_init(&other, 4096);
	binding_print_engine(binding_of(w, target), &text);
	for (size_t i = 0; i < target && !seen; i++) {
		buf_reset(&other);
		if (!binding_of(w, i))
			continue;
		binding_print_engine(binding_of(w, i), &other);
		seen = str_eq(buf_str(&text), buf_str(&other));
	}
	buf_fini(&text);
	buf_fini(&other);
	return seen;
}

static void promql_signal_text(struct page *p, const struct promql_text *t, const struct signal_spec *s, bool asked, struct buf *text)
{
	buf_reset(text);
	bool ok = promql_text_print(t, s, text);

	/* In the list of all, what PromQL cannot say here is left out. */
	if (!ok && !asked)
		return;
	page_print(
		p, ok ? STYLE_DIM : STYLE_WARNING, "# " STR_FMT ": " STR_FMT "%s", STR_ARG(s->id), STR_ARG(s->title), ok ? "" : ": none");
	page_line(p);
	/* One line whatever its width: to be copied. */
	page_print(p, STYLE_PLAIN, "%s" STR_FMT, ok ? "" : "# ", STR_ARG(buf_str(text)));
	page_line(p);
}

static void promql_signal_json(struct json *j, const struct promql_text *t, const struct signal_spec *s, struct buf *text)
{
	buf_reset(text);
	bool ok = promql_text_print(t, s, text);

	json_open(j, NULL, '{');
	json_text(j, "id", s->id);
	json_text(j, ok ? "promql" : "why_not", buf_str(text));
	json_close(j, '}');
}

static void promql_engine(struct page *p, struct json *j, const struct watch *w, const struct binding *b, const struct bound_request *r)
{
	const struct promql_text t = { .binding = b, .matchers = STR(""), .window = STR("5m") };
	struct buf text;

	buf_init(&text, 1 << 20);
	binding_print_engine(b, &text);
	if (j) {
		json_open(j, NULL, '{');
		json_text(j, "engine", buf_str(&text));
		json_open(j, "signals", '[');
	} else {
		page_print(p, STYLE_BOLD, "# " STR_FMT, STR_ARG(buf_str(&text)));
		page_line(p);
	}
	VEC_EACH (&w->catalog.signals, signal) {
		if (!is_wanted(r, *signal))
			continue;
		if (j)
			promql_signal_json(j, &t, *signal, &text);
		else
			promql_signal_text(p, &t, *signal, r->signal_count > 0, &text);
	}
	if (j) {
		json_close(j, ']');
		json_close(j, '}');
	}
	buf_fini(&text);
}

bool bound_promql(struct page *p, struct watch *w, const struct bound_request *r, bool json, struct error *e)
{
	struct json document = { .out = &p->out }, *j = json ? &document : NULL;
	size_t engines = 0;

	if (j) {
		json_open(j, NULL, '{');
		json_text(j, "schema", STR("goodput.promql/1"));
		json_open(j, "engines", '[');
	}
	for (size_t i = 0; i < w->data.fleet.targets.count; i++) {
		const struct binding *b = binding_of(w, i);

		if (!b || seen_before(w, i))
			continue;
		promql_engine(p, j, w, b, r);
		engines++;
	}
	if (j) {
		json_close(j, ']');
		json_close(j, '}');
		page_line(p);
	}
	if (engines)
		return true;
	error_set(e, EXIT_UNREACHABLE, "no target answered with a page: there is nothing to bind to");
	error_hint(e, "goodput check with the same targets says why");
	return false;
}

/* ---- coverage ---- */

enum { COVERAGE_COLUMN = 42, COVERAGE_BELOW = 27 };

static void coverage_metric(struct page *p, struct json *j, const struct metric_spec *m, const struct bound_metric *b)
{
	struct str exposed = b->name ? b->name->name : STR_EMPTY;

	if (j) {
		json_open(j, NULL, '{');
		json_text(j, "metric", m->id);
		json_text(j, "coverage", str_from(coverage_name(b->coverage)));
		json_text_if(j, "exposed", exposed);
		json_text_if(j, "why", b->why);
		json_close(j, '}');
		return;
	}
	struct str rest = exposed.len ? exposed : b->why, text = rest, word;
	int widest = 0, indent = COVERAGE_COLUMN;
	char label[80];

	while (str_split(&rest, ' ', &word))
		widest = (int)word.len > widest ? (int)word.len : widest;
	snprintf(label, sizeof label, "  %-24.*s %-14s", STR_ARG(m->id), coverage_name(b->coverage));
	if (indent + widest > p->columns) { /* a name too long for the room beside: below */
		page_print(p, STYLE_PLAIN, "%s", label);
		page_line(p);
		label[0] = '\0';
		indent = COVERAGE_BELOW;
	}
	page_field(p, label, STYLE_PLAIN, indent, text);
}

static void coverage_unknown(struct page *p, struct json *j, const struct binding *b)
{
	if (j)
		json_open(j, "unknown_families", '[');
	for (size_t i = 0; i < b->unknown_count; i++) {
		if (j) {
			json_text(j, NULL, b->unknown_families[i]);
			continue;
		}
		page_print(p, STYLE_PLAIN, "  %-24s %-14s " STR_FMT, "", "unknown to us", STR_ARG(b->unknown_families[i]));
		page_line(p);
	}
	if (j)
		json_close(j, ']');
}

static void coverage_target(struct page *p, struct json *j, struct watch *w, size_t target)
{
	const struct target *t = w->data.fleet.targets.items[target];
	const struct binding *b = binding_of(w, target);
	struct buf engine;

	buf_init(&engine, 4096);
	if (b)
		binding_print_engine(b, &engine);
	else
		buf_add_cstr(&engine, "no answer");
	if (j) {
		json_open(j, NULL, '{');
		json_text(j, "target", t->name);
		json_text(j, "engine", buf_str(&engine));
		json_open(j, "metrics", '[');
	} else {
		page_print(p, STYLE_BOLD, STR_FMT ": " STR_FMT, STR_ARG(t->name), STR_ARG(buf_str(&engine)));
		if (b && b->engine)
			page_print(p, STYLE_DIM, " (catalogue checked up to " STR_FMT ")", STR_ARG(b->engine->checked_up_to));
		page_line(p);
	}
	VEC_EACH (&w->catalog.metrics, metric)
		if (b && !(b->metrics[(*metric)->index].coverage == COVERAGE_NOT_APPLICABLE && !j))
			coverage_metric(p, j, *metric, &b->metrics[(*metric)->index]);
	if (j)
		json_close(j, ']');
	if (b)
		coverage_unknown(p, j, b);
	if (j)
		json_close(j, '}');
	buf_fini(&engine);
}

void bound_coverage(struct page *p, struct watch *w, bool json)
{
	struct json document = { .out = &p->out }, *j = json ? &document : NULL;

	if (j) {
		json_open(j, NULL, '{');
		json_text(j, "schema", STR("goodput.coverage/1"));
		json_open(j, "targets", '[');
	}
	for (size_t i = 0; i < w->data.fleet.targets.count; i++)
		coverage_target(p, j, w, i);
	if (j) {
		json_close(j, ']');
		json_close(j, '}');
		page_line(p);
	}
}
