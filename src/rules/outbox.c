#include "rules/outbox_internal.h"

#include "base/hash.h"

const struct outbox_options outbox_defaults = { .batch = 64, .capacity = 10000, .retry_least_ms = 1000, .retry_most_ms = 60000 };

enum { END_REMEMBERED_MS = 20 * 60 * 1000 };

static void notice_fini(struct notice *n)
{
	labels_unref(n->labels);
	pairs_free(&n->annotations);
	mem_free((char *)n->query.ptr);
	*n = (struct notice){ 0 };
}

static struct notice notice_copy(const struct notice *n)
{
	struct notice copy = *n;

	copy.labels = labels_ref(n->labels);
	copy.annotations = pairs_copy(n->annotations.items, n->annotations.count);
	copy.query = str_of(mem_copy(n->query.len ? n->query.ptr : "", n->query.len), n->query.len);
	return copy;
}

void outbox_init(struct outbox *o, const struct outbox_options *options)
{
	*o = (struct outbox){ .options = *options };
	map_init(&o->entries);
}

static void entry_free(struct entry *entry)
{
	if (entry->has_next)
		notice_fini(&entry->next);
	notice_fini(&entry->notice);
	mem_free(entry);
}

void outbox_fini(struct outbox *o)
{
	MAP_EACH (&o->entries, m)
		entry_free(m->value);
	map_fini(&o->entries);
}

/* ---- putting in ---- */

static bool is_news(const struct outbox *o, const struct entry *entry, const struct notice *n, int64_t now_ms)
{
	if (n->resolved && entry->was_told && entry->told_resolved)
		return false;
	if (!o->options.only_changes || !entry->was_told || entry->told_resolved != n->resolved)
		return true;
	return o->options.repeat_ms > 0 && now_ms - entry->told_ms >= o->options.repeat_ms;
}

/* Removal leaves holes in the map. */
static void compact(struct outbox *o)
{
	struct map kept;

	if (o->entries.count < 2 * o->entries.live + 64)
		return;
	map_init(&kept);
	MAP_EACH (&o->entries, m)
		map_set(&kept, m->key, m->value);
	map_fini(&o->entries);
	o->entries = kept;
}

/* Makes room: of those that wait the one that came first goes. Keys stay in the order in which they came. */
static void drop_oldest(struct outbox *o)
{
	MAP_EACH (&o->entries, m) {
		struct entry *entry = m->value;

		if (entry->sending)
			continue;
		o->dropped += entry->waiting;
		o->waiting -= entry->waiting;
		entry_free(entry);
		map_remove(&o->entries, m->key);
		return;
	}
}

void outbox_set_waiting(struct outbox *o, struct entry *entry, bool waiting)
{
	o->waiting += waiting;
	o->waiting -= entry->waiting;
	entry->waiting = waiting;
}

/* It ended, which this receiver need not know; nor then of a start that it was not told yet. */
static void forget(struct outbox *o, const struct notice *n)
{
	struct buf key;

	buf_init(&key, SIZE_MAX / 2);
	labels_print(n->labels, &key);
	struct entry *entry = map_get(&o->entries, buf_str(&key));

	if (entry && entry->sending) {
		entry->ended = true;
	} else if (entry) {
		outbox_set_waiting(o, entry, false);
		o->changes++;
		entry_free(entry);
		map_remove(&o->entries, buf_str(&key));
	}
	buf_fini(&key);
}

void outbox_put(struct outbox *o, const struct notice *n, int64_t now_ms)
{
	struct buf key;
	bool made;

	if (n->resolved && o->options.without_resolved) {
		forget(o, n);
		return;
	}
	buf_init(&key, SIZE_MAX / 2);
	labels_print(n->labels, &key);
	if (!map_has(&o->entries, buf_str(&key)) && o->entries.live >= o->options.capacity)
		drop_oldest(o);
	compact(o);
	struct map_entry *m = map_put(&o->entries, buf_str(&key), &made);

	buf_fini(&key);
	if (made)
		m->value = NEW(struct entry);
	struct entry *entry = m->value;

	entry->is_restored = false;
	o->changes++;
	if (entry->sending) {
		entry->ended = false;
		if (entry->has_next)
			notice_fini(&entry->next);
		entry->next = notice_copy(n);
		entry->has_next = true;
		return;
	}
	bool news = is_news(o, entry, n, now_ms);

	notice_fini(&entry->notice);
	entry->notice = notice_copy(n);
	outbox_set_waiting(o, entry, news);
}

/* ---- sending ---- */

int64_t outbox_due(const struct outbox *o)
{
	return o->waiting && !o->sending ? o->not_before_ms : INT64_MAX;
}

size_t outbox_begin(struct outbox *o, const struct notice **list, int64_t now_ms)
{
	size_t count = 0;

	if (outbox_due(o) > now_ms)
		return 0;
	MAP_EACH (&o->entries, m) {
		struct entry *entry = m->value;

		if (!entry->waiting || count == o->options.batch)
			continue;
		entry->sending = true;
		list[count++] = &entry->notice;
	}
	o->sending = count > 0;
	return count;
}

static void take_next(struct outbox *o, struct entry *entry, int64_t now_ms)
{
	if (!entry->has_next)
		return;
	notice_fini(&entry->notice);
	entry->notice = entry->next;
	entry->has_next = false;
	outbox_set_waiting(o, entry, is_news(o, entry, &entry->notice, now_ms));
}

static int64_t pause_after(const struct outbox *o)
{
	int64_t pause = o->options.retry_least_ms;

	for (unsigned i = 1; i < o->failures && pause < o->options.retry_most_ms; i++)
		pause *= 2;
	pause = pause < o->options.retry_most_ms ? pause : o->options.retry_most_ms;
	/* Up to a fifth less, so that those that failed together do not come back together. */
	const uintptr_t who[] = { (uintptr_t)o, o->failures };

	return pause - (int64_t)(hash_bytes(who, sizeof who) % (uint64_t)(pause / 5 + 1));
}

/* Told of the end. Rules say it again for a while, so who is told changes only must remember it. */
static bool is_over(const struct outbox *o, const struct entry *entry, int64_t now_ms)
{
	return entry->was_told && entry->told_resolved && !entry->waiting &&
	       (!o->options.only_changes || now_ms - entry->told_ms > END_REMEMBERED_MS);
}

void outbox_end(struct outbox *o, enum outbox_result result, int64_t now_ms)
{
	o->sending = false;
	o->changes += result != OUTBOX_RETRY;
	o->failures = result == OUTBOX_RETRY ? o->failures + 1 : 0;
	o->retried += result == OUTBOX_RETRY;
	o->not_before_ms = result == OUTBOX_RETRY ? now_ms + pause_after(o) : 0;
	MAP_EACH (&o->entries, m) {
		struct entry *entry = m->value;

		if (!entry->sending) {
			if (is_over(o, entry, now_ms)) {
				entry_free(entry);
				map_remove(&o->entries, m->key);
			}
			continue;
		}
		entry->sending = false;
		if (result != OUTBOX_RETRY) {
			entry->was_told = true;
			entry->told_resolved = entry->notice.resolved;
			entry->told_ms = now_ms;
			o->told += result == OUTBOX_TOLD;
			o->refused += result == OUTBOX_REFUSED;
			outbox_set_waiting(o, entry, false);
		}
		take_next(o, entry, now_ms);
		if (entry->ended || is_over(o, entry, now_ms)) {
			outbox_set_waiting(o, entry, false);
			entry_free(entry);
			map_remove(&o->entries, m->key);
		}
	}
	compact(o);
}
