/* fuzz_config: a prometheus.yml. Files that it names are not looked at.
 *
 * What is read is complete and whole: jobs have names, times that fit, and relabel rules that can be applied. */
#include "scrape/discovery.h"
#include "watch/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                                                 \
	do {                                                                                                                               \
		if (!(condition))                                                                                                          \
			abort();                                                                                                           \
	} while (0)

/* Static targets go through relabelling. */
static void find_static(const struct config *c)
{
	for (size_t i = 0; i < c->jobs.count; i++) {
		struct job job = *c->jobs.items[i];
		size_t kept = 0;
		struct sd *sds = malloc((job.sd_count + 1) * sizeof *sds);
		REQUIRE(sds);
		for (size_t k = 0; k < job.sd_count; k++)
			if (job.sds[k].kind == SD_STATIC)
				sds[kept++] = job.sds[k];
		job.sds = sds;
		job.sd_count = kept;
		const struct job *jobs[] = { &job };
		struct discovery *d = discovery_new(jobs, 1, NULL, NULL);
		REQUIRE(discovery_update(d));
		const struct discovered_job *found = discovery_job(d, 0);
		for (size_t k = 0; k < found->count; k++)
			REQUIRE(found->targets[k].url.len > 0 && found->targets[k].timeout_ms <= found->targets[k].interval_ms);
		discovery_free(d);
		free(sds);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error e = { 0 };
	struct config *c = config_parse(STR("config"), str_of((const char *)data, size), false, &e);
	REQUIRE(c ? !e.set : e.set);
	if (!c)
		return 0;
	VEC_EACH (&c->jobs, job)
		REQUIRE((*job)->name.len && (*job)->interval_ms > 0 && (*job)->timeout_ms <= (*job)->interval_ms);
	find_static(c);
	config_free(c);
	return 0;
}
