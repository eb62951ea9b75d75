/*
 * The events that a receiver of CloudEvents is sent, and the schemas of CLOUDEVENTS_FILE, which say
 * what CloudEvents and CDEvents require of them.
 */
#ifndef GOLDEN_CLOUDEVENTS_H
#define GOLDEN_CLOUDEVENTS_H

#include "base/json.h"
#include "notify/notify.h"

#define CLOUDEVENTS_FILE "test/golden/cloudevents.yaml"

/* The body of the request for an alert, owned by the arena; another content type fails the test. */
struct json_object *cloudevents_event(struct arena *arena, const struct alert *alert);
/* Fails the test where the event breaks the schema of its type, or has what is not in it. */
void cloudevents_check(struct arena *arena, struct json_object *event);

#endif
