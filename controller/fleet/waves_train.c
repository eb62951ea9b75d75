/*
 * A train: several Applications in an order, one verdict. In each wave the Canaries of an Application
 * are let go when those of all before it have promoted the revision of the first wave. A wave is over
 * when all of them have; so what a later wave gets was whole in the one before.
 *
 * In the first wave nothing is held at rest, or nobody would see that something was delivered. Its
 * order is kept while there is one: as long as an earlier Application is being released there, or has
 * failed, those of the later ones are held, also if they have begun and have no requests yet.
 */
#include <string.h>

#include "fleet/waves_parts.h"

static void find_open(struct waves_work *w, int wave)
{
    for (size_t i = 0; wave >= 0 && i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != wave)
            continue;
        /* Nobody knows what is there. */
        if (!cluster->known)
            w->car_open = 0;
        for (size_t j = 0; j < cluster->n_canaries; j++) {
            const struct waves_canary *canary = &cluster->canaries[j];
            bool accepted = waves_has_failed(w, canary) && waves_is_accepted(w, canary);
            if (!canary->deleting && !accepted && !waves_has_promoted(w, canary) &&
                canary->car < w->car_open)
                w->car_open = canary->car;
        }
    }
}

/* It releases something, or has failed, and nobody takes that as it is. */
static bool is_unsettled(const struct waves_work *w, const struct waves_canary *canary)
{
    bool failed = canary->phase == PHASE_Failed && strcmp(canary->applied, canary->promoted) != 0;

    return !canary->deleting &&
           (waves_is_under_way(canary) || (failed && !waves_is_accepted(w, canary)));
}

static void find_first(struct waves_work *w)
{
    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        for (size_t j = 0; w->wave_of[i] == 0 && j < cluster->n_canaries; j++) {
            const struct waves_canary *canary = &cluster->canaries[j];
            if (canary->car < w->car_first && is_unsettled(w, canary))
                w->car_first = canary->car;
        }
    }
}

void waves_couple(struct waves_work *w, int open)
{
    if (w->plan->n_train == 0)
        return;
    find_open(w, open);
    find_first(w);
}

int waves_train_waits(const struct waves_work *w, int wave, const struct waves_canary *canary)
{
    int first = wave == 0 ? w->car_first : w->car_open;

    return first < canary->car ? first : -1;
}
