/* Texts for statuses; the version. */
#include "telemetry/internal.h"

const char *goodput_status_text(int status)
{
	switch (status) {
	case GOODPUT_OK: return "done";
	case GOODPUT_UNSAVED: return "counted in memory: the metric file cannot be written";
	case GOODPUT_INVALID: return "invalid argument";
	case GOODPUT_NOT_UTF8: return "text is not UTF-8";
	case GOODPUT_EXISTS: return "another metric has this name";
	case GOODPUT_WRONG_KIND: return "the metric is of another type or mode";
	case GOODPUT_NO_DIRECTORY: return "no directory for metric files: is PROMETHEUS_MULTIPROC_DIR set, and does it exist?";
	case GOODPUT_DENIED: return "no permission to write the metric file";
	case GOODPUT_NO_SPACE: return "no space for the metric file";
	case GOODPUT_BUSY: return "another live writer holds the metric file of this pid";
	case GOODPUT_TOO_LARGE: return "metric file or key too large";
	case GOODPUT_NO_MEMORY: return "out of memory";
	case GOODPUT_IO: return "the metric file cannot be used";
	default: return "unknown status";
	}
}

const char *goodput_version(void)
{
	return GOODPUT_VERSION;
}
