/*
 * What belongs to a Canary, read with the person's own rights: a part that may not be read is
 * missing, and `denied` names it.
 */
#ifndef CTL_FACTS_H
#define CTL_FACTS_H

#include "ctl/read.h"

struct facts {
    int64_t now_ms; /* wall clock */
    struct json_object *canary;
    /* NULL: it is not there, or cannot be read. */
    struct json_object *target, *primary;
    struct json_object *scaler;              /* what autoscalerRef names */
    struct json_object *events;              /* of the Canary, newest last; never NULL */
    struct json_object *pods, *primary_pods; /* of both sides; never NULL */
    struct json_object *lease;               /* of the controller */
    struct json_object *gate;   /* what it says of this Canary's gate; NULL: nobody asked it */
    const char *gate_trouble;   /* why it could not be asked; NULL: it was, or there is none */
    bool gate_asks_who;         /* that is why: it wants a token */
    const char *gate_url;       /* where it is, for people; NULL: there is none */
    const char *live;           /* hash of the revision that the target has; NULL: not known */
    bool no_target, no_primary; /* surely not there */
    bool no_lease;              /* no controller has ever taken it */
    bool lease_denied;          /* it may not be read, which few may: no part of `denied` */
    const char *denied;         /* "pods, events": what may not be read; NULL: all may */
};

/* Never fails: what cannot be read is missing. Not the gate, nor the target's revision. */
void facts_read(struct ctl *ctl, struct json_object *canary, struct facts *out);

/* What its gate says, and which revision the target has. */
void facts_read_more(struct ctl *ctl, struct facts *facts);
/* Only target, primary, scaler and lease. */
void facts_read_objects(struct ctl *ctl, struct json_object *canary, struct facts *out);

#endif
