/* wire: protobuf's wire format, field by field. Inside of expo only. */
#ifndef GOODPUT_EXPO_WIRE_H
#define GOODPUT_EXPO_WIRE_H

#include "base/buf.h"
#include "base/str.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;   /* of the three number types */
	struct str bytes; /* of WIRE_BYTES */
};
enum wire_status { WIRE_END, WIRE_FIELD, WIRE_BROKEN };

static inline bool wire_varint(struct str *rest, uint64_t *value)
{
	if (rest->len && (unsigned char)rest->ptr[0] < 0x80) {
		*value = (unsigned char)rest->ptr[0];
		*rest = str_of(rest->ptr + 1, rest->len - 1);
		return true;
	}
	*value = 0;
	for (unsigned i = 0; i < 10 && i < rest->len; i++) {
		unsigned char byte = (unsigned char)rest->ptr[i];
		*value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*rest = str_skip(*rest, i + 1);
			return i < 9 || byte < 2;
		}
	}
	return false;
}

static inline bool wire_fixed(struct str *rest, size_t size, uint64_t *value)
{
	if (rest->len < size)
		return false;
	*value = 0;
	for (size_t i = 0; i < size; i++)
		*value |= (uint64_t)(unsigned char)rest->ptr[i] << (8 * i);
	*rest = str_skip(*rest, size);
	return true;
}

/* Takes the next field off the message. */
static inline enum wire_status wire_next(struct str *rest, struct wire_field *f)
{
	uint64_t key, size;
	if (!rest->len)
		return WIRE_END;
	if (!wire_varint(rest, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return WIRE_BROKEN;
	f->number = (uint32_t)(key >> 3);
	f->type = (enum wire_type)(key & 7);
	f->bytes = STR_EMPTY;
	switch (key & 7) {
	case WIRE_VARINT: return wire_varint(rest, &f->value) ? WIRE_FIELD : WIRE_BROKEN;
	case WIRE_FIXED64: return wire_fixed(rest, 8, &f->value) ? WIRE_FIELD : WIRE_BROKEN;
	case WIRE_FIXED32: return wire_fixed(rest, 4, &f->value) ? WIRE_FIELD : WIRE_BROKEN;
	case WIRE_BYTES:
		if (!wire_varint(rest, &size) || size > rest->len)
			return WIRE_BROKEN;
		f->bytes = str_head(*rest, (size_t)size);
		*rest = str_skip(*rest, (size_t)size);
		return WIRE_FIELD;
	default: return WIRE_BROKEN; /* groups are long gone */
	}
}

#endif
