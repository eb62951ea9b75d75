/* cmd: a command line for sh, started in the background; the default type. */
#include "loadtester/task.h"

static enum err make(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? task_shell(arena, "sh", policy, out, ei) : err;
}

const struct task_type task_type_cmd = {.name = "cmd", .make = make};
