/* What a YAML 1.1 scalar means, as Kubernetes' YAML reader resolves it. For the files of this floor
 * that do YAML. */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * The value of a scalar; *out is a new reference, NULL for null. tag is NULL or "" where the
 * document gives none, and then a quoted scalar is a string. Returns NULL, or what was expected, to
 * stand behind "expected ".
 */
const char *yaml_scalar(struct arena *arena, const char *text, size_t len, const char *tag,
                        bool plain, struct json_object **out);

#endif
