#include "base/log.h"

#include "base/file.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int level_shown = LOG_NOTE;
static _Atomic bool progress_on_screen;

void log_set_level(enum log_level highest_shown)
{
	level_shown = highest_shown;
}

/* Back to the first column, and everything behind it erased. */
static void progress_erase(void)
{
	if (atomic_exchange(&progress_on_screen, false))
		fputs("\r\033[K", stderr);
}

static void log_write(enum log_level level, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void log_write(enum log_level level, const char *format, va_list args)
{
	static const char *const prefixes[] = { "error: ", "warning: ", "", "debug: " };
	char text[2048];

	if ((int)level > level_shown)
		return;
	vsnprintf(text, sizeof text, format, args);
	for (char *c = text; *c; c++)
		*c = ((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f ? '?' : *c;
	flockfile(stderr);
	progress_erase();
	fprintf(stderr, "goodput: %s%s\n", prefixes[level], text);
	funlockfile(stderr);
}

#define LOG_FUNCTION(name, level)                                                                                                          \
	void name(const char *format, ...)                                                                                                 \
	{                                                                                                                                  \
		va_list args;                                                                                                              \
		va_start(args, format);                                                                                                    \
		log_write((level), format, args);                                                                                          \
		va_end(args);                                                                                                              \
	}
LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warning, LOG_WARNING)
LOG_FUNCTION(log_note, LOG_NOTE)
LOG_FUNCTION(log_debug, LOG_DEBUG)

void log_progress(const char *format, ...)
{
	char text[512];
	va_list args;

	if (level_shown < LOG_NOTE || !isatty(STDERR_FILENO))
		return;
	flockfile(stderr);
	progress_erase();
	if (format) {
		va_start(args, format);
		vsnprintf(text, sizeof text, format, args);
		va_end(args);
		/* A line that wraps could not be erased. */
		fprintf(stderr, "%.*s", terminal_columns(stderr) - 1, text);
		progress_on_screen = true;
	}
	fflush(stderr);
	funlockfile(stderr);
}
