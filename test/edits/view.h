/* What the cluster holds at the moment, as watches tell: borrowed trees, valid until the next turn
 * of the loop. */
#ifndef EDITS_VIEW_H
#define EDITS_VIEW_H

#include "edits/app.h"
#include "kube/watch.h"

struct view;

struct view *view_new(struct loop *loop, struct kube_client *kube);
/* Before the client goes. */
void view_free(struct view *view);
bool view_synced(const struct view *view);

/* NULL: it is not there, or its kind is not watched (Canary, Deployment, Service, Endpoints,
 * HTTPRoute). */
struct json_object *view_get(const struct view *view, const struct kube_resource *resource,
                             const char *name);
/* Ready pods that a Service leads to. */
size_t view_ready(const struct view *view, const char *service);
/* The last Warning event about the Canary; at_ms 0: there was none. */
struct warning {
    char *canary;
    int64_t at_ms; /* monotonic, when it came */
    bool last;     /* and no other event since */
    char message[300];
};
/* NULL: no event about it has come. */
const struct warning *view_warning(const struct view *view, const char *canary);

#endif
