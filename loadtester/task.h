/*
 * A task type: what one value of metadata.type does. One file per type in task/, collected by the
 * build into task_type_table. Pure: it turns a webhook message into a command; runner.c runs it.
 */
#ifndef LOADTESTER_TASK_H
#define LOADTESTER_TASK_H

#include <stdbool.h>

#include "proto/webhook.h"

/* What is to be run. Everything lives in the arena given to make(). */
struct task_command {
    const char *const *argv; /* NULL-ended */
    const char *text;        /* the command as a person wrote it, for lists and messages */
    bool log_output;
    bool return_output; /* blocking types: the output is the reply's body */
};

struct task_type {
    const char *name;
    bool blocking; /* the reply waits for the end: 200 or 500; otherwise 202 at once */
    /* ERR_INVALID with the sentence of a 400 reply. */
    enum err (*make)(struct arena *arena, const struct webhook_message *message,
                     struct task_command *out, struct errinfo *ei);
};

extern const struct task_type *const task_type_table[];
/* NULL when there is no such type; name NULL is the default, cmd. */
const struct task_type *task_type_find(const char *name);
/* metadata.cmd, or ERR_INVALID "cmd not found in metadata". */
enum err task_cmd(const struct webhook_message *message, const char **out,
                  struct errinfo *ei) MUST_USE;

#endif
