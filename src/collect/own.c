/* The report as metrics, so that a fault can be alerted on. All are gauges, which both formats write alike. */
#include "collect/internal.h"

#include <math.h>

static void own_head(const char *name, const char *help, struct buf *out)
{
	buf_printf(out, "# HELP goodput_collect_%s %s\n# TYPE goodput_collect_%s gauge\n", name, help, name);
}

static void own_value(const char *name, const char *label, const char *value, double number, struct buf *out)
{
	char text[COLLECT_NUMBER_MAX];
	struct str at = str_of(text, collect_number(number, false, text));

	if (label)
		buf_printf(out, "goodput_collect_%s{%s=\"%s\"} " STR_FMT "\n", name, label, value, STR_ARG(at));
	else
		buf_printf(out, "goodput_collect_%s " STR_FMT "\n", name, STR_ARG(at));
}

static void own_one(const char *name, const char *help, double number, struct buf *out)
{
	own_head(name, help, out);
	own_value(name, NULL, NULL, number, out);
}

static void own_text(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_add_c(out, '\\');
		if (*text == '\n')
			buf_add(out, STR("\\n"));
		else
			buf_add_c(out, *text);
	}
}

/* As a label can have it. */
static const char *fault_file(const struct collect_fault *fault)
{
	return str_is_utf8(str_from(fault->file)) ? fault->file : "(not UTF-8)";
}

/* A series stands once on a page. */
static bool named_before(const struct collect_report *r, size_t index)
{
	const struct collect_fault *fault = &r->faults[index];

	for (size_t i = 0; i < index; i++)
		if (strcmp(r->faults[i].kind, fault->kind) == 0 && strcmp(fault_file(&r->faults[i]), fault_file(fault)) == 0)
			return true;
	return false;
}

static void own_faults(const struct collect_report *r, struct buf *out)
{
	own_head("fault", "1 for each fault; file is empty for faults of the directory.", out);
	for (size_t i = 0; i < r->fault_count; i++) {
		if (named_before(r, i))
			continue;
		buf_printf(out, "goodput_collect_fault{file=\"");
		own_text(fault_file(&r->faults[i]), out);
		buf_printf(out, "\",kind=\"%s\"} 1.0\n", r->faults[i].kind);
	}
	own_one("faults", "Faults found, also those not listed.", (double)r->faults_total, out);
	own_one("status", "What the exit status would be: 0 fine, 1 warning, 2 critical, 3 nothing could be read.", collect_status(r), out);
}

void collector_own_page(const struct collector *c, struct buf *out)
{
	const struct collect_report *r = &c->report;

	own_head("directory", "1 for the state that the directory is in.", out);
	for (int i = 0; i < COLLECT_DIRECTORY_STATES; i++)
		own_value("directory", "state", collect_directory_name((enum collect_directory)i), i == (int)r->directory, out);
	own_head("files", "Metric files by what they are.", out);
	for (int i = 0; i < COLLECT_FILE_STATES; i++)
		own_value("files", "state", collect_file_state_name((enum collect_file_state)i), (double)r->files[i], out);
	own_head("writers", "Processes that the files' names tell, by what they do.", out);
	for (int i = 0; i < COLLECT_WRITER_STATES; i++)
		own_value("writers", "state", collect_writer_name((enum collect_writer)i), (double)r->writers[i], out);
	own_one("entries", "Values read from all files.", (double)r->entries, out);
	own_one("used_bytes", "Bytes in use in all files.", (double)r->bytes, out);
	if (!isnan(r->quiet_s))
		own_one("quiet_seconds", "Time since a value was seen to change, or since the collector began to look.", r->quiet_s, out);
	own_one("ahead_seconds", "How far the newest stamp lies in the future.", r->ahead_s, out);
	if (r->disk_free != UINT64_MAX)
		own_one("disk_free_bytes", "Space left for the files.", (double)r->disk_free, out);
	own_faults(r, out);
}
