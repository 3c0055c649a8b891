/* database: the SQLite file of a store: opening it as ours, statements, errors that say how to go on. Internal to the store. */
#ifndef GOODPUT_STORE_DATABASE_H
#define GOODPUT_STORE_DATABASE_H

#include "base/error.h"
#include "base/str.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum statement {
	ST_BEGIN,
	ST_BEGIN_READ,
	ST_COMMIT,
	ST_ROLLBACK,
	ST_SERIES_ADD,
	ST_SERIES_ALL,
	ST_SERIES_DROP,
	ST_SET_ADD,
	ST_SET_ALL,
	ST_SET_DROP,
	ST_CHUNK_ADD,
	ST_CHUNK_ALL,
	ST_CHUNK_TIMES,
	ST_CHUNK_REPLACE,
	ST_CHUNK_DROP,
	ST_SECTION_ADD,
	ST_SECTION_GET,
	ST_SECTION_DROP,
	ST_DIGEST_ADD,
	ST_DIGEST_ALL,
	ST_DIGEST_GET,
	ST_DIGEST_DROP,
	ST_DIGEST_SECTION_ADD,
	ST_DIGEST_SECTION_GET,
	ST_DIGEST_SECTION_DROP,
	ST_LOG_ADD,
	ST_LOG_ALL,
	ST_LOG_TRIM,
	ST_COUNT
};

/* sections.id = chunk's id << SECTION_BITS | number of the section. */
enum { SECTION_BITS = 12 };

struct database {
	sqlite3 *handle;
	sqlite3_stmt *statements[ST_COUNT];
	const char *path; /* borrowed */
	int version;      /* of the file's format; a writer raises it to ours */
	int lock;         /* descriptor that holds the writer's lock; -1: none */
};

struct database_options {
	bool read_only;
	bool full; /* commits survive a power loss too */
};

/* Opens or makes the file. The writer holds a lock on it until database_close: a second one is refused. */
bool database_open(struct database *d, const char *path, const struct database_options *o, struct error *e);
/* A second connection, for reading, of the same process. */
bool database_open_reader(struct database *d, const char *path, struct error *e);
void database_close(struct database *d);

/* Binds are 1-based and by column: integers, then blobs. */
sqlite3_stmt *database_use(struct database *d, enum statement which);
/* Runs a statement without rows. */
bool database_run(struct database *d, sqlite3_stmt *statement, struct error *e);
/* One row more? False at the end, and on an error, which sets `e`. */
bool database_row(struct database *d, sqlite3_stmt *statement, struct error *e);
bool database_do(struct database *d, enum statement which, struct error *e);
bool database_pragma(struct database *d, const char *sql, int64_t *value, struct error *e);
struct str database_blob(sqlite3_stmt *statement, int column);
void database_bind_blob(sqlite3_stmt *statement, int column, struct str blob);
/* The last error of SQLite as one of ours, with a hint. Returns false. */
bool database_failed(struct database *d, const char *doing, struct error *e);
/* `e` for contents that are not what a store writes. Returns false. */
bool database_damaged(const char *path, const char *what, struct error *e);

#endif
