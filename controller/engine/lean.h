/* What is kept of watched objects: which part of each, and, as long as no rule has asked for any,
 * of which objects. */
#ifndef ENGINE_LEAN_H
#define ENGINE_LEAN_H

#include "base/json.h"
#include "kube/name_set.h"

/*
 * The object without what takes much room and nobody reads, as a new reference; it shares the rest
 * with the object. Of metadata.managedFields stays when somebody wrote something with the pod
 * template in it, which target/common_past.h asks for.
 */
struct json_object *lean_object(struct json_object *object);

/*
 * The names that specs of Canaries mention, each in its namespace: their targets, Services, routes
 * and scalers have them, with or without "-primary" and "-canary". Only a hint, which saves a read
 * of what is listed before a rule has asked for it. It forgets all names when it has grown to MAX.
 */
enum { MENTIONS_MAX = 4 * 1024 * 1024 };
void mentions_add(struct name_set *mentions, struct json_object *canary);
bool mentions_has(const struct name_set *mentions, const char *namespace_, const char *name);

#endif
