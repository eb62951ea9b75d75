/*
 * The webhook message (controller/engine/WEBHOOKS.md): what the controller posts to gates, load
 * testers and event receivers, and what those read. Keys in order: name, namespace, phase,
 * checksum, metadata (left out when empty), release (left out when NULL; Flagger has no such key).
 */
#ifndef PROTO_WEBHOOK_H
#define PROTO_WEBHOOK_H

#include "base/json.h"

enum { WEBHOOK_MAX_BYTES = 1024 * 1024 };

struct webhook_message {
    const char *name; /* of the Canary, "" if missing */
    const char *namespace_;
    const char *phase;
    const char *checksum;
    struct json_object *metadata; /* object of strings, NULL if there is none */
    /* Which release of the Canary asks, told apart from those of the same revision before and after it:
     * when the one before it ended, or else when the Canary was made (RFC 3339). NULL: it is not said. */
    const char *release;
};

/* The JSON text, owned by the arena. */
const char *webhook_text(struct arena *arena, const struct webhook_message *message);
/* Reads a received body; unknown keys are ignored; name and namespace may be missing (curl by
 * hand), a wrong type or bad JSON is ERR_INVALID with the field. */
enum err webhook_parse(struct arena *arena, const char *body, size_t len,
                       struct webhook_message *out, struct errinfo *ei) MUST_USE;
/* The answer lets a release go on: 200, 201, 202 as Flagger, and 204. */
bool webhook_passes(int status);
/* metadata value as text, NULL if absent or no string. */
const char *webhook_metadata(const struct webhook_message *message, const char *key);
/* "true"/"1"/"t" of strconv.ParseBool; missing when absent; ERR_INVALID otherwise. */
enum err webhook_metadata_bool(const struct webhook_message *message, const char *key, bool missing,
                               bool *out, struct errinfo *ei) MUST_USE;

#endif
