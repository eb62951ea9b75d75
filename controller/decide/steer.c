/*
 * What people ask of a release with a ReleaseRequest (decide/RULES.md §15). A request is about a
 * revision: one that came too late does nothing, and says so. It is carried out once, whatever
 * happens between (act/request.h): all but a rollback are one write of the status, which the rules
 * follow from the next tick on.
 */
#include <string.h>

#include "decide/act/capacity.h"
#include "decide/act/gates.h"
#include "decide/act/promote.h"
#include "decide/act/renew.h"
#include "decide/act/request.h"
#include "decide/act/rollback.h"
#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/status.h"
#include "decide/release/steering.h"
#include "decide/rules.h"

/* --- why not: a sentence, NULL: it is possible */

static const char *refuse_idle(const struct release *r)
{
    return release_is_idle(r) ? "no release is under way" : NULL;
}

static const char *refuse_refused(const struct release *r)
{
    return r->refused ? "the spec of the Canary is refused, put that right first" : NULL;
}

/* An idle Canary has something to release. */
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

static const char *refuse_skip(struct release *r)
{
    const char *why = waits_to_begin(r) ? NULL : refuse_idle(r);

    if (!why && steering_ends_analysis(r))
        return "that was asked before";
    return why ? why : refuse_refused(r);
}

/* --- what is done */

static enum verdict done(struct release *r, const struct request *request, const char *sentence)
{
    request_done(r, request, sentence);
    return VERDICT_STOP;
}

static const char *about(struct release *r, const char *before, const char *after)
{
    return arena_printf(r->tick->arena, "%s revision %s %s", before, steering_revision(r), after);
}

static enum verdict end_analysis(struct release *r, const struct request *request)
{
    steering_end_analysis(r);
    return done(r, request, about(r, "the analysis of", "ends, it is promoted if its gate agrees"));
}

static enum verdict leave_out_analysis(struct release *r, const struct request *request)
{
    steering_end_analysis(r);
    return done(r, request,
                about(r, "no check is made of", "from now on, its gates are asked as ever"));
}

/* As by a rollback hook. The request stands until the rollback is written, or its wait is. */
static enum verdict roll_back(struct release *r, const struct request *request)
{
    if (release_is_promoting(r))
        condition_clear(r, CONDITION_WHOLE);
    release_warn(r, "Rolling back %s, asked by %s", release_canary(r), request_who(r, request));
    plan_alert(r->tick, "warn", false, "Rolling back, asked by %s", request_who(r, request));
    enum verdict verdict = rollback_run(r, r->phase == PHASE_Waiting);
    steering_end_pause(r);
    return verdict == VERDICT_STOP
               ? done(r, request,
                      arena_printf(r->tick->arena, "revision %s is rolled back", request->revision))
               : verdict;
}

static enum verdict pause_release(struct release *r, const struct request *request)
{
    steering_pause(r, request->by, request->why);
    return done(r, request, about(r, "the release of", "takes no step until it is resumed"));
}

static enum verdict resume_release(struct release *r, const struct request *request)
{
    steering_resume(r);
    return done(r, request, about(r, "the release of", "goes on"));
}

static enum verdict analyse_again(struct release *r, const struct request *request)
{
    steering_analyse_again(r);
    return done(r, request, about(r, "", "is analysed again") + 1);
}

static enum verdict renew(struct release *r, const struct request *request)
{
    renew_begin(r);
    return done(r, request,
                arena_printf(r->tick->arena,
                             "%s-primary is made anew with all labels of the selector of %s",
                             r->canary->target.name, r->canary->target.name));
}

static const struct deed {
    const char *action;
    const char *(*refuse)(struct release *r);
    enum verdict (*carry_out)(struct release *r, const struct request *request);
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

/* Of any action. */
static const char *refuse(struct release *r, const struct request *request, const struct deed *deed,
                          const char *revision, bool untouched)
{
    bool takes_back = untouched && deed && deed->carry_out == roll_back;

    if (!deed)
        return "spec.action: expected promote, abort, pause, resume, restart, skip-analysis or "
               "renew-primary";
    if (strcmp(request->revision, revision) != 0)
        return arena_printf(r->tick->arena, "it is about revision %s, now it would be %s",
                            *request->revision ? request->revision : "(none)", revision);
    if (release_is_promoting(r) && !takes_back)
        return arena_printf(r->tick->arena, "revision %s is being promoted already", revision);
    if (capacity_waits(r, CAPACITY_ROLLBACK))
        return arena_printf(r->tick->arena, "revision %s is being rolled back already", revision);
    return deed->refuse(r);
}

/* --- the rules */

enum verdict steer_hear(struct release *r)
{
    const struct request *request;
    enum verdict verdict = request_find(r, &request);

    if (verdict != VERDICT_GO)
        return verdict;
    if (!request) {
        (void)request_clear(r);
        return VERDICT_GO;
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
        return VERDICT_GO;
    return r->canary->suspend ? VERDICT_STOP : VERDICT_GO;
}

/* A release that is just being taken back, or begun anew, has no revision for a moment, or has one
 * that is not the target's any more. */
static bool is_in_between(struct release *r)
{
    return !*steering_revision(r) ||
           (release_is_analysing(r) && (!revision_is_applied(r) || revision_configs_changed(r)));
}

/* A primary that a request has made anew is followed to its end. */
enum verdict steer_renew(struct release *r)
{
    return renew_go_on(r);
}

enum verdict steer_carry_out(struct release *r)
{
    const struct request *request;
    bool untouched = false;
    enum verdict verdict = request_find(r, &request);

    if (verdict == VERDICT_GO && request)
        verdict = promote_is_untouched(r, &untouched);
    if (verdict != VERDICT_GO)
        return verdict;
    bool in_between = is_in_between(r);
    if (!in_between)
        steering_forget_others(r);
    if (!request)
        return VERDICT_GO;
    const struct deed *deed = find_deed(request->action);
    const char *why =
        refuse(r, request, deed, in_between ? r->info.hash : steering_revision(r), untouched);
    if (!why && in_between)
        return VERDICT_GO; /* it waits for what becomes of it */
    if (!why)
        return deed->carry_out(r, request);
    request_refused(r, request, why);
    return VERDICT_STOP;
}

/* Before a release begins: rollback hooks are heard, nothing else. */
enum verdict steer_hold_start(struct release *r)
{
    if (!steering_is_paused(r))
        return VERDICT_GO;
    if (release_is_idle(r))
        release_again(r, AGAIN_NEVER); /* the request to resume wakes it */
    return VERDICT_STOP;
}

/* No check is made any more; the gate is somebody else's, and is asked. */
enum verdict steer_promote(struct release *r)
{
    if (!steering_ends_analysis(r) || steering_is_paused(r))
        return VERDICT_GO;
    enum verdict verdict = gates_confirm_promotion(r);
    return verdict == VERDICT_GO ? promote_begin(r) : verdict;
}

/* The checks of this step have passed, or none was due. */
enum verdict steer_hold(struct release *r)
{
    return steering_is_paused(r) ? VERDICT_STOP : VERDICT_GO;
}
