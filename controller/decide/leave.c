/*
 * An autoscaler that the spec no longer refers to, or refers to by another name: the primary's copy
 * of it goes, and the pause that was written into it. The primary keeps its replicas. As long as a
 * release is under way it waits: the scaler that has a floor or a pause must not change under it.
 * Until then status.acceptedSpec goes on naming it. Nothing else does, so that the name of a new
 * one is noted there before anything is made for it.
 */
#include <string.h>

#include "decide/release/release.h"
#include "decide/rules.h"

enum verdict leave_scaler(struct release *r)
{
    struct json_object *before = release_scaler_to_leave(r);
    const char *kind = json_str_at(before, "kind", NULL);
    const struct scaler *scaler = kind ? scaler_find(kind) : NULL;

    if (!before || r->canary->status.canary_weight > 0)
        return VERDICT_GO;
    enum verdict verdict =
        scaler ? scaler->leave(r->tick, json_str_at(before, "name", NULL)) : VERDICT_GO;
    r->scaler_left = verdict == VERDICT_GO;
    return verdict;
}

enum verdict leave_note(struct release *r)
{
    if (!r->scaler || !r->canary->status.accepted_spec || release_scaler_to_leave(r) ||
        release_scaler_is_accepted(r))
        return VERDICT_GO;
    release_again(r, AGAIN_NOW);
    return VERDICT_STOP;
}
