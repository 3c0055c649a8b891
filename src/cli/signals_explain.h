/* signals_explain: an entry of the catalogue explained: what it means, how it is computed or judged, and what refers to it. */
#ifndef GOODPUT_CLI_SIGNALS_EXPLAIN_H
#define GOODPUT_CLI_SIGNALS_EXPLAIN_H

#include "base/json.h"
#include "catalog/catalog.h"
#include "cli/page.h"

void signal_explain(struct page *p, const struct catalog *c, const struct signal_spec *s);
void finding_explain(struct page *p, const struct finding_spec *f);
/* One object each, inside an array. */
void signal_json(struct json *j, const struct catalog *c, const struct signal_spec *s);
void finding_json(struct json *j, const struct finding_spec *f);

#endif
