/*
 * Shared by targets with their own pods (Deployment, DaemonSet): reading, pinning, and the primary
 * as a copy (target/OBJECTS.md), which the kind completes.
 */
#ifndef TARGET_SHARED_WORKLOAD_H
#define TARGET_SHARED_WORKLOAD_H

#include "target/target.h"

/* A kind of workload. */
struct workload {
    const struct kube_resource *resource;
    const char *word;          /* "deployment", for messages */
    const char *const *copied; /* NULL-terminated: fields of the spec that are copied unchanged */
    const char *bookkeeping;   /* annotation that the cluster maintains, never promoted */
    /* Node selector that keeps its pods off all nodes while the target is at zero; not part of the
     * released content. NULL if the kind has replicas. */
    const char *zero_selector;
    /* Kind of the objects that hold its former templates, in `data.spec` or in `spec`. */
    const struct kube_resource *past;
    bool past_in_data;
    bool pins; /* it can be pinned to a revision (pin_put()) */
};

/* As target.find and target.read, but does not set at_zero and stopped. */
enum rule_result workload_find(struct tick *tick, const struct workload *kind,
                               struct target_info *out);
enum rule_result workload_read(struct tick *tick, const struct workload *kind,
                               struct target_info *out);
/* As target.refuse. */
enum rule_result workload_refuse(struct tick *tick, struct json_object *object,
                                 const char **sentence);
/* Prepares the primary's configs; *out is the primary to create. */
enum rule_result workload_new_primary(struct tick *tick, const struct workload *kind,
                                      const struct target_info *info, struct json_object **out);
/* As target.recall. */
enum rule_result workload_recall(struct tick *tick, const struct workload *kind,
                                 const struct target_info *info, const char *hash,
                                 struct json_object **out);
/* The same for an existing primary: the live primary without nulls, and the promoted one. */
enum rule_result workload_promoted(struct tick *tick, const struct workload *kind,
                                   const struct target_info *info, struct json_object **from,
                                   struct json_object **to);
void workload_plan_promotion(struct tick *tick, const struct workload *kind,
                             const struct target_info *info, struct json_object *from,
                             struct json_object *to);
/* As target.revision. */
enum err workload_revision(struct arena *arena, const struct workload *kind,
                           struct json_object *object, char hash[SPECHASH_TEXT],
                           struct errinfo *ei) MUST_USE;
/* As target.is_promoted and target.compare. */
enum rule_result workload_carried(struct tick *tick, const struct target_info *info,
                                  const char *before, enum carried *out);
bool workload_is_promoted(struct tick *tick, const struct target_info *info);
enum rule_result workload_compare(struct tick *tick, const struct target_info *info, bool *same);

/* The element of status.conditions of this type, NULL if there is none. */
struct json_object *workload_condition(struct json_object *object, const char *type);
/*
 * True if the deadline has passed since the start of the condition in which the rules record that
 * they wait for this side. (Flagger counts from the last change of the Canary's status: a node that
 * joins after a gate has been closed for a long time would end the release at once.)
 */
bool workload_is_overdue(struct tick *tick, enum side side);
/* True if its status is about an older spec. */
bool workload_is_unobserved(struct json_object *object);
/* Number of pods that the threshold (percent) requires: at least one, since traffic needs a ready
 * pod. (Flagger rounds 50 % of one pod down to none.) */
int64_t workload_least(int64_t pods, int threshold);

/*
 * Pinning: keeps a Deployment at the analysed revision, whatever is pushed in the meantime
 * (analysis.onNewRevision: finish, queue). `spec.paused` prevents pods of another template
 * (Kubernetes, Deployments: "Pausing and Resuming a rollout"; scaling continues), and an annotation
 * holds the template of the Deployment's pods as JSON. A second annotation lists the templates that
 * wait.
 */

#define PIN_TEMPLATE    "flagger.app/pinned-template"
#define QUEUE_TEMPLATES "flagger.app/queued-templates"

/* Sets pin, live and queue.templates of *out, whose object was read; if the target is pinned or
 * placed, out->object becomes the object with that template. */
void pin_read(struct arena *arena, struct target_info *out);
/* Sets next and the rest of queue, once the hash is known. */
enum err pin_compare(struct tick *tick, const struct workload *kind, struct target_info *out,
                     struct errinfo *ei) MUST_USE;
/* As target.pin, target.unpin and target.queue. */
bool pin_put(struct tick *tick, const struct workload *kind, const struct target_info *info);
void pin_drop(struct tick *tick, const struct workload *kind, const struct target_info *info);
enum queue_result pin_queue(struct tick *tick, const struct workload *kind,
                            const struct target_info *info, enum queue_deed deed) MUST_USE;
/* Removes the pin from this copy of info->live: pin_erase() together with the queue, pin_place() by
 * placing it (QUEUE_PLACE). */
void pin_erase(struct json_object *copy, enum pin pin);
void pin_place(struct tick *tick, const struct target_info *info, struct json_object *to);

/*
 * Evidence about a workload and its primary, for a status written by another version of Flagger,
 * whose hashes cannot be used (decide/takeover.c).
 */

/* As target.primary_hash and target.untouched_since. */
const char *past_primary_hash(struct tick *tick, const struct workload *kind,
                              const struct target_info *info);
bool past_untouched_since(struct tick *tick, const struct target_info *info, int64_t ms);

#endif
