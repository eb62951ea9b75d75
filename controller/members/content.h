/* What of an object is kept, and what of it is news. */
#ifndef MEMBERS_CONTENT_H
#define MEMBERS_CONTENT_H

#include "base/json.h"

/* A copy, as a new reference that shares the rest, without what nobody reads: who has written which
 * field, and, with `status`, the status. */
struct json_object *content_without(struct json_object *object, bool status);
/* Hash of all but the status and what each write changes of the metadata. */
uint64_t content_hash(struct json_object *object);

#endif
