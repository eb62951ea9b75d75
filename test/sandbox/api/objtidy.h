/*
 * What decoding into Go's structures and encoding again does to an object on its way into etcd: a
 * null is the same as an absent field, and empty labels are no labels. Without it, "annotations":
 * {} from kubectl would count as a change.
 */
#ifndef SANDBOX_OBJTIDY_H
#define SANDBOX_OBJTIDY_H

#include <json-c/json.h>
#include <stdbool.h>

/* Changes obj in place. typed: a built-in kind, tidied as a whole; of a custom kind only metadata
 * is. */
void objtidy(struct json_object *obj, bool typed);

#endif
