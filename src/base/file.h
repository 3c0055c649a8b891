/* file: whole files, folders, terminal facts. */
#ifndef GOODPUT_BASE_FILE_H
#define GOODPUT_BASE_FILE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

/* The whole file (at most `max` bytes) in the arena, '\0'-terminated. "-" is standard input. */
bool file_read(struct arena *arena, const char *path, size_t max, struct str *text, struct error *e);
/* Writes through a temporary file and rename, so that a reader never sees half. A device or a pipe is written itself. */
bool file_write(const char *path, struct str text, struct error *e);
bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* mkdir -p */
bool folder_make(const char *path, struct error *e);
/* Sorted names in the folder without "." and "..", in the arena; NULL with an error. */
struct str *folder_list(struct arena *arena, const char *path, size_t *count, struct error *e);
/* dir + "/" + name in the arena. */
char *path_join(struct arena *arena, const char *folder, struct str name);
/* Columns of the terminal behind `to`: COLUMNS, else the window's, else 80. */
int terminal_columns(FILE *to);

#endif
