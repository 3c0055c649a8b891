#include "expo/expo.h"

enum expo_format expo_format_of(struct str content_type, struct str body)
{
	struct str media = content_type;
	struct str end = str_trim(body);

	str_split(&media, ';', &content_type);
	content_type = str_trim(content_type);
	if (str_eq_nocase(content_type, STR("application/openmetrics-text")))
		return EXPO_OPENMETRICS;
	if (str_eq_nocase(content_type, STR("text/plain")))
		return EXPO_TEXT;
	/* "# EOF" at the end of a classic page would be a comment that nobody writes. */
	bool alone = str_ends(end, STR("\n# EOF")) || str_eq(end, STR("# EOF"));

	return alone ? EXPO_OPENMETRICS : EXPO_TEXT;
}
