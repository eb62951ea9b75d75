/*
 * Kubernetes Events about an object, with aggregation: the same event again within ten minutes
 * raises the count of the one that is there (PATCH) instead of making another. At most 10,000
 * recent ones are remembered. Sending is in the background, in order per object, retried on
 * ERR_RETRY three times, then logged and dropped: an event never holds up a release. One that is
 * repeated more than ten times tells its count once in 10 s. Per object a burst of 50, then one per
 * 10 s (the count of those left out is in the log).
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "kube/client.h"

struct event_recorder;

struct event_object {
    const char *api_version, *kind, *namespace_, *name, *uid, *resource_version;
};

/* The recorder must be freed before the client; what is not sent by then is lost, see
 * event_pending(). */
struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
                                          const char *component);
void event_recorder_free(struct event_recorder *recorder);
/* type "Normal" or "Warning"; reason "Synced". Everything is copied; the message is cut at 1,024
 * bytes. */
void event_record(struct event_recorder *recorder, const struct event_object *object,
                  const char *type, const char *reason, const char *message);
/* How long a repeated event raises a count instead of making another, default ten minutes; for
 * tests. */
void event_recorder_set_window(struct event_recorder *recorder, int64_t ms);
/* Events not yet sent. */
size_t event_pending(const struct event_recorder *recorder);

#endif
