/* The Services of a Canary, the same for every router (router/OBJECTS.md): `-canary`, `-primary`
 * and the apex. */
#ifndef ROUTER_SHARED_SERVICES_H
#define ROUTER_SHARED_SERVICES_H

#include "tick/tick.h"

/*
 * Pods to select. The selector of an existing Service changes only once the new pods are ready:
 * `answers` is called, and unless it returns yes the selector stays. (A missing Service is created
 * at once, since it serves nothing yet.) NULL: the rule has checked that.
 *
 * ready() counts the ready pods of a side for a selector. A Service that has requests and ready
 * pods never loses its last ready pod. NULL: not counted.
 */
struct service_pods {
    const char *label; /* selector label of the target */
    /* The selector for the side's pods, for a Service whose current selector is `live` (NULL if
     * none). */
    struct json_object *(*selector)(void *arg, bool primary, struct json_object *live);
    struct json_object *target; /* pod templates of both sides; NULL if missing */
    struct json_object *primary;
    struct json_object *ports; /* discovered ports, array or NULL */
    bool drop_old_ports;       /* removes ports that are no longer in the spec */
    bool apex_to_target;       /* the apex Service selects the target: the primary has no pods */
    /* The apex Service splits requests by the number of pods, and by the status the canary has this
     * share: its selector is the one that services_share() returns. A Service with another weight,
     * or with none, is left alone. */
    bool apex_shared;
    int apex_share;
    bool (*answers)(void *arg, bool primary);
    int64_t (*ready)(void *arg, bool primary, struct json_object *selector);
    void *arg;
};

/*
 * Ports are removed only after the routes that refer to them: a port that is no longer in the spec
 * stays beside the new one (under the name `was-80`, if its own name is taken) until
 * drop_old_ports, and routes follow once the new port exists. *adds: the next reconcile adds a port
 * to an existing Service; *old: such ports of our Services, [{name of the Service, port}]. Other
 * Services keep their ports. CONTINUE or NEEDS_FACTS.
 */
enum rule_result services_old_ports(struct tick *tick, const struct service_pods *pods, bool *adds,
                                    struct json_object **old);
/*
 * A Service cannot get the port of the spec: routes lead to one that both sides have, if there is
 * one (tick_route_port()), for calls to one that the apex has. CONTINUE or NEEDS_FACTS.
 */
enum rule_result services_keep_port(struct tick *tick);
/* Additional ports of Services that existed before the Canary: "81 of web, 82 of web", NULL if
 * none. CONTINUE or NEEDS_FACTS. */
enum rule_result services_found_ports(struct tick *tick, const struct service_pods *pods,
                                      const char **out);
/* The Services `-canary` and `-primary`. */
enum rule_result services_reconcile_sides(struct tick *tick, const struct service_pods *pods);
/* The apex Service, which selects the primary. If the Service already exists, only its selector and
 * ports are changed. */
enum rule_result services_reconcile_apex(struct tick *tick, const struct service_pods *pods);

/* Fields of the spec that the existing Services cannot follow, NULL if none. Uses only facts of
 * earlier rules. */
const char *services_ignored(struct tick *tick);
/*
 * The Canary is being deleted: the apex Service selects the target's pods. A Service that existed
 * before the Canary gets the selector of its kubectl annotation if that selects them. `recreate`:
 * creates a missing one, without owner.
 */
enum rule_result services_revert_apex(struct tick *tick, const struct service_pods *pods,
                                      bool recreate);
/*
 * Guards every change of a selector of an existing Service that has requests. Returns the live
 * selector if the side's pods lack labels of the new one, if the new one selects other pods that
 * are not ready, or if it would remove the last ready pod; else the selector of the side.
 */
struct json_object *services_selector(const struct service_pods *pods, bool primary,
                                      struct json_object *live);
/*
 * A share by number of pods is recorded in the apex Service, in the same write as the selector that
 * produces it. services_share() returns that selector and the canary's weight (proto/weight.h), or
 * NULL and 0 if there is none or it cannot be read. services_put_share() writes both into the
 * caller's copy; weight 0 removes the record, and a NULL selector leaves the selector unchanged.
 */
#define SERVICES_SHARE "flagger.app/canary-share"
struct json_object *services_share(struct arena *arena, struct json_object *live, int *weight);
void services_put_share(struct arena *arena, struct json_object *copy, int weight,
                        struct json_object *selector);
/* "app=podinfo,tier=web" */
const char *services_print(struct tick *tick, struct json_object *selector);
/* True if the selector is not empty, and pods of this template have all its labels. */
bool services_select(struct json_object *selector, struct json_object *template);

/* The apex Service outlives the Canary. */
enum rule_result services_disown_apex(struct tick *tick);

#endif
