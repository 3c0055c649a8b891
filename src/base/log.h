/* log: messages to people on stderr: "goodput: warning: ...", cut at 2047 bytes, control bytes shown as '?' (names in them are others').
 * Quiet and verbose are set once by the command line. */
#ifndef GOODPUT_BASE_LOG_H
#define GOODPUT_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_DEBUG };

void log_set_level(enum log_level highest_shown); /* LOG_NOTE at start */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A progress line that replaces itself on a terminal, is silent elsewhere; NULL clears it. */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
