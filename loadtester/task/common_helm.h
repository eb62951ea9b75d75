/* What the types helm and helmv3 have in common: all of it. */
#ifndef LOADTESTER_TASK_COMMON_HELM_H
#define LOADTESTER_TASK_COMMON_HELM_H

#include "loadtester/task.h"

/* As task_type.make: helm with the words of cmd. metadata.helmVersion may be left out, or ask for
 * version 3, which is the one that there is. */
enum err helm_make(struct arena *arena, const struct webhook_message *message,
                   const struct task_policy *policy, struct task_plan *out, struct errinfo *ei);

#endif
