/*
 * The budget as a share of all replicas: who is being released at once, weighed by the replicas that
 * each workload has. What is not known weighs all that it may: the replicas of its whole cluster as the
 * status remembers them; without those nobody is let go.
 */
#include <string.h>

#include "fleet/waves_parts.h"

enum { PERCENT = 100 };

/* As the status has it from a time before. */
static int64_t remembered(const struct waves_work *w, const struct waves_cluster *cluster)
{
    const struct waves_status *status = w->facts->status;

    for (size_t i = 0; i < status->n_clusters; i++)
        if (strcmp(status->clusters[i].cluster, cluster->name) == 0)
            return status->clusters[i].replicas;
    return 0;
}

int64_t waves_replicas_of(const struct waves_work *w, size_t index)
{
    const struct waves_cluster *cluster = &w->facts->clusters[index];
    bool counted = cluster->known;
    int64_t sum = 0;

    for (size_t j = 0; j < cluster->n_canaries; j++) {
        counted = counted && cluster->canaries[j].replicas > 0;
        sum += cluster->canaries[j].replicas;
    }
    return counted ? sum : remembered(w, cluster);
}

/* Its replicas are asked for. */
static void miss(struct waves_work *w, size_t i, size_t j)
{
    const struct waves_cluster *cluster = &w->facts->clusters[i];
    const struct waves_canary *canary = &cluster->canaries[j];
    bool hopeless = canary->target != NULL;

    w->share.uncounted =
        arena_printf(w->arena, "the replicas of %s/%s on cluster %s %s", canary->namespace_,
                     canary->name, cluster->name, hopeless ? "cannot be known" : "are looked up");
    if (hopeless)
        waves_look_again(w, w->facts->now_ms + WAVES_LOOK_MS);
    else
        waves_look_at(w, i, j);
}

static void count_known(struct waves_work *w, size_t i)
{
    const struct waves_cluster *cluster = &w->facts->clusters[i];
    int64_t whole = waves_replicas_of(w, i);

    w->share.all += whole;
    for (size_t j = 0; j < cluster->n_canaries; j++) {
        const struct waves_canary *canary = &cluster->canaries[j];
        bool has_place = waves_has_place(w, w->wave_of[i], cluster, canary);
        if (cluster->reachable && canary->replicas == 0 && !canary->deleting &&
            waves_is_initialised(canary))
            miss(w, i, j);
        else if (has_place && canary->replicas == 0 && whole == 0)
            w->share.uncounted = arena_printf(
                w->arena, "cluster %s, where something may be released, cannot be reached",
                cluster->name);
        else if (has_place)
            w->share.used += canary->replicas > 0 ? canary->replicas : whole;
    }
}

/* Of a cluster that nobody has seen since the start only the status knows. */
static void count_unseen(struct waves_work *w, const struct waves_cluster *cluster)
{
    int64_t whole = remembered(w, cluster);

    w->share.all += whole;
    if (waves_unseen(w, cluster) == 0)
        return;
    w->share.used += whole;
    if (whole == 0)
        w->share.uncounted =
            arena_printf(w->arena, "cluster %s, where something may be released, cannot be reached",
                         cluster->name);
}

void waves_count_share(struct waves_work *w, int open)
{
    w->share = (struct waves_share){.counts = w->plan->max_replicas_percent > 0 && open > 0};
    if (!w->share.counts)
        return;
    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        if (w->facts->clusters[i].known)
            count_known(w, i);
        else
            count_unseen(w, &w->facts->clusters[i]);
    }
    w->share.allowed = w->share.all * w->plan->max_replicas_percent / PERCENT;
}

bool waves_share_has_room(const struct waves_work *w, const struct waves_canary *canary)
{
    return !w->share.counts ||
           (!w->share.uncounted && w->share.used + canary->replicas <= w->share.allowed);
}

const char *waves_share_says(const struct waves_work *w, const struct waves_canary *canary)
{
    const struct waves_share *share = &w->share;

    if (waves_share_has_room(w, canary))
        return NULL;
    if (share->uncounted)
        return arena_printf(w->arena, "waits for its turn: %s", share->uncounted);
    if (canary->replicas > share->allowed)
        return arena_printf(w->arena,
                            "is held: its %d replicas are more than the %d %% of all %lld that the "
                            "budget allows at once",
                            canary->replicas, w->plan->max_replicas_percent, (long long)share->all);
    return arena_printf(w->arena,
                        "waits for its turn: %lld of the %lld replicas that the budget allows are "
                        "being released",
                        (long long)share->used, (long long)share->allowed);
}
