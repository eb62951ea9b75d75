/*
 * Flagger's hash of a spec (controller/target/OBJECTS.md): FNV-1a-32 over a Go-syntax dump of the
 * typed value, decimal, digits 0-9 mapped to 456789bcdf. Bit-exact, so that status.lastAppliedSpec
 * written by Flagger compares equal and a cluster can switch without a rollout.
 *
 * The types come from spechash_types.def. Unknown fields of the tree are ignored, as in Flagger.
 */
#ifndef PROTO_SPECHASH_H
#define PROTO_SPECHASH_H

#include "base/buf.h"
#include "base/json.h"

enum { SPECHASH_TEXT = 16 };

/* For spec.template of a Deployment or DaemonSet. ERR_INVALID if a field has a value that its type
 * cannot hold. */
enum err spechash_pod_template(struct arena *arena, struct json_object *pod_template,
                               char hash[SPECHASH_TEXT], struct errinfo *ei) MUST_USE;
/* For the spec of a core Service. */
enum err spechash_service(struct arena *arena, struct json_object *spec, char hash[SPECHASH_TEXT],
                          struct errinfo *ei) MUST_USE;
/* For a plain string (Knative revision name). */
void spechash_string(const char *text, char hash[SPECHASH_TEXT]);
/* The checksum in webhooks, over trackedConfigs (object or NULL for nil) and lastAppliedSpec. */
void spechash_checksum(struct arena *arena, struct json_object *tracked_configs,
                       const char *last_applied_spec, char hash[SPECHASH_TEXT]);
/* The dump itself, for tests and for debugging hashes that differ; type is "v1.PodTemplateSpec" or
 * "v1.ServiceSpec". Owned by the arena. */
enum err spechash_dump(struct arena *arena, const char *type, struct json_object *obj,
                       const char **out, struct errinfo *ei) MUST_USE;

/* Values in status.trackedConfigs: the first 8 bytes of the SHA-256, in hex, of the JSON of `data`
 * as Go writes it (sorted keys, <, >, & escaped; nil is "null"). */
enum { CONFIG_HASH_TEXT = 17 };
void confighash(struct arena *arena, struct json_object *data, char hash[CONFIG_HASH_TEXT]);

/* Appends a resource.Quantity as a Go program stores it, "{i:(resource.int64Amount){...} d:...
 * s:... Format:...}"; text NULL is the zero value. ERR_INVALID as in quantity_parse(). */
enum err spechash_quantity(struct buf *out, const char *text, struct errinfo *ei) MUST_USE;

#endif
