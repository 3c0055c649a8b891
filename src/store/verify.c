/* Verifying: all that the file holds is read and compared with what it says of itself. */
#include "base/number.h"
#include "store/internal.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert(SECTION_BITS == 12, "as the SQL below has it");

struct verifying {
	struct store *store;
	struct disk *disk;
	void (*fault)(void *context, const char *what);
	void *context;
	struct store_verified *result;
};

static void __attribute__((format(printf, 2, 3))) fault(struct verifying *v, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	v->result->faults++;
	if (v->fault)
		v->fault(v->context, text);
}

static void verify_sqlite(struct verifying *v)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(v->disk->reader.handle, "PRAGMA quick_check(20)", -1, &statement, NULL) != SQLITE_OK)
		fault(v, "SQLite cannot check the file: %s", sqlite3_errmsg(v->disk->reader.handle));
	int code;
	while (statement && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *line = (const char *)sqlite3_column_text(statement, 0);
		if (line && strcmp(line, "ok") != 0)
			fault(v, "SQLite: %s", line);
	}
	if (statement && code != SQLITE_DONE)
		fault(v, "SQLite cannot read the file: %s", sqlite3_errmsg(v->disk->reader.handle));
	sqlite3_finalize(statement);
}

static bool same(double a, double b)
{
	return number_bits(a) == number_bits(b);
}

static void verify_column(struct verifying *v, const struct chunk *chunk, const struct section *section, uint32_t i, const double *values,
	const struct times_list *list)
{
	struct column_summary says = section_summary(section, i), is = column_summarise(values, list->count);

	v->result->columns++;
	v->result->samples += list->count;
	if (!same(says.first, is.first) || !same(says.last, is.last) || !same(says.increase, is.increase) || says.resets != is.resets ||
		says.gaps != is.gaps)
		fault(v, "chunk %lld: a summary differs from its values", (long long)chunk->id);
	if (list->t[0] < chunk->t_first || list->t[list->count - 1] > chunk->t_last)
		fault(v, "chunk %lld: samples outside of its time", (long long)chunk->id);
}

static bool verify_section(struct verifying *v, const struct set *set, const struct chunk *chunk, uint32_t number,
	const struct times_list *lists, size_t list_count)
{
	struct disk *disk = v->disk;
	struct arena *arena = &disk->arena;
	uint32_t count = set->starts[number + 1] - set->starts[number];
	struct section section;
	struct str summary, data;
	struct error e = { 0 };

	v->result->sections++;
	if (!section_fetch(disk, chunk->id, number, &summary, &data, &e)) {
		fault(v, "chunk %lld, section %u: %s", (long long)chunk->id, number, e.message);
		return false;
	}
	double **out = ARENA_ARRAY(arena, double *, count + 1);
	bool ok = section_open(&section, summary, lists, list_count, arena) && section.count == count;
	for (uint32_t i = 0; ok && i < count; i++)
		if (section_list(&section, i) != SECTION_ABSENT)
			out[i] = arena_alloc(arena, lists[section_list(&section, i)].count * sizeof(double));
	ok = ok && section_values(&section, data, lists, out, arena);
	if (!ok)
		fault(v, "chunk %lld, section %u: it cannot be read", (long long)chunk->id, number);
	for (uint32_t i = 0; ok && i < count; i++)
		if (out[i])
			verify_column(v, chunk, &section, i, out[i], &lists[section_list(&section, i)]);
	return ok;
}

static void verify_chunk(struct verifying *v, const struct set *set, const struct chunk *chunk)
{
	struct error e = { 0 };
	size_t list_count;
	uint64_t before = v->result->samples;
	struct times_list *lists = times_fetch(v->disk, chunk->id, &v->disk->arena, &list_count, &e);
	bool ok = lists;

	v->result->chunks++;
	if (!lists)
		fault(v, "chunk %lld: %s", (long long)chunk->id, e.message);
	for (uint32_t k = 0; lists && k < set->section_count; k++)
		ok = verify_section(v, set, chunk, k, lists, list_count) && ok;
	if (ok && v->result->samples - before != chunk->samples)
		fault(v, "chunk %lld: it has %llu samples and says %llu", (long long)chunk->id,
			(unsigned long long)(v->result->samples - before), (unsigned long long)chunk->samples);
	arena_reset(&v->disk->arena);
}

/* ---- digests: made again from their chunks, they must be the same ---- */

struct digest_check {
	struct verifying *v;
	int64_t digest;
};

static bool verify_digest_section(void *context, uint32_t number, struct str data)
{
	struct digest_check *c = context;
	struct disk *disk = c->v->disk;
	struct error e = { 0 };
	struct str packed, stored;

	pthread_mutex_lock(&disk->reader_lock);
	if (!digest_row_fetch(disk, ST_DIGEST_SECTION_GET, c->digest << SECTION_BITS | number, &packed, &e))
		fault(c->v, "digest %lld, section %u: %s", (long long)c->digest, number, e.message);
	else if (!compressor_unpack(disk->unpacker, packed, &stored) || !str_eq(stored, data))
		fault(c->v, "digest %lld, section %u: it differs from its chunks", (long long)c->digest, number);
	pthread_mutex_unlock(&disk->reader_lock);
	return true;
}

static void verify_digest(struct verifying *v, const struct set *set, size_t first, size_t count)
{
	struct digest_check c = { v, set->chunks.items[first].digest };
	struct error e = { 0 };
	struct str stored;
	struct buf entries;

	buf_init(&entries, SIZE_MAX);
	if (!digest_make(v->disk, set, first, count, &entries, verify_digest_section, &c, &e)) {
		fault(v, "digest %lld: %s", (long long)c.digest, e.message);
	} else {
		pthread_mutex_lock(&v->disk->reader_lock);
		if (!digest_row_fetch(v->disk, ST_DIGEST_GET, c.digest, &stored, &e))
			fault(v, "digest %lld: %s", (long long)c.digest, e.message);
		else if (!str_eq(stored, buf_str(&entries)))
			fault(v, "digest %lld: its times differ from its chunks", (long long)c.digest);
		pthread_mutex_unlock(&v->disk->reader_lock);
	}
	buf_fini(&entries);
}

/* Of one that lost chunks to retention the rest is not looked at. */
static void verify_digests(struct verifying *v, const struct set *set)
{
	for (size_t i = 0, n; i < set->chunks.count; i += n) {
		const struct chunk *chunks = set->chunks.items + i;
		n = 1;
		if (!chunks->digest)
			continue;
		while (chunks[n - 1].id != chunks->digest)
			n++;
		if (!chunks->nth)
			verify_digest(v, set, i, n);
	}
}

bool store_verify(struct store *s, void (*tell)(void *context, const char *what), void *context, struct store_verified *result)
{
	struct verifying v = { s, s->disk, tell, context, result };
	int64_t sections = 0;

	*result = (struct store_verified){ .log_rows = s->disk ? s->disk->log_rows : 0 };
	if (!s->disk)
		return true;
	pthread_mutex_lock(&s->disk->reader_lock);
	verify_sqlite(&v);
	for (size_t i = 0; i < s->disk->log_faults; i++)
		fault(&v, "a row of the log cannot be read");
	VEC_EACH (&s->disk->sets, set) {
		if (!*set)
			continue;
		VEC_EACH (&(*set)->chunks, chunk)
			verify_chunk(&v, *set, chunk);
	}
	/* Those of chunks that were replaced are not looked at any more. */
	if (database_pragma(&s->disk->reader,
		    "SELECT count(*) FROM sections WHERE id >> 12 NOT IN (SELECT id FROM chunks WHERE set_id = 0)", &sections, NULL) &&
		(size_t)sections != result->sections)
		fault(&v, "%lld sections in the file, %zu belong to chunks", (long long)sections, result->sections);
	pthread_mutex_unlock(&s->disk->reader_lock);
	VEC_EACH (&s->disk->sets, set) {
		if (!*set)
			continue;
		set_above(s, *set);
		verify_digests(&v, *set);
	}
	return !result->faults;
}
