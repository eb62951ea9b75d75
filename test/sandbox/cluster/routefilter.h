/* The filters of an HTTPRoute rule or backend, read and checked. Pure; used by route.c. */
#ifndef CLUSTER_ROUTEFILTER_H
#define CLUSTER_ROUTEFILTER_H

#include "cluster/route.h"

/* Names that can stand in the proxies' configuration as they are. */
bool routefilter_name_ok(const char *name);
/* No control characters, and not too long; NULL is not ok. */
bool routefilter_text_ok(const char *text);

/*
 * Reads obj.filters. RequestMirror filters are appended to mirrors through add_mirror (NULL: not
 * allowed here).
 */
struct routefilter_in {
    struct json_object *filters;
    const char *path; /* of the array, for errors: "spec.rules[0].filters" */
    enum err (*add_mirror)(void *arg, struct json_object *mirror, const char *path,
                           struct errinfo *ei);
    void *arg;
};
enum err routefilter_read(struct arena *arena, const struct routefilter_in *in,
                          struct route_filters *out, struct errinfo *ei) MUST_USE;

#endif
