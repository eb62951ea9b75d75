/*
 * The parts of the judge: judge.c has what clients see and what is repaired, judge_workloads.c what
 * is seen of workloads, gates and numbers (invariant.h), judge_parts.c what both stand on.
 */
#ifndef EDITS_JUDGE_PARTS_H
#define EDITS_JUDGE_PARTS_H

#include "random_edits/invariant.h"
#include "random_edits/judge.h"

enum {
    APPS_MAX = 16,
    PENDING_MAX = 256,
    SETTLE_MS = 2000,   /* it serves for so long: it is repaired */
    EFFECT_MS = 5000,   /* an edit that takes it down has done so by then */
    REPAIR_MS = 20000,  /* and that takes at most so long, while the controller runs */
    GRACE_MS = 1000,    /* a failure is judged so much later: the machine may be to blame */
    LASTS_MS = 4000,    /* what may be seen for a moment must not last so long */
    SHARE_MS = 5000,    /* nor a share without a ready pod */
    ALLOWED_MS = 15000, /* a write that was refused is tried again within */
    EMPTIED_MS = 700,   /* a Service's endpoints follow its selector within */
    TARGET_MS = 10000,  /* a revision is known to be the analysed one after */
    OWNED_MS = 3000,    /* an autoscaler is known after */
    SAMPLES = 64,
    EMPTIED_MAX = 16,
    CHECKSUM = 64,
};

/* Ready pods of both sides, at one look. */
struct sample {
    int64_t at_ms;
    size_t primary, canary;
};

struct ward {
    const struct app *app;
    bool broken;
    bool harmed;
    int64_t harmed_ms, served_ms, healed_ms; /* began; serves since, 0: no; ended last */
    int64_t told_ms;                         /* the controller last said why it is down */
    int64_t odd_ms;                          /* weights do not add up since; 0: they do */
    bool left_name, left_route; /* the spec has named another Service, another provider */
    int unjudged;        /* 2: the analysis tells nothing; 1: it does from the next push on */
    const char *excused; /* image of the primary that a person chose */
    bool refused;        /* a policy refuses writes */
    int64_t allowed_ms;  /* ... did last */
    int64_t target_ms;   /* a person has last edited the target */
    int64_t scaler_ms;   /* ... an autoscaler */
    int64_t unready_ms;  /* until then pods of the target may not be ready */
    enum share share;    /* a side has a share and no ready pod, since: */
    int64_t share_ms;
    char admitted[CHECKSUM]; /* by confirm-rollout, last; "": not known */
    struct sample samples[SAMPLES];
    size_t n_samples;
};

/* Writes of the controller, looked at again when it is known what follows from them. */
struct rewritten {
    struct ward *ward;
    const char *service;        /* NULL: a Deployment */
    struct json_object *former; /* the Service's selector, or the Deployment */
    struct json_object *now;    /* the same as it was written */
    int64_t at_ms;
};

struct pending {
    struct ward *ward;
    int64_t sent_ms, ended_ms;
    const char *text;
};

struct judge {
    struct arena *arena;
    const struct view *view;
    const struct app *control;
    struct ward wards[APPS_MAX];
    size_t n_wards;
    struct pending pending[PENDING_MAX];
    size_t n_pending;
    struct rewritten rewritten[EMPTIED_MAX];
    size_t n_rewritten;
    struct violation violations[JUDGE_MAX];
    size_t n_violations;
    bool controller;
    int64_t controller_ms; /* runs since */
    bool leads;            /* under a lease */
    int64_t control_ms;    /* the control's last failure */
    int edits_made, moment;
    uint64_t allowed, failed, machine;
    struct judge_seen seen;
};

struct ward *judge_ward(const struct judge *judge, const struct app *app);
/* The object whose name the pattern is, of the app. */
struct json_object *judge_object(const struct judge *judge, const struct kube_resource *kind,
                                 const char *pattern, const struct app *app);
struct json_object *judge_rules(const struct judge *judge, const struct app *app);
bool judge_is_driven(const struct judge *judge, struct json_object *canary);

void judge_note_edit(struct ward *ward, const struct edit *edit);
/* Compares writes of a while ago with the cluster now. */
void judge_look_at_written(struct judge *judge, int64_t now);
void judge_look_at_workload(struct judge *judge, struct ward *ward, int64_t now);
void judge_look_at_copies(struct judge *judge, const struct app *app);

#endif
