/*
 * Headers of A/B tests, and cookies of session affinity.
 *
 * Headers are for meshes that match nothing else of a request. All of spec.analysis.match must
 * hold, in whichever of its elements it is, as in Flagger.
 */
#ifndef ROUTER_SHARED_HEADERS_H
#define ROUTER_SHARED_HEADERS_H

#include "proto/canary.h"
#include "tick/tick.h"

struct header_match {
    const char *name;
    const char *how; /* "exact", "prefix", "suffix" or "regex" */
    const char *value;
};

/* In the order of the elements, sorted by name within each; owned by the arena. Returns their
 * number. */
size_t headers_of_test(struct arena *arena, const struct canary *canary, struct header_match **out);
/* NULL, or the part of spec.analysis.match that `mesh` (a name for people) cannot match: a sentence
 * with the field's path, owned by the arena. The mesh supports these ways (NULL-ended), and at most
 * `max` headers. */
const char *headers_mistake(struct arena *arena, const struct canary *canary, const char *mesh,
                            const char *const ways[], size_t max);

/* Cookies of session affinity as HTTP headers, for all routers that support them. Strings are owned
 * by the arena. */

/* Values of Set-Cookie that set the cookie "NAME=VALUE" for this time, and delete it, with the
 * attributes of spec.analysis.sessionAffinity. NULL if cookie is NULL. */
const char *cookie_given(struct tick *tick, const char *cookie, int64_t max_age_s);
const char *cookie_taken_back(struct tick *tick, const char *cookie);
/* The cookie in such a value; NULL if it is of the other kind, or missing. */
const char *cookie_read(struct arena *arena, const char *value, bool taken_back);
/* A regular expression for a Cookie header that contains it; name and value are matched
 * literally. */
const char *cookie_pattern(struct arena *arena, const char *cookie);

#endif
