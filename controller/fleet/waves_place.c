/* Who has a place among those that are released at once, and what is noted for the caller. */
#include <string.h>

#include "fleet/waves_parts.h"

bool waves_is_other(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && canary->target && *canary->target && strcmp(canary->target, wanted) != 0;
}

bool waves_has_place(const struct waves_work *w, int wave, const struct waves_cluster *cluster,
                     const struct waves_canary *canary)
{
    bool ended =
        cluster->reachable && waves_is_held(canary) &&
        (waves_has_promoted(w, canary) || waves_has_failed(w, canary) || waves_is_other(w, canary));

    if (waves_was_let_go(w, cluster, canary) && !ended)
        return true;
    if (canary->deleting || waves_is_held(canary) || !waves_is_initialised(canary))
        return false;
    return waves_is_under_way(canary) || (wave != 0 && !canary->suspended);
}

int waves_unseen(const struct waves_work *w, const struct waves_cluster *cluster)
{
    size_t len = strlen(cluster->name);
    int count = 0;

    for (size_t i = 0; !cluster->known && i < w->facts->status->n_let_go; i++) {
        const char *key = w->facts->status->let_go[i];
        count += strncmp(key, cluster->name, len) == 0 && key[len] == '/';
    }
    return count;
}

void waves_step(struct waves_work *w, bool hold, size_t cluster, size_t canary)
{
    w->out->steps[w->out->n_steps++] =
        (struct waves_step){.hold = hold, .cluster = cluster, .canary = canary};
}

void waves_look_at(struct waves_work *w, size_t cluster, size_t canary)
{
    struct waves_out *out = w->out;

    for (size_t i = 0; i < out->n_looks; i++)
        if (out->looks[i].cluster == cluster && out->looks[i].canary == canary)
            return;
    if (out->n_looks < WAVES_MAX_LOOKS)
        out->looks[out->n_looks++] = (struct waves_step){.cluster = cluster, .canary = canary};
}
