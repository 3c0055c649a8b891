#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian and read without swapping");

/* "GOOD" */
enum { APPLICATION_ID = 0x474f4f44, FORMAT_VERSION = 3, PAGE_BYTES = 32768, BUSY_MS = 5000 };

static const char schema[] =
	"CREATE TABLE series (id INTEGER PRIMARY KEY, batch BLOB NOT NULL);"
	"CREATE TABLE sets (id INTEGER PRIMARY KEY, members BLOB NOT NULL);"
	"CREATE TABLE chunks (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL, t_first INTEGER NOT NULL, t_last INTEGER NOT NULL,"
	" row_count INTEGER NOT NULL, samples INTEGER NOT NULL, sealed INTEGER NOT NULL, times BLOB NOT NULL);"
	"CREATE TABLE sections (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, summary BLOB NOT NULL, data BLOB NOT NULL);"
	"CREATE TABLE log (seq INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, records BLOB NOT NULL);";

/* What format 2 has more. Format 3 has the same tables: a chunk may be one that others replace. */
static const char schema_2[] = "CREATE TABLE digests (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL, chunk_count INTEGER NOT NULL,"
			       " checksum INTEGER NOT NULL, entries BLOB NOT NULL);"
			       "CREATE TABLE digest_sections (id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, data BLOB NOT NULL);";

static const char *const texts[ST_COUNT] = {
	[ST_BEGIN] = "BEGIN IMMEDIATE",
	[ST_BEGIN_READ] = "BEGIN",
	[ST_COMMIT] = "COMMIT",
	[ST_ROLLBACK] = "ROLLBACK",
	[ST_SERIES_ADD] = "INSERT INTO series VALUES (?1, ?2)",
	[ST_SERIES_ALL] = "SELECT id, batch FROM series ORDER BY id",
	[ST_SERIES_DROP] = "DELETE FROM series WHERE id = ?1",
	[ST_SET_ADD] = "INSERT INTO sets VALUES (?1, ?2)",
	[ST_SET_ALL] = "SELECT id, members FROM sets ORDER BY id",
	[ST_SET_DROP] = "DELETE FROM sets WHERE id = ?1",
	[ST_CHUNK_ADD] = "INSERT INTO chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[ST_CHUNK_ALL] = "SELECT id, set_id, t_first, t_last, row_count, samples, sealed FROM chunks ORDER BY id",
	[ST_CHUNK_TIMES] = "SELECT times FROM chunks WHERE id = ?1",
	[ST_CHUNK_REPLACE] = "UPDATE chunks SET set_id = 0 WHERE id = ?1",
	[ST_CHUNK_DROP] = "DELETE FROM chunks WHERE id = ?1",
	[ST_SECTION_ADD] = "INSERT INTO sections VALUES (?1, ?2, ?3, ?4)",
	[ST_SECTION_GET] = "SELECT checksum, summary, data FROM sections WHERE id = ?1",
	[ST_SECTION_DROP] = "DELETE FROM sections WHERE id >= ?1 AND id < ?2",
	[ST_DIGEST_ADD] = "INSERT INTO digests VALUES (?1, ?2, ?3, ?4, ?5)",
	[ST_DIGEST_ALL] = "SELECT id, set_id, chunk_count FROM digests ORDER BY id",
	[ST_DIGEST_GET] = "SELECT checksum, entries FROM digests WHERE id = ?1",
	[ST_DIGEST_DROP] = "DELETE FROM digests WHERE id = ?1",
	[ST_DIGEST_SECTION_ADD] = "INSERT INTO digest_sections VALUES (?1, ?2, ?3)",
	[ST_DIGEST_SECTION_GET] = "SELECT checksum, data FROM digest_sections WHERE id = ?1",
	[ST_DIGEST_SECTION_DROP] = "DELETE FROM digest_sections WHERE id >= ?1 AND id < ?2",
	[ST_LOG_ADD] = "INSERT INTO log VALUES (?1, ?2, ?3)",
	[ST_LOG_ALL] = "SELECT seq, checksum, records FROM log ORDER BY seq",
	[ST_LOG_TRIM] = "DELETE FROM log WHERE seq < ?1",
};

/* ---- errors ---- */

static const char *hint_of(int code)
{
	/* A rollback journal: only the making of a store has one, and a change of its format. */
	if (code == SQLITE_READONLY_ROLLBACK)
		return "whoever was making the file was broken off: open it for writing once (goodput serve --store FILE), or remove it if "
		       "it is new";
	switch (code & 0xff) {
	case SQLITE_FULL:
		return "free space on the disk, or lower the retention: samples are kept in memory meanwhile and written when there is "
		       "room";
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return "another program holds the file: end it, or look at a copy made with sqlite3's .backup";
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN: return "check that the folder exists and that this user may write the file and its folder";
	case SQLITE_CORRUPT:
		return "`goodput store verify FILE` tells what is hit, `goodput store dump FILE` saves what can be read; then start with a "
		       "new file";
	case SQLITE_NOTADB: return "name the file of a store, or a path where none is yet: it is made";
	default: return "";
	}
}

bool database_failed(struct database *d, const char *doing, struct error *e)
{
	int code = d->handle ? sqlite3_extended_errcode(d->handle) : SQLITE_NOMEM, system = d->handle ? sqlite3_system_errno(d->handle) : 0;
	enum exit_status status = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ? EXIT_BAD_INPUT : EXIT_UNREACHABLE;

	if ((code & 0xff) == SQLITE_NOTADB)
		error_set(e, status, "this is no SQLite file, so no store of goodput");
	else
		error_set(e, status, "cannot %s: %s%s%s", doing, d->handle ? sqlite3_errmsg(d->handle) : "out of memory",
			system ? ": " : "", system ? strerror(system) : "");
	error_source(e, str_from(d->path));
	if (*hint_of(code))
		error_hint(e, "%s", hint_of(code));
	return false;
}

bool database_damaged(const char *path, const char *what, struct error *e)
{
	error_set(e, EXIT_BAD_INPUT, "the store is damaged: %s", what);
	error_source(e, str_from(path));
	error_hint(e, "%s", hint_of(SQLITE_CORRUPT));
	return false;
}

/* ---- statements ---- */

sqlite3_stmt *database_use(struct database *d, enum statement which)
{
	if (d->statements[which])
		sqlite3_reset(d->statements[which]);
	else
		sqlite3_prepare_v3(d->handle, texts[which], -1, SQLITE_PREPARE_PERSISTENT, &d->statements[which], NULL);
	return d->statements[which];
}

bool database_row(struct database *d, sqlite3_stmt *statement, struct error *e)
{
	int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;

	if (code == SQLITE_ROW)
		return true;
	if (code != SQLITE_DONE)
		database_failed(d, "read the store", e);
	if (statement)
		sqlite3_reset(statement);
	return false;
}

bool database_run(struct database *d, sqlite3_stmt *statement, struct error *e)
{
	int code = statement ? sqlite3_step(statement) : SQLITE_ERROR;
	bool ok = code == SQLITE_DONE || code == SQLITE_ROW || database_failed(d, "write the store", e);

	if (statement)
		sqlite3_reset(statement);
	return ok;
}

bool database_do(struct database *d, enum statement which, struct error *e)
{
	return database_run(d, database_use(d, which), e);
}

bool database_pragma(struct database *d, const char *sql, int64_t *value, struct error *e)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(d->handle, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW && value)
		*value = sqlite3_column_int64(statement, 0);
	bool ok = code == SQLITE_ROW || code == SQLITE_DONE || database_failed(d, "open the store", e);
	sqlite3_finalize(statement);
	return ok;
}

struct str database_blob(sqlite3_stmt *statement, int column)
{
	const void *ptr = sqlite3_column_blob(statement, column);

	return str_of(ptr, (size_t)sqlite3_column_bytes(statement, column));
}

void database_bind_blob(sqlite3_stmt *statement, int column, struct str blob)
{
	if (statement)
		sqlite3_bind_blob64(statement, column, blob.ptr ? blob.ptr : "", blob.len, SQLITE_STATIC);
}

/* ---- opening ---- */

static bool writer_lock(struct database *d, struct error *e)
{
	d->lock = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (d->lock < 0) {
		int why = errno;
		error_set(e, EXIT_UNREACHABLE, "cannot open the store for writing: %s", strerror(why));
		error_source(e, str_from(d->path));
		error_hint(e, "%s", hint_of(SQLITE_CANTOPEN));
		return false;
	}
	if (flock(d->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	error_set(e, EXIT_UNREACHABLE, "another goodput writes this store");
	error_source(e, str_from(d->path));
	error_hint(e, "end it, or name another file; reading it (query, store stats, store dump) is possible meanwhile");
	return false;
}

static bool schema_raise(struct database *d, struct error *e)
{
	char sql[160];

	if (d->version < 2 && sqlite3_exec(d->handle, schema_2, NULL, NULL, NULL) != SQLITE_OK)
		return database_failed(d, "make the store", e);
	sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version = %d", FORMAT_VERSION);
	d->version = FORMAT_VERSION;
	return database_pragma(d, sql, NULL, e);
}

static bool schema_make(struct database *d, struct error *e)
{
	char sql[160];

	sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d", APPLICATION_ID);
	if (!database_pragma(d, sql, NULL, e))
		return false;
	if (sqlite3_exec(d->handle, schema, NULL, NULL, NULL) != SQLITE_OK)
		return database_failed(d, "make the store", e);
	return schema_raise(d, e);
}

static bool database_is_ours(struct database *d, bool *empty, struct error *e)
{
	int64_t application = 0, version = 0, objects = 0;

	if (!database_pragma(d, "PRAGMA application_id", &application, e) || !database_pragma(d, "PRAGMA user_version", &version, e) ||
		!database_pragma(d, "SELECT count(*) FROM sqlite_master", &objects, e))
		return false;
	*empty = !objects && !version && (!application || application == APPLICATION_ID);
	if (*empty)
		return true;
	if (application != APPLICATION_ID) {
		error_set(e, EXIT_BAD_INPUT, "this is an SQLite file of another program, no store of goodput");
		error_hint(e, "%s", hint_of(SQLITE_NOTADB));
	} else if (version > FORMAT_VERSION) {
		error_set(e, EXIT_BAD_INPUT, "the store has format %d, which a newer goodput wrote; this one knows format %d", (int)version,
			FORMAT_VERSION);
		error_hint(e, "use the newer goodput, or let it `store dump` and this one `store import`");
	} else if (version < 1) {
		error_set(e, EXIT_BAD_INPUT, "the store was never finished: it has no format number");
		error_hint(e, "remove it: it holds no samples");
	} else {
		d->version = (int)version;
		return true;
	}
	error_source(e, str_from(d->path));
	return false;
}

static bool database_settings(struct database *d, const struct database_options *o, struct error *e)
{
	return database_pragma(d, "PRAGMA journal_mode = WAL", NULL, e) &&
	       database_pragma(d, o->full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, e) &&
	       database_pragma(d, "PRAGMA wal_autocheckpoint = 256", NULL, e) &&
	       database_pragma(d, "PRAGMA journal_size_limit = 8388608", NULL, e) &&
	       database_pragma(d, "PRAGMA cache_size = -2048", NULL, e);
}

static bool writer_open(struct database *d, const struct database_options *o, struct error *e)
{
	bool empty;
	char sql[64];

	if (!writer_lock(d, e))
		return false;
	if (sqlite3_open_v2(d->path, &d->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return database_failed(d, "open the store", e);
	sqlite3_busy_timeout(d->handle, BUSY_MS);
	if (!database_is_ours(d, &empty, e))
		return false;
	/* The page size and the freeing of pages are set before there is a page. */
	sqlite3_snprintf(sizeof sql, sql, "PRAGMA page_size = %d", PAGE_BYTES);
	if (empty && (!database_pragma(d, sql, NULL, e) || !database_pragma(d, "PRAGMA auto_vacuum = INCREMENTAL", NULL, e)))
		return false;
	if (!database_settings(d, o, e))
		return false;
	if (!empty && d->version == FORMAT_VERSION)
		return true;
	return database_pragma(d, "BEGIN IMMEDIATE", NULL, e) && (empty ? schema_make(d, e) : schema_raise(d, e)) &&
	       database_pragma(d, "COMMIT", NULL, e);
}

/* What is read of the file is mapped, not copied: its pages are the kernel's to keep or not. */
static bool reader_settings(struct database *d, struct error *e)
{
	return database_pragma(d, "PRAGMA cache_size = -2048", NULL, e) && database_pragma(d, "PRAGMA mmap_size = 1073741824", NULL, e);
}

/* Reading needs the shared memory of the WAL beside the file. Where that cannot be made the file itself is read, if nothing is in the WAL.
 */
static bool reader_open(struct database *d, struct error *e)
{
	struct stat st;
	char *uri, *wal = sqlite3_mprintf("%s-wal", d->path);
	bool pending = stat(wal, &st) == 0 && st.st_size > 0;

	sqlite3_free(wal);
	if (stat(d->path, &st) != 0) {
		error_set(e, EXIT_BAD_INPUT, "cannot open the store: %s", strerror(errno));
		error_source(e, str_from(d->path));
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		error_set(e, EXIT_BAD_INPUT, "this is a folder, no store of goodput");
		error_source(e, str_from(d->path));
		return false;
	}
	if (sqlite3_open_v2(d->path, &d->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return database_failed(d, "open the store", e);
	sqlite3_busy_timeout(d->handle, BUSY_MS);
	if (pending || database_pragma(d, "SELECT count(*) FROM sqlite_master", NULL, NULL) ||
		(sqlite3_errcode(d->handle) & 0xff) != SQLITE_CANTOPEN)
		return true;
	sqlite3_close(d->handle);
	uri = sqlite3_mprintf("file:%s?immutable=1", d->path);
	int code = sqlite3_open_v2(uri, &d->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	sqlite3_free(uri);
	return code == SQLITE_OK || database_failed(d, "open the store", e);
}

bool database_open(struct database *d, const char *path, const struct database_options *o, struct error *e)
{
	bool empty = false;

	*d = (struct database){ .path = path, .lock = -1 };
	if (!o->read_only && !writer_open(d, o, e))
		return false;
	if (o->read_only && (!reader_open(d, e) || !database_is_ours(d, &empty, e)))
		return false;
	if (empty && o->read_only) {
		error_set(e, EXIT_BAD_INPUT, "the file is empty: no store of goodput");
		error_source(e, str_from(path));
		return false;
	}
	/* One state of the file for as long as it is open. */
	return !o->read_only || (reader_settings(d, e) && database_pragma(d, "BEGIN", NULL, e));
}

bool database_open_reader(struct database *d, const char *path, struct error *e)
{
	*d = (struct database){ .path = path, .lock = -1 };
	if (sqlite3_open_v2(path, &d->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return database_failed(d, "open the store", e);
	sqlite3_busy_timeout(d->handle, BUSY_MS);
	return reader_settings(d, e);
}

void database_close(struct database *d)
{
	for (size_t i = 0; i < ST_COUNT; i++)
		sqlite3_finalize(d->statements[i]);
	sqlite3_close(d->handle);
	/* Only now: closing any descriptor of a file drops what locks SQLite has on it. */
	if (d->lock >= 0)
		close(d->lock);
	*d = (struct database){ .lock = -1 };
}
