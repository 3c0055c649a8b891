#include "model/timeline.h"
#include "base/mem.h"

#include <math.h>

void timeline_reset(struct timeline *t)
{
	struct deliveries kept = t->deliveries;

	*t = (struct timeline){ .intended_ns = TIMELINE_NEVER,
		.submitted_ns = TIMELINE_NEVER,
		.resubmitted_ns = TIMELINE_NEVER,
		.sent_ns = TIMELINE_NEVER,
		.headers_ns = TIMELINE_NEVER,
		.first_byte_ns = TIMELINE_NEVER,
		.first_output_ns = TIMELINE_NEVER,
		.first_content_ns = TIMELINE_NEVER,
		.last_output_ns = TIMELINE_NEVER,
		.completed_ns = TIMELINE_NEVER,
		.closed_ns = TIMELINE_NEVER,
		.asked_tokens = TIMELINE_UNKNOWN,
		.prompt_tokens = TIMELINE_UNKNOWN,
		.output_tokens = TIMELINE_UNKNOWN,
		.cached_tokens = TIMELINE_UNKNOWN,
		.reasoning_tokens = TIMELINE_UNKNOWN,
		.tokens_first = TIMELINE_UNKNOWN,
		.attempts = 1,
		.retry_after_ms = -1,
		.evaluation = -1,
		.temperature = NAN,
		.session = -1,
		.deliveries = kept };
	deliveries_reset(&t->deliveries, 0);
}

void timeline_init(struct timeline *t)
{
	t->deliveries = (struct deliveries){ 0 };
	timeline_reset(t);
}

void timeline_fini(struct timeline *t)
{
	deliveries_fini(&t->deliveries);
}

/* At most size - 1 bytes of the text, whole characters, as a C string. */
static void set_text(char *to, size_t size, struct str text)
{
	size_t len = 0, step;
	uint32_t rune;

	for (struct str rest = text; (step = str_rune(rest, &rune)) && len + step < size; rest = str_skip(rest, step)) {
		if (rune == STR_RUNE_INVALID)
			to[len] = '?';
		else if (rune < 0x20 || rune == 0x7f)
			to[len] = ' ';
		else
			memcpy(to + len, rest.ptr, step);
		len += step;
	}
	to[len] = '\0';
}

void timeline_set_message(struct timeline *t, struct str message)
{
	set_text(t->message, sizeof t->message, str_trim(message));
}

void timeline_set_finish(struct timeline *t, struct str finish)
{
	set_text(t->finish, sizeof t->finish, finish);
}

static double span_ms(int64_t from, int64_t to)
{
	return from == TIMELINE_NEVER || to == TIMELINE_NEVER ? NAN : (double)(to - from) / 1e6;
}

static int64_t due(const struct timeline *t)
{
	return t->intended_ns != TIMELINE_NEVER ? t->intended_ns : t->submitted_ns;
}

double timeline_ttft_ms(const struct timeline *t)
{
	return span_ms(t->submitted_ns, t->first_output_ns);
}

double timeline_content_ttft_ms(const struct timeline *t)
{
	return span_ms(t->submitted_ns, t->first_content_ns);
}

double timeline_tpot_ms(const struct timeline *t)
{
	if (t->output_tokens == TIMELINE_UNKNOWN || t->output_tokens < 2 || (t->notes & TIMELINE_SEVERAL_CHOICES))
		return NAN;
	return span_ms(t->first_output_ns, t->last_output_ns) / (t->output_tokens - 1);
}

double timeline_tpot_after_first_ms(const struct timeline *t)
{
	if (t->output_tokens == TIMELINE_UNKNOWN || t->tokens_first == TIMELINE_UNKNOWN || !t->tokens_first ||
		t->output_tokens <= t->tokens_first || (t->notes & TIMELINE_SEVERAL_CHOICES))
		return NAN;
	return span_ms(t->first_output_ns, t->last_output_ns) / (t->output_tokens - t->tokens_first);
}

double timeline_e2e_ms(const struct timeline *t)
{
	return span_ms(t->submitted_ns, t->completed_ns);
}

double timeline_tail_ms(const struct timeline *t)
{
	return span_ms(t->last_output_ns, t->completed_ns);
}

double timeline_schedule_delay_ms(const struct timeline *t)
{
	return span_ms(t->intended_ns, t->submitted_ns);
}

double timeline_ttft_due_ms(const struct timeline *t)
{
	return span_ms(due(t), t->first_output_ns);
}

double timeline_e2e_due_ms(const struct timeline *t)
{
	return span_ms(due(t), t->completed_ns);
}

static int64_t last_attempt(const struct timeline *t)
{
	return t->resubmitted_ns != TIMELINE_NEVER ? t->resubmitted_ns : t->submitted_ns;
}

double timeline_ttft_last_ms(const struct timeline *t)
{
	return span_ms(last_attempt(t), t->first_output_ns);
}

double timeline_e2e_last_ms(const struct timeline *t)
{
	return span_ms(last_attempt(t), t->completed_ns);
}

bool timeline_is_single_delivery(const struct timeline *t)
{
	return t->deliveries.count == 1 && t->output_tokens != TIMELINE_UNKNOWN && t->output_tokens > 1;
}

bool timeline_is_complete(const struct timeline *t)
{
	return t->outcome == TIMELINE_OK || t->outcome == TIMELINE_OK_EMPTY;
}

static const char *const outcome_names[TIMELINE_OUTCOMES] = { "ok", "ok_empty", "error", "cancelled", "unsent" };
static const char *const error_names[TIMELINE_ERRORS] = { "none", "dns", "connect", "tls", "timeout", "reset", "truncated", "protocol",
	"http_429", "http_4xx", "http_5xx", "http_other", "content_type", "stream_error", "malformed", "empty", "aborted", "other" };
static const char *const basis_names[TOKEN_BASES] = { "unknown", "usage", "token_ids", "logprobs", "events", "elsewhere" };

static int find_name(const char *const *names, int count, struct str name)
{
	for (int i = 0; i < count; i++)
		if (str_is(name, names[i]))
			return i;
	return -1;
}

const char *timeline_outcome_name(enum timeline_outcome outcome)
{
	return outcome_names[outcome];
}

const char *timeline_error_name(enum timeline_error error)
{
	return error_names[error];
}

const char *token_basis_name(enum token_basis basis)
{
	return basis_names[basis];
}

bool timeline_outcome_find(struct str name, enum timeline_outcome *outcome)
{
	int found = find_name(outcome_names, TIMELINE_OUTCOMES, name);

	if (found >= 0)
		*outcome = (enum timeline_outcome)found;
	return found >= 0;
}

bool timeline_error_find(struct str name, enum timeline_error *error)
{
	int found = find_name(error_names, TIMELINE_ERRORS, name);

	if (found >= 0)
		*error = (enum timeline_error)found;
	return found >= 0;
}

bool token_basis_find(struct str name, enum token_basis *basis)
{
	int found = find_name(basis_names, TOKEN_BASES, name);

	if (found >= 0)
		*basis = (enum token_basis)found;
	return found >= 0;
}

static const char *status_hint(uint16_t status)
{
	switch (status) {
	case 401:
	case 403: return "no or wrong credentials: set the API key";
	case 404: return "the server knows no such path or model: compare --model with GET /v1/models";
	case 405: return "the path takes no POST: is --endpoint right?";
	case 400:
	case 413:
	case 422: return "the server refuses the request itself: read its message; too long a prompt is the usual reason";
	default: return "the server refuses the request: read its message";
	}
}

const char *timeline_error_hint(enum timeline_error error, uint16_t http_status)
{
	switch (error) {
	case TIMELINE_DNS: return "the host name does not resolve: check the URL and the resolver";
	case TIMELINE_CONNECT: return "nothing listens there, or a firewall refuses: is the server up, and the port right?";
	case TIMELINE_TLS:
		return "the TLS handshake failed: http instead of https, or a certificate that is not trusted (--ca-file, --insecure)";
	case TIMELINE_TIMEOUT: return "the client's own deadline passed: the server hangs or is overloaded; timeouts count as not good";
	case TIMELINE_RESET: return "the peer reset the connection: a crash, a proxy's limit, or a full backlog";
	case TIMELINE_TRUNCATED: return "the stream ended before the answer was whole: worker died, or a proxy's time limit";
	case TIMELINE_PROTOCOL: return "what came is not HTTP/1.1: another service on this port, or TLS where none was expected";
	case TIMELINE_HTTP_429: return "the server or a gateway sheds load: send less, or respect Retry-After";
	case TIMELINE_HTTP_4XX: return status_hint(http_status);
	case TIMELINE_HTTP_5XX: return "the server or a gateway failed: look at its log; 502 to 504 are usually the gateway's";
	case TIMELINE_HTTP_OTHER: return "an answer that is neither success nor error: a redirect, or not the API";
	case TIMELINE_CONTENT_TYPE: return "a page instead of an answer: a proxy or login page in front, or a wrong path";
	case TIMELINE_STREAM_ERROR: return "the server reported an error inside the stream (status 200): look at the engine's log";
	case TIMELINE_MALFORMED: return "an event that is not JSON: a broken proxy, or a server that cuts events";
	case TIMELINE_EMPTY: return "a 200 with nothing in it: look at the server's log";
	case TIMELINE_ABORTED: return "the server gave the request up (finish reason abort or error)";
	case TIMELINE_OTHER: return "the file says no more than that it failed";
	case TIMELINE_NO_ERROR:
	case TIMELINE_ERRORS: break;
	}
	return "";
}
