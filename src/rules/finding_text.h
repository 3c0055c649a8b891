/* finding_text: what an alert about a finding says. Internal to rules. */
#ifndef GOODPUT_RULES_FINDING_TEXT_H
#define GOODPUT_RULES_FINDING_TEXT_H

#include "rules/alerts.h"
#include "signals/report.h"

/* In the arena. `command` shows the same findings; " --at TIME" is added; empty: left out. */
struct pairs finding_annotations(struct arena *arena, const struct finding *f, struct str command, int64_t t_ms);
struct pairs blind_annotations(struct arena *arena, struct str why, struct str command, int64_t t_ms);

#endif
