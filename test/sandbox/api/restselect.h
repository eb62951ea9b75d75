/* The selectors of a list, watch or deletecollection. */
#ifndef SANDBOX_RESTSELECT_H
#define SANDBOX_RESTSELECT_H

#include <stdbool.h>

#include "api/rest.h"
#include "object/selector.h"

struct restselect {
    const char *ns; /* NULL: all */
    const struct selector *labels, *fields;
    const char *name; /* when only the object of this name can match */
};

/* From the query of req, into arena; answers with 400 and returns false when a selector is none. */
bool restselect_read(struct restreq *req, struct arena *arena, struct restselect *out);
bool restselect_match(const struct restselect *select, struct json_object *obj);

#endif
