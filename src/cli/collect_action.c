/* goodput collect init|clean|mark-dead|fold: the directory of a pod from its beginning to its end. */
#include "base/log.h"
#include "base/number.h"
#include "cli/collect.h"
#include "cli/commands.h"
#include "collect/lifecycle.h"

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static int init(const struct collect_arguments *a, const char *path)
{
	struct error e = { 0 };
	size_t removed;

	if (!collect_init(path, a->force, &removed, &e))
		return command_failed(&e);
	log_note("%s is ready: %zu file%s of an earlier run removed", path, removed, plural(removed));
	return EXIT_FINE;
}

static int clean(const struct collect_arguments *a, const char *path)
{
	struct error e = { 0 };
	size_t removed;

	if (!collect_clean(path, a->force, &removed, &e))
		return command_failed(&e);
	log_note("%s: %zu file%s removed", path, removed, plural(removed));
	return EXIT_FINE;
}

static int mark_dead(const struct command *self, const struct collect_arguments *a, const struct option_strings *operands)
{
	const char *path = operands->items[1];
	struct error e = { 0 };
	size_t removed, all = 0;
	int64_t pid;

	for (size_t i = 2; i < operands->count; i++) {
		if (!number_parse_i64(str_from(operands->items[i]), &pid) || pid <= 0)
			return command_usage(self, "mark-dead DIR PID...: a process id is a number");
		if (!collect_mark_dead(path, pid, a->force, &removed, &e))
			return command_failed(&e);
		all += removed;
	}
	log_note("%s: %zu live gauge file%s removed", path, all, plural(all));
	return EXIT_FINE;
}

static int fold(const struct collect_arguments *a, const char *path)
{
	struct collector *c = collector_new(path, &a->collect);
	const struct collect_report *r = collector_scrape(c);
	struct collect_fold folded = { 0 };
	struct error e = { 0 };
	size_t files = 0;
	int status = EXIT_FINE;
	bool ok = true;

	do {
		ok = r->directory == COLLECT_READ && collector_fold(c, a->force, &folded, &e);
		files += folded.files;
	} while (ok && folded.files && (r = collector_scrape(c)));
	if (!ok && !e.set)
		error_set(&e, EXIT_UNKNOWN, "%s", r->faults[0].text);
	if (!ok) {
		status = command_failed(&e);
	} else if (folded.busy) {
		log_warning("%s is being folded by another process", path);
		status = EXIT_WARNING;
	} else {
		log_note("%s: %zu file%s of dead writers folded", path, files, plural(files));
		if (!files && r->writers[COLLECT_UNKNOWN] && !a->force)
			log_note("%zu writer%s not seen from here; when they have ended and this is their container: --force",
				r->writers[COLLECT_UNKNOWN], r->writers[COLLECT_UNKNOWN] == 1 ? " is" : "s are");
	}
	collector_free(c);
	return status;
}

int collect_action(const struct command *self, const struct collect_arguments *a, const struct option_strings *operands)
{
	struct str action = operands->count ? str_from(operands->items[0]) : STR_EMPTY;
	bool is_action = str_is(action, "init") || str_is(action, "clean") || str_is(action, "mark-dead") || str_is(action, "fold");

	if (a->force && !is_action)
		return command_usage(self, "--force is for init, clean, mark-dead and fold");
	if (!is_action)
		return -1;
	if (a->listen || a->fold || a->format || a->as || !a->own_metrics || a->collect.show_unset)
		return command_usage(self, "init, clean, mark-dead and fold print no page: of the options only --force goes with them");
	if (str_is(action, "mark-dead"))
		return operands->count > 2 ? mark_dead(self, a, operands) : command_usage(self, "mark-dead DIR PID...: which processes?");
	if (operands->count != 2)
		return command_usage(
			self, operands->count > 2 ? "one directory at a time" : "which directory? (./NAME for one of this name)");
	return str_is(action, "init")    ? init(a, operands->items[1])
	       : str_is(action, "clean") ? clean(a, operands->items[1])
					 : fold(a, operands->items[1]);
}
