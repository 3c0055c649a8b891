#include "rules/payload.h"

#include "base/json.h"
#include "net/http.h"
#include "rules/api.h"

#include <stdio.h>
#include <time.h>

/* RFC 3339 with milliseconds; 0 is Go's zero time. */
static void json_date(struct json *j, const char *key, int64_t t_ms)
{
	time_t seconds = (time_t)(t_ms / 1000);
	char date[32], text[48];
	struct tm tm;

	if (!t_ms) {
		json_text(j, key, STR("0001-01-01T00:00:00Z"));
		return;
	}
	gmtime_r(&seconds, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof text, "%s.%03dZ", date, (int)(t_ms % 1000));
	json_text(j, key, str_from(text));
}

static void json_link(struct json *j, const struct notice *n, struct str external_url)
{
	struct buf url;

	buf_init(&url, 1 << 22);
	while (str_ends(external_url, STR("/")))
		external_url.len--;
	buf_add(&url, external_url);
	buf_add_cstr(&url, "/graph?g0.expr=");
	http_encode_form(n->query, &url);
	buf_add_cstr(&url, "&g0.tab=1");
	json_text(j, "generatorURL", buf_str(&url));
	buf_fini(&url);
}

static void json_notice(struct json *j, const struct notice *n, struct str external_url)
{
	rules_print_labels(j, "labels", n->labels->items, n->labels->count);
	rules_print_labels(j, "annotations", n->annotations.items, n->annotations.count);
	json_date(j, "startsAt", n->starts_ms);
	json_link(j, n, external_url);
}

void payload_alertmanager(struct buf *out, const struct notice *const *list, size_t count, struct str external_url)
{
	struct json j = { .out = out };

	json_open(&j, NULL, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(&j, NULL, '{');
		json_notice(&j, list[i], external_url);
		json_date(&j, "endsAt", list[i]->ends_ms);
		json_close(&j, '}');
	}
	json_close(&j, ']');
}

/* FNV-1a over names and values, each ended by a byte 255. */
static uint64_t fnv_add(uint64_t hash, struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (unsigned char)s.ptr[i]) * 1099511628211ULL;
	return (hash ^ 255) * 1099511628211ULL;
}

uint64_t payload_fingerprint(const struct labels *l)
{
	uint64_t hash = 14695981039346656037ULL;

	for (uint32_t i = 0; i < l->count; i++)
		hash = fnv_add(fnv_add(hash, l->items[i].name), l->items[i].value);
	return hash;
}

static const struct label *find(const struct label *items, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(items[i].name, name))
			return &items[i];
	return NULL;
}

static struct pairs pairs_of(const struct notice *n, bool annotations)
{
	return annotations ? n->annotations : (struct pairs){ (struct label *)n->labels->items, n->labels->count };
}

/* What all have alike. */
static void json_common(struct json *j, const char *key, const struct notice *const *list, size_t count, bool annotations)
{
	const struct pairs first = count ? pairs_of(list[0], annotations) : (struct pairs){ 0 };

	json_open(j, key, '{');
	for (size_t i = 0; i < first.count; i++) {
		bool common = true;

		for (size_t k = 1; k < count && common; k++) {
			const struct pairs other = pairs_of(list[k], annotations);
			const struct label *same = find(other.items, other.count, first.items[i].name);

			common = same && str_eq(same->value, first.items[i].value);
		}
		if (common)
			json_text(j, first.items[i].name.ptr, first.items[i].value);
	}
	json_close(j, '}');
}

void payload_webhook(struct buf *out, const struct notice *const *list, size_t count, struct str external_url, struct str receiver)
{
	struct json j = { .out = out };
	bool firing = false;

	for (size_t i = 0; i < count; i++)
		firing |= !list[i]->resolved;
	json_open(&j, NULL, '{');
	json_text(&j, "version", STR("4"));
	json_text(&j, "groupKey", STR("{}:{}"));
	json_integer(&j, "truncatedAlerts", 0);
	json_text(&j, "status", firing ? STR("firing") : STR("resolved"));
	json_text(&j, "receiver", receiver);
	rules_print_labels(&j, "groupLabels", NULL, 0);
	json_common(&j, "commonLabels", list, count, false);
	json_common(&j, "commonAnnotations", list, count, true);
	json_text(&j, "externalURL", external_url);
	json_open(&j, "alerts", '[');
	for (size_t i = 0; i < count; i++) {
		char fingerprint[24];

		snprintf(fingerprint, sizeof fingerprint, "%016lx", (unsigned long)payload_fingerprint(list[i]->labels));
		json_open(&j, NULL, '{');
		json_text(&j, "status", list[i]->resolved ? STR("resolved") : STR("firing"));
		json_notice(&j, list[i], external_url);
		json_date(&j, "endsAt", list[i]->resolved ? list[i]->ends_ms : 0);
		json_text(&j, "fingerprint", str_from(fingerprint));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}
