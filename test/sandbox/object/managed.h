/*
 * metadata.managedFields in short: who wrote which part of an object, and when last. A part is a
 * member of spec, labels and annotations, or a whole member of the object. Nobody loses a part to
 * another writer, and nobody applies on the server's side.
 */
#ifndef OBJECT_MANAGED_H
#define OBJECT_MANAGED_H

#include <json-c/json.h>
#include <stdint.h>

#include "base/arena.h"

/*
 * Writes metadata.managedFields of obj: those of old (NULL: obj is new), and for the manager a row
 * with what differs between the two. subresource is "status" or NULL; the status belongs to the
 * first alone.
 */
void managed_note(struct arena *arena, struct json_object *obj, struct json_object *old,
                  const char *manager, const char *subresource, int64_t now_ms);

#endif
