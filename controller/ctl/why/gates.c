/* A gate is closed: why, by what the gate says. */
#include <string.h>

#include "ctl/gate.h"
#include "ctl/why/parts.h"

/* Since when a gate holds the release, as far as the Canary tells; NULL: none does. */
static struct json_object *closed_gate(const struct why *w)
{
    struct json_object *condition = why_condition(w, "Approved", "False");

    if (condition)
        return condition;
    if (w->phase == PHASE_Waiting || w->phase == PHASE_WaitingPromotion)
        condition = glance_condition(w->facts->canary, "Promoted");
    else
        return NULL;
    return condition ? condition : w->status; /* which has a time as well */
}

static const char *gate_type(const struct why *w)
{
    struct json_object *condition = why_condition(w, "Approved", "False");

    if (w->phase == PHASE_Waiting)
        return "confirm-rollout";
    if (w->phase == PHASE_WaitingPromotion)
        return "confirm-promotion";
    return condition ? "confirm-traffic-increase" : "";
}

/* "the gate promote (confirm-promotion)" */
static const char *gate_name(struct why *w)
{
    struct json_object *hooks = json_at(w->spec, "analysis", "webhooks", NULL);
    const char *names = "";

    for (size_t i = 0; i < json_len(hooks); i++) {
        const char *name = json_str_at(json_elem(hooks, i), "name", NULL);
        if (name && why_is(json_str_at(json_elem(hooks, i), "type", NULL), gate_type(w)))
            names = arena_printf(w->arena, "%s%s%s", names, *names ? ", " : "", name);
    }
    return arena_printf(w->arena, "the gate %s (%s)", print_clean(w->arena, names), gate_type(w));
}

/* What the hook of a gate answered last; NULL: it says nothing. */
static const char *said(struct why *w)
{
    struct json_object *hooks = json_at(w->status, "release", "hooks", NULL);

    for (size_t i = json_len(hooks); i > 0; i--) {
        struct json_object *hook = json_elem(hooks, i - 1);
        if (why_is(json_str_at(hook, "type", NULL), gate_type(w)) &&
            !json_bool_at(hook, true, "passed", NULL))
            return print_clean(w->arena, json_str_at(hook, "said", NULL));
    }
    return NULL;
}

static bool frozen(struct why *w)
{
    struct json_object *freeze = json_at(gate_of_kind(w->facts->gate, "gate"), "frozen", NULL);
    struct json_object *condition = closed_gate(w);
    const char *until = json_str_at(freeze, "until", NULL);
    long long id = json_int_at(freeze, 0, "id", NULL);

    if (!condition || !freeze)
        return false;
    return why_say(
        w, arena_printf(w->arena, "curl -X DELETE %s/v1/freezes/%lld", w->facts->gate_url, id),
        "A freeze holds %s at %s, for %s%s%s: %s. No approval passes while it holds%s", w->name,
        gate_name(w), why_since(w, condition), until ? ", until " : "", why_text(until),
        print_clean(w->arena, json_str_at(freeze, "reason", NULL)),
        until ? "; it ends by itself" : "");
}

static const char *approvers(struct why *w, struct json_object *policy)
{
    struct json_object *list = json_at(policy, "approvers", NULL);
    const char *names = "";

    for (size_t i = 0; i < json_len(list); i++)
        names = arena_printf(w->arena, "%s%s%s", names, i ? ", " : "",
                             print_clean(w->arena, json_object_get_string(json_elem(list, i))));
    return *names ? names : "whoever may open gates";
}

static bool quorum_missing(struct why *w)
{
    struct json_object *gate = gate_of_kind(w->facts->gate, "gate");
    struct json_object *policy = json_at(gate, "policy", NULL);
    struct json_object *condition = closed_gate(w);
    long long quorum = json_int_at(policy, 1, "quorum", NULL);

    if (!condition || quorum < 2)
        return false;
    return why_say(w, why_ctl(w, "approve"),
                   "%s waits at %s, for %s: %zu of %lld approvals are there. Those who may: %s",
                   w->name, gate_name(w), why_since(w, condition),
                   json_len(json_at(gate, "votes", NULL)), quorum, approvers(w, policy));
}

/* It was not the gate that said no. */
static bool gate_silent(struct why *w)
{
    struct json_object *condition = closed_gate(w);
    const char *message = why_message(w, why_condition(w, "Approved", "False"));
    const char *answer = said(w);
    const char *unasked = strstr(message, "it could not be asked: ");
    bool refused = !w->facts->gate && w->facts->gate_trouble &&
                   strstr(w->facts->gate_trouble, "connection refused");

    if (!condition)
        return false;
    if (unasked)
        return why_say(w, why_kubectl(w, "get secrets"), "%s waits at %s, for %s, and %s", w->name,
                       gate_name(w), why_since(w, condition), unasked);
    if (answer && (strstr(answer, "giving up after") || strstr(answer, " answered 5")))
        return why_say(w, why_kubectl(w, "get canary %s -o yaml", w->name),
                       "%s waits at %s, for %s, but nobody answers there: %s. While that is so it "
                       "is closed to everybody",
                       w->name, gate_name(w), why_since(w, condition), answer);
    if (!refused)
        return false;
    return why_say(w, why_kubectl(w, "get canary %s -o yaml", w->name),
                   "%s waits at %s, for %s, but nobody answers there: %s", w->name, gate_name(w),
                   why_since(w, condition), w->facts->gate_trouble);
}

static bool gate_closed(struct why *w)
{
    struct json_object *condition = closed_gate(w);
    const char *message = why_message(w, why_condition(w, "Approved", "False"));
    const char *until = strstr(message, " until ");
    const char *trouble = w->facts->gate_trouble, *next = why_ctl(w, "approve");

    if (!condition)
        return false;
    if (w->facts->gate_asks_who) /* which the API server would not pass on */
        next =
            arena_printf(w->arena, "%s --gate %s --gate-token-file FILE", next, w->facts->gate_url);
    return why_say(w, next, "%s waits for a person to open %s, for %s%s. %s%s%s", w->name,
                   gate_name(w), why_since(w, condition), until ? until : "",
                   w->phase == PHASE_WaitingPromotion
                       ? "Its checks go on meanwhile, and a failed analysis still rolls back"
                   : w->phase == PHASE_Waiting ? "Nothing of the new revision runs before that"
                                               : "The traffic stays as it is",
                   trouble ? "; why it is closed is not known: " : "", why_text(trouble));
}

const struct why_situation why_gates[] = {{"frozen", frozen},
                                          {"quorum-missing", quorum_missing},
                                          {"gate-silent", gate_silent},
                                          {"gate-closed", gate_closed},
                                          {0}};
