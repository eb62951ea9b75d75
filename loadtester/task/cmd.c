/* cmd: a command line for sh, started in the background; the default type. */
#include "loadtester/task.h"

static enum err make(struct arena *arena, const struct webhook_message *message,
                     struct task_command *out, struct errinfo *ei)
{
    enum err err = task_cmd(message, &out->text, ei);
    if (err == ERR_OK)
        err = webhook_metadata_bool(message, "logCmdOutput", false, &out->log_output, ei);
    if (err != ERR_OK)
        return err;
    const char **argv = arena_array(arena, 4, sizeof(*argv));
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = out->text;
    out->argv = argv;
    return ERR_OK;
}

const struct task_type task_type_cmd = {.name = "cmd", .make = make};
