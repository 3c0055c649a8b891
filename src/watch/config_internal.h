/* Inside of config.h's implementation only. */
#ifndef GOODPUT_WATCH_CONFIG_INTERNAL_H
#define GOODPUT_WATCH_CONFIG_INTERNAL_H

#include "watch/config.h"

/* What is being read. */
struct config_reader {
	struct config *config;
	struct job_defaults defaults;
	bool look_at_files; /* that the text names */
};
void config_note(void *reader, const struct yaml *node, const char *text);
bool config_remote_writes(struct config_reader *r, const struct yaml *list, struct error *e);
bool config_alerting(struct config_reader *r, const struct yaml *map, struct error *e);
bool config_rule_files(struct config_reader *r, const struct yaml *list, struct error *e);
/* A list, absent or null; anything else is an error. */
bool config_is_list(const struct yaml *node, struct error *e);
#endif
