/* Scopes: whose readings are wanted: the fleet, its pools, targets, engine cores and GPUs. */
#include "signals/window.h"

#include <math.h>

/* The model of a target: of the first scheduler that names one. */
static struct str target_model(const struct evidence *ev, size_t target)
{
	const struct target_evidence *t = &ev->targets.items[target];
	for (size_t i = 0; i < t->scheduler_count; i++)
		if (ev->schedulers.items[t->schedulers[i]].model.len)
			return ev->schedulers.items[t->schedulers[i]].model;
	return STR_EMPTY;
}

/* Increase of a counter over all that is known of the target; NAN when it is not exported or seen once. */
static double lifetime(struct evidence *ev, size_t target, const char *metric, const char *reason)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	const struct target_evidence *t = &ev->targets.items[target];
	double sum = NAN;
	for (size_t i = 0; m && i < t->scheduler_count; i++) {
		const struct member_list *list = evidence_members(ev, t->schedulers[i], m, ev->to_ms);
		for (size_t k = 0; list && k < list->members.count; k++) {
			const struct member *member = &list->members.items[k];
			if (member->part == PART_BUCKET || member->part == PART_SUM)
				continue;
			if (isnan(sum))
				sum = 0;
			if (reason &&
				!str_is(member_label(member->view.labels, name_spec_label(list->name, STR("finished_reason"))), reason))
				continue;
			sum += member->view.v[member->view.count - 1] - (member->view.count > 1 ? member->view.v[0] : 0);
		}
	}
	return sum;
}

static bool exports(struct evidence *ev, size_t target, const char *metric)
{
	const struct metric_spec *m = catalog_metric(ev->catalog, metric);
	const struct target_evidence *t = &ev->targets.items[target];
	for (size_t i = 0; m && i < t->scheduler_count; i++)
		if (evidence_members(ev, t->schedulers[i], m, ev->to_ms))
			return true;
	return false;
}

/* A target that moves KV over NIXL and finishes only by length hands prefilled requests on: max_tokens is 1 by design. */
static enum pool_role detect_role(struct evidence *ev, size_t target)
{
	if (!exports(ev, target, "nixl_xfer_time") && !exports(ev, target, "nixl_failed_transfers") && !exports(ev, target, "nixl_expired"))
		return ROLE_MIXED;
	double all = lifetime(ev, target, "finished", NULL), length = lifetime(ev, target, "finished", "length");
	if (all > 0)
		return length == all ? ROLE_PREFILL : ROLE_DECODE;
	return ROLE_MIXED;
}

static bool pool_matches(const struct pool_spec *pool, const struct target *t, struct str model)
{
	for (size_t i = 0; i < pool->match_count; i++) {
		struct str label = pool->match[i].label;
		struct str value = str_is(label, "target") ? t->name : str_is(label, "model") ? model : labels_get(t->labels, label);
		if (!regex_match(pool->match[i].re, value.ptr ? value : STR("")))
			return false;
	}
	return true;
}

static struct pool_spec *default_pool(struct evidence *ev, struct str model, enum pool_role role)
{
	struct pool_spec *p = ARENA_NEW(ev->arena, struct pool_spec);
	*p = (struct pool_spec){ .role = role,
		.class_name = STR("interactive"),
		.slo_ttft_s = NAN,
		.slo_tpot_s = NAN,
		.slo_e2e_s = NAN,
		.memory_limit_bytes = NAN,
		.gpus = NAN,
		.gpu_price = NAN };
	p->name = !model.len           ? arena_printf(ev->arena, "pool %s", pool_role_name(role))
		  : role == ROLE_MIXED ? model
				       : arena_printf(ev->arena, STR_FMT " %s", STR_ARG(model), pool_role_name(role));
	return p;
}

/* What is decided about pools so far. */
struct pools {
	VEC(struct {
		const struct pool_spec *configured; /* NULL: a default one */
		struct pool_spec *pool;
		struct str model;
	})
	known;
};

/* The target's configured pool; a copy, whose role is that of its targets where the file gives none. */
static struct pool_spec *configured_pool(struct evidence *ev, struct pools *pools, size_t target)
{
	const struct pool_spec *found = NULL;
	for (size_t p = 0; p < ev->catalog->pools.count && !found; p++)
		if (pool_matches(ev->catalog->pools.items[p], ev->targets.items[target].target, target_model(ev, target)))
			found = ev->catalog->pools.items[p];
	if (!found)
		return NULL;
	enum pool_role role = found->role_given ? found->role : detect_role(ev, target);
	for (size_t k = 0; k < pools->known.count; k++)
		if (pools->known.items[k].configured == found) {
			if (pools->known.items[k].pool->role != role)
				pools->known.items[k].pool->role = ROLE_MIXED;
			return pools->known.items[k].pool;
		}
	struct pool_spec *p = ARENA_NEW(ev->arena, struct pool_spec);
	*p = *found;
	p->role = role;
	VEC_PUSH(&pools->known, (__typeof__(*pools->known.items)){ found, p, STR_EMPTY });
	return p;
}

/* Did any page of the target have an engine's families? A target whose page has lost them is still one of its pool. */
static bool ever_had_engine(struct evidence *ev, size_t target)
{
	const struct target *t = ev->targets.items[target].target;
	for (size_t i = t->scrapes.count; i-- > 0;) {
		const struct binding *b = evidence_binding(ev, target, t->scrapes.items[i].t_ms);
		if (b && b->engine)
			return true;
	}
	return false;
}

/* One for the target's model and role; NULL where no engine answered. */
static struct pool_spec *pool_by_model(struct evidence *ev, struct pools *pools, size_t target)
{
	if (!ever_had_engine(ev, target))
		return NULL;
	struct str model = target_model(ev, target);
	enum pool_role role = detect_role(ev, target);
	for (size_t k = 0; k < pools->known.count; k++)
		if (!pools->known.items[k].configured && str_eq(pools->known.items[k].model, model) &&
			pools->known.items[k].pool->role == role)
			return pools->known.items[k].pool;
	struct pool_spec *p = default_pool(ev, model, role);
	VEC_PUSH(&pools->known, (__typeof__(*pools->known.items)){ NULL, p, model });
	return p;
}

/* Each target's pool: a configured one, else one for its model and role. Decided once for the whole evidence. */
static void assign_pools(struct evidence *ev)
{
	struct pools pools = { 0 };
	if (ev->pool_specs)
		return;
	ev->pool_specs = arena_zalloc(ev->arena, ev->targets.count + 1, sizeof *ev->pool_specs);
	for (size_t i = 0; i < ev->targets.count; i++) {
		struct pool_spec *configured = configured_pool(ev, &pools, i);
		ev->pool_specs[i] = configured ? configured : pool_by_model(ev, &pools, i);
	}
	VEC_FREE(&pools.known);
}

static void add_member(struct scope *s, const struct evidence *ev, size_t scheduler)
{
	struct str model = ev->schedulers.items[scheduler].model;
	s->members[s->member_count++] = scheduler;
	if (!model.len)
		return;
	if (!s->model.len && !s->mixed_models) {
		s->model = model;
	} else if (!str_eq(s->model, model)) {
		s->mixed_models = true;
		s->model = STR_EMPTY;
	}
}

static void add_target(struct scope *s, const struct evidence *ev, size_t target)
{
	const struct target_evidence *t = &ev->targets.items[target];
	s->targets[s->target_count++] = target;
	for (size_t i = 0; i < t->scheduler_count; i++)
		add_member(s, ev, t->schedulers[i]);
}

static struct scope *new_scope(struct evaluation *ev, enum scope_kind kind, struct str name, size_t members, size_t targets)
{
	struct scope *s = &ev->scopes[ev->scope_count++];
	*s = (struct scope){ .kind = kind, .name = name };
	s->members = arena_alloc(ev->arena, (members + 1) * sizeof *s->members);
	s->targets = arena_alloc(ev->arena, (targets + 1) * sizeof *s->targets);
	return s;
}

/* One scheduler as a scope. */
static void add_core(struct evaluation *ev, size_t scheduler, bool alone)
{
	const struct evidence *all = ev->evidence;
	const struct scheduler *core = &all->schedulers.items[scheduler];
	struct str name = arena_printf(ev->arena, "%s" STR_FMT, core->is_gpu ? "gpu" : "engine", STR_ARG(core->key));
	if (!alone)
		name = arena_printf(ev->arena, STR_FMT "/" STR_FMT, STR_ARG(all->targets.items[core->target].target->name), STR_ARG(name));
	struct scope *s = new_scope(ev, core->is_gpu ? SCOPE_GPU : SCOPE_ENGINE, name, 1, 1);
	s->key = core->key;
	s->target = core->target;
	s->targets[s->target_count++] = core->target;
	s->pool = all->pool_specs[core->target];
	add_member(s, all, scheduler);
}

static size_t count_cores(const struct evidence *ev, const struct target_evidence *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->scheduler_count; i++)
		n += ev->schedulers.items[t->schedulers[i]].key.len && !ev->schedulers.items[t->schedulers[i]].is_gpu;
	return n;
}

/* More engine cores than this at one target are no data-parallel group but a page gone wrong. */
enum { CORES_MAX = 256 };

static void add_cores(struct evaluation *ev)
{
	const struct evidence *all = ev->evidence;
	size_t with_cores = 0, with_gpus = 0;
	for (size_t i = 0; i < all->targets.count; i++) {
		const struct target_evidence *t = &all->targets.items[i];
		bool gpu = false;
		for (size_t k = 0; k < t->scheduler_count; k++)
			gpu |= all->schedulers.items[t->schedulers[k]].is_gpu;
		with_gpus += gpu;
		with_cores += count_cores(all, t) > 0;
	}
	for (size_t i = 0; i < all->targets.count; i++) {
		const struct target_evidence *t = &all->targets.items[i];
		size_t cores = count_cores(all, t);
		for (size_t k = 0; k < t->scheduler_count; k++) {
			const struct scheduler *core = &all->schedulers.items[t->schedulers[k]];
			/* One core is its target; a page with hundreds of them is told as a whole. */
			if (core->is_gpu || (core->key.len && cores > 1 && cores <= CORES_MAX))
				add_core(ev, t->schedulers[k], core->is_gpu ? with_gpus == 1 : with_cores == 1);
		}
	}
}

void scopes_build(struct evaluation *ev)
{
	struct evidence *all = ev->evidence;
	assign_pools(all);
	ev->scopes = arena_alloc(ev->arena, (1 + 2 * all->targets.count + all->schedulers.count + 1) * sizeof *ev->scopes);
	struct scope *fleet = new_scope(ev, SCOPE_FLEET, STR("fleet"), all->schedulers.count, all->targets.count);
	for (size_t i = 0; i < all->targets.count; i++)
		add_target(fleet, all, i);
	for (size_t i = 0; i < all->targets.count; i++) {
		const struct pool_spec *pool = all->pool_specs[i];
		struct scope *found = NULL;
		for (size_t k = 1; pool && k < ev->scope_count && !found; k++)
			if (ev->scopes[k].pool == pool)
				found = &ev->scopes[k];
		if (pool && !found) {
			found = new_scope(ev, SCOPE_POOL, pool->name, all->schedulers.count, all->targets.count);
			found->pool = pool;
		}
		if (found)
			add_target(found, all, i);
	}
	if (ev->scope_count == 2)
		fleet->pool = ev->scopes[1].pool;
	for (size_t i = 0; i < all->targets.count; i++) {
		struct scope *s = new_scope(ev, SCOPE_TARGET, all->targets.items[i].target->name, all->targets.items[i].scheduler_count, 1);
		s->target = i;
		s->pool = all->pool_specs[i];
		add_target(s, all, i);
	}
	add_cores(ev);
}
