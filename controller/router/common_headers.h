/*
 * The headers of an A/B test, for meshes that look at nothing else of a request. All that
 * spec.analysis.match names must hold, in whichever of its elements it stands, as with Flagger.
 */
#ifndef ROUTER_COMMON_HEADERS_H
#define ROUTER_COMMON_HEADERS_H

#include "proto/canary.h"

struct header_match {
    const char *name;
    const char *how; /* "exact", "prefix", "suffix" or "regex" */
    const char *value;
};

/* In the order of the elements, sorted by name within each; owned by the arena. Returns how many. */
size_t headers_of_test(struct arena *arena, const struct canary *canary, struct header_match **out);
/* NULL, or what of spec.analysis.match `mesh` (a name for people) cannot match: a sentence with the
 * field's path, owned by the arena. It knows these ways (NULL-ended), and at most `max` headers. */
const char *headers_mistake(struct arena *arena, const struct canary *canary, const char *mesh,
                            const char *const ways[], size_t max);

#endif
