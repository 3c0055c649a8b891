#include "scrape/provider.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

struct harvest *harvest_new(void)
{
	struct harvest *h = NEW(struct harvest);
	arena_init(&h->arena);
	atomic_init(&h->refs, 1);
	return h;
}

struct harvest *harvest_ref(struct harvest *h)
{
	atomic_fetch_add(&h->refs, 1);
	return h;
}

void harvest_unref(struct harvest *h)
{
	if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
		return;
	arena_fini(&h->arena);
	mem_free(h);
}

static bool pairs_eq(const struct label *a, size_t a_count, const struct label *b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (!str_eq(a[i].name, b[i].name) || !str_eq(a[i].value, b[i].value))
			return false;
	return true;
}

static bool group_eq(const struct target_group *a, const struct target_group *b)
{
	if (a->target_count != b->target_count || !pairs_eq(a->labels, a->label_count, b->labels, b->label_count))
		return false;
	for (size_t i = 0; i < a->target_count; i++)
		if (!pairs_eq(a->targets[i].labels, a->targets[i].count, b->targets[i].labels, b->targets[i].count))
			return false;
	return true;
}

bool harvest_eq(const struct harvest *a, const struct harvest *b)
{
	if (a == b)
		return true;
	if (a->groups.count != b->groups.count)
		return false;
	for (size_t i = 0; i < a->groups.count; i++)
		if (!group_eq(&a->groups.items[i], &b->groups.items[i]))
			return false;
	return true;
}

void yield_clear(struct yield *y)
{
	VEC_EACH (&y->items, h)
		harvest_unref(*h);
	VEC_FREE(&y->items);
}

static bool yield_eq(const struct yield *a, const struct yield *b)
{
	if (a->items.count != b->items.count)
		return false;
	for (size_t i = 0; i < a->items.count; i++)
		if (!harvest_eq(a->items.items[i], b->items.items[i]))
			return false;
	return true;
}

static void yield_copy(struct yield *to, const struct yield *from)
{
	yield_clear(to);
	VEC_EACH (&from->items, h)
		VEC_PUSH(&to->items, harvest_ref(*h));
}

static void *provider_main(void *user)
{
	struct provider *p = user;
	switch (p->sd->kind) {
	case SD_FILE: provider_run_files(p); break;
	case SD_HTTP: provider_run_http(p); break;
	case SD_DNS: provider_run_dns(p); break;
	case SD_KUBERNETES: provider_run_kubernetes(p); break;
	case SD_STATIC: break;
	}
	return NULL;
}

struct provider *provider_new(const struct sd *sd, void (*changed)(void *), void *context)
{
	struct provider *p = NEW(struct provider);
	pthread_condattr_t attributes;
	p->sd = sd;
	p->changed = changed;
	p->context = context;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	p->runs = pthread_create(&p->thread, NULL, provider_main, p) == 0;
	if (!p->runs)
		provider_fail(p, "no thread can be started");
	return p;
}

void provider_stop(struct provider *p)
{
	pthread_mutex_lock(&p->lock);
	__atomic_store_n(&p->stop, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->interrupted, true, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

void provider_free(struct provider *p)
{
	provider_stop(p);
	if (p->runs)
		pthread_join(p->thread, NULL);
	yield_clear(&p->fresh);
	yield_clear(&p->taken);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}

bool provider_take(struct provider *p)
{
	pthread_mutex_lock(&p->lock);
	bool any = p->is_fresh || p->error_changed;
	if (p->is_fresh) {
		struct yield old = p->taken;
		p->taken = p->fresh;
		p->fresh = (struct yield){ 0 };
		yield_clear(&old);
	}
	if (any)
		memcpy(p->taken_error, p->error, sizeof p->error);
	p->is_ready = p->succeeded;
	p->was_tried = p->tried;
	p->is_fresh = p->error_changed = false;
	pthread_mutex_unlock(&p->lock);
	return any;
}

static void tell(struct provider *p, bool any)
{
	if (any && p->changed && !provider_stopped(p))
		p->changed(p->context);
}

/* With the lock held: is it news? */
static bool set_error(struct provider *p, const char *why)
{
	if (strncmp(p->error, why, sizeof p->error - 1) == 0)
		return false;
	snprintf(p->error, sizeof p->error, "%s", why);
	return p->error_changed = true;
}

void provider_publish(struct provider *p, const struct yield *y, const char *error)
{
	pthread_mutex_lock(&p->lock);
	bool news = set_error(p, error ? error : "");
	p->tried = true;
	if (!error && !p->succeeded)
		news = p->is_fresh = p->succeeded = true;
	if (news || !yield_eq(p->is_fresh ? &p->fresh : &p->taken, y)) {
		yield_copy(&p->fresh, y);
		news = p->is_fresh = true;
	}
	pthread_mutex_unlock(&p->lock);
	tell(p, news);
}

void provider_fail(struct provider *p, const char *why)
{
	pthread_mutex_lock(&p->lock);
	bool news = set_error(p, why);
	p->tried = true;
	pthread_mutex_unlock(&p->lock);
	tell(p, news);
}

bool provider_sleep(struct provider *p, int64_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&p->lock);
	while (!provider_stopped(p) && pthread_cond_timedwait(&p->wake, &p->lock, &until) != ETIMEDOUT)
		;
	bool go_on = !provider_stopped(p);
	pthread_mutex_unlock(&p->lock);
	return go_on;
}
