/* Findings over time: one incident for each finding and scope, from its onset to its last moment. */
#include "signals/incidents.h"

#include "catalog/expression.h"

/* What comes and goes all day is told anew this often, then only at the end. */
enum { TELLINGS_MAX = 8 };

void incidents_init(struct incidents *in, struct arena *arena, struct evidence *evidence)
{
	*in = (struct incidents){ .arena = arena, .evidence = evidence };
	in->words = (evidence->schedulers.count + evidence->targets.count) / 64 + 1;
	map_init(&in->by_key);
}

void incidents_fini(struct incidents *in)
{
	VEC_FREE(&in->all);
	map_fini(&in->by_key);
}

static struct incident *incident_new(struct incidents *in, const struct finding *f)
{
	struct incident *i = ARENA_NEW(in->arena, struct incident);
	i->spec = f->spec;
	i->scope = arena_str(in->arena, f->scope->name);
	i->kind = f->scope->kind;
	i->members = ARENA_ARRAY(in->arena, uint64_t, in->words);
	VEC_PUSH(&in->all, i);
	return i;
}

/* The incident of the finding at its scope; NULL when there is none and it is not to be made. */
static struct incident *incident_of(struct incidents *in, const struct finding *f, bool make)
{
	struct buf key;
	buf_init(&key, 1 << 16);
	buf_add(&key, f->spec->id);
	buf_add_c(&key, '\0');
	buf_add_c(&key, (char)f->scope->kind);
	buf_add(&key, f->scope->name);
	struct incident *found = map_get(&in->by_key, buf_str(&key));
	if (!found && make) {
		found = incident_new(in, f);
		map_set(&in->by_key, buf_str(&key), found);
	}
	buf_fini(&key);
	return found;
}

/* ---- who is concerned ---- */

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static void mark_scope(struct incidents *in, struct incident *i, const struct scope *s)
{
	for (size_t k = 0; k < s->member_count; k++)
		set_bit(i->members, s->members[k]);
	for (size_t k = 0; k < s->target_count && s->kind != SCOPE_ENGINE && s->kind != SCOPE_GPU; k++)
		set_bit(i->members, in->evidence->schedulers.count + s->targets[k]);
}

/* A pool's finding concerns the targets it names; any other its whole scope. */
static void mark_members(struct incidents *in, struct incident *i, const struct evaluation *ev, const struct finding *f)
{
	bool named = false;
	for (size_t k = 0; k < f->where_count && (f->scope->kind == SCOPE_FLEET || f->scope->kind == SCOPE_POOL); k++) {
		const struct scope *s = evaluation_place(ev, f->where[k]);
		if (s && s != f->scope) {
			mark_scope(in, i, s);
			named = true;
		}
	}
	if (!named)
		mark_scope(in, i, f->scope);
}

/* ---- adding ---- */

void incident_tell(struct incidents *in, struct incident *i, struct evaluation *ev)
{
	i->told = *i->raw;
	finding_complete(ev, in->arena, &i->told);
	i->tellings++;
}

static void take(struct incidents *in, struct incident *i, const struct evaluation *ev, const struct finding *f)
{
	i->raw = f;
	i->severity = f->severity;
	i->worst = f->severity > i->worst ? f->severity : i->worst;
	i->last_ms = ev->window.to_ms;
	i->undecided = f->undecided;
	mark_members(in, i, ev, f);
}

/* Incidents that the evaluation before had and this one has not are told from the former, while it lives. */
static void close_ended(struct incidents *in, const struct evaluation *ev)
{
	VEC_EACH (&in->all, i)
		(*i)->open = false;
	VEC_EACH (&ev->findings, f) {
		struct incident *i = f->undecided ? NULL : incident_of(in, f, false);
		if (i)
			i->open = true;
	}
	VEC_EACH (&in->all, i) {
		if ((*i)->raw && !(*i)->open && (*i)->tellings < TELLINGS_MAX)
			incident_tell(in, *i, in->newest);
		(*i)->raw = NULL;
	}
}

void incidents_add_moment(struct incidents *in, struct evaluation *ev)
{
	close_ended(in, ev);
	VEC_EACH (&ev->findings, f) {
		if (f->undecided) /* a short window with few events: the long ones decide */
			continue;
		struct incident *i = incident_of(in, f, true);
		if (!i->onset_ms) {
			i->onset_ms = f->onset_ms ? f->onset_ms : ev->window.to_ms; /* some know when it began, before it could be told */
			if (in->newest)
				i->changed = finding_changes(in->newest, ev, f->scope, in->arena, &i->changed_count);
		}
		i->open = true;
		take(in, i, ev, f);
	}
	in->newest = ev;
}

/* Is it a number of events, which a short window has fewer of? */
static bool grows_with_window(const struct expression *x)
{
	switch (x->kind) {
	case EXPRESSION_SIGNAL:
		if (x->signal->kind == SIGNAL_DETECTED)
			return str_is(x->signal->id, "restarts");
		return x->signal->kind == SIGNAL_COUNT || (x->signal->kind == SIGNAL_FORMULA && x->signal->definition_count &&
								  grows_with_window(x->signal->definitions[0].expression));
	case EXPRESSION_PRIMITIVE: return x->primitive == PRIMITIVE_COUNT || x->primitive == PRIMITIVE_COUNT_ABOVE;
	case EXPRESSION_ADD:
	case EXPRESSION_SUBTRACT:
	case EXPRESSION_MULTIPLY:
	case EXPRESSION_MIN:
	case EXPRESSION_MAX: return grows_with_window(x->left) || grows_with_window(x->right);
	case EXPRESSION_DIVIDE: return grows_with_window(x->left) && !grows_with_window(x->right);
	default: return false;
	}
}

/* "at least five errors", "a restart": that the last few seconds had fewer, or none, says nothing of the window. */
static bool is_least_number(const struct expression *x)
{
	return (x->kind == EXPRESSION_GREATER || x->kind == EXPRESSION_GREATER_EQUAL) && x->right->kind == EXPRESSION_NUMBER &&
	       grows_with_window(x->left);
}

/* Is the condition false, and not for want of events alone? */
static bool is_denied(struct evaluation *ev, const struct scope *s, const struct expression *x)
{
	if (x->kind == EXPRESSION_AND)
		return is_denied(ev, s, x->left) || is_denied(ev, s, x->right);
	if (x->kind == EXPRESSION_OR)
		return is_denied(ev, s, x->left) && is_denied(ev, s, x->right);
	return !is_least_number(x) && evaluate_condition(ev, s, x, true) == TRUTH_FALSE;
}

/* Does the last moment's own window say that it is over? What that window cannot judge (too few events, no gauge) goes on. */
static bool is_over(struct incidents *in, const struct finding *f)
{
	if (!in->newest || !f->spec->when || in->newest->window.from_ms == in->newest->window.to_ms)
		return false;
	const struct scope *s = evaluation_scope(in->newest, f->scope->kind, f->scope->name);
	return s && is_denied(in->newest, s, f->spec->when);
}

void incidents_add_window(struct incidents *in, struct evaluation *ev)
{
	VEC_EACH (&ev->findings, f) {
		struct incident *i = incident_of(in, f, false);
		bool over = is_over(in, f);
		/* The moments' own figures are newer; what they saw and saw end is told; what they clearly deny is not undecided. */
		if ((i && (i->open || over || f->undecided)) || (over && f->undecided))
			continue;
		i = incident_of(in, f, true);
		take(in, i, ev, f);
		i->open = !over;
		incident_tell(in, i, ev);
		i->raw = NULL;
	}
}
