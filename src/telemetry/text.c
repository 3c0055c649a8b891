/* Growing texts, JSON as Python writes it, numbers as prometheus_client writes them, names. */
#include "telemetry/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void goodput_text_fini(struct goodput_text *t)
{
	free(t->data);
	*t = (struct goodput_text){ 0 };
}

void goodput_text_add(struct goodput_text *t, const void *bytes, size_t size)
{
	if (t->failed)
		return;
	if (t->capacity - t->size < size) {
		size_t capacity = (t->size + size) * 2 + 64;
		char *data = realloc(t->data, capacity);

		if (!data) {
			t->failed = true;
			return;
		}
		t->data = data;
		t->capacity = capacity;
	}
	if (size)
		memcpy(t->data + t->size, bytes, size);
	t->size += size;
}

void goodput_text_string(struct goodput_text *t, const char *s)
{
	goodput_text_add(t, s, strlen(s));
}

/* One code point of valid UTF-8; *s moves on. */
static uint32_t decode(const unsigned char **s)
{
	const unsigned char *p = *s;
	unsigned more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	uint32_t c = more ? p[0] & (0x3fu >> more) : p[0];

	for (unsigned i = 1; i <= more; i++)
		c = c << 6 | (p[i] & 0x3fu);
	*s += more + 1;
	return c;
}

static void add_escaped(struct goodput_text *t, uint32_t c)
{
	char text[16];

	if (c > 0xffff)
		snprintf(text, sizeof text, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
	else
		snprintf(text, sizeof text, "\\u%04x", (unsigned)c);
	goodput_text_string(t, text);
}

void goodput_text_json(struct goodput_text *t, const char *s)
{
	static const char plain[] = "\"\\\n\r\t\f\b", letter[] = "\"\\nrtfb";
	const unsigned char *p = (const unsigned char *)s;

	goodput_text_add(t, "\"", 1);
	while (*p) {
		uint32_t c = decode(&p);
		const char *short_form = c < 0x80 ? strchr(plain, (int)c) : NULL;

		if (short_form)
			goodput_text_add(t, (char[]){ '\\', letter[short_form - plain] }, 2);
		else if (c >= 0x20 && c < 0x7f)
			goodput_text_add(t, (char[]){ (char)c }, 1);
		else
			add_escaped(t, c);
	}
	goodput_text_add(t, "\"", 1);
}

/* Digits of the shortest text that reads back as value (> 0, finite), without trailing zeros, and the power of ten of the first of them. */
static size_t shortest_digits(double value, char digits[32], int *power)
{
	char text[64];
	size_t n = 0;
	const char *p = text;

	for (int precision = 0; precision <= 16; precision++) {
		snprintf(text, sizeof text, "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* The locale's decimal point is whatever is not a digit. */
	for (; *p != 'e'; p++)
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	*power = (int)strtol(p + 1, NULL, 10);
	while (n > 1 && digits[n - 1] == '0')
		n--;
	return n;
}

static void add_zeros(struct goodput_text *t, int count)
{
	for (; count > 0; count--)
		goodput_text_add(t, "0", 1);
}

static void add_exponent(struct goodput_text *t, const char *digits, size_t n, int power, bool go)
{
	char text[16];

	goodput_text_add(t, digits, 1);
	if (n > 1 || go) {
		goodput_text_add(t, ".", 1);
		goodput_text_add(t, digits + 1, n - 1);
	}
	if (go && n == 1)
		t->size--; /* the rule for large numbers cuts zeros and the point */
	snprintf(text, sizeof text, "e%c%02d", power < 0 ? '-' : '+', abs(power));
	goodput_text_string(t, text);
}

/* Python's repr, but numbers from 1e6 up to 1e16 with an exponent, as Go has them. */
static void add_finite(struct goodput_text *t, double value, bool negative)
{
	char digits[32];
	int power;
	size_t n = shortest_digits(value, digits, &power);

	if (power < -4 || power >= 16 || (power >= 6 && !negative)) {
		add_exponent(t, digits, n, power, power >= 6 && power < 16);
	} else if (power < 0) {
		goodput_text_string(t, "0.");
		add_zeros(t, -power - 1);
		goodput_text_add(t, digits, n);
	} else {
		size_t whole = (size_t)power + 1;

		goodput_text_add(t, digits, n < whole ? n : whole);
		add_zeros(t, (int)whole - (int)n);
		goodput_text_add(t, ".", 1);
		if (n > whole)
			goodput_text_add(t, digits + whole, n - whole);
		else
			goodput_text_add(t, "0", 1);
	}
}

void goodput_text_number(struct goodput_text *t, double value)
{
	if (isnan(value)) {
		goodput_text_string(t, "NaN");
		return;
	}
	if (signbit(value) && !isinf(value))
		goodput_text_add(t, "-", 1);
	if (isinf(value))
		goodput_text_string(t, value < 0 ? "-Inf" : "+Inf");
	else if (value == 0)
		goodput_text_string(t, "0.0");
	else
		add_finite(t, fabs(value), value < 0);
}

uint64_t goodput_hash(const char *bytes, size_t size)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

/* Bytes of the sequence that p begins with, 0 if it is none: overlong forms, surrogates and what is beyond Unicode are none. */
static unsigned sequence(const unsigned char *p)
{
	unsigned more = p[0] < 0x80 ? 0 : p[0] >= 0xc2 && p[0] < 0xe0 ? 1 : (p[0] & 0xf0) == 0xe0 ? 2 : p[0] >= 0xf0 && p[0] < 0xf5 ? 3 : 9;

	if (more == 9)
		return 0;
	for (unsigned i = 1; i <= more; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
		(p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return more + 1;
}

bool goodput_utf8(const char *s)
{
	for (const unsigned char *p = (const unsigned char *)s; *p;) {
		unsigned n = sequence(p);

		if (!n)
			return false;
		p += n;
	}
	return true;
}

static bool letter(char c, bool metric)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (metric && c == ':');
}

bool goodput_name_valid(const char *name, bool metric)
{
	if (!name || !letter(*name, metric))
		return false;
	for (const char *p = name; *p; p++)
		if (!letter(*p, metric) && !(*p >= '0' && *p <= '9'))
			return false;
	return metric || strncmp(name, "__", 2);
}
