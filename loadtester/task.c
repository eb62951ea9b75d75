#include "loadtester/task.h"

#include <string.h>

const struct task_type *task_type_find(const char *name)
{
    const char *wanted = name && *name ? name : "cmd";
    for (const struct task_type *const *type = task_type_table; *type; type++)
        if (strcmp((*type)->name, wanted) == 0)
            return *type;
    return NULL;
}

enum err task_cmd(const struct webhook_message *message, const char **out, struct errinfo *ei)
{
    *out = webhook_metadata(message, "cmd");
    if (!*out || !**out)
        return err_set(ei, ERR_INVALID, "cmd not found in metadata");
    return ERR_OK;
}
