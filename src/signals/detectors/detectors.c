/* The table of detectors. Their order is the order of publishing: what a later one reads, an earlier one has published. */
#include "signals/detectors/detect.h"

#define DETECTORS(X)                                                                                                                       \
	X(scrapes, scrapes_publish, scrapes_raise)                                                                                         \
	X(mix, mix_publish, mix_raise)                                                                                                     \
	X(cache, cache_publish, NULL)                                                                                                      \
	X(objectives, objectives_publish, NULL)                                                                                            \
	X(progress, progress_publish, progress_raise)                                                                                      \
	X(replicas, replicas_publish, replicas_raise)                                                                                      \
	X(leaks, leaks_publish, leaks_raise)                                                                                               \
	X(collector, collector_publish, collector_raise)                                                                                   \
	X(speculation, speculation_publish, speculation_raise)                                                                             \
	X(lora, lora_publish, NULL)                                                                                                        \
	X(losses, NULL, losses_raise)                                                                                                      \
	X(transfers, NULL, transfers_raise)                                                                                                \
	X(gpu, NULL, gpu_raise)                                                                                                            \
	X(quantiles, NULL, quantiles_raise)                                                                                                \
	X(ranks, NULL, ranks_raise)                                                                                                        \
	X(names, NULL, names_raise)

#define ENTRY(id, publish, raise) { #id, publish, raise },
const struct detector detectors[] = { DETECTORS(ENTRY){ NULL, NULL, NULL } };

#define NAME(id, publish, raise) #id,
const char *const detector_names[] = { DETECTORS(NAME) NULL };

void detectors_publish(struct evaluation *ev)
{
	for (const struct detector *d = detectors; d->name; d++)
		if (d->publish)
			d->publish(ev);
}
