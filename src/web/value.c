#include "web/value.h"

#include "base/number.h"
#include "web/web.h"

static void add_sample(struct buf *out, int64_t t_ms, double value)
{
	char text[NUMBER_TEXT_MAX];

	buf_add_c(out, '[');
	web_add_time(out, t_ms);
	buf_add_cstr(out, ",\"");
	buf_add(out, str_of(text, number_format(value, text)));
	buf_add_cstr(out, "\"]");
}

/* Prometheus writes scalars by another way than samples: never an exponent, and no more decimals of the time than needed. */
static void add_scalar(struct buf *out, int64_t t_ms, double value)
{
	char text[NUMBER_TEXT_MAX];

	buf_add_c(out, '[');
	buf_add_double(out, (double)t_ms / 1000);
	buf_add_cstr(out, ",\"");
	buf_add(out, str_of(text, number_format_plain(value, text)));
	buf_add_cstr(out, "\"]");
}

static void add_elements(const struct promql_value *v, struct buf *out)
{
	for (size_t i = 0; i < v->count; i++) {
		buf_add_cstr(out, i ? ",{\"metric\":" : "{\"metric\":");
		web_add_labels(out, v->elements[i].labels);
		buf_add_cstr(out, ",\"value\":");
		add_sample(out, v->elements[i].t_ms, v->elements[i].value);
		buf_add_c(out, '}');
	}
}

static void add_series(const struct promql_value *v, struct buf *out)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct series_view *s = &v->series[i];

		buf_add_cstr(out, i ? ",{\"metric\":" : "{\"metric\":");
		web_add_labels(out, s->labels);
		buf_add_cstr(out, ",\"values\":[");
		for (size_t k = 0; k < s->count; k++) {
			if (k)
				buf_add_c(out, ',');
			add_sample(out, s->t[k], s->v[k]);
		}
		buf_add_cstr(out, "]}");
	}
}

void value_print_json(const struct promql_value *v, struct buf *out)
{
	static const char *const types[] = {
		[PROMQL_SCALAR] = "scalar", [PROMQL_STRING] = "string", [PROMQL_VECTOR] = "vector", [PROMQL_MATRIX] = "matrix"
	};

	buf_printf(out, "{\"resultType\":\"%s\",\"result\":", types[v->type]);
	switch (v->type) {
	case PROMQL_SCALAR: add_scalar(out, v->t_ms, v->scalar); break;
	case PROMQL_STRING:
		buf_add_c(out, '[');
		buf_add_double(out, (double)v->t_ms / 1000);
		buf_add_c(out, ',');
		buf_add_json(out, v->text);
		buf_add_c(out, ']');
		break;
	case PROMQL_VECTOR:
	case PROMQL_MATRIX:
		buf_add_c(out, '[');
		(v->type == PROMQL_VECTOR ? add_elements : add_series)(v, out);
		buf_add_c(out, ']');
		break;
	}
	buf_add_c(out, '}');
}
