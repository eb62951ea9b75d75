/*
 * The types that run a command: cmd by sh (the default type, in the background), bash by bash, and
 * kubectl and helm by their program with the words of metadata.cmd. helmv3 is the name of helm in
 * specs from the time of helm 2. For all types except cmd, the reply waits for the end.
 */
#include <string.h>

#include "loadtester/command_line.h"
#include "loadtester/policy.h"
#include "loadtester/task.h"

static enum err check_allowed(const struct task_policy *policy, const struct task_plan *plan,
                              struct errinfo *ei)
{
    return policy->commands ? policy_check(policy->commands, plan->argv, ei) : ERR_OK;
}

/* argv: the plan's text for a shell if the policy allows one, else its words. */
static enum err run_shell(struct arena *arena, const char *shell, const struct task_policy *policy,
                          struct task_plan *plan, struct errinfo *ei)
{
    if (!policy->shell) {
        enum err err = words_split(arena, plan->text, &plan->argv, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "cmd is run without a shell (see --allow-shell)");
        return check_allowed(policy, plan, ei);
    }
    const char **argv = arena_array(arena, 4, sizeof(*argv));
    argv[0] = shell;
    argv[1] = "-c";
    argv[2] = plan->text;
    plan->argv = argv;
    return ERR_OK;
}

/* argv: program and the words of the plan's text; never through a shell. */
static enum err run_program(struct arena *arena, const char *program,
                            const struct task_policy *policy, struct task_plan *plan,
                            struct errinfo *ei)
{
    const char *const *words;
    enum err err = words_split(arena, plan->text, &words, ei);
    size_t n = 0;

    if (err != ERR_OK)
        return err_wrap(ei, err, "cmd is run by %s, without a shell", program);
    while (words[n])
        n++;
    const char **argv = arena_array(arena, n + 2, sizeof(*argv));
    argv[0] = program;
    memcpy(argv + 1, words, n * sizeof(*words));
    plan->argv = argv;
    return check_allowed(policy, plan, ei);
}

/* metadata.helmVersion may be missing or ask for version 3, the only one. */
static enum err make_helm(struct arena *arena, const struct webhook_message *message,
                          const struct task_policy *policy, struct task_plan *out,
                          struct errinfo *ei)
{
    const char *version = webhook_metadata(message, "helmVersion");
    enum err err = task_read(arena, message, out, ei);

    if (err == ERR_OK && version && *version) {
        const char *number = version + (*version == 'v');
        if (*number != '3' || (number[1] && number[1] != '.'))
            err = err_set(ei, ERR_INVALID,
                          "metadata.helmVersion: only version 3 is here, found \"%.80s\"", version);
    }
    return err == ERR_OK ? run_program(arena, "helm", policy, out, ei) : err;
}

static enum err make_cmd(struct arena *arena, const struct webhook_message *message,
                         const struct task_policy *policy, struct task_plan *out,
                         struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? run_shell(arena, "sh", policy, out, ei) : err;
}

static enum err make_bash(struct arena *arena, const struct webhook_message *message,
                          const struct task_policy *policy, struct task_plan *out,
                          struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? run_shell(arena, "bash", policy, out, ei) : err;
}

static enum err make_kubectl(struct arena *arena, const struct webhook_message *message,
                             const struct task_policy *policy, struct task_plan *out,
                             struct errinfo *ei)
{
    enum err err = task_read(arena, message, out, ei);
    return err == ERR_OK ? run_program(arena, "kubectl", policy, out, ei) : err;
}

const struct task_type task_type_cmd = {.name = "cmd", .make = make_cmd};
const struct task_type task_type_bash = {.name = "bash", .blocking = true, .make = make_bash};
const struct task_type task_type_kubectl = {
    .name = "kubectl", .blocking = true, .make = make_kubectl};
const struct task_type task_type_helm = {.name = "helm", .blocking = true, .make = make_helm};
const struct task_type task_type_helmv3 = {.name = "helmv3", .blocking = true, .make = make_helm};
