#include <string.h>

#include "fleet/waves_parts.h"

/* It has failed on a revision that is not, or not yet, the plan's. */
static bool has_failed_first(int wave, const struct waves_canary *canary)
{
    return wave == 0 && canary->phase == PHASE_Failed &&
           strcmp(canary->applied, canary->promoted) != 0;
}

static bool is_missing(const struct waves_work *w, int wave, const struct waves_canary *canary)
{
    return !canary->deleting && (has_failed_first(wave, canary) || !waves_has_promoted(w, canary));
}

struct told {
    enum waves_state state;
    const char *says;
};

/* What holds a Canary that neither failed nor releases anything; NULL: nothing does. */
static const char *say_held(const struct waves_work *w, int wave, int open,
                            const struct waves_canary *canary)
{
    const char *wanted = waves_wanted(w, canary);
    struct arena *arena = w->arena;

    if (canary->holder)
        return arena_printf(arena, "is held by plan %s", canary->holder);
    if (canary->suspended && !canary->mine)
        return "is suspended by somebody else, which stays so";
    if (wave < 0)
        return "is held: no wave has this cluster";
    if (wave == 0 || wave == open) {
        int car = waves_train_waits(w, wave, canary);
        if (car >= 0 && canary->suspended)
            return arena_printf(arena, "is held: Application %s of the train comes first",
                                w->plan->train[car]);
    }
    if (wave == 0)
        return NULL;
    if (!wanted)
        return "is held: no Canary of the first wave has its name";
    if (wave == open && canary->target && *canary->target && strcmp(canary->target, wanted) != 0)
        return arena_printf(arena, "is held: its workload has revision %s, and not %s yet",
                            canary->target, wanted);
    return NULL;
}

/* What is told of a Canary that has not promoted the revision. */
static struct told tell_canary(const struct waves_work *w, int wave, int open,
                               const struct waves_keys *going, const struct waves_cluster *cluster,
                               const struct waves_canary *canary)
{
    struct arena *arena = w->arena;
    const char *held;

    if (!cluster->reachable)
        return (struct told){WAVES_IS_Unreachable, arena_printf(arena, "cannot be reached: %s",
                                                                cluster->why ? cluster->why : "")};
    if (!waves_is_initialised(canary))
        return (struct told){WAVES_IS_Initializing, "is being initialised"};
    if (waves_has_failed(w, canary) || has_failed_first(wave, canary))
        return (struct told){WAVES_IS_Failed,
                             arena_printf(arena, "revision %s has failed", canary->applied)};
    if (waves_is_under_way(canary) && !canary->suspended)
        return (struct told){WAVES_IS_Releasing,
                             arena_printf(arena, "releases revision %s", canary->applied)};
    held = say_held(w, wave, open, canary);
    if (held)
        return (struct told){WAVES_IS_Held, held};
    if (wave == 0)
        return (struct told){WAVES_IS_Promoted,
                             arena_printf(arena, "has promoted revision %s", canary->promoted)};
    if (waves_has_key(going, cluster, canary))
        return (struct told){WAVES_IS_Releasing, "is let go"};
    if (wave != open)
        return (struct told){WAVES_IS_Held, "is held: earlier waves come first"};
    held = waves_share_says(w, canary);
    return (struct told){WAVES_IS_Held, held ? held : "waits for its turn"};
}

/* What it releases, or else what it has. */
static const char *revision_of(const struct waves_canary *canary)
{
    bool on_the_way = waves_is_under_way(canary) || canary->phase == PHASE_Failed;

    return on_the_way ? canary->applied : canary->promoted;
}

/* Says what there is to say of its Canaries. */
static void say_cluster(struct waves_work *w, size_t index, int open,
                        const struct waves_keys *going, struct waves_says *out)
{
    const struct waves_cluster *cluster = &w->facts->clusters[index];
    const struct waves_canary *shown = cluster->n_canaries > 0 ? cluster->canaries : NULL;
    const char *first = NULL;
    size_t more = 0;

    for (size_t j = 0; j < cluster->n_canaries; j++) {
        const struct waves_canary *canary = &cluster->canaries[j];
        if (!is_missing(w, w->wave_of[index], canary))
            continue;
        if (first) {
            more++;
            continue;
        }
        struct told told = tell_canary(w, w->wave_of[index], open, going, cluster, canary);
        shown = canary;
        out->state = told.state;
        first = arena_printf(w->arena, "%s/%s %s", canary->namespace_, canary->name, told.says);
    }
    if (shown) {
        out->phase = shown->phase;
        out->weight = waves_is_under_way(shown) ? shown->weight : 0;
        out->revision = revision_of(shown);
    }
    if (cluster->known && first) {
        out->says = more == 0 ? first : arena_printf(w->arena, "%s; %zu more", first, more);
        return;
    }
    if (!cluster->known) {
        out->state = WAVES_IS_Unreachable;
        out->says = cluster->denied ? cluster->why
                                    : arena_printf(w->arena, "cannot be reached: %s",
                                                   cluster->why ? cluster->why : "");
    } else if (!shown) {
        out->state = WAVES_IS_Empty;
        out->says = "has no Canary of this plan";
    } else {
        out->state = WAVES_IS_Promoted;
        out->says = arena_printf(w->arena, "has promoted revision %s%s%s", w->out->status.revision,
                                 cluster->reachable ? "" : ", and cannot be reached now: ",
                                 cluster->reachable || !cluster->why ? "" : cluster->why);
    }
}

void waves_say_clusters(struct waves_work *w, int open)
{
    struct waves_status *status = &w->out->status;
    bool counts = w->plan->max_replicas_percent > 0;
    struct waves_keys going;

    waves_index_keys(w->arena, &going, status->let_go, status->n_let_go);
    status->n_clusters = w->facts->n_clusters;
    status->clusters = arena_array(w->arena, status->n_clusters, sizeof(*status->clusters));
    for (size_t i = 0; i < status->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        int wave = w->wave_of[i];
        status->clusters[i] = (struct waves_says){
            .cluster = cluster->name,
            .wave = wave < 0 ? NULL : w->plan->waves[wave].name,
            .revision = "",
            .seen_ms = cluster->reachable ? 0 : cluster->seen_ms,
            .replicas = counts ? waves_replicas_of(w, i) : 0,
        };
        say_cluster(w, i, open, &going, &status->clusters[i]);
    }
}

/* "wave rest: 3 of 5 Canaries have promoted revision ...; b cannot be reached" */
const char *waves_waits_for(const struct waves_work *w, int wave)
{
    const struct waves_wave *now = &w->out->status.waves[wave];
    const char *lost = "";
    int n_lost = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != wave || cluster->reachable)
            continue;
        if (n_lost++ == 0)
            lost = cluster->name;
    }
    const char *text =
        arena_printf(w->arena, "wave %s: %d of %d Canaries have promoted revision %s", now->name,
                     now->promoted, now->canaries, w->out->status.revision);
    if (n_lost > 0)
        text = arena_printf(w->arena, "%s; cluster %s%s cannot be reached", text, lost,
                            n_lost > 1 ? " and others" : "");
    return text;
}
