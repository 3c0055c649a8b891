#include "model/deliveries.h"
#include "base/mem.h"

#define UNIT_MAX INT64_C(315360000000000) /* 100 years of 10 us */

void deliveries_reset(struct deliveries *d, int64_t start_ns)
{
	d->len = d->count = 0;
	d->last_unit = 0;
	d->start_ns = start_ns;
}

void deliveries_fini(struct deliveries *d)
{
	mem_free(d->bytes);
	*d = (struct deliveries){ 0 };
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* NULL when there is no whole varint of at most 64 bits. */
static const uint8_t *take_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (int shift = 0; at < end && shift < 63; shift += 7) {
		uint8_t byte = *at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return at;
	}
	return NULL;
}

static void reserve(struct deliveries *d, uint32_t wanted)
{
	if (wanted <= d->cap)
		return;
	d->cap = d->cap * 2 > wanted ? d->cap * 2 : wanted + 64;
	d->bytes = mem_resize(d->bytes, d->cap, 1);
}

void deliveries_add(struct deliveries *d, int64_t t_ns, uint32_t tokens)
{
	int64_t unit = (t_ns - d->start_ns + DELIVERY_UNIT_NS / 2) / DELIVERY_UNIT_NS;
	bool several = tokens != 1;

	if (unit < d->last_unit)
		unit = d->last_unit;
	reserve(d, d->len + DELIVERY_BYTES_MAX);
	uint8_t *at = put_varint(d->bytes + d->len, (uint64_t)(unit - d->last_unit) << 1 | several);

	if (several)
		at = put_varint(at, tokens);
	d->len = (uint32_t)(at - d->bytes);
	d->last_unit = unit;
	d->count++;
}

/* NULL at the end and at what is no delivery. */
static const uint8_t *take_delivery(const uint8_t *at, const uint8_t *end, int64_t *unit, uint32_t *tokens)
{
	uint64_t step, several = 1;

	at = take_varint(at, end, &step);
	if (!at || step >> 1 > (uint64_t)(UNIT_MAX - *unit))
		return NULL;
	*unit += (int64_t)(step >> 1);
	if (step & 1) {
		at = take_varint(at, end, &several);
		if (!at || several > INT32_MAX || several == 1)
			return NULL;
	}
	*tokens = (uint32_t)several;
	return at;
}

bool deliveries_load(struct deliveries *d, int64_t start_ns, struct str bytes)
{
	uint32_t tokens;

	deliveries_reset(d, start_ns);
	if (bytes.len > UINT32_MAX / 2)
		return false;
	if (!bytes.len)
		return true;
	reserve(d, (uint32_t)bytes.len);
	memcpy(d->bytes, bytes.ptr, bytes.len);
	for (const uint8_t *at = d->bytes, *end = at + bytes.len; at < end; d->count++) {
		at = take_delivery(at, end, &d->last_unit, &tokens);
		if (!at) {
			deliveries_reset(d, start_ns);
			return false;
		}
	}
	d->len = (uint32_t)bytes.len;
	return true;
}

struct delivery_cursor deliveries_begin(const struct deliveries *d)
{
	return (struct delivery_cursor){ .at = d->bytes, .end = d->len ? d->bytes + d->len : d->bytes, .start_ns = d->start_ns };
}

bool deliveries_next(struct delivery_cursor *c, struct delivery *out)
{
	if (c->at == c->end)
		return false;
	c->at = take_delivery(c->at, c->end, &c->unit, &out->tokens);
	if (!c->at) {
		c->at = c->end;
		return false;
	}
	out->t_ns = c->start_ns + c->unit * DELIVERY_UNIT_NS;
	return true;
}
