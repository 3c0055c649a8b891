/* The catalogue as it is bound here: every signal, and for each kind of engine its PromQL. What the page builds its panels and its copied
 * queries from. */
#include "base/json.h"
#include "base/vec.h"
#include "signals/promql_text.h"
#include "web/web.h"

enum { TEXT_MOST = 1 << 20 };

/* The targets of one kind of engine, told apart by how the binding calls it. */
struct kind {
	struct buf title;
	const struct binding *binding;
	VEC(struct str) targets;
};
typedef VEC(struct kind) kinds;

static struct kind *kind_of(kinds *all, struct str title)
{
	for (size_t i = 0; i < all->count; i++)
		if (str_eq(buf_str(&all->items[i].title), title))
			return &all->items[i];
	return NULL;
}

static void kinds_find(kinds *all, const struct report *report)
{
	for (size_t i = 0; i < report->target_count; i++) {
		const struct target_report *t = &report->targets[i];
		struct buf title;

		if (!t->binding)
			continue;
		buf_init(&title, 4096);
		binding_print_engine(t->binding, &title);
		struct kind *kind = kind_of(all, buf_str(&title));

		if (kind) {
			buf_fini(&title);
		} else {
			VEC_PUSH(all, (struct kind){ .title = title, .binding = t->binding });
			kind = &all->items[all->count - 1];
		}
		VEC_PUSH(&kind->targets, t->target->name);
	}
}

static void kinds_free(kinds *all)
{
	for (size_t i = 0; i < all->count; i++) {
		buf_fini(&all->items[i].title);
		VEC_FREE(&all->items[i].targets);
	}
	VEC_FREE(all);
}

static void print_signals(struct json *j, const struct catalog *c)
{
	json_open(j, "signals", '[');
	VEC_EACH (&c->signals, signal) {
		const struct signal_spec *s = *signal;

		json_open(j, NULL, '{');
		json_text(j, "id", s->id);
		json_text(j, "title", s->title);
		json_text(j, "group", s->group);
		json_text_if(j, "unit", s->unit);
		json_text_if(j, "help", s->help);
		json_text_if(j, "requirement", s->requirement);
		json_true_if(j, "headline", s->headline);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_metrics(struct json *j, const struct catalog *c, const struct binding *b)
{
	json_open(j, "metrics", '{');
	VEC_EACH (&c->metrics, metric) {
		const struct bound_metric *bound = &b->metrics[(*metric)->index];

		/* Ids are identifiers and end with '\0' in the catalogue's arena. */
		if (bound->name && bound->coverage == COVERAGE_PRESENT)
			json_text(j, (*metric)->id.ptr, bound->name->name);
	}
	json_close(j, '}');
}

static void print_kind(struct json *j, const struct catalog *c, const struct kind *kind, const struct promql_text *t)
{
	struct buf text;

	json_open(j, NULL, '{');
	json_text(j, "engine", buf_str(&kind->title));
	json_list(j, "targets", kind->targets.items, kind->targets.count);
	print_metrics(j, c, kind->binding);
	json_open(j, "promql", '{');
	buf_init(&text, TEXT_MOST);
	VEC_EACH (&c->signals, signal) {
		buf_reset(&text);
		if (promql_text_print(t, *signal, &text))
			json_text(j, (*signal)->id.ptr, buf_str(&text));
	}
	buf_fini(&text);
	json_close(j, '}');
	json_close(j, '}');
}

void web_own_signals(struct web_request *q, struct web_reply *r)
{
	const struct report *report = q->source->report;
	struct str matchers = form_get(&q->form, "matchers"), window = form_get(&q->form, "window");
	struct json j = { .out = &r->body };
	kinds all = { 0 };

	if (!report) {
		web_fail(r, WEB_UNAVAILABLE, "the signals have not been judged yet: two scrapes and one evaluation are needed");
		return;
	}
	kinds_find(&all, report);
	web_open(r);
	json_open(&j, NULL, '{');
	print_signals(&j, report->catalog);
	json_open(&j, "engines", '[');
	for (size_t i = 0; i < all.count; i++) {
		const struct promql_text t = {
			.binding = all.items[i].binding, .matchers = matchers, .window = window.len ? window : STR("5m")
		};

		print_kind(&j, report->catalog, &all.items[i], &t);
	}
	json_close(&j, ']');
	json_close(&j, '}');
	web_close(r, NULL, 0, NULL, 0);
	kinds_free(&all);
}
