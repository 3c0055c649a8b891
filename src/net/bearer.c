#include "net/bearer.h"

/* Every byte of the token is compared, whatever was sent. */
static bool same_bytes(struct str sent, struct str token)
{
	unsigned char difference = sent.len != token.len;

	for (size_t i = 0; i < token.len; i++)
		difference |= (unsigned char)(token.ptr[i] ^ (sent.len ? sent.ptr[i % sent.len] : 0));
	return !difference;
}

bool bearer_matches(struct str authorization, struct str token)
{
	struct str scheme = str_head(authorization, 7);

	return str_eq_nocase(scheme, STR("Bearer ")) && same_bytes(str_trim(str_skip(authorization, 7)), token);
}
