/*
 * Selectors of objects: of labels (kube/resource.h), from the forms in which objects have them, and
 * of fields. Each belongs to the arena it was parsed with.
 */
#ifndef OBJECT_SELECTOR_H
#define OBJECT_SELECTOR_H

#include "kube/resource.h"

/* {matchLabels, matchExpressions} of a workload. NULL or JSON null selects nothing, {} everything.
 */
enum err selector_from_object(struct arena *arena, struct json_object *obj,
                              const struct selector **out, struct errinfo *ei) MUST_USE;
/* A Service's plain map {key: value}. NULL or {} selects nothing. */
enum err selector_from_map(struct arena *arena, struct json_object *map,
                           const struct selector **out, struct errinfo *ei) MUST_USE;

struct fields;
/*
 * "metadata.name=x,status.phase!=Running" for objects of kind ("Pod"; any other name for custom
 * kinds). ERR_INVALID for a field that nobody selects by. NULL or "" selects everything.
 */
enum err fields_parse(struct arena *arena, const char *kind, const char *text,
                      const struct fields **out, struct errinfo *ei) MUST_USE;
bool fields_match(const struct fields *fields, struct json_object *obj);
/* The value when it asks for path=value, or NULL: lets a list by metadata.name become one look-up.
 */
const char *fields_wanted(const struct fields *fields, const char *path);

#endif
