#include <string.h>

#include "ctl/state.h"
#include "fleet/rules/waves.h"
#include "proto/canary.h"
#include "proto/phase.h"

struct judging {
    struct arena *arena;
    const struct verdict_question *q;
    struct json_object *status;
    enum phase phase;
    const char *applied, *promoted;
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

/* The ReleasePlan that holds it until its turn comes; NULL if none. */
static const char *plan_of(const struct judging *j)
{
    const char *suspended =
        json_str_at(glance_condition(j->q->canary, "Suspended"), "status", NULL);

    return same(suspended, "True")
               ? json_str_at(j->q->canary, "metadata", "annotations", WAVES_HELD_BY, NULL)
               : NULL;
}

/* --- a person */

/* The reason why the release waits for a person; NULL if it does not. */
static const char *person_of(const struct judging *j)
{
    static const struct {
        const char *type, *status, *what;
    } rows[] = {
        {"Suspended", "True", "it is suspended"},
        {"Accepted", "False", "its spec is refused"},
        {"Approved", "False", "a gate is closed"},
        {"ResourcesAllowed", "False", "the controller lacks a right"},
        {"ResourcesServed", "False", "a CRD is missing"},
        {"WritesAccepted", "False", "the API server refuses a write"},
    };
    struct json_object *paused = json_at(j->status, "paused", NULL);

    if (paused)
        return arena_printf(j->arena, "%s has paused it: %s",
                            or_empty(json_str_at(paused, "by", NULL)),
                            or_empty(json_str_at(paused, "why", NULL)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *condition = glance_condition(j->q->canary, rows[i].type);
        if (same(json_str_at(condition, "status", NULL), rows[i].status))
            return arena_printf(j->arena, "%s: %s", rows[i].what,
                                or_empty(json_str_at(condition, "message", NULL)));
    }
    if (j->phase == PHASE_Waiting || j->phase == PHASE_WaitingPromotion)
        return "a gate is closed";
    return NULL;
}

/* --- which revision */

/* Judges a revision that another one has followed. */
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
        say(j, CTL_TIMED_OUT, "revision %s is %s at %d%%%s%s", revision,
            *at.phase ? at.phase : "not looked at yet", at.weight, *at.reason ? ": " : "",
            at.reason);
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
        say(j, CTL_TIMED_OUT, "revision %s has not begun", revision);
}

/* Finds the revision of an image: the target's, the promoted one, or an earlier one. */
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

bool glance_is_trouble(struct json_object *condition)
{
    const char *type = text_or(json_str_at(condition, "type", NULL), "");
    const char *status = text_or(json_str_at(condition, "status", NULL), "");

    if (strcmp(type, "Promoted") == 0)
        return false;
    if (strcmp(type, "Suspended") == 0 || strcmp(type, "Ignored") == 0)
        return strcmp(status, "True") == 0;
    return strcmp(status, "False") == 0;
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

/* The first condition that is not just progress. */
static const char *reason_of(struct json_object *canary)
{
    static const char *const harmless[] = {"Ignored", "MirrorWeight", "Drained"};
    struct json_object *list = json_at(canary, "status", "conditions", NULL);
    const char *note = "";

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *condition = json_elem(list, i);
        const char *type = text_or(json_str_at(condition, "type", NULL), "");
        const char *reason = text_or(json_str_at(condition, "reason", NULL), "");
        bool small = false;
        if (!glance_is_trouble(condition))
            continue;
        for (size_t k = 0; k < sizeof(harmless) / sizeof(harmless[0]); k++)
            small = small || strcmp(harmless[k], type) == 0;
        if (!small)
            return reason;
        note = reason;
    }
    return note;
}

/* A gate without a deadline has no condition. */
static bool is_at_gate(const char *phase)
{
    enum phase at = phase_parse(phase);

    return at == PHASE_Waiting || at == PHASE_WaitingPromotion;
}

void glance_at(struct arena *arena, struct json_object *canary, struct glance *out)
{
    struct json_object *analysis = json_at(canary, "spec", "analysis", NULL);

    if (!analysis)
        analysis = json_at(canary, "spec", "canaryAnalysis", NULL);
    *out = (struct glance){
        .namespace_ = text_or(json_str_at(canary, "metadata", "namespace", NULL), "default"),
        .name = text_or(json_str_at(canary, "metadata", "name", NULL), ""),
        .phase = text_or(json_str_at(canary, "status", "phase", NULL), ""),
        .revision = text_or(json_str_at(canary, "status", "lastAppliedSpec", NULL), ""),
        .weight = (int)json_int_at(canary, 0, "status", "canaryWeight", NULL),
        .failed_checks = (int)json_int_at(canary, 0, "status", "failedChecks", NULL),
        .threshold = (int)json_int_at(analysis, 1, "threshold", NULL),
        .since = json_str_at(canary, "status", "lastTransitionTime", NULL),
        .reason = print_clean(arena, reason_of(canary)),
    };
    if (json_at(canary, "status", "paused", NULL))
        out->reason = "Paused";
    else if (!*out->reason && is_at_gate(out->phase))
        out->reason = "GateClosed";
    out->weight = out->weight < 0 ? 0 : out->weight > 100 ? 100 : out->weight;
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
