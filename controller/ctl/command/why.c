/* why: one paragraph that explains what holds up a release, or a ReleasePlan, and what to do. */
#include <string.h>

#include "base/clock.h"
#include "ctl/output.h"
#include "ctl/why/why.h"
#include "fleet/rules/select.h"

/* True if nothing holds up the Canary: then the controller itself may be missing. */
static bool leaves_open(const struct why_answer *answer)
{
    static const char *const open[] = {"under-way", "not-begun", "no-controller"};

    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        if (strcmp(answer->situation, open[i]) == 0)
            return true;
    return false;
}

static void tell(const struct ctl *ctl, const struct facts *facts, const struct why_answer *answer)
{
    print_wrapped(ctl, "", arena_printf(ctl->arena, "%s.", answer->text));
    if (facts->denied)
        print_wrapped(ctl, "",
                      arena_printf(ctl->arena, "(You may not read %s, which might say more.)",
                                   facts->denied));
    if (facts->lease_denied && leaves_open(answer))
        print_wrapped(ctl, "",
                      "(You may not read the controller's lease, so whether one works on it is not "
                      "known.)");
    if (answer->next)
        fprintf(ctl->out, "  %s\n", print_in(ctl, PRINT_BOLD, answer->next));
}

static void print_data(struct ctl *ctl, const char *name, const struct facts *facts,
                       const struct why_answer *answer)
{
    struct json_object *out = json_own(ctl->arena, json_object_new_object());

    json_set_str(out, "namespace", ctl->namespace_);
    json_set_str(out, "name", name);
    json_set_str(out, "situation", answer->situation);
    json_set_str(out, "message", answer->text);
    json_set_str(out, "next", answer->next);
    json_set_str(out, "notRead", facts->denied);
    print_object(ctl, out);
}

static int print_answer(struct ctl *ctl, const char *name, const struct facts *facts,
                        const struct why_answer *answer)
{
    if (ctl->output == CTL_TEXT)
        tell(ctl, facts, answer);
    else
        print_data(ctl, name, facts, answer);
    return CTL_DONE;
}

/* The name after "plan/" or "releaseplan/"; NULL if it is a Canary's. */
static const char *plan_name(const char *arg)
{
    static const char *const kinds[] = {"plan/", "releaseplan/"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(arg, kinds[i], strlen(kinds[i])) == 0)
            return arg + strlen(kinds[i]);
    return NULL;
}

static int run_plan(struct ctl *ctl, const char *name)
{
    static const struct facts none;
    struct json_object *plan;
    struct why_answer answer;
    struct errinfo ei = {0};
    enum err err = read_get(ctl, &fleet_release_plans, ctl->namespace_, name, &plan, &ei);

    if (err == ERR_NOT_FOUND)
        return ctl_fail(ctl, CTL_SERVER,
                        "there is no ReleasePlan \"%s\" in namespace \"%s\"; %s fleet -A lists all",
                        name, ctl->namespace_, ctl->program);
    if (err != ERR_OK)
        return read_fail(ctl, err, &ei);
    why_release_plan(ctl->arena, ctl->program, plan, clock_wall_ms(), &answer);
    return print_answer(ctl, name, &none, &answer);
}

static int run(struct ctl *ctl)
{
    struct json_object *canary;
    struct facts facts;
    struct why_answer answer;
    const char *plan = plan_name(ctl->args[0]);

    if (plan)
        return run_plan(ctl, plan);
    int code = read_canary(ctl, ctl->args[0], &canary);
    if (code != CTL_DONE)
        return code;
    facts_read(ctl, canary, &facts);
    facts_read_more(ctl, &facts);
    why_of(ctl->arena, ctl->program, &facts, &answer);
    return print_answer(ctl, ctl->args[0], &facts, &answer);
}

const struct ctl_command ctl_why = {
    .name = "why",
    .summary = "Says in one paragraph what holds a release, and what to do about it.",
    .usage = "NAME | plan/NAME",
    .help =
        "It names the cause, since when, the numbers behind it, and a command that helps. It "
        "looks at the Canary, its target, pods and events, the controller's lease and the "
        "gate, as far as you may read them. Of a ReleasePlan it says what would let it go on, as "
        "far as its status tells.\n"
        "\n"
        "Examples:\n"
        "    {ctl} why podinfo -n test\n"
        "    {ctl} why plan/shop\n",
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = run,
};
