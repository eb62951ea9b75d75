/* What the cluster holds at the moment, as watches tell: borrowed trees, valid until the next turn
 * of the loop. */
#ifndef EDITS_VIEW_H
#define EDITS_VIEW_H

#include "kube/watch.h"
#include "random_edits/app.h"

struct view;

/* kube NULL: nothing is watched, view_put() says what there is. */
struct view *view_new(struct loop *loop, struct kube_client *kube);
/* Before the client goes. */
void view_free(struct view *view);
bool view_synced(const struct view *view);

/* An object as it is now; gone: it is no longer there. */
void view_put(struct view *view, const struct kube_resource *resource, struct json_object *object,
              bool gone);
/* An event about a Canary, as it came at the time that the caller counts by. */
void view_event(struct view *view, struct json_object *object, int64_t now_ms);
/* Called before an object takes the place of another one. NULL: it was not there, or is gone. */
void view_on_change(struct view *view,
                    void (*changed)(void *arg, const struct kube_resource *resource,
                                    struct json_object *before, struct json_object *now),
                    void *arg);

/* NULL: it is not there, or its kind is not watched (Canary, Deployment, Service, Endpoints,
 * HTTPRoute, Pod, HorizontalPodAutoscaler, ConfigMap). */
struct json_object *view_get(const struct view *view, const struct kube_resource *resource,
                             const char *name);
/* All of a kind, in no order. */
struct json_object *const *view_list(const struct view *view, const struct kube_resource *resource,
                                     size_t *count);
/* Ready pods that a Service leads to. */
size_t view_ready(const struct view *view, const char *service);
/* A Service's selector picks the pod, which is not about to go. */
bool view_selects(struct json_object *selector, struct json_object *pod);
/* The revision that a person asks about: the one under way, or what the target holds; NULL: neither. */
const char *view_revision(struct arena *arena, const struct view *view, const char *canary);
/* Pods that have all of these labels and are not about to go; ready: only those that are. */
size_t view_pods(const struct view *view, struct json_object *labels, bool ready);
bool view_pod_is_ready(struct json_object *pod);
/* The name of the Deployment, DaemonSet or StatefulSet that it belongs to, "" of none. */
const char *view_pod_owner(struct arena *arena, struct json_object *pod);
/* The agent that has made `now` of `before`; NULL: it cannot be told. */
const char *view_writer(struct json_object *before, struct json_object *now);
enum { TOLD_MAX = 8, WARNING_KEPT = 12, MESSAGE_KEPT = 100 };

/* How often it was told that a write is refused. */
struct told {
    char message[MESSAGE_KEPT]; /* its beginning; "": none */
    int64_t seen;               /* the count of its event */
    int64_t at_ms[TOLD_MAX];    /* the last times, in a ring: the oldest at count % TOLD_MAX */
    int count;
};
/* The last Warning event about the Canary; at_ms 0: there was none. */
struct warning {
    char *canary;
    int64_t at_ms; /* when it came */
    bool last;     /* and no other event since */
    char message[300];
    struct told told[WARNING_KEPT];
};
/* NULL: no event about it has come. */
const struct warning *view_warning(const struct view *view, const char *canary);

#endif
