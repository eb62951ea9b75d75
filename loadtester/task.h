/*
 * A task type: what one value of metadata.type does. One file per type in task/, collected by the
 * build into task_type_table. Pure: it turns a webhook message into a plan; runner.c carries it
 * out, as a supervised child (argv) or as a conversation with another service (remote).
 */
#ifndef LOADTESTER_TASK_H
#define LOADTESTER_TASK_H

#include <stdbool.h>

#include "loadtester/policy.h"
#include "proto/webhook.h"

/* What the operator lets tasks do. */
struct task_policy {
    const struct policy *commands; /* NULL: every command */
    bool shell;                    /* cmd and bash hand their text to a shell */
    const char *key_dir; /* the files that tasks name are in this folder; NULL: they name none */
};

/* When a run counts as failed for the next check of its Canary; from the metadata. */
struct task_bounds {
    bool fail_on_error;    /* any failure, and any request that failed */
    double max_error_rate; /* percent of requests; negative: not bounded */
    double max_p99_ms;     /* negative: not bounded */
};

/* --- conversations */

/* One HTTP request to the other service. Texts live in the arena that was given, which goes before
 * the next one is asked for. */
struct remote_request {
    const char *method, *url;
    const char *content_type; /* NULL: no body */
    const char *authorization;
    const char *body;
    int64_t wait_ms; /* before it is sent */
};

struct remote_answer {
    int status; /* 0: none came, text says why */
    const char *text;
};

enum remote_next {
    REMOTE_SEND,   /* *out is the next request */
    REMOTE_DONE,   /* the work ended well; ei holds no error */
    REMOTE_FAILED, /* ei says why */
};

/* The state is the type's own, made by make(), and lives as long as the task; the arena of a call
 * only until the next one. */
struct remote {
    /* answer NULL: the first request; secret is the text of remote_secret's file or "". */
    enum remote_next (*next)(void *state, struct arena *arena, const char *secret,
                             const struct remote_answer *answer, struct remote_request *out,
                             struct errinfo *ei);
    /* What tells the other service that its work is no longer wanted; false: nothing does. */
    bool (*cancel)(void *state, struct arena *arena, const char *secret,
                   struct remote_request *out);
};

/* --- plans */

/* Everything lives in the arena given to make(), and nothing of it in the message: the tree of a
 * message takes many times its text, and goes when the task has been made. */
struct task_plan {
    const char *text;            /* what is done, as a person wrote it: for lists and messages */
    const char *key;             /* tasks of a Canary with equal keys are the same task */
    const char *const *argv;     /* NULL-ended; NULL: a conversation */
    const struct remote *remote; /* NULL: a command */
    void *remote_state;
    const char *remote_secret; /* file whose text the conversation needs, below remote_secret_dir;
                                NULL: none */
    const char *remote_secret_dir; /* the policy's */
    int64_t timeout_ms;            /* the type's own bound, 0: the global one alone */
    struct task_bounds bounds;
    bool log_output;
    bool return_output; /* blocking types: the output is the reply's body */
};

struct task_type {
    const char *name;
    bool blocking; /* the reply waits for the end: 200 or 500; otherwise 202 at once */
    /* ERR_INVALID with the sentence of a 400 reply; ERR_DENIED with that of a 403 one: the policy
     * does not let it. */
    enum err (*make)(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei);
};

extern const struct task_type *const task_type_table[];
/* NULL when there is no such type; name NULL is the default, cmd. */
const struct task_type *task_type_find(const char *name);

/* --- what types share */

/* metadata.cmd, logCmdOutput, returnCmdOutput and the bounds; key is the text. */
enum err task_read(struct arena *arena, const struct webhook_message *message,
                   struct task_plan *out, struct errinfo *ei) MUST_USE;
/* metadata.failOnError, maxErrorRate (percent) and maxP99 (a duration). */
enum err task_read_bounds(const struct webhook_message *message, struct task_bounds *out,
                          struct errinfo *ei) MUST_USE;
/* A copy of a value that must be there and not empty, else ERR_INVALID "KEY not found in metadata".
 */
enum err task_need(struct arena *arena, const struct webhook_message *message, const char *key,
                   const char **out, struct errinfo *ei) MUST_USE;
/* metadata.KEY as a base URL: http or https, slashes at the end dropped. */
enum err task_url(struct arena *arena, const char *key, const char *text, const char **out,
                  struct errinfo *ei) MUST_USE;
/* A file in the policy's folder that metadata.KEY names, by its name or with the folder, and whose
 * content is sent on: its path below that folder; ERR_DENIED unless the policy lets it. */
enum err task_file(const struct task_policy *policy, const char *key, const char *path,
                   const char **out, struct errinfo *ei) MUST_USE;
/* A conversation of this type with this server: the policy sees it as a command with one argument.
 */
enum err task_service(const struct task_policy *policy, const char *type, const char *server,
                      struct errinfo *ei) MUST_USE;
/* argv: the plan's text for a shell where the policy has one, else its words without one. */
enum err task_shell(struct arena *arena, const char *shell, const struct task_policy *policy,
                    struct task_plan *plan, struct errinfo *ei) MUST_USE;
/* argv: program and the words of the plan's text; never through a shell. */
enum err task_program(struct arena *arena, const char *program, const struct task_policy *policy,
                      struct task_plan *plan, struct errinfo *ei) MUST_USE;

#endif
