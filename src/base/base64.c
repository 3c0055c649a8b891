#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t three = (uint32_t)(uint8_t)bytes.ptr[i] << 16;
		char four[4];

		if (left > 1)
			three |= (uint32_t)(uint8_t)bytes.ptr[i + 1] << 8;
		if (left > 2)
			three |= (uint8_t)bytes.ptr[i + 2];
		for (int k = 0; k < 4; k++)
			four[k] = alphabet[three >> (18 - 6 * k) & 63];
		if (left < 3)
			four[3] = '=';
		if (left < 2)
			four[2] = '=';
		buf_add(out, str_of(four, 4));
	}
}

static int value_of(char c)
{
	const char *found = c ? strchr(alphabet, c) : NULL;

	return found ? (int)(found - alphabet) : -1;
}

/* Four characters, of which the last `padding` are '='. */
static bool read_four(const char *four, int padding, struct buf *out)
{
	uint32_t three = 0;
	char bytes[3];

	for (int k = 0; k < 4; k++) {
		int value = k >= 4 - padding ? 0 : value_of(four[k]);

		if (value < 0)
			return false;
		three = three << 6 | (uint32_t)value;
	}
	for (int k = 0; k < 3; k++)
		bytes[k] = (char)(three >> (16 - 8 * k));
	if (three & ((1u << (8 * padding)) - 1))
		return false; /* bits that no byte takes must be 0: one text for one value */
	buf_add(out, str_of(bytes, (size_t)(3 - padding)));
	return true;
}

bool base64_read(struct str text, struct buf *out)
{
	int padding = text.len && text.ptr[text.len - 1] == '=';

	if (text.len % 4)
		return false;
	if (padding && text.ptr[text.len - 2] == '=')
		padding = 2;
	for (size_t i = 0; i < text.len; i += 4)
		if (!read_four(text.ptr + i, i + 4 == text.len ? padding : 0, out))
			return false;
	return true;
}
