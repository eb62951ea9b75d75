/*
 * Requests by people, ReleaseRequest objects (decide/RULES.md). A request is about one revision: if
 * it comes too late, it has no effect, which is reported. It is carried out exactly once
 * (steering.h): every request but a rollback is one write of the status, which the rules follow
 * from the next tick on.
 */
#include <string.h>

#include "decide/capacity.h"
#include "decide/condition.h"
#include "decide/gates.h"
#include "decide/promote.h"
#include "decide/release.h"
#include "decide/revision.h"
#include "decide/rollback.h"
#include "decide/rules.h"
#include "decide/status.h"
#include "decide/steering.h"

/* --- refusals: a sentence, NULL if possible */

static const char *refuse_idle(const struct release *r)
{
    return release_is_idle(r) ? "no release is under way" : NULL;
}

static const char *refuse_refused(const struct release *r)
{
    return r->refused ? "the spec of the Canary is refused, fix that first" : NULL;
}

/* True if an idle Canary has something to release. */
static bool waits_to_begin(struct release *r)
{
    return release_is_idle(r) && revision_changed(r);
}

static const char *refuse_promote(struct release *r)
{
    const char *why = refuse_idle(r);

    if (why || release_is_analysing(r))
        return why ? why : refuse_refused(r);
    return "its analysis has not begun; skip-analysis would leave it out";
}

static const char *refuse_abort(struct release *r)
{
    return refuse_idle(r);
}

static const char *refuse_pause(struct release *r)
{
    if (steering_is_paused(r))
        return "it is paused already";
    return waits_to_begin(r) ? NULL : refuse_idle(r);
}

static const char *refuse_resume(struct release *r)
{
    return steering_is_paused(r) ? NULL : "it is not paused";
}

static const char *refuse_restart(struct release *r)
{
    if (r->phase != PHASE_Failed || !revision_is_applied(r))
        return "only a revision that has failed is analysed again";
    if (revision_changed(r))
        return "it is about to be analysed already";
    return refuse_refused(r);
}

static const char *refuse_renew(struct release *r)
{
    const char *why = refuse_refused(r);

    return why ? why : renew_refusal(r);
}

/* A request for a release that already skips its checks, because it leads back or by an earlier
 * request, is not a mistake. */
static const char *refuse_skip(struct release *r)
{
    const char *why = waits_to_begin(r) ? NULL : refuse_idle(r);

    return why ? why : refuse_refused(r);
}

/* --- actions */

static enum rule_result done(struct release *r, const struct request *request, const char *sentence)
{
    request_done(r, request, sentence);
    return RULE_DONE;
}

static const char *about(struct release *r, const char *before, const char *after)
{
    return arena_printf(r->tick->arena, "%s revision %s %s", before, steering_revision(r), after);
}

static enum rule_result end_analysis(struct release *r, const struct request *request)
{
    steering_end_analysis(r);
    return done(r, request, about(r, "the analysis of", "ends, it is promoted if its gate agrees"));
}

static enum rule_result leave_out_analysis(struct release *r, const struct request *request)
{
    if (release_is_promoting(r))
        return done(r, request, about(r, "no check is made of", "any more, it is being promoted"));
    steering_end_analysis(r);
    return done(r, request,
                about(r, "no check is made of", "from now on, its gates are asked as ever"));
}

/* Like a rollback hook. The request remains until the rollback, or its wait, is written. */
static enum rule_result roll_back(struct release *r, const struct request *request)
{
    if (release_is_promoting(r))
        condition_clear(r, CONDITION_WHOLE);
    event_warning(r, "Rolling back %s, asked by %s", release_canary(r), request_who(r, request));
    plan_alert(r->tick, "warn", false, "Rolling back, asked by %s", request_who(r, request));
    r->at_once = rollback_is_in_steps(r);
    enum rule_result verdict = rollback_run(r, r->phase == PHASE_Waiting);
    steering_end_pause(r);
    return verdict == RULE_DONE
               ? done(r, request,
                      arena_printf(r->tick->arena, "revision %s is rolled back", request->revision))
               : verdict;
}

static enum rule_result pause_release(struct release *r, const struct request *request)
{
    steering_pause(r, request->by, request->why);
    return done(r, request, about(r, "the release of", "takes no step until it is resumed"));
}

static enum rule_result resume_release(struct release *r, const struct request *request)
{
    steering_resume(r);
    return done(r, request, about(r, "the release of", "goes on"));
}

static enum rule_result analyse_again(struct release *r, const struct request *request)
{
    steering_analyse_again(r);
    return done(r, request, about(r, "", "is analysed again") + 1);
}

static enum rule_result renew(struct release *r, const struct request *request)
{
    renew_begin(r);
    return done(r, request,
                arena_printf(r->tick->arena,
                             "%s-primary is recreated with all labels of the selector of %s",
                             r->canary->target.name, r->canary->target.name));
}

static const struct deed {
    const char *action;
    const char *(*refuse)(struct release *r);
    enum rule_result (*carry_out)(struct release *r, const struct request *request);
} deeds[] = {
    {"promote", refuse_promote, end_analysis},  {"abort", refuse_abort, roll_back},
    {"pause", refuse_pause, pause_release},     {"resume", refuse_resume, resume_release},
    {"restart", refuse_restart, analyse_again}, {"skip-analysis", refuse_skip, leave_out_analysis},
    {"renew-primary", refuse_renew, renew},
};

static const struct deed *find_deed(const char *action)
{
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        if (strcmp(deeds[i].action, action) == 0)
            return &deeds[i];
    }
    return NULL;
}

/* Reasons that apply to every action. */
static const char *refuse(struct release *r, const struct request *request, const struct deed *deed,
                          const char *revision, bool untouched)
{
    bool takes_back = untouched && deed && deed->carry_out == roll_back;
    bool skips = deed && deed->carry_out == leave_out_analysis;

    if (!deed)
        return "spec.action: expected promote, abort, pause, resume, restart, skip-analysis or "
               "renew-primary";
    if (strcmp(request->revision, revision) != 0)
        return arena_printf(r->tick->arena, "it is about revision %s, now it would be %s",
                            *request->revision ? request->revision : "(none)", revision);
    if (release_is_promoting(r) && !takes_back && !skips)
        return arena_printf(r->tick->arena, "revision %s is being promoted already", revision);
    if (capacity_waits(r, CAPACITY_ROLLBACK) || (rollback_is_in_steps(r) && !takes_back))
        return arena_printf(r->tick->arena, "revision %s is being rolled back already", revision);
    return deed->refuse(r);
}

/* --- the rules */

enum rule_result steer_hear(struct release *r)
{
    const struct request *request;
    enum rule_result verdict = request_find(r, &request);

    if (verdict != RULE_CONTINUE)
        return verdict;
    if (!request) {
        (void)request_clear(r);
        return RULE_CONTINUE;
    }
    if (release_is_initialising(r))
        request_turn_away(r, request, "the Canary is not initialised yet");
    else if (revision_is_flaggers(r))
        request_turn_away(r, request,
                          "the status was written by Flagger and cannot remember it; ask again in "
                          "the next release, with our CRD of Canaries");
    else if (r->canary->suspend)
        request_refused(r, request, "the Canary is suspended");
    else
        return RULE_CONTINUE;
    return r->canary->suspend ? RULE_DONE : RULE_CONTINUE;
}

/*
 * A release being rolled back or restarted has no revision for a moment, or one that is no longer
 * the target's.
 */
static bool is_in_between(struct release *r)
{
    return !*steering_revision(r) ||
           (release_is_analysing(r) && (!revision_is_applied(r) || revision_configs_changed(r)));
}

/* Completes the recreation of a primary that a request has begun. */
enum rule_result steer_renew(struct release *r)
{
    return renew_go_on(r);
}

enum rule_result steer_carry_out(struct release *r)
{
    const struct request *request;
    bool untouched = false;
    enum rule_result verdict = request_find(r, &request);

    if (verdict == RULE_CONTINUE && request)
        verdict = promote_is_untouched(r, &untouched);
    if (verdict != RULE_CONTINUE)
        return verdict;
    bool in_between = is_in_between(r);
    if (!in_between)
        steering_forget_others(r);
    if (!request)
        return RULE_CONTINUE;
    const struct deed *deed = find_deed(request->action);
    const char *why =
        refuse(r, request, deed, in_between ? r->info.hash : steering_revision(r), untouched);
    /* the request waits for the result, but not for a primary that may never be ready */
    if (!why && in_between && condition_is_set(r, side_condition(SIDE_PRIMARY)))
        why =
            arena_printf(r->tick->arena,
                         "revision %s waits for the primary, ask again when its analysis has begun",
                         r->info.hash);
    else if (!why && in_between)
        return RULE_CONTINUE;
    if (!why)
        return deed->carry_out(r, request);
    request_refused(r, request, why);
    return RULE_DONE;
}

/* Before a release begins, only rollback hooks are called. */
enum rule_result steer_hold_start(struct release *r)
{
    if (!steering_is_paused(r))
        return RULE_CONTINUE;
    if (release_is_idle(r))
        release_requeue(r, REQUEUE_NEVER); /* the request to resume wakes the Canary */
    return RULE_DONE;
}

/* Checks are skipped; the gate is the decision of another party and is still asked. */
enum rule_result steer_promote(struct release *r)
{
    if (!steering_ends_analysis(r) || steering_is_paused(r))
        return RULE_CONTINUE;
    enum rule_result verdict = gates_confirm_promotion(r);
    return verdict == RULE_CONTINUE ? promote_begin(r) : verdict;
}

/* The checks of this step have passed, or none was due. */
enum rule_result steer_hold(struct release *r)
{
    return steering_is_paused(r) ? RULE_DONE : RULE_CONTINUE;
}
