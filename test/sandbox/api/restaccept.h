/* What a client wants back, from its Accept header. Pure. */
#ifndef SANDBOX_RESTACCEPT_H
#define SANDBOX_RESTACCEPT_H

#include <stdbool.h>

#include "base/arena.h"

enum restas {
    REST_AS_ITSELF,
    REST_AS_TABLE,
    REST_AS_PARTIAL, /* PartialObjectMetadata(List) */
};

struct restaccept {
    bool acceptable; /* false: 406 */
    enum restas as;
    const char *version; /* of as, "v1" */
};

/* NULL or empty: JSON. The first media type in the list that can be served wins. */
struct restaccept restaccept_parse(struct arena *arena, const char *header);

#endif
