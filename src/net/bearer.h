/* bearer: is this the token? */
#ifndef GOODPUT_NET_BEARER_H
#define GOODPUT_NET_BEARER_H

#include "base/str.h"

/* Does an Authorization header ("Bearer TOKEN") carry the token? Takes the same time whichever byte differs. */
bool bearer_matches(struct str authorization, struct str token);

#endif
