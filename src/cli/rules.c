/* goodput rules: what serve makes of rule files, without running them. */
#include "rules/rules.h"
#include "base/json.h"
#include "base/map.h"
#include "cli/commands.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

struct rules_arguments {
	struct global_arguments global;
};
static const struct option_table rules_tables[] = { { "Common options", global_options, 0 }, { 0 } };

/* Of one file, or pattern. */
struct checked {
	struct error error;
	size_t groups, rules;
	VEC(struct str) warnings; /* in the arena */
};

/* Two rules that write the same series: the later one is refused as a duplicate at every evaluation, or both take turns. */
static void warn_of_twins(struct checked *c, struct arena *arena, const struct rules *r)
{
	struct map seen;
	struct buf key;

	map_init(&seen);
	buf_init(&key, 1 << 20);
	VEC_EACH (&r->groups, g) {
		for (size_t i = 0; i < (*g)->rule_count; i++) {
			const struct rule *rule = &(*g)->rules[i], *first;

			buf_reset(&key);
			buf_printf(&key, "%d" STR_FMT, rule->is_alert, STR_ARG(rule->name));
			for (size_t k = 0; k < rule->label_count; k++)
				buf_printf(&key, "\n" STR_FMT "=" STR_FMT, STR_ARG(rule->labels[k].name), STR_ARG(rule->labels[k].text));
			first = map_get(&seen, buf_str(&key));
			if (!first) {
				map_set(&seen, buf_str(&key), (void *)rule);
				continue;
			}
			VEC_PUSH(&c->warnings,
				arena_printf(arena, STR_FMT ":%d:%d: %s " STR_FMT " has the name and labels of the rule in line %d",
					STR_ARG((*g)->file), rule->line, rule->column, rule->is_alert ? "alert" : "record",
					STR_ARG(rule->name), first->line));
		}
	}
	buf_fini(&key);
	map_fini(&seen);
}

/* serve takes a folder that is still empty; who asks for a check has a file in mind. */
static bool matches_nothing(const char *path)
{
	glob_t found;
	int code = strpbrk(path, "*?[") ? glob(path, 0, NULL, &found) : 0;

	if (strpbrk(path, "*?[") && !code)
		globfree(&found);
	return code == GLOB_NOMATCH;
}

static void check_file(struct checked *c, struct arena *arena, const char *path)
{
	if (matches_nothing(path)) {
		error_set(&c->error, EXIT_BAD_INPUT, "no file matches this pattern");
		error_source(&c->error, str_from(path));
		return;
	}
	struct rules *r = rules_load(&path, 1, &rules_defaults, &c->error);

	if (!r)
		return;
	c->groups = r->groups.count;
	c->rules = rules_count(r);
	warn_of_twins(c, arena, r);
	rules_free(r);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_text(const struct checked *c, const char *path, struct buf *out)
{
	buf_printf(out, "Checking %s\n", path);
	if (c->error.set)
		buf_add_cstr(out, "  FAILED\n");
	else
		buf_printf(out, "  SUCCESS: %zu rule%s found in %zu group%s\n", c->rules, plural(c->rules), c->groups, plural(c->groups));
	VEC_EACH (&c->warnings, w)
		buf_printf(out, "  WARNING: " STR_FMT "\n", STR_ARG(*w));
}

static void print_json(struct json *j, const struct checked *c, const char *path)
{
	json_open(j, NULL, '{');
	json_text(j, "file", str_from(path));
	json_bool(j, "ok", !c->error.set);
	if (!c->error.set) {
		json_integer(j, "groups", (int64_t)c->groups);
		json_integer(j, "rules", (int64_t)c->rules);
	} else {
		if (c->error.line) {
			json_integer(j, "line", c->error.line);
			json_integer(j, "column", c->error.column);
		}
		json_text(j, "error", str_from(c->error.message));
		json_text_if(j, "hint", str_from(c->error.hint));
	}
	json_open(j, "warnings", '[');
	VEC_EACH (&c->warnings, w)
		json_text(j, NULL, *w);
	json_close(j, ']');
	json_close(j, '}');
}

static int check_run(const struct rules_arguments *a, const struct option_strings *operands)
{
	int status = EXIT_FINE;
	struct arena arena;
	struct buf out;
	struct json j = { .out = &out };

	arena_init(&arena);
	buf_init(&out, SIZE_MAX / 2);
	if (a->global.json) {
		json_open(&j, NULL, '{');
		json_text(&j, "schema", STR("goodput.rules/1"));
		json_open(&j, "files", '[');
	}
	for (size_t i = 1; i < operands->count; i++) {
		struct checked c = { 0 };

		check_file(&c, &arena, operands->items[i]);
		if (a->global.json)
			print_json(&j, &c, operands->items[i]);
		else
			print_text(&c, operands->items[i], &out);
		if (c.error.set)
			status = command_failed(&c.error);
		else if (c.warnings.count && status == EXIT_FINE)
			status = EXIT_WARNING;
		VEC_FREE(&c.warnings);
	}
	if (a->global.json) {
		json_close(&j, ']');
		json_close(&j, '}');
		buf_add_c(&out, '\n');
	}
	status = command_output(buf_str(&out), status);
	buf_fini(&out);
	arena_fini(&arena);
	return status;
}

static int rules_run(const struct command *self, void *arguments, const struct option_strings *operands)
{
	if (!operands->count)
		return command_usage(self, "the first word is check");
	if (strcmp(operands->items[0], "check") != 0)
		return command_unknown_action(self, operands->items[0]);
	if (operands->count < 2)
		return command_usage(self, "which rule files?");
	return check_run(arguments, operands);
}

static const char *const rules_words[] = { "check", NULL };

const struct command command_rules = {
	.name = "rules",
	.summary = "check rule files: recording and alerting rules of Prometheus",
	.synopsis = (const char *const[]){ "check FILE...", NULL },
	.description = "check reads rule files as goodput serve does, and says what is wrong with file, line, column and the fix: unknown "
		       "fields, queries "
		       "and templates that do not parse, names that are not allowed, groups of the same name. A FILE can be a pattern in "
		       "quotes.\n\n"
		       "65 when a file is wrong; 1 when there are two rules with one name and the same labels; else 0.",
	.examples = (const struct example[]){ { "goodput rules check rules.yml", "Is it right?" },
		{ "goodput rules check 'rules/*.yml' --json", "All files of a folder, for scripts." }, { NULL, NULL } },
	.tables = rules_tables,
	.arguments_size = sizeof(struct rules_arguments),
	.operands = rules_words,
	.files_too = true,
	.run = rules_run,
};
