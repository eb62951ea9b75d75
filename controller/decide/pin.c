/*
 * analysis.onNewRevision: finish. The target is pinned to the revision that is analysed, from the first
 * step on until its pods go: what is pushed meanwhile waits in its template, and is the next release.
 * (What is pushed before the first step begins anew with nothing lost.)
 */
#include <string.h>

#include "decide/release/condition.h"
#include "decide/release/release.h"
#include "decide/release/revision.h"
#include "decide/release/serving.h"
#include "decide/rules.h"

/* As soon as all pods are of its revision, which may be before a step is due. A person who has paused
 * the target keeps it as it is already. */
enum verdict pin_begin(struct release *r)
{
    const char *why;

    if (!r->canary->analysis.finishes || !r->target->pin || r->info.pin != PIN_NONE ||
        r->info.paused || r->info.at_zero || !release_is_first_step(r) || !revision_is_applied(r) ||
        release_ready(r, SIDE_CANARY, &why) != READY)
        return VERDICT_GO;
    if (!r->target->pin(r->tick, &r->info)) {
        if (r->canary->status.failed_checks == 0)
            release_warn(r,
                         "%s is not pinned to the revision that is analysed, its pod template is "
                         "too large for an annotation",
                         release_target(r));
        return VERDICT_GO;
    }
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Clients are sent to its pods, by a share or, without a mesh, by the apex Service. */
static enum verdict serves_clients(struct release *r, bool *serves)
{
    *serves = r->canary->status.canary_weight > 0;
    return *serves || !release_is_idle(r) ? VERDICT_GO : serving_needs_target(r, serves);
}

/*
 * The revision that was promoted waits: a person has taken the release back. Other configs are a
 * revision that no pin holds: pods that start read them.
 */
static bool is_given_up(const struct release *r)
{
    const char *next = r->info.next;

    return !r->canary->analysis.finishes || revision_configs_changed(r) ||
           (*next && strcmp(next, r->canary->status.last_promoted_spec) == 0);
}

/* serves: clients are sent to its pods; not before the pause in which they may still come is over. */
static bool must_unpin(struct release *r, bool serves)
{
    if (r->info.pin == PIN_BROKEN)
        return true;
    if (release_is_analysing(r))
        return is_given_up(r);
    return !release_is_promoting(r) && !serves && !condition_is_set(r, CONDITION_DRAINED);
}

/* In Failed the canary may go on serving, where the promotion failed: its pods are not replaced then
 * by what nobody has analysed. */
static void tell_next(struct release *r, bool serves)
{
    const char *text =
        serves ? arena_printf(r->tick->arena,
                              "Revision %s of %s waits, since clients are sent to its pods; "
                              "`kubectl rollout resume deployment/%s --namespace %s` replaces them",
                              r->info.next, release_target(r), r->canary->target.name,
                              r->canary->namespace_)
               : arena_printf(r->tick->arena,
                              "Revision %s of %s waits until the release of %s has ended",
                              r->info.next, release_target(r), r->info.hash);

    if (!condition_set_true(r, CONDITION_SUPERSEDED, "RevisionWaits", text))
        return;
    if (serves)
        release_warn(r, "%s", text);
    else
        release_say(r, "%s", text);
}

enum verdict pin_end(struct release *r)
{
    bool serves;

    if (!*r->info.next)
        condition_clear(r, CONDITION_SUPERSEDED);
    if (r->info.pin == PIN_NONE)
        return VERDICT_GO;
    enum verdict verdict = serves_clients(r, &serves);
    if (verdict != VERDICT_GO)
        return verdict;
    if (!must_unpin(r, serves)) {
        if (*r->info.next)
            tell_next(r, serves && release_is_idle(r));
        return VERDICT_GO;
    }
    r->target->unpin(r->tick, &r->info);
    condition_clear(r, CONDITION_SUPERSEDED);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}
