/* commands: one file per subcommand; the small ones that are about goodput itself share about.c. */
#ifndef GOODPUT_CLI_COMMANDS_H
#define GOODPUT_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command command_bench, command_check, command_collect, command_compare, command_demo, command_query, command_record,
	command_rules, command_serve, command_signals, command_sim, command_store, command_top, command_workload;
extern const struct command command_completion, command_man, command_help, command_version;

#endif
