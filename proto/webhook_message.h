/*
 * The webhook message (controller/engine/WEBHOOKS.md): the controller posts it to gates, load
 * testers and event receivers, which parse it. Keys in order: name, namespace, phase, checksum,
 * metadata (omitted if empty), release and step (omitted if NULL; not in Flagger).
 */
#ifndef PROTO_WEBHOOK_MESSAGE_H
#define PROTO_WEBHOOK_MESSAGE_H

#include "base/json.h"

enum { WEBHOOK_MAX_BYTES = 1024 * 1024 };

struct webhook_message {
    const char *name; /* the Canary's name, "" if missing */
    const char *namespace_;
    const char *phase;
    const char *checksum;
    struct json_object *metadata; /* object of strings, NULL if none */
    /* Identifies a release of the Canary, even among releases of the same revision: the time at
     * which the previous release ended, or else the Canary's creation (RFC 3339). NULL if
     * unknown. */
    const char *release;
    /* The step of the release, for load tests that run once per step: "weight 20" or "iteration 3".
     * NULL if unknown. */
    const char *step;
};

/* True if the metadata requests load from many pods (type job or k6). Such hooks get `release` and
 * `step`, and are also called at the end of the release. */
bool webhook_is_load(struct json_object *metadata);

/* The JSON text, owned by the arena. */
const char *webhook_text(struct arena *arena, const struct webhook_message *message);
/* Parses a received body. Unknown keys are ignored; name and namespace may be missing (manual calls
 * with curl); a wrong type or bad JSON is ERR_INVALID and names the field. */
enum err webhook_parse(struct arena *arena, const char *body, size_t len,
                       struct webhook_message *out, struct errinfo *ei) MUST_USE;
/* True if the release may continue: 200, 201, 202 as in Flagger, and 204. */
bool webhook_passes(int status);
/* A metadata value as text, NULL if missing or not a string. */
const char *webhook_metadata(const struct webhook_message *message, const char *key);
/* "true"/"1"/"t" as in strconv.ParseBool; `missing` if absent; else ERR_INVALID. */
enum err webhook_metadata_bool(const struct webhook_message *message, const char *key, bool missing,
                               bool *out, struct errinfo *ei) MUST_USE;

#endif
