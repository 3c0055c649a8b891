/* What prometheus-fastapi-instrumentator adds: requests by handler, method and class of status; sizes; durations. */
#include "sim/page_source.h"

#include "base/mem.h"

static const double high_bounds[] = { 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60 };
static const double low_bounds[] = { 0.1, 0.5, 1 };

static void set_bounds(struct bucketed *b, const double *bounds, size_t count)
{
	memcpy(b->bounds, bounds, count * sizeof *bounds);
	b->bound_count = count;
}

static struct web_handler *find_handler(struct web_meter *w, const char *method, const char *handler)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->handlers[i].handler, handler) == 0 && strcmp(w->handlers[i].method, method) == 0)
			return &w->handlers[i];
	if (w->count == WEB_HANDLERS_MAX)
		return NULL;
	struct web_handler *h = &w->handlers[w->count++];

	*h = (struct web_handler){ .method = method, .handler = handler };
	set_bounds(&h->duration, low_bounds, ARRAY_LEN(low_bounds));
	return h;
}

void web_count(struct web_meter *w, const char *method, const char *handler, int status, double seconds, size_t request_bytes,
	size_t response_bytes)
{
	struct web_handler *h = find_handler(w, method, handler);

	if (!w->all.bound_count)
		set_bounds(&w->all, high_bounds, ARRAY_LEN(high_bounds));
	bucketed_add(&w->all, seconds, 1);
	if (!h)
		return;
	h->by_class[status / 100 % 6]++;
	bucketed_add(&h->duration, seconds, 1);
	h->request_bytes += (double)request_bytes;
	h->response_bytes += (double)response_bytes;
}

static void head(const struct page *p, const char *name, const char *help, const char *type, struct buf *out)
{
	bool total = p->openmetrics && str_ends(str_from(name), STR("_total"));

	struct str shown = total ? str_head(str_from(name), strlen(name) - 6) : str_from(name);

	buf_printf(out, "# HELP " STR_FMT " %s\n# TYPE " STR_FMT " %s\n", STR_ARG(shown), help, STR_ARG(shown), type);
}

static void line(struct buf *out, double value)
{
	buf_add_c(out, ' ');
	page_number(value, out);
	buf_add_c(out, '\n');
}

static void add_requests(const struct page *p, struct buf *out)
{
	head(p, "http_requests_total", "Total number of requests by method, status and handler.", "counter", out);
	for (size_t i = 0; i < p->web->count; i++)
		for (int class = 1; class < 6; class ++) {
			const struct web_handler *h = &p->web->handlers[i];

			if (!h->by_class[class])
				continue;
			buf_printf(out, "http_requests_total{handler=\"%s\",method=\"%s\",status=\"%dxx\"}", h->handler, h->method, class);
			line(out, (double)h->by_class[class]);
		}
}

/* The sizes have no method: handlers that answer to several are one series. */
static bool seen_before(const struct web_meter *w, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(w->handlers[i].handler, w->handlers[index].handler) == 0)
			return true;
	return false;
}

static void add_size(const struct web_meter *w, const char *name, size_t index, bool response, struct buf *out)
{
	const char *handler = w->handlers[index].handler;
	double count = 0, sum = 0;

	for (size_t i = index; i < w->count; i++)
		if (strcmp(w->handlers[i].handler, handler) == 0) {
			count += (double)w->handlers[i].duration.count;
			sum += response ? w->handlers[i].response_bytes : w->handlers[i].request_bytes;
		}
	buf_printf(out, "%s_count{handler=\"%s\"}", name, handler);
	line(out, count);
	buf_printf(out, "%s_sum{handler=\"%s\"}", name, handler);
	line(out, sum);
}

static void add_sizes(const struct page *p, bool response, struct buf *out)
{
	const char *name = response ? "http_response_size_bytes" : "http_request_size_bytes";

	head(p, name,
		response ? "Content length of outgoing responses by handler. Only value of header is respected. Otherwise ignored. No "
			   "percentile calculated. "
			 : "Content length of incoming requests by handler. Only value of header is respected. Otherwise ignored. No "
			   "percentile calculated. ",
		"summary", out);
	for (size_t i = 0; i < p->web->count; i++)
		if (!seen_before(p->web, i))
			add_size(p->web, name, i, response, out);
}

/* Labels in the alphabet's order: `before` stand before le, `after` behind it. */
static void add_buckets(const char *name, const char *before, const char *after, const struct bucketed *b, struct buf *out)
{
	static const char *const parts[] = { "count", "sum" };
	uint64_t seen = 0;

	for (size_t i = 0; i <= b->bound_count; i++) {
		seen += b->counts[i];
		buf_printf(out, "%s_bucket{%s%sle=\"", name, before, *before ? "," : "");
		if (i < b->bound_count)
			page_number(b->bounds[i], out);
		else
			buf_add(out, STR("+Inf"));
		buf_printf(out, "\"%s%s}", *after ? "," : "", after);
		line(out, (double)seen);
	}
	for (size_t i = 0; i < 2; i++) {
		buf_printf(out, "%s_%s", name, parts[i]);
		if (*before)
			buf_printf(out, "{%s,%s}", before, after);
		line(out, i ? b->sum : (double)b->count);
	}
}

void page_web(const struct page *p, struct buf *out)
{
	char before[160], after[40];

	add_requests(p, out);
	add_sizes(p, false, out);
	add_sizes(p, true, out);
	head(p, "http_request_duration_highr_seconds",
		"Latency with many buckets but no API specific labels. Made for more accurate percentile calculations. ", "histogram", out);
	add_buckets("http_request_duration_highr_seconds", "", "", &p->web->all, out);
	head(p, "http_request_duration_seconds",
		"Latency with only few buckets by handler. Made to be only used if aggregation by handler is important. ", "histogram",
		out);
	for (size_t i = 0; i < p->web->count; i++) {
		const struct web_handler *h = &p->web->handlers[i];

		snprintf(before, sizeof before, "handler=\"%s\"", h->handler);
		snprintf(after, sizeof after, "method=\"%s\"", h->method);
		add_buckets("http_request_duration_seconds", before, after, &h->duration, out);
	}
}
