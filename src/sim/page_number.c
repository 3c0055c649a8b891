/* Numbers as prometheus_client's floatToGoString prints them: Python's repr, with its own exponents above a million. */
#include "base/number.h"
#include "sim/page.h"

#include <math.h>

/* repr() has an exponent below 1e-4 and from 1e16; number_format below 1e-6 and from 1e21. */
static void small(double value, struct buf *out)
{
	char text[32];
	size_t len = number_format(value * 1e6, text), dot = 0;
	int exponent = -6;

	/* between 1e-6 and 1e-4: the digits are those of value * 1e6, which has one or two before the point */
	while (dot < len && text[dot] != '.')
		dot++;
	if (dot == 2) {
		exponent = -5;
		text[2] = text[1];
		text[1] = '.';
		len += dot == len;
	}
	buf_add(out, str_of(text, len));
	buf_printf(out, "e-0%d", -exponent);
}

static void large(struct str digits, size_t dot, struct buf *out)
{
	char mantissa[NUMBER_TEXT_MAX];
	size_t len = 0;

	mantissa[len++] = digits.ptr[0];
	mantissa[len++] = '.';
	for (size_t i = 1; i < digits.len; i++)
		if (i != dot)
			mantissa[len++] = digits.ptr[i];
	while (len && (mantissa[len - 1] == '0' || mantissa[len - 1] == '.'))
		len--;
	buf_add(out, str_of(mantissa, len));
	buf_printf(out, "e+0%zu", dot - 1);
}

void page_number(double value, struct buf *out)
{
	char text[NUMBER_TEXT_MAX];
	size_t len, dot = 0;

	if (!isfinite(value)) {
		buf_add_cstr(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
		return;
	}
	if (value != 0 && fabs(value) < 1e-4 && fabs(value) >= 1e-6) {
		small(value, out);
		return;
	}
	len = fabs(value) < 1e-6 ? number_format(value, text) : number_format_plain(value, text);
	while (dot < len && text[dot] != '.' && text[dot] != 'e')
		dot++;
	if (value > 0 && dot > 6) {
		large(str_of(text, len), dot, out);
		return;
	}
	buf_add(out, str_of(text, len));
	if (dot == len)
		buf_add(out, STR(".0"));
}
