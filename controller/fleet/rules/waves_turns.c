/* Turns: the Canaries that are held and let go while a wave is open. */
#include <string.h>

#include "fleet/rules/waves_parts.h"

struct room {
    int wave, all; /* places that are left; wave is INT32_MAX if unlimited */
    bool open;     /* open according to windows and freezes */
};

static int waves_unseen(const struct waves_work *w, const struct waves_cluster *cluster);
static bool waves_has_place(const struct waves_work *w, int wave,
                            const struct waves_cluster *cluster, const struct waves_canary *canary);

static struct room count_room(struct waves_work *w, int open)
{
    int wave_limit = open >= 0 ? w->plan->waves[open].max_concurrent : 0;
    int in_wave = 0, in_all = 0;
    int64_t until;
    const char *why;
    struct room room = {.wave = INT32_MAX};

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        int here = waves_unseen(w, cluster);
        for (size_t j = 0; j < cluster->n_canaries; j++)
            here += waves_has_place(w, w->wave_of[i], cluster, &cluster->canaries[j]);
        in_all += here;
        in_wave += w->wave_of[i] == open ? here : 0;
    }
    if (wave_limit > 0)
        room.wave = wave_limit - in_wave;
    room.all = w->plan->max_concurrent > 0 && w->plan->max_concurrent < WAVES_MAX_LET_GO
                   ? w->plan->max_concurrent - in_all
                   : WAVES_MAX_LET_GO - in_all;
    room.open = releaseplan_is_open(w->arena, w->plan, w->facts->now_ms, &until, &why);
    if (!room.open && open >= 0) {
        waves_tell(w, WAVES_Closed,
                   arena_printf(w->arena, "wave %s: %s", w->plan->waves[open].name, why));
        waves_look_again(w, until);
    }
    return room;
}

static void keep_let_go(struct waves_work *w, const char *key)
{
    w->out->status.let_go[w->out->status.n_let_go++] = key;
}

static void waves_look_at(struct waves_work *w, size_t cluster, size_t canary);

/* True if the workload was read and has the revision that the first wave promoted. If it was not
 * read yet, requests that. */
static bool fits(struct waves_work *w, const struct room *room, size_t i, size_t j)
{
    const struct waves_canary *canary = &w->facts->clusters[i].canaries[j];
    int looks = (int)w->out->n_looks;

    if (!canary->target) {
        /* no more than could be let go now */
        if (looks < room->wave && looks < room->all)
            waves_look_at(w, i, j);
        return false;
    }
    return !*canary->target || strcmp(canary->target, waves_wanted(w, canary)) == 0;
}

static bool waves_share_has_room(const struct waves_work *w, const struct waves_canary *canary);
static bool waves_is_other(const struct waves_work *w, const struct waves_canary *canary);

/* True if a held Canary that is due gets its turn now. If it has had its turn and is still held,
 * letting it go was interrupted. */
static bool takes_turn(struct waves_work *w, struct room *room, size_t i, size_t j, bool before)
{
    static const struct room own = {.wave = WAVES_MAX_LOOKS, .all = WAVES_MAX_LOOKS};

    if (waves_is_other(w, &w->facts->clusters[i].canaries[j])) {
        waves_look_again(w, w->facts->now_ms + WAVES_LOOK_MS);
        return false;
    }
    if (before)
        return fits(w, &own, i, j);
    const struct waves_canary *canary = &w->facts->clusters[i].canaries[j];
    if (!room->open || room->wave <= 0 || room->all <= 0 || !waves_share_has_room(w, canary) ||
        !fits(w, room, i, j))
        return false;
    w->share.used += canary->replicas;
    room->wave -= room->wave < INT32_MAX;
    room->all--;
    return true;
}

/* Decides about a Canary of a later wave, or of none. */
static void place_canary(struct waves_work *w, int open, struct room *room, size_t i, size_t j)
{
    const struct waves_cluster *cluster = &w->facts->clusters[i];
    const struct waves_canary *canary = &cluster->canaries[j];
    bool before = waves_was_let_go(w, cluster, canary);

    if (!cluster->reachable) {
        if (before)
            keep_let_go(w, waves_key(w->arena, cluster, canary));
        return;
    }
    if (canary->deleting || !waves_is_initialised(canary))
        return;
    bool due = open > 0 && w->wave_of[i] == open && waves_wanted(w, canary) &&
               waves_train_waits(w, open, canary) < 0 && !waves_has_promoted(w, canary) &&
               !waves_has_failed(w, canary);
    bool held = waves_is_held(canary);
    bool other = canary->phase == PHASE_Progressing && waves_may_be_held(w, canary);
    bool go = due && (held ? takes_turn(w, room, i, j, before) : before && !other);
    /* It keeps its place while its workload is being read, and until it is seen to be held
     * again. */
    if (go || (before && (!canary->suspended || (due && held && !canary->target))))
        keep_let_go(w, waves_key(w->arena, cluster, canary));
    if (go && held)
        waves_step(w, false, i, j);
    else if (!go && !canary->suspended && waves_may_be_held(w, canary))
        waves_step(w, true, i, j);
}

/* In the first wave a Canary is held only for an earlier Application of the train, or because it
 * was in a later wave before. */
static void place_first(struct waves_work *w, size_t i, size_t j)
{
    const struct waves_cluster *cluster = &w->facts->clusters[i];
    const struct waves_canary *canary = &cluster->canaries[j];
    bool waits = waves_train_waits(w, 0, canary) >= 0;

    if (!cluster->reachable)
        return;
    if (waits && !canary->suspended && !canary->deleting && waves_may_be_held(w, canary))
        waves_step(w, true, i, j);
    else if (!waits && waves_is_held(canary))
        waves_step(w, false, i, j);
}

static void keep_unseen(struct waves_work *w, const struct waves_cluster *cluster)
{
    size_t len = strlen(cluster->name);

    for (size_t i = 0; !cluster->known && i < w->facts->status->n_let_go; i++) {
        const char *key = w->facts->status->let_go[i];
        if (strncmp(key, cluster->name, len) == 0 && key[len] == '/')
            keep_let_go(w, key);
    }
}

static void waves_count_share(struct waves_work *w, int open);

void waves_take_turns(struct waves_work *w, int open)
{
    waves_couple(w, open);
    waves_count_share(w, open);
    struct room room = count_room(w, open);

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        keep_unseen(w, &w->facts->clusters[i]);
        for (size_t j = 0; j < w->facts->clusters[i].n_canaries; j++) {
            if (w->wave_of[i] == 0)
                place_first(w, i, j);
            else
                place_canary(w, open, &room, i, j);
        }
    }
}

/* --- places among the concurrent releases */

/* True if its workload has a revision other than the one that the first wave has promoted. */
static bool waves_is_other(const struct waves_work *w, const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);

    return wanted && canary->target && *canary->target && strcmp(canary->target, wanted) != 0;
}

/* True if it occupies one of the places: it was let go, or may start a release of its own. */
static bool waves_has_place(const struct waves_work *w, int wave,
                            const struct waves_cluster *cluster, const struct waves_canary *canary)
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

/* Number of Canaries that, by the status, were let go on a cluster not seen since the start. */
static int waves_unseen(const struct waves_work *w, const struct waves_cluster *cluster)
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

static void waves_look_at(struct waves_work *w, size_t cluster, size_t canary)
{
    struct waves_out *out = w->out;

    for (size_t i = 0; i < out->n_looks; i++)
        if (out->looks[i].cluster == cluster && out->looks[i].canary == canary)
            return;
    if (out->n_looks < WAVES_MAX_LOOKS)
        out->looks[out->n_looks++] = (struct waves_step){.cluster = cluster, .canary = canary};
}

/*
 * --- the budget: a percentage of all replicas
 *
 * The weight of a release is the number of replicas of its workload. An unknown workload weighs as
 * much as its whole cluster does in the status; without that number no Canary is let go.
 */

enum { PERCENT = 100 };

/* The number in the status. */
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

/* Requests a read of its replicas. */
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

/* Counts a cluster not seen since the start by the numbers in the status. */
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

/* The budget; see waves_turns.c. */
static void waves_count_share(struct waves_work *w, int open)
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

/* True if the budget has room for its replicas. */
static bool waves_share_has_room(const struct waves_work *w, const struct waves_canary *canary)
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
