/*
 * A Deployment that is kept at the revision which is analysed, whatever is pushed meanwhile
 * (analysis.onNewRevision: finish). `spec.paused` keeps it from making pods of another template
 * (Kubernetes, Deployments: "Pausing and Resuming a rollout"; it goes on to be scaled), and an
 * annotation holds the template that its pods are of, as JSON.
 */
#ifndef TARGET_COMMON_PIN_H
#define TARGET_COMMON_PIN_H

#include "target/common_workload.h"

#define PIN_TEMPLATE "flagger.app/pinned-template"

/* Reads pin and live of *out; where the pin holds, out->object becomes the pinned one. */
void pin_read(struct arena *arena, struct target_info *out);
/* As target.pin and target.unpin. */
bool pin_put(struct tick *tick, const struct workload *kind, const struct target_info *info);
void pin_drop(struct tick *tick, const struct workload *kind, const struct target_info *info);
/* Takes out of this copy of info->live all that pins it. */
void pin_erase(struct json_object *copy, enum pin pin);

#endif
