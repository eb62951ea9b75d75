#include "decide/waiting.h"

#include <string.h>

#include "decide/condition.h"
#include "fleet/rules/waves.h"
#include "proto/canary.h"
#include "proto/phase.h"

/* --- the meaning of conditions for users */

struct meaning {
    const char *type, *reason; /* reason: NULL for all others */
    const char *bad;           /* the status that means there is something to report */
    enum waiting_kind kind;
    const char *words;
};

static const struct meaning meanings[] = {
    {CONDITION_ROUTES, "RoutesBlocked", "False", WAITING_PERSON, "its routes cannot be made"},
    {CONDITION_ROUTES, "RouteUnfit", "False", WAITING_PERSON,
     "a route that it names cannot be written"},
    {CONDITION_OWNERS, "SelectsOthers", "False", WAITING_PERSON,
     "its labels are of other pods as well"},
    {CONDITION_MEASURED, "LoadTestRuns", "False", WAITING_WAITS, "its load test runs"},
    {CONDITION_WHOLE, "HalfPromoted", "False", WAITING_NOTE, "its primary has half of a revision"},
#define TRUE  "True"
#define FALSE "False"
#define CONDITION(name, type, holds, of_spec, bad, kind, words)                                    \
    {type, NULL, bad, WAITING_##kind, words},
#include "decide/conditions.def"
#undef CONDITION
};

/* For a type that only a later controller has: reported if it is False. */
static const struct meaning unknown = {NULL, NULL, "False", WAITING_NOTE, "it reports"};

static bool is(const char *text, const char *other)
{
    return text && strcmp(text, other) == 0;
}

static const struct meaning *meaning_of(struct json_object *condition)
{
    const char *type = json_str_at(condition, "type", NULL);
    const char *reason = json_str_at(condition, "reason", NULL);

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        const struct meaning *at = &meanings[i];
        if (is(type, at->type) && (!at->reason || is(reason, at->reason)))
            return at;
    }
    return &unknown;
}

const char *waiting_kind_name(enum waiting_kind kind)
{
    static const char *const names[] = {[WAITING_QUIET] = "quiet",
                                        [WAITING_MINOR] = "minor",
                                        [WAITING_NOTE] = "note",
                                        [WAITING_WAITS] = "waits",
                                        [WAITING_PERSON] = "person"};

    return names[kind];
}

bool waiting_is_bad(struct json_object *condition)
{
    const struct meaning *means = meaning_of(condition);

    return means->kind != WAITING_QUIET && is(json_str_at(condition, "status", NULL), means->bad);
}

/* --- the condition that counts */

struct reading {
    struct arena *arena;
    struct json_object *canary, *status;
    struct waiting *out;
};

static struct json_object *condition_of(const struct reading *w, const char *type)
{
    return json_find(json_at(w->status, "conditions", NULL), "type", type, NULL);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *command(const struct reading *w, const char *verb)
{
    const char *namespace_ = json_str_at(w->canary, "metadata", "namespace", NULL);

    return arena_printf(w->arena, "kubectl canary %s %s -n %s", verb,
                        or_empty(json_str_at(w->canary, "metadata", "name", NULL)),
                        namespace_ ? namespace_ : "default");
}

/* "WORDS: MESSAGE" */
static void report(const struct reading *w, struct json_object *condition,
                   const struct meaning *means)
{
    const char *message = or_empty(json_str_at(condition, "message", NULL));

    *w->out = (struct waiting){
        .kind = means->kind,
        .reason = or_empty(json_str_at(condition, "reason", NULL)),
        .text = *message ? arena_printf(w->arena, "%s: %s", means->words, message) : means->words,
        .since = json_str_at(condition, "lastTransitionTime", NULL)};
}

static bool suspended(const struct reading *w)
{
    struct json_object *condition = condition_of(w, CONDITION_SUSPENDED);
    const char *plan = json_str_at(w->canary, "metadata", "annotations", WAVES_HELD_BY, NULL);
    bool noted = is(json_str_at(condition, "status", NULL), "True");

    if (!noted && !json_bool_at(w->canary, false, "spec", "suspend", NULL))
        return false;
    if (noted)
        report(w, condition, meaning_of(condition));
    else
        *w->out = (struct waiting){.kind = WAITING_PERSON,
                                   .reason = "Suspended",
                                   .text = "it is suspended: spec.suspend is true"};
    if (plan && *plan) {
        w->out->kind = WAITING_WAITS;
        w->out->text =
            arena_printf(w->arena, "the ReleasePlan %s holds it until its turn comes", plan);
    }
    return true;
}

/* True if the step of the spec is the running one that the status records. */
static bool is_running(struct json_object *step, struct json_object *noted)
{
    if (json_at(step, "match", NULL))
        return json_bool_at(noted, false, "match", NULL);
    if (json_at(step, "mirror", NULL))
        return json_int_at(noted, 0, "mirror", NULL) > 0;
    return !json_bool_at(noted, false, "match", NULL) &&
           json_same(json_at(step, "weight", NULL), json_at(noted, "weight", NULL));
}

struct json_object *waiting_step(struct json_object *canary, size_t *index)
{
    struct json_object *steps = json_at(canary, "spec", "analysis", "steps", NULL);
    struct json_object *noted = json_at(canary, "status", "step", NULL);

    if (!steps)
        steps = json_at(canary, "spec", "canaryAnalysis", "steps", NULL);
    for (*index = 0; noted && *index < json_len(steps); ++*index) {
        if (is_running(json_elem(steps, *index), noted))
            return json_elem(steps, *index);
    }
    return NULL;
}

static const char *gate_of_step(const struct reading *w, const char *by)
{
    size_t index;
    struct json_object *step = waiting_step(w->canary, &index);
    const char *kind = json_at(step, "match", NULL) ? "match" : "mirror";

    if (!step)
        return arena_printf(w->arena, "%s: a person decides", by);
    if (json_at(step, "weight", NULL))
        kind =
            arena_printf(w->arena, "weight %s", json_text(w->arena, json_at(step, "weight", NULL)));
    return arena_printf(w->arena, "step %zu, %s: a person decides (%s)", index + 1, kind, by);
}

static bool paused(const struct reading *w)
{
    struct json_object *note = json_at(w->status, "paused", NULL);
    const char *by = or_empty(json_str_at(note, "by", NULL));
    const char *why = or_empty(json_str_at(note, "why", NULL));
    const char *text;

    if (!json_object_is_type(note, json_type_object))
        return false;
    if (json_bool_at(note, false, "gate", NULL))
        text = gate_of_step(w, by);
    else
        text = arena_printf(w->arena, "it is paused by %s%s%s", by, *why ? ": " : "", why);
    *w->out = (struct waiting){
        .kind = WAITING_PERSON,
        .reason = "Paused",
        .text = arena_printf(w->arena, "%s; %s lets it go on", text, command(w, "resume")),
        .since = json_str_at(note, "since", NULL)};
    return true;
}

static bool is_older(const char *since, const char *other)
{
    return since && (!other || strcmp(since, other) < 0);
}

static void conditions(const struct reading *w)
{
    struct json_object *list = json_at(w->status, "conditions", NULL), *first = NULL;
    const struct meaning *most = NULL;

    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *one = json_elem(list, i);
        const struct meaning *means = meaning_of(one);
        if (!waiting_is_bad(one))
            continue;
        if (!first || means->kind > most->kind ||
            (means->kind == most->kind &&
             is_older(json_str_at(one, "lastTransitionTime", NULL),
                      json_str_at(first, "lastTransitionTime", NULL)))) {
            first = one;
            most = means;
        }
    }
    if (first)
        report(w, first, most);
}

/* The closed gate that was asked last; NULL if no answer is recorded. */
static struct json_object *closed_gate(const struct reading *w)
{
    struct json_object *hooks = json_at(w->status, "release", "hooks", NULL), *last = NULL;
    enum hook_type type;

    for (size_t i = 0; i < json_len(hooks); i++) {
        struct json_object *hook = json_elem(hooks, i);
        if (hook_type_find(json_str_at(hook, "type", NULL), &type) && hook_type_is_gate(type) &&
            !json_bool_at(hook, true, "passed", NULL) &&
            (!last || !is_older(json_str_at(hook, "at", NULL), json_str_at(last, "at", NULL))))
            last = hook;
    }
    return last;
}

/* A gate without a deadline has no condition. */
static void gate(const struct reading *w)
{
    enum phase phase = phase_parse(json_str_at(w->status, "phase", NULL));
    struct json_object *hook;

    if ((phase != PHASE_Waiting && phase != PHASE_WaitingPromotion) ||
        w->out->kind == WAITING_PERSON)
        return;
    hook = closed_gate(w);
    *w->out = (struct waiting){
        .kind = WAITING_PERSON,
        .reason = "GateClosed",
        .text = hook ? arena_printf(w->arena, "the gate %s is closed: a person has to approve",
                                    or_empty(json_str_at(hook, "name", NULL)))
                     : "a gate is closed: a person has to approve",
        .since = json_str_at(w->status, "lastTransitionTime", NULL)};
}

void waiting_of(struct arena *arena, struct json_object *canary, struct waiting *out)
{
    const struct reading w = {
        .arena = arena, .canary = canary, .status = json_at(canary, "status", NULL), .out = out};

    *out = (struct waiting){.kind = WAITING_QUIET, .reason = "", .text = ""};
    if (suspended(&w) || paused(&w))
        return;
    conditions(&w);
    gate(&w);
}
