/* What is wrong with a part of an object that stands in a file of its own, such as an analysis. */
#ifndef LINT_PART_H
#define LINT_PART_H

#include "base/yaml.h"
#include "lint/lint.h"

struct lint_part {
    const char *file;
    const struct yaml_marks *marks; /* of the file */
    struct json_object *docs;       /* its documents */
    size_t index;                   /* of the one that it is, or is in */
    struct json_object *json;
    struct json_object *schema; /* its schema, of crd.h; NULL: it is asked no more */
    const char *sentence; /* what else is wrong, behind its place in the part; NULL: nothing */
};

/* The mistake that stands first in the file; NULL: there is none. Owned by the arena. */
const struct lint_mistake *lint_part_first(struct arena *arena, const struct lint_part *part);

#endif
