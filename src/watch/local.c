#include "watch/local.h"

#include "net/http.h"
#include "net/loopback.h"
#include "scrape/scrape.h"
#include "watch/mirror.h"
#include "watch/pipeline.h"

#include <stdio.h>

enum { CONNECT_MS = 200, ANSWER_MS = 2000, PAGE_MAX = 64 << 20, SERVE_PORT = 9470, PROMETHEUS_PORT = 9090 };

/* vLLM (several replicas count up), llama.cpp and TGI, SGLang, TGI in its image, Triton, Dynamo's system port. */
static const uint16_t ports[] = { 8000, 8001, 8002, 8003, 8004, 8005, 8006, 8007, 8008, 8009, 8010, 8011, 8012, 8013, 8014, 8015, 8080,
	8081, 9000, 3000, 30000, 30001, 30002, 30003, SERVE_PORT, PROMETHEUS_PORT };
static const char tried[] =
	"127.0.0.1, ports 8000 to 8015, 8080, 8081, 9000, 3000, 30000 to 30003; a goodput serve on 9470, a Prometheus on 9090";

/* Does a page show a family of an engine? Lines only: whether it is right is for others to say. */
static bool shows_engine(const struct catalog *c, struct str page)
{
	struct str line;

	while (str_split(&page, '\n', &line)) {
		size_t end = 0;

		while (end < line.len && line.ptr[end] != '{' && line.ptr[end] != ' ')
			end++;
		if (line.len && line.ptr[0] != '#' && is_engine_name(c, str_head(line, end)))
			return true;
	}
	return false;
}

static void targets_ask(struct arena *arena, const struct catalog *c, const bool *open, struct local_found *found)
{
	const struct scrape_options options = { .timeout_ms = ANSWER_MS, .max_bytes = PAGE_MAX };
	struct http_client *client = http_client_new();
	struct http_answer *answers;
	struct watch_data data;

	data_init(&data);
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		char url[64], name[32];

		if (!open[i] || ports[i] == SERVE_PORT || ports[i] == PROMETHEUS_PORT)
			continue;
		snprintf(name, sizeof name, "127.0.0.1:%u", ports[i]);
		snprintf(url, sizeof url, "http://%s/metrics", name);
		fleet_target(&data.fleet, str_from(name), str_from(url), STR_EMPTY);
	}
	const struct fleet *fleet = &data.fleet;

	answers = ARENA_ARRAY(arena, struct http_answer, fleet->targets.count + 1);
	scrape_all(client, arena, fleet, &options, answers, NULL);
	found->targets = ARENA_ARRAY(arena, const char *, fleet->targets.count + 1);
	for (size_t i = 0; i < fleet->targets.count; i++)
		if (answers[i].failure == HTTP_OK && answers[i].status == 200 && shows_engine(c, answers[i].body))
			found->targets[found->count++] = arena_cstr(arena, fleet->targets.items[i]->name);
	data_fini(&data);
	http_client_free(client);
}

static bool is_open(const bool *open, uint16_t port)
{
	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (ports[i] == port)
			return open[i];
	return false;
}

bool local_find(struct arena *arena, const struct catalog *c, struct local_found *found, struct error *e)
{
	bool open[ARRAY_LEN(ports)];

	*found = (struct local_found){ 0 };
	loopback_probe(ports, ARRAY_LEN(ports), CONNECT_MS, open);
	targets_ask(arena, c, open, found);
	if (!found->count && is_open(open, SERVE_PORT))
		found->serve = "http://127.0.0.1:9470";
	else if (!found->count && is_open(open, PROMETHEUS_PORT))
		found->serve = "http://127.0.0.1:9090";
	if (found->count || found->serve)
		return true;
	error_set(e, EXIT_UNREACHABLE, "no engine found on this machine (tried %s)", tried);
	error_hint(e, "name what to look at: goodput top host:port ..., or --prometheus URL; goodput sim is one to try with");
	return false;
}
