/* The cookies of session affinity as headers of HTTP, for every router that knows them. All texts
 * are owned by the arena. */
#ifndef ROUTER_COMMON_COOKIE_H
#define ROUTER_COMMON_COOKIE_H

#include "tick/tick.h"

/* The values of Set-Cookie that give the cookie "NAME=VALUE" for so long, and take it back, with
 * the attributes that spec.analysis.sessionAffinity gives. cookie NULL: NULL. */
const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s);
const char *cookie_taken_back(struct tick *tick, const char *cookie);
/* The cookie of such a value; NULL where it is not one of that sort, or not there. */
const char *cookie_read(struct arena *arena, const char *value, bool taken_back);
/* A regular expression for a Cookie header that carries it; name and value stand for themselves. */
const char *cookie_pattern(struct arena *arena, const char *cookie);

#endif
