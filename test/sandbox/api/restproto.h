/*
 * Request bodies in Kubernetes' protobuf encoding as JSON trees. kubectl's typed commands (create
 * namespace, create configmap, auth can-i, ...) send nothing else since 1.32, so the kinds that
 * they make are known here; answers are always JSON, which every client takes. Pure.
 */
#ifndef SANDBOX_RESTPROTO_H
#define SANDBOX_RESTPROTO_H

#include <json-c/json.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* ERR_INVALID: damaged, of an unknown kind, or with a field that is not known here (the text names
 * it). */
enum err restproto_read(struct arena *arena, const void *data, size_t len, struct json_object **out,
                        struct errinfo *ei) MUST_USE;

#endif
