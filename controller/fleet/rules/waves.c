/*
 * The waves of a plan, in order. The revision of the plan is the one that the first wave has
 * promoted. A wave is over when each of its Canaries has promoted that revision and rests; the next
 * wave is let go after the soak time, once the gate is open.
 *
 * A Canary of a later wave is held whenever the plan gives it nothing to release, so a new
 * revision, which is delivered everywhere at once, starts only on the first wave. Holding is always
 * safe and is the choice if in doubt; letting go requires every fact.
 */
#include "fleet/rules/waves.h"

#include <string.h>

#include "fleet/rules/waves_parts.h"

/* --- where each cluster belongs */

static bool has_labels(struct json_object *own, struct json_object *labels)
{
    if (!labels)
        return true;
    json_object_object_foreach(labels, key, value)
    {
        const char *text = json_str_at(own, key, NULL);
        if (!text || strcmp(text, json_object_get_string(value)) != 0)
            return false;
    }
    return true;
}

static void place_clusters(struct waves_work *w)
{
    w->wave_of = arena_array(w->arena, w->facts->n_clusters, sizeof(*w->wave_of));
    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        int wave = 0;
        while (wave < w->plan->n_waves &&
               !has_labels(w->facts->clusters[i].labels, w->plan->waves[wave].labels))
            wave++;
        w->wave_of[i] = wave < w->plan->n_waves ? wave : -1;
    }
}

/* --- the state of the waves */

/* Carries over the state of each wave by name; a new revision starts afresh. */
static void carry_waves(struct waves_work *w)
{
    const struct waves_status *old = w->facts->status;
    struct waves_status *status = &w->out->status;
    bool same = old->revision && strcmp(old->revision, status->revision) == 0;

    status->n_waves = (size_t)w->plan->n_waves;
    status->waves = arena_array(w->arena, status->n_waves, sizeof(*status->waves));
    for (size_t i = 0; i < status->n_waves; i++) {
        struct waves_wave *wave = &status->waves[i];
        wave->name = w->plan->waves[i].name;
        for (size_t j = 0; same && j < old->n_waves; j++) {
            if (strcmp(old->waves[j].name, wave->name) != 0)
                continue;
            wave->began_ms = old->waves[j].began_ms;
            wave->completed_ms = old->waves[j].completed_ms;
            wave->passed = old->waves[j].passed;
        }
    }
}

static void count_canary(struct waves_work *w, struct waves_wave *wave,
                         const struct waves_canary *canary)
{
    if (canary->deleting)
        return;
    wave->canaries++;
    wave->promoted += waves_has_promoted(w, canary);
    /* A failure that a user has accepted counts neither as promoted nor as failed. */
    if (waves_has_failed(w, canary) && waves_is_accepted(w, canary))
        wave->canaries--;
    else
        wave->failed += waves_has_failed(w, canary);
    wave->under_way += waves_is_under_way(canary);
    wave->held += waves_is_held(canary);
}

/* True if each of its Canaries has promoted the revision or is one of the tolerated failures. A
 * Canary not seen since this process started counts as recorded in the status. */
static bool is_over(struct waves_work *w, int index)
{
    struct waves_wave *wave = &w->out->status.waves[index];
    bool known = true;

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        if (w->wave_of[i] != index)
            continue;
        known = known && cluster->known;
        for (size_t j = 0; j < cluster->n_canaries; j++)
            count_canary(w, wave, &cluster->canaries[j]);
    }
    if (!known && wave->completed_ms == 0)
        return false;
    return wave->promoted + wave->failed == wave->canaries &&
           wave->failed <= w->plan->waves[index].max_failed;
}

static bool gate_lets_through(struct waves_work *w, const struct releaseplan_wave *spec)
{
    const struct waves_answer *answer = &w->facts->answer;
    const char *revision = w->out->status.revision;
    bool known = answer->revision && strcmp(answer->revision, revision) == 0 &&
                 strcmp(answer->wave, spec->name) == 0;

    if (known && answer->open)
        return true;
    waves_tell(w, WAVES_AtGate,
               arena_printf(w->arena, "the gate behind wave %s is closed for revision %s%s%s",
                            spec->name, revision, known && answer->says ? ": " : "",
                            known && answer->says ? answer->says : ""));
    if (!known || w->facts->now_ms >= answer->at_ms + WAVES_GATE_MS)
        w->out->ask = spec;
    else
        waves_look_again(w, answer->at_ms + WAVES_GATE_MS);
    return false;
}

/* Decides whether the wave after a finished one may start. */
static bool is_behind(struct waves_work *w, int index)
{
    const struct releaseplan_wave *spec = &w->plan->waves[index];
    struct waves_wave *wave = &w->out->status.waves[index];
    int64_t now = w->facts->now_ms;

    if (wave->completed_ms == 0)
        wave->completed_ms = now;
    if (wave->passed)
        return true;
    if (now < wave->completed_ms + spec->soak_ms) {
        waves_tell(w, WAVES_Soaking,
                   arena_printf(w->arena, "wave %s has promoted revision %s, and soaks", spec->name,
                                w->out->status.revision));
        waves_look_again(w, wave->completed_ms + spec->soak_ms);
        return false;
    }
    wave->passed = !spec->gate || gate_lets_through(w, spec);
    return wave->passed;
}

static void tell_late(struct waves_work *w, int index)
{
    const struct releaseplan_wave *spec = &w->plan->waves[index];
    int64_t end = w->out->status.waves[index].began_ms + spec->deadline_ms;

    if (spec->deadline_ms == 0)
        return;
    if (w->facts->now_ms >= end)
        w->out->status.late = true;
    else
        waves_look_again(w, end);
}

/* The wave that is not over yet. */
static void begin(struct waves_work *w, int index)
{
    struct waves_wave *wave = &w->out->status.waves[index];

    wave->completed_ms = 0;
    if (wave->began_ms == 0)
        wave->began_ms = w->facts->now_ms;
    tell_late(w, index);
}

/* The wave whose Canaries may be let go; -1 if none. */
static int open_wave(struct waves_work *w)
{
    for (int i = 0; i < w->plan->n_waves; i++) {
        struct waves_wave *wave = &w->out->status.waves[i];
        /* waves_first() has judged the failures of the first wave */
        bool over = is_over(w, i) || (i == 0 && wave->promoted > 0);
        if (over && is_behind(w, i))
            continue;
        for (int later = i + 1; later < w->plan->n_waves; later++)
            (void)is_over(w, later); /* called for the numbers that it sets */
        if (over)
            return -1;
        begin(w, i);
        if (wave->failed > w->plan->waves[i].max_failed) {
            waves_tell(w, WAVES_Stopped,
                       arena_printf(w->arena,
                                    "wave %s: revision %s has failed %s, where %d may; "
                                    "nothing more is let go until the first wave promotes another "
                                    "one, or the annotation " RELEASEPLAN_ACCEPT " names this one",
                                    wave->name, w->out->status.revision,
                                    wave->failed == 1
                                        ? "once"
                                        : arena_printf(w->arena, "%d times", wave->failed),
                                    w->plan->waves[i].max_failed));
            return -1;
        }
        waves_tell(w, WAVES_Releasing, waves_waits_for(w, i));
        return i;
    }
    waves_tell(
        w, WAVES_Completed,
        arena_printf(w->arena, "all waves have promoted revision %s", w->out->status.revision));
    return -1;
}

/* The plan is being deleted: lets go of every Canary that it holds. Their spec.suspend was false,
 * because a suspended Canary is never held. */
static void give_back(struct waves_work *w)
{
    size_t left = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++) {
        const struct waves_cluster *cluster = &w->facts->clusters[i];
        left += !cluster->known;
        for (size_t j = 0; j < cluster->n_canaries; j++) {
            if (!cluster->canaries[j].mine)
                continue;
            left++;
            if (cluster->reachable)
                waves_step(w, false, i, j);
        }
    }
    w->out->given_back = left == 0;
    waves_tell(w, WAVES_GivingBack,
               arena_printf(w->arena,
                            "the plan is being deleted; %zu Canaries or clusters that it holds, or "
                            "that are not reached, are to be given back",
                            left));
}

static void make_room(struct waves_work *w)
{
    size_t canaries = 0;

    for (size_t i = 0; i < w->facts->n_clusters; i++)
        canaries += w->facts->clusters[i].n_canaries;
    w->out->steps = arena_array(w->arena, canaries, sizeof(*w->out->steps));
    w->out->looks = arena_array(w->arena, canaries, sizeof(*w->out->looks));
    w->out->status.let_go = arena_array(w->arena, canaries + w->facts->status->n_let_go,
                                        sizeof(*w->out->status.let_go));
}

void waves_decide(struct arena *arena, const struct waves_facts *facts, struct waves_out *out)
{
    struct waves_work w = {.arena = arena,
                           .facts = facts,
                           .plan = facts->plan,
                           .out = out,
                           .order_open = INT32_MAX,
                           .order_first = INT32_MAX};
    const struct waves_status *old = facts->status;

    *out = (struct waves_out){.status = {.phase = WAVES_Pending,
                                         .message = "",
                                         .revision = old->revision ? old->revision : "",
                                         .revisions = old->revisions,
                                         .n_revisions = old->n_revisions}};
    make_room(&w);
    place_clusters(&w);
    waves_index_keys(arena, &w.let_go_before, old->let_go, old->n_let_go);
    waves_index_revisions(&w);
    if (facts->plan->deleting) {
        give_back(&w);
        waves_say_clusters(&w, -1);
        return;
    }
    bool settled = waves_first(&w);
    int open = -1;
    waves_index_revisions(&w);
    carry_waves(&w);
    if (settled)
        open = open_wave(&w);
    else {
        for (int i = 0; i < w.plan->n_waves; i++)
            (void)is_over(&w, i);
        begin(&w, 0);
    }
    waves_take_turns(&w, open);
    waves_say_clusters(&w, open);
}
