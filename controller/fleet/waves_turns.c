/* Who is held and who is let go, when it is known which wave is open. */
#include <string.h>

#include "fleet/waves_parts.h"

struct room {
    int wave, all; /* how many more; wave INT32_MAX: no limit */
    bool open;     /* by windows and freezes */
};

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

/* Its workload has just the revision that the first wave has promoted, by a look at it. What was not
 * looked at is asked for. */
static bool fits(struct waves_work *w, const struct room *room, size_t i, size_t j)
{
    const struct waves_canary *canary = &w->facts->clusters[i].canaries[j];
    int looks = (int)w->out->n_looks;

    if (!canary->target) {
        /* No more than could be let go now. */
        if (looks < room->wave && looks < room->all)
            waves_look_at(w, i, j);
        return false;
    }
    return !*canary->target || strcmp(canary->target, waves_wanted(w, canary)) == 0;
}

/* One that is due and held: its turn has come. One that has been given its turn before, and is still
 * held, was cut off there. */
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

/* A Canary of a later wave, or of none. */
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
    /* It keeps its place until it is seen to be held again, and while it is looked at. */
    if (go || (before && (!canary->suspended || (due && held && !canary->target))))
        keep_let_go(w, waves_key(w->arena, cluster, canary));
    if (go && held)
        waves_step(w, false, i, j);
    else if (!go && !canary->suspended && waves_may_be_held(w, canary))
        waves_step(w, true, i, j);
}

/* One of the first wave is held only for an earlier Application of the train; else it was in a later
 * wave before. */
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
