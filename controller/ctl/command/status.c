/* status: the outcome of a revision, for users and for pipelines. */
#include <string.h>

#include "base/clock.h"
#include "ctl/facts.h"
#include "ctl/output.h"
#include "ctl/state.h"
#include "kube/watch.h"
#include "proto/weight.h"

enum { AGAIN_MS = 5000 };

static struct {
    const char *revision, *image;
    int64_t timeout_ms;
    bool wait, until_person;
} opt;

static const struct option_row rows[] = {
    OPTION(STRING, "revision", &opt.revision, .arg = "HASH",
           .help = "of this revision (status.lastAppliedSpec); default the newest of the target"),
    OPTION(STRING, "image", &opt.image, .arg = "REF",
           .help = "of the revision with this image, as the target names it"),
    OPTION(BOOL, "wait", &opt.wait, .help = "wait until it is promoted or has failed"),
    OPTION(BOOL, "until-person", &opt.until_person,
           .help = "with --wait: end with 5 as soon as the release waits for a person"),
    OPTION(DURATION, "timeout", &opt.timeout_ms, .value = "0", .arg = "DURATION",
           .help = "with --wait: how long; then it ends with 5 if the release waits for a person, "
                   "else with 4; 0: as long as it takes"),
    {0}};

/* One poll. CTL_SERVER: *trouble is the reason, and *err determines whether to retry. */
static enum err look(struct ctl *ctl, struct verdict_answer *out, struct json_object **canary,
                     struct errinfo *ei)
{
    enum err err = read_get(ctl, &read_canaries, ctl->namespace_, ctl->args[0], canary, ei);
    struct facts facts;

    if (err != ERR_OK)
        return err;
    facts_read_objects(ctl, *canary, &facts);
    const struct verdict_question question = {.canary = *canary,
                                              .target = facts.target,
                                              .primary = facts.primary,
                                              .live = revision_of_target(ctl, *canary),
                                              .revision = opt.revision,
                                              .image = opt.image};
    verdict_of(ctl->arena, &question, out);
    return ERR_OK;
}

static int tell(const struct ctl *ctl, const struct verdict_answer *answer,
                struct json_object *canary)
{
    if (ctl->output == CTL_TEXT) {
        print_wrapped(ctl, "", answer->sentence);
        return (int)answer->outcome;
    }
    struct json_object *out = json_own(ctl->arena, json_object_new_object());
    json_set_str(out, "namespace", ctl->namespace_);
    json_set_str(out, "name", ctl->args[0]);
    json_set_str(out, "revision", answer->revision);
    json_set_str(out, "outcome", verdict_name(answer->outcome));
    json_set_int(out, "exitCode", answer->outcome);
    json_set_str(out, "phase", json_str_at(canary, "status", "phase", NULL));
    weight_put(ctl->arena, out, "weight", weight_of_status(json_at(canary, "status", NULL)));
    json_set_str(out, "message", answer->sentence);
    print_object(ctl, out);
    return (int)answer->outcome;
}

/* --- waiting */

struct waiting {
    struct ctl *ctl;
    int64_t until_ms; /* monotonic; 0 if none */
    bool changed;
    const char *told; /* the last sentence written to ctl->err */
};

static void on_change(void *arg, enum watch_event event, struct json_object *object)
{
    struct waiting *w = arg;

    (void)object;
    w->changed = w->changed || event == WATCH_PUT || event == WATCH_GONE;
}

static void on_time(void *arg)
{
    struct waiting *w = arg;

    w->changed = true;
}

/* Prints progress for the log of a pipeline. */
static void tell_progress(struct waiting *w, const char *sentence)
{
    char now[CLOCK_TEXT];

    if (w->told && strcmp(w->told, sentence) == 0)
        return;
    w->told = arena_strdup(w->ctl->arena, sentence);
    fprintf(w->ctl->err, "%s  %s\n", clock_rfc3339(clock_wall_ms(), now),
            print_clean(w->ctl->arena, sentence));
}

static bool is_over(const struct waiting *w, const struct verdict_answer *answer)
{
    if (answer->outcome == CTL_TIMED_OUT || (answer->outcome == CTL_PERSON && !opt.until_person))
        return w->until_ms > 0 && clock_monotonic_ms() >= w->until_ms;
    return true;
}

/* True if it is done; *code is the exit code. */
static bool look_again(struct waiting *w, int *code)
{
    struct ctl page = *w->ctl;
    struct verdict_answer answer;
    struct json_object *canary;
    struct errinfo ei = {0};

    page.arena = arena_new();
    enum err err = look(&page, &answer, &canary, &ei);
    bool over = err == ERR_OK
                    ? is_over(w, &answer)
                    : err != ERR_RETRY || (w->until_ms > 0 && clock_monotonic_ms() >= w->until_ms);
    if (!over)
        tell_progress(w, err == ERR_OK ? answer.sentence : ei.text);
    else if (err == ERR_OK)
        *code = tell(&page, &answer, canary);
    else
        *code = read_canary_fail(&page, page.args[0], err, &ei);
    arena_free(page.arena);
    return over;
}

static int wait_for_it(struct ctl *ctl)
{
    struct waiting w = {.ctl = ctl};
    const struct watch_spec spec = {.resource = &read_canaries,
                                    .namespace_ = ctl->namespace_,
                                    .field_selector =
                                        arena_printf(ctl->arena, "metadata.name=%s", ctl->args[0])};
    struct watch *watch = watch_new(ctl->loop, ctl->kube, &spec, on_change, &w);
    struct timer *again = timer_start(ctl->loop, AGAIN_MS, AGAIN_MS, on_time, &w), *end = NULL;
    int code = CTL_DONE;

    if (opt.timeout_ms > 0) {
        w.until_ms = clock_monotonic_ms() + opt.timeout_ms;
        end = timer_start(ctl->loop, opt.timeout_ms, AGAIN_MS, on_time, &w);
    }
    while (!look_again(&w, &code)) {
        w.changed = false;
        while (!w.changed)
            uv_run(loop_uv(ctl->loop), UV_RUN_ONCE);
    }
    timer_stop(again);
    timer_stop(end);
    watch_free(watch);
    return code;
}

static int run(struct ctl *ctl)
{
    struct verdict_answer answer;
    struct json_object *canary;
    struct errinfo ei = {0};

    if (opt.revision && opt.image)
        return ctl_fail(ctl, CTL_USAGE, "status: --revision or --image, not both");
    if (!opt.wait && (opt.timeout_ms > 0 || opt.until_person))
        return ctl_fail(ctl, CTL_USAGE, "status: --timeout and --until-person belong to --wait");
    if (opt.wait)
        return wait_for_it(ctl);
    enum err err = look(ctl, &answer, &canary, &ei);
    if (err != ERR_OK)
        return read_canary_fail(ctl, ctl->args[0], err, &ei);
    return tell(ctl, &answer, canary);
}

const struct ctl_command ctl_status = {
    .name = "status",
    .summary = "Says what became of a revision, by its exit code as well.",
    .usage = "NAME",
    .help = "Exit codes: 0 promoted, 3 rolled back, 4 still under way, 5 waiting for a person, 6 "
            "another revision has taken its place; 1 no answer from the server, 2 wrong command "
            "line. While it waits, each change is a line on standard error.\n"
            "\n"
            "Examples:\n"
            "    {ctl} status podinfo -n test\n"
            "    {ctl} status podinfo -n test --image podinfo:6.1.0 --wait --timeout 30m\n",
    .rows = rows,
    .accepts = CTL_OUT_DATA,
    .min_args = 1,
    .max_args = 1,
    .completes = "canary",
    .run = run,
};
