/*
 * A task type: one value of metadata.type. One file per type in task/, collected by the build into
 * task_type_table. Pure: it turns a webhook message into a plan, which runner.c executes as a
 * supervised child (argv) or as a conversation with another service (remote).
 */
#ifndef LOADTESTER_TASK_H
#define LOADTESTER_TASK_H

#include <stdbool.h>

#include "loadtester/policy.h"
#include "proto/webhook_message.h"

struct load_policy; /* load/template.h */
struct load_order;

/* Limits set by the operator. */
struct task_policy {
    const struct policy *commands;  /* NULL if every command is allowed */
    bool shell;                     /* cmd and bash may use a shell */
    const char *key_dir;            /* folder of the files that tasks may name; NULL if none */
    const struct load_policy *load; /* NULL if load from many pods is disabled */
};

/* Bounds from the metadata; a run outside these bounds fails the next check of its Canary. */
struct task_bounds {
    bool fail_on_error;    /* any failure, and any failed request */
    double max_error_rate; /* percent of requests; negative if not bounded */
    double max_p99_ms;     /* negative if not bounded */
};

/* --- conversations */

/* One HTTP request to the other service. Strings live in the arena of the call, which is freed
 * before the next one. */
struct remote_request {
    const char *method, *url;
    const char *content_type; /* NULL if there is no body */
    const char *authorization;
    const char *body;
    int64_t wait_ms; /* delay before it is sent */
};

struct remote_answer {
    int status; /* 0 if there was no answer; text then has the reason */
    const char *text;
};

enum remote_next {
    REMOTE_SEND,   /* *out is the next request */
    REMOTE_DONE,   /* the work was successful; ei holds no error */
    REMOTE_FAILED, /* ei has the reason */
};

/* The state belongs to the type: it is created by make() and lives as long as the task; the
 * arena of a call lives only until the next call. */
struct remote {
    /* answer is NULL for the first request; secret is the content of the file remote_secret, or
     * "". */
    enum remote_next (*next)(void *state, struct arena *arena, const char *secret,
                             const struct remote_answer *answer, struct remote_request *out,
                             struct errinfo *ei);
    /* The request that cancels the work; false if there is none. */
    bool (*cancel)(void *state, struct arena *arena, const char *secret,
                   struct remote_request *out);
};

/* --- plans */

/* Everything lives in the arena given to make(), and nothing in the message, which takes much
 * memory when parsed and is freed once the plan is made. */
struct task_plan {
    const char *text;            /* the command as written, for lists and messages */
    const char *key;             /* tasks of a Canary with equal keys are the same task */
    const char *const *argv;     /* NULL-ended; NULL for a conversation */
    const struct remote *remote; /* NULL for a command */
    void *remote_state;
    const char *remote_secret;     /* file below remote_secret_dir that the conversation needs; NULL
                                * if none */
    const char *remote_secret_dir; /* from the policy */
    const struct load_order *load; /* load from many pods; NULL for other tasks */
    int64_t timeout_ms;            /* limit of the type, 0: only the global one */
    struct task_bounds bounds;
    bool log_output;
    bool return_output; /* blocking types: the body of the reply is the output */
    bool return_value;  /* for every type, the reply is sent after the end: JSON with its value */
};

struct task_type {
    const char *name;
    bool blocking; /* the reply is sent after the end: 200 or 500; otherwise 202 immediately */
    /* ERR_INVALID with the message of a 400 reply; ERR_DENIED with that of a 403 reply. */
    enum err (*make)(struct arena *arena, const struct webhook_message *message,
                     const struct task_policy *policy, struct task_plan *out, struct errinfo *ei);
};

extern const struct task_type *const task_type_table[];
/* NULL if there is no such type; name NULL means the default, cmd. */
const struct task_type *task_type_find(const char *name);

/* --- shared by types */

/* metadata.cmd, logCmdOutput, returnCmdOutput, returnValue and the bounds; key is the text. */
enum err task_read(struct arena *arena, const struct webhook_message *message,
                   struct task_plan *out, struct errinfo *ei) MUST_USE;
/* metadata.failOnError, maxErrorRate (percent) and maxP99 (a duration). */
enum err task_read_bounds(const struct webhook_message *message, struct task_bounds *out,
                          struct errinfo *ei) MUST_USE;
/* A copy of a required, non-empty value, else ERR_INVALID "KEY not found in metadata". */
enum err task_need(struct arena *arena, const struct webhook_message *message, const char *key,
                   const char **out, struct errinfo *ei) MUST_USE;
/* metadata.KEY as a base URL: http or https, without trailing slashes. */
enum err task_url(struct arena *arena, const char *key, const char *text, const char **out,
                  struct errinfo *ei) MUST_USE;
/* A file to be sent, given in metadata.KEY by its name or by its path in the policy's folder.
 * Returns its path below that folder; ERR_DENIED unless the policy allows it. */
enum err task_file(const struct task_policy *policy, const char *key, const char *path,
                   const char **out, struct errinfo *ei) MUST_USE;
/* Checks a conversation with this server against the policy, like a command with one argument. */
enum err task_service(const struct task_policy *policy, const char *type, const char *server,
                      struct errinfo *ei) MUST_USE;

#endif
