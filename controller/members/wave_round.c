/* What a round of a plan is made of: the clusters that it uses, who wakes it, and its steps. */
#include <stdlib.h>
#include <string.h>

#include "members/wave_parts.h"

struct member *wave_use(void *arg, const char *namespace_, const char *access)
{
    struct wave *wave = arg;
    struct member *member = hub_member(wave->hub, namespace_, access);

    for (size_t i = 0; i < wave->n_members; i++)
        if (wave->members[i] == member) {
            hub_let_go(wave->hub, member);
            return member;
        }
    if ((wave->n_members & (wave->n_members - 1)) == 0)
        wave->members = heap_grow(wave->members, (wave->n_members ? wave->n_members * 2 : 1) *
                                                     sizeof(struct member *));
    wave->members[wave->n_members++] = member;
    return member;
}

void wave_let_go(struct wave *wave, struct member **members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hub_let_go(wave->hub, members[i]);
    free(members);
}

void wave_watch(struct wave *wave, const struct wave_facts *facts)
{
    free(wave->watched);
    wave->watched = heap_array(facts->n_names + 1, sizeof(*wave->watched));
    wave->n_watched = facts->n_names;
    wave->by_labels = facts->plan.canaries_namespace != NULL;
    if (facts->n_names > 0)
        memcpy(wave->watched, facts->names, facts->n_names * sizeof(*wave->watched));
}

bool wave_concerns(const struct wave *wave, const char *namespace_, const char *name)
{
    uint64_t hash = wave->by_labels ? name_hash(namespace_, NULL) : name_hash(namespace_, name);

    for (size_t i = 0; i < wave->n_watched; i++)
        if (wave->watched[i] == hash)
            return true;
    return false;
}

/* --- steps */

void wave_add_step(struct wave *wave, struct member *member, const char *namespace_,
                   const char *name, bool hold)
{
    const struct stock_canary *canary = stock_canary(member->stock, namespace_, name);
    struct round *round = &wave->round;
    struct arena *arena = round->arena;

    if ((round->n_steps & (round->n_steps - 1)) == 0) {
        struct wave_step_spec *more =
            arena_array(arena, round->n_steps ? round->n_steps * 2 : 1, sizeof(*more));
        if (round->n_steps > 0)
            memcpy(more, round->steps, round->n_steps * sizeof(*more));
        round->steps = more;
    }
    round->steps[round->n_steps++] =
        (struct wave_step_spec){.member = member,
                                .namespace_ = arena_strdup(arena, namespace_),
                                .name = arena_strdup(arena, name),
                                .label = wave->label,
                                .version = canary ? canary->seen.digest.version : 0,
                                .hold = hold};
}

/* The cluster among the facts; NULL: it is none of the plan's. */
static const struct waves_cluster *cluster_of(const struct wave_facts *facts,
                                              const struct member *member)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->members[i].member == member)
            return &facts->clusters[i];
    return NULL;
}

/* The facts borrow the names of what they are of, and mostly stand in the same order: *at is where
 * the next one is looked for. */
static bool is_fact(const struct waves_cluster *cluster, const struct stock_canary *canary,
                    size_t *at)
{
    for (size_t i = 0; cluster && i < cluster->n_canaries; i++) {
        size_t j = (*at + i) % cluster->n_canaries;
        if (cluster->canaries[j].name != canary->seen.digest.name)
            continue;
        *at = j + 1;
        return true;
    }
    return false;
}

/* Lets go of Canaries on one cluster that it holds and does not mean any more. Where nothing is known of
 * the cluster, all that it holds may still be meant. */
static size_t free_strays_of(struct wave *wave, const struct wave_facts *facts,
                             struct member *member)
{
    const struct waves_cluster *cluster = cluster_of(facts, member);
    const struct stock_canary *canary;
    size_t count = 0, at = 0;

    if (cluster && !cluster->known && !facts->plan.deleting)
        return 0;
    for (size_t i = 0; member->stock && (canary = stock_next(member->stock, &i));) {
        if (strcmp(canary->held_by, wave->label) != 0 ||
            strcmp(canary->manager, wave->hub->context.identity) != 0 ||
            is_fact(cluster, canary, &at))
            continue;
        count++;
        if (member_is_reached(member))
            wave_add_step(wave, wave_use(wave, member->namespace_, member->access),
                          canary->seen.digest.namespace_, canary->seen.digest.name, false);
    }
    return count;
}

size_t wave_free_strays(struct wave *wave, const struct wave_facts *facts)
{
    struct member *member;
    size_t count = 0;

    for (size_t i = 0; (member = hub_next_member(wave->hub, &i));)
        if (!*member->access || strcmp(member->namespace_, wave->namespace_) == 0)
            count += free_strays_of(wave, facts, member);
    return count;
}
