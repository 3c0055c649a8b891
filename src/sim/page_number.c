/* Numbers as prometheus_client's floatToGoString prints them: Python's repr, with its own exponents above a million. */
#include "base/number.h"
#include "sim/page.h"

#include <math.h>

/* repr() has an exponent below 1e-4: "0.00001234" becomes 1.234e-05. */
static void small(struct str plain, struct buf *out)
{
	size_t at = str_find(plain, '.') + 1, zeros = 0;

	if (plain.ptr[0] == '-')
		buf_add_c(out, '-');
	while (plain.ptr[at + zeros] == '0')
		zeros++;
	buf_add_c(out, plain.ptr[at + zeros]);
	if (at + zeros + 1 < plain.len) {
		buf_add_c(out, '.');
		buf_add(out, str_skip(plain, at + zeros + 1));
	}
	buf_printf(out, "e-%02zu", zeros + 1);
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
	len = number_format_plain(value, text);
	if (value != 0 && fabs(value) < 1e-4) {
		small(str_of(text, len), out);
		return;
	}
	while (dot < len && text[dot] != '.')
		dot++;
	if (value > 0 && dot > 6) {
		large(str_of(text, len), dot, out);
		return;
	}
	buf_add(out, str_of(text, len));
	if (dot == len)
		buf_add(out, STR(".0"));
}
