#include "workload/content.h"

#include "base/map.h"

#include <math.h>

struct workload *content_new(void)
{
	struct workload *w = NEW(struct workload);

	arena_init(&w->arena);
	w->plan.arrivals = (struct workload_arrivals){ .process = WORKLOAD_POISSON, .burstiness = 1, .speed = 1 };
	w->id_first = 1000;
	w->id_count = 20000;
	w->temperature = NAN;
	return w;
}

void workload_free(struct workload *w)
{
	if (!w)
		return;
	VEC_FREE(&w->source.remarks);
	VEC_FREE(&w->settings);
	VEC_FREE(&w->rows);
	VEC_FREE(&w->starts);
	VEC_FREE(&w->classes);
	arena_fini(&w->arena);
	mem_free(w);
}

const char *workload_hash(const struct workload *w)
{
	return w->hash;
}

struct str workload_name(const struct workload *w)
{
	return w->name;
}

enum workload_format workload_format(const struct workload *w)
{
	return w->format;
}

uint32_t workload_template_tokens(const struct workload *w)
{
	return w->template_tokens;
}

struct str workload_sampling(const struct workload *w)
{
	return w->sampling;
}

double workload_temperature(const struct workload *w)
{
	return w->temperature;
}

/* ---- finishing ---- */

/* Ties each row of a session to the one before it. */
static bool chain_rows(struct workload *w, struct map *last, struct error *e)
{
	for (size_t i = 0; i < w->rows.count; i++) {
		struct workload_row *row = &w->rows.items[i];

		w->has_ids |= row->id_count > 0;
		w->has_sessions |= row->session > 0;
		row->next = 0;
		row->follows = false;
		if (row->session) {
			struct map_entry *entry = map_put(last, str_of((const char *)&row->session, sizeof row->session), NULL);
			uintptr_t before = (uintptr_t)entry->value;

			entry->value = (void *)(uintptr_t)(i + 1);
			if (before) {
				w->rows.items[before - 1].next = (uint32_t)i;
				row->follows = true;
				continue;
			}
		}
		if (w->starts.count && row->time_us < w->rows.items[w->starts.items[w->starts.count - 1]].time_us)
			return error_set(e, EXIT_BAD_INPUT, "row %zu is earlier than the one before: sort the rows by time", i + 1);
		VEC_PUSH(&w->starts, (uint32_t)i);
	}
	return true;
}

static bool count_turns(const struct workload *w, struct error *e)
{
	VEC_EACH (&w->starts, start) {
		uint32_t turns = 0;

		for (uint32_t at = *start; at || !turns; at = w->rows.items[at].next)
			if (++turns > WORKLOAD_TURNS_MAX)
				return error_set(e, EXIT_BAD_INPUT, "session %u has more than %d turns", w->rows.items[*start].session,
					WORKLOAD_TURNS_MAX);
	}
	return true;
}

static bool finish_rows(struct workload *w, struct error *e)
{
	struct map last;
	bool ok;

	map_init(&last);
	w->starts.count = 0;
	ok = chain_rows(w, &last, e) && count_turns(w, e);
	map_fini(&last);
	if (ok && w->has_ids && !w->block)
		ok = error_set(e, EXIT_BAD_INPUT, "rows name blocks, but not how many tokens a block has (rows: block:)");
	if (ok && (w->prefix.groups || w->sessions.turns.most))
		ok = error_set(e, EXIT_BAD_INPUT, "prefix and sessions belong to a mix; rows have blocks and sessions of their own");
	return ok;
}

static bool finish_mix(struct workload *w, struct error *e)
{
	w->class_weight = 0;
	VEC_EACH (&w->classes, c)
		w->class_weight += c->share;
	return w->class_weight > 0 || error_set(e, EXIT_BAD_INPUT, "no class of the mix has a share above 0");
}

/* By name: one meaning has one text, and one hash. */
static void settings_sort(struct workload *w)
{
	for (size_t i = 1; i < w->settings.count; i++)
		for (size_t k = i; k && str_cmp(w->settings.items[k].name, w->settings.items[k - 1].name) < 0; k--) {
			struct workload_setting s = w->settings.items[k];

			w->settings.items[k] = w->settings.items[k - 1];
			w->settings.items[k - 1] = s;
		}
}

static void sampling_text(struct workload *w)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	VEC_EACH (&w->settings, s) {
		if (out.len)
			buf_add_c(&out, ',');
		buf_add_json(&out, s->name);
		buf_add_c(&out, ':');
		buf_add(&out, s->value);
	}
	w->sampling = arena_str(&w->arena, buf_str(&out));
	buf_fini(&out);
}

static void content_hash_set(struct workload *w)
{
	struct buf out;

	buf_init(&out, SIZE_MAX / 2);
	content_write_hashed(w, &out);
	sha256_text(out.ptr, out.len, w->hash);
	buf_fini(&out);
}

bool content_finish(struct workload *w, struct error *e)
{
	if (!w->rows.count == !w->classes.count)
		return error_set(e, EXIT_BAD_INPUT, "%s",
			w->rows.count ? "rows and a mix: requests are made from one of them" : "no requests: neither rows nor a mix");
	if (!(w->rows.count ? finish_rows(w, e) : finish_mix(w, e)) || !workload_plan_check(w, &w->plan, e))
		return false;
	settings_sort(w);
	sampling_text(w);
	content_hash_set(w);
	return true;
}
