/* What the rules of the waves ask of one Canary. */
#include <string.h>

#include "fleet/waves_parts.h"

bool waves_is_initialised(const struct waves_canary *canary)
{
    return canary->phase != PHASE_NONE && canary->phase != PHASE_Initializing;
}

bool waves_rests(const struct waves_canary *canary)
{
    return canary->phase == PHASE_Initialized || canary->phase == PHASE_Succeeded ||
           canary->phase == PHASE_Failed;
}

bool waves_is_under_way(const struct waves_canary *canary)
{
    return canary->phase == PHASE_Progressing || canary->phase == PHASE_WaitingPromotion ||
           canary->phase == PHASE_Promoting || canary->phase == PHASE_Finalising;
}

bool waves_is_held(const struct waves_canary *canary)
{
    return canary->suspended && canary->mine;
}

bool waves_has_promoted(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && waves_rests(canary) && strcmp(canary->promoted, wanted) == 0;
}

bool waves_has_failed(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && canary->phase == PHASE_Failed && strcmp(canary->applied, wanted) == 0 &&
           strcmp(canary->promoted, wanted) != 0;
}

bool waves_is_accepted(const struct waves_work *w, const struct waves_canary *canary)
{
    return w->plan->accept && strcmp(w->plan->accept, canary->applied) == 0;
}

bool waves_may_be_held(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    if (waves_rests(canary) || canary->phase == PHASE_Waiting)
        return true;
    return canary->phase == PHASE_Progressing && canary->weight == 0 && wanted &&
           strcmp(canary->applied, wanted) != 0;
}

const char *waves_key(struct arena *arena, const struct waves_cluster *cluster,
                      const struct waves_canary *canary)
{
    return arena_printf(arena, "%s/%s/%s", cluster->name, canary->namespace_, canary->name);
}

bool waves_was_let_go(const struct waves_work *w, const struct waves_cluster *cluster,
                      const struct waves_canary *canary)
{
    return waves_has_key(&w->let_go_before, cluster, canary);
}

void waves_tell(struct waves_work *w, enum waves_phase phase, const char *message)
{
    w->out->status.phase = phase;
    w->out->status.message = message;
}

void waves_look_again(struct waves_work *w, int64_t at_ms)
{
    if (w->out->again_ms == 0 || at_ms < w->out->again_ms)
        w->out->again_ms = at_ms;
}
