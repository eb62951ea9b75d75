/*
 * What the targets with pods of their own share (Deployment, DaemonSet): how they are read, and the
 * primary as their copy (target/OBJECTS.md), which the kind then completes.
 */
#ifndef TARGET_COMMON_WORKLOAD_H
#define TARGET_COMMON_WORKLOAD_H

#include "target/target.h"

/* One kind of them. */
struct workload {
    const struct kube_resource *resource;
    const char *word;          /* "deployment", in sentences */
    const char *const *copied; /* NULL-ended: what of spec the primary gets as it is */
    const char *bookkeeping;   /* annotation of the cluster's own, which is never promoted */
    /* The node selector that keeps its pods from every node, as long as the target is at zero; no
     * part of what is released. NULL: the kind has replicas. */
    const char *zero_selector;
    /* The objects that hold its former templates, in `data.spec` or in `spec`. */
    const struct kube_resource *past;
    bool past_in_data;
    bool pins; /* it can be pinned to a revision (target/common_pin.h) */
};

/* As target.find and target.read, but for at_zero and stopped. */
enum verdict workload_find(struct tick *tick, const struct workload *kind, struct target_info *out);
enum verdict workload_read(struct tick *tick, const struct workload *kind, struct target_info *out);
/* As target.refuse. */
enum verdict workload_refuse(struct tick *tick, struct json_object *object, const char **sentence);
/* Readies the primary's configs; *out is then the primary to create. */
enum verdict workload_new_primary(struct tick *tick, const struct workload *kind,
                                  const struct target_info *info, struct json_object **out);
/* As target.recall. */
enum verdict workload_recall(struct tick *tick, const struct workload *kind,
                             const struct target_info *info, const char *hash,
                             struct json_object **out);
/* The same for a primary that exists: what it is, without nulls, and what promotion makes of it. */
enum verdict workload_promoted(struct tick *tick, const struct workload *kind,
                               const struct target_info *info, struct json_object **from,
                               struct json_object **to);
void workload_plan_promotion(struct tick *tick, const struct workload *kind,
                             const struct target_info *info, struct json_object *from,
                             struct json_object *to);
/* The hash of a released pod template. */
enum err workload_hash(struct arena *arena, const struct workload *kind,
                       struct json_object *template, char hash[SPECHASH_TEXT],
                       struct errinfo *ei) MUST_USE;
/* As target.revision. */
enum err workload_revision(struct arena *arena, const struct workload *kind,
                           struct json_object *object, char hash[SPECHASH_TEXT],
                           struct errinfo *ei) MUST_USE;
/* As target.is_promoted and target.compare. */
enum verdict workload_carried(struct tick *tick, const struct target_info *info, const char *before,
                              enum carried *out);
bool workload_is_promoted(struct tick *tick, const struct target_info *info);
enum verdict workload_compare(struct tick *tick, const struct target_info *info, bool *same);

/* One of status.conditions, NULL if there is none. */
struct json_object *workload_condition(struct json_object *object, const char *type);
/*
 * Too long, by the condition in which the rules keep since when they have waited for this side.
 * (Flagger counts from the last change of the Canary's status: a node that joins while a gate has
 * been closed for long would end the release at once.)
 */
bool workload_is_overdue(struct tick *tick, enum side side);
/* Its status speaks of an older spec. */
bool workload_is_unobserved(struct json_object *object);
/* How many of so many pods the threshold (percent) asks for: at least one, since traffic needs
 * somebody who answers. (Flagger rounds one pod at 50 % down to none.) */
int64_t workload_least(int64_t pods, int threshold);

#endif
