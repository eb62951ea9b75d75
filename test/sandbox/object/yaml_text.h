/* Block-style YAML that every YAML 1.1 and 1.2 reader takes for the same tree. */
#ifndef OBJECT_YAML_TEXT_H
#define OBJECT_YAML_TEXT_H

#include <json-c/json.h>

#include "base/arena.h"

/* The text of a JSON tree, owned by the arena. */
const char *yaml_text(struct arena *arena, struct json_object *obj);

#endif
