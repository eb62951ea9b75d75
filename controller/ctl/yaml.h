/* A tree as YAML text, as kubectl prints it: keys in the tree's order, lists not indented below
 * their key. What it prints, base/yaml.h reads as the same tree. */
#ifndef CTL_YAML_H
#define CTL_YAML_H

#include "base/json.h"

/* Ends with a line feed; owned by the arena. */
const char *yaml_print(struct arena *arena, struct json_object *object);

#endif
