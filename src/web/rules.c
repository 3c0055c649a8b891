/* rules and alerts. */
#include "rules/api.h"
#include "web/web.h"

static bool filter_read(struct rules_filter *f, struct web_matchers *m, struct web_request *q, struct web_reply *r)
{
	struct str type = form_get(&q->form, "type"), without = form_get(&q->form, "exclude_alerts");

	*f = (struct rules_filter){ .only_alerts = str_is(type, "alert"), .only_recordings = str_is(type, "record") };
	if (type.len && !f->only_alerts && !f->only_recordings) {
		web_fail(r, WEB_BAD_DATA, "invalid parameter \"type\": not supported value \"" STR_FMT "\"", STR_ARG(str_head(type, 100)));
		return false;
	}
	f->exclude_alerts = str_is(without, "true") || str_is(without, "1");
	f->names = form_all(&q->form, q->arena, "rule_name[]", &f->name_count);
	f->groups = form_all(&q->form, q->arena, "rule_group[]", &f->group_count);
	f->files = form_all(&q->form, q->arena, "file[]", &f->file_count);
	if (!web_matchers_init(m, q, r, false))
		return false;
	f->matches = (const struct matcher *const *)m->lists;
	f->match_counts = m->counts;
	f->match_count = m->count;
	return true;
}

void web_rules(struct web_request *q, struct web_reply *r)
{
	struct json j = { .out = &r->body };
	struct rules_filter filter;
	struct web_matchers m;

	if (!filter_read(&filter, &m, q, r))
		return;
	web_open(r);
	rules_print_groups(&j, NULL, q->source->rules, q->source->rules_count, &filter);
	web_close(r, NULL, 0, NULL, 0);
	web_matchers_fini(&m);
}

void web_alerts(struct web_request *q, struct web_reply *r)
{
	struct json j = { .out = &r->body };

	web_open(r);
	rules_print_alerts(&j, NULL, q->source->rules, q->source->rules_count);
	web_close(r, NULL, 0, NULL, 0);
}
