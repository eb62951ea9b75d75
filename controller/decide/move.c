/* Another target begins as that of a new Canary does (act/move.c). */
#include "decide/act/move.h"
#include "decide/act/takeover.h"
#include "decide/release/condition.h"
#include "decide/release/former.h"
#include "decide/release/status.h"
#include "decide/rules.h"

/* First the phase: the Services that are made then hide that it is another one. */
static enum verdict move_from_unknown(struct release *r)
{
    enum former former;
    enum verdict verdict = former_look(r, &former);

    if (verdict == VERDICT_NEED_FACTS || former != FORMER_TARGET || move_is_bound(r))
        return verdict == VERDICT_STOP ? VERDICT_GO : verdict;
    release_say(r,
                "spec.targetRef: changed to %s %s, which is initialised like that of a new Canary; "
                "what was released before stays as it is, delete it when nobody uses it",
                r->canary->target.kind, r->canary->target.name);
    status_forget_waits(r);
    status_phase(r, PHASE_Initializing);
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}

/* Another target: from now on it is initialised. What belongs to the one before stays, for
 * who-knows-whom: it is told once. */
enum verdict move_target(struct release *r)
{
    struct canary_ref before = move_before(r);

    if (!before.name)
        return move_from_unknown(r);
    if (!move_has_begun(r))
        return VERDICT_GO;
    release_say(r,
                "spec.targetRef: changed from %s %s to %s %s, which takes over when its primary is "
                "ready; %s and %s-primary stay as they are, delete them when nobody uses them",
                before.kind, before.name, r->canary->target.kind, r->canary->target.name,
                before.name, before.name);
    status_forget_waits(r);
    /* the pause of the one before is not that of this one, which begins with this plan */
    condition_clear(r, CONDITION_DRAINED);
    r->left = true;
    status_phase(r, PHASE_Initializing);
    takeover_note_names(r);
    return VERDICT_GO;
}
