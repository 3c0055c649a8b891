#include "scrape/discovery.h"

#include "base/clock.h"
#include "base/log.h"
#include "scrape/discovered.h"
#include "scrape/provider.h"

#include <stdio.h>
#include <time.h>

/* A job, who finds its targets, and what came out. */
struct watched_job {
	struct provider **providers; /* providers[i] of job->sds[i]; NULL for static ones */
	struct arena arena;
	VEC(struct discovered) targets, dropped;
	struct discovered_job shown;
	bool is_stale;
};

struct discovery {
	VEC(struct provider *) providers;
	struct watched_job *jobs;
	size_t job_count;
};

static struct provider *provider_of(struct discovery *d, const struct sd *sd, void (*changed)(void *), void *context)
{
	VEC_EACH (&d->providers, p)
		if (str_eq((*p)->sd->identity, sd->identity))
			return *p;
	VEC_PUSH(&d->providers, provider_new(sd, changed, context));
	return d->providers.items[d->providers.count - 1];
}

struct discovery *discovery_new(const struct job *const *jobs, size_t count, void (*changed)(void *context), void *context)
{
	struct discovery *d = NEW(struct discovery);
	d->jobs = mem_zalloc(count + 1, sizeof *d->jobs);
	d->job_count = count;
	for (size_t i = 0; i < count; i++) {
		struct watched_job *w = &d->jobs[i];
		arena_init(&w->arena);
		w->shown.job = jobs[i];
		w->is_stale = true;
		w->providers = mem_zalloc(jobs[i]->sd_count + 1, sizeof(struct provider *));
		for (size_t k = 0; k < jobs[i]->sd_count; k++)
			if (jobs[i]->sds[k].kind != SD_STATIC)
				w->providers[k] = provider_of(d, &jobs[i]->sds[k], changed, context);
	}
	return d;
}

static void job_clear(struct watched_job *w)
{
	VEC_EACH (&w->targets, t)
		labels_unref(t->labels);
	w->targets.count = w->dropped.count = 0;
	arena_reset(&w->arena);
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	/* All are told before any is waited for. */
	VEC_EACH (&d->providers, p)
		provider_stop(*p);
	VEC_EACH (&d->providers, p)
		provider_free(*p);
	for (size_t i = 0; i < d->job_count; i++) {
		job_clear(&d->jobs[i]);
		arena_fini(&d->jobs[i].arena);
		VEC_FREE(&d->jobs[i].targets);
		VEC_FREE(&d->jobs[i].dropped);
		mem_free(d->jobs[i].providers);
	}
	VEC_FREE(&d->providers);
	mem_free(d->jobs);
	mem_free(d);
}

/* One target that several groups name is one. */
struct known {
	struct map map;
	struct buf key;
};

static bool is_known(struct known *k, const struct discovered *d)
{
	bool made;
	buf_reset(&k->key);
	buf_add(&k->key, str_of((const char *)&d->labels->hash, sizeof d->labels->hash));
	buf_add(&k->key, d->url);
	map_put(&k->map, buf_str(&k->key), &made);
	return !made;
}

static void add_target(
	struct watched_job *w, const struct target_group *g, const struct group_target *t, struct label_set *set, struct known *known)
{
	struct discovered found;
	struct error e = { 0 };
	switch (discovered_make(&found, w->shown.job, g, t, set, &w->arena, &e)) {
	case DISCOVERED_TARGET:
		if (is_known(known, &found))
			labels_unref(found.labels);
		else
			VEC_PUSH(&w->targets, found);
		break;
	case DISCOVERED_DROPPED: VEC_PUSH(&w->dropped, found); break;
	case DISCOVERED_BAD: w->shown.error = arena_str(&w->arena, str_from(e.message)); break;
	}
}

static void add_groups(struct watched_job *w, const struct groups *groups, struct label_set *set, struct known *known)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct target_group *g = &groups->items[i];
		for (size_t k = 0; k < g->target_count; k++) {
			add_target(w, g, &g->targets[k], set, known);
			arena_reset(set->scratch);
		}
	}
}

/* Above target_limit a job has no targets, and says so. */
static void hold_limit(struct watched_job *w)
{
	uint64_t limit = w->shown.job->limits.targets;
	if (!limit || w->targets.count <= limit)
		return;
	w->shown.error = arena_printf(
		&w->arena, "%zu targets are above the target_limit of %llu: none is scraped", w->targets.count, (unsigned long long)limit);
	VEC_EACH (&w->targets, t)
		labels_unref(t->labels);
	w->targets.count = 0;
}

static void job_collect(struct watched_job *w, struct label_set *set, struct known *known)
{
	const struct job *job = w->shown.job;
	w->shown.is_ready = true;
	for (size_t i = 0; i < job->sd_count; i++) {
		const struct provider *p = w->providers[i];
		if (!p) {
			add_groups(w, &job->sds[i].groups, set, known);
			continue;
		}
		w->shown.is_ready &= p->is_ready;
		if (p->taken_error[0])
			w->shown.error = arena_str(&w->arena, str_from(p->taken_error));
		VEC_EACH (&p->taken.items, harvest)
			add_groups(w, &(*harvest)->groups, set, known);
	}
}

static void job_build(struct watched_job *w)
{
	struct label_set set;
	struct arena scratch;
	struct known known;
	char before[400];
	snprintf(before, sizeof before, STR_FMT, STR_ARG(w->shown.error));
	arena_init(&scratch);
	label_set_init(&set, &scratch);
	map_init(&known.map);
	buf_init(&known.key, SIZE_MAX);
	job_clear(w);
	w->shown.error = STR_EMPTY;
	job_collect(w, &set, &known);
	hold_limit(w);
	if (w->shown.error.len && !str_is(w->shown.error, before))
		log_warning("job \"" STR_FMT "\": " STR_FMT, STR_ARG(w->shown.job->name), STR_ARG(w->shown.error));
	w->shown.targets = w->targets.items;
	w->shown.count = w->targets.count;
	w->shown.dropped = w->dropped.items;
	w->shown.dropped_count = w->dropped.count;
	w->is_stale = false;
	buf_fini(&known.key);
	map_fini(&known.map);
	label_set_fini(&set);
	arena_fini(&scratch);
}

bool discovery_update(struct discovery *d)
{
	bool any = false;
	VEC_EACH (&d->providers, p) {
		if (!provider_take(*p))
			continue;
		for (size_t i = 0; i < d->job_count; i++)
			for (size_t k = 0; k < d->jobs[i].shown.job->sd_count; k++)
				d->jobs[i].is_stale |= d->jobs[i].providers[k] == *p;
	}
	for (size_t i = 0; i < d->job_count; i++) {
		if (!d->jobs[i].is_stale)
			continue;
		job_build(&d->jobs[i]);
		any = true;
	}
	return any;
}

bool discovery_wait(struct discovery *d, int64_t timeout_ms, const volatile bool *stop)
{
	int64_t until_ns = clock_monotonic_ns() + timeout_ms * 1000000;
	for (;;) {
		bool ready = true, tried = true;
		discovery_update(d);
		for (size_t i = 0; i < d->job_count; i++)
			ready &= d->jobs[i].shown.is_ready;
		VEC_EACH (&d->providers, p)
			tried &= (*p)->was_tried;
		if (tried || clock_monotonic_ns() >= until_ns || (stop && *stop))
			return ready;
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
}

size_t discovery_job_count(const struct discovery *d)
{
	return d->job_count;
}

const struct discovered_job *discovery_job(const struct discovery *d, size_t i)
{
	return &d->jobs[i].shown;
}

/* The fleet's targets that have a job, by what makes a target the same. */
static void key_of(struct buf *key, struct str job, struct str url, const struct labels *labels)
{
	buf_reset(key);
	buf_add(key, job);
	buf_add_c(key, '\0');
	buf_add(key, str_of((const char *)&labels->hash, sizeof labels->hash));
	buf_add(key, url);
}

static void targets_index(const struct fleet *f, struct map *index, struct buf *key)
{
	VEC_EACH (&f->targets, t) {
		if (!(*t)->job)
			continue;
		key_of(key, (*t)->job->name, (*t)->url, (*t)->labels);
		map_set(index, buf_str(key), *t);
	}
}

static void target_keep(struct target *t, struct discovered *found)
{
	if (t->job != found->job)
		target_set_job(t, found->job);
	t->interval_ms = found->interval_ms;
	t->timeout_ms = found->timeout_ms;
	found->target = t;
}

static void target_make(struct discovered *found, struct fleet *f, const struct discovery_events *events)
{
	struct str instance = labels_get(found->labels, STR("instance"));
	struct target *t = fleet_add(f, instance.len ? instance : found->url, found->url, found->labels, found->job);
	target_keep(t, found);
	if (events && events->added)
		events->added(events->context, t);
}

/* Jobs whose targets are not known yet keep what they have, with their rules of now. */
static const struct job *job_unready(const struct discovery *d, struct str name)
{
	for (size_t i = 0; i < d->job_count; i++)
		if (!d->jobs[i].shown.is_ready && str_eq(d->jobs[i].shown.job->name, name))
			return d->jobs[i].shown.job;
	return NULL;
}

static void target_end(const struct discovery *d, struct fleet *f, struct target *t, int64_t now_ms, const struct discovery_events *events)
{
	const struct job *job = job_unready(d, t->job->name);
	if (job) {
		if (t->job != job)
			target_set_job(t, job);
		return;
	}
	if (events && events->removed)
		events->removed(events->context, t);
	fleet_remove(f, t, now_ms);
}

void discovery_sync(struct discovery *d, struct fleet *f, int64_t now_ms, const struct discovery_events *events)
{
	struct map index;
	struct buf key;
	map_init(&index);
	buf_init(&key, SIZE_MAX);
	targets_index(f, &index, &key);
	/* Those that stay first, so that names of those that go are free. */
	for (size_t i = 0; i < d->job_count; i++)
		VEC_EACH (&d->jobs[i].targets, found) {
			key_of(&key, found->job->name, found->url, found->labels);
			struct target *t = map_get(&index, buf_str(&key));
			found->target = NULL;
			if (!t)
				continue;
			target_keep(t, found);
			map_remove(&index, buf_str(&key));
		}
	MAP_EACH (&index, entry)
		target_end(d, f, entry->value, now_ms, events);
	for (size_t i = 0; i < d->job_count; i++)
		VEC_EACH (&d->jobs[i].targets, found)
			if (!found->target)
				target_make(found, f, events);
	buf_fini(&key);
	map_fini(&index);
}
