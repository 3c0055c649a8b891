#include "base/clock.h"
#include "cli/render.h"
#include "cli/render_parts.h"

static bool is_under(const struct finding *f, const struct finding *cause)
{
	return f->suppressed_by == cause->spec && !f->undecided;
}

void suppressed_phrase(const struct report *r, const struct finding *cause, bool all, struct buf *out)
{
	const struct finding_spec *last = NULL;

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		/* The same symptom at several places is said once. */
		if (!is_under(f, cause) || f->spec == last)
			continue;
		last = f->spec;
		if (all)
			buf_printf(out, "%s" STR_FMT " [" STR_FMT "]", out->len ? "; " : "", STR_ARG(f->title), STR_ARG(f->spec->id));
		else
			buf_printf(out, "%s" STR_FMT, out->len ? ", " : "", STR_ARG(f->spec->id));
	}
}

void undecided_phrase(const struct report *r, struct buf *out)
{
	const struct finding_spec *last = NULL;

	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		if (!f->undecided || f->spec == last)
			continue;
		last = f->spec;
		buf_add_cstr(out, out->len ? ", " : "too little to tell: ");
		buf_add(out, f->spec->id);
		if (f->evidence_count && f->evidence[0].reading.events >= 0)
			buf_printf(out, "%c(n%c=%c%.0f)", STICKY, STICKY, STICKY, f->evidence[0].reading.events);
	}
}

void lifetime_findings_phrase(const struct watch *w, struct buf *out)
{
	const struct report *life = w->lifetime_report;

	for (size_t i = 0; i < life->finding_count; i++) {
		const struct finding *f = &life->findings[i];
		bool said = false;

		/* What the page itself shows stands above already; what is about the data is said there too. */
		for (size_t k = 0; k < w->report->finding_count; k++)
			said |= w->report->findings[k].spec == f->spec;
		if (!finding_is_listed(f) || said || f->spec->about_data)
			continue;
		buf_printf(out, "%s" STR_FMT " [" STR_FMT "]", out->len ? "; " : "red lines over that time: ", STR_ARG(f->title),
			STR_ARG(f->spec->id));
	}
}
