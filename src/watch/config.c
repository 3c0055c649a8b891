/* The targets of a configuration, for one look: what discovery finds at once. */
#include "watch/config.h"

#include "scrape/discovery.h"
#include "watch/pipeline.h"

enum { FIND_MS = 10000 };

static bool found_nothing(const struct discovery *d, struct error *e)
{
	for (size_t i = 0; i < discovery_job_count(d); i++) {
		const struct discovered_job *job = discovery_job(d, i);

		if (job->error.len)
			return error_set(
				e, EXIT_UNREACHABLE, "job \"" STR_FMT "\": " STR_FMT, STR_ARG(job->job->name), STR_ARG(job->error));
	}
	return true;
}

bool config_targets(struct watch *w, struct error *e)
{
	/* Targets that were named are meant alone: the file then gives pools and catalogue only. */
	if (!w->options.config_file || w->data.fleet.targets.count)
		return true;
	w->config = config_read(w->options.config_file, e);
	if (!w->config)
		return false;
	config_log_notes(w->config);
	struct discovery *d = discovery_new((const struct job *const *)w->config->jobs.items, w->config->jobs.count, NULL, NULL);

	discovery_wait(d, FIND_MS, w->options.stop);
	discovery_sync(d, &w->data.fleet, w->options.now_ms, NULL);
	bool ok = w->data.fleet.targets.count || found_nothing(d, e);

	discovery_free(d);
	return ok;
}
