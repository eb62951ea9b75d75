/* The gates of a release, which are webhooks (decide/RULES.md, engine/WEBHOOKS.md). */
#include "decide/gates.h"

#include <string.h>

#include "base/clock.h"
#include "decide/checks.h"
#include "decide/condition.h"
#include "decide/release.h"
#include "decide/rollback.h"
#include "decide/status.h"
#include "tick/edit.h"

/*
 * The condition Approved=False records a waiting gate: its message and the beginning of the wait.
 * The traffic gate always sets it; the others, which have a phase to wait in, set it if the hook
 * has a deadline or cannot be called. (Flagger, which has no deadlines, warns of the traffic gate
 * and alerts on every tick.)
 */
struct gate {
    enum hook_type type;
    const char *passed; /* name in events */
    const char *waits;  /* name of the awaited decision */
    const char *alert;
    const char *reason; /* of the condition */
    enum phase phase;   /* phase in which it waits; NONE if it has none of its own */
    bool before_start;  /* lets the target's revision in, whatever is analysed meanwhile */
    bool asked_twice;   /* asked twice per release; the wait ends with the second answer */
};

static const struct gate start_gate = {
    .type = HOOK_CONFIRM_ROLLOUT,
    .passed = "Confirm-rollout",
    .waits = "approval",
    .alert = "Canary is waiting for approval.",
    .reason = "WaitingForRollout",
    .phase = PHASE_Waiting,
    .before_start = true,
};
static const struct gate traffic_gate = {
    .type = HOOK_CONFIRM_TRAFFIC_INCREASE,
    .passed = "Confirm-traffic-increase",
    .waits = "traffic increase approval",
    .alert = "Canary traffic increase is waiting for approval.",
    .reason = "WaitingForTrafficIncrease",
    .phase = PHASE_NONE,
};
static const struct gate promotion_gate = {
    .type = HOOK_CONFIRM_PROMOTION,
    .passed = "Confirm-promotion",
    .waits = "promotion approval",
    .alert = "Canary promotion is waiting for approval.",
    .reason = "WaitingForPromotion",
    .phase = PHASE_WaitingPromotion,
    .asked_twice = true,
};

/* The revision that the gate is asked about. */
static const char *revision_at(struct release *r, const struct gate *gate)
{
    return gate->before_start ? release_target_checksum(r) : hooks_revision(r);
}

/*
 * A wait belongs to one revision; a revision pushed meanwhile has its own time. Only before the
 * start can it differ from the analysed one; status.gate names it. (Flagger's CRD drops that, and
 * with it the deadlines of the spec.)
 */
static bool waits_for_another(struct release *r, const struct gate *gate)
{
    const char *revision = r->canary->status.gate_revision;

    return gate->before_start && revision && strcmp(revision, revision_at(r, gate)) != 0;
}

static void tell_revision(struct release *r, const struct gate *gate)
{
    struct json_object *waits = edit_object(r->tick->arena);

    if (!gate->before_start)
        return;
    json_set_str(waits, "revision", revision_at(r, gate));
    status_object(r, "gate", waits);
}

/* Names, in the condition, the revision that needs approval. */
static const char *condition_text(struct release *r, const struct gate *gate, const char *text)
{
    return gate->before_start
               ? arena_printf(r->tick->arena, "%s (revision %s)", text, revision_at(r, gate))
               : text;
}

/* False if the gate has not waited before this tick; *since is then now. */
static bool waits_since(struct release *r, const struct gate *gate, int64_t *since)
{
    if (condition_since(r, CONDITION_APPROVED, gate->reason, since) && !waits_for_another(r, gate))
        return true;
    *since = r->tick->now_ms / 1000 * 1000; /* as the condition will say */
    return false;
}

static bool is_past_deadline(struct release *r, const struct gate *gate,
                             const struct canary_webhook *hook)
{
    int64_t since;

    return hook->deadline_ms > 0 && waits_since(r, gate, &since) &&
           r->tick->now_ms - since >= hook->deadline_ms;
}

static const char *deadline_text(struct release *r, const struct canary_webhook *hook)
{
    char text[DURATION_TEXT];

    return arena_strdup(r->tick->arena, duration_format(hook->deadline_ms * 1000000, text));
}

/* The message while it waits; Flagger's words if there is no deadline. */
static const char *waiting_text(struct release *r, const struct gate *gate,
                                const struct canary_webhook *hook, int64_t since)
{
    const char *text = arena_printf(r->tick->arena, "Halt %s advancement waiting for %s %s",
                                    release_canary(r), gate->waits, hook->name);
    char until[CLOCK_TEXT];

    if (hook->deadline_ms == 0)
        return text;
    return arena_printf(r->tick->arena, "%s until %s, then %s", text,
                        clock_rfc3339(since + hook->deadline_ms, until),
                        hook->approve_at_deadline ? "it goes on" : "rollback");
}

/* The hook that holds the release. */
struct closed {
    const struct canary_webhook *hook;
    const char *unasked; /* the reason why it could not be called; NULL if it was called */
    const char *said;    /* its answer; NULL if not called */
};

/* CONTINUE: every hook of the gate agreed, or its deadline let it pass. DONE: *closed did not
 * agree. */
static enum rule_result ask_gate(struct release *r, const struct gate *gate, enum phase phase,
                                 struct closed *closed, bool *by_deadline)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const struct hook_answer *answer;

    *by_deadline = false;
    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type != gate->type)
            continue;
        if (!need_hook(r->tick, i, phase, revision_at(r, gate), &answer))
            return RULE_NEEDS_FACTS;
        if (answer->passed) {
            event_normal(r, "%s check %s passed", gate->passed, hook->name);
        } else if (hook->approve_at_deadline && is_past_deadline(r, gate, hook)) {
            event_normal(r, "%s check %s was not answered within %s, going on", gate->passed,
                         hook->name, deadline_text(r, hook));
            *by_deadline = true;
        } else {
            *closed = (struct closed){.hook = hook,
                                      .unasked = answer->unasked ? answer->text : NULL,
                                      .said = answer->unasked ? NULL : answer->text};
            return RULE_DONE;
        }
    }
    return RULE_CONTINUE;
}

/* "gate said: Forbidden"; NULL if there is no answer. */
static const char *answer_text(struct release *r, const struct canary_webhook *hook,
                               const char *said)
{
    return said && *said ? arena_printf(r->tick->arena, "%s said: %s", hook->name, said) : NULL;
}

/* A revision rejected before its start is not offered again. */
static enum rule_result expire(struct release *r, const struct gate *gate,
                               const struct closed *closed)
{
    const struct canary_webhook *hook = closed->hook;

    event_warning(r, "Rolling back %s %s check %s was not approved within %s", release_canary(r),
                  hook_type_name(hook->type), hook->name, deadline_text(r, hook));
    struct effect *alert =
        plan_alert(r->tick, "warn", false, "Rolling back, %s check %s was not approved within %s",
                   hook_type_name(hook->type), hook->name, deadline_text(r, hook));
    alert->reason = closed->unasked ? closed->unasked : answer_text(r, hook, closed->said);
    return rollback_run(r, gate->before_start);
}

/*
 * Reported when the wait begins and again when the message changes; with an alert only at the
 * beginning.
 */
static enum rule_result wait_at(struct release *r, const struct gate *gate,
                                const struct closed *closed)
{
    const struct canary_webhook *hook = closed->hook;
    int64_t since;
    bool waited = waits_since(r, gate, &since);
    bool enters = gate->phase != PHASE_NONE && r->phase != gate->phase;
    bool told = false;

    if (is_past_deadline(r, gate, hook))
        return expire(r, gate, closed);
    const char *text = waiting_text(r, gate, hook, since);
    if (closed->unasked)
        text = arena_printf(r->tick->arena, "%s; it could not be asked: %s", text, closed->unasked);
    bool remembers = gate->phase == PHASE_NONE || hook->deadline_ms > 0 || closed->unasked;
    if (!remembers || !waited)
        condition_clear(r, CONDITION_APPROVED);
    if (remembers)
        told = condition_set(r, CONDITION_APPROVED, gate->reason, condition_text(r, gate, text));
    if (told && !waited)
        tell_revision(r, gate);
    if (enters)
        status_phase(r, gate->phase);
    if (enters || told)
        event_warning(r, "%s", text);
    if ((enters || (told && !waited)) && !hook->mute_alert) {
        const char *said = answer_text(r, hook, closed->said);
        plan_alert(r->tick, "warn", false, "%s", gate->alert)->reason =
            said ? arena_printf(r->tick->arena, "%s; %s", text, said) : text;
    }
    return RULE_DONE;
}

static enum rule_result confirm(struct release *r, const struct gate *gate, enum phase phase)
{
    struct closed closed;
    bool by_deadline;
    enum rule_result verdict = ask_gate(r, gate, phase, &closed, &by_deadline);

    if (verdict == RULE_DONE)
        return wait_at(r, gate, &closed);
    /*
     * Blue/green asks for the promotion twice: a release does not wait again for a gate that its
     * deadline opened. promote_begin() forgets it.
     */
    if (verdict == RULE_CONTINUE && !(by_deadline && gate->asked_twice))
        condition_clear(r, CONDITION_APPROVED);
    return verdict;
}

enum rule_result gates_confirm_rollout(struct release *r)
{
    return confirm(r, &start_gate, r->canary->status.phase);
}

enum rule_result gates_start_overdue(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        if (hook->type == start_gate.type && !hook->approve_at_deadline &&
            is_past_deadline(r, &start_gate, hook))
            return gates_confirm_rollout(r);
    }
    return RULE_CONTINUE;
}

enum rule_result gates_confirm_traffic_increase(struct release *r)
{
    return confirm(r, &traffic_gate, PHASE_Progressing);
}

enum rule_result gates_confirm_promotion(struct release *r)
{
    return confirm(r, &promotion_gate, PHASE_Progressing);
}

/* --- other hooks */

static bool waits_at_gate(const struct release *r)
{
    enum phase phase = r->canary->status.phase;

    return phase == PHASE_Waiting || phase == PHASE_WaitingPromotion;
}

/* Reported when it begins and when it changes, but not at each interval of a long wait. */
static void note_unasked(struct release *r, const char *unasked)
{
    if (!unasked)
        condition_clear(r, CONDITION_ROLLBACK_ASKED);
    else if (condition_set(r, CONDITION_ROLLBACK_ASKED, "NotAsked", unasked))
        event_warning(r, "%s", unasked);
}

enum rule_result gates_rollback(struct release *r)
{
    const struct canary_analysis *analysis = &r->canary->analysis;
    const char *unasked = NULL;

    for (int i = 0; i < analysis->n_webhooks; i++) {
        const struct canary_webhook *hook = &analysis->webhooks[i];
        const struct hook_answer *answer;
        if (hook->type != HOOK_ROLLBACK)
            continue;
        if (!need_hook(r->tick, i, r->canary->status.phase, hooks_revision(r), &answer))
            return RULE_NEEDS_FACTS;
        if (answer->unasked) {
            unasked =
                arena_printf(r->tick->arena, "%s%sRollback hook %s could not be asked: %s",
                             unasked ? unasked : "", unasked ? "; " : "", hook->name, answer->text);
            continue;
        }
        if (!answer->passed) {
            /* at a gate that waits for a person, this is not reported at every interval */
            if (!waits_at_gate(r))
                event_normal(r, "Rollback hook %s not signaling a rollback", hook->name);
            continue;
        }
        event_warning(r, "Rollback check %s passed", hook->name);
        event_warning(r, "Rolling back %s manual webhook invoked", release_canary(r));
        const char *said = answer_text(r, hook, answer->text);
        plan_alert(r->tick, "warn", false, "Rolling back manual webhook invoked")->reason =
            said ? said : arena_printf(r->tick->arena, "Rollback check %s passed", hook->name);
        return RULE_DONE;
    }
    note_unasked(r, unasked);
    return RULE_CONTINUE;
}
