/* bash: a command line for bash; the reply waits for its end and can carry its output. */
#include "loadtester/task.h"

static enum err make(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? task_shell(arena, "bash", policy, out, ei) : err;
}

const struct task_type task_type_bash = {.name = "bash", .blocking = true, .make = make};
