#include <string.h>

#include "ctl/state.h"
#include "decide/waiting.h"
#include "fleet/rules/waves.h"
#include "proto/canary.h"
#include "proto/phase.h"

struct judging {
    struct arena *arena;
    const struct verdict_question *q;
    struct json_object *status;
    enum phase phase;
    const char *applied, *promoted;
    struct waiting waiting;
    struct verdict_answer *out;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool same(const char *a, const char *b)
{
    return a && b && *a && strcmp(a, b) == 0;
}

const char *verdict_name(enum ctl_exit outcome)
{
    switch (outcome) {
    case CTL_DONE:
        return "promoted";
    case CTL_FAILED:
        return "failed";
    case CTL_PERSON:
        return "waiting";
    case CTL_SUPERSEDED:
        return "superseded";
    default:
        return "progressing";
    }
}

static void say(struct judging *j, enum ctl_exit outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void say(struct judging *j, enum ctl_exit outcome, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    j->out->sentence = arena_vprintf(j->arena, fmt, args);
    va_end(args);
    j->out->outcome = outcome;
}

/* --- pods */

/* Number of pods of the previous revision, which a Deployment keeps until the new pods are
 * ready. */
static int64_t old_pods(struct json_object *deployment)
{
    int64_t all = json_int_at(deployment, 0, "status", "replicas", NULL);

    return all - json_int_at(deployment, all, "status", "updatedReplicas", NULL);
}

bool glance_falls_short(struct json_object *object, int64_t *ready, int64_t *wanted)
{
    *wanted = json_int_at(object, 1, "spec", "replicas", NULL);
    *ready = json_int_at(object, 0, "status", "readyReplicas", NULL) - old_pods(object);
    *ready = *ready > 0 ? *ready : 0;
    if (json_at(object, "status", "desiredNumberScheduled", NULL)) {
        *wanted = json_int_at(object, 0, "status", "desiredNumberScheduled", NULL);
        *ready = json_int_at(object, 0, "status", "numberReady", NULL);
    } else if (!json_at(object, "spec", "replicas", NULL)) {
        return false;
    }
    return *ready < *wanted;
}

/* Why a release waits for ready pods if no condition says so; NULL if it does not wait. */
static const char *pods_waited_for(const struct judging *j)
{
    struct json_object *sides[] = {j->q->primary, j->q->target};
    int64_t ready, wanted;

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
        if (glance_falls_short(sides[i], &ready, &wanted))
            return arena_printf(j->arena, "%lld of %lld pods of %s are ready", (long long)ready,
                                (long long)wanted,
                                or_empty(json_str_at(sides[i], "metadata", "name", NULL)));
    return NULL;
}

/* --- images */

static bool template_has(struct json_object *object, const char *image)
{
    struct json_object *spec = json_at(object, "spec", "template", "spec", NULL);
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        struct json_object *containers = json_at(spec, lists[k], NULL);
        for (size_t i = 0; i < json_len(containers); i++)
            if (same(json_str_at(json_elem(containers, i), "image", NULL), image))
                return true;
    }
    return false;
}

/* The ReleasePlan that holds the Canary until its turn; NULL if none. */
static const char *plan_of(const struct judging *j)
{
    const char *suspended =
        json_str_at(glance_condition(j->q->canary, "Suspended"), "status", NULL);

    return same(suspended, "True")
               ? json_str_at(j->q->canary, "metadata", "annotations", WAVES_HELD_BY, NULL)
               : NULL;
}

/* --- what it waits for */

/* Why the release waits for a user; NULL if it does not. */
static const char *person_of(const struct judging *j)
{
    return j->waiting.kind == WAITING_PERSON ? j->waiting.text : NULL;
}

/* ": its primary is not ready: ...", to be appended to a state that does not change at once by
 * itself; otherwise "". */
static const char *wait_of(const struct judging *j)
{
    const char *what = j->waiting.kind == WAITING_WAITS ? j->waiting.text : pods_waited_for(j);

    return what ? arena_printf(j->arena, ": %s", what) : "";
}

/* "; the last check failed: ...", to be appended; the release does not wait for it. */
static const char *note_of(const struct judging *j)
{
    return j->waiting.kind == WAITING_NOTE ? arena_printf(j->arena, "; %s", j->waiting.text) : "";
}

/* --- which revision */

/* Judges a revision that another revision has followed. */
static void judge_past(struct judging *j, const char *revision)
{
    struct json_object *history = json_at(j->status, "history", NULL);

    for (size_t i = 0; i < json_len(history); i++) {
        struct json_object *entry = json_elem(history, i);
        const char *outcome = or_empty(json_str_at(entry, "outcome", NULL));
        const char *reason = or_empty(json_str_at(entry, "reason", NULL));
        if (!same(json_str_at(entry, "revision", NULL), revision))
            continue;
        if (strcmp(outcome, "promoted") == 0)
            say(j, CTL_DONE, "revision %s was promoted; %s has followed it", revision, j->applied);
        else if (strcmp(outcome, "failed") == 0)
            say(j, CTL_FAILED, "revision %s was rolled back: %s", revision, reason);
        else
            say(j, CTL_SUPERSEDED, "the release of revision %s was cancelled: %s", revision,
                reason);
        return;
    }
    say(j, CTL_SUPERSEDED,
        "revision %s is neither the one that was analysed last (%s) nor in the history", revision,
        *j->applied ? j->applied : "none");
}

static const char *failure(const struct judging *j)
{
    const char *reason =
        json_str_at(json_elem(json_at(j->status, "history", NULL), 0), "reason", NULL);

    if (!reason)
        reason = json_str_at(glance_condition(j->q->canary, "ChecksPassed"), "message", NULL);
    return reason ? reason : "the analysis failed";
}

/* Judges the revision in the status. */
static void judge_now(struct judging *j, const char *revision)
{
    const char *plan = plan_of(j), *person = person_of(j);
    struct glance at;

    glance_at(j->arena, j->q->canary, &at);
    switch (j->phase) {
    case PHASE_Succeeded:
    case PHASE_Initialized:
        say(j, CTL_DONE, "revision %s is promoted", revision);
        return;
    case PHASE_Failed:
        say(j, CTL_FAILED, "revision %s was rolled back: %s", revision, failure(j));
        return;
    case PHASE_Terminating:
    case PHASE_Terminated:
        say(j, CTL_SUPERSEDED, "the Canary is being deleted");
        return;
    default:
        break;
    }
    if (plan)
        say(j, CTL_TIMED_OUT, "revision %s is held by the ReleasePlan %s", revision, plan);
    else if (person)
        say(j, CTL_PERSON, "revision %s waits for a person: %s", revision, person);
    else
        say(j, CTL_TIMED_OUT, "revision %s is %s at %s%%%s%s", revision,
            *at.phase ? at.phase : "not looked at yet", weight_text(j->arena, at.weight),
            wait_of(j), note_of(j));
}

/* The target has the revision, but the status does not mention it yet. */
static void judge_new(struct judging *j, const char *revision)
{
    const char *plan = plan_of(j), *person = person_of(j);

    if (plan)
        say(j, CTL_TIMED_OUT, "revision %s waits for its turn in the ReleasePlan %s", revision,
            plan);
    else if (person)
        say(j, CTL_PERSON, "revision %s waits for a person: %s", revision, person);
    else
        say(j, CTL_TIMED_OUT, "revision %s has not begun%s", revision, wait_of(j));
}

/* Finds the revision with an image: the target's, the promoted one, or an earlier one. */
static bool by_image(struct judging *j)
{
    const char *image = j->q->image;

    if (!j->q->target) {
        say(j, CTL_SERVER,
            "the target could not be read, so nobody knows which revision has the "
            "image %s",
            image);
        return false;
    }
    if (template_has(j->q->target, image))
        return true;
    say(j, CTL_SUPERSEDED, "no container of the target has the image %s%s", image,
        template_has(j->q->primary, image) ? ", but the primary still has it" : "");
    return false;
}

/* No revision is known: the Canary is new, or was refused or suspended from the start. */
static void judge_unknown(struct judging *j)
{
    const char *plan = plan_of(j), *person = person_of(j);

    if (plan)
        say(j, CTL_TIMED_OUT, "it waits for its turn in the ReleasePlan %s", plan);
    else if (person)
        say(j, CTL_PERSON, "nothing is released yet, it waits for a person: %s", person);
    else if (j->phase == PHASE_NONE)
        say(j, CTL_TIMED_OUT, "no controller has looked at the Canary yet");
    else
        judge_now(j, "none");
}

void verdict_of(struct arena *arena, const struct verdict_question *question,
                struct verdict_answer *out)
{
    struct json_object *status = json_at(question->canary, "status", NULL);
    struct judging j = {.arena = arena,
                        .q = question,
                        .status = status,
                        .phase = phase_parse(json_str_at(status, "phase", NULL)),
                        .applied = or_empty(json_str_at(status, "lastAppliedSpec", NULL)),
                        .promoted = or_empty(json_str_at(status, "lastPromotedSpec", NULL)),
                        .out = out};
    const char *revision = question->revision;

    *out = (struct verdict_answer){.revision = or_empty(revision)};
    waiting_of(arena, question->canary, &j.waiting);
    if (question->image && !by_image(&j))
        return;
    if (!revision)
        revision = question->live ? question->live : j.applied;
    out->revision = revision;
    if (!*revision && !*j.applied)
        judge_unknown(&j);
    else if (strcmp(revision, j.applied) == 0)
        judge_now(&j, revision);
    else if (same(question->live, revision))
        judge_new(&j, revision);
    else if (same(revision, j.promoted) && j.phase != PHASE_Failed)
        say(&j, CTL_DONE, "revision %s was promoted; %s has followed it", revision, j.applied);
    else
        judge_past(&j, revision);
}

static const char *text_or(const char *text, const char *missing)
{
    return text ? text : missing;
}

struct json_object *glance_condition(struct json_object *canary, const char *type)
{
    return json_find(json_at(canary, "status", "conditions", NULL), "type", type, NULL);
}

static bool is_approval(struct json_object *hook)
{
    const char *said = text_or(json_str_at(hook, "said", NULL), "");
    enum hook_type type;

    return hook_type_find(json_str_at(hook, "type", NULL), &type) && hook_type_is_gate(type) &&
           json_bool_at(hook, false, "passed", NULL) && *said && strcmp(said, "Approved") != 0 &&
           strcmp(said, "OK") != 0;
}

const char *glance_approvals(struct arena *arena, struct json_object *release)
{
    struct json_object *hooks = json_at(release, "hooks", NULL);
    const char *out = "";

    for (size_t i = 0; i < json_len(hooks); i++) {
        struct json_object *hook = json_elem(hooks, i);
        if (is_approval(hook))
            out = arena_printf(arena, "%s%s%s: %s", out, *out ? "; " : "",
                               print_clean(arena, json_str_at(hook, "name", NULL)),
                               print_clean(arena, json_str_at(hook, "said", NULL)));
    }
    return out;
}

void glance_at(struct arena *arena, struct json_object *canary, struct glance *out)
{
    struct json_object *analysis = json_at(canary, "spec", "analysis", NULL);
    struct waiting waiting;

    if (!analysis)
        analysis = json_at(canary, "spec", "canaryAnalysis", NULL);
    waiting_of(arena, canary, &waiting);
    *out = (struct glance){
        .namespace_ = text_or(json_str_at(canary, "metadata", "namespace", NULL), "default"),
        .name = text_or(json_str_at(canary, "metadata", "name", NULL), ""),
        .phase = text_or(json_str_at(canary, "status", "phase", NULL), ""),
        .revision = text_or(json_str_at(canary, "status", "lastAppliedSpec", NULL), ""),
        .weight = weight_of_status(json_at(canary, "status", NULL)),
        .matches = json_bool_at(canary, false, "status", "step", "match", NULL) &&
                   !json_str_at(canary, "status", "canaryServes", NULL),
        .copied = (int)json_int_at(canary, 0, "status", "step", "mirror", NULL),
        .failed_checks = (int)json_int_at(canary, 0, "status", "failedChecks", NULL),
        .threshold = (int)json_int_at(analysis, 1, "threshold", NULL),
        .since = json_str_at(canary, "status", "lastTransitionTime", NULL),
        .reason = print_clean(arena, waiting.reason),
    };
}

const char *glance_share(struct arena *arena, const struct glance *at)
{
    if (at->matches && at->weight > 0)
        return "matches";
    if (at->copied > 0 && at->weight == 0)
        return arena_printf(arena, "copy of %d%%", at->copied);
    return arena_printf(arena, "%s%%", weight_text(arena, at->weight));
}

enum print_color glance_color(const char *phase)
{
    switch (phase_parse(phase)) {
    case PHASE_Succeeded:
    case PHASE_Initialized:
        return PRINT_GREEN;
    case PHASE_Failed:
        return PRINT_RED;
    case PHASE_NONE:
        return PRINT_DIM;
    default:
        return PRINT_YELLOW;
    }
}
