#include "base/buf.h"
#include "expo/expo.h"

/* The classic text has fewer types. What it lacks is written as prometheus_client does. */
static const char *type_word(enum metric_type type, enum expo_format format)
{
	if (format == EXPO_TEXT) {
		switch (type) {
		case METRIC_INFO:
		case METRIC_STATESET: return "gauge";
		case METRIC_GAUGE_HISTOGRAM: return "histogram";
		case METRIC_UNKNOWN: return "untyped";
		default: break;
		}
	}
	return metric_type_name(type);
}

static void write_escaped(struct buf *out, struct str s, bool quotes)
{
	size_t from = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c != '\\' && c != '\n' && !(quotes && c == '"'))
			continue;
		buf_add(out, str_of(s.ptr + from, i - from));
		buf_add_c(out, '\\');
		buf_add_c(out, c == '\n' ? 'n' : c);
		from = i + 1;
	}
	buf_add(out, str_of(s.ptr + from, s.len - from));
}

static void write_quoted(struct buf *out, struct str s)
{
	buf_add_c(out, '"');
	write_escaped(out, s, true);
	buf_add_c(out, '"');
}

static void write_name(struct buf *out, struct str name, bool colons)
{
	if (label_name_is_classic(name, colons))
		buf_add(out, name);
	else
		write_quoted(out, name);
}

static void write_metadata_start(struct buf *out, const char *keyword, struct str name)
{
	buf_printf(out, "# %s ", keyword);
	write_name(out, name, true);
	buf_add_c(out, ' ');
}

/* OpenMetrics names a counter's family without the suffix of its samples. */
static struct str family_name(struct str name, enum metric_type type, enum expo_format format)
{
	struct str total = STR("_total");

	if (format == EXPO_OPENMETRICS && type == METRIC_COUNTER && str_ends(name, total) && name.len > total.len)
		return str_head(name, name.len - total.len);
	return name;
}

/* A unit that does not end the name would make the page unreadable. */
static bool unit_fits(struct str name, struct str unit)
{
	return unit.len && name.len > unit.len && str_ends(name, unit) && name.ptr[name.len - unit.len - 1] == '_';
}

void expo_write_family(struct expo_writer *w, struct str name, enum metric_type type, struct str help, struct str unit)
{
	bool openmetrics = w->format == EXPO_OPENMETRICS;

	name = family_name(name, type, w->format);
	if (help.ptr) {
		write_metadata_start(w->out, "HELP", name);
		write_escaped(w->out, help, openmetrics);
		buf_add_c(w->out, '\n');
	}
	write_metadata_start(w->out, "TYPE", name);
	buf_add_cstr(w->out, type_word(type, w->format));
	buf_add_c(w->out, '\n');
	if (openmetrics && unit_fits(name, unit)) {
		write_metadata_start(w->out, "UNIT", name);
		buf_add(w->out, unit);
		buf_add_c(w->out, '\n');
	}
}

/* name{...}, or {"name with other characters",...}. */
static void write_series(struct buf *out, const struct labels *labels)
{
	struct str name = labels_name(labels);
	bool classic = label_name_is_classic(name, true), open = !classic;

	if (!classic)
		buf_add_c(out, '{');
	write_name(out, name, true);
	for (uint32_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->items[i];

		if (str_eq(label->name, LABEL_NAME))
			continue;
		buf_add_c(out, open ? ',' : '{');
		open = true;
		write_name(out, label->name, false);
		buf_add_c(out, '=');
		write_quoted(out, label->value);
	}
	if (open)
		buf_add_c(out, '}');
}

static void write_time(struct expo_writer *w, int64_t t_ms)
{
	buf_add_c(w->out, ' ');
	if (w->format == EXPO_OPENMETRICS)
		buf_printf(w->out, "%s%lld.%03d", t_ms < 0 ? "-" : "", (long long)(t_ms / 1000 < 0 ? -(t_ms / 1000) : t_ms / 1000),
			(int)(t_ms % 1000 < 0 ? -(t_ms % 1000) : t_ms % 1000));
	else
		buf_add_i64(w->out, t_ms);
}

void expo_write_sample(struct expo_writer *w, const struct labels *labels, double value, int64_t t_ms)
{
	write_series(w->out, labels);
	buf_add_c(w->out, ' ');
	buf_add_double(w->out, value);
	if (t_ms != EXPO_NO_TIME)
		write_time(w, t_ms);
	buf_add_c(w->out, '\n');
}

void expo_write_end(struct expo_writer *w)
{
	if (w->format == EXPO_OPENMETRICS)
		buf_add_cstr(w->out, "# EOF\n");
}
