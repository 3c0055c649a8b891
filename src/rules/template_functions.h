/* template_functions: functions, and what they share. Internal to the template language. */
#ifndef GOODPUT_RULES_TEMPLATE_FUNCTIONS_H
#define GOODPUT_RULES_TEMPLATE_FUNCTIONS_H

#include "rules/template_tree.h"

/* Fails when the value is of another kind. */
bool value_need(struct execution *x, const struct value *v, enum value_kind kind);
/* A number, or a text that is one. */
bool value_need_number(struct execution *x, const struct value *v, double *number);
/* Results; true. The first takes over the buffer, and fails when it has overflowed. */
bool value_give_text(struct execution *x, struct buf *text, struct value *result);
bool value_give(struct value *result, struct str text);
bool value_give_truth(struct value *result, bool truth);

#define TEMPLATE_FUNCTION(name) bool name(struct execution *x, const struct value *args, size_t count, struct value *result)
/* template_numbers.c, template_texts.c */
TEMPLATE_FUNCTION(function_humanize);
TEMPLATE_FUNCTION(function_humanize_1024);
TEMPLATE_FUNCTION(function_humanize_duration);
TEMPLATE_FUNCTION(function_humanize_percentage);
TEMPLATE_FUNCTION(function_humanize_timestamp);
TEMPLATE_FUNCTION(function_parse_duration);
TEMPLATE_FUNCTION(function_now);
TEMPLATE_FUNCTION(function_to_upper);
TEMPLATE_FUNCTION(function_to_lower);
TEMPLATE_FUNCTION(function_title);
TEMPLATE_FUNCTION(function_strip_port);
TEMPLATE_FUNCTION(function_strip_domain);
TEMPLATE_FUNCTION(function_match);
TEMPLATE_FUNCTION(function_replace_all);
TEMPLATE_FUNCTION(function_url_query);
TEMPLATE_FUNCTION(function_graph_link);
TEMPLATE_FUNCTION(function_table_link);
TEMPLATE_FUNCTION(function_external_url);
TEMPLATE_FUNCTION(function_path_prefix);
TEMPLATE_FUNCTION(function_safe_html);
TEMPLATE_FUNCTION(function_html);
TEMPLATE_FUNCTION(function_print_formatted);
TEMPLATE_FUNCTION(function_print);
TEMPLATE_FUNCTION(function_print_line);

#endif
