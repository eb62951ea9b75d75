/* kubectl: arguments for kubectl, e.g. "get pods -n test"; the reply waits for its end. */
#include "loadtester/task.h"

static enum err make(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? task_program(arena, "kubectl", policy, out, ei) : err;
}

const struct task_type task_type_kubectl = {.name = "kubectl", .blocking = true, .make = make};
