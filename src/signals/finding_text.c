/* What a finding says: title, evidence, actions, blast radius, what else changed. */
#include "signals/findings.h"

#include "base/mem.h"

#include <math.h>

struct reading reading_copy(struct arena *arena, const struct reading *r)
{
	struct reading copy = *r;
	copy.why = r->why.len ? arena_str(arena, r->why) : STR_EMPTY;
	copy.text = r->text.len ? arena_str(arena, r->text) : STR_EMPTY;
	copy.note = r->note.len ? arena_str(arena, r->note) : STR_EMPTY;
	copy.exposed = r->exposed.len ? arena_str(arena, r->exposed) : STR_EMPTY;
	copy.cells = r->cell_count ? arena_alloc(arena, r->cell_count * sizeof *copy.cells) : NULL;
	if (r->cell_count)
		memcpy(copy.cells, r->cells, r->cell_count * sizeof *copy.cells);
	return copy;
}

/* ---- title ---- */

/* "{id}" with its unit, "{#id}" without. */
static void print_reading(struct evaluation *ev, const struct scope *s, struct str id, struct buf *out)
{
	bool bare = str_starts(id, STR("#"));
	const struct signal_spec *signal = catalog_signal(ev->catalog, arena_cstr(ev->arena, str_skip(id, bare)));
	if (!signal) { /* somebody disabled it */
		buf_add_cstr(out, "?");
		return;
	}
	const struct reading *r = evaluation_reading(ev, s, signal);
	if (r->kind == READING_TEXT)
		buf_add(out, r->text);
	else if (!reading_known(r)) /* the reason stands with the evidence */
		buf_add_cstr(out, "unknown");
	else
		reading_print(r, bare ? STR_EMPTY : signal->unit, out);
}

static struct str fill_title(struct evaluation *ev, struct arena *arena, const struct scope *s, struct str text)
{
	struct buf out;
	buf_init(&out, 4096);
	while (text.len) {
		ptrdiff_t open = str_find(text, '{');
		ptrdiff_t close = open < 0 ? -1 : str_find(str_skip(text, (size_t)open), '}');
		if (close < 0)
			break;
		buf_add(&out, str_head(text, (size_t)open));
		print_reading(ev, s, str_of(text.ptr + open + 1, (size_t)close - 1), &out);
		text = str_skip(text, (size_t)(open + close) + 1);
	}
	buf_add(&out, text);
	struct str title = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return title;
}

/* ---- evidence ---- */

static struct evidence_line *read_signals(
	struct evaluation *ev, struct arena *arena, const struct scope *s, const struct str *ids, size_t count, size_t *filled)
{
	struct evidence_line *lines = ARENA_ARRAY(arena, struct evidence_line, count + 1);
	*filled = 0;
	for (size_t i = 0; i < count; i++) {
		const struct signal_spec *signal = catalog_signal(ev->catalog, arena_cstr(ev->arena, ids[i]));
		if (!signal)
			continue;
		const struct reading *r = evaluation_reading(ev, s, signal);
		/* What this engine does not have cannot speak for or against anything. */
		if (!reading_known(r) &&
			(r->reason == UNKNOWN_NOT_APPLICABLE || r->reason == UNKNOWN_NOT_ENABLED || r->reason == UNKNOWN_NO_REFERENCE))
			continue;
		lines[(*filled)++] = (struct evidence_line){ signal, reading_copy(arena, r) };
	}
	return lines;
}

/* Requests per second that the finding costs, from the first of its evidence that says so. None is no cost that anybody counts. */
static struct reading blast_radius(const struct finding *f)
{
	static const char *const costs[] = { "ttft_misses_per_s", "tpot_misses_per_s", "e2e_misses_per_s", "lost_per_s", "errors_per_s",
		"aborts_per_s", "gap_per_s", "http_5xx_per_s", "kv_transfer_failures_per_s", "refused_per_s" };
	for (size_t i = 0; i < f->evidence_count; i++)
		for (size_t k = 0; k < ARRAY_LEN(costs); k++)
			if (str_is(f->evidence[i].signal->id, costs[k]) && reading_is_number(&f->evidence[i].reading) &&
				!(f->evidence[i].reading.kind == READING_VALUE && f->evidence[i].reading.low == 0))
				return f->evidence[i].reading;
	return reading_unknown(UNKNOWN_NOT_APPLICABLE, STR("no signal tells how many requests it costs"));
}

/* ---- actions ---- */

struct place {
	struct str target, url, page, model, engine; /* page: what is scraped; url: where the API begins */
};

/* http://host:8000/v1 of http://host:8000/v1/metrics; the address alone where the page's path says nothing about the API's. */
static struct str url_of_page(struct str page)
{
	static const char *const paths[] = { "/prometheus/metrics", "/metrics" };
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (str_ends(page, str_from(paths[i])))
			return str_head(page, page.len - strlen(paths[i]));
	ptrdiff_t colon = str_find(page, ':');
	if (colon < 0 || !str_starts(str_skip(page, (size_t)colon), STR("://")))
		return page;
	ptrdiff_t path = str_find(str_skip(page, (size_t)colon + 3), '/');
	return path < 0 ? page : str_head(page, (size_t)(colon + 3 + path));
}

/* The target that a command is for: the scope's own, else the first one named. */
static struct place place_of(struct evaluation *ev, struct arena *arena, const struct finding *f)
{
	const struct scope *s = f->scope;
	if (s->kind == SCOPE_FLEET || s->kind == SCOPE_POOL) {
		const struct scope *named = f->where_count ? evaluation_place(ev, f->where[0]) : NULL;
		s = named ? named : s;
	}
	struct place p = { .model = s->model.len ? s->model : STR("MODEL"), .engine = s->key.len ? s->key : STR("0"), .target = s->name };
	if (s->target_count || s->kind == SCOPE_TARGET || s->kind == SCOPE_ENGINE || s->kind == SCOPE_GPU) {
		size_t index = s->kind == SCOPE_FLEET || s->kind == SCOPE_POOL ? s->targets[0] : s->target;
		const struct target *t = ev->evidence->targets.items[index].target;
		p.target = t->name;
		p.page = t->url;
	}
	if (!p.page.len)
		p.page = arena_printf(arena, "http://" STR_FMT "/metrics", STR_ARG(p.target));
	p.url = url_of_page(p.page);
	return p;
}

/* Names come from pages: one that a shell could take for more than a word is not put into a command. */
static bool is_shell_word(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_./:@%+=,-[]", c));
		if (!plain || (i == 0 && c == '-'))
			return false;
	}
	return s.len > 0;
}

static struct str fill_placeholders(struct arena *arena, const struct place *p, struct str text)
{
	const struct {
		struct str name, value;
	} fills[] = { { STR("$target"), p->target }, { STR("$url"), p->url }, { STR("$page"), p->page }, { STR("$model"), p->model },
		{ STR("$engine"), p->engine } };
	if (str_find(text, '$') < 0)
		return text;
	struct buf out;
	buf_init(&out, 4096);
	for (size_t i = 0, used; i < text.len; i += used) {
		used = 1;
		struct str value = str_of(text.ptr + i, 1);
		for (size_t k = 0; k < ARRAY_LEN(fills); k++)
			if (str_starts(str_skip(text, i), fills[k].name)) {
				used = fills[k].name.len;
				value = fills[k].value;
				break;
			}
		buf_add(&out, value);
	}
	struct str filled = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return filled;
}

/* What people have to fill in stands in capitals, as in the catalogue's own commands. */
static struct place place_of_command(struct place p)
{
	return (struct place){ .target = is_shell_word(p.target) ? p.target : STR("TARGET"),
		.url = is_shell_word(p.url) ? p.url : STR("URL"),
		.page = is_shell_word(p.page) ? p.page : STR("URL/metrics"),
		.model = is_shell_word(p.model) ? p.model : STR("MODEL"),
		.engine = is_shell_word(p.engine) ? p.engine : STR("ENGINE") };
}

static void fill_actions(struct evaluation *ev, struct arena *arena, struct finding *f)
{
	struct place p = place_of(ev, arena, f), in_command = place_of_command(p);
	f->action_count = f->spec->action_count;
	f->actions = ARENA_ARRAY(arena, struct action, f->action_count + 1);
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &f->spec->actions[i];
		f->actions[i] = (struct action){ a->grade, fill_placeholders(arena, &p, a->text), fill_placeholders(arena, &p, a->risk),
			fill_placeholders(arena, &in_command, a->command) };
	}
}

void finding_complete(struct evaluation *ev, struct arena *arena, struct finding *f)
{
	const struct finding_spec *spec = f->spec;
	struct str *where = ARENA_ARRAY(arena, struct str, f->where_count + 1);
	for (size_t i = 0; i < f->where_count; i++)
		where[i] = arena_str(arena, f->where[i]);
	f->where = where;
	f->detail = f->detail.len ? arena_str(arena, f->detail) : STR_EMPTY;
	f->title = fill_title(ev, arena, f->scope, spec->title);
	f->evidence = read_signals(ev, arena, f->scope, spec->evidence, spec->evidence_count, &f->evidence_count);
	f->counter = read_signals(ev, arena, f->scope, spec->counter, spec->counter_count, &f->counter_count);
	f->blast = blast_radius(f);
	fill_actions(ev, arena, f);
}

/* ---- what else changed ---- */

/* A jump between two rates or means of the same signal; NAN when one is unknown, rests on too few events, or was 0. */
static double relative_change(
	struct evaluation *before, struct evaluation *now, const struct scope *old, const struct scope *s, const char *id)
{
	const struct reading *a = evaluation_named(before, old, id), *b = evaluation_named(now, s, id);
	if (a->kind != READING_VALUE || b->kind != READING_VALUE || a->low == 0 || a->events < 10 || b->events < 10)
		return NAN;
	return b->low / a->low - 1;
}

static void tell_jump(struct evaluation *before, struct evaluation *now, const struct scope *old, const struct scope *s,
	struct arena *arena, const char *id, const char *what, struct str *out, size_t *count)
{
	double change = relative_change(before, now, old, s, id);
	if (!(change >= 0.5 || change <= -1.0 / 3)) /* half as much again, or the reverse */
		return;
	struct buf text;
	buf_init(&text, 256);
	const struct signal_spec *signal = catalog_signal(now->catalog, id);
	buf_printf(&text, "%s went from ", what);
	reading_print(evaluation_named(before, old, id), signal->unit, &text);
	buf_add_cstr(&text, " to ");
	reading_print(evaluation_named(now, s, id), signal->unit, &text);
	buf_printf(&text, " (%+.0f %%)", change * 100);
	out[(*count)++] = arena_str(arena, buf_str(&text));
	buf_fini(&text);
}

static void tell_cached_share(struct evaluation *before, struct evaluation *now, const struct scope *old, const struct scope *s,
	struct arena *arena, struct str *out, size_t *count)
{
	const struct reading *a = evaluation_named(before, old, "cached_share_total"), *b = evaluation_named(now, s, "cached_share_total");
	if (a->kind == READING_VALUE && b->kind == READING_VALUE && fabs(a->low - b->low) >= 0.2)
		out[(*count)++] = arena_printf(arena, "prompt tokens from caches went from %.0f %% to %.0f %%", a->low * 100, b->low * 100);
}

/* The first target whose page is read by other names than before: an upgrade or a rollback. */
static void tell_binding(
	struct evaluation *before, struct evaluation *now, const struct scope *s, struct arena *arena, struct str *out, size_t *count)
{
	for (size_t i = 0; i < s->target_count; i++) {
		const struct binding *a = evidence_binding(now->evidence, s->targets[i], before->window.to_ms);
		const struct binding *b = evidence_binding(now->evidence, s->targets[i], now->window.to_ms);
		if (!a || !b || a == b || !a->engine || !b->engine)
			continue;
		if (a->engine == b->engine && str_eq(a->version_low, b->version_low) && str_eq(a->version_high, b->version_high))
			continue;
		struct buf text;
		buf_init(&text, 512);
		buf_printf(&text, STR_FMT " went from ", STR_ARG(now->evidence->targets.items[s->targets[i]].target->name));
		binding_print_engine(a, &text);
		buf_add_cstr(&text, " to ");
		binding_print_engine(b, &text);
		out[(*count)++] = arena_str(arena, buf_str(&text));
		buf_fini(&text);
		return;
	}
}

struct str *finding_changes(struct evaluation *before, struct evaluation *now, const struct scope *s, struct arena *arena, size_t *count)
{
	struct str *out = ARENA_ARRAY(arena, struct str, 8);
	const struct scope *old = evaluation_scope(before, s->kind, s->name);
	*count = 0;
	if (!old)
		return out;
	const struct reading *restarts = evaluation_named(now, s, "restarts");
	if (restarts->kind == READING_VALUE && restarts->low > 0)
		out[(*count)++] = arena_printf(arena, "%.0f restart%s in the same interval", restarts->low, restarts->low > 1 ? "s" : "");
	tell_binding(before, now, s, arena, out, count);
	tell_jump(before, now, old, s, arena, "arrivals_per_s", "arrivals", out, count);
	tell_jump(before, now, old, s, arena, "prompt_len_mean", "mean prompt length", out, count);
	tell_jump(before, now, old, s, arena, "output_len_mean", "mean output length", out, count);
	tell_cached_share(before, now, old, s, arena, out, count);
	return out;
}
