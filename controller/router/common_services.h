/* The Services of a Canary, the same for every router (router/OBJECTS.md): `-canary`,
 * `-primary` and the apex. */
#ifndef ROUTER_COMMON_SERVICES_H
#define ROUTER_COMMON_SERVICES_H

#include "tick/tick.h"

/*
 * Which pods they select. A Service that is there is only made to select others when these answer:
 * `answers` is asked then, and without a yes its selector stays as it is. (A missing one is made at
 * once: nobody answers there either way.) NULL: the rule has seen to that.
 *
 * ready() counts the ready pods of a side that a selector leads to. A Service that leads to some, and
 * that has requests, is not made to lead to none. NULL: they are not counted.
 */
struct service_pods {
    const char *label; /* selector label of the target */
    /* The selector of the side's pods, where the Service has the selector `live` (NULL: none). */
    struct json_object *(*selector)(void *arg, bool primary, struct json_object *live);
    struct json_object *target; /* pod templates of both sides; NULL: none is there */
    struct json_object *primary;
    struct json_object *ports; /* discovered ports, array or NULL */
    bool drop_old_ports;       /* those that the spec no longer says go */
    bool apex_to_target;       /* the apex Service leads to the target: the primary has no pods */
    bool (*answers)(void *arg, bool primary);
    int64_t (*ready)(void *arg, bool primary, struct json_object *selector);
    void *arg;
};

/*
 * What routes refer to must not go before they do: a port that the spec no longer says stays beside
 * the new one (under the name `was-80`, where its own is taken) until it is dropped with
 * drop_old_ports, and routes follow when the new one is there. *adds: the next reconcile gives a
 * Service that is there a port; *old: such ports of Services of ours, [{name of the Service,
 * port}]. A Service of others loses none. GO or NEED_FACTS.
 */
enum verdict services_old_ports(struct tick *tick, const struct service_pods *pods, bool *adds,
                                struct json_object **old);
/* The ports that Services of others have beside those of the spec: "81 of web, 82 of web", NULL:
 * none. GO or NEED_FACTS. */
enum verdict services_found_ports(struct tick *tick, const struct service_pods *pods,
                                  const char **out);
/* Step 6: the Services `-canary` and `-primary`. */
enum verdict services_reconcile_sides(struct tick *tick, const struct service_pods *pods);
/* Step 11: the apex Service, which selects the primary. Adopts one that is there: selector and
 * ports only. */
enum verdict services_reconcile_apex(struct tick *tick, const struct service_pods *pods);

/* What of the spec the Services that are there cannot follow (of the rules that ran before, so that
 * nothing is asked for): the field's path, or NULL. */
const char *services_ignored(struct tick *tick);
/*
 * The Canary is being deleted: the apex Service selects the target's pods.
 * A Service that was there before the Canary gets the selector of its kubectl annotation back where
 * that selects them. `anew`: a missing one is made again, without owner.
 */
enum verdict services_revert_apex(struct tick *tick, const struct service_pods *pods, bool anew);
/*
 * The guard of every write of a selector to a Service that is there and has requests: the selector
 * that it gets. It is the live one where the pods of that side do not have all that the new one asks
 * for, where it leads to other pods than before and these do not answer, or where it would take the
 * last ready pod; else that of the side.
 */
struct json_object *services_selector(const struct service_pods *pods, bool primary,
                                      struct json_object *live);
/* "app=podinfo,tier=web" */
const char *services_print(struct tick *tick, struct json_object *selector);
/* It selects something, and all that it selects by, pods of this template have. */
bool services_select(struct json_object *selector, struct json_object *template);

/* The apex Service outlives the Canary. */
enum verdict services_disown_apex(struct tick *tick);

#endif
