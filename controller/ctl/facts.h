/*
 * The objects of a Canary, read with the person's own rights: a part that may not be read is
 * missing, and `denied` names it.
 */
#ifndef CTL_FACTS_H
#define CTL_FACTS_H

#include "base/json.h"
#include "ctl/ctl.h"
#include "ctl/read.h"

struct facts {
    int64_t now_ms; /* wall clock */
    struct json_object *canary;
    /* NULL if it is not there, or cannot be read. */
    struct json_object *target, *primary;
    struct json_object *scaler;              /* named by autoscalerRef */
    struct json_object *events;              /* of the Canary, newest last; never NULL */
    struct json_object *pods, *primary_pods; /* of both sides; never NULL */
    struct json_object *lease;               /* of the controller */
    struct json_object *gate;   /* the gate's answer about this Canary; NULL if not asked */
    const char *gate_trouble;   /* why it could not be asked; NULL if it was, or there is none */
    bool gate_asks_who;         /* the reason: it needs a token */
    const char *gate_url;       /* where it is, for people; NULL if there is none */
    const char *live;           /* hash of the revision that the target has; NULL if unknown */
    bool no_target, no_primary; /* surely not there */
    bool no_lease;              /* never held by a controller */
    bool lease_denied;          /* it may not be read, as is usual; not part of `denied` */
    const char *denied;         /* "pods, events": parts that may not be read; NULL if none */
};

/* Never fails: unreadable parts are missing. Reads neither the gate nor the target's revision. */
void facts_read(struct ctl *ctl, struct json_object *canary, struct facts *out);

/* Reads the gate's answer and the revision of the target. */
void facts_read_more(struct ctl *ctl, struct facts *facts);
/* Only target, primary, scaler and lease. */
void facts_read_objects(struct ctl *ctl, struct json_object *canary, struct facts *out);

/* --- the revision of a target, by the controller's own rules (target/OBJECTS.md): its hash as in
 * status.lastAppliedSpec */

/* *out is "" if the target is missing or unusable. ERR_INVALID if the spec is refused; errors of
 * reading. */
enum err revision_read(struct ctl *ctl, struct json_object *canary, const char **out,
                       struct errinfo *ei) MUST_USE;
/* That of an object in the place of the target, such as one with an earlier pod template. */
enum err revision_of_object(struct ctl *ctl, struct json_object *canary, struct json_object *target,
                            const char **out, struct errinfo *ei) MUST_USE;
/* As revision_read(); NULL if there is none, or if it cannot be read. */
const char *revision_of_target(struct ctl *ctl, struct json_object *canary);

/* --- show.c: one Canary with its objects, for people */

/* Prints a tree on ctl->out. waits: why the release waits, one sentence; NULL if it does not. */
void show_tree(const struct ctl *ctl, const struct facts *facts, const char *waits);
/* The same for programs, owned by the arena: names, numbers and sentences, of each part what the
 * tree shows. */
struct json_object *show_data(const struct ctl *ctl, const struct facts *facts);

/* --- show.c: a ReleasePlan, by its status */

/* True if the plan releases this Application or has this name. */
bool release_plan_means(struct json_object *plan, const char *name);
/* True if the controller has seen its current generation. */
bool release_plan_is_known(struct json_object *plan);
/* A tree: counts and conditions, then its waves, then their clusters. */
void release_plan_print(struct ctl *ctl, struct json_object *plan);
/* Its names and its status, owned by ctl->arena. */
struct json_object *release_plan_data(struct ctl *ctl, struct json_object *plan);

#endif
