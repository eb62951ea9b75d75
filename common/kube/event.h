/*
 * Kubernetes Events about an object, with aggregation: a repetition within ten minutes increments
 * the count of the existing Event (PATCH) instead of creating another. At most 10,000 recent ones
 * are kept. Events are sent in the background, in order per object. ERR_RETRY is retried three
 * times; then the event is logged and dropped, so it never delays a release. After ten repetitions
 * an event's count is sent at most once in 10 s. Each object may send a burst of 50, then one per
 * 10 s; the number of dropped events is logged.
 */
#ifndef KUBE_EVENT_H
#define KUBE_EVENT_H

#include "kube/kube_client.h"

struct event_recorder;

struct event_object {
    const char *api_version, *kind, *namespace_, *name, *uid, *resource_version;
};

/* The recorder must be freed before the client; unsent events are lost, see event_flush(). */
struct event_recorder *event_recorder_new(struct loop *loop, struct kube_client *client,
                                          const char *component);
void event_recorder_free(struct event_recorder *recorder);
/* type is "Normal" or "Warning", reason e.g. "Synced". Copies all texts; the message is
 * truncated to 1,024 bytes. */
void event_record(struct event_recorder *recorder, const struct event_object *object,
                  const char *type, const char *reason, const char *message);
/* Sets the time within which a repetition increments the count, default ten minutes; for tests. */
void event_recorder_set_window(struct event_recorder *recorder, int64_t ms);
/* Events not yet sent. */
size_t event_pending(const struct event_recorder *recorder);
/*
 * Calls done once, from the loop, when all events are sent or dropped, or after max_ms. It may free
 * the recorder. Not called after event_recorder_free().
 */
void event_flush(struct event_recorder *recorder, int64_t max_ms, void (*done)(void *arg),
                 void *arg);

#endif
