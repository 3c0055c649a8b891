/* Order of version texts: numbers, whatever stands between them. */
#include "catalog/page.h"

#include <ctype.h>

/* Takes the next number. A pre-release word ("rc2", "dev1", "a1") gives a negative one; "post1" and other words are skipped over. */
static bool version_part(struct str *rest, long *part)
{
	size_t i = 0;
	bool before = false;
	struct str s = *rest;

	while (i < s.len && !isdigit((unsigned char)s.ptr[i])) {
		struct str word = str_skip(s, i);

		/* Only behind a number: "b5400" is the name of a build, "1.1.0b2" a beta. */
		if (s.ptr != NULL && i == 0 && (str_starts(word, STR("rc")) || str_starts(word, STR("a")) || str_starts(word, STR("b"))))
			before = true;
		if (str_starts(word, STR("dev")))
			before = true;
		i++;
	}
	if (i == s.len)
		return false;
	*part = 0;
	while (i < s.len && isdigit((unsigned char)s.ptr[i]) && *part < 1000000000)
		*part = *part * 10 + (s.ptr[i++] - '0');
	while (i < s.len && isdigit((unsigned char)s.ptr[i]))
		i++;
	if (before)
		*part = *part - 1000000000;
	*rest = str_skip(s, i);
	return true;
}

static struct str version_start(struct str version)
{
	size_t i = 0;

	while (i < version.len && !isdigit((unsigned char)version.ptr[i]))
		i++;
	return str_skip(version, i);
}

/* Compares; `shared` tells how many parts both had when one of them ended equal to the other's head. */
static int version_compare(struct str a, struct str b, bool *b_is_head)
{
	long part_a, part_b;
	bool more_a, more_b;

	a = version_start(a);
	b = version_start(b);
	*b_is_head = false;
	for (;;) {
		more_a = version_part(&a, &part_a);
		more_b = version_part(&b, &part_b);
		if (!more_a && !more_b)
			return 0;
		/* What one lacks counts as 0: "0.9" is "0.9.0"; a pre-release is below that. */
		if (!more_b)
			*b_is_head = true;
		part_a = more_a ? part_a : 0;
		part_b = more_b ? part_b : 0;
		if (part_a != part_b)
			return part_a < part_b ? -1 : 1;
	}
}

int version_cmp(struct str a, struct str b)
{
	bool head;

	return version_compare(a, b, &head);
}

bool version_within(struct str version, struct str since, struct str until)
{
	bool head;

	if (since.len && version_cmp(version, since) < 0)
		return false;
	return !until.len || version_compare(version, until, &head) <= 0 || head;
}

int version_until_cmp(struct str a, struct str b)
{
	long part_a, part_b;

	a = version_start(a);
	b = version_start(b);
	for (;;) {
		bool more_a = version_part(&a, &part_a), more_b = version_part(&b, &part_b);

		/* The shorter one holds all that begins like it, so it ends later. */
		if (!more_a || !more_b)
			return (int)more_b - (int)more_a;
		if (part_a != part_b)
			return part_a < part_b ? -1 : 1;
	}
}
