#include "loadtester/task/common_helm.h"

#include <string.h>

enum err helm_make(struct arena *arena, const struct webhook_message *message,
                   const struct task_policy *policy, struct task_plan *out, struct errinfo *ei)
{
    const char *version = webhook_metadata(message, "helmVersion");
    enum err err = task_read(arena, message, out, ei);

    if (err == ERR_OK && version && *version) {
        const char *number = version + (*version == 'v');
        if (*number != '3' || (number[1] && number[1] != '.'))
            err = err_set(ei, ERR_INVALID,
                          "metadata.helmVersion: only version 3 is here, found \"%.80s\"", version);
    }
    return err == ERR_OK ? task_program(arena, "helm", policy, out, ei) : err;
}
