/*
 * The objects of a Canary, read with the user's own rights: a part that the user may not read is
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
    /* NULL if it does not exist, or cannot be read. */
    struct json_object *target, *primary;
    struct json_object *scaler;              /* named in autoscalerRef */
    struct json_object *events;              /* events of the Canary, newest last; never NULL */
    struct json_object *pods, *primary_pods; /* pods of both sides; never NULL */
    struct json_object *lease;               /* the controller's Lease */
    struct json_object *gate; /* the gate's response about this Canary; NULL if not queried */
    const char
        *gate_trouble;    /* why it could not be queried; NULL if it was, or if there is no gate */
    bool gate_asks_who;   /* this is because it needs a token */
    const char *gate_url; /* the gate's address, for messages; NULL if there is no gate */
    const char *live;     /* hash of the target's current revision; NULL if unknown */
    bool no_target, no_primary; /* known not to exist */
    bool no_lease;              /* no controller has ever held it */
    bool lease_denied;          /* the user may not read it, as is usual; not part of `denied` */
    const char *denied;         /* "pods, events": parts that the user may not read; NULL if none */
};

/* Never fails: unreadable parts are missing. Reads neither the gate nor the target's revision. */
void facts_read(struct ctl *ctl, struct json_object *canary, struct facts *out);

/* Reads the gate's response and the revision of the target. */
void facts_read_more(struct ctl *ctl, struct facts *facts);
/* Reads only target, primary, scaler and lease. */
void facts_read_objects(struct ctl *ctl, struct json_object *canary, struct facts *out);

/* --- the revision of a target, determined by the controller's own rules (target/OBJECTS.md): its
 * hash as in status.lastAppliedSpec */

/* *out is "" if the target is missing or unusable. ERR_INVALID if the spec is refused; also errors
 * of reading. */
enum err revision_read(struct ctl *ctl, struct json_object *canary, const char **out,
                       struct errinfo *ei) MUST_USE;
/* The revision of an object used in place of the target, such as one with an earlier pod
 * template. */
enum err revision_of_object(struct ctl *ctl, struct json_object *canary, struct json_object *target,
                            const char **out, struct errinfo *ei) MUST_USE;
/* As revision_read(); NULL if there is none, or if it cannot be read. */
const char *revision_of_target(struct ctl *ctl, struct json_object *canary);

/* --- show.c: one Canary with its objects, for users */

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
